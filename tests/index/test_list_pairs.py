"""The pairs of a list that are asked about, and the two numbers that answers fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from refusals import refuses
from small_models import make_detector

from siamese import QuestionIndex, QuestionPairs
from siamese.corpus import handwritten_questions
from siamese.errors import DataError
from siamese.groups.local import WEIGHTS, local_means
from siamese.index import list_pairs
from siamese.index.list_pairs import ListPairs
from siamese.model.detector import pairs_of
from siamese.reading.clusters import answer_key


def unit(vectors):
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def made_list(forms, pairs, seed=0, size=48):
    """Requests by form, close to each other, and pairs of duplicates that are less close."""
    rng = np.random.default_rng(seed)
    template = rng.standard_normal((1, size))
    noise = rng.standard_normal((forms, size))
    bases = rng.standard_normal((pairs, size))
    others = bases + 0.75 * rng.standard_normal((pairs, size))
    vectors = np.concatenate([unit(template) + 0.1 * noise, bases, others])
    owners = [*range(forms), *2 * [forms + n for n in range(pairs)]]
    entries = [
        {"id": str(n), "question": f"text {n}", "columns": {}}
        for n in range(len(vectors))
    ]
    return entries, unit(vectors), owners


def answered(similar, owners, count, **options):
    """The answers of someone who knows."""
    rows = []
    while len(rows) < count:
        answers = (
            QuestionPairs(*map(list, zip(*rows))) if rows else QuestionPairs([], [], [])
        )
        candidate = similar.next(answers, **options)
        if candidate is None:
            break
        pair = [similar.entries[row] for row in candidate[:2]]
        texts = [entry["question"] for entry in pair]
        one, two = (owners[int(entry["id"])] for entry in pair)
        rows.append((*texts, int(one == two)))
    return QuestionPairs(*map(list, zip(*rows)))


@pytest.mark.parametrize("forms", [0, 40, 90])
def test_answers_fit_the_weight_and_the_cut_with_the_best_f1(forms):
    entries, vectors, owners = made_list(forms, 60)
    similar = ListPairs.of(entries, vectors)
    fit = similar.fitted(make_detector(), answered(similar, owners, 30))
    one, two = np.triu_indices(len(owners), 1)
    truth = np.equal.outer(owners, owners)[one, two]
    shift = local_means(vectors) * fit["weight"] / 2
    scores = np.vecdot(vectors[one], vectors[two]) - shift[one] - shift[two]

    def f1_of(chosen):
        return 2 * (chosen & truth).sum() / (chosen.sum() + truth.sum())

    best = max(
        f1_of(scores > cut) for cut in np.quantile(scores[truth], np.linspace(0, 1, 61))
    )
    assert f1_of(scores > fit["list_threshold"]) > 0.85 * best
    assert fit["low"] <= fit["threshold"] <= fit["high"]
    assert (fit["pairs"], fit["weight"] > 0) == (30, forms > 0)


def test_every_pair_is_asked_once_and_none_that_is_skipped():
    entries, vectors, owners = made_list(0, 6)
    # The same question.
    entries.append({**entries[0], "id": "12", "question": " TEXT  0"})
    similar = ListPairs.of(entries, np.concatenate([vectors, vectors[:1]]))
    skipped = [("text 1", "text 0"), ("text 3", "Text 2")]
    answers = answered(similar, owners, 99, skipped=skipped)
    keys = set(map(answer_key, answers.question1, answers.question2))
    assert len(keys) == len(answers) == 36 - 2
    assert not keys & {answer_key(*pair) for pair in skipped}


@pytest.mark.parametrize("count", [0, 1, 2])
def test_a_short_list(count):
    entries, vectors, _ = made_list(2, 0)
    similar = ListPairs.of(entries[:count], vectors[:count])
    candidate = similar.next(QuestionPairs([], [], []))
    assert (candidate is None) == (count < 2)
    with pytest.raises(DataError):
        similar.fitted(make_detector(), QuestionPairs([], [], []))


def test_of_a_long_list_some_questions_are_compared_with_all(monkeypatch):
    entries, vectors, _ = made_list(90, 60)
    whole = ListPairs.of(entries, vectors)
    monkeypatch.setattr(list_pairs, "QUESTIONS", 50)
    monkeypatch.setattr(list_pairs, "SCORES", 8 * 150 * 7)
    similar = ListPairs.of(entries, vectors)
    pairs = set(map(tuple, np.sort(similar.rows[similar.order[0]], axis=1).tolist()))
    sampled = np.sort(np.random.default_rng(0).permutation(210)[:50])
    assert len(pairs) == similar.order.shape[1]
    assert all(set(pair) & set(sampled.tolist()) for pair in pairs)
    cosines = {
        tuple(sorted(pair)): score
        for pair, score in zip(whole.rows.tolist(), whole.scores[0])
    }
    best = sorted(
        (c for p, c in cosines.items() if set(p) & set(sampled.tolist())), reverse=True
    )
    assert_allclose(similar.scores[0, similar.order[0]][:100], best[:100], atol=1e-6)


def test_fewer_than_five_duplicates_fit_nothing_and_answers_to_other_pairs_a_curve():
    entries, vectors, owners = made_list(0, 60)
    similar = ListPairs.of(entries, vectors)
    answers = answered(similar, owners, 40)
    same = np.flatnonzero(answers.is_duplicate)
    few = np.setdiff1d(np.arange(40), same[4:])
    texts = [
        [side[at] for at in few] for side in (answers.question1, answers.question2)
    ]
    with refuses(DataError, "only 4 are duplicates"):
        similar.fitted(
            make_detector(), QuestionPairs(*texts, answers.is_duplicate[few])
        )
    questions = ["how far", "how old", "rice", "cook rice"] * 10
    others = QuestionPairs(
        questions, ["how far", "rice", "rice", "cook"] * 10, [1, 0, 1, 0] * 10
    )
    detector = make_detector()
    expected = detector.fitted(others).card["threshold_fit"]
    assert similar.fitted(detector, others) == expected
    assert WEIGHTS[0] == 0 and detector.with_threshold(expected).list_cut == (
        expected["threshold"],
        0,
    )


def test_five_of_thirty_pairs_that_are_asked_were_refused_by_the_check():
    owners = {
        own["question"]: own["group"] or own["id"] for own in handwritten_questions()
    }
    index = QuestionIndex.build("use", list(owners))
    detector = index.detector
    similar = ListPairs.of_list(index.snapshot())
    asked = []
    for _ in range(30):
        answers = QuestionPairs(*([own[at] for own in asked] for at in range(3)))
        one, two = (similar.entries[row]["question"] for row in similar.next(answers))
        asked.append((one, two, int(owners[one] == owners[two])))
    sides = pairs_of(detector, *([own[at] for own in asked] for at in (0, 1)))
    cosines = detector.with_check(None).decision.scores(*sides)
    scores = detector.decision.scores(*sides)
    refused = (cosines > detector.threshold) & (scores <= detector.threshold)
    assert refused.sum() >= 5


def test_answers_to_refused_pairs_leave_the_threshold_where_the_others_put_it():
    """They are asked because they are refused: their ranks say nothing about others there."""
    questions = [own["question"] for own in handwritten_questions()]
    owners = {
        own["question"]: own["group"] or own["id"] for own in handwritten_questions()
    }
    detector = QuestionIndex.build("use", questions).detector
    similar = ListPairs.of_list(QuestionIndex.build(detector, questions).snapshot())
    asked = []
    for _ in range(25):
        answers = QuestionPairs(*([own[at] for own in asked] for at in range(3)))
        one, two = (similar.entries[row]["question"] for row in similar.next(answers))
        asked.append((one, two, int(owners[one] == owners[two])))
    texts = [similar.entries[row]["question"] for row in range(len(similar.entries))]
    refused = {frozenset(texts[row] for row in pair) for pair in similar.refused[:5]}
    asked = [own for own in asked if frozenset(own[:2]) not in refused]
    without = QuestionPairs(*([own[at] for own in asked] for at in range(3)))
    forgiven = [(*pair, 1) for pair in refused]
    every = QuestionPairs(*([own[at] for own in asked + forgiven] for at in range(3)))
    fits = [similar.fitted(detector, own, resamples=0) for own in (without, every)]
    assert len(refused) == 5
    assert fits[0]["threshold"] == fits[1]["threshold"]
    assert fits[0]["list_threshold"] == fits[1]["list_threshold"]
