"""Between two languages the default threshold is lower; a threshold that somebody gave is not."""

import numpy as np
import pytest

from siamese import DuplicateDetector, QuestionIndex
from siamese.corpus import HANDWRITTEN_FILES, handwritten_questions
from siamese.errors import ArgumentError
from siamese.model.across import ENGLISH_WITH_OTHER, TWO_OTHERS, lowered
from siamese.model.detector import pairs_of
from siamese.model.explain import explain
from siamese.text.language import sure_language

ENGLISH = "Where can I download the invoice for my last order?"
GERMAN = "Wo kann ich die Rechnung zu meiner letzten Bestellung herunterladen?"
FRENCH = "Où puis-je télécharger la facture de ma dernière commande ?"


@pytest.fixture(scope="module")
def detector():
    return DuplicateDetector.from_encoder("use")


@pytest.mark.parametrize(
    ("one", "other", "lower"),
    [
        (ENGLISH, GERMAN, ENGLISH_WITH_OTHER),
        (GERMAN, FRENCH, TWO_OTHERS),
        (GERMAN, GERMAN, 0),
        (ENGLISH, ENGLISH, 0),
        ("Rechnung?", ENGLISH, 0),  # too short to be sure
    ],
)
def test_the_threshold_is_lower_by_the_two_languages(one, other, lower):
    assert lowered([one, other], [other, one]).tolist() == [lower, lower]


def between(detector, lower):
    """Pairs of two languages whose scores the default threshold alone would refuse, by questions."""
    found = []
    rows = {code: handwritten_questions(code) for code in HANDWRITTEN_FILES}
    for german in rows["de"]:
        for other in rows["en"] if lower == ENGLISH_WITH_OTHER else rows["fr"]:
            pair = german["question"], other["question"]
            if german["group"] and german["group"] == other["group"]:
                found.append(pair)
    scores = detector.decision.scores(*pairs_of(detector, *zip(*found)))
    near = (scores <= detector.threshold) & (scores > detector.threshold - lower)
    near &= lowered(*zip(*found)) > 0
    return [pair for pair, is_near in zip(found, near) if is_near]


@pytest.mark.parametrize("lower", [ENGLISH_WITH_OTHER, TWO_OTHERS])
def test_pairs_of_two_languages_are_duplicates_from_a_lower_score_on(detector, lower):
    pairs = between(detector, lower)
    assert len(pairs) >= 3
    asked, stored = map(list, zip(*pairs))
    assert detector.predict(asked, stored).all()
    assert not detector.predict(asked, stored, threshold=detector.threshold).any()
    given = detector.with_threshold(detector.threshold)
    assert not given.predict(asked, stored).any()
    for one, two in pairs:
        (hit,) = QuestionIndex.build(detector, [two]).search(one, 1)
        assert hit.is_duplicate
        (hit,) = QuestionIndex.build(given, [two]).search(one, 1)
        assert not hit.is_duplicate
        explanation = explain(detector, one, two)
        assert explanation.threshold == pytest.approx(detector.threshold - lower)


def test_english_questions_are_never_of_two_languages(detector):
    texts = [row["question"] for row in handwritten_questions()]
    assert {sure_language(text) for text in texts} <= {"en", None}
    one, two = (side.ravel() for side in np.indices((len(texts), len(texts))))
    pairs = pairs_of(detector, texts, texts)
    sides = pairs[0].rows(one), pairs[1].rows(two)
    scores = detector.decision.scores(*sides)
    answers = detector.predict(
        [texts[at] for at in one[::7]], [texts[at] for at in two[::7]]
    )
    assert (answers == (scores[::7] > detector.threshold)).all()


def test_another_encoder_keeps_one_threshold():
    texts = [ENGLISH, GERMAN, FRENCH]
    other = DuplicateDetector.from_encoder(_turned)
    scores = other.decision.scores(*pairs_of(other, texts, [GERMAN, FRENCH, ENGLISH]))
    assert ((scores > 0.55) & (scores < other.threshold)).all()
    assert not other.predict(texts, [GERMAN, FRENCH, ENGLISH]).any()


def _turned(texts):
    """A vector for each text; those of two texts have a cosine of 0.64."""
    vectors = np.zeros((len(texts), 4), np.float32)
    for row, text in zip(vectors, texts):
        row[["hoù".find(text[1:2]), 3]] = 0.6, 0.8
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def groups(index, *threshold, **options):
    """The rows of each group."""
    found = index.grouped(*threshold, **options).groups
    return {frozenset(member.row for member in group) for group in found}


def test_questions_of_two_languages_are_grouped_from_a_lower_cosine_on(
    detector, tmp_path
):
    pairs = between(detector, ENGLISH_WITH_OTHER)[:3]
    for one, two in pairs:
        index = QuestionIndex.build(detector, [one, two])
        assert groups(index) == {frozenset((0, 1))}
        assert not groups(index, detector.threshold, regroup=True)
    texts = [row["question"] for row in handwritten_questions("de")]
    texts += [row["question"] for row in handwritten_questions()[:100]]
    within_memory = groups(QuestionIndex.build(detector, texts))
    with QuestionIndex.build(detector, texts, path=tmp_path / "index.db") as index:
        assert groups(index) == within_memory
        with pytest.raises(ArgumentError):
            index.grouped(detector.threshold)
        assert groups(index, detector.threshold, regroup=True) != within_memory
        assert groups(index, regroup=True) == within_memory


def test_a_question_in_another_language_joins_stored_groups(detector, tmp_path):
    german, english = between(detector, ENGLISH_WITH_OTHER)[0]
    others = [GERMAN, ENGLISH, FRENCH, german]
    with QuestionIndex.build(detector, others, path=tmp_path / "index.db") as index:
        assert not any(3 in group for group in groups(index))
        index.add([english])
        assert frozenset((3, 4)) in groups(index)


def test_groups_of_one_language_are_those_at_the_threshold(detector):
    for code in ("en", "de", "zh"):
        texts = [row["question"] for row in handwritten_questions(code)]
        index = QuestionIndex.build(detector, texts)
        by_default = groups(index)
        assert by_default == groups(index, detector.threshold, regroup=True)
