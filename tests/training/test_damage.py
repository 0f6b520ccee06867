"""`siamese train` on full, read-only and damaged directories: a message, and the checkpoint stays whole."""

import gzip
import pickle
import shutil
import subprocess
from pathlib import Path

import pytest
from programs import siamese
from small_disks import mounted_tmpfs

from siamese.search.model_file import read_file

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def train(questions_csv):
    """Function (directory, steps, more flags) -> the finished command."""

    def run(output, steps, *more):
        settings = "d_model=64", "eval_every=99", "checkpoint_every=2"
        return siamese(
            "train", "--preset", "course", "--questions", questions_csv,
            "--train-rows", 300, "--test-rows", 100,
            "--output", output, "--batch-size", 16, "--steps", steps,
            *(f"--set={setting}" for setting in settings), *more,
        )  # fmt: skip

    return run


@pytest.fixture(scope="module")
def trained(train, tmp_path_factory):
    """A run of 6 steps."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    done = train(directory, 6)
    assert done.returncode == 0, done.stderr
    return directory


def refused(process, *messages):
    assert process.returncode == 2, (process.stdout, process.stderr)
    assert any(message in process.stderr for message in messages), process.stderr
    assert "Traceback" not in process.stderr


def step_of(run):
    return read_file(run / "checkpoint.safetensors", "checkpoint")[1]["step"]


def test_a_disk_that_fills_up_or_is_read_only_keeps_the_checkpoint(tmp_path, trained, train):
    with mounted_tmpfs(tmp_path / "disk", "8m") as disk:
        run = Path(shutil.copytree(trained, disk / "run"))
        with open(disk / "ballast", "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(1024))
        refused(train(run, 8), "the disk is full. Free some space or choose another directory")
        assert step_of(run) == 6 and not list(run.glob("*.tmp-*"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for output in (run, disk / "new"):
            refused(train(output, 8), "the file system is read-only")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        (disk / "ballast").unlink()
        resumed = train(run, 8)
        assert resumed.returncode == 0 and "at step 6" in resumed.stderr, resumed.stderr
        assert step_of(run) == 8


@pytest.mark.parametrize("damage", ["flipped", "cut off", "empty", "of another kind"])
def test_a_damaged_checkpoint_is_refused_and_nothing_is_overwritten(
    tmp_path, trained, train, damage
):
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    path = run / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    model = (run / "model.safetensors").read_bytes()
    written = {"flipped": content, "cut off": content[:-9], "empty": b"", "of another kind": model}
    path.write_bytes(written[damage])
    refused(train(run, 8), f"{path} ", f"at {path}")
    assert path.read_bytes() == written[damage]
    assert train(run, 8, "--overwrite").returncode == 0 and step_of(run) == 8


def test_a_run_of_an_earlier_version_is_refused(tmp_path, train):
    checkpoint = tmp_path / "run" / "step-00000400"
    checkpoint.mkdir(parents=True)
    (checkpoint / "manifest.json").write_text("{}")
    refused(train(tmp_path / "run", 8), "an earlier version")
    assert checkpoint.exists()


class RunsCode:
    def __init__(self, marker):
        self.marker = marker

    def __reduce__(self):
        return Path.touch, (self.marker,)


@pytest.mark.parametrize("content", ["code", "garbage", "cut off", "empty"])
def test_a_hostile_course_file_is_refused_at_the_command_line(tmp_path, content):
    path, marker = tmp_path / "model.pkl.gz", tmp_path / "ran"
    hostile = gzip.compress(pickle.dumps({"flat_weights": [RunsCode(marker)], "step": 1}))
    written = {"code": hostile, "garbage": b"\x00\x01", "cut off": hostile[:-5], "empty": b""}
    path.write_bytes(written[content])
    vocabulary, imported = tmp_path / "vocab.json", tmp_path / "imported.safetensors"
    vocabulary.write_text('{"<PAD>": 1, "a": 2}')
    refused(siamese("import-weights", path, "--vocab", vocabulary, imported), "model.pkl.gz")
    assert not marker.exists() and not imported.exists()
