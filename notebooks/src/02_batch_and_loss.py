# %% [markdown]
# # 2. The batch and its loss
#
# Four pairs of questions. Each pair asks one thing in two ways:
#
# | row | question 1 | question 2 |
# |---|---|---|
# | 0 | I forgot my password, how do I get back in? | pasword reset, where do i do that? |
# | 1 | Why does my bike chain squeak? | bike chain squeeks, what should I put on it? |
# | 2 | When will my refund show up on my card? | How long does it take to get my money back after a return? |
# | 3 | Will the lectures be recorded? | are there videos of the lectures |
#
# **All four pairs are duplicates. Where do the negatives come from, and what does a batch cost?** In notebook 1 you compared one anchor with one
# positive and one negative. Here you write the loss of a whole batch, the one that trains the network of notebook 5.
# This takes 45 minutes. If you get stuck, call `checks.hint("mean_negative")` up to three times.
#
# **Before it:** notebook 1; axes of NumPy arrays. **After it** you can read a similarity matrix, compute and write the modified loss of a
# batch, say what the mask of the closest negative leaves out and what that costs, and find a broadcasting mistake by its shapes.

# %% setup=true

# %% hidden=true
# @title Imports
import importlib.util
import os

import matplotlib.pyplot as plt
import numpy as np

import siamese
from siamese import checks
from siamese.teaching.lesson import compare, guess, need
from siamese.teaching.plots import new_picture, plot_similarity_matrix

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## From triplets to a batch (3 minutes)
#
# You do not have to collect negatives: the batch supplies them. *Along a row* of the table above the two questions ask the same. *Down a
# column* all questions ask different things. So each question 1 is an anchor, its partner is the positive, and the question 2
# of every **other** row is a negative (Henderson et al., 2017). A batch of $b$ rows holds $b(b - 1)$ triplets:

# %%
for b in (2, 4, 256):
    print(f"{b:3} rows: {b * (b - 1):6,} triplets")

# %% [markdown]
# If two rows of a batch ask the same, the loss takes a duplicate for a negative. Notebook 7 is about that.
#
# ## The similarity matrix (5 minutes)
#
# Put the vectors of the first questions into the rows of $V_1$, and those of the second questions into the rows of $V_2$. Compare
# every first question with every second one: $S_{ij} = \cos(V_{1,i},\; V_{2,j})$. Two loops do exactly that. Here the rows
# of `V2` are those of `V1` with random numbers added, as the vectors of duplicates are: close, but not equal.

# %%
V1 = np.array([[1, 2, 3], [9, 8, 7], [-1, -4, -2], [1, -7, 2.0]])
V2 = np.array(
    [
        [1.34263076, 1.18510671, 1.04373534],
        [8.96692933, 6.50763316, 7.03243982],
        [-3.4497247, -6.08808183, -4.54327564],
        [-0.77144774, -9.08449817, 4.4633513],
    ]
)
# A batch of your own: V2 = V1 + np.random.normal(0, 2, V1.shape)
assert V1.shape == V2.shape  # partners stand in the same row

by_loop = np.zeros((4, 4))
for i in range(4):  # rows: first questions
    for j in range(4):  # columns: second questions
        by_loop[i, j] = siamese.cosine_similarity(V1[i], V2[j])
print(by_loop)

# %% [markdown]
# Once all rows have **length 1**, the cosine is just the dot product, and all dot products of rows with rows are one
# matrix product, $S = \hat V_1 \hat V_2^\top$. With 256 questions this is hundreds of times faster than the loops.


# %%
def normalized(x):
    """Each row divided by its length."""
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


by_product = normalized(V1) @ normalized(V2).T  # [4, 3] times [3, 4]
print("the same:", np.allclose(by_loop, by_product))
print(
    "arguments swapped, the transpose:",
    np.allclose(normalized(V2) @ normalized(V1).T, by_product.T),
)

# %% [markdown]
# Here **rows are first questions and columns are second questions**. You will meet notes that have it the other way round.
#
# ## Positives and negatives (3 minutes)
#
# From here on we use a matrix made by hand, so that you can follow every number.

# %% alt="A four by four matrix of cosines with the questions beside it. The diagonal, 0.9, 0.5, -0.4 and 0.5, is boxed: these are the positives."
scores = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)
questions1 = [
    "I forgot my password, how do I get back in?",
    "Why does my bike chain squeak?",
    "When will my refund show up on my card?",
    "Will the lectures be recorded?",
]
questions2 = [
    "pasword reset, where do i do that?",
    "bike chain squeeks, what should I put on it?",
    "How long does it take to get my money back after a return?",
    "are there videos of the lectures",
]
plot_similarity_matrix(scores, closest=None, rows=questions1, columns=questions2)

# %% [markdown]
# Each row is one anchor.
#
# * The **diagonal** (boxed) holds the *positives* $s(A, P)$. They should be high. Row 2 is bad: two questions that ask the same
#   have the cosine −0.4.
# * Everything else holds the *negatives* $s(A, N)$. They should be low.

# %%
positive = np.diagonal(scores)
print("positives:", positive)
print("negatives, and 0 on the diagonal:")
print(scores - np.diag(positive))  # np.diag makes a matrix of a vector

# %% [markdown]
# ## The mean negative (5 minutes)
#
# The loss describes the negatives of each row by two numbers. The first is their **mean**. A row has $b - 1$ negatives, not $b$:
#
# $$\mathrm{mean\_neg}_i = \frac{1}{b - 1} \sum_{j \ne i} S_{ij}$$
#
# **Exercise 1: `mean_negative`.** Set the diagonal to 0 with a mask, sum each row, and divide. `np.eye(b)` is 1 on the diagonal and 0 elsewhere.


# %% exercise="mean_negative"
def mean_negative(scores):
    """The mean of each row's negatives.

    Args:
      scores: float [b, b]; positives on the diagonal.

    Returns:
      float [b].
    """
    ### BEGIN SOLUTION
    b = scores.shape[0]
    off_diagonal = scores * (1.0 - np.eye(b))
    mean = np.sum(off_diagonal, axis=1) / (b - 1)
    ### BLANK
    # b = None  # how many pairs
    # off_diagonal = None  # scores, with 0 on the diagonal
    # mean = None  # along which axis does a row run?
    ### END SOLUTION
    return mean


# %%
need(mean_negative)
print(mean_negative(scores))

# %% [markdown]
# You should see −0.3333, −0.1333, −0.1333 and −0.4667.

# %% check="mean_negative" points=10
score = checks.check_mean_negative(mean_negative)
score.mark  # of 10

# %% [markdown]
# ## The closest negative (7 minutes)
#
# The mean is forgiving: one bad neighbour hardly shows in it. So the loss also looks at the **closest negative**, the wrong question that
# looks most like the right one. Two kinds of entries are masked: the diagonal, and every negative that lies *above* the row's positive.
#
# $$\mathrm{closest\_neg}_i = \max_{j \ne i,\; S_{ij} \le S_{ii}} S_{ij}$$
#
# Why leave out the negatives above the positive? They may be no negatives at all: two rows of a batch can ask the same without
# anybody knowing it. In row 2 the mask leaves a single negative:

# %% hidden=true alt="Two masks of the matrix. The first leaves out the diagonal. The second also leaves out 0.3 and 0.1 in row 2, which lie above the positive -0.4, so that only -0.8 is left there."
# @title Picture: which negatives count
off_diagonal = ~np.eye(4, dtype=bool)
masks = {
    "all negatives": off_diagonal,
    "at most the positive": off_diagonal & (scores <= positive[:, None]),
}
with new_picture(4.8, 3.0) as figure:
    for axes, (name, mask) in zip(figure.subplots(1, 2), masks.items()):
        axes.imshow(mask, cmap="Greys", vmin=0, vmax=2.2)
        axes.set_title(name, fontsize=10)
        axes.set(xlabel="question 2 (column)", ylabel="question 1 (row)")
        axes.set(xticks=range(4), yticks=range(4))
        axes.grid(False)
        for i, j in np.argwhere(mask):
            axes.text(j, i, f"{scores[i, j]:.2g}", ha="center", va="center", fontsize=9)
    figure.supxlabel("grey: counts, white: left out", fontsize=9)
figure

# %% [markdown]
# **Exercise 2: `closest_negative`.** Mask with a number *below every cosine*: write −2 where an entry must not count, then take each
# row's maximum. (A 0 is not enough: where all negatives are below 0, it would be the largest.)


# %% exercise="closest_negative"
def closest_negative(scores):
    """The largest of each row's negatives that does not exceed the row's positive.

    Args:
      scores: float [b, b]; positives on the diagonal.

    Returns:
      float [b]; -2 for a row without such a negative.
    """
    ### BEGIN SOLUTION
    positive = np.diagonal(scores)[:, None]  # [b, 1]: a column, to compare each row with its own
    left_out = (np.eye(len(scores)) == 1) | (scores > positive)
    closest = np.max(np.where(left_out, -2.0, scores), axis=1)
    ### BLANK
    # positive = None  # [b, 1]: a column, to compare each row with its own
    # left_out = None  # bool [b, b]: the diagonal, or above the positive
    # closest = None  # np.where writes the -2
    ### END SOLUTION
    return closest


# %%
need(closest_negative)
print(closest_negative(scores))
# Other matrices to try it on: 2 * np.random.random((4, 4)) - 1

# %% [markdown]
# You should see 0.3, 0.1, −0.8 and −0.2.

# %% check="closest_negative" points=10
score = checks.check_closest_negative(closest_negative)
score.mark  # of 10

# %% [markdown]
# ### A tempting mistake: the largest but one
#
# You may read two things about the closest negative: "it is the largest but one of the row", and "it is never below the
# mean negative". Look at row 2:


# %%
need(mean_negative, closest_negative)
print("largest but one: ", np.sort(scores, axis=1)[:, -2])
print("closest negative:", closest_negative(scores))
print("mean negative:   ", mean_negative(scores))

# %% [markdown]
# Both are false there. The positive −0.4 is not the largest of its row, so the largest but one, 0.1, is a masked negative. And the
# closest negative that is left, −0.8, lies below the mean, −0.1333, which still counts all three. You know the positive by its **place**,
# the diagonal, never by its size.
#
# > **Two editions.** The course's editions of 2020 to 2022 mask the diagonal alone and take the *hardest* negative, 0.3 in row 2. The
# > edition of 2023 masks as you did. The check accepts both and says which one yours is.
#
# ## The loss (8 minutes)
#
# The **modified triplet loss** is the triplet loss twice, once with the mean negative and once with the closest. $s(A, P)$ is $S_{ii}$:
#
# $$\mathcal L^{(i)} = \max(\mathrm{mean\_neg}_i - S_{ii} + \alpha,\; 0) + \max(\mathrm{closest\_neg}_i - S_{ii} + \alpha,\; 0),
# \qquad \mathcal L = \sum_i \mathcal L^{(i)}$$
#
# Why use both? The mean of many negatives changes little from batch to batch, so training is steady. The closest negative goes on teaching when
# the mean has long been low enough.
#
# **Exercise 3: `modified_loss`.** Write it from the formula, with your two functions. The margin is 0.25.


# %% exercise="modified_loss"
def modified_loss(scores):
    """The sum of the modified triplet loss over the rows, with the margin 0.25.

    Args:
      scores: float [b, b]; positives on the diagonal.

    Returns:
      A number.
    """
    ### BEGIN SOLUTION
    positive = np.diagonal(scores)
    first = np.maximum(mean_negative(scores) - positive + 0.25, 0)
    second = np.maximum(closest_negative(scores) - positive + 0.25, 0)
    loss = np.sum(first + second)
    ### BLANK
    # loss = None
    ### END SOLUTION
    return loss


# %%
need(mean_negative, closest_negative, modified_loss)
cost = modified_loss(scores)
print(f"cost of the batch: {cost:.3f}; for each pair: {cost / 4:.3f}")

# %% [markdown]
# The batch costs 0.517, all of it for row 2. A sum grows with the batch. So the curves of later notebooks show the loss **per pair**, here
# 0.129.

# %% check="modified_loss" points=10
score = checks.check_modified_loss(modified_loss)
score.mark  # of 10

# %% [markdown]
# ### Row 2 gets worse
#
# Suppose training has lifted row 2's positive from −0.4 to 0.31. Its most similar negative is 0.3. Now a bad step takes the positive from 0.31 down to
# 0.29. **Guess before you run:** does the cost rise, fall, or stay as it is?

# %% guess=true
guess("row_2", "it rises")  # "it rises", "it falls" or "it stays"

# %%
need(mean_negative, closest_negative, modified_loss)
moved = {}
for value in (0.31, 0.29):
    changed = scores.copy()
    changed[2, 2] = value
    moved[value] = modified_loss(changed)
    print(f"positive {value}: cost {moved[value]:.2f}")
compare(
    "row_2",
    "it falls" if moved[0.29] < moved[0.31] else "it rises",
    "At 0.29 the negative 0.3 lies above the positive, so the mask leaves it out: the next one, 0.1, is far below.",
)

# %% hidden=true alt="The cost of the batch against the positive of row 2, from -0.5 to 0.7. With all negatives it falls steadily. With the mask it has two jumps upwards, at 0.1 and at 0.3, where the positive passes a negative."
# @title Picture: the cost of row 2, wherever its positive stands
need(mean_negative, closest_negative, modified_loss)
values = np.linspace(-0.5, 0.7, 1201)
costs = []
for value in values:
    changed = scores.copy()
    changed[2, 2] = value
    costs.append(modified_loss(changed))
hardest_cost = np.maximum(-0.4 / 3 - values + 0.25, 0) + np.maximum(0.3 - values + 0.25, 0)
fig, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
for negative in (0.1, 0.3):
    ax.axvline(negative, color="#6b6b6b", linewidth=0.8, linestyle=":")
    ax.text(negative - 0.03, 0.75, f"a negative: {negative}", rotation=90, fontsize=9)
ax.plot(values, hardest_cost, "--", color="#e8871e", label="hardest negative (2022)")
ax.plot(values, costs, color="#12436d", label="masked negative (2023)")
ax.plot([0.31, 0.29], [moved[0.31], moved[0.29]], "o", color="#a31515", label="your two positives")
ax.set(xlabel="positive of row 2", ylabel="cost of the batch", xlim=(-0.5, 0.7), ylim=(0, 1.6))
ax.legend(loc="upper right", frameon=False)
plt.show()

# %% [markdown]
# You should see 0.24 and 0.06. The closest negative never exceeds the positive, so its term never exceeds the margin.
#
# ## 3.783: a stale kernel (4 minutes)
#
# A TensorFlow notebook about this very matrix prints a cost of **3.783**. You found 0.517, and every line of that notebook is
# correct. So what happened? A NumPy cell made the negatives with `keepdims=True`, which keeps the summed axis: a column, (4, 1). A TensorFlow cell below makes them again
# as (4,). But the numbers beside the cells say `In [17]`, `In [33]`, `In [32]`: the loss ran *before* the TensorFlow
# cell, on the column that the NumPy cell had left behind.
#
# **Guess before you run.** You subtract the positives, of shape (4,), from a column of shape (4, 1). How many numbers come out?

# %% guess=true
guess("how_many", 4)  # a whole number

# %%
need(mean_negative, closest_negative)
mean_column = mean_negative(scores).reshape(4, 1)
closest_column = closest_negative(scores).reshape(4, 1)
wrong = np.maximum(mean_column - positive + 0.25, 0)
wrong = wrong + np.maximum(closest_column - positive + 0.25, 0)
print(wrong)
print(f"sum of all: {wrong.sum():.3f}; of the diagonal: {np.trace(wrong):.3f}")
compare(
    "how_many",
    wrong.size,
    "NumPy and TensorFlow repeat the column and the row until both are 4 by 4: broadcasting.",
)

# %% [markdown]
# Four pairs have four losses, and here are sixteen. Entry $(i, j)$ compares the negatives of row $i$ with the positive of row
# $j$. Only the diagonal makes sense, and its sum is right. Two habits protect you: **restart the kernel and run all cells** before you believe
# a number, and write the shape beside each line, `# [b]`.
#
# ## From vectors to the loss, in one go (2 minutes)
#
# The same steps on a batch of real vectors, `V1` with smaller random numbers added:

# %% alt="The similarity matrix of four pairs of vectors. The positives on the diagonal lie between 0.95 and 1. In rows 0 and 1 the closest negatives, 0.91, are nearly as high."
V2 = np.array(
    [
        [1.27551159, 2.11854853, 3.01429143],
        [8.83539979, 8.44302619, 8.21303737],
        [-1.95506567, -2.96172592, -1.76136987],
        [1.45513761, -8.12660221, 2.14513688],
    ]
)
S = siamese.similarity_matrix(V1, V2)
need(mean_negative, closest_negative, modified_loss)
print(f"cost: {modified_loss(S):.5f}")
print("closest negatives:", np.round(closest_negative(S), 2))
plot_similarity_matrix(S, closest="semi_hard")

# %% [markdown]
# You should see 0.33097. Rows 0 and 1 are each other's closest negatives: (1, 2, 3) and (9, 8, 7) point in similar directions. Their positives are
# nearly 1, and still these two rows pay, because 0.91 is closer than the margin allows.
#
# ## Three tasks (8 minutes)
#
# **Task 1: a blank.** The edition of 2022 takes the hardest negative of each row, whatever the positive, and the *mean* over the
# rows. Write its negatives in one line.

# %% exercise="hardest"
### BEGIN SOLUTION
hardest = np.max(scores - 2.0 * np.eye(4), axis=1)
### BLANK
# hardest = None  # float [4]
### END SOLUTION

# %%
need(mean_negative, hardest)
rows = np.maximum(mean_negative(scores) - positive + 0.25, 0)
rows = rows + np.maximum(hardest - positive + 0.25, 0)
print(f"hardest negatives {hardest}, loss of 2022: {rows.mean():.4f}")

# %% [markdown]
# You should see 0.3, 0.1, 0.3 and −0.2, and the loss 0.3667.
#
# **Task 2: no scaffold.** Must training push all negatives down to −1? Make a matrix of three pairs in which no entry is below
# 0.5, and which costs nothing.

# %% exercise="my_scores"
### BEGIN SOLUTION
my_scores = np.full((3, 3), 0.5) + 0.4 * np.eye(3)
### BLANK
# my_scores = None
### END SOLUTION

# %%
need(mean_negative, closest_negative, modified_loss, my_scores)
print(f"smallest entry {np.min(my_scores):.2f}, cost {modified_loss(np.asarray(my_scores)):.2f}")

# %% [markdown]
# **Task 3: explain the picture** (3 points, graded by your teacher). The solid line of the picture in "Row 2 gets worse" jumps twice. Where, and
# what does the mask leave out to the left of each jump? When is that a good thing, and when a bad one? Four or
# five sentences.

# %% [markdown] answer="jumps" points=3
# It jumps at 0.1 and at 0.3, where the positive passes a negative. To the left of a jump that negative lies above the positive, and the mask
# leaves it out, so the cost is lower although the row is worse. That is good if the "negative" is really a duplicate that nobody
# labelled: pushing it away would be wrong. It is bad if the negative really asks something else: it is the row's worst mistake, and only the mean
# negative still sees it.
#
# *Rubric, 1 point each: the two places, and that the positive passes a negative there; that the mask leaves that negative out to the left; a good
# and a bad case.*

# %% [markdown]
# ## Key points
#
# * Duplicates are on the diagonal; the rest of the batch are negatives, for free.
# * Mean negative: divide by $b - 1$. Closest negative: mask the diagonal and what lies above the positive, with something
#   *below* every cosine.
# * The loss: the hinge with the mean negative (steady) plus the hinge with the closest (the hard one).
# * Shapes are part of the formula. Restart and run all.
#
# ### Questions
#
# <details><summary>Why the closest negative and the mean?</summary>
# The mean is steady and soon low enough; the closest still teaches then, and is noisy.
# </details>
# <details><summary>The positive gets worse and the loss falls. Is the loss wrong?</summary>
# It trusts the label less than the similarity: a negative above the positive may be a duplicate. The hardest negative does not have this
# jump, and pushes such duplicates apart.
# </details>
# <details><summary>Can the closest negative lie below the mean negative?</summary>
# Yes: the mean counts the masked ones.
# </details>
# <details><summary>Two rows of a batch ask the same. What does the loss do?</summary>
# The mean negative pushes duplicates apart (notebook 7).
# </details>
#
# Next: the network that makes the vectors (notebook 3).
#
# ## Appendix: what to write where an entry must not count
#
# You wrote −2. The TensorFlow notebook *subtracts* 2 instead. For most rows that is the same. Take a row whose positive is
# −0.9 and whose negatives, 0.9 and 0.8, both lie above it. All three are masked, so the closest negative should cost nothing:

# %%
row, left_out = np.array([-0.9, 0.9, 0.8]), np.array([True, True, True])  # the positive is first
for name, masked in (
    ("write -2", np.where(left_out, -2.0, row)),
    ("subtract 2", row - 2.0 * left_out),
):
    cost = max(masked.max() - row[0] + 0.25, 0)
    print(f"{name:<11} {masked}  closest {masked.max():5.2f}  cost {cost:.2f}")

# %% [markdown]
# Subtracting leaves −1.1, and the row costs 0.05 for negatives that were left out. So *write*, do not subtract.
#
# ## Appendix: the same in JAX and in TensorFlow
#
# The names differ, the steps do not. JAX is what Trax computes with. The TensorFlow cell runs where TensorFlow is
# installed; nothing else here needs it.

# %%
import jax.numpy as jnp

a, b = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (jnp.array(V1), jnp.array(V2)))
S_jax = a @ b.T  # [4, 4]
pos = jnp.diagonal(S_jax)  # [4]
mean = (S_jax.sum(axis=1) - pos) / 3  # [4]
left_out = jnp.eye(4, dtype=bool) | (S_jax > pos[:, None])
closest = jnp.where(left_out, -2.0, S_jax).max(axis=1)  # [4]
cost = jnp.sum(jnp.maximum(mean - pos + 0.25, 0) + jnp.maximum(closest - pos + 0.25, 0))
print(f"JAX: {float(cost):.5f}")

# %%
if importlib.util.find_spec("tensorflow") is None:
    print("TensorFlow is not installed: this cell does nothing.")
else:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf

    x, y = tf.constant([1.0, 2.0, 3.0]), tf.constant([1.0, 2.0, 3.5])
    lengths = tf.sqrt(tf.reduce_sum(x * x) * tf.reduce_sum(y * y))
    print(f"TensorFlow: cosine of two vectors {float(tf.reduce_sum(x * y) / lengths):.4f}")
    a, b = tf.math.l2_normalize(V1, axis=1), tf.math.l2_normalize(V2, axis=1)
    S_tf = tf.linalg.matmul(a, b, transpose_b=True)  # [4, 4]
    pos = tf.linalg.diag_part(S_tf)  # [4]
    mean = (tf.reduce_sum(S_tf, axis=1) - pos) / 3  # [4]
    left_out = (tf.eye(4) == 1) | (S_tf > tf.expand_dims(pos, 1))
    closest = tf.reduce_max(tf.where(left_out, tf.cast(-2.0, S_tf.dtype), S_tf), axis=1)  # [4]
    terms = tf.maximum(mean - pos + 0.25, 0) + tf.maximum(closest - pos + 0.25, 0)
    print(f"TensorFlow: {float(tf.reduce_sum(terms)):.5f}")

# %% [markdown]
# Both costs are 0.33097, and the cosine is 0.9974, as in notebook 1.
