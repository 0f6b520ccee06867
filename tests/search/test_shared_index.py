"""An index that several processes read and change: nothing is lost, mixed or written twice."""

import json
import os
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import CheckpointError
from siamese.search.index import QuestionIndex
from siamese.storage.store import MANIFEST, find_current, write_manifest

HERE = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def detector():
    return make_detector()


@pytest.fixture
def path(detector, tmp_path):
    """The directory of an index of one question."""
    return QuestionIndex.build(detector, ["how far"]).save(tmp_path / "i")


def contents(index):
    return {entry["id"]: entry["question"] for entry in index.entries}


# ---- One process ----


def test_additions_and_removals_are_those_of_a_dict(detector, tmp_path):
    """Random changes, saved and loaded again in between; the reference is an index built anew."""
    dice, path = random.Random(0), tmp_path / "i"
    questions = random_questions(120)
    QuestionIndex.build(detector, questions, ids=[f"q{n}" for n in range(120)]).save(path)
    wanted = {f"q{n}": text for n, text in enumerate(questions)}
    for step in range(60):
        index = QuestionIndex.load(path, detector)
        if dice.random() < 0.6:
            more = random_questions(dice.choice([1, 1, 1, 2, 9, 30]), seed=step)
            wanted.update(zip(index.add(more), more))
        else:
            gone = dice.sample(sorted(wanted, key=str), dice.choice([1, 1, 3]))
            assert index.remove(gone) == len(gone)
            wanted = {i: text for i, text in wanted.items() if i not in gone}
        index.save(path)
        assert len(index) == len(wanted)
        if step % 10 == 9:
            assert contents(QuestionIndex.load(path, detector)) == wanted
            fresh = QuestionIndex.build(detector, [*wanted.values()], ids=[*wanted])
            for asked in random_questions(3, seed=step):
                found, right = (i.search(asked, k=25) for i in (index, fresh))
                np.testing.assert_allclose(
                    [hit.similarity for hit in found], [hit.similarity for hit in right], atol=1e-6
                )
                assert all(wanted[hit.id] == hit.question for hit in found)
    assert len(list(path.iterdir())) == 3


def test_small_additions_share_files_and_stay_few_segments(detector, tmp_path):
    path = QuestionIndex.build(detector, random_questions(2_000)).save(tmp_path / "i")
    assert isinstance(QuestionIndex.load(path, detector).vectors.base, np.memmap)
    before = {(file.name, file.stat().st_ino) for file in find_current(path).glob("*-*")}
    for n in range(40):
        with QuestionIndex.open_for_change(path, detector) as index:
            index.add(random_questions(3, seed=n))
    files = list(find_current(path).iterdir())
    assert len(before) == 9 and before <= {(file.name, file.stat().st_ino) for file in files}
    assert len([file for file in files if file.name.endswith("-vectors.npy")]) <= 6
    assert len(QuestionIndex.load(path, detector)) == 2_120


def test_what_does_not_change_is_not_written_and_the_lock_is_held_once(detector, path, tmp_path):
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add("how old")
        index.save(tmp_path / "copy")
        assert len(QuestionIndex.load(index.save(path), detector)) == 2
    with QuestionIndex.open_for_change(path, detector):
        pass
    assert find_current(path).name == "gen-000002"


def test_a_file_system_without_hard_links_gets_copies(detector, path, monkeypatch):
    def refused(*paths):
        raise PermissionError(1, "no links here")

    monkeypatch.setattr("os.link", refused)
    with QuestionIndex.open_for_change(path, detector) as index:
        index.add("how old")
    assert contents(QuestionIndex.load(path, detector)) == {0: "how far", 1: "how old"}


def test_a_stale_copy_does_not_replace_what_others_added(detector, path, tmp_path):
    one, two = QuestionIndex.load(path, detector), QuestionIndex.load(path, detector)
    one.add("how old")
    one.save(path)
    two.add("what is rice")
    with pytest.raises(CheckpointError, match="was changed since it was loaded"):
        two.save(path)
    two.save(tmp_path / "elsewhere")
    assert contents(QuestionIndex.load(path, detector)) == {0: "how far", 1: "how old"}
    QuestionIndex.build(detector, ["anew"]).save(path)  # Made anew, not loaded: replaces.
    one.add("rice")
    with pytest.raises(CheckpointError, match="was changed"):
        one.save(path)


def test_what_others_saved_is_taken_when_asked_for(detector, path):
    mine = QuestionIndex.load(path, detector)
    assert mine.refresh() is False
    with QuestionIndex.open_for_change(path, detector) as others:
        others.add("how old are you")
    assert mine.search("how old are you", k=1)[0].id == 0 and mine.refresh() is True
    assert mine.search("how old are you", k=1)[0].id == 1 and mine.refresh() is False
    mine.add("rice")  # Not saved: it stays, and cannot be saved over what comes meanwhile.
    with QuestionIndex.open_for_change(path, detector) as others:
        others.remove(0)
    assert mine.refresh() is False and len(mine) == 3


def test_a_change_that_fails_changes_nothing(detector, path, tmp_path):
    with pytest.raises(ZeroDivisionError), QuestionIndex.open_for_change(path, detector) as index:
        index.add("how old")
        raise ZeroDivisionError
    assert len(QuestionIndex.load(path, detector)) == 1
    none = QuestionIndex.open_for_change(tmp_path / "none", detector)
    with pytest.raises(CheckpointError, match="does not exist"), none:
        pass
    assert os.listdir(tmp_path) == ["i"]


@pytest.mark.parametrize(
    ("changes", "message"),
    [*(({"version": n}, f"format version {n}; this siamese reads 4. Make it") for n in (1, 2, 3, 5)),
     *(({"segments": value}, "damaged") for value in ([["../../x", 1]], [], 3, [["a"]], "left out")),
     *(({"removed": value}, "damaged") for value in ([1], [0, 0], [-1], "x", 3, "left out"))],
)  # fmt: skip
def test_other_versions_and_crafted_facts_are_refused(detector, path, changes, message):
    folder = find_current(path)
    facts = {**json.loads((folder / "index.json").read_text()), **changes}
    facts = {name: value for name, value in facts.items() if value != "left out"}
    (folder / "index.json").write_text(json.dumps(facts))
    (folder / MANIFEST).unlink()
    write_manifest(folder, kind="index", step=0)
    with pytest.raises(CheckpointError, match=message):
        QuestionIndex.load(path, detector)


# ---- Several processes ----

CHANGES = """
import sys; sys.path.insert(0, sys.argv[1])
from small_models import make_detector
from siamese.search.index import QuestionIndex
detector = make_detector()
for n in range(int(sys.argv[4])):
    with QuestionIndex.open_for_change(sys.argv[2], detector) as index:
        index.add("how far is rice", ids=[f"{sys.argv[3]}-{n}"])
        if n % 5 == 4:
            index.remove(f"{sys.argv[3]}-{n - 1}")
"""


@pytest.mark.slow
def test_two_writers_lose_nothing_and_a_reader_sees_whole_generations(detector, tmp_path):
    path = QuestionIndex.build(detector, ["how old"], ids=["first"]).save(tmp_path / "i")
    writers = [
        subprocess.Popen([sys.executable, "-c", CHANGES, str(HERE), str(path), name, "20"])
        for name in "ab"
    ]
    sizes = []
    while any(writer.poll() is None for writer in writers):
        index = QuestionIndex.load(path, detector)
        hits = index.search("how far is rice", k=100)
        assert len({hit.id for hit in hits}) == len(hits) == len(index)
        assert all((hit.question == "how old") == (hit.id == "first") for hit in hits)
        sizes.append(len(index))
    assert [writer.returncode for writer in writers] == [0, 0]
    kept = {f"{name}-{n}" for name in "ab" for n in range(20) if n % 5 != 3}
    assert set(contents(QuestionIndex.load(path, detector))) == {"first", *kept}
    assert len(set(sizes)) > 1 and len(list(path.iterdir())) == 3
