"""What watches a run: collapse, NaN, stop signals."""

import math
import signal
import threading

import pytest

from siamese.training.monitor import StopSignals, TrainingError, check_finite, is_collapsed


def test_a_loss_at_twice_the_margin_is_collapse():
    losses = [0.5, 0.5001, 0.4, 0.55]
    assert [is_collapsed(loss, 0.25) for loss in losses] == [True, True, False, False]
    assert not is_collapsed(0.5, None)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_names_step_and_way_out(loss):
    with pytest.raises(TrainingError, match=r"step 7.*smaller learning rate"):
        check_finite(loss, 7)
    check_finite(0.0, 7)


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
