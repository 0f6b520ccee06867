"""The background thread: order, depth, errors, and that it ends."""

import gc
import itertools
import threading
import time

import pytest

from siamese.batching.prefetch import Prefetcher


def wait_for(condition):
    for _ in range(500):
        if condition():
            return True
        time.sleep(0.01)
    return False


def test_gives_everything_in_order_and_ends():
    ready = Prefetcher(iter(range(1000)), depth=3)
    assert list(ready) == list(range(1000))
    with pytest.raises(StopIteration):
        next(ready)
    assert wait_for(lambda: not ready.thread.is_alive())


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_stays_at_most_depth_ahead(depth):
    made = itertools.count()
    newest = []

    def items():
        for number in made:
            newest.append(number)
            yield number

    with Prefetcher(items(), depth) as ready:
        for taken in range(20):
            assert next(ready) == taken
            # One more than `depth` is in the thread's hand, waiting for room.
            assert len(newest) <= taken + 1 + depth + 1
        assert wait_for(lambda: len(newest) > 20)  # and it does work ahead


def test_works_while_the_reader_is_busy():
    with Prefetcher(iter(range(4)), depth=4) as ready:
        assert wait_for(lambda: len(ready._shelf.items) == 4)
        assert list(ready) == [0, 1, 2, 3]


def test_an_error_comes_after_the_items_before_it_and_stays():
    def items():
        yield 1
        yield 2
        raise OSError("disk gone")

    ready = Prefetcher(items(), depth=8)
    assert [next(ready), next(ready)] == [1, 2]
    for _ in range(2):
        with pytest.raises(OSError, match="disk gone"):
            next(ready)
    assert wait_for(lambda: not ready.thread.is_alive())


def test_close_ends_a_thread_that_waits_for_room_and_closes_the_generator():
    closed = threading.Event()

    def items():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    ready = Prefetcher(items(), depth=1)
    assert next(ready) == 0
    ready.close()
    assert not ready.thread.is_alive()
    gc.collect()
    assert closed.is_set()
    with pytest.raises(StopIteration):
        next(ready)
    ready.close()


def test_collection_ends_the_thread():
    ready = Prefetcher(itertools.count(), depth=2)
    thread = ready.thread
    next(ready)
    del ready
    gc.collect()
    assert wait_for(lambda: not thread.is_alive())
