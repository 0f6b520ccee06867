"""The near-miss check: questions that share most of their words and ask something else."""

import csv
import json
import subprocess
import sys
from collections import Counter
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from refusals import refuses

import siamese.corpus
from siamese import (
    ArgumentError,
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    embedded_corpus,
)
from siamese.corpus import handwritten_questions
from siamese.model import near_misses
from siamese.model.explain import differences
from siamese.model.near_miss_features import FEATURES, MOST_UNITS, features
from siamese.model.near_misses import KINDS, NearMissCheck

ROOT = Path(__file__).parents[2]
BY_HAND = ROOT / "benchmarks" / "by_hand"
WEIGHTS = Path(near_misses.__file__).with_suffix(".npz")
CHECK = NearMissCheck.shipped()
# Two texts, the kind in which they differ, and whether the encoder hardly sees it.
NEAR = (
    ("How do I install Node 18?", "How do I install Node 20?", "number"),
    ("Can I get a refund of $5?", "Can I get a refund of €5?", "number"),
    ("Is the library open on Friday?", "Is the library open on Sunday?", "date"),
    ("Can I log in with a code?", "Can I log in without a code?", "negation"),
    ("How do I go from Bern to Basel?", "How do I go from Basel to Bern?", "direction"),
    ("How do I enable cookies?", "How do I disable cookies?", "verb"),
    ("Who was the first pope?", "Who was the last pope?", "scope"),
    ("When was the tower built?", "Why was the tower built?", "question word"),
    ("How do I reset my iPhone?", "How do I reset my iPad?", "name"),
)
SAME = (
    ("How do I share a file with two people?", "How do I share a file with 2 people?"),
    ("Is 1,500 g of rice enough?", "Is 1.5 kg of rice enough?"),
    ("Is it safe to eat raw eggs?", "Isn't it safe to eat raw eggs?"),
    ("In Excel, how do I freeze a row?", "How do I freeze a row in Excel?"),
    ("Is Rome or Milan larger?", "Is Milan or Rome larger?"),
)


def by_hand(name: str) -> list[dict[str, str]]:
    return list(csv.DictReader((BY_HAND / name).read_text("utf-8").splitlines()))


def texts_by_hand() -> set[str]:
    rows = [*by_hand("near_misses.csv"), *by_hand("same.csv")]
    return {row[name] for row in rows for name in row if name not in ("half", "kind")}


def penalties(pairs) -> np.ndarray:
    ones, twos = zip(*(pair[:2] for pair in pairs))
    return CHECK.penalty(ones, twos, np.full(len(ones), 0.9, np.float32))


def test_what_is_written_by_hand_stands_in_no_other_set():
    rows = [*by_hand("near_misses.csv"), *by_hand("same.csv")]
    halves = Counter(row["half"] for row in rows)
    assert halves == {"choose": 80, "report": 80, "fresh": 120}
    known = {question.text for question in embedded_corpus().questions}
    known |= {row["question"] for row in handwritten_questions()}
    assert not known & texts_by_hand()


def test_near_misses_get_a_penalty_and_wordings_of_one_question_hardly_any():
    assert (penalties(NEAR) > 0.04).all()
    assert (penalties(SAME) < 0.05).all()


def test_it_only_refuses():
    """The penalty is never negative, and 0 for equal texts and for those that share little."""
    assert (penalties([*NEAR, *SAME]) >= 0).all()
    little = [
        ("How do I boil an egg?", "Why is the sky blue at noon?"),
        ("Where can Anna park 2 cars?", "Who pays for a taxi on Sunday?"),
        ("", "Is it open?"),
        ("", ""),
        ("日本の会社", "金曜日に開く"),
    ]
    assert (penalties(little) == 0).all()
    assert (penalties([(one, one) for one, *_ in NEAR]) == 0).all()


def test_it_does_not_matter_which_question_is_first():
    turned = [(two, one) for one, two, *_ in (*NEAR, *SAME)]
    np.testing.assert_array_equal(penalties([*NEAR, *SAME]), penalties(turned))


def test_pairs_do_not_change_each_other():
    alone = [penalties([pair])[0] for pair in NEAR]
    np.testing.assert_array_equal(penalties(NEAR), alone)


def test_repeated_lines_do_not_count_and_long_texts_are_not_compared():
    one, two = "Can I bring 2 bags?", "Can I bring 3 bags?"
    repeated = f"{one}\n{one}\n{one}"
    assert penalties([(repeated, two)]) == pytest.approx(penalties([(one, two)]))
    long = " ".join(f"word{n}x" for n in range(MOST_UNITS))
    assert penalties([(f"{long} {one}", f"{long} {two}")])[0] == 0


def test_scripts_without_blanks_are_compared_by_pairs_of_characters():
    row = features(["東京から大阪まで"], ["東京から京都まで"], np.zeros(1))[0]
    assert 0.4 < row[[*FEATURES].index("share")] < 0.9


@pytest.mark.parametrize(("one", "two", "kind"), NEAR)
def test_the_difference_is_named(one, two, kind):
    assert kind in {difference.kind for difference in CHECK.reasons(one, two)}
    assert differences(one, two)


@pytest.mark.parametrize(("one", "two"), SAME)
def test_no_difference_is_named_where_there_is_none(one, two):
    assert not differences(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("iPhone case", "iPad case"),
        ("C# lists", "C++ lists"),
        ("Pay $5", "Pay €5"),
        ("5 % more", "-5 % more"),
        ("I am unable to pay", "I am able to pay"),
        ("Lunch before work", "Lunch after work"),
        ("Enable sound", "Disable sound"),
    ],
)
def test_differences_of_names_signs_and_opposites_are_named(one, two):
    assert differences(one, two)


@pytest.mark.parametrize(
    ("one", "two"), [("80 days", "eighty days"), ("1.000 users", "1000 users")]
)
def test_equal_numbers_written_in_two_ways_are_no_difference(one, two):
    assert not differences(one, two)


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Is the office in Hyderabad open?", "Is the office in Hydearbad open?"),
        ("Who hosts the show tomorrow?", "Who hosts the show tommorow?"),
        ("How do I change the language?", "How do I change the lanugage?"),
    ],
)
def test_a_slip_of_the_pen_is_no_difference(one, two):
    assert not differences(one, two)
    assert penalties([(one, two)])[0] == 0


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("Where is the trial held?", "Where is the trail held?"),
        ("Is the desert far?", "Is the dessert far?"),
        ("Is the parent known?", "Is the pattern known?"),
    ],
)
def test_another_word_is_a_difference_though_its_letters_are_alike(one, two):
    assert [found.kind for found in CHECK.reasons(one, two)] == ["noun"]


@pytest.mark.parametrize(
    ("one", "two", "kind"),
    [
        ("Do I have to pay twice?", "Can I pay twice?", "question word"),
        (
            "How do I go from Bern to Basel?",
            "How do I go from Basel to Bern?",
            "direction",
        ),
    ],
)
def test_the_reasons_of_a_first_pair_are_told(one, two, kind):
    """A reader that has met no modal and no question word yet has no numbers for them."""
    code = (
        "import sys; from siamese.model.near_misses import NearMissCheck;"
        "print(NearMissCheck.shipped().reasons(*sys.argv[1:])[0].kind)"
    )
    ran = subprocess.run(
        [sys.executable, "-c", code, one, two],
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.split("\n")[0] == kind


def test_kinds_that_are_ignored_do_not_count():
    for one, two, kind in NEAR:
        check = NearMissCheck.shipped(ignore=[kind])
        cosine = np.array([0.9])
        assert check.penalty([one], [two], cosine) < CHECK.penalty([one], [two], cosine)
        assert kind not in {found.kind for found in check.reasons(one, two)}
    everything = NearMissCheck.shipped(ignore=KINDS)
    ones, twos, _ = zip(*NEAR)
    assert everything.penalty(ones, twos, np.full(len(NEAR), 0.9)).max() < 0.05


def test_a_kind_that_there_is_not_is_refused_with_those_that_there_are():
    with refuses(ArgumentError, "'colour'", "number, date"):
        NearMissCheck.shipped(ignore=["colour"])


def test_the_tables_predict_what_the_library_predicts():
    stored = np.load(ROOT / "tests" / "model" / "near_miss_rows.npz")
    assert stored["rows"].shape == (2000, len(FEATURES))
    logits = CHECK.logits(stored["rows"])
    np.testing.assert_allclose(logits, stored["logits"], atol=1e-6)


def test_the_weights_are_small_plain_arrays_and_their_card_is_theirs():
    assert WEIGHTS.stat().st_size <= 200_000
    with np.load(WEIGHTS, allow_pickle=False) as arrays:
        assert all(arrays[name].dtype.kind in "iuf" for name in arrays)
    card = json.loads(WEIGHTS.with_suffix(".json").read_text())
    assert card["sha256"] == sha256(WEIGHTS.read_bytes()).hexdigest()
    assert card["features"] == [*FEATURES]


def test_what_measures_is_not_trained_on(monkeypatch):
    """The tool reads no set that comes with the package; what it encodes is the rows' and edits of them."""
    monkeypatch.syspath_prepend(ROOT / "tools")
    for name in ("embedded_corpus", "handwritten_questions"):
        monkeypatch.delattr(siamese.corpus, name)
    monkeypatch.delattr(siamese, "embedded_corpus", raising=False)
    sys.modules.pop("train_near_misses", None)
    import train_near_misses

    encoded: list[str] = []

    class Encoder:
        def encode(self, texts):
            encoded.extend(texts)
            return np.eye(len(texts), 8, dtype=np.float32)

    monkeypatch.setattr(DuplicateDetector, "pretrained", Encoder)
    ones = [
        f"How do I get from Bonn to Oslo in {n} days with a dog?" for n in range(40)
    ]
    twos = [
        f"How can I get from Bonn to Oslo in {n} days with a dog?" for n in range(40)
    ]
    pairs = QuestionPairs(ones, twos, np.arange(40) % 2 == 0)
    data = train_near_misses.examples(pairs, pairs, None)
    assert {*ones, *twos} <= {*encoded}
    assert len(data["x"]) == len(data["y"]) > len(pairs)
    assert not texts_by_hand() & {*encoded}
    listed = {
        text
        for *pair, _, _ in train_near_misses.requests(train_near_misses.SEED)
        for text in pair
    }
    edited = {*encoded} - listed
    assert all({"Bonn", "Oslo"} & {*text.split()} or "dog" in text for text in edited)


def test_a_list_of_requests_that_differ_in_one_part_has_no_group():
    """Four beginnings, four things and four weeks; none of the things is trained on."""
    texts = [
        f"{begin} read the {thing} in week {week}?"
        for begin in ("When must I", "How do I", "Can I", "Why should I")
        for thing in ("CSV file", "paper", "lecture notes", "feedback")
        for week in range(1, 5)
    ]
    index = QuestionIndex.build(DuplicateDetector.pretrained().with_check(CHECK), texts)
    for threshold in (0.7, 0.75, 0.8):
        assert not index.grouped(threshold, regroup=True).groups


TRAIN = (
    "How do I get from Bonn to Oslo by train?",
    "What is the way to get from Bonn to Oslo by train?",
    "How do I get from Oslo to Bonn by train?",
)


def test_a_detector_without_labels_has_the_check_and_its_similarity_stays():
    use = DuplicateDetector.pretrained()
    cosine = use.with_check(None)
    one, same, near = TRAIN
    assert use.predict([one, one], [same, near]).tolist() == [True, False]
    assert cosine.predict([one, one], [same, near]).tolist() == [True, True]
    assert cosine.similarity(one, near) == use.similarity(one, near)
    labels = QuestionPairs([one] * 40, [same, near] * 20, [1, 0] * 20)
    assert not use.fitted(labels).predict(one, near)


def groups_in(index, *threshold, **options):
    """The groups of an index as sets of places."""
    groups = index.grouped(*threshold, **options).groups
    return [{member.row for member in group} for group in groups]


def test_a_near_miss_of_one_paraphrase_stays_out_of_their_group():
    index = QuestionIndex.build(DuplicateDetector.pretrained(), TRAIN)
    for threshold in np.arange(0.5, 0.95, 0.05):
        groups = groups_in(index, float(threshold), regroup=True)
        assert groups in ([{0, 1}], []), threshold
    assert groups_in(index, 0.7, regroup=True) == [{0, 1}]


@pytest.mark.parametrize("in_file", [False, True])
def test_an_answer_that_a_refused_pair_is_the_same_lifts_its_penalty(tmp_path, in_file):
    path = tmp_path / "index.db" if in_file else None
    use = DuplicateDetector.pretrained()
    with QuestionIndex.build(use, TRAIN, path=path) as index:
        same = QuestionPairs([TRAIN[0]], [TRAIN[2]], [True])
        index.add_answers(same)
        assert groups_in(index) == [{0, 1, 2}]
        index.add_answers(same, forget=True)
        assert groups_in(index) == [{0, 1}]


def lenient(detector):
    """A detector whose check ignores turned arguments."""
    return detector.with_check(NearMissCheck.shipped(ignore=["direction"]))


def unchecked(detector):
    """A detector that decides by the cosine alone."""
    return detector.with_check(None)


@pytest.mark.parametrize(
    ("change", "is_same"),
    [(lambda own: own, False), (lenient, True), (unchecked, True)],
)
def test_a_saved_model_and_an_index_keep_the_check(tmp_path, change, is_same):
    detector = change(DuplicateDetector.pretrained())
    loaded = DuplicateDetector.load(detector.save(tmp_path / "model"))
    path = tmp_path / "index.db"
    QuestionIndex.build(detector, TRAIN, path=path).close()
    assert loaded.predict(TRAIN[0], TRAIN[2]) == is_same
    for fit in (None, {"threshold": 0.6}, {}):
        with QuestionIndex.open(path) as index:
            if fit is not None:
                index.set_threshold(fit)
            assert index.detector.predict(TRAIN[0], TRAIN[2]) == is_same
            assert groups_in(index) == [{0, 1, 2} if is_same else {0, 1}]


def test_an_index_makes_its_groups_again_where_another_check_made_them(tmp_path):
    path = tmp_path / "index.db"
    use = DuplicateDetector.pretrained()
    with QuestionIndex.build(use, TRAIN, path=path) as index:
        assert not index.facts.groups_are_of_another_check
        assert groups_in(index) == [{0, 1}]
    with QuestionIndex.open(path, check=lambda own: lenient(own).check) as index:
        assert index.facts.groups_are_of_another_check
        assert groups_in(index) == [{0, 1, 2}]
        assert not index.facts.groups_are_of_another_check
    with QuestionIndex.open(path) as index:
        assert index.facts.groups_are_of_another_check
        # What is added joins no group of another check.
        index.add(TRAIN[:1], ids=["copy"])
        assert groups_in(index) == [{0, 1, 3}]
    with QuestionIndex.open(path, check=lambda own: None) as index:
        index.set_threshold({"threshold": 0.6})
    with QuestionIndex.open(path) as index:
        assert index.detector.check is None
        assert groups_in(index) == [{0, 1, 2, 3}]


def test_texts_read_together_are_read_as_alone():
    """What is kept of words, and other texts beside them, change no feature."""
    pairs = [pair[:2] for pair in (*NEAR, *SAME)]
    rows = by_hand("near_misses.csv")
    pairs += [(row["question"], row["near_miss"]) for row in rows]
    pairs += [("Don't you?", "Do you? He's not; half an hour, in R, and 5 km. By X?")]
    ones, twos = zip(*pairs)
    cosines = np.full(len(pairs), 0.9)
    together = features(ones, twos, cosines)
    alone = [features([one], [two], np.full(1, 0.9))[0] for one, two in pairs]
    np.testing.assert_array_equal(together, alone)


def test_a_unit_of_time_later_in_a_question_is_not_what_it_asks_for():
    one, two = "How many eggs may I eat a day?", "How many eggs may I eat daily?"
    kinds = {difference.kind for difference in CHECK.reasons(one, two)}
    assert "question word" not in kinds
