"""A server in a thread, for the tests."""

import threading
import time
from contextlib import contextmanager

import uvicorn

from siamese.serving.api import make_app, settings
from siamese.serving.patience import PATIENCE


@contextmanager
def running(index, patience=PATIENCE, **options):
    """Serves an index in a thread; the address, without a slash at its end."""
    config = settings(make_app(index, patience=patience, **options), patience)
    config.port = 0
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started and thread.is_alive():
        time.sleep(0.01)
    yield f"http://127.0.0.1:{server.servers[0].sockets[0].getsockname()[1]}"
    server.should_exit = True
    thread.join()
