"""Checkpoints: nothing is lost, nothing half is read, nothing is overwritten, whatever happens."""

import builtins
import hashlib
import json
import os
import random
import shutil
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest
from small_disks import mounted_tmpfs
from test_trees import MARKER, same

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage import checkpoints as ck

FILES = ("weights.safetensors", "slots.safetensors", "state.json", "config.json", "metrics.json",
         "vocabulary.json", "manifest.json")  # fmt: skip


def a_checkpoint(step=4, value=0.5, **other):
    """A small checkpoint with everything in it; its content follows from step and value."""
    weights = (((np.full((3, 2), value, "float32"), ()), (np.arange(step),)), MARKER)
    settings = {
        "step": step,
        "weights": weights,
        "model_state": ((), [np.ones(2, ml_dtypes.bfloat16)], None),
        "slots": ([np.full(3, value)], {"step": step}),
        "random_state": {"jax": np.array([0, step], np.uint32), "py": random.Random(1).getstate()},
        "batch_position": {"epoch": 1, "row": step},
        "history": {"eval": [(step, value)]},
        "config": {"d_model": 128, "betas": (0.9, 0.999)},
        "metrics": {"loss": value},
        "vocabulary": b'{"a":1}',
    }
    return ck.Checkpoint(**{**settings, **other})


def save(run, checkpoint, **options):
    with ck.CheckpointWriter(run, **options) as writer:
        return writer.save(checkpoint)


def names(run):
    return sorted(path.name for path in run.iterdir() if path.name != ".lock")


def test_everything_returns_exactly(tmp_path):
    run, saved = tmp_path / "new" / "run", a_checkpoint()
    path = save(run, saved)
    assert path == run / "step-00000004" and sorted(os.listdir(path)) == sorted(FILES)
    found = ck.load_newest(run)
    assert found.skipped == [] and found.checkpoint.path == path
    for field in fields(saved):
        if field.name != "path":
            assert same(getattr(saved, field.name), getattr(found.checkpoint, field.name)), field


# ---- What is kept ----


def test_the_last_ones_and_the_best_are_kept(tmp_path):
    losses = {1: 0.9, 2: 0.1, 3: 0.5, 4: 0.4, 5: float("nan"), 6: 0.3}
    for step, loss in losses.items():
        save(tmp_path, a_checkpoint(step, loss), keep=2, best_metric="loss")
    assert names(tmp_path) == ["step-00000002", "step-00000005", "step-00000006"]
    save(tmp_path, a_checkpoint(7, 0.2), keep=9)
    assert len(names(tmp_path)) == 4
    save(tmp_path, a_checkpoint(8, 0.2), keep=1)
    assert names(tmp_path) == ["step-00000008"]
    with pytest.raises(ArgumentError, match="at least 1"):
        save(tmp_path, a_checkpoint(9), keep=0)


def test_saving_a_step_again_replaces_it_and_clear_starts_anew(tmp_path):
    for value, name in ((0.1, "step-00000004"), (0.2, "step-00000004.1"), (0.3, "step-00000004.2")):
        assert save(tmp_path, a_checkpoint(4, value)).name == name
        assert names(tmp_path) == [name]
        assert ck.load_newest(tmp_path).checkpoint.metrics == {"loss": value}
    (tmp_path / "metrics.jsonl").write_text("{}")
    with ck.CheckpointWriter(tmp_path) as writer:
        writer.clear()
    assert names(tmp_path) == ["metrics.jsonl"]


def test_a_damaged_one_is_neither_counted_nor_removed_nor_overwritten(tmp_path):
    for step in (1, 2, 3):
        save(tmp_path, a_checkpoint(step), keep=9)
    flip(tmp_path / "step-00000003" / "weights.safetensors")
    (tmp_path / "step-00000002" / "manifest.json").unlink()
    assert ck.load_newest(tmp_path).checkpoint.step == 1
    save(tmp_path, a_checkpoint(2, 0.7), keep=1)  # The run goes on from step 1.
    assert names(tmp_path) == ["step-00000002", "step-00000002.1", "step-00000003"]
    found = ck.load_newest(tmp_path)
    assert found.checkpoint.metrics == {"loss": 0.7}
    assert [path.name for path, _ in found.skipped] == ["step-00000003"]
    save(tmp_path, a_checkpoint(3, 0.8), keep=1)
    assert ck.load_newest(tmp_path).checkpoint.metrics == {"loss": 0.8}


# ---- What is damaged ----


def flip(path, at=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0x10
    path.write_bytes(bytes(data))


def forge(folder, change):
    """Changes a manifest as an attacker would: with its checksum made right again."""
    body = json.loads((folder / "manifest.json").read_text())
    del body["sha256"]
    change(body)
    canonical = json.dumps(body, sort_keys=True, separators=(",", ":")).encode()
    body["sha256"] = hashlib.sha256(canonical).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(body))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def link(path):
    shutil.move(path, path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def pipe(path):
    path.unlink()
    os.mkfifo(path)


def forged(change):
    return "manifest.json", lambda path: forge(path.parent, change)


def add_file(name):
    return forged(lambda m: m["files"].update({name: m["files"]["state.json"]}))


DAMAGES = {  # name -> (file, what happens to it), part of the message
    "manifest missing": (("manifest.json", Path.unlink), "has no manifest.json"),
    "manifest cut off": (("manifest.json", cut), "damaged"),
    "manifest nested": (("manifest.json", lambda p: p.write_text("[" * 10**5)), "damaged"),
    "manifest huge": (("manifest.json", lambda p: p.write_bytes(bytes(2 << 20))), "too many"),
    "manifest a pipe": (("manifest.json", pipe), "not a regular file"),
    "unknown version": (
        forged(lambda m: m.update(version=99)),
        "format version 99; this siamese reads version 1.*upgrade",
    ),
    "path upwards": (add_file("../x"), r"names the file '\.\./x'"),
    "renamed": (forged(lambda m: m.update(step=8)), "step"),
    "file forgotten": (forged(lambda m: m["files"].pop("slots.safetensors")), "cannot be read"),
    "file missing": (("slots.safetensors", Path.unlink), "slots.safetensors is missing"),
    "file cut off": (("weights.safetensors", cut), "bytes, and [0-9]+ were written"),
    "file huge and sparse": (
        ("slots.safetensors", lambda p: os.truncate(p, 1 << 40)),
        "bytes, and",
    ),
    "file a link": (("state.json", link), "symbolic link"),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_the_older_one_is_used(tmp_path, damage):
    (file, inflict), message = DAMAGES[damage]
    save(tmp_path, a_checkpoint(4))
    newest = save(tmp_path, a_checkpoint(6))
    inflict(newest / file)
    before = names(newest)
    found = ck.load_newest(tmp_path)
    assert found.checkpoint.step == 4
    ((path, reason),) = found.skipped
    assert path == newest
    with pytest.raises(CheckpointError, match=message):
        raise CheckpointError(reason)
    shutil.rmtree(tmp_path / "step-00000004")
    with pytest.raises(CheckpointError, match=r"(?s)None of the 1 checkpoints.*--overwrite"):
        ck.load_newest(tmp_path)
    assert names(newest) == before


def test_any_single_flipped_byte_is_noticed(tmp_path):
    path = save(tmp_path, a_checkpoint())
    generator = random.Random(0)
    for _ in range(60):
        file = path / generator.choice(FILES)
        original = file.read_bytes()
        flip(file, generator.randrange(len(original)))
        with pytest.raises(CheckpointError):
            ck.load_checkpoint(path)
        file.write_bytes(original)
    assert ck.load_checkpoint(path).step == 4


def test_wrong_content_with_right_checksums_is_refused(tmp_path):
    """What an attacker can make: sizes and checksums all fit, and the content does not."""
    contents = {
        "weights.safetensors": [b"", b"\xff" * 16, b"\x02\0\0\0\0\0\0\0{}", b"x" * 100],
        "state.json": [b"", b"[]", b"{}", b"[" * 50_000, b'{"step": {"__array__": 3}}', b"\xff"],
        "metrics.json": [b"[1", b'{"__array__": {"dtype": "object", "shape": [], "base64": ""}}'],
    }
    for name, data in [(name, data) for name, datas in contents.items() for data in datas]:
        path = save(tmp_path, a_checkpoint())
        (path / name).write_bytes(data)
        entry = {"size": len(data), "sha256": hashlib.sha256(data).hexdigest()}
        forge(path, lambda m, name=name, entry=entry: m["files"].update({name: entry}))
        with pytest.raises(CheckpointError, match="cannot be read, though its checksums"):
            ck.load_checkpoint(path)
        shutil.rmtree(path)
    path = save(tmp_path, a_checkpoint())
    os.truncate(path / "weights.safetensors", 1 << 40)
    forge(path, lambda m: m["files"]["weights.safetensors"].update(size=1 << 40))
    with pytest.raises(CheckpointError, match=r"more than the .* read at most"):
        ck.load_checkpoint(path)


def test_another_model_or_vocabulary_is_refused_naming_both(tmp_path):
    save(tmp_path, a_checkpoint())
    found = ck.load_newest(tmp_path).checkpoint
    good, other = ck.vocabulary_checksum({"a": 1}), ck.vocabulary_checksum({"b": 1})
    ck.check_compatible(found, {"a": 1}, weights=found.weights, slots=found.slots)
    ck.check_compatible(found)
    bigger = (((np.zeros((5, 2)), ()), (np.zeros(4),)), MARKER)
    for wanted, message in (
        ({"vocabulary": {"b": 1}}, f"{good[:12]}, and {other[:12]}.*--overwrite"),
        ({"weights": bigger}, r"shape \(3, 2\) at 0/0/0, and the model has \(5, 2\).*--overwrite"),
        (
            {"weights": (*found.weights, np.zeros(1))},
            r"nothing at 2, and the model has shape \(1,\)",
        ),
        ({"weights": ()}, "the model has nothing there"),
        ({"slots": ()}, "optimizer slots"),
    ):
        with pytest.raises(CheckpointError, match=message):
            ck.check_compatible(found, **wanted)


# ---- Disk full, several writers ----


def test_a_full_disk_keeps_what_is_there(tmp_path):
    """The disk is filled up to each of many heights: the save fails at each possible place."""
    with mounted_tmpfs(tmp_path / "disk", "256k") as disk:
        first = save(disk, a_checkpoint(1))
        free = shutil.disk_usage(disk).free
        outcomes = set()
        for left in range(0, free, 8192):
            (disk / "ballast").write_bytes(bytes(free - left))
            try:
                path = save(disk, a_checkpoint(2), keep=9)
                outcomes.add("saved")
                shutil.rmtree(path)
            except CheckpointError as error:
                outcomes.add("refused")
                assert "the disk is full. Free some space" in str(error)
                assert sorted(names(disk)) == ["ballast", first.name]
            assert ck.load_newest(disk).checkpoint.step == 1
            (disk / "ballast").unlink()
        assert outcomes == {"saved", "refused"}


def test_one_process_writes_and_its_lock_dies_with_it(tmp_path):
    program = (
        "import sys\n"
        "from siamese.storage import checkpoints as ck\n"
        "with ck.CheckpointWriter(sys.argv[1]) as writer:\n"
        "    writer.save(ck.Checkpoint(1, ()))\n"
        "    print('ready', flush=True)\n"
        "    sys.stdin.read()\n"
    )
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], **pipes) as first:
        assert first.stdout.readline() == "ready\n"
        refused = f"Another process writes.*process {first.pid} on"
        with pytest.raises(CheckpointError, match=refused):
            save(tmp_path, a_checkpoint(2))
        assert ck.load_newest(tmp_path).checkpoint.step == 1  # Reading needs no lock.
        first.kill()
    save(tmp_path, a_checkpoint(2))
    assert ck.load_newest(tmp_path).checkpoint.step == 2


# ---- Killed at any moment ----


def run_dying_at(n, action):
    """Runs `action` in a child that dies at its n-th call that changes the disk; its exit code."""
    child = os.fork()
    if child == 0:
        left = n

        def counted(call):
            def wrapper(*args, **kwargs):
                nonlocal left
                left -= 1
                if left == 0:
                    os._exit(9)
                return call(*args, **kwargs)

            return wrapper

        for name in ("mkdir", "open", "fsync", "rename", "replace", "unlink", "rmdir", "close"):
            setattr(os, name, counted(getattr(os, name)))
        builtins.open = counted(open)
        try:
            action()
            os._exit(0)
        finally:
            os._exit(1)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


@pytest.mark.slow
def test_a_kill_at_every_single_system_call_leaves_a_complete_checkpoint(tmp_path):
    """Saves step 2 over step 1 once for each call that changes the disk, dying at that call."""
    save(tmp_path, a_checkpoint(1))
    seen = set()
    for n in range(1, 500):
        died = run_dying_at(n, lambda: save(tmp_path, a_checkpoint(2, 0.25), keep=1))
        found, skipped = ck.load_newest(tmp_path)
        assert skipped == [] and found.metrics["loss"] == {1: 0.5, 2: 0.25}[found.step]
        seen.add((found.step, died))
        if died == 0:
            break
        if found.step == 2:  # Start again from step 1.
            with ck.CheckpointWriter(tmp_path) as writer:
                writer.clear()
                writer.save(a_checkpoint(1))
    assert seen == {(1, 9), (2, 9), (2, 0)}
    assert names(tmp_path) == ["step-00000002"]  # No temporary stayed.
