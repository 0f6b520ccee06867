"""QuestionIndex: a dict and an index built anew are the reference; damage, connections."""

import datetime
import json
import os
import random
import shutil
import sqlite3
import sys
import threading
import tracemalloc
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from programs import mounted_tmpfs
from refusals import refuses
from small_models import (
    ODD,
    letters,
    make_detector,
    make_mixed_detector,
    random_questions,
)

from benchmarks import faults
from siamese import QuestionPairs
from siamese.encoders import ObjectEncoder
from siamese.encoders.joined import Head, Joined
from siamese.errors import ArgumentError, CheckpointError, DataError, SiameseError
from siamese.groups.answers import AnswerChange
from siamese.groups.grouping import (
    GroupedSnapshot,
    below_threshold,
    duplicate_groups,
    groups_of,
)
from siamese.groups.linkage import average_linkage
from siamese.groups.local import local_means
from siamese.index import QuestionIndex
from siamese.model.decision import Questions
from siamese.model.detector import DuplicateDetector
from siamese.model.file import fit_of
from siamese.nn.ragged import Ragged

FIT = {"threshold": 0.123, "calibration": None, "threshold_from": "labels"}


@pytest.fixture(scope="module")
def detector():
    return make_detector()


@pytest.fixture
def path(detector, tmp_path):
    QuestionIndex.build(detector, ["how far"], path=tmp_path / "i").close()
    return tmp_path / "i"


def contents(index):
    return {entry["id"]: entry["question"] for entry in index.snapshot().entries}


def ids_of(index, *args, **options):
    entries = index.snapshot().entries
    groups = index.grouped(*args, **options).groups
    return {frozenset(entries[m.row]["id"] for m in group) for group in groups}


class CountingEncoder(ObjectEncoder):
    """Counts how often it reads a text."""

    def __init__(self):
        super().__init__(letters)
        self.reads = Counter()

    def read(self, text):
        self.reads[text] += 1
        return super().read(text)


def test_a_list_in_memory_reads_each_text_once():
    encoder = CountingEncoder()
    detector = DuplicateDetector.from_encoder(encoder)
    assert detector.check is not None  # It looks at texts, too.
    texts = [*random_questions(40), "How far is Rome?", "How far is Rome?"]
    with QuestionIndex.build(detector, texts) as index:
        assert index.grouped(0.9).groups
        assert encoder.reads == Counter(set(texts))


@pytest.mark.parametrize("in_memory", [True, False])
def test_empty_index_finds_nothing(detector, tmp_path, in_memory):
    index = QuestionIndex.build(
        detector, [], path=None if in_memory else tmp_path / "i"
    )
    assert index.search("how far") == [] and index.search(["how", "far"], k=3) == [
        [],
        [],
    ]
    assert len(index) == 0 and index.snapshot().entries == index.grouped().groups == []
    assert index.add([]) == index.add([], ids=[], columns=[]) == ([], 0, 0, 0)
    index.add(["how far"])
    assert index.search("how far")[0].similarity == pytest.approx(1, abs=1e-6)


@pytest.fixture
def two(detector):
    """An index in memory of two questions, whose ids are a text and a number."""
    return QuestionIndex.build(detector, ["how", "far"], ids=["a", 7])


def test_a_question_of_blanks_finds_nothing(two):
    assert [len(hits) for hits in two.search(["how", "\n\t"])] == [2, 0]


def test_a_path_is_no_list_of_questions(detector):
    with refuses(ArgumentError, "list of questions", "'a.csv'"):
        QuestionIndex.build(detector, "a.csv")


def test_a_question_without_words_is_not_stored(two):
    with refuses(DataError, "Question 1 (from 0)"):
        two.add(["how old", " "])
    assert len(two) == 2


@pytest.mark.parametrize("k", [0, 2.5, None])
def test_a_number_of_hits_is_a_whole_one_above_0(two, k):
    with refuses(ArgumentError, "k must"):
        two.search("how", k=k)


@pytest.mark.parametrize(
    ("ids", "error", "names"),
    [
        pytest.param(["b", "b"], DataError, ["'b'", "2 times"], id="one id twice"),
        pytest.param([7, "7"], DataError, ["'7'"], id="one id as number and text"),
        pytest.param([1.5, 2], DataError, ["1.5"], id="half a number"),
        pytest.param(["a"], ArgumentError, ["1 ids", "2"], id="too few"),
        pytest.param(["a\0", "b"], DataError, ["id"], id="a NUL"),
        pytest.param([" ", "b"], DataError, ["blank"], id="a blank"),
        pytest.param(12, ArgumentError, ["ids", "list"], id="a number"),
        pytest.param(
            (i for i in "abc"), ArgumentError, ["3 ids", "2"], id="a generator"
        ),
        pytest.param("xy", ArgumentError, ["ids", "list", "'xy'"], id="a text"),
        pytest.param({"a", "b"}, ArgumentError, ["ids", "list"], id="a set"),
        pytest.param(
            {"id": [7], "n": [1]}, ArgumentError, ["ids", "list"], id="a table"
        ),
    ],
)
def test_ids_that_are_none_are_refused_and_nothing_is_stored(two, ids, error, names):
    with refuses(error, *names):
        two.add(["rice", "cook"], ids=ids)
    assert len(two) == 2


def test_columns_of_a_question_are_a_dict(two):
    with refuses(DataError, "columns", "dict", "1"):
        two.add(["rice"], columns=[1])


def test_additions_without_ids_go_on_after_the_largest_number(two):
    assert two.add(["old", "age"]).ids == ["8", "9"]
    assert two.remove(np.int64(9)) == 1 and len(two) == 3
    assert two.add("rice").ids == ["10"]


def test_an_id_that_is_not_there_removes_nothing(two):
    with refuses(ArgumentError, "'57'"):
        two.remove(["7", 57])
    assert len(two) == 2


@pytest.mark.parametrize("wrong", [None, 9.0, b"9"])
def test_what_is_no_id_removes_nothing(two, wrong):
    with refuses(DataError, "id"):
        two.remove(wrong)
    assert len(two) == 2


NUMBERS = {
    "seventeen nines": "9" * 17,
    "eighteen nines": "9" * 18,
    "nineteen nines": "9" * 19,
    "the first number of eighteen digits": "1" + "0" * 17,
    "twenty digits": "12345678901234567890",
    "more digits than Python reads": "9" * 5000,
    "leading zeros": "007",
    "a negative number": "-5",
    "other digits": "٩٩",
    "a superscript": "²",
    "a number with a point": "4.0",
    "the next number": "1",
}


@pytest.mark.parametrize("name", NUMBERS)
@pytest.mark.parametrize("in_memory", [True, False])
def test_additions_without_ids_get_free_numbers(detector, tmp_path, name, in_memory):
    path = None if in_memory else tmp_path / "i"
    stored = NUMBERS[name]
    with QuestionIndex.build(detector, ["how far"], ids=[stored], path=path) as index:
        for text in ("rice", "cook", "best way"):
            assert index.add(text).added == 1
        index.add(
            ["age", "old"], ids=[str(2 + int(index.snapshot().entries[-1]["id"])), "x"]
        )
        index.add(["what is", "the way", "learn"])
        ids = [entry["id"] for entry in index.snapshot().entries]
        assert len({*ids}) == len(ids) == 9
        index.remove(ids[1:])
        assert not {*index.add(["rice", "cook"]).ids} & {*ids}


SHARED = {
    "vectors": lambda index: index.vectors,
    "one vector": lambda index: index.vectors[0],
    "a snapshot's vectors": lambda index: index.snapshot().vectors,
    "the vectors of groups": lambda index: index.grouped(0.9).vectors,
    "the weights of the LSTM": lambda index: index.detector.encoder.encoders[2].weights[
        "embedding"
    ],
    "the head": lambda index: index.detector.encoder.encoders[1].matrix,
    "rows of tokens": lambda index: Ragged.from_lists([[1, 2], [3]]).values,
    "one row of tokens": lambda index: Ragged.from_lists([[1, 2], [3]])[0],
}


@pytest.mark.parametrize("name", SHARED)
@pytest.mark.parametrize("state", ["built", "opened", "added", "removed"])
def test_what_others_read_cannot_be_overwritten(tmp_path, name, state):
    base, lstm = make_mixed_detector().encoder.encoders
    head = np.eye(26, dtype=np.float32)
    detector = DuplicateDetector(
        Joined([(0.5, base), (0.3, Head(base, head)), (0.2, lstm)])
    )
    with QuestionIndex.build(
        detector, random_questions(9), path=tmp_path / "i"
    ) as index:
        if state == "opened":
            index = QuestionIndex.open(tmp_path / "i", detector)
        if state in ("added", "removed"):
            index.add("how far is it")
        if state == "removed":
            index.remove(["3"])
        before = index.search("how far", k=3)
        array = SHARED[name](index)
        with pytest.raises(ValueError):
            array[...] = 0
        head[:] = 0  # The model keeps its own.
        assert index.search("how far", k=3) == before
        assert detector.similarity("how far", "how far") == pytest.approx(1, abs=1e-5)
        index.close()


def test_what_an_index_returns_is_the_caller_s_own(detector):
    reading = {"compared": "title", "repeated": {"lines": {"a line": 9}}}
    index = QuestionIndex.build(
        detector, ["how far", "rice"], columns=[{"n": [1]}] * 2, reading=reading
    )
    index.facts.reading["repeated"]["lines"].clear()
    index.snapshot().entries[0]["columns"]["n"].append(2)
    index.snapshot().entries.clear()
    index.search("rice")[0].columns["n"].append(3)
    index.snapshot().entries.clear()
    index.grouped(-0.9).groups.clear()
    index.answers().question1.append("rice")
    assert index.facts.reading == reading and len(index.answers()) == 0
    assert index.snapshot().entries == [
        {"id": str(n), "question": text, "columns": {"n": [1]}}
        for n, text in enumerate(["how far", "rice"])
    ]
    assert index.grouped().groups


def test_two_that_number_the_questions_of_one_index(detector, path):
    one, two = (QuestionIndex.open(path, detector) for _ in range(2))
    one.add("rice", ids=["9" * 17])
    for index, text in zip([one, two] * 3, random_questions(6)):
        index.add(text)
    ids = [entry["id"] for entry in one.snapshot().entries]
    assert len({*ids}) == len(ids) == len(two)


def test_odd_questions_ids_and_columns_survive(detector, tmp_path):
    odd = [text for text in ODD.values() if text.strip()]
    valid = [
        text.encode("utf-8", "replace").decode() for text in odd
    ]  # no half surrogate pairs
    day, text = datetime.date(2026, 1, 2), "2026-01-02"
    given = [{"who": "ä", "n": i, "": [None, 1.5], "day": day} for i in range(len(odd))]
    columns = [own | {"day": text} for own in given]
    ids = [f"q{i}é\n'" if i % 2 else i for i in range(len(odd))]
    QuestionIndex.build(
        detector, odd, ids=ids, columns=given, path=tmp_path / "i"
    ).close()
    index = QuestionIndex.open(tmp_path / "i", detector)
    expected = {i: (text, own) for i, text, own in zip(map(str, ids), valid, columns)}
    for text, hits in zip(valid, index.search(valid, k=50)):
        assert {hit.id: (hit.question, hit.columns) for hit in hits} == expected
        assert text in [hit.question for hit in hits if hit.similarity > 0.98]


def test_new_columns_leave_row_group_and_answers(detector, tmp_path):
    questions = ["how far", "how far", "rice"]
    columns = [{"n": 1}] * 3
    index = QuestionIndex.build(
        detector, questions, columns=columns, path=tmp_path / "i"
    )
    index.add_answers(QuestionPairs(["rice"], ["how far"], [1]))
    before = ids_of(index)
    other = QuestionIndex.open(tmp_path / "i", detector)
    assert other.search("rice")[0].columns == {"n": 1}
    added = index.add(["how far", "rice"], ids=["0", "2"], columns=[{"n": 2}, {"n": 1}])
    assert (
        added[1:] == (0, 1, 1) and ids_of(index) == before and len(index.answers()) == 1
    )
    assert [hit.columns["n"] for hit in other.search("how far", 2)] == [2, 1]


@pytest.mark.parametrize("in_memory", [True, False])
def test_additions_and_removals_are_those_of_a_dict(detector, tmp_path, in_memory):
    dice = random.Random(0)
    expected = {f"q{n}": text for n, text in enumerate(random_questions(120))}
    path = None if in_memory else tmp_path / "i"
    questions = [*expected.values()]
    index = other = QuestionIndex.build(detector, questions, ids=[*expected], path=path)
    if not in_memory:
        other = QuestionIndex.open(path, detector)
    for step in range(40):
        index, other = other, index
        if dice.random() < 0.6:
            more = random_questions(dice.choice([1, 1, 1, 2, 9, 30]), seed=step)
            names = [f"{step}-{n}" for n in range(len(more))]
            index.add(more, ids=names)
            expected.update(zip(names, more))
        else:
            gone = dice.sample(sorted(expected), dice.choice([1, 1, 3]))
            assert index.remove(gone) == len(gone)
            expected = {i: text for i, text in expected.items() if i not in gone}
        assert len(index) == len(other) == len(expected)
        if step % 10 == 9:
            assert contents(other) == expected
            fresh = QuestionIndex.build(detector, [*expected.values()], ids=[*expected])
            for mode in ("hybrid", "vectors", "words"):
                hits, right = (
                    i.search("how far is it", k=25, mode=mode) for i in (other, fresh)
                )
                cosines = [[hit.similarity for hit in some] for some in (hits, right)]
                np.testing.assert_allclose(*cosines, atol=1e-6)
                assert all(expected[hit.id] == hit.question for hit in hits)


def some_change(dice, step, ids):
    """A change of an index, as a function of it, drawn by `dice`; `ids` are those that it has."""
    texts = random_questions(dice.choice([1, 2, 9]), seed=step)
    pair = dice.sample(random_questions(60), 2)
    label = dice.random() < 0.5
    pairs = QuestionPairs([pair[0]], [pair[1]], [label])
    columns = [{"n": dice.randrange(3)} for _ in texts]
    own = [dice.choice([*ids, f"new {step}"])]
    gone = dice.sample(ids, min(3, len(ids)))
    changes = [
        lambda index: index.add(texts, columns=columns),
        lambda index: index.add(texts[:1], ids=own, columns=columns[:1]),
        lambda index: index.remove(gone),
        lambda index: index.add_answers(pairs),
        lambda index: index.add_answers(pairs, forget=True),
        lambda index: index.change_answers([AnswerChange(*pair, label, (None,))]),
        lambda index: index.set_threshold(FIT | {"threshold": 0.9 + step / 1000}),
        lambda index: index.grouped(0.97, regroup=True).groups,
        lambda index: index.grouped(0.5).groups,
    ]
    return dice.choice(changes)


def outcome(change, index):
    """What a change returns, or the class of its error."""
    try:
        return change(index)
    except SiameseError as error:
        return type(error)


def test_a_list_in_memory_answers_as_a_file_does(detector, tmp_path):
    dice = random.Random(0)
    questions = random_questions(60)
    listed = QuestionIndex.build(detector, questions)
    with QuestionIndex.build(detector, questions, path=tmp_path / "i") as stored:
        for step in range(80):
            ids = [entry["id"] for entry in stored.snapshot().entries]
            change = some_change(dice, step, ids)
            assert outcome(change, listed) == outcome(change, stored)
            assert listed.snapshot().entries == stored.snapshot().entries
            assert fit_of(listed.detector) == fit_of(stored.detector)
            assert ids_of(listed) == ids_of(stored)
            one, two = listed.answers(), stored.answers()
            assert one.question1 == two.question1 and one.question2 == two.question2
            assert one.is_duplicate.tolist() == two.is_duplicate.tolist()
            np.testing.assert_allclose(listed.vectors, stored.vectors, atol=1e-6)
            for mode in ("hybrid", "vectors", "words"):
                hits, right = (
                    index.search("how far is it", k=9, mode=mode)
                    for index in (listed, stored)
                )
                assert [hit.id for hit in hits] == [hit.id for hit in right]


def test_groups_of_a_former_threshold_go(detector, path):
    reader, writer = (QuestionIndex.open(path, detector) for _ in range(2))
    writer.grouped(0.5)
    assert reader.grouped().threshold == 0.5
    writer.set_threshold(FIT)
    assert reader.grouped().threshold == reader.detector.threshold == 0.123
    assert reader.detector.threshold_from == "labels"
    writer.set_threshold({})  # The model's own comes back.
    assert reader.detector.threshold == detector.threshold != 0.123


def test_groups_are_stored_extended_and_remade(detector, tmp_path):
    questions = random_questions(150)
    index = QuestionIndex.build(detector, questions, path=tmp_path / "i")
    other = QuestionIndex.open(tmp_path / "i", detector)
    groups = index.grouped(0.97).groups
    assert groups == duplicate_groups(index.vectors, 0.97) == duplicate_groups(other)
    with refuses(ArgumentError, "threshold 0.97", "regroup=True"):
        other.grouped(0.9)
    before = ids_of(index)
    # A copy joins its question's group or forms one with it; equal new ones share one
    # if a word is known.
    texts = [f"{questions[0]} ", *["rice rice how"] * 2, *["zzz qqq"] * 3]
    assert other.add(texts, ids=["copy", "n1", "n2", "z1", "z2", "z3"]).added == 6
    after = ids_of(index)
    (group,) = (ids for ids in after if "copy" in ids)
    assert "0" in group and group - {"copy"} in {*before, frozenset("0")}
    assert any({"n1", "n2"} <= ids for ids in after)
    assert not any({"z1", "z2", "z3"} & ids for ids in after)
    # A removed first hands its group to the next.
    largest = max(after, key=len)
    assert len(largest) > 2
    first = min(largest, key=[*contents(index)].index)
    index.remove([first])
    assert largest - {first} in ids_of(other)
    index.add_answers(QuestionPairs(["rice rice how"], ["zzz qqq"], [1]))
    assert sum("z1" in ids for ids in ids_of(index)) == 1
    index.remove(["z1", "z2", "z3"])
    assert index.grouped(0.9, regroup=True).groups == duplicate_groups(
        index.vectors, 0.9
    )


@pytest.mark.parametrize("in_memory", [True, False])
def test_groups_with_local_scaling_are_stored_and_extended(
    detector, tmp_path, in_memory
):
    questions = list(dict.fromkeys(random_questions(150)))
    file = None if in_memory else tmp_path / "i"
    index = QuestionIndex.build(detector, questions, path=file)
    plain = ids_of(index, 0.97)
    index.set_threshold({**FIT, "weight": 1.0, "list_threshold": 0.04})
    snapshot = index.grouped()
    assert (snapshot.threshold, snapshot.weight) == (0.04, 1.0)
    labels = average_linkage(index.vectors, 0.04, shifts=local_means(index.vectors) / 2)
    assert snapshot.groups == groups_of(index.vectors, labels) != []
    with refuses(ArgumentError, "regroup=True"):
        index.grouped(0.04)
    # Those that are there keep their r and their groups; a copy joins the group of its
    # question.
    member = snapshot.groups[0][0].row
    before = ids_of(index)
    other = index if in_memory else QuestionIndex.open(file, detector)
    other.add([f"{questions[member]} ", "rice rice how"], ids=["copy", "new"])
    assert {group - {"copy", "new"} for group in ids_of(index)} >= before
    assert any({"copy", str(member)} <= group for group in ids_of(index))
    other.remove(["copy", "new", str(member)])
    (rest,) = (group for group in before if str(member) in group)
    assert rest - {str(member)} in ids_of(index) or len(rest) == 2
    regrouped = index.grouped(regroup=True)
    labels = average_linkage(index.vectors, 0.04, shifts=local_means(index.vectors) / 2)
    assert regrouped.groups == groups_of(index.vectors, labels)
    assert ids_of(index, 0.97, regroup=True) == {
        g for g in plain if str(member) not in g
    } | {g - {str(member)} for g in plain if str(member) in g and len(g) > 2}


@pytest.mark.parametrize("name", ["weight", "list_threshold"])
def test_a_fit_that_is_none_is_refused(detector, name):
    for value in ("x", float("nan"), 7):
        with pytest.raises(ArgumentError):
            detector.with_threshold(
                {**FIT, "weight": 1.0, "list_threshold": 0.1, name: value}
            )


def test_answers_bind_groups_at_once_until_they_are_taken_back(detector, tmp_path):
    questions = list(dict.fromkeys(random_questions(150)))
    index = QuestionIndex.build(detector, questions, path=tmp_path / "i")
    groups = index.grouped(0.97).groups
    plain = ids_of(index)
    one, two = (questions[member.row] for member in groups[0][:2])
    far = questions[
        min({*range(len(questions))} - {m.row for group in groups for m in group})
    ]
    pairs = QuestionPairs([one, two, "not there"], [two.upper(), far, one], [0, 1, 1])
    assert index.add_answers(pairs) == 2
    index.close()
    index = QuestionIndex.open(tmp_path / "i", detector)
    assert sorted(index.answers().is_duplicate.tolist()) == [0, 1]
    numbers = {text: str(n) for n, text in enumerate(questions)}
    for regroup in (False, True):
        groups = ids_of(index, 0.97, regroup=regroup)
        assert not any({numbers[one], numbers[two]} <= group for group in groups)
        assert any({numbers[two], numbers[far]} <= group for group in groups)
    with refuses(DataError, "contradict"):
        index.add_answers(QuestionPairs([one], [far], [1]))
    assert len(index.answers()) == 2
    assert index.add_answers(pairs, forget=True) == 2
    assert len(index.answers()) == 0 and ids_of(index) == plain


@pytest.mark.parametrize("in_memory", [True, False])
def test_an_answer_holds_for_every_question_of_its_text(detector, tmp_path, in_memory):
    path = None if in_memory else tmp_path / "i"
    questions = ["how far", "how FAR", "how old", "rice"]
    index = QuestionIndex.build(detector, questions, path=path)
    assert {"0", "1", "2"} <= max(ids_of(index, -1), key=len)
    index.add_answers(QuestionPairs(["How  old"], ["how far"], [0]))
    apart = {"0", "1"}, {"2"}

    def check():
        for group in ids_of(index, -1):
            assert not any(group & one for one in apart[:1]) or not group & apart[1], (
                group
            )

    check()
    index.add(["How far", "HOW OLD"], ids=["5", "6"])
    apart = {"0", "1", "5"}, {"2", "6"}
    check()
    # The answer stays while a question has the text, also one that is replaced by it.
    index.remove(["0", "2"])
    index.add(["HOW Far"], ids=["5"])
    check()
    index.add_answers(QuestionPairs(["how far"], ["how OLD"], [1]))  # a newer one
    assert index.answers().is_duplicate.tolist() == [True]
    assert any({"1", "5", "6"} <= group for group in ids_of(index, -1))
    index.add(["how Old"], ids=["6"])
    assert len(index.answers()) == 1
    index.remove(["6"])
    index.add(["how old"])
    assert len(index.answers()) == 0


def test_an_answer_is_changed_only_from_the_one_that_is_known(detector, path):
    with QuestionIndex.open(path, detector) as index:
        index.add(["how old"])

        def change(label, *replaces, other="How old"):
            change = AnswerChange("how far", other, label, replaces)
            return index.change_answers([change])

        assert change(True, None) == (1, [None])
        for label, before in ((False, None), (None, False)):
            with pytest.raises(DataError):
                change(label, before)
        assert index.answers().is_duplicate.tolist() == [True]
        assert change(False, True) == (1, [True])
        assert change(None, False) == (1, [False])
        assert len(index.answers()) == 0
        assert change(True, None, other="not there") == (0, [None])


def test_the_model_is_found_again_after_both_moved(detector, tmp_path):
    old, new = tmp_path / "old", tmp_path / "new"
    old.mkdir()
    detector.save(old / "model")
    QuestionIndex.build(old / "model", ["how far"], path=old / "i").close()
    old.rename(new)
    with QuestionIndex.open(new / "i") as index:
        index.add("how old")
        assert index.search("how old")[0].id == "1"
    assert sorted(os.listdir(new)) == ["i", "model"]
    (new / "model").rename(tmp_path / "elsewhere")
    with refuses(CheckpointError, "detector="):
        QuestionIndex.open(new / "i")
    assert len(QuestionIndex.open(new / "i", tmp_path / "elsewhere")) == 2
    with refuses(CheckpointError, "another model"):
        QuestionIndex.open(new / "i", make_detector(seed=1))


@pytest.fixture(params=["a folder", "a text", "another database"])
def no_index(request, tmp_path):
    """What stands in an index's place, and is none."""
    path = tmp_path / "mine"
    if request.param == "a folder":
        path.mkdir()
    elif request.param == "a text":
        path.write_text("mine")
    else:
        sqlite3.connect(path).execute("create table a (b)").connection.close()
    before = path.read_bytes() if path.is_file() else b""
    yield path
    assert (path.read_bytes() if path.is_file() else b"") == before


def test_what_is_no_index_is_not_opened(detector, no_index):
    with refuses(CheckpointError, str(no_index), "no index"):
        QuestionIndex.open(no_index, detector)


def test_what_is_no_index_is_not_replaced(detector, no_index):
    with pytest.raises(SiameseError):
        QuestionIndex.build(detector, ["how"], path=no_index)


def test_what_is_no_index_is_not_replaced_on_request_either(detector, no_index):
    with refuses(CheckpointError, str(no_index), "no index"):
        QuestionIndex.build(detector, ["how"], path=no_index, overwrite=True)


def test_an_index_that_is_not_there_is_named(detector, tmp_path):
    with refuses(CheckpointError, str(tmp_path / "none"), "no index"):
        QuestionIndex.open(tmp_path / "none", detector)


def test_an_index_in_a_folder_that_is_not_there_is_not_made(detector, tmp_path):
    with refuses(CheckpointError, str(tmp_path / "none")):
        QuestionIndex.build(detector, ["how"], path=tmp_path / "none" / "i")


@pytest.mark.parametrize("damage", ["cut", "overwritten", "version", "vectors"])
def test_damage_is_one_sentence_and_the_index_can_be_made_again(
    detector, tmp_path, damage
):
    path = tmp_path / "i"
    QuestionIndex.build(detector, random_questions(2_000), path=path).close()
    content = path.read_bytes()
    half = len(content) // 2
    if damage in ("cut", "overwritten"):
        end = b"" if damage == "cut" else b"x" * 40_000 + content[half + 40_000 :]
        path.write_bytes(content[:half] + end)
    else:
        edit = "update encoded set vector = x'00'"
        if damage == "version":
            edit = "pragma user_version = 9"
        with sqlite3.connect(path) as db:
            db.execute(edit)
        db.close()
    word = "version 9" if damage == "version" else "damaged"
    with refuses(CheckpointError, str(path), word):
        QuestionIndex.open(path, detector).search(random_questions(500), k=2_000)
    if damage == "version":
        made = QuestionIndex.build(detector, ["how"], path=path, overwrite=True)
        assert len(made) == 1


def test_a_search_while_the_index_is_replaced_answers_from_one_of_them(detector, path):
    versions = [random_questions(6, seed=n) for n in range(5)]
    similar = [dict(zip(v, detector.similarity("how far", v))) for v in versions]
    reader = QuestionIndex.open(path, detector)
    reader.set_threshold(FIT)
    with ThreadPoolExecutor(1) as pool:
        options = {"path": path, "overwrite": True}
        done = pool.submit(
            lambda: [QuestionIndex.build(detector, v, **options) for v in versions]
        )
        while not done.done():
            hits = {hit.question: hit.similarity for hit in reader.search("how far")}
            answer = pytest.approx(hits, abs=1e-6)
            assert answer == {"how far": 1} or answer in similar
    assert set(contents(reader).values()) == set(versions[-1])
    assert reader.detector.threshold == detector.threshold != FIT["threshold"]
    QuestionIndex.build(
        make_detector(seed=1), ["anew"], path=path, overwrite=True
    ).close()
    with refuses(CheckpointError, "another model"):
        reader.search("anew")


@pytest.mark.parametrize(
    "change",
    [lambda index: index.add("how old"), lambda index: index.set_threshold(FIT)],
    ids=["an addition", "a threshold"],
)
def test_a_failed_change_changes_nothing(detector, path, monkeypatch, change):
    index = QuestionIndex.open(path, detector)
    monkeypatch.setattr("siamese.index.stored_groups.extend", lambda *args: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        change(index)
    assert index.detector.threshold == detector.threshold
    monkeypatch.undo()
    for one in (index, QuestionIndex.open(path, detector)):
        assert contents(one) == {"0": "how far"} and one.search("how old")[0].id == "0"
    assert index.add("how old").ids == ["1"]


def test_a_build_on_a_full_disk_leaves_no_file(detector, tmp_path):
    with mounted_tmpfs(tmp_path / "disk", "1m") as disk:
        state = os.statvfs(disk)
        with open(disk / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize)
        with refuses(CheckpointError, str(disk), "disk is full"):
            QuestionIndex.build(detector, ["how far"], path=disk / "i")
        assert os.listdir(disk) == ["filler"]
        os.unlink(disk / "filler")
        QuestionIndex.build(detector, ["how far"], path=disk / "i").close()


def test_an_index_on_a_full_disk_is_searched_and_changed_once_there_is_space(
    detector, tmp_path
):
    with mounted_tmpfs(tmp_path / "disk", "4m") as disk:
        QuestionIndex.build(detector, random_questions(200), path=disk / "i").close()
        state = os.statvfs(disk)
        with open(disk / "filler", "wb") as filler:
            os.posix_fallocate(filler.fileno(), 0, state.f_bavail * state.f_frsize)
        index = QuestionIndex.open(disk / "i", detector)
        assert len(index.search("how far", k=300)) == 200
        assert index.grouped(0.9).groups is not None
        for change in (lambda: index.add("far old"), lambda: index.remove([3])):
            with refuses(CheckpointError, str(disk), "disk is full"):
                change()
        os.unlink(disk / "filler")
        assert index.add("how far is it to cook").added == 1 and index.remove([3]) == 1
        index.close()
        assert os.listdir(disk) == ["i"]


def test_a_closed_index_is_one_file_and_opens_read_only(
    detector, path, tmp_path, monkeypatch
):
    index = QuestionIndex.open(path, detector)
    index.add("how old")
    index.close()
    assert os.listdir(tmp_path) == ["i"]
    shutil.copy(path, tmp_path / "copy")
    monkeypatch.setattr(os, "access", lambda *args: False)
    copy = QuestionIndex.open(tmp_path / "copy", detector)
    assert copy.search("how old")[0].id == "1" and copy.grouped(0.9).groups is not None
    with refuses(CheckpointError, "read-only"):
        copy.add("rice")
    assert sorted(os.listdir(tmp_path)) == ["copy", "i"]


def test_an_empty_path_is_no_index_in_memory(detector):
    with pytest.raises(CheckpointError):
        QuestionIndex.build(detector, ["how old"], path="")


def test_a_closed_index_is_not_searched(detector, path):
    index = QuestionIndex.open(path, detector)
    index.close()
    with refuses(CheckpointError, "closed"):
        index.search("how old")


@pytest.mark.parametrize("in_memory", [True, False])
def test_groups_questions_and_vectors_are_of_one_moment_while_others_write(
    tmp_path, in_memory
):
    detector = make_detector(threshold=0.9)
    texts = random_questions(60)
    path = None if in_memory else tmp_path / "i"
    index = QuestionIndex.build(detector, texts, path=path)
    looks = threading.Semaphore(0)  # Each lets the writer make a change meanwhile.

    def write():
        with index if in_memory else QuestionIndex.open(path, detector) as writer:
            for n in range(25):
                assert looks.acquire(timeout=60)
                ids = [f"{n} {k}" for k in "abc"]
                writer.add(random_questions(3, seed=n + 7), ids=ids)
                writer.remove([str(n), ids[0]])

    sizes = set()
    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(write)
        while not done.done():
            looks.release()
            snapshot = index.grouped(regroup=len(sizes) % 2 == 0)
            entries = snapshot.entries
            vectors = snapshot.vectors
            groups = snapshot.groups
            sizes.add(len(entries))
            encoded = detector.encode([entry["question"] for entry in entries])
            np.testing.assert_allclose(vectors, encoded, atol=1e-5)
            assert all(
                vectors[m.row] @ vectors[g[0].row] > 0.5 for g in groups for m in g
            )
            assert duplicate_groups(index)
            hits = index.search("how far is it", k=99)
            right = detector.similarity("how far is it", [hit.question for hit in hits])
            found = [hit.similarity for hit in hits]
            np.testing.assert_allclose(found, right, atol=1e-5)
    done.result()
    assert len(sizes) > 1
    assert (
        {len(index)}
        == {len(index.snapshot().entries)}
        == {len(index.snapshot().vectors)}
        == {85}
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "line",
    [
        "sharing --seconds 1",
        "view --seconds 1",
        "exchange --times 4",
        "builds --times 4",
        "labellers --times 3",
        "kills --times 1",
        "threads --seconds 1",
    ],
)
def test_nothing_is_lost_mixed_or_refused(line, tmp_path, monkeypatch):
    """The long runs of benchmarks/faults.py, for a second."""
    results = tmp_path / "results.json"
    arguments = line.split()
    monkeypatch.setattr(
        sys, "argv", ["faults.py", *arguments, "--results", str(results)]
    )
    faults.main()
    assert json.loads(results.read_text())[arguments[0]]


@pytest.mark.slow
def test_what_lies_below_a_threshold_is_found_without_a_copy_of_the_vectors():
    n = 40_000
    vectors = np.zeros((n, 512), np.float32)
    vectors[:, :32] = np.random.default_rng(0).standard_normal((n, 32))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[-100:] = vectors[:100]  # of the same texts
    texts = [f"question {row % (n - 100)}" for row in range(n)]
    card = {"threshold_fit": {"weight": 0.0}}  # Nothing is looked for to weigh pairs.
    detector = DuplicateDetector(make_detector().encoder, card=card).with_check(None)
    entries = [{"id": str(row), "question": texts[row]} for row in range(n)]
    questions = Questions(texts, vectors, texts)
    listed = GroupedSnapshot(entries, questions, detector, [], 0.8, 0.0, None)
    tracemalloc.start()
    below = below_threshold(listed)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert len(below.pairs) == 50
    assert all(texts[one] != texts[two] for one, two, _ in below.pairs)
    # 80 MB are for a sample, whatever the length of the list.
    assert peak - 80e6 < 0.6 * vectors.nbytes
