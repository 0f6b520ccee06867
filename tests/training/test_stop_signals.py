import signal
import threading

import pytest

from siamese.training.stop_signals import StopSignals


@pytest.mark.parametrize(
    "number, raised, code",
    [(signal.SIGINT, KeyboardInterrupt, None), (signal.SIGTERM, SystemExit, 143)],
)
def test_a_signal_is_remembered_and_raised_when_asked(number, raised, code):
    before = signal.getsignal(number)
    with StopSignals() as signals:
        assert signals.received is None
        signal.raise_signal(number)
    assert signals.received == number
    assert signal.getsignal(number) is before
    with pytest.raises(raised) as caught:
        signals.raise_received()
    assert getattr(caught.value, "code", None) == code


def test_a_second_ctrl_c_does_not_wait_and_a_second_sigterm_changes_nothing():
    with pytest.raises(KeyboardInterrupt), StopSignals():
        signal.raise_signal(signal.SIGINT)
        signal.raise_signal(signal.SIGINT)
    with StopSignals() as signals:
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGTERM)
    assert signals.received is signal.SIGTERM


def test_without_a_signal_nothing_is_raised_and_other_threads_change_nothing():
    with StopSignals() as signals:
        pass
    signals.raise_received()
    handlers = []

    def in_a_thread():
        with StopSignals():
            handlers.append(signal.getsignal(signal.SIGINT))

    before = signal.getsignal(signal.SIGINT)
    thread = threading.Thread(target=in_a_thread)
    thread.start()
    thread.join()
    assert handlers == [before]
