"""The store: a reader sees one complete generation, whatever writers, kills and full disks do."""

import os
import shutil

import pytest
from programs import run_dying_at
from small_disks import mounted_tmpfs

from siamese.errors import CheckpointError
from siamese.storage.store import (
    check_files,
    find_current,
    read_store,
    write_manifest,
    write_store,
)


def write(path, value, parts=3):
    """Writes a store of some files that all hold the same value."""

    def fill(folder, older):
        for part in range(parts):
            (folder / f"part-{part}").write_text(f"{value}" * 100)

    return write_store(path, fill)


def read(path):
    """The one value in all files of a store."""

    def contents(folder, manifest):
        check_files(folder, manifest)
        return {name: (folder / name).read_bytes() for name in manifest["files"]}

    files = read_store(path, contents)
    assert len(set(files.values())) == 1
    return next(iter(files.values())).decode()[: len(files["part-0"]) // 100]


def names(path):
    return sorted(os.listdir(path))


def test_the_newest_generation_is_read_and_the_older_removed(tmp_path):
    for number, value in enumerate("abc", 1):
        assert write(tmp_path / "i", value).name == f"gen-{number:06d}"
        assert read(tmp_path / "i") == value
        assert names(tmp_path / "i") == [".lock", "CURRENT", f"gen-{number:06d}"]
        assert find_current(tmp_path / "i").name == f"gen-{number:06d}"


def test_other_directories_are_neither_read_nor_replaced(tmp_path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.txt").write_text("keep")
    (tmp_path / "file").write_text("keep")
    (tmp_path / "flat").mkdir()  # As the first edition wrote them: one set of files, no CURRENT.
    write_manifest(tmp_path / "flat", kind="index", step=0, metrics={})
    for path in ("mine", "file", "flat"):
        with pytest.raises(CheckpointError, match=r"something other than|not a directory"):
            write(tmp_path / path, "x")
        with pytest.raises(CheckpointError, match=r"holds no index\. `siamese index"):
            read(tmp_path / path)
    with pytest.raises(CheckpointError, match=r"There is no index at .*none: .*`siamese index"):
        read(tmp_path / "none")
    assert (tmp_path / "mine" / "thesis.txt").read_text() == (tmp_path / "file").read_text()


@pytest.mark.parametrize("name", ["CURRENT", "manifest.json", "part-1"])
def test_a_damaged_store_is_refused_and_can_be_written_again(tmp_path, name):
    write(tmp_path / "i", "a")
    folder = find_current(tmp_path / "i")
    ((tmp_path / "i") if name == "CURRENT" else folder).joinpath(name).write_text("../../../etc")
    with pytest.raises(CheckpointError, match="damaged"):
        read(tmp_path / "i")
    write(tmp_path / "i", "b")
    assert read(tmp_path / "i") == "b"


def test_a_flipped_bit_shows_by_its_checksum_and_a_size_without_reading(tmp_path):
    write(tmp_path / "i", "a")
    folder = find_current(tmp_path / "i")
    (folder / "part-1").write_text("b" * 100)
    read_store(tmp_path / "i", lambda f, manifest: check_files(f, manifest, content=False))
    with pytest.raises(CheckpointError, match="part-1 is damaged: its content changed"):
        read_store(tmp_path / "i", check_files)
    (folder / "part-1").write_text("b" * 99)
    with pytest.raises(CheckpointError, match="part-1 is damaged: 99 bytes, and 100 were written"):
        read_store(tmp_path / "i", lambda f, m: check_files(f, m, content=False))


@pytest.mark.slow
def test_a_kill_at_every_single_system_call_leaves_the_old_or_the_new(tmp_path):
    path, seen = tmp_path / "i", set()
    write(path, "a")
    for n in range(1, 500):
        died = run_dying_at(n, lambda: write(path, "b"))
        seen.add((read(path), died))
        if died == 0:
            break
        write(path, "a")  # The next write removes what the killed one left.
        assert len(names(path)) == 3
    assert seen == {("a", 9), ("b", 9), ("b", 0)}
    shutil.rmtree(path)
    for n in range(1, 500):  # And where there was none: it can be written afterwards.
        if run_dying_at(n, lambda: write(path, "b")) == 0:
            break
        write(path, "c")
        assert read(path) == "c"
        shutil.rmtree(path)


def test_a_full_disk_keeps_the_old_and_leaves_nothing(tmp_path):
    with mounted_tmpfs(tmp_path / "disk", "256k") as disk:
        write(disk / "i", "a")
        for path in (disk / "i", disk / "new"):
            with pytest.raises(CheckpointError, match=rf"Cannot write {path}: the disk is full\."):
                write(path, "b" * 3000)
        assert read(disk / "i") == "a" and names(disk) == ["i"] and len(names(disk / "i")) == 3
