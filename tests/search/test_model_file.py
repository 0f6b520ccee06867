"""A model's or checkpoint's file: the old content or the new, whole; anything else is one sentence."""

import json
import os
import subprocess
import sys
import time

import numpy as np
import pytest
from safetensors.numpy import load, save
from small_disks import mounted_tmpfs

from siamese.errors import CheckpointError
from siamese.search.model_file import VERSION, read_file, write_file
from siamese.storage.atomic import lock_run

FACTS = {
    "step": 3,
    "counts": {"2": 1, "10": float("inf")},
    "card": {"figures": [0.5, None, True]},
    "words": ["how", "né", "\ud800", "日本"],
}


def arrays():
    draw = np.random.default_rng(0)
    content = {
        name: draw.integers(0, 2, (3, 2)).astype(name)
        for name in ("float32", "int32", "bool", "uint8")
    }
    content["empty"] = np.zeros((0, 4), np.float32)
    content["a number"] = np.array(7, np.int64)
    content["transposed"] = draw.normal(size=(5, 3)).astype("float32").T
    return content


@pytest.fixture
def path(tmp_path):
    """A file with `arrays` and FACTS."""
    write_file(tmp_path / "model.safetensors", "model", arrays(), FACTS)
    return tmp_path / "model.safetensors"


def assert_equal_arrays(actual, expected):
    assert actual.keys() == expected.keys()
    for name, array in expected.items():
        assert (actual[name].dtype, actual[name].shape) == (array.dtype, array.shape)
        np.testing.assert_array_equal(actual[name], array)


def refusal(path, kind="model"):
    """The sentence with which a file is refused."""
    with pytest.raises(CheckpointError) as caught:
        read_file(path, kind)
    assert "\n" not in str(caught.value) and str(path) in str(caught.value)
    return str(caught.value)


def test_what_is_written_is_read_again_and_is_plain_safetensors(path):
    actual, facts = read_file(path, "model")
    assert_equal_arrays(actual, arrays())
    assert facts == {**FACTS, "format": "siamese", "kind": "model", "version": VERSION} | {
        "sha256": facts["sha256"]
    }
    write_file(path, "model", actual, facts)  # With the old checksum among the facts.
    assert read_file(path, "model")[1] == facts
    assert_equal_arrays(load(path.read_bytes()), arrays())
    assert os.listdir(path.parent) == [path.name]


def test_every_flipped_byte_is_refused_or_changes_nothing(path):
    content = path.read_bytes()
    expected, facts = read_file(path, "model")
    for n, place in enumerate(range(0, len(content), max(1, len(content) // 300))):
        changed = bytearray(content)
        changed[place] ^= (1, 0x80, 0xFF)[n % 3]
        path.write_bytes(changed)
        try:
            actual = read_file(path, "model")
        except CheckpointError as error:
            assert "\n" not in str(error)
        else:  # a blank of the header
            assert_equal_arrays(actual[0], expected)
            assert actual[1] == facts


def test_every_truncation_appended_byte_and_false_length_of_the_header_is_refused(path):
    content = path.read_bytes()
    lengths = {*range(16), *range(16, len(content), 199), len(content) - 1}
    headers = (b"\xff" * 8, b"x" * 8, (99_000_000).to_bytes(8, "little"), bytes(8))
    for damaged in (
        *(content[:length] for length in lengths),
        content + b"x",
        *(header + content[8:] for header in headers),
        (100_000).to_bytes(8, "little") + b"[" * 100_000,
    ):
        path.write_bytes(damaged)
        assert "damaged" in refusal(path)


def test_files_of_another_program_kind_or_version_are_refused(path):
    assert "is a model, not a checkpoint" in refusal(path, "checkpoint")
    path.write_bytes(save(arrays() | {"transposed": np.zeros(1, "f")}))
    assert "of another program" in refusal(path)
    versions = {"format": "siamese", "kind": "model", "version": VERSION + 1}
    path.write_bytes(save({}, {"siamese": json.dumps(versions)}))
    assert f"format version {VERSION + 1}; this siamese reads version {VERSION}" in refusal(path)
    for text in ("", "3", "[]", "{}", "[" * 100_000, '{"format": "siamese", "version": [1]}'):
        path.write_bytes(save({}, {"siamese": text}))
        refusal(path)


def test_links_are_followed_and_paths_that_are_no_files_are_refused(path):
    folder, link = path.parent, path.with_name("link")
    link.symlink_to(path.name)
    write_file(link, "model", {"a": np.ones(2, np.float32)}, {})
    assert link.is_symlink() and list(read_file(link, "model")[0]) == ["a"]
    assert "There is no checkpoint at" in refusal(folder / "none", "checkpoint")
    os.mkfifo(folder / "pipe")
    for no_file in (folder, folder / "pipe"):
        assert "which is not a file" in refusal(no_file)
    for target in ("link", "nowhere"):
        link.unlink()
        link.symlink_to(target)
        assert "There is no model at" in refusal(link)


def test_a_missing_folder_a_full_and_a_read_only_disk_are_named(tmp_path):
    with pytest.raises(CheckpointError, match=r"no/a: it does not exist\. Check the path"):
        write_file(tmp_path / "no" / "a", "model", {}, {})
    with mounted_tmpfs(tmp_path / "disk", "64k") as disk:
        write_file(disk / "a", "model", {"a": np.ones(100, "f")}, {})
        with pytest.raises(CheckpointError, match=r"the disk is full\. Free some space"):
            write_file(disk / "a", "model", {"a": np.zeros(100_000, "f")}, {})
        assert read_file(disk / "a", "model")[0]["a"].sum() == 100
        assert os.listdir(disk) == ["a"]
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        with pytest.raises(CheckpointError, match="the file system is read-only"):
            write_file(disk / "a", "model", {}, {})


WRITER = """
import itertools, sys
import numpy as np
from siamese.search.model_file import write_file
for number in itertools.count(int(sys.argv[2])):
    write_file(sys.argv[1], "checkpoint", {"a": np.full(300_000, number, np.int32)}, {"step": number})
    print(number, flush=True)
"""


def test_a_writer_killed_at_any_moment_leaves_a_whole_file_and_the_next_one_its_leftovers(tmp_path):
    path = tmp_path / "checkpoint.safetensors"
    last, draw = -1, np.random.default_rng(0)
    for _ in range(8):
        command = [sys.executable, "-c", WRITER, str(path), str(last + 1)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as writer:
            written = int(writer.stdout.readline())
            time.sleep(draw.uniform(0, 0.02))
            writer.kill()
            written = max([written, *map(int, writer.stdout.read().split())])
        content, facts = read_file(path, "checkpoint")
        last = facts["step"]
        assert last in (written, written + 1) and (content["a"] == last).all()
    write_file(path, "checkpoint", {}, {})
    assert os.listdir(tmp_path) == [path.name]


HOLDER = """
import sys
from siamese.storage.atomic import lock_run
with lock_run(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_two_processes_never_hold_a_run(tmp_path):
    run = tmp_path / "new" / "run"
    command = [sys.executable, "-c", HOLDER, str(run)]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as holder:
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(CheckpointError, match="Another process"), lock_run(run):
            pass
        holder.kill()
    with lock_run(run), lock_run(run):  # A notebook cell may run again.
        pass
