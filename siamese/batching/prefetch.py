"""A background thread that keeps the next items of an iterator ready."""

from __future__ import annotations

import threading
import weakref
from collections import deque
from collections.abc import Iterator
from typing import Any


class Prefetcher(Iterator):
    """Runs an iterator in a thread, at most `depth` items ahead.

    An exception in the iterator is raised from `next` after the items made before it. The thread
    ends on `close`, when the iterator ends or fails, when the Prefetcher is garbage collected, and
    at the interpreter's exit; it never keeps the Prefetcher alive.

    Args:
      items: what to run; from now on only the thread touches it.
      depth: items kept ready, at least 1.

    Example:
      >>> with Prefetcher(iter(range(3)), depth=2) as ready:
      ...     list(ready)
      [0, 1, 2]
    """

    def __init__(self, items: Iterator, depth: int):
        self._shelf = _Shelf(depth)
        self.thread = threading.Thread(
            target=_fill, args=(items, self._shelf), name="siamese-prefetch", daemon=True
        )
        self._finalizer = weakref.finalize(self, _stop, self._shelf, self.thread)
        self.thread.start()

    def __next__(self) -> Any:
        return self._shelf.take()

    def close(self) -> None:
        """Stops the thread and waits for it; what it had ready is dropped."""
        self._finalizer()

    def __enter__(self) -> Prefetcher:
        return self

    def __exit__(self, *exception) -> None:
        self.close()


class _Shelf:
    """The items that are ready, guarded by one lock; the thread knows only this."""

    def __init__(self, depth: int):
        self.depth = depth
        self.items: deque = deque()
        self.changed = threading.Condition()
        self.closed = False
        self.ended: BaseException | None = None  # why no more items come

    def put(self, item: Any) -> bool:
        """Waits for room; False where nobody wants more."""
        with self.changed:
            while len(self.items) >= self.depth and not self.closed:
                self.changed.wait()
            if not self.closed:
                self.items.append(item)
                self.changed.notify_all()
            return not self.closed

    def end(self, reason: BaseException) -> None:
        with self.changed:
            self.ended = reason
            self.changed.notify_all()

    def take(self) -> Any:
        with self.changed:
            while not self.items:
                if self.ended is not None:
                    raise self.ended
                if self.closed:
                    raise StopIteration
                self.changed.wait()
            item = self.items.popleft()
            if len(self.items) <= self.depth // 2:  # several at a time: fewer changes of thread
                self.changed.notify_all()
            return item

    def close(self) -> None:
        with self.changed:
            self.closed = True
            self.items.clear()
            self.changed.notify_all()


def _fill(items: Iterator, shelf: _Shelf) -> None:
    try:
        for item in items:
            if not shelf.put(item):
                return
            del item  # hold no batch while waiting for the next
        shelf.end(StopIteration())
    except BaseException as error:  # the reader's to see, whatever it is
        shelf.end(error)


def _stop(shelf: _Shelf, thread: threading.Thread) -> None:
    shelf.close()
    # The collector may run in the thread itself, which cannot wait for its own end.
    if thread is not threading.current_thread() and thread.is_alive():
        thread.join()
