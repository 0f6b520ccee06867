"""The modified triplet loss against the documents' numbers, float64 loops and its own laws."""

import golden
import jax
import numpy as np
import pytest
import reference
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from siamese import ArgumentError, ShapeError, TripletLoss, TripletLossFn, similarity_matrix
from siamese.loss import (
    CLOSEST,
    DIRECTIONS,
    REDUCTIONS,
    closest_negative,
    hinge,
    loss_from_scores,
    mean_negative,
)

cosines = st.floats(-1, 1).map(lambda x: round(x, 3))
score_matrices = st.integers(2, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=cosines))
same_matrices = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        arrays(np.float64, (n, n), elements=cosines), arrays(bool, (n, n), elements=st.booleans())
    )
)
options = st.fixed_dictionaries(
    {
        "closest": st.sampled_from(CLOSEST),
        "direction": st.sampled_from(DIRECTIONS),
        "reduction": st.sampled_from(REDUCTIONS),
        "margin": st.sampled_from([0.0, 0.25, 1.5]),
    }
)


def compiled(function):
    return lambda *args, **kw: jax.jit(lambda *a: function(*a, **kw))(
        *(jax.numpy.asarray(a, jax.numpy.float32) for a in args)
    )


both = pytest.mark.parametrize("run", [lambda f: f, compiled], ids=["numpy", "jit"])


@both
@pytest.mark.parametrize(("closest", "reduction", "direction", "expected"), golden.COSTS)
def test_hand_made_scores_give_the_documents_costs(run, closest, reduction, direction, expected):
    found = run(loss_from_scores)(
        golden.SCORES, closest=closest, reduction=reduction, direction=direction
    )
    assert float(found) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


@both
def test_hand_made_scores_give_the_documents_negatives_and_row_losses(run):
    close = {"rtol": 0, "atol": golden.LOSS_TOLERANCE}
    scores = golden.SCORES
    np.testing.assert_allclose(run(mean_negative)(scores), golden.MEAN_NEGATIVE, **close)
    np.testing.assert_allclose(run(closest_negative)(scores), golden.CLOSEST_HARDEST, **close)
    np.testing.assert_allclose(
        run(closest_negative)(scores, closest="below_positive"),
        golden.CLOSEST_BELOW_POSITIVE,
        **close,
    )
    np.testing.assert_allclose(
        run(loss_from_scores)(scores, closest="below_positive", reduction="none"),
        golden.LOSS_PER_ROW_BELOW_POSITIVE,
        **close,
    )


@both
def test_document_002(run):
    scores = golden.MATRICES[2][3]
    close = {"rtol": 0, "atol": golden.LOSS_TOLERANCE}
    np.testing.assert_allclose(run(mean_negative)(scores), golden.MEAN_NEGATIVE_002, **close)
    negatives = run(closest_negative)(scores, closest="below_positive")
    np.testing.assert_allclose(negatives, golden.CLOSEST_NEGATIVE_002, **close)
    cost = run(loss_from_scores)(scores, closest="below_positive", reduction="sum")
    assert float(cost) == pytest.approx(golden.COST_002, abs=golden.LOSS_TOLERANCE)


@both
@pytest.mark.parametrize(("closest", "reduction", "expected"), golden.ASSIGNMENT)
def test_the_assignments_vectors(run, closest, reduction, expected):
    found = run(TripletLossFn)(
        golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2, closest=closest, reduction=reduction
    )
    assert float(found) == pytest.approx(expected, abs=golden.LOSS_TOLERANCE)


def test_the_broadcasting_mistake_of_document_000_is_caught():
    positive = np.diag(golden.SCORES)
    mean, nearest = mean_negative(golden.SCORES), np.array(golden.CLOSEST_BELOW_POSITIVE)
    # What the document computes: (4,) against (4, 1) becomes a 4 x 4 matrix.
    mistake = np.maximum(mean[:, None] - positive + 0.25, 0) + np.maximum(
        nearest[:, None] - positive + 0.25, 0
    )
    assert mistake.shape == (4, 4)
    for negative in (mean[:, None], nearest[:, None]):
        with pytest.raises(ShapeError) as refused:
            hinge(positive, negative)
        assert "(4,)" in str(refused.value) and "(4, 1)" in str(refused.value)
    right = hinge(positive, mean).sum() + hinge(positive, nearest).sum()
    assert right == pytest.approx(0.516667, abs=golden.LOSS_TOLERANCE)


@settings(deadline=None)
@given(same_matrices, options)
def test_value_equals_the_loop(case, chosen):
    scores, same = case
    for known in (None, same):
        expected = reference.triplet_loss(scores, same=known, **chosen)
        np.testing.assert_allclose(
            loss_from_scores(scores, same=known, **chosen), expected, atol=1e-12
        )


@settings(deadline=None, max_examples=25)
@given(st.integers(0, 1000), options)
def test_gradient_equals_central_differences_of_the_loop(seed, chosen):
    chosen = {**chosen, "reduction": "sum"}
    draw = np.random.RandomState(seed)
    scores = draw.uniform(-1, 1, (4, 4))
    same = draw.rand(4, 4) < 0.2
    for known in (None, same):
        expected = reference.gradient(
            lambda s, known=known: reference.triplet_loss(s, same=known, **chosen), scores
        )
        found = jax.grad(
            lambda s, known=known: loss_from_scores(
                s, same=None if known is None else jax.numpy.asarray(known), **chosen
            )
        )(jax.numpy.asarray(scores, jax.numpy.float32))
        near_a_kink = np.abs(np.round(expected * 12) - expected * 12).max() > 1e-3
        if not near_a_kink:  # differences straddle a hinge or a change of the closest negative
            np.testing.assert_allclose(found, expected, atol=1e-4)


def test_gradient_of_the_vectors_equals_central_differences():
    draw = np.random.RandomState(3)
    v1, v2 = draw.randn(5, 3), draw.randn(5, 3)
    v1, v2 = (v / np.linalg.norm(v, axis=1, keepdims=True) for v in (v1, v2))
    expected = reference.gradient(lambda v: reference.triplet_loss(v @ v2.T), v1)
    found = jax.grad(lambda v: TripletLossFn(v, jax.numpy.asarray(v2)))(jax.numpy.asarray(v1))
    np.testing.assert_allclose(found, expected, atol=1e-5)


@given(score_matrices, options, st.randoms(use_true_random=False))
def test_a_common_permutation_of_rows_changes_nothing(scores, chosen, dice):
    order = list(range(len(scores)))
    dice.shuffle(order)
    chosen = {**chosen, "reduction": "mean"}
    moved = scores[order][:, order]
    np.testing.assert_allclose(
        loss_from_scores(moved, **chosen), loss_from_scores(scores, **chosen), atol=1e-12
    )


@given(score_matrices, st.sampled_from(CLOSEST))
def test_columns_are_the_rows_of_the_transpose_and_both_is_symmetric(scores, closest):
    def loss(s, direction):
        return loss_from_scores(s, closest=closest, direction=direction, reduction="none")

    np.testing.assert_allclose(loss(scores, "columns"), loss(scores.T, "rows"), atol=1e-12)
    np.testing.assert_allclose(loss(scores, "both"), loss(scores.T, "both"), atol=1e-12)


@given(score_matrices)
def test_never_negative_and_the_hardest_is_never_easier(scores):
    losses = {
        closest: loss_from_scores(scores, closest=closest, reduction="none") for closest in CLOSEST
    }
    assert (losses["below_positive"] >= 0).all()
    assert (losses["hardest"] >= losses["below_positive"] - 1e-12).all()


@given(score_matrices, st.floats(0, 1))
def test_zero_when_every_positive_wins_by_the_margin(scores, margin):
    np.fill_diagonal(scores, 0)
    np.fill_diagonal(scores, scores.max() + margin + 1e-9)
    assert loss_from_scores(scores, margin) == 0


def test_same_equals_removing_those_cells():
    scores = golden.SCORES
    same = np.zeros((4, 4), bool)
    same[0, 2] = same[2, 0] = True
    # Row 0 is then left with columns 1 and 3, row 2 with columns 1 and 3.
    np.testing.assert_allclose(mean_negative(scores, same)[[0, 2]], [-0.65, -0.35])
    np.testing.assert_allclose(closest_negative(scores, same=same)[[0, 2]], [-0.5, 0.1])
    everything = ~np.eye(4, dtype=bool)
    assert loss_from_scores(scores, same=everything) == 0  # no negatives at all


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: TripletLossFn(np.ones((2, 3)), np.ones((3, 3))), ShapeError, ["(2, 3)", "(3, 3)"]),
        (lambda: TripletLossFn(np.ones(3), np.ones(3)), ShapeError, ["(3,)", "[batch, d_model]"]),
        (lambda: TripletLossFn(np.ones((1, 3)), np.ones((1, 3))), ArgumentError, ["at least 2"]),
        (lambda: loss_from_scores(np.ones((2, 3))), ShapeError, ["(2, 3)", "square"]),
        (lambda: loss_from_scores(np.eye(2), closest="nearest"), ArgumentError, ["'nearest'"]),
        (lambda: loss_from_scores(np.eye(2), reduction="max"), ArgumentError, ["'sum'", "'max'"]),
        (lambda: loss_from_scores(np.eye(2), direction="up"), ArgumentError, ["'columns'"]),
        (lambda: loss_from_scores(np.eye(2), -0.1), ArgumentError, ["margin", "-0.1"]),
        (lambda: loss_from_scores(np.eye(2), float("nan")), ArgumentError, ["margin"]),
        (lambda: loss_from_scores(np.eye(2), same=np.eye(3, dtype=bool)), ShapeError, ["(3, 3)"]),
        (lambda: loss_from_scores(np.eye(2), same=np.eye(2)), ArgumentError, ["bool", "float64"]),
        (lambda: TripletLoss(closest="easiest"), ArgumentError, ["'easiest'"]),
    ],
)
def test_wrong_arguments_are_named(call, error, words):
    with pytest.raises(error) as refused:
        call()
    for word in words:
        assert word in str(refused.value)


def test_the_layer_prints_and_computes_as_the_course_s():
    layer = TripletLoss()
    assert str(layer) == "TripletLoss_in2"
    found = layer((golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2))
    assert float(found) == pytest.approx(0.5, abs=golden.LOSS_TOLERANCE)
    same = np.zeros((2, 2), bool)
    assert str(TripletLoss(same=True)) == "TripletLoss_in3"
    masked = TripletLoss(same=True)((golden.ASSIGNMENT_V1, golden.ASSIGNMENT_V2, same))
    assert float(masked) == pytest.approx(0.5, abs=golden.LOSS_TOLERANCE)


def test_ties_and_low_precision():
    scores = similarity_matrix(np.ones((4, 3)), np.ones((4, 3)))
    assert float(loss_from_scores(scores)) == pytest.approx(0.5)  # all vectors equal: collapse
    low = loss_from_scores(jax.numpy.asarray(golden.SCORES, jax.numpy.bfloat16))
    assert float(low) == pytest.approx(0.366667, abs=1e-2)
