"""A server in a thread, for the tests."""

import threading
import time
from contextlib import contextmanager

import uvicorn

from siamese.serving.api import make_app


@contextmanager
def running(index, **options):
    """Serves an index in a thread; the address, without a slash at its end."""
    app = make_app(index, **options)
    settings = {"port": 0, "log_level": "warning", "log_config": None, "ws": "none"}
    server = uvicorn.Server(uvicorn.Config(app, **settings))
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
