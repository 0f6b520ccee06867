"""The near-miss check that a trained model fits on held-out pairs."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from refusals import refuses

from siamese import (
    CheckpointError,
    DuplicateDetector,
    QuestionIndex,
    QuestionPairs,
    embedded_corpus,
)
from siamese.encoders import find_encoder
from siamese.encoders.joined import Head, Joined
from siamese.encoders.tree import tree_of
from siamese.model import file as model_file
from siamese.model.decision import Compared, part_cosines
from siamese.model.detector import pairs_of
from siamese.model.near_misses import NearMissCheck
from siamese.model.trees import Trees
from siamese.training.own_check import TREE_PAIRS, fit_trees
from siamese.training.report import measure

ASKED = "My credit card got eaten by an ATM in Mumbai. What should I do?"
SAME = "I am in Mumbai and my card got eaten by an ATM. Who do I call?"
NEAR = "My credit card got eaten by an ATM in Toronto. What should I do?"
PAIRS = (
    (ASKED, NEAR),
    (
        "Do I have to leave a tip for hotel maids in Egypt?",
        "Do I have to leave a tip for hotel maids in Canada?",
    ),
    (
        "How many hours does it take to fly between NYC and Seoul?",
        "How many hours does it take to fly between Vienna and Seoul?",
    ),
)
# A tree of one leaf, but for its value.
LEAF = {
    "left": np.zeros(1, int),
    "right": np.zeros(1, int),
    "feature": np.zeros(1, int),
    "threshold": np.zeros(1),
    "depth": 0,
}
HELD_OUT = embedded_corpus().train.rows(0, TREE_PAIRS)
TEST = embedded_corpus().test.rows(0, 400)


@pytest.fixture(scope="module")
def untrained():
    """A head that changes nothing, beside its encoder."""
    use = find_encoder("use")
    encoder = Joined([(0.5, use), (0.5, Head(use, np.eye(use.size)))])
    return DuplicateDetector(encoder, check=NearMissCheck.shipped())


@pytest.fixture(scope="module")
def trained(untrained):
    return measure(untrained, HELD_OUT, TEST)[1]


def scores(model, pairs=TEST):
    return model.decision.scores(*pairs_of(model, pairs.question1, pairs.question2))


def roc_auc(model):
    values = scores(model)
    yes = values[TEST.is_duplicate]
    return np.mean(yes[:, None] > values[~TEST.is_duplicate])


def test_a_trained_model_refuses_near_misses_and_without_a_check_it_does_not(trained):
    assert trained.decision.measure == "probability"
    ones, others = zip(*PAIRS)
    assert not trained.predict(ones, others).any()
    assert trained.with_check(None).predict(ones, others).all()
    assert trained.predict(ASKED, SAME)


def test_its_own_check_tells_more_than_the_one_that_comes_with_the_package(trained):
    without = DuplicateDetector(
        trained.encoder, calibration=trained.calibration, check=trained.check
    )
    assert roc_auc(trained) > roc_auc(without) > roc_auc(trained.with_check(None))


def test_a_kind_that_is_ignored_does_not_count(trained):
    lenient = trained.with_check(NearMissCheck.shipped(ignore=["name"]))
    ones, others = zip(*PAIRS)
    before = trained.probability(ones, others)
    assert (lenient.probability(ones, others) > 10 * before).all()
    number = "Is the pool open for 2 hours?", "Is the pool open for 3 hours?"
    assert lenient.probability(*number) == trained.probability(*number)


def test_a_saved_model_judges_as_it_did(trained, tmp_path):
    lenient = trained.with_check(NearMissCheck.shipped(ignore=["date", "name"]))
    for number, model in enumerate((trained, lenient, trained.with_check(None))):
        loaded = DuplicateDetector.load(model.save(tmp_path / f"{number}.safetensors"))
        assert_array_equal(scores(loaded), scores(model))
        # Also what a check that is put back makes of it.
        again = loaded.with_check(NearMissCheck.shipped())
        assert_array_equal(scores(again), scores(trained))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("left", lambda array: array + 10_000),
        ("right", lambda array: array[:-1]),
        ("feature", lambda array: array + 200),
        ("value", lambda array: array * np.nan),
        ("roots", lambda array: array - 1),
        ("depth", lambda array: array + 1000),
        ("threshold", None),
    ],
)
def test_trees_that_are_none_are_refused(trained, tmp_path, name, damage):
    _, arrays = tree_of(trained.encoder)
    own = model_file.arrays_of(trained.trees)
    if damage is None:
        del own[f"check/{name}"]
    else:
        own[f"check/{name}"] = damage(own[f"check/{name}"])
    path = tmp_path / "model.safetensors"
    trained.save(path)
    _, facts = model_file.read_file(path, "model")
    model_file.write_file(path, "model", {**arrays, **own}, facts, overwrite=True)
    with refuses(CheckpointError, "damaged"):
        DuplicateDetector.load(path)


def test_few_labels_take_the_penalty_off_the_curve(untrained):
    _, model = measure(untrained, HELD_OUT.rows(0, 300), TEST)
    assert model.decision.measure == "probability" and model.trees is None
    ones, others = zip(*PAIRS)
    bare = model.with_check(None).probability(ones, others)
    assert (model.probability(ones, others) < 0.5 * bare).all()


def test_the_probabilities_of_few_labels_are_right_with_the_penalty(untrained):
    """Their mean is the share of duplicates; without the check it is above that."""
    pairs = HELD_OUT.rows(0, 1000)
    _, model = measure(untrained, pairs, TEST)
    share = pairs.is_duplicate.mean()
    assert scores(model, pairs).mean() == pytest.approx(share, abs=0.005)
    assert scores(model.with_check(None), pairs).mean() > share + 0.01


def test_trees_hardly_raise_a_pair_that_the_check_doubts():
    compared = Compared(
        logits=np.zeros(3),
        doubts=np.array([0, 1, 4], np.float32),
        have_common=np.ones(3, bool),
        numbers=np.zeros((3, 1), np.float32),
    )

    def judged(added):
        return compared.judged(Trees.joined([{**LEAF, "value": np.array([added])}]))

    raised = judged(1.0)
    assert raised[0] == 1 and 0.2 < raised[1] < 0.5 and 0 < raised[2] < 0.05
    assert_array_equal(judged(-1.0), [-1, -1, -1])


def test_a_few_dozen_labels_take_the_penalty_off_the_cosine(untrained):
    report, model = measure(untrained, HELD_OUT.rows(0, 60), TEST)
    assert model.decision.measure == report.measure == "cosine"
    assert model.trees is None and model.probability(ASKED, ASKED) > 0.5
    ones, others = zip(*PAIRS)
    sides = pairs_of(model, ones, others)
    lost = model.similarity(ones, others) - model.decision.scores(*sides)
    assert (lost > 0.05).all()


def test_answers_move_the_probabilities_and_keep_their_order(trained, tmp_path):
    answers = TEST.rows(0, 60)
    strict = QuestionPairs(
        answers.question1,
        answers.question2,
        scores(trained, answers) > np.quantile(scores(trained, answers), 0.8),
    )
    moved = trained.fitted(strict, resamples=0)
    before = scores(trained)
    after = scores(moved)
    order = np.argsort(before, kind="stable")
    assert (np.diff(after[order]) >= 0).all()
    assert (after > 0.5).sum() < (before > 0.5).sum()
    loaded = DuplicateDetector.load(moved.save(tmp_path / "moved.safetensors"))
    assert_array_equal(scores(loaded), after)


def test_answers_to_the_pairs_of_a_list_move_them_too(trained):
    with QuestionIndex.build(trained, [*TEST.question1, *TEST.question2]) as index:
        index.add_answers(TEST.rows(0, 60))
        index.set_threshold(
            index.detector.fitted(TEST.rows(0, 60)).card["threshold_fit"]
        )
        assert index.detector.trees is trained.trees
        assert not index.detector.predict(*PAIRS[0])


def test_a_near_miss_of_one_of_a_group_stays_out(trained):
    texts = [ASKED, SAME, NEAR, "Why is the sky blue?"]
    with QuestionIndex.build(trained, texts) as index:
        found = [{member.row for member in group} for group in index.grouped().groups]
        assert found == [{0, 1}]
        # One that comes later stays out as well.
        index.add([NEAR.replace("Toronto", "Oslo")])
        groups = index.grouped().groups
        assert [{member.row for member in group} for group in groups] == [{0, 1}]


def test_hits_have_the_verdicts_of_the_model(trained):
    with QuestionIndex.build(trained, [SAME, NEAR]) as index:
        for hit in index.search(ASKED, k=2, mode="vectors"):
            assert hit.is_duplicate == trained.predict(ASKED, hit.question)
            assert hit.probability == pytest.approx(
                trained.probability(ASKED, hit.question), rel=1e-3
            )


def test_texts_that_are_not_compared_have_the_probability_of_the_curve(trained):
    long = " ".join(f"word{number}" for number in range(80))
    pairs = [(f"{long} {ASKED}", f"{long} {NEAR}"), ("Why?", "What is the sky?")]
    ones, others = zip(*pairs)
    assert_allclose(
        trained.probability(ones, others),
        trained.with_check(None).probability(ones, others),
    )


def test_the_trees_correct_what_the_pairs_say(untrained):
    """Fitted to labels that a number of the pair decides, they say what the labels say."""
    one, two = pairs_of(untrained, HELD_OUT.question1, HELD_OUT.question2)
    cosines = part_cosines(untrained.encoder, one.vectors, two.vectors)
    curve = measure(untrained, HELD_OUT, TEST)[1].calibration
    rows = untrained.check.features(list(one.texts), list(two.texts), cosines[:, 0])
    compared = Compared.of(curve, untrained.check, cosines, rows)
    labels = compared.numbers[:, 2] > 0.7
    added = fit_trees(compared, labels)(compared.numbers)
    assert added[labels & compared.have_common].min() > added[~labels].max()
