"""`siamese train` on full, read-only and damaged directories: a message, the older checkpoint, no loss."""

import gzip
import json
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import siamese
from small_disks import mounted_tmpfs

from siamese.storage.checkpoints import list_checkpoints, load_newest

pytestmark = pytest.mark.slow


@pytest.fixture
def train(questions_csv):
    """Function (directory, steps, more flags) -> the finished command."""

    def run(output, steps, *more):
        return siamese(
            "train", "--questions", questions_csv, "--train-rows", 300, "--test-rows", 100,
            "--output", output, "--d-model", 8, "--batch-size", 16, "--eval-every", 2,
            "--checkpoint-every", 2, "--steps", steps, *more,
        )  # fmt: skip

    return run


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 4 MiB mounted for the test; skipped where mounting is not permitted."""
    with mounted_tmpfs(tmp_path / "disk", "4m") as where:
        yield where


def refused(process, message):
    assert process.returncode == 2, (process.stdout, process.stderr)
    assert message in process.stderr and "Traceback" not in process.stderr, process.stderr


def steps_in(directory):
    return [saved.step for saved in list_checkpoints(directory)]


def test_a_disk_that_fills_up_or_is_read_only_keeps_the_checkpoints_there(small_disk, train):
    run = small_disk / "run"
    assert train(run, 4).returncode == 0
    before = steps_in(run)
    assert before[0] == 4
    with open(small_disk / "ballast", "wb", buffering=0) as file, pytest.raises(OSError):
        while True:
            file.write(bytes(1024))
    refused(train(run, 8), "the disk is full. Free some space or choose another directory")
    assert steps_in(run) == before and load_newest(run).checkpoint.step == 4

    remount = ["mount", "-o", "remount,ro", str(small_disk)]
    subprocess.run(remount, check=True)
    refused(train(run, 8), "the file system is read-only")
    refused(train(small_disk / "new", 8), "the file system is read-only")
    subprocess.run([*remount[:2], "remount,rw", remount[3]], check=True)

    (small_disk / "ballast").unlink()
    went_on = train(run, 8)
    assert went_on.returncode == 0 and "at step 4" in went_on.stderr, went_on.stderr
    assert steps_in(run)[0] == 8


def truncate(folder):
    weights = folder / "weights.safetensors"
    weights.write_bytes(weights.read_bytes()[:-9])


def flip_a_byte(folder):
    weights = folder / "weights.safetensors"
    content = bytearray(weights.read_bytes())
    content[-3] ^= 1
    weights.write_bytes(content)


def unknown_version(folder):
    file = folder / "manifest.json"
    manifest = json.loads(file.read_text())
    file.write_text(json.dumps({**manifest, "version": 999}))


def no_manifest(folder):
    (folder / "manifest.json").unlink()


@pytest.fixture(scope="module")
def whole_run(questions_csv, tmp_path_factory):
    """A run of 6 steps with checkpoints of the steps 2, 4 and 6."""
    directory = tmp_path_factory.mktemp("whole") / "run"
    made = train.__wrapped__(questions_csv)(directory, 6)
    assert made.returncode == 0, made.stderr
    assert steps_in(directory) == [6, 4, 2]
    return directory


@pytest.mark.parametrize("damage", [truncate, flip_a_byte, unknown_version, no_manifest])
def test_a_damaged_newest_checkpoint_is_passed_over_with_its_reason(
    whole_run, train, tmp_path, damage
):
    run = tmp_path / "run"
    shutil.copytree(whole_run, run)
    newest = list_checkpoints(run)[0].path
    damage(newest)
    damaged = {p.name: p.read_bytes() for p in newest.iterdir()}
    went_on = train(run, 8)
    assert went_on.returncode == 0, went_on.stderr
    assert f"Passed over {newest}" in went_on.stderr
    assert "at step 4" in went_on.stderr
    if damage is flip_a_byte:  # Only its sum shows it: step 6, saved again, takes its place.
        assert [saved.path.name for saved in list_checkpoints(run)][1] == "step-00000006.1"
    else:
        assert {p.name: p.read_bytes() for p in newest.iterdir()} == damaged  # Evidence is kept.
    assert load_newest(run).checkpoint.step == 8


def test_where_no_checkpoint_is_whole_nothing_is_trained_or_changed(whole_run, train, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(whole_run, run)
    for saved in list_checkpoints(run):
        truncate(saved.path)
    before = sorted((p, p.stat().st_size) for p in run.rglob("*"))
    refused(train(run, 8), "None of the 3 checkpoints")
    assert sorted((p, p.stat().st_size) for p in run.rglob("*")) == before
    started_anew = train(run, 4, "--overwrite")
    assert started_anew.returncode == 0 and load_newest(run).checkpoint.step == 4


def test_another_vocabulary_is_refused_even_with_resume(whole_run, train, tmp_path, questions_csv):
    run = tmp_path / "run"
    shutil.copytree(whole_run, run)
    checkpoint = list_checkpoints(run)[0].path
    refused(train(run, 8, "--lowercase"), "--resume")
    resumed = train(run, 8, "--lowercase", "--resume")
    assert resumed.returncode == 2 and "Traceback" not in resumed.stderr, resumed.stderr
    assert "of another model" in resumed.stderr or "other words" in resumed.stderr
    assert checkpoint.is_dir() and steps_in(run) == [6, 4, 2]


class RunsCode:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("content", ["code", "garbage", "cut off", "empty"])
def test_a_hostile_course_file_is_refused_at_the_command_line(tmp_path, train, content):
    run, marker = tmp_path / "run", tmp_path / "ran"
    run.mkdir()
    hostile = gzip.compress(pickle.dumps({"flat_weights": [RunsCode(marker)], "step": 1}))
    written = {"code": hostile, "garbage": b"\x00\x01", "cut off": hostile[:-5], "empty": b""}
    (run / "model.pkl.gz").write_bytes(written[content])
    vocabulary = tmp_path / "vocab.json"
    vocabulary.write_text('{"<PAD>": 1, "a": 2}')
    for process in (
        train(run, 4),
        siamese(
            "import-weights", run / "model.pkl.gz", "--vocab", vocabulary, tmp_path / "imported"
        ),
    ):
        refused(process, "model.pkl.gz")
    assert not marker.exists() and not (tmp_path / "imported").exists()
    assert [p.name for p in run.iterdir() if p.name != ".lock"] == ["model.pkl.gz"]


def test_a_damaged_or_hostile_model_is_refused_by_the_commands_that_answer(
    whole_run,
    tmp_path,
    questions_csv,
):
    marker = tmp_path / "ran"
    shutil.copytree(whole_run / "model", tmp_path / "model")
    (tmp_path / "model" / "weights.safetensors").write_bytes(pickle.dumps(RunsCode(marker)))
    hostile = tmp_path / "hostile"
    hostile.mkdir()
    (hostile / "model.pkl.gz").write_bytes(gzip.compress(pickle.dumps(RunsCode(marker))))
    for model, message in (
        (tmp_path / "model", "weights.safetensors"),
        (hostile, "no saved model"),
    ):
        refused(siamese("predict", model, "What is this?", "What is that?"), message)
        refused(siamese("evaluate", model, "--questions", questions_csv), message)
    assert not marker.exists()
