"""train_model and Loop: the course's arithmetic, exact resume, clean stops, one loss on any devices."""

import functools
import itertools
import json
import os
import random
import signal
import socket
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from siamese import (
    CheckpointError,
    Siamese,
    SiameseError,
    TripletLoss,
    data_generator,
    train_model,
)
from siamese.storage.checkpoints import list_checkpoints
from siamese.training import devices
from siamese.training.monitor import COLLAPSE_STEPS

VOCAB, D_MODEL, BATCH = 120, 16, 32
small_siamese = functools.partial(Siamese, VOCAB, D_MODEL)


def questions(n=150, seed=0):
    """Pairs of token lists in which the second is a shuffled copy of the first, with one word changed."""
    draw = np.random.RandomState(seed)
    q1 = [draw.randint(2, VOCAB, draw.randint(2, 10)).tolist() for _ in range(n)]
    q2 = [[*draw.permutation(q)[1:].tolist(), int(draw.randint(2, VOCAB))] for q in q1]
    return q1, q2


def generators(seed=34):
    random.seed(seed)
    q1, q2 = questions()
    return (
        data_generator(q1[:120], q2[:120], BATCH),
        data_generator(q1[120:], q2[120:], BATCH),
    )


def losses_of(output_dir, runs, **options):
    """The loss of every step of a training that is made anew for each number of steps in `runs`."""
    losses = []
    for steps in runs:
        loop = train_model(
            small_siamese,
            TripletLoss,
            *generators(),
            output_dir,
            random_seed=7,
            on_step=lambda loop, loss: losses.append(float(loss)),
            **options,
        )
        loop.run(steps)
    return losses, loop


def test_the_callers_random_generators_stay_as_they_were():
    train, valid = generators()
    train, valid = iter([next(train)] * 9), iter([next(valid)] * 9)
    python, numpy = random.getstate(), np.random.get_state()[1].tolist()
    train_model(small_siamese, TripletLoss, train, valid, None).run(2)
    assert random.getstate() == python
    assert np.random.get_state()[1].tolist() == numpy


def test_resume_equals_no_interruption_bit_for_bit(tmp_path):
    whole, loop = losses_of(tmp_path / "whole", [12])
    parts, resumed = losses_of(tmp_path / "parts", [1, 2, 9])
    assert parts == whole
    assert resumed.resumed_from is not None and loop.resumed_from is None
    for a, b in zip(loop.model.weights[0][0], resumed.model.weights[0][0]):
        np.testing.assert_array_equal(a, b)
    assert resumed.history.to_dict()["_values"].keys() == loop.history.to_dict()["_values"].keys()


def test_another_models_checkpoint_is_refused_and_left_alone(tmp_path):
    losses_of(tmp_path, [2])
    before = {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")}
    with pytest.raises(CheckpointError) as refused:
        train_model(functools.partial(Siamese, 77, D_MODEL), TripletLoss, *generators(), tmp_path)
    message = str(refused.value)
    assert "(120, 16)" in message and "(77, 16)" in message  # both shapes
    assert "another directory" in message  # the way out
    assert {p: p.stat().st_mtime_ns for p in tmp_path.rglob("*")} == before


def test_course_arguments_that_are_already_made_are_refused_with_the_way_out():
    with pytest.raises(SiameseError, match="pass the function TripletLoss itself"):
        train_model(small_siamese, TripletLoss(), *generators(), None)


def test_metrics_go_to_json_lines_and_tensorboard(tmp_path):
    losses_of(tmp_path, [3], eval_at=lambda step: True)
    lines = [json.loads(line) for line in (tmp_path / "metrics.jsonl").read_text().splitlines()]
    assert [line["step"] for line in lines] == [1, 2, 3]
    assert all(np.isfinite(line["train/TripletLoss"]) for line in lines)
    assert all(np.isfinite(line["eval/TripletLoss"]) for line in lines)
    assert any((tmp_path / "train").glob("events.*"))


def test_a_loss_that_is_no_number_stops_with_advice_and_saves_nothing(tmp_path):
    nan_schedule = lambda step: float("nan") if step > 3 else 0.01  # noqa: E731
    with pytest.raises(SiameseError, match="smaller learning rate"):
        losses_of(
            tmp_path, [8], lr_schedule=nan_schedule, checkpoint_at=lambda step: step in (2, 6)
        )
    assert [saved.step for saved in list_checkpoints(tmp_path)] == [2]


@pytest.mark.slow
def test_collapse_is_noticed_once(caplog):
    # Trax's own start: every vector is almost the same, and a learning rate of 0 leaves it there.
    loop = train_model(
        functools.partial(Siamese, VOCAB, 4), TripletLoss, *generators(), None,
        lr_schedule=lambda step: 0.0, eval_at=lambda step: step % 10 == 0,
        random_seed=3,  # Other seeds start as far as 0.002 from 0.5.
    )  # fmt: skip
    loop.run(COLLAPSE_STEPS + 40)
    losses = [loss for _, loss in loop.history.get("train", "metrics/TripletLoss")]
    np.testing.assert_allclose(losses, 0.5, rtol=0, atol=0.02)  # Twice the margin, nearly.
    assert caplog.text.count("all questions have the same vector (collapse)") == 1


def test_metrics_of_lost_steps_are_taken_out_when_a_run_goes_on(tmp_path):
    losses_of(tmp_path, [4], eval_at=lambda step: True, checkpoint_at=lambda step: step == 4)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4]
    with open(tmp_path / "metrics.jsonl", "a") as file:  # A run killed after step 6, in a line.
        file.write('{"step": 5}\n{"step": 6, "seconds')
    losses_of(tmp_path, [2], eval_at=lambda step: True)
    lines = (tmp_path / "metrics.jsonl").read_text().splitlines()
    assert [json.loads(line)["step"] for line in lines] == [1, 2, 3, 4, 5, 6]
    assert "eval/TripletLoss" in json.loads(lines[4])


def test_another_vocabulary_is_refused_though_the_shapes_agree(tmp_path):
    words = {"words": ["a", "b"]}
    losses_of(tmp_path, [2], checkpoint_extras=lambda: {"vocabulary": words})
    with pytest.raises(CheckpointError, match="same token ids would mean other words"):
        losses_of(tmp_path, [2], checkpoint_extras=lambda: {"vocabulary": {"words": ["b", "a"]}})
    losses_of(tmp_path, [2], checkpoint_extras=lambda: {"vocabulary": words})
    assert list_checkpoints(tmp_path)[0].step == 4


def run_script(text, *args, **options):
    env = {**os.environ, "PYTHONPATH": str(Path(__file__).parents[2]), **options.pop("env", {})}
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(text), *map(str, args)],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=env,
        cwd=Path(__file__).parent,
        **options,
    )


@pytest.mark.slow
def test_a_directory_of_trax_own_loop_goes_on_and_ours_is_read_by_trax(tmp_path):
    import trax
    from trax.supervised import training

    train, valid = generators()
    task = training.TrainTask(
        train, TripletLoss(), trax.optimizers.Adam(0.01), n_steps_per_checkpoint=4
    )
    stock = training.Loop(small_siamese(), task, output_dir=str(tmp_path), random_seed=3)
    stock.run(4)
    ours = train_model(small_siamese, TripletLoss, train, valid, tmp_path)
    assert ours.step == 4 and ours.resumed_from == tmp_path / "model.pkl.gz"
    np.testing.assert_array_equal(ours.model.weights[0][0][0], stock.model.weights[0][0][0])
    for found, expected in zip(ours._trainer_per_task[0].slots, stock._trainer_per_task[0].slots):
        np.testing.assert_array_equal(found[0], expected[0]) if len(expected) else None
    ours.run(2)

    q1, q2 = next(valid)
    fresh = small_siamese()
    fresh.init_from_file(
        str(tmp_path / "model.pkl.gz"),
        weights_only=True,
        input_signature=trax.shapes.signature((q1, q2)),
    )
    np.testing.assert_array_equal(fresh((q1, q2))[0], ours.eval_model((q1, q2))[0])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.slow
def test_a_signal_stops_after_the_step_with_a_checkpoint(tmp_path, number):
    script = """
        import sys, test_training as t
        options = {"eval_at": lambda step: step == 30, "checkpoint_at": lambda step: False}
        t.losses_of(sys.argv[1], [10**6], **options)
    """
    process = run_script(script, tmp_path)
    before = list(itertools.takewhile(lambda line: "Step     30" not in line, process.stdout))
    process.send_signal(number)
    rest = "".join(before) + process.stdout.read()
    code = process.wait(600)
    assert code == (143 if number == signal.SIGTERM else -signal.SIGINT), rest
    (saved,) = list_checkpoints(tmp_path)
    assert saved.step >= 30 and f"Stopped by {number.name} after step {saved.step}" in rest


@pytest.fixture(scope="module")
def losses_of_one_device():
    return losses_of(None, [20])[0]


def check_losses(process, expected):
    output = process.communicate(timeout=1200)[0]
    line = [text for text in output.splitlines() if text.startswith("LOSSES")]
    assert line, output
    assert "donated" not in output  # JAX warns where a buffer cannot be reused.
    found = json.loads(line[0].removeprefix("LOSSES"))
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5)


@pytest.mark.slow
def test_the_loss_of_eight_devices_is_that_of_one(losses_of_one_device):
    script = """
        import os, sys, json
        os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=8"
        import test_training as t
        losses, loop = t.losses_of(None, [20])
        import jax
        assert len(jax.devices()) == 8
        print("LOSSES", json.dumps(losses))
    """
    check_losses(run_script(script), losses_of_one_device)


@pytest.mark.slow
def test_two_processes_joined_have_the_losses_of_one(tmp_path, losses_of_one_device):
    script = """
        import sys, json, jax
        port, number, folder = sys.argv[1:]
        from siamese.training import devices
        devices.connect(f"localhost:{port}", 2, int(number))
        import test_training as t
        losses, loop = t.losses_of(folder, [20], checkpoint_at=lambda step: step == 20)
        assert jax.process_count() == 2
        print("LOSSES", json.dumps(losses))
    """
    with socket.socket() as free:
        free.bind(("localhost", 0))
        port = free.getsockname()[1]
    for process in [run_script(script, port, number, tmp_path) for number in range(2)]:
        check_losses(process, losses_of_one_device)
    assert len(list_checkpoints(tmp_path)) == 1  # one process writes


def test_a_batch_that_does_not_divide_by_the_devices_names_two_that_do():
    class FourDevices:
        devices = np.zeros(4)

    batch = (np.zeros((30, 8), np.int32),) * 2
    with pytest.raises(SiameseError, match=r"30 pairs does not divide by 4 devices.* 28 or 32"):
        devices.shard_batch(FourDevices(), batch)


def test_the_course_s_piece_makes_trax_s_own_loop_which_starts_with_the_same_loss():
    from trax.supervised import training

    from siamese.course import train_model as course

    ours, _ = losses_of(None, [1])
    stock = course.train_model(small_siamese, TripletLoss, *generators(), None, random_seed=7)
    assert type(stock) is training.Loop
    stock.run(1)
    ((step, loss),) = stock.history.get("train", "metrics/TripletLoss")
    assert step == 1 and float(loss) == pytest.approx(ours[0], abs=1e-6)
