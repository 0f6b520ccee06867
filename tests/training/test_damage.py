"""`siamese train` on full, read-only and damaged directories: a message, and the checkpoint stays whole."""

import shutil
import subprocess
from pathlib import Path

import pytest
from small_disks import mounted_tmpfs

from siamese.cli.main import main
from siamese.search.model_file import read_file

pytestmark = pytest.mark.slow


def train(questions, output, steps, *more):
    settings = "d_model=64", "eval_every=99", "checkpoint_every=2"
    return main([
        "train", "--preset", "course", "--questions", str(questions),
        "--train-rows", "300", "--test-rows", "100",
        "--output", str(output), "--batch-size", "16", "--steps", str(steps),
        *(f"--set={setting}" for setting in settings), *more,
    ])  # fmt: skip


@pytest.fixture(scope="module")
def trained(questions_csv, tmp_path_factory):
    """A run of 6 steps."""
    directory = tmp_path_factory.mktemp("trained") / "run"
    assert train(questions_csv, directory, 6) == 0
    return directory


@pytest.fixture
def refused(capsys):
    """Function of an exit code and words: it is 2, after a message with one of them."""

    def refused(code, *messages):
        err = capsys.readouterr().err
        assert code == 2 and any(message in err for message in messages), err

    return refused


def step_of(run):
    return read_file(run / "checkpoint.safetensors", "checkpoint")[1]["step"]


def test_a_disk_that_fills_up_or_is_read_only_keeps_the_checkpoint(
    tmp_path, trained, questions_csv, refused, capsys
):
    with mounted_tmpfs(tmp_path / "disk", "8m") as disk:
        run = Path(shutil.copytree(trained, disk / "run"))
        with open(disk / "ballast", "wb", buffering=0) as file, pytest.raises(OSError):
            while True:
                file.write(bytes(1024))
        full = "the disk is full. Free some space or choose another directory"
        refused(train(questions_csv, run, 8), full)
        assert step_of(run) == 6 and not list(run.glob("*.tmp-*"))
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        for output in (run, disk / "new"):
            refused(train(questions_csv, output, 8), "the file system is read-only")
        subprocess.run(["mount", "-o", "remount,rw", str(disk)], check=True)
        (disk / "ballast").unlink()
        assert train(questions_csv, run, 8) == 0 and "at step 6" in capsys.readouterr().err
        assert step_of(run) == 8


def test_a_damaged_checkpoint_is_refused_and_nothing_is_overwritten(
    tmp_path, trained, questions_csv, refused
):
    run = Path(shutil.copytree(trained, tmp_path / "run"))
    path = run / "checkpoint.safetensors"
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    other_kind = (run / "model.safetensors").read_bytes()
    for damaged in (content, other_kind):
        path.write_bytes(damaged)
        refused(train(questions_csv, run, 8), f"{path} ", f"at {path}")
        assert path.read_bytes() == damaged
    assert train(questions_csv, run, 8, "--overwrite") == 0 and step_of(run) == 8
