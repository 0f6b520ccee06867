"""The checks of model, losses and training loop: solutions score full, and mistakes are named."""

import exercise_solutions
import pytest
from exercise_mistakes import changed, failed_hints

from siamese.teaching.checks import EXERCISES

NAMES = {
    2: ("normalize", "shared_towers"),
    4: ("Siamese", "TripletLossFn", "train_model"),
    5: ("symmetric_loss",),
}
CHECKS = {name: EXERCISES[number][name] for number, names in NAMES.items() for name in names}
ROOT = "fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))"
TOWER = "tl.Parallel(tower, tower)"
LAYERS = (
    "tl.Serial(tl.Embedding(vocab_size, d_model), tl.LSTM(d_model), tl.Mean(axis=1), "
    "tl.Fn('Normalize', normalize))"
)
MASK, OTHERS = "scores - 2.0 * fastnp.eye(batch)", "scores * (1.0 - fastnp.eye(batch))"
SCHEDULE = "trax.lr.warmup_and_rsqrt_decay(400, 0.01)"
BOTH = "closest = (masked.max(axis=1) + masked.max(axis=0)) / 2"
MEANS = "mean = (others.sum(axis=1) + others.sum(axis=0)) / 2 / (batch - 1)"


def of(name, *replacements):
    return lambda: changed(name, *replacements)


def siamese_of(*replacements):
    """Siamese with the body of shared_towers, changed."""

    def make():
        towers = changed("shared_towers", *replacements)

        def Siamese(vocab_size=41699, d_model=128, mode="train"):
            return towers(vocab_size, d_model)

        return Siamese

    return make


def two_losses(join):
    def make():
        loss = exercise_solutions.TripletLossFn

        def symmetric_loss(v1, v2, margin=0.25):
            return join(loss(v1, v2, margin), loss(v2, v1, margin))

        return symmetric_loss

    return make


WRONG = [
    # exercise, function () -> wrong solution, what the check must say
    ("normalize", of("normalize", "axis=-1", "axis=0"), "normalise the rows"),
    ("normalize", of("normalize", ", axis=-1, keepdims=True", ""), "one length for the whole batch"),
    ("normalize", of("normalize", ROOT, "fastnp.sum(x * x, axis=-1, keepdims=True)"), "a root is missing"),
    ("normalize", of("normalize", ", keepdims=True", ""), "broadcasting lines them up"),
    ("normalize", of("normalize", ROOT, "fastnp.sum(abs(x), axis=-1, keepdims=True)"),
     "divided by the sum of absolute values"),
    ("normalize", of("normalize", "fastnp.sqrt", "__import__('numpy').sqrt"), "not with NumPy"),
    ("normalize", of("normalize", "return x /", "return"), "these are the rows' lengths"),
    ("shared_towers", of("shared_towers", TOWER, f"tl.Parallel({LAYERS}, {LAYERS})"),
     "weights of their own"),
    ("shared_towers", of("shared_towers", TOWER, "tower"), "this is one tower"),
    ("shared_towers", of("shared_towers", "tl.Mean(axis=1)", "tl.Mean(axis=0)"), "over the batch"),
    ("shared_towers", of("shared_towers", "tl.Mean(axis=1)", "tl.Mean(axis=2)"), "over the wrong axis"),
    ("shared_towers", of("shared_towers", "        tl.Mean(axis=1),\n", ""),
     "average over the positions"),
    ("shared_towers", of("shared_towers", '        tl.Fn("Normalize", normalize),\n', ""),
     "each row's length 1"),
    ("shared_towers", of("shared_towers", "        tl.LSTM(d_model),\n", ""), "is the LSTM there?"),
    ("shared_towers", of("shared_towers", "tl.Embedding(vocab_size, d_model)",
     "tl.Embedding(41699, d_model)"), "not fixed numbers"),
    ("shared_towers", of("shared_towers", TOWER, "tl.Serial(tower, tower)"), "one after the other"),
    ("shared_towers", of("shared_towers", f"return {TOWER}", TOWER), "it returned None"),
    ("Siamese", siamese_of(TOWER, f"tl.Parallel({LAYERS}, {LAYERS})"), "weights of their own"),
    ("Siamese", siamese_of('"Normalize"', '"Unit"'), "with the name 'Normalize'"),
    ("Siamese", siamese_of("Embedding(vocab_size, d_model)", "Embedding(d_model, vocab_size)",
     "LSTM(d_model)", "LSTM(vocab_size)"), "are exchanged"),
    ("Siamese", of("Siamese", "41699", "1000"), "in their order"),
    ("Siamese", of("Siamese", "vocab_size, d_model)", "41699, 128)"), "not fixed numbers"),
    ("Siamese", siamese_of("        tl.LSTM(d_model),\n", "        tl.GRU(d_model),\n"), "needs an LSTM"),
    ("TripletLossFn", of("TripletLossFn", MASK, "scores"), "mask the diagonal"),
    ("TripletLossFn", of("TripletLossFn", MASK, OTHERS), "counts as a negative of 0"),
    ("TripletLossFn", of("TripletLossFn", "margin - positive", "0.25 - positive"), "always 0.25"),
    ("TripletLossFn", of("TripletLossFn", "axis=1", "axis=0"), "rows and columns are exchanged"),
    ("TripletLossFn", of("TripletLossFn", "(v1, v2.T)", "(v2, v1.T)"), "rows and columns are exchanged"),
    ("TripletLossFn", of("TripletLossFn", "fastnp.mean(loss1", "fastnp.sum(loss1"), "the sum over"),
    ("TripletLossFn", of("TripletLossFn", "(batch - 1)", "batch"), "divided by the batch size"),
    ("TripletLossFn", of("TripletLossFn", OTHERS, "scores"), "has the positive in it"),
    ("TripletLossFn", of("TripletLossFn", "diagonal(scores)", "diagonal(scores)[:, None]"),
     "broadcasting made a matrix"),
    ("TripletLossFn", of("TripletLossFn", "fastnp.mean(loss1 + loss2)", "loss1 + loss2"),
     "one number is asked for"),
    ("TripletLossFn", of("TripletLossFn", "loss1 + loss2", "loss1"), "only the closest negative"),
    ("TripletLossFn", of("TripletLossFn", "fastnp.maximum(0.0, margin - positive + closest)",
     "margin - positive + closest", "fastnp.maximum(0.0, margin - positive + mean)",
     "margin - positive + mean"), "the hinge is missing"),
    ("TripletLossFn", of("TripletLossFn", MASK,
     "fastnp.where(scores > positive[:, None], -2.0, scores - 2.0 * fastnp.eye(batch))"),
     "as in the lecture"),
    ("TripletLossFn", of("TripletLossFn", "from trax.fastmath import numpy as fastnp",
     "import numpy as fastnp"), "not with NumPy"),
    ("TripletLossFn", of("TripletLossFn", "batch = len(scores)", "batch = 6"), "a result"),
    ("symmetric_loss", two_losses(lambda a, b: (a + b) / 2), "two finished losses were averaged"),
    ("symmetric_loss", of("symmetric_loss", " + margin", ""), "the margin is missing"),
    ("symmetric_loss", two_losses(lambda a, b: a), "the loss of the rows alone"),
    ("symmetric_loss", two_losses(lambda a, b: b), "the loss of the columns alone"),
    ("symmetric_loss", of("symmetric_loss", " + margin", " + 0.25"), "always 0.25"),
    ("symmetric_loss", of("symmetric_loss", "positive = ", "scores = (scores + scores.T) / 2; positive = "),
     "the matrix was made symmetric first"),
    ("symmetric_loss", of("symmetric_loss", BOTH,
     "closest = fastnp.maximum(masked.max(axis=1), masked.max(axis=0))"), "the larger of the two"),
    ("symmetric_loss", of("symmetric_loss", BOTH, BOTH.replace(" / 2", ""), MEANS,
     MEANS.replace(" / 2", "")), "were added: average them"),
    ("train_model", of("train_model", f"        lr_schedule={SCHEDULE},\n", ""), "an lr_schedule"),
    ("train_model", of("train_model", "decay(400, 0.01)", "decay(400, 0.1)"), "is not 0.01"),
    ("train_model", of("train_model", "decay(400", "decay(4000"), "longer than 400 steps"),
    ("train_model", of("train_model", "Adam(0.01)", "SGD(0.01)"), "the optimizer Adam"),
    ("train_model", of("train_model", "labeled_data=val_generator", "labeled_data=train_generator"),
     "not the training batches"),
    ("train_model", of("train_model", "labeled_data=train_generator", "labeled_data=val_generator"),
     "generators are exchanged"),
    ("train_model", of("train_model", "output_dir=output_dir)", "output_dir=None)"), "output_dir"),
    ("train_model", of("train_model", ", eval_tasks=[eval_task]", ""), "give the loop eval_tasks"),
    ("train_model", of("train_model", "return training.Loop", "training.Loop"), "it returned None"),
    ("train_model", of("train_model", "Loop(Siamese()", "Loop(Siamese"), "a result"),
    ("train_model", of("train_model", "    return training.Loop(Siamese(), train_task, "
     "eval_tasks=[eval_task], output_dir=output_dir)", "    return train_task"),
     "the training.Loop itself"),
]  # fmt: skip

slow = pytest.mark.slow  # Trax builds and compiles a model or two for each.
ROWS = [
    pytest.param(*row, id=f"{row[0]}-{n}", marks=() if row[0] == "normalize" else slow)
    for n, row in enumerate(WRONG)
]


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=() if n == "normalize" else slow) for n in CHECKS]
)
def test_the_solution_scores_full(name, capsys):
    score = CHECKS[name](getattr(exercise_solutions, name))
    assert score.points == score.out_of >= 5 and not score.failures, score
    assert capsys.readouterr().out.startswith(f"✓ {name}: {score.out_of} of {score.out_of}")


@pytest.mark.parametrize(("name", "wrong", "message"), ROWS)
def test_a_mistake_is_named(name, wrong, message):
    score = CHECKS[name](wrong())
    assert score.points < score.out_of
    assert message in failed_hints(score)


def test_every_exercise_has_five_mistakes():
    counts = {name: sum(row[0] == name for row in WRONG) for name in CHECKS}
    assert min(counts.values()) >= 5, counts


@slow
@pytest.mark.parametrize("name", ["TripletLossFn", "symmetric_loss"])
def test_normalising_once_more_is_right(name):
    # The rows have length 1, as the docstring promises: nothing may change.
    unit = "({0} / fastnp.linalg.norm({0}, axis=1, keepdims=True))"
    again = f"({unit.format('v1')}, {unit.format('v2')}.T)"
    assert CHECKS[name](changed(name, "(v1, v2.T)", again)).full


@slow
def test_both_answers_of_the_forum_are_right_and_told_apart(capsys):
    check = CHECKS["symmetric_loss"]
    assert check(exercise_solutions.symmetric_loss).full
    assert "negatives averaged before the hinge" in capsys.readouterr().out
    added = check(two_losses(lambda rows, columns: rows + columns)())
    assert added.full and "the two losses added" in added.note
    assert "what the mentor in the forum answered" in capsys.readouterr().out


@slow
def test_one_of_the_two_answers_in_all_cases():
    loss = exercise_solutions.TripletLossFn

    def symmetric_loss(v1, v2, margin=0.25):
        if margin == 0.8:
            return loss(v1, v2, margin) + loss(v2, v1, margin)
        return exercise_solutions.symmetric_loss(v1, v2, margin)

    score = CHECKS["symmetric_loss"](symmetric_loss)
    assert [failure.case for failure in score.failures] == ["a larger margin"]
    assert "the same one in all cases" in failed_hints(score)
