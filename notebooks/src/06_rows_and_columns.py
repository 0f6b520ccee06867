# %% [markdown]
# # 6. Rows and columns
#
# > *How do visitors get on the wifi?*
# >
# > *Hi, I have a client coming in tomorrow, how does she log in to the guest network?*
#
# **Does it matter which of the two comes first?** It should not: if A asks the same as B, then B asks the same as A. But the course's
# loss compares each *first* question with all second ones, along the rows of the similarity matrix, and never the other way round. A
# learner asked about it in the course's forum:
#
# 1. The columns hold the same kind of numbers; why not use them too? The mentor first asked for clarification: instead of the rows,
#    or together with them? Exchanging `v1` and `v2` only turns rows into columns.
# 2. The learner took that to mean that the matrix is **symmetric**, and asked why it should be.
# 3. The mentor went through the shapes: tokens (256, 64), Embedding and LSTM (256, 64, 128), Mean and Normalize (256, 128). (The
#    second output was noted as (128, 256). That is a slip: it is (256, 128), and transposed only in the product.)
# 4. The learner then asked precisely: compare each first question with all second ones, *and* each second question with all first
#    ones. The formula: average the negatives of row and column, then take the hinge.
# 5. The mentor guessed why the course does not: the loss is hard enough for learners as it is. The mentor also named two ways: find
#    the negatives of the second questions too and **sum** the losses; or leave the loss alone and **swap** the two questions of a
#    pair at random in `data_generator`.
#
# Nobody in the thread measured it. Here you work out all three ways, and then measure them. This takes 60 minutes.
#
# **Before it:** notebook 2, and part 4 of notebook 5. **After it** you can say why a similarity matrix of two batches is not symmetric and
# what exchanging the sides does, write both symmetric losses, read a comparison over seeds, and say what it does not show.
#
# > **Which edition?** The thread is about the loss of 2022: the hardest negative, and the mean over the rows. This notebook keeps it.
# > Averaging the *masked* closest negatives of 2023 is not even defined: a row may have no negative below its positive while its column
# > has one. Task 2 is about that.

# %% setup=true

# %% hidden=true
# @title Imports
import contextlib
import functools
import io
import random

import numpy as np
from scipy.stats import t as student_t

import siamese
from trax import layers as tl
from trax import lr as schedules
from trax.fastmath import numpy as fastnp

from siamese import checks
from siamese.course.loss import closest_negative, hinge, loss_from_scores, mean_negative
from siamese.teaching.lesson import compare, guess, need
from siamese.teaching.plots import DARK, GREY, new_picture, plot_similarity_matrix

siamese.enable_compile_cache()  # so that the next run need not compile again
siamese.keep_memory()  # so that each step does not ask the system for it again
np.set_printoptions(precision=4, suppress=True)
course = siamese.edition(2022)
closest_negative = functools.partial(closest_negative, closest="hardest")

# %%
QUESTIONS = None  # path of Quora's questions.csv, or None for the embedded corpus
STEPS = 100  # training steps of each run
SEEDS = (1, 2, 3)  # each way of training is tried with each of them

# %% [markdown]
# ## What the columns know (10 minutes)
#
# Row $i$ of the matrix holds one **first** question and compares it with all second ones. Column $j$ holds one **second** question and
# compares it with all first ones.
#
# ### Is the matrix symmetric?
#
# No. $S_{02}$ compares question 1 of pair 0 with question 2 of pair 2. $S_{20}$ compares question 1 of pair 2 with question 2 of pair 0.
# Those are four different questions. Exchanging the sides *transposes* the matrix; that does not make it *equal* to its transpose. It
# would be symmetric if both sides held the same questions:

# %%
draw = np.random.default_rng(34)
some1, some2 = draw.normal(size=(2, 4, 3))  # vectors of four pairs
S = siamese.similarity_matrix(some1, some2)
print("sides exchanged: the transpose?", np.allclose(siamese.similarity_matrix(some2, some1), S.T))
print("equal to its own transpose?    ", np.allclose(S, S.T))
same_sides = siamese.similarity_matrix(some1, some1)
print("with the same questions twice? ", np.allclose(same_sides, same_sides.T))

# %% [markdown]
# The learner added that training should bring $S_{ij}$ and $S_{ji}$ together: when partners have nearly the same vector, it hardly
# matters which of the two is compared. That is right, and it is still not equality:

# %%
for noise in (1.0, 0.1, 0.0):  # how far partners are apart
    S = siamese.similarity_matrix(some1, some1 + noise * some2)
    print(f"noise {noise}: largest difference from the transpose {np.abs(S - S.T).max():.3f}")

# %% [markdown]
# Now the matrix of notebook 2, along its rows and along its columns. **Guess before you run:** the closest negative of pair 3 is −0.2
# along its row. What is it along its column?

# %% guess=true
guess("column_3", -0.2)  # a number

# %% alt="The similarity matrix of notebook 2. In each row a dashed box marks the hardest negative: 0.3, 0.1, 0.3 and -0.2."
scores = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)
plot_similarity_matrix(scores, title="along the rows")

# %% hidden=true alt="The same matrix transposed, so that its rows are the columns. The dashed boxes now mark 0.3, 0.1, 0.3 and -0.1."
# @title Picture: along the columns
figure = plot_similarity_matrix(scores.T, title="along the columns")
figure.axes[0].set(xlabel="question 1", ylabel="question 2")
figure

# %%
positive = np.diagonal(scores)
rows = mean_negative(scores), closest_negative(scores)
columns = mean_negative(scores.T), closest_negative(scores.T)
for name, (mean, closest) in (("rows", rows), ("columns", columns)):
    print(f"{name:<8} mean negatives {mean}  closest negatives {closest}")
compare(
    "column_3",
    columns[1][3],
    "A maximum over another group of the same numbers may be another number.",
)

# %% [markdown]
# Each off-diagonal number is a negative of one row and of one column. So the columns bring **no new comparisons**: the same twelve
# numbers, grouped in another way. What changes is which of them is *closest*.
#
# ## Two symmetric losses (15 minutes)
#
# The learner's own proposal: **average** the row's and the column's negatives, and only then take the hinge.
#
# $$\overline{\mathrm{mean}}_i = \tfrac12(\mathrm{mean}^{row}_i + \mathrm{mean}^{col}_i),\qquad
# \overline{\mathrm{closest}}_i = \tfrac12(\mathrm{closest}^{row}_i + \mathrm{closest}^{col}_i)$$
#
# $$\mathcal L = \frac1b\sum_i \max(\overline{\mathrm{mean}}_i - S_{ii} + \alpha, 0) +
# \max(\overline{\mathrm{closest}}_i - S_{ii} + \alpha, 0)$$
#
# The mentor's answer: find the mean and the closest negatives for the second questions too, and **add** the two losses, the rows' and the
# columns'. That is `TripletLossFn(v1, v2) + TripletLossFn(v2, v1)`.
#
# Exchanging the sides transposes $S$, and neither loss notices: both are *symmetric*. They differ in two ways. The sum is about twice as
# large. And it has a hinge for each direction: a row that is still too close costs something whatever its column does, where in the
# average a good column can hide it.
#
# **Exercise 1: `symmetric_loss`.** Start from the loss of 2022. The columns of `scores` are the rows of `scores.T`. The blanks below are
# the average. The sum is right as well, and the check says which of the two it saw.


# %% exercise="symmetric_loss"
def symmetric_loss(v1, v2, margin=0.25):
    """The triplet loss on the averages of the rows' and the columns' negatives.

    Args:
      v1: float [batch, d_model], rows of length 1.
      v2: float [batch, d_model].
      margin: how much more similar a duplicate has to be than a negative.

    Returns:
      A number: the mean over the pairs.
    """
    scores = fastnp.dot(v1, v2.T)  # [batch, batch]
    batch_size = len(scores)
    positive = fastnp.diagonal(scores)
    ### BEGIN SOLUTION
    negatives_only = scores * (1.0 - fastnp.eye(batch_size))
    without_positive = scores - 2.0 * fastnp.eye(batch_size)
    mean_row = fastnp.sum(negatives_only, axis=1) / (batch_size - 1)
    mean_column = fastnp.sum(negatives_only, axis=0) / (batch_size - 1)
    closest_row = fastnp.max(without_positive, axis=1)
    closest_column = fastnp.max(without_positive, axis=0)
    mean = (mean_row + mean_column) / 2
    closest = (closest_row + closest_column) / 2
    loss = fastnp.mean(
        fastnp.maximum(mean - positive + margin, 0.0)
        + fastnp.maximum(closest - positive + margin, 0.0)
    )
    ### BLANK
    # negatives_only = None  # 0 on the diagonal
    # without_positive = None  # below every cosine on the diagonal
    # mean_row = None
    # mean_column = None
    # closest_row = None
    # closest_column = None
    # mean = None  # of row and column, before the hinge
    # closest = None
    # loss = None
    ### END SOLUTION
    return loss


# %%
draw = np.random.default_rng(0)
v1, v2 = (siamese.l2_normalize(draw.normal(size=(5, 3))).astype(np.float32) for _ in range(2))
need(symmetric_loss)
print(f"rows:      {float(course.TripletLossFn(v1, v2)):.6f}")
print(f"columns:   {float(course.TripletLossFn(v2, v1)):.6f}")
print(
    f"symmetric: {float(symmetric_loss(v1, v2)):.6f}, with the sides exchanged {float(symmetric_loss(v2, v1)):.6f}"
)

# %% check="symmetric_loss" points=10
score = checks.check_symmetric_loss(symmetric_loss)
score.mark  # of 10

# %% [markdown]
# On the matrix above, pair by pair, and added up over the four pairs:

# %%
mean = (rows[0] + columns[0]) / 2
closest = (rows[1] + columns[1]) / 2
per_pair = hinge(positive, mean, 0.25) + hinge(positive, closest, 0.25)
print("rows alone:   ", hinge(positive, rows[0], 0.25) + hinge(positive, rows[1], 0.25))
print("columns alone:", hinge(positive, columns[0], 0.25) + hinge(positive, columns[1], 0.25))
print("averaged:     ", per_pair, f"sum {per_pair.sum():.6f}")
both = [hinge(positive, n, 0.25) for n in (*rows, *columns)]
print("added:        ", sum(both), f"sum {sum(both).sum():.6f}")

# %% [markdown]
# With the *masked* closest negatives the rows cost the documents' 0.516667, the columns 0.55. The mentor's sum of both is 1.066667. The
# learner's average, 0.533333, is just half of it here, because each pair's row and column lie on the same side of the hinge.

# %%
costs = {}
for direction in ("rows", "columns", "both"):
    options = {"closest": "semi_hard", "reduction": "sum", "direction": direction}
    costs[direction] = float(loss_from_scores(scores, **options))
costs["rows + columns"] = costs["rows"] + costs["columns"]
for name, cost in costs.items():
    print(f"{name:<15} {cost:.6f}")

# %% [markdown]
# ## A cheaper way: toss a coin (5 minutes)
#
# The mentor's alternative leaves the loss alone: **swap the two questions of each pair at random** when the batches are made. Over many
# batches every question then has a row about half the time. The swapped batches also mix the two sides: a negative may now be
# "first question against first question". So swapping does add new comparisons, which the columns do not.


# %%
def swapped(batches, seed):
    """The same batches, each pair turned round with probability one half."""
    draw = np.random.default_rng(seed)
    for q1, q2 in batches:
        turn = draw.random(len(q1)) < 0.5
        yield np.where(turn[:, None], q2, q1), np.where(turn[:, None], q1, q2)


# %% [markdown]
# ## Measured (20 minutes)
#
# Four ways, each from the same starts and on the same batches: rows (the course), the learner's average, the mentor's sum, and rows with
# swapping. A model of 64 numbers, batches of 64, judged by ROC AUC on the test pairs. The twelve trainings take about half a minute; a line
# is printed after each way. **Guess before you run:** which way has the highest mean?

# %% guess=true
guess("best_way", "average")  # "rows", "average", "sum" or "rows, swapped"

# %%
if QUESTIONS is None:
    corpus = siamese.embedded_corpus()
    train, test = corpus.train.duplicates(), corpus.test
else:
    train, test = siamese.read_pairs(QUESTIONS).split_by_cluster([0.9, 0.1])
    train = train.duplicates()

texts = siamese.tokenize_questions(
    [*train.question1, *train.question2, *test.question1, *test.question2]
)
n, m = len(train), len(test)
train1, train2 = texts.rows[:n], texts.rows[n : 2 * n]
test1, test2 = texts.rows[2 * n : 2 * n + m], texts.rows[2 * n + m :]
vocab = texts.vocabulary(train1, train2)
ids = texts.encode(vocab)


def at_most_16(rows1, rows2):
    return np.maximum(ids.lengths[rows1], ids.lengths[rows2]) <= 16


# Without the longest questions every batch has 16 columns, and twelve runs take half the time.
short = at_most_16(train1, train2)
train1, train2 = train1[short], train2[short]
short = at_most_16(test1, test2)
test1, test2, labels = test1[short], test2[short], test.is_duplicate[short]


def summed_loss(v1, v2):
    """The mentor's loss: the rows' and the columns', both finished, added."""
    return course.TripletLossFn(v1, v2) + course.TripletLossFn(v2, v1)


averaged_loss = functools.partial(course.TripletLossFn, margin=0.25, direction="both")
WAYS = {
    "rows": {"loss": course.TripletLoss},
    "average": {"loss": lambda: tl.Fn("AveragedTripletLoss", averaged_loss)},
    "sum": {"loss": lambda: tl.Fn("SummedTripletLoss", summed_loss)},
    "rows, swapped": {"loss": course.TripletLoss, "swap": True},
}


def trained(seed, loss, swap=False):
    """ROC AUC on the test pairs after training one model one way."""
    random.seed(seed)
    batches = siamese.data_generator(ids.take(train1), ids.take(train2), 64)
    if swap:
        batches = swapped(batches, seed)
    model = siamese.Siamese(vocab.size, 64, lstm_bias="forget_gate")
    siamese.fast_forward(model)  # the same vectors in half the time
    with contextlib.redirect_stdout(io.StringIO()):  # Trax says each time that it writes no files
        loop = course.train_model(
            lambda: model,
            loss,
            batches,
            batches,
            output_dir=None,
            lr_schedule=schedules.warmup_and_rsqrt_decay(60, 0.01),
            random_seed=seed,
            eval_at=lambda step: False,
        )
    loop.run(STEPS)
    scores = siamese.pair_scores(
        ids.take(test1), ids.take(test2), loop.eval_model, vocab, batch_size=256
    )
    return siamese.evaluate_scores(scores, labels).roc_auc


results = {}
for name, options in WAYS.items():
    results[name] = [trained(seed, **options) for seed in SEEDS]
    print(f"{name}: trained {len(SEEDS)} times")

# %%
means = {name: float(np.mean(areas)) for name, areas in results.items()}
compare(
    "best_way",
    max(means, key=means.get),
    "Whether the lead is more than luck, the seeds' spread decides: see below.",
)
gains = {
    name: np.subtract(areas, results["rows"]) for name, areas in results.items() if name != "rows"
}
errors = {name: gain.std(ddof=1) / np.sqrt(len(SEEDS)) for name, gain in gains.items()}
print("rows".ljust(14), np.array(results["rows"]), f"mean {means['rows']:.4f}")
for name, gain in gains.items():
    print(
        f"{name:<14} {np.array(results[name])} mean {means[name]:.4f}, better than rows by "
        f"{gain.mean():+.4f} ± {errors[name]:.4f}: {gain.mean() / errors[name]:+.1f} standard errors"
    )
alone, among_three = (student_t.ppf(1 - 0.025 / count, len(SEEDS) - 1) for count in (1, 3))
print(
    f"stands out at 95 %: alone above {alone:.1f} standard errors, among three above {among_three:.1f}"
)

# %% hidden=true alt="For average, sum and swapping a dot with an interval: how much more ROC AUC than the rows alone. A line marks 0. The intervals are those of one comparison among three, and all of them reach across 0."
# @title Picture: better than the rows alone?
with new_picture(5.2, 3.2) as figure:
    axes = figure.add_subplot()
    for place, (name, gain) in enumerate(gains.items()):
        axes.plot(gain, np.full(len(gain), place) + 0.15, "o", color=GREY, markersize=4)
        axes.errorbar(
            gain.mean(), place, xerr=among_three * errors[name], fmt="o", color=DARK, capsize=4
        )
    axes.axvline(0, color="black", linewidth=0.9)
    axes.set_yticks(range(len(gains)), list(gains))
    axes.set_ylim(len(gains) - 0.5, -0.5)
    axes.set(xlabel="ROC AUC minus that of the rows, same seed")
    axes.set_title("Gain, with its 95 % interval")
figure

# %% [markdown]
# A grey dot is one seed, the bar is the interval for the mean. Three seeds are few, and we made three comparisons: one of three shows
# something by luck more often than one of one. So the bars are wide (Student's t, with Bonferroni's correction). A gain stands out where
# the bar does not reach 0. If one bar nearly clears 0, the honest next step is to choose new seeds *before* looking, say `SEEDS = range(5, 15)`,
# and to test that one difference.
#
# After 100 steps the models are in the middle of their training. A loss with more terms that are not 0 may simply learn *faster*: try
# `STEPS = 600` (some minutes).
#
# Why is there so little to gain? Both questions go through the **same** tower. A row that pushes $v_{1,i}$ away from $v_{2,j}$ pushes
# $v_{2,j}$ away from $v_{1,i}$ as well: the gradient of a cosine reaches both of its sides. With two separate towers the columns would
# matter more.
#
# `siamese train --set direction=both` trains with the average, `--set batches=bucketed` with swapping.
#
# ## Three tasks (10 minutes)
#
# **Task 1: a blank.** Write the loss of the columns alone with `course.TripletLossFn`.

# %% exercise="columns_loss"
### BEGIN SOLUTION
columns_loss = course.TripletLossFn(v2, v1)
### BLANK
# columns_loss = None  # of v1 and v2 above
### END SOLUTION

# %%
need(columns_loss)
by_matrix = loss_from_scores((v1 @ v2.T).T, closest="hardest", reduction="mean")
print(f"{float(columns_loss):.6f}; of the transposed matrix: {float(by_matrix):.6f}")

# %% [markdown]
# **Task 2: no scaffold.** Make a matrix `odd`, 3 by 3, in which row 0 has no negative at or below its positive, but column 0 has one. For
# it the average of the masked negatives is not defined.

# %% exercise="odd"
### BEGIN SOLUTION
odd = np.array([[0.1, 0.5, 0.6], [0.0, 0.9, 0.2], [0.3, 0.2, 0.8]])
### BLANK
# odd = None
### END SOLUTION

# %%
need(odd)
for name, matrix in (("row", odd), ("column", odd.T)):
    below = [float(x) for j, x in enumerate(matrix[0]) if j != 0 and x <= matrix[0, 0]]
    print(f"{name} 0: positive {matrix[0, 0]}, negatives at or below it: {below or 'none'}")

# %% [markdown]
# **Task 3: explain it** (3 points, graded by your teacher). A friend builds the network with two *different* towers, one for questions of
# customers and one for the titles of help pages. Would you expect the columns to add more there than here? Why? And is swapping at random
# still allowed?

# %% [markdown] answer="two_towers" points=3
# Yes, more. With one tower, pushing a first question away from a second one moves the weights that serve both, so a row's negative also
# teaches the other side. With two towers the row's closest negative trains each tower only in its own role, and a title that is too near
# to many customers' questions shows in its *column*. Swapping is not allowed: the customers' tower would read titles, and the other way
# round.
#
# *Rubric, 1 point each: yes, with shared weights named as the reason why little is gained here; what a column sees that a row does not;
# no swapping, because each tower has its own kind of text.*

# %% [markdown]
# ## Key points
#
# * The similarity matrix is not symmetric. Exchanged sides give its transpose.
# * Columns bring no new comparisons, only another grouping of the same negatives. Swapping brings new ones.
# * Compare ways to train seed by seed, with an interval, and count your comparisons.
#
# ### Questions
#
# <details><summary>What do the columns know that the rows do not?</summary>
# No comparison; the same off-diagonal numbers are grouped in another way.
# </details>
# <details><summary>Why is the sum not twice the average?</summary>
# The hinge: where one side is below it and the other above.
# </details>
# <details><summary>Why does this notebook keep the hardest negative?</summary>
# The thread is about the loss of 2022, and a row or a column without a masked negative has nothing to average.
# </details>
# <details><summary>What would convince you that one way is better?</summary>
# A difference named beforehand, on seeds that nobody has looked at, and on other data.
# </details>
#
# Next: what goes wrong, and how you see it (notebook 7).
