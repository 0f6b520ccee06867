"""`siamese train` on full, read-only and damaged directories: a message, the older checkpoint, no loss."""

import gzip
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import siamese
from small_disks import mounted_tmpfs

from siamese.storage.checkpoints import list_checkpoints, load_newest

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def train(questions_csv):
    """Function (directory, steps, more flags) -> the finished command.

    It is evaluated after step 1 alone: no older checkpoint stays for being the best.
    """

    def run(output, steps, *more):
        return siamese(
            "train", "--questions", questions_csv, "--train-rows", 300, "--test-rows", 100,
            "--output", output, "--d-model", 8, "--batch-size", 16, "--eval-every", 99,
            "--checkpoint-every", 2, "--steps", steps, *more,
        )  # fmt: skip

    return run


@pytest.fixture(scope="module")
def trained(train, tmp_path_factory):
    """A run of 6 steps with checkpoints of the steps 2, 4 and 6."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    made = train(directory, 6)
    assert made.returncode == 0, made.stderr
    assert steps_in(directory) == [6, 4, 2]
    return directory


@pytest.fixture
def run(trained, tmp_path):
    """A copy of that run."""
    return Path(shutil.copytree(trained, tmp_path / "run"))


def refused(process, *messages):
    assert process.returncode == 2, (process.stdout, process.stderr)
    assert any(message in process.stderr for message in messages), process.stderr
    assert "Traceback" not in process.stderr


def steps_in(directory):
    return [saved.step for saved in list_checkpoints(directory)]


def test_a_disk_that_fills_up_or_is_read_only_keeps_the_checkpoints_there(tmp_path, trained, train):
    with mounted_tmpfs(tmp_path / "disk", "4m") as disk:
        run = Path(shutil.copytree(trained, disk / "run"))
        before = steps_in(run)
        with open(disk / "ballast", "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(1024))
        refused(train(run, 8), "the disk is full. Free some space or choose another directory")
        assert steps_in(run) == before and load_newest(run).checkpoint.step == 6
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for output in (run, disk / "new"):
            refused(train(output, 8), "the file system is read-only")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        (disk / "ballast").unlink()
        went_on = train(run, 8)
        assert went_on.returncode == 0 and "at step 6" in went_on.stderr, went_on.stderr
        assert steps_in(run)[0] == 8


def test_a_damaged_newest_checkpoint_is_skipped_with_its_reason(run, train):
    newest = list_checkpoints(run)[0].path
    content = bytearray((newest / "weights.safetensors").read_bytes())
    content[-3] ^= 1
    (newest / "weights.safetensors").write_bytes(content)
    went_on = train(run, 8)
    assert went_on.returncode == 0, went_on.stderr
    assert f"Skipped {newest}" in went_on.stderr and "at step 4" in went_on.stderr
    # Only its sum shows the damage: step 6, saved again, takes its place.
    assert [saved.path.name for saved in list_checkpoints(run)][1] == "step-00000006.1"
    assert load_newest(run).checkpoint.step == 8


class RunsCode:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("content", ["code", "garbage", "cut off", "empty"])
def test_a_hostile_course_file_is_refused_at_the_command_line(tmp_path, train, content):
    output, marker = tmp_path / "run", tmp_path / "ran"
    output.mkdir()
    hostile = gzip.compress(pickle.dumps({"flat_weights": [RunsCode(marker)], "step": 1}))
    written = {"code": hostile, "garbage": b"\x00\x01", "cut off": hostile[:-5], "empty": b""}
    (output / "model.pkl.gz").write_bytes(written[content])
    vocabulary, imported = tmp_path / "vocab.json", tmp_path / "imported"
    vocabulary.write_text('{"<PAD>": 1, "a": 2}')
    refused(train(output, 4), "model.pkl.gz")
    importing = ["import-weights", output / "model.pkl.gz", "--vocab", vocabulary, imported]
    refused(siamese(*importing), "model.pkl.gz")
    assert not marker.exists() and not imported.exists()
    assert [p.name for p in output.iterdir() if p.name != ".lock"] == ["model.pkl.gz"]
