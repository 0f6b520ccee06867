"""An application behind an address of this machine: what the page and the JSON API share."""

from __future__ import annotations

import ipaddress
import socket
import threading
import time
from typing import Any

from siamese.errors import ArgumentError

# No log_config: it would close the handlers that others have made.
OPTIONS = {"log_level": "warning", "log_config": None, "timeout_graceful_shutdown": 3}


class Running:
    """An application that is served at `local_url` in a thread, which ends after `close`."""

    def __init__(self, app: Any, host: str, port: int):
        import uvicorn

        self.local_url = url(host, port)
        self._server = uvicorn.Server(uvicorn.Config(app, host=host, port=port, **OPTIONS))
        self.thread = threading.Thread(target=self._server.run, daemon=True)
        self.thread.start()
        while not self._server.started and self.thread.is_alive():
            time.sleep(0.01)

    def close(self) -> None:
        """Ends it."""
        self._server.should_exit = True
        self.thread.join(timeout=5)


def url(host: str, port: int) -> str:
    """The address as a browser takes it."""
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def free_port(host: str, port: int) -> int:
    """The port itself if it can be had; a free one for 0."""
    if not 0 <= port <= 65535:
        raise ArgumentError(f"A port is a number from 0 to 65535; it is {port}.")
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError as error:
            raise ArgumentError(
                f"Port {port} of {host} cannot be had ({error.strerror}). Give another; --port 0 "
                "picks a free one."
            ) from None
        return probe.getsockname()[1]


def is_local(host: str) -> bool:
    """Whether only this machine reaches the address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
