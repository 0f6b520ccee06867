"""A search within values of columns: equal to one in a list of these questions alone."""

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.errors import ArgumentError
from siamese.index import QuestionIndex
from siamese.reading.pairs import QuestionPairs

TEXTS = list(dict.fromkeys(random_questions(120)))
MODES = ("hybrid", "vectors", "words")


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.9)


@pytest.fixture(params=["memory", "file"])
def index(request, detector, tmp_path):
    values = [{}, {"topic": ""}, {"topic": " rice "}, {"topic": 7}, {"topic": None}]
    columns = [values[at % len(values)] for at in range(len(TEXTS))]
    path = None if request.param == "memory" else tmp_path / "i"
    model = None if path is None else detector.save(tmp_path / "model.safetensors")
    with QuestionIndex.build(
        detector, TEXTS, columns=columns, path=path, model=model
    ) as index:
        yield index


def alone(index, detector, values):
    """An index of the questions that have one of some values."""
    own = [e for e in index.snapshot().entries if e["columns"].get("topic") in values]
    texts, ids, columns = zip(*((e["question"], e["id"], e["columns"]) for e in own))
    return QuestionIndex.build(detector, texts, ids=ids, columns=columns)


def assert_equal(found, expected):
    for one, other in zip(found, expected, strict=True):
        assert [hit.id for hit in one] == [hit.id for hit in other]
        assert [hit.is_duplicate for hit in one] == [hit.is_duplicate for hit in other]
        cosines = ([hit.similarity for hit in hits] for hits in (one, other))
        assert np.allclose(*cosines, atol=1e-6)


@pytest.mark.parametrize("mode", MODES)
def test_a_part_is_searched_as_if_it_stood_alone(index, detector, mode):
    asked = ["how far is it", *TEXTS[:5]]
    parts = {"": (None, ""), "rice": (" rice ",), 7: (7,), None: (None, "")}
    for value, values in parts.items():
        found = index.search(asked, 4, mode=mode, within={"topic": value})
        assert_equal(found, alone(index, detector, values).search(asked, 4, mode=mode))
    assert index.search("how far", within={"topic": "none"}) == []


def test_changes_are_followed(index, detector):
    def check():
        found = index.search(TEXTS[:3], 40, within={"topic": "7"})
        assert_equal(found, alone(index, detector, (7,)).search(TEXTS[:3], 40))
        return {hit.id for hits in found for hit in hits}

    before = check()
    added = index.add(["how far is rice away"], columns=[{"topic": 7}])
    assert check() >= {*added.ids}
    index.remove([min(before)])
    assert min(before) not in check()
    entry = next(
        e for e in index.snapshot().entries if e["columns"].get("topic") == " rice "
    )
    index.add([entry["question"]], ids=[entry["id"]], columns=[{"topic": 7}])
    check()
    index.set_threshold({"threshold": -1.0, "calibration": None})
    hits = index.search(TEXTS[0], 5, within={"topic": "7"})
    assert all(hit.is_duplicate for hit in hits)


def test_a_column_that_is_not_there_is_an_error(index):
    with pytest.raises(ArgumentError):
        index.search("how far", within={"product": "x"})


def groups_alone(index, detector):
    """The ids of the groups of each part, each grouped as a list of its own."""
    found = []
    for values in ((None, ""), (" rice ",), (7,)):
        own = alone(index, detector, values)
        for group in own.grouped().groups:
            entries = own.snapshot().entries
            found.append([entries[member.row]["id"] for member in group])
    return sorted(found)


def groups_within(index):
    snapshot = index.grouped(within=["topic"])
    return sorted(
        [snapshot.entries[member.row]["id"] for member in group]
        for group in snapshot.groups
    )


def test_groups_within_columns_are_those_of_each_part_alone(index, detector):
    whole = index.grouped().groups
    assert groups_within(index) == groups_alone(index, detector) != []
    index.add(
        ["how far is it now", "how far is it now then"], columns=[{"topic": 7}] * 2
    )
    index.remove(["3", "8"])
    assert groups_within(index) == groups_alone(index, detector)
    assert index.grouped(within=["topic"]) is index.grouped(within=["topic"])
    assert len(whole) and index.grouped().groups
    with pytest.raises(ArgumentError):
        index.grouped(within=["x"])


def test_answers_bind_groups_within_columns(index):
    before = groups_within(index)
    one, two = before[0][:2]
    text = {entry["id"]: entry["question"] for entry in index.snapshot().entries}
    pairs = QuestionPairs([text[one]], [text[two]], np.array([False]))
    assert index.add_answers(pairs) == 1
    assert not any({one, two} <= {*group} for group in groups_within(index))
