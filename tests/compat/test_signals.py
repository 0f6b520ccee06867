"""Stop signals beyond the first, and in other threads; tests/course/test_training.py has the first."""

import signal
import threading

import pytest

from siamese.compat.signals import StopSignals


def test_a_second_ctrl_c_does_not_wait_and_a_second_sigterm_changes_nothing():
    with pytest.raises(KeyboardInterrupt), StopSignals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    with StopSignals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert signals.received is signal.SIGTERM


def test_in_another_thread_nothing_is_changed_and_nothing_is_raised():
    handlers = []

    def in_a_thread():
        with StopSignals() as signals:
            handlers.append(signal.getsignal(signal.SIGINT))
        signals.raise_received()

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert handlers == [before]
