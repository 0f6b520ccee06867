"""checkpoints.py: nothing is lost, nothing half is read, nothing is overwritten."""

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import textwrap
import time
from dataclasses import fields

import ml_dtypes
import numpy as np
import pytest
from small_disks import mounted_tmpfs
from test_trees import MARKER, same

from siamese.errors import ArgumentError, CheckpointError
from siamese.storage import checkpoints as ck
from siamese.storage import store as manifest

FILES = ("weights.safetensors", "slots.safetensors", "state.json", "config.json", "metrics.json")


def a_checkpoint(step=4, value=0.5, **other):
    """A small checkpoint with everything in it; its content follows from step and value."""
    weights = (((np.full((3, 2), value, "float32"), ()), (np.arange(step),)), MARKER)
    settings = {
        "step": step,
        "weights": weights,
        "model_state": ((), [np.ones(2, ml_dtypes.bfloat16)], None),
        "slots": ([np.full(3, value)], {"step": step}),
        "random_state": {
            "jax": np.array([0, step], np.uint32),
            "python": random.Random(1).getstate(),
        },
        "batch_position": {"epoch": 1, "row": step},
        "history": {"eval": [(step, value)]},
        "config": {"d_model": 128, "betas": (0.9, 0.999)},
        "metrics": {"loss": value},
        "vocabulary": b'{"a":1}',
    }
    return ck.Checkpoint(**{**settings, **other})


def names(run):
    return sorted(path.name for path in run.iterdir() if path.name != ".lock")


def test_everything_returns_exactly(tmp_path):
    saved = a_checkpoint()
    path = ck.save_checkpoint(tmp_path / "new" / "run", saved)
    assert path == tmp_path / "new" / "run" / "step-00000004"
    found = ck.load_newest(tmp_path / "new" / "run")
    assert found.skipped == [] and found.checkpoint.path == path
    for field in fields(saved):
        if field.name != "path":
            want, got = getattr(saved, field.name), getattr(found.checkpoint, field.name)
            assert same(want, got), field.name
    assert sorted(os.listdir(path)) == sorted([*FILES, "vocabulary.json", "manifest.json"])
    assert (path / "vocabulary.json").read_bytes() == b'{"a":1}'


def test_the_smallest_checkpoint_and_none_at_all(tmp_path):
    assert ck.load_newest(tmp_path / "none") == (None, [])
    assert ck.load_newest(tmp_path) == (None, [])
    ck.save_checkpoint(tmp_path, ck.Checkpoint(step=0, weights=()))
    back = ck.load_newest(tmp_path).checkpoint
    assert (back.step, back.weights, back.vocabulary, back.vocabulary_checksum) == (
        0,
        (),
        None,
        None,
    )


@pytest.mark.parametrize("step", [-1, 1.5, True, "4", None])
def test_a_step_is_a_whole_number(tmp_path, step):
    with pytest.raises(ArgumentError, match="whole number"):
        ck.save_checkpoint(tmp_path, ck.Checkpoint(step=step, weights=()))


def test_random_generators_continue_as_if_never_stopped(tmp_path):
    random.seed(34)
    np.random.seed(34)
    random.gauss(0, 1), np.random.normal()  # Both keep half of a pair for the next call.
    state = ck.capture_random_state(jax=np.array([1, 2], np.uint32))
    expected = [random.gauss(0, 1), random.random(), np.random.normal(), np.random.rand()]
    ck.save_checkpoint(tmp_path, a_checkpoint(random_state=state))
    random.seed(0)
    np.random.seed(0)
    ck.restore_random_state(ck.load_newest(tmp_path).checkpoint.random_state)
    got = [random.gauss(0, 1), random.random(), np.random.normal(), np.random.rand()]
    assert got == expected


# ---- What is kept ----


def test_the_last_ones_and_the_best_are_kept(tmp_path):
    losses = {1: 0.9, 2: 0.1, 3: 0.5, 4: 0.4, 5: float("nan"), 6: 0.3}
    for step, loss in losses.items():
        ck.save_checkpoint(tmp_path, a_checkpoint(step, loss), keep=2, best_metric="loss")
    assert names(tmp_path) == ["step-00000002", "step-00000005", "step-00000006"]
    assert ck.best_checkpoint(tmp_path, "loss").name == "step-00000002"
    assert ck.best_checkpoint(tmp_path, "loss", higher_is_better=True).name == "step-00000006"
    assert ck.best_checkpoint(tmp_path, "accuracy") is None
    ck.save_checkpoint(tmp_path, a_checkpoint(7, 0.2), keep=1)
    assert names(tmp_path) == ["step-00000007"]


def test_keep_none_keeps_all_and_keep_zero_is_refused(tmp_path):
    for step in range(5):
        ck.save_checkpoint(tmp_path, a_checkpoint(step), keep=None)
    assert len(names(tmp_path)) == 5
    with pytest.raises(ArgumentError, match="at least 1"):
        ck.save_checkpoint(tmp_path, a_checkpoint(9), keep=0)


def test_saving_a_step_again_replaces_it_without_a_moment_without(tmp_path):
    first = ck.save_checkpoint(tmp_path, a_checkpoint(4, 0.1))
    second = ck.save_checkpoint(tmp_path, a_checkpoint(4, 0.2))
    assert (first.name, second.name) == ("step-00000004", "step-00000004.1")
    assert names(tmp_path) == [second.name]
    third = ck.save_checkpoint(tmp_path, a_checkpoint(4, 0.3))
    assert ck.load_newest(tmp_path).checkpoint.path == third
    assert ck.load_newest(tmp_path).checkpoint.metrics == {"loss": 0.3}


def test_a_damaged_one_is_neither_counted_nor_removed_nor_overwritten(tmp_path):
    for step in (1, 2, 3):
        ck.save_checkpoint(tmp_path, a_checkpoint(step), keep=None)
    flip(tmp_path / "step-00000003" / "weights.safetensors")
    (tmp_path / "step-00000002" / "manifest.json").unlink()
    assert ck.load_newest(tmp_path).checkpoint.step == 1
    ck.save_checkpoint(tmp_path, a_checkpoint(2, 0.7), keep=1)  # The run goes on from step 1.
    assert names(tmp_path) == ["step-00000002", "step-00000002.1", "step-00000003"]
    found = ck.load_newest(tmp_path)
    assert found.checkpoint.metrics == {"loss": 0.7}
    assert [path.name for path, _ in found.skipped] == ["step-00000003"]
    ck.save_checkpoint(tmp_path, a_checkpoint(3, 0.8), keep=1)
    assert ck.load_newest(tmp_path).checkpoint.metrics == {"loss": 0.8}


def test_clear_starts_anew_and_leaves_other_files(tmp_path):
    ck.save_checkpoint(tmp_path, a_checkpoint(1))
    (tmp_path / "metrics.jsonl").write_text("{}")
    with ck.CheckpointWriter(tmp_path) as writer:
        writer.clear()
    assert names(tmp_path) == ["metrics.jsonl"]


# ---- What is damaged ----


def flip(path, at=None):
    data = bytearray(path.read_bytes())
    data[len(data) // 2 if at is None else at] ^= 0x10
    path.write_bytes(bytes(data))


def edit_manifest(folder, change):
    """Changes a manifest as an attacker would: with its checksum made right again."""
    body = json.loads((folder / "manifest.json").read_text())
    change(body)
    body["sha256"] = manifest._own_checksum(body)
    (folder / "manifest.json").write_text(json.dumps(body))


def cut(path):
    path.write_bytes(path.read_bytes()[:-1])


def make_link(path):
    shutil.move(path, path.parent.parent / "elsewhere")
    path.symlink_to(path.parent.parent / "elsewhere")


def make_pipe(path):
    path.unlink()
    os.mkfifo(path)


DAMAGES = {
    "manifest missing": (lambda d: (d / "manifest.json").unlink(), "has no manifest.json"),
    "manifest empty": (lambda d: (d / "manifest.json").write_bytes(b""), "damaged"),
    "manifest cut off": (lambda d: cut(d / "manifest.json"), "damaged|cannot be read"),
    "manifest a list": (lambda d: (d / "manifest.json").write_text("[]"), "damaged"),
    "manifest nested": (lambda d: (d / "manifest.json").write_text("[" * 10**5), "damaged"),
    "manifest huge": (lambda d: (d / "manifest.json").write_bytes(bytes(2 << 20)), "too many"),
    "manifest a pipe": (lambda d: make_pipe(d / "manifest.json"), "no regular file"),
    "manifest a link": (lambda d: make_link(d / "manifest.json"), "symbolic link"),
    "unknown version": (
        lambda d: edit_manifest(d, lambda m: m.update(version=99)),
        "format version 99; this siamese reads version 1.*upgrade",
    ),
    "another format": (
        lambda d: edit_manifest(d, lambda m: m.update(format="x")),
        "something else",
    ),
    "no files": (lambda d: edit_manifest(d, lambda m: m.pop("files")), "lists no"),
    "no entry": (lambda d: edit_manifest(d, lambda m: m["files"].update(x=3)), "no size"),
    "path upwards": (
        lambda d: edit_manifest(d, lambda m: m["files"].update({"../x": m["files"]["state.json"]})),
        r"names the file '\.\./x'",
    ),
    "absolute path": (
        lambda d: edit_manifest(
            d, lambda m: m["files"].update({"/etc/passwd": m["files"]["state.json"]})
        ),
        "names the file '/etc/passwd'",
    ),
    "renamed": (lambda d: edit_manifest(d, lambda m: m.update(step=8)), "step"),
    "file forgotten": (
        lambda d: edit_manifest(d, lambda m: m["files"].pop("slots.safetensors")),
        "cannot be read",
    ),
    "file missing": (lambda d: (d / "slots.safetensors").unlink(), "slots.safetensors is missing"),
    "file cut off": (lambda d: cut(d / "weights.safetensors"), "bytes, and [0-9]+ were written"),
    "file a link": (lambda d: make_link(d / "state.json"), "symbolic link"),
    "file a pipe": (lambda d: make_pipe(d / "state.json"), "no regular file"),
    **{
        f"byte flipped in {name}": (lambda d, name=name: flip(d / name), name.replace(".", r"\."))
        for name in (*FILES, "vocabulary.json", "manifest.json")
    },
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_damage_is_named_and_the_older_one_is_used(tmp_path, damage):
    inflict, message = DAMAGES[damage]
    ck.save_checkpoint(tmp_path, a_checkpoint(4))
    newest = ck.save_checkpoint(tmp_path, a_checkpoint(6))
    inflict(newest)
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
    path = ck.save_checkpoint(tmp_path, a_checkpoint())
    files = [path / name for name in (*FILES, "vocabulary.json", "manifest.json")]
    generator = random.Random(0)
    for _ in range(150):
        file = generator.choice(files)
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
    for name, datas in contents.items():
        for data in datas:
            path = ck.save_checkpoint(tmp_path, a_checkpoint())
            (path / name).write_bytes(data)
            entry = {"size": len(data), "sha256": manifest.checksum(data)}
            edit_manifest(path, lambda m, n=name, e=entry: m["files"].update({n: e}))
            with pytest.raises(CheckpointError, match="cannot be read, though its checksums"):
                ck.load_checkpoint(path)
            shutil.rmtree(path)


def test_a_huge_sparse_file_is_refused_before_it_is_read(tmp_path):
    path = ck.save_checkpoint(tmp_path, a_checkpoint())
    os.truncate(path / "weights.safetensors", 1 << 40)
    with pytest.raises(CheckpointError, match="bytes, and"):
        ck.load_checkpoint(path)
    edit_manifest(path, lambda m: m["files"]["weights.safetensors"].update(size=1 << 40))
    with pytest.raises(CheckpointError, match=r"more than the .* read at most"):
        ck.load_checkpoint(path)


def test_a_linked_checkpoint_directory_is_skipped_but_may_be_named(tmp_path):
    real = ck.save_checkpoint(tmp_path / "a", a_checkpoint(4))
    ck.save_checkpoint(tmp_path / "b", a_checkpoint(2))
    (tmp_path / "b" / "step-00000009").symlink_to(real)
    found = ck.load_newest(tmp_path / "b")
    assert found.checkpoint.step == 2 and "symbolic link" in found.skipped[0][1]
    assert ck.load_checkpoint(tmp_path / "b" / "step-00000009").step == 4


def test_paths_that_are_no_checkpoint_are_said_so(tmp_path):
    (tmp_path / "file").touch()
    for path in (tmp_path / "none", tmp_path / "file"):
        with pytest.raises(CheckpointError, match="no directory"):
            ck.load_checkpoint(path)
    with pytest.raises(CheckpointError, match="no manifest"):
        ck.load_checkpoint(tmp_path)
    with pytest.raises(CheckpointError, match="Cannot"):
        ck.save_checkpoint(tmp_path / "file", a_checkpoint())


# ---- Another model ----


def test_another_model_or_vocabulary_is_refused_naming_both(tmp_path):
    ck.save_checkpoint(tmp_path, a_checkpoint())
    found = ck.load_newest(tmp_path).checkpoint
    good = ck.vocabulary_checksum(b'{"a":1}')
    assert good == ck.vocabulary_checksum({"a": 1}) == found.vocabulary_checksum
    ck.check_compatible(found, good, shapes=found.weights, slot_shapes=found.slots)
    ck.check_compatible(found)
    other = ck.vocabulary_checksum(b'{"b":1}')
    with pytest.raises(CheckpointError, match=f"{good[:12]}, and {other[:12]}.*--overwrite"):
        ck.check_compatible(found, other)
    bigger = (((np.zeros((5, 2)), ()), (np.zeros(4),)), MARKER)
    with pytest.raises(
        CheckpointError, match=r"shape \(3, 2\) at 0/0/0, and the model has \(5, 2\).*--overwrite"
    ):
        ck.check_compatible(found, shapes=bigger)
    with pytest.raises(CheckpointError, match=r"nothing at 2, and the model has shape \(1,\)"):
        ck.check_compatible(found, shapes=(*found.weights, np.zeros(1)))
    with pytest.raises(CheckpointError, match="the model has nothing there"):
        ck.check_compatible(found, shapes=())
    with pytest.raises(CheckpointError, match="optimizer slots"):
        ck.check_compatible(found, slot_shapes=())


# ---- Disk full, read-only, several writers ----

SAVER = textwrap.dedent(
    """
    import sys
    sys.path[:0] = [{tests!r}]
    from test_checkpoints import a_checkpoint, ck
    from siamese.errors import CheckpointError
    {body}
    """
)


def program(body):
    return SAVER.format(
        tests=os.path.dirname(os.path.dirname(__file__)), body=textwrap.indent(body, "").strip()
    )


@pytest.fixture
def small_disk(tmp_path):
    """A disk of 256 KiB mounted for the test; skipped where mounting is not permitted."""
    with mounted_tmpfs(tmp_path / "disk", "256k") as where:
        yield where


def test_a_full_disk_keeps_what_is_there(small_disk):
    ck.save_checkpoint(small_disk, a_checkpoint(1))
    large = a_checkpoint(2, weights=(np.zeros(100_000),))
    for _ in range(3):
        with pytest.raises(CheckpointError, match=r"the disk is full\. Free some space"):
            ck.save_checkpoint(small_disk, large)
    assert names(small_disk) == ["step-00000001"]
    assert ck.load_newest(small_disk).checkpoint.step == 1
    ck.save_checkpoint(small_disk, a_checkpoint(3))
    assert ck.load_newest(small_disk).checkpoint.step == 3


def test_every_amount_of_room_saves_all_or_nothing(small_disk):
    """The disk is filled up to each of many heights: the save fails at each possible place."""
    first = ck.save_checkpoint(small_disk, a_checkpoint(1))
    free = shutil.disk_usage(small_disk).free
    outcomes = set()
    for room in range(0, free, 4096):
        (small_disk / "ballast").write_bytes(bytes(free - room))
        try:
            path = ck.save_checkpoint(small_disk, a_checkpoint(2), keep=None)
            outcomes.add("saved")
            shutil.rmtree(path)
        except CheckpointError as error:
            outcomes.add("refused")
            assert "the disk is full" in str(error)
            assert sorted(names(small_disk)) == ["ballast", first.name]
        assert ck.load_newest(small_disk).checkpoint.step == 1
        (small_disk / "ballast").unlink()
    assert outcomes == {"saved", "refused"}


def test_a_read_only_disk_can_be_read_and_says_so(small_disk):
    ck.save_checkpoint(small_disk, a_checkpoint(1))
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(CheckpointError, match=r"read-only\. Choose another directory"):
        ck.save_checkpoint(small_disk, a_checkpoint(2))
    with pytest.raises(CheckpointError, match=r"read-only\. Choose another directory"):
        ck.save_checkpoint(small_disk / "deeper", a_checkpoint(2))
    assert ck.load_newest(small_disk).checkpoint.step == 1


def test_a_second_process_is_refused_while_the_first_writes(tmp_path):
    body = program(
        "with ck.CheckpointWriter(sys.argv[1]) as writer:\n"
        "    writer.save(a_checkpoint(1)); print('ready', flush=True); sys.stdin.read()"
    )
    first = subprocess.Popen(
        [sys.executable, "-c", body, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert first.stdout.readline() == "ready\n"
    with pytest.raises(CheckpointError, match=f"Another process writes.*process {first.pid} on"):
        ck.save_checkpoint(tmp_path, a_checkpoint(2))
    assert ck.load_newest(tmp_path).checkpoint.step == 1  # Reading needs no lock.
    os.kill(first.pid, signal.SIGKILL)  # The lock dies with its holder.
    first.communicate()
    ck.save_checkpoint(tmp_path, a_checkpoint(2))
    assert ck.load_newest(tmp_path).checkpoint.step == 2


def test_a_second_writer_of_the_same_process_is_let_in(tmp_path):
    """A notebook cell run again makes a second loop while the first is still alive."""
    first = ck.CheckpointWriter(tmp_path)
    ck.save_checkpoint(tmp_path, a_checkpoint(1))
    first.save(a_checkpoint(2))
    first.close()
    assert names(tmp_path) == ["step-00000001", "step-00000002"]


# ---- Killed at any moment ----


def test_a_kill_at_every_single_system_call_leaves_a_whole_checkpoint(tmp_path):
    """Saves step 2 over step 1 once for each call that changes the disk, dying at that call."""
    body = program(
        """
import os
run = sys.argv[1]

def die_at(n):
    left = [n]
    def counted(call):
        def wrapper(*args, **kwargs):
            left[0] -= 1
            if left[0] == 0:
                os._exit(9)
            return call(*args, **kwargs)
        return wrapper
    for name in ("mkdir", "open", "fsync", "rename", "replace", "unlink", "rmdir", "close"):
        setattr(os, name, counted(getattr(os, name)))
    ck.save_checkpoint(run, a_checkpoint(2, 0.25), keep=1)
    os._exit(0)

ck.save_checkpoint(run, a_checkpoint(1))
a_checkpoint()
for n in range(1, 500):
    child = os.fork()
    if child == 0:
        die_at(n)
    died = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert died in (0, 9), died
    newest = ck.load_newest(run)
    assert newest.skipped == [], newest.skipped
    step = newest.checkpoint.step
    assert newest.checkpoint.metrics["loss"] == {1: 0.5, 2: 0.25}[step]
    print(n, step, died)
    if died == 0:
        break
    if step == 2:  # Start again from step 1.
        with ck.CheckpointWriter(run) as writer:
            writer.clear()
            writer.save(a_checkpoint(1))
"""
    )
    done = subprocess.run(
        [sys.executable, "-c", body, str(tmp_path)], capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr[-2000:]
    outcomes = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert outcomes[-1][1:] == (2, 0)  # The last one was not killed,
    assert len(outcomes) > 20  # many were, some before the rename and some after it,
    assert {step for _, step, died in outcomes if died} == {1, 2}
    assert names(tmp_path) == ["step-00000002"]  # and no temporary stayed.


def kill_while_saving(run, kills, seed):
    """Starts a process that saves on and on, kills it at a random moment; `kills` times."""
    body = program(
        "found, _ = ck.load_newest(sys.argv[1])\n"
        "step = found.step if found else 0\n"
        "first = step + 5\n"
        "while True:\n"
        "    step += 5\n"
        "    ck.save_checkpoint(sys.argv[1], a_checkpoint(step, step / 7), keep=2)\n"
        "    if step == first: print('ready', flush=True)\n"
    )
    generator, reached, leftovers = random.Random(seed), 0, 0
    for _ in range(kills):
        saver = subprocess.Popen(
            [sys.executable, "-c", body, str(run)], stdout=subprocess.PIPE, text=True
        )
        assert saver.stdout.readline() == "ready\n"
        time.sleep(generator.uniform(0, 0.1))
        os.kill(saver.pid, signal.SIGKILL)
        saver.communicate()
        leftovers += any(name.startswith(".step") for name in names(run))
        newest = ck.load_newest(run)
        if newest.checkpoint is None:
            assert reached == 0
            continue
        assert newest.skipped == []
        assert newest.checkpoint.step >= reached  # Nothing that was saved is lost again.
        reached = newest.checkpoint.step
        want = a_checkpoint(reached, reached / 7)
        for field in ("weights", "slots", "model_state", "history", "metrics", "batch_position"):
            assert same(getattr(want, field), getattr(newest.checkpoint, field))
    assert leftovers  # Else no kill ever hit a save, and the test would prove nothing.
    with ck.CheckpointWriter(run, keep=2):
        assert len(names(run)) <= 4 and not any(name[0] == "." for name in names(run))
    return reached


def test_kill_9_while_saving(tmp_path):
    assert kill_while_saving(tmp_path, kills=6, seed=0) > 0


@pytest.mark.slow
def test_kill_9_at_50_random_moments(tmp_path):
    assert kill_while_saving(tmp_path, kills=50, seed=1) > 50
