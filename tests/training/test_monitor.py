"""What watches a run: collapse, NaN, patience, stop signals."""

import math
import signal
import threading

import pytest

from siamese.training.monitor import (
    COLLAPSE_STEPS,
    CollapseWatch,
    StopSignals,
    TrainingError,
    check_finite,
    out_of_patience,
)


def test_a_loss_at_twice_the_margin_for_long_is_collapse_and_is_reported_once():
    watch = CollapseWatch(0.25)
    warnings = [watch.warning(0.5001) for _ in range(COLLAPSE_STEPS + 50)]
    assert [i for i, warning in enumerate(warnings) if warning] == [COLLAPSE_STEPS - 1]
    assert "all questions have the same vector" in warnings[COLLAPSE_STEPS - 1]


def test_a_loss_that_leaves_it_starts_the_count_anew():
    watch = CollapseWatch(0.25)
    assert not any(watch.warning(0.5 if i % 50 else 0.3) for i in range(2000))


def test_means_over_several_steps_count_as_so_many():
    assert CollapseWatch(0.1).warning(0.2, COLLAPSE_STEPS)
    assert not CollapseWatch(0.1).warning(0.2, COLLAPSE_STEPS - 1)
    assert not CollapseWatch(None).warning(0.5, COLLAPSE_STEPS)


@pytest.mark.parametrize("loss", [math.nan, math.inf, -math.inf])
def test_a_loss_that_is_not_finite_names_step_and_way_out(loss):
    with pytest.raises(TrainingError, match=r"step 7.*smaller learning rate"):
        check_finite(loss, 7)
    check_finite(0.0, 7)


@pytest.mark.parametrize(
    "losses, over",
    [
        ([], False),
        ([0.5], False),
        ([0.5, 0.4, 0.41], False),
        ([0.5, 0.4, 0.41, 0.42], True),
        ([0.5, 0.4, 0.41, 0.39], False),
        ([0.4, 0.4, 0.4], True),  # No lower loss is no progress.
    ],
)
def test_patience_counts_evaluations_since_the_lowest_loss(losses, over):
    assert out_of_patience(losses, patience=2) == over
    assert not out_of_patience(losses, patience=0)


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
