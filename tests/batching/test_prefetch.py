"""The background thread: order, depth, errors, and that it ends."""

import gc
import itertools
import threading
import time

import pytest

from siamese.batching.pair_batches import prefetched


@pytest.fixture
def threads():
    """Counts the threads started since the test began."""
    before = set(threading.enumerate())
    return lambda: len(set(threading.enumerate()) - before)


def wait_for(condition):
    for _ in range(3000):
        if condition():
            return True
        time.sleep(0.01)
    return False


@pytest.mark.parametrize("depth", [1, 2, 8])
def test_works_ahead_in_order_and_at_most_depth(depth):
    made = []
    ready = prefetched((made.append(n) or n for n in itertools.count()), depth)
    for taken in range(20):
        assert next(ready) == taken
        assert len(made) <= taken + 1 + depth
    assert wait_for(lambda: len(made) == 20 + depth)
    ready.close()


def test_an_error_comes_after_the_items_before_it(threads):
    def items():
        yield from (1, 2)
        raise OSError("disk gone")

    ready = prefetched(items(), depth=8)
    assert [next(ready), next(ready)] == [1, 2]
    with pytest.raises(OSError, match="disk gone"):
        next(ready)
    assert not threads()


@pytest.mark.parametrize("end", ["closed", "forgotten"])
def test_a_thread_that_waits_for_place_ends_and_closes_its_iterator(end, threads):
    closed = threading.Event()

    def items():
        try:
            yield from itertools.count()
        finally:
            closed.set()

    ready = prefetched(items(), depth=1)
    assert next(ready) == 0
    if end == "closed":
        ready.close()
    else:
        del ready
    gc.collect()
    assert not threads() and wait_for(closed.is_set)
