# %% [markdown]
# # 1. Similarity, and the modified triplet loss
#
# A forum holds thousands of **old questions** with answers. Somebody types a **new question**. If one of the old
# ones asks the same, its answer is already there. Two questions are *duplicates* when they ask the same thing, in
# whatever words. The task of this week: find out whether two questions are duplicates.
#
# A **siamese network** turns each question into a **vector**, so that duplicates point the same way. This first
# notebook needs no network. It is about two things that can be done on paper:
#
# 1. how similar two vectors are: the **cosine**;
# 2. how wrong a batch of vectors is: the **loss** that training lowers.
#
# Nearly everything here is plain NumPy. There are three exercises. Each has a check that names the mistake. Where
# you are stuck, `checks.hint("mean_negative")` gives a hint, and a further one each time it is called, three in all.

# %% setup=true

# %%
import importlib.util
import os

import matplotlib.pyplot as plt
import numpy as np

import siamese
from siamese import checks
from siamese.teaching.lesson_plots import plot_masks, plot_similarity_matrix
from siamese.teaching.vector_plots import plot_angles, plot_loss_by_margin

siamese.enable_compile_cache()  # so that the next run need not compile again
np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## The network in one picture
#
# Two questions go in, one into each **tower**. Both towers have the same layers *and the same weights*: there is one
# set of weights, and only that one is trained. Out come two vectors. Their cosine $\hat y$ lies between −1 and 1.
# Above a threshold $\tau$ the answer is "duplicates". Notebook 2 builds the towers.

# %%
fig, ax = plt.subplots(figsize=(5.0, 4.8))


def box(x, y, text, colour="white", width=3.2):
    ax.add_patch(plt.Rectangle((x, y), width, 0.7, facecolor=colour, edgecolor="black"))
    ax.text(x + width / 2, y + 0.35, text, ha="center", va="center", fontsize=9)


def arrow(start, end, style="->"):
    ax.annotate("", end, start, arrowprops={"arrowstyle": style})


layers = ("Embedding", "LSTM", "Mean over the words", "Normalize to length 1")
for x, asked, vector in (
    (0, "How old are you?", "vector v1"),
    (5.8, "What is your age?", "vector v2"),
):
    box(x, 7, asked)
    for k, layer in enumerate(layers):
        box(x, 5.8 - 1.2 * k, layer, "#cfe3f3")
    box(x, 1, vector)
    for k in range(5):
        arrow((x + 1.6, 7 - 1.2 * k), (x + 1.6, 6.5 - 1.2 * k))
    arrow((x + 1.6, 1), (4.5, 0.2))
for k in range(2):
    y = 6.15 - 1.2 * k
    arrow((3.2, y), (5.8, y), "<->")
    ax.text(4.5, y + 0.12, "same weights", ha="center", fontsize=9)
box(2.2, -0.5, "cosine $\\hat{y}$ of v1 and v2", "#fde3c4", 4.6)
box(2.2, -1.7, "$\\hat{y} > \\tau$: duplicates; else: not", "#fde3c4", 4.6)
arrow((4.5, -0.5), (4.5, -1.0))
ax.set(xlim=(-0.2, 9.2), ylim=(-1.9, 7.9))
ax.axis("off")
fig.tight_layout()
plt.show()

# %% [markdown]
# ## The cosine of two vectors
#
# $$\cos(v_1, v_2) = \frac{v_1 \cdot v_2}{\lVert v_1\rVert \, \lVert v_2\rVert}, \qquad
# v_1 \cdot v_2 = \sum_k v_{1k} v_{2k}, \qquad \lVert v\rVert = \sqrt{v \cdot v}$$
#
# The dot product grows when the vectors agree *and* when they are long. Dividing by both lengths leaves the
# agreement alone: 1 for the same direction, 0 for a right angle, −1 for opposite directions.

# %%
plot_angles(
    [2.0, 1.0],
    {"nearly the same": [3.0, 1.9], "right angle": [-0.9, 1.8], "opposite": [-1.5, -0.75]},
)

# %% [markdown]
# ### Exercise 1: `cosine_similarity`


# %% exercise="cosine_similarity"
def cosine_similarity(v1, v2):
    """The cosine of the angle between two vectors.

    Args:
      v1: float [d].
      v2: float [d].

    Returns:
      A number from -1 to 1.
    """
    ### BEGIN SOLUTION
    numerator = np.dot(v1, v2)
    denominator = np.sqrt(np.dot(v1, v1)) * np.sqrt(np.dot(v2, v2))
    cosine = numerator / denominator
    ### BLANK
    # # Replace each None.
    # numerator = None  # v1 · v2
    # denominator = None  # the length of v1 times the length of v2
    # cosine = None
    ### END SOLUTION
    return cosine


# %%
v = np.array([1, 2, 3.0])
for other, name in (
    ([1, 2, 3.5], "nearly parallel"),
    ([1, 2, 3], "the same"),
    ([-1, -2, -3], "opposite"),
    ([0, -42, 1], "long, and quite another way"),
):
    print(f"{cosine_similarity(v, np.array(other)):8.4f}  {name}")

# %% [markdown]
# You should see 0.9974, 1, −1 and −0.5153. In the last line the second vector is eleven times as long as the first,
# and it does not matter. Change the numbers and try other vectors.

# %% check="cosine_similarity" points=10
score = checks.check_cosine_similarity(cosine_similarity)
score.mark  # of 10

# %%
v1 = np.array([1, 2, 3.3, 4])
for v2 in ([1.5, 2, 3, 4], [1.5, 2, 3, -4], [-1.5, -2, -3, -4]):
    print(f"{cosine_similarity(v1, np.array(v2)):.10f}")

# %% [markdown]
# In the second line only the sign of the last entry differs, and the cosine falls from almost 1 to almost 0. (The three
# numbers are 0.9946662396, −0.0190063613 and −0.9946662396.)
#
# ## Anchor, positive, negative
#
# To train, one compares three questions:
#
# | role | question | wanted |
# |---|---|---|
# | **anchor** $A$ | How do I learn Spanish quickly? | |
# | **positive** $P$, asks the same | What is the fastest way to learn Spanish? | $s(A, P)$ near 1 |
# | **negative** $N$, asks something else | How do I cook rice? | $s(A, N)$ low, down to −1 |
#
# Here $s$ is the cosine. The three together are a **triplet**.
#
# ### First try: the difference
#
# The negative must be less similar than the positive. So why not lower the **difference** $s(A, N) - s(A, P)$? Two
# models, two triplets each:

# %%
models = {  # rows: triplets; columns: s(A, P), s(A, N)
    "model 1": np.array([[0.6, 0.1], [0.6, 0.1]]),
    "model 2": np.array([[0.9, -0.9], [0.2, 0.5]]),
}
for name, s in models.items():
    difference = s[:, 1] - s[:, 0]
    print(f"{name}: differences {difference}, sum {difference.sum():.2f}")

# %% [markdown]
# Model 1 has both triplets in the right order. Model 2 has the second one wrong: its negative is more similar than its
# positive. Yet model 2 has the lower sum, −1.5 against −1. The difference has no lower end before −2: a triplet that
# is right already can always pay for one that is wrong. And a sum below 0 is no loss: a loss is 0 when nothing is
# wrong.
#
# ### Second try: the hinge, with a margin
#
# So what is right counts as zero: $\max(s(A, N) - s(A, P),\; 0)$. That function is called ReLU, or hinge. One weakness
# is left: it is 0 as soon as the order is right, even by a hair, and when all vectors are equal. The **margin**
# $\alpha$ moves the corner to the left. This is the original **triplet loss**:
#
# $$\mathcal L = \max(s(A, N) - s(A, P) + \alpha,\; 0)$$

# %%
difference = np.linspace(-2, 2, 401)
fig, ax = plt.subplots(figsize=(4.8, 4.2))
ax.plot(difference, difference, ":", color="#6b6b6b", label="the difference itself")
ax.plot(difference, np.maximum(difference, 0), "--", color="#D55E00", label="hinge, no margin")
ax.plot(difference, np.maximum(difference + 0.25, 0), color="#0072B2", label="hinge, margin 0.25")
ax.axhline(0, color="black", linewidth=0.6)
ax.axvline(0, color="black", linewidth=0.6)
ax.text(-1.95, 1.6, "right order", fontsize=9)
ax.text(1.95, -1.8, "wrong order", ha="right", fontsize=9)
ax.set(xlabel="difference s(A, N) − s(A, P)", ylabel="loss", xlim=(-2, 2), ylim=(-2, 2.3))
fig.legend(loc="lower center")
fig.tight_layout(rect=(0, 0.2, 1, 1))  # room for the legend
plt.show()

# %%
for name, s in models.items():
    difference = s[:, 1] - s[:, 0]
    hinged = np.maximum(difference + 0.25, 0)
    print(f"{name}: losses {hinged}, sum {hinged.sum():.2f}")

# %% [markdown]
# Now model 1 costs nothing and model 2 costs 0.55, all of it for the triplet in the wrong order. With the margin 0.25 a
# triplet costs nothing once its positive is ahead by 0.25. At a difference of 0 (all vectors equal) the loss is 0.25.
#
# ### From triplets to a batch
#
# Nobody has to collect negatives. A batch is a table of duplicates:
#
# | row | question 1 | question 2 |
# |---|---|---|
# | 0 | How do I learn Spanish quickly? | What is the fastest way to learn Spanish? |
# | 1 | Why does my dog bark at night? | What makes a dog bark after dark? |
# | 2 | How do I cook rice? | What is the best way to prepare rice? |
# | 3 | When does spring begin? | On which date does spring start? |
#
# *Along a row* the two questions ask the same. *Down a column* all questions must ask different things. Then each question 1
# is an anchor, its partner is the positive, and the question 2 of **every other row** is a negative. A batch of $b$ rows
# holds $b(b - 1)$ triplets:

# %%
for b in (2, 4, 256):
    print(f"{b:3} rows: {b * (b - 1):6,} triplets")

# %% [markdown]
# If two rows ask the same, the loss takes a duplicate for a negative. Notebook 6 is about that.
#
# ## Two batches: a loop, and one matrix product
#
# Training sees many questions at once. Put the vectors of the first questions into the rows of $V_1$ and
# those of the second questions into the rows of $V_2$; row $i$ of one is the duplicate of row $i$ of the
# other. Every first question can be compared with every second one:
#
# $$S_{ij} = \cos(V_{1,i},\; V_{2,j})$$
#
# Two loops say exactly that. The rows of `V2` are those of `V1` with random numbers added, as partners are: much the same, but
# not equal. Both batches must have the same shape. (For partners of your own: `V1 + np.random.normal(0, 2, V1.shape)`.)

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

assert V1.shape == V2.shape
by_loop = np.zeros((4, 4))
for i in range(4):  # rows: first questions
    for j in range(4):  # columns: second questions
        by_loop[i, j] = cosine_similarity(V1[i], V2[j])
print(by_loop)

# %% [markdown]
# But if all rows are brought to **length 1** first, the cosine is nothing but a dot product, and all dot
# products of rows with rows are one matrix product: $S = \hat V_1 \hat V_2^\top$. On a batch of 256 questions
# this is hundreds of times faster than the loops.


# %%
def normalized(x):
    """Each row divided by its length."""
    return x / np.sqrt(np.sum(x * x, axis=1, keepdims=True))


by_product = normalized(V1) @ normalized(V2).T  # [4, 3] times [3, 4]
print(
    "largest difference:",
    "below 1e-15" if np.abs(by_loop - by_product).max() < 1e-15 else "too large!",
)
assert np.allclose(by_product, siamese.similarity_matrix(V1, V2))

# %% [markdown]
# Which is row and which is column is a convention, and notes about this loss do not all follow the same one.
# Swap the two arguments and you get the transpose:

# %%
print(np.array_equal(siamese.similarity_matrix(V2, V1), siamese.similarity_matrix(V1, V2).T))

# %% [markdown]
# Here it is always **rows: first questions; columns: second questions**.
#
# ## Positives and negatives
#
# From here on we use a matrix made by hand, so that you can follow every number. Four pairs of duplicates:

# %%
scores = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)
questions1 = [
    "How do I learn Spanish quickly?",
    "Why does my dog bark at night?",
    "How do I cook rice?",
    "When does spring begin?",
]
questions2 = [
    "What is the fastest way to learn Spanish?",
    "What makes a dog bark after dark?",
    "What is the best way to prepare rice?",
    "On which date does spring start?",
]
plot_similarity_matrix(scores, closest=None, rows=questions1, columns=questions2)

# %% [markdown]
# Each row is one anchor.
#
# * The **diagonal** (in boxes) holds the *positives* $s(A, P)$. They should be high. The third one, −0.4, is bad: two
#   questions that mean the same have vectors more than a right angle apart.
# * Everything else holds the *negatives* $s(A, N)$. They should be low.
#
# For each row the loss looks at its positive and at two numbers made of its negatives.

# %%
positive = np.diagonal(scores)
print("positives:", positive)
print("negatives, and 0 on the diagonal:")
print(scores - np.diag(positive))  # np.diag makes a matrix of a vector

# %% [markdown]
# ### Exercise 2: `mean_negative`
#
# The **mean negative** of a row is the average of its off-diagonal entries. There are $b - 1$ of them, not
# $b$:
#
# $$\mathrm{mean\_neg}_i = \frac{1}{b - 1} \sum_{j \ne i} S_{ij}$$
#
# A mask does it without a loop: multiply by 0 where an entry must not count, by 1 where it must. (In the picture grey
# entries count, white ones do not.)

# %%
negatives = 1.0 - np.eye(4)
plot_masks({"positives": np.eye(4), "negatives": negatives})


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
    # # Replace each None.
    # b = None  # how many pairs
    # off_diagonal = None  # scores, with 0 on the diagonal
    # mean = None  # along which axis does a row run?
    ### END SOLUTION
    return mean


# %%
print(mean_negative(scores))  # -0.3333 -0.1333 -0.1333 -0.4667

# %% check="mean_negative" points=10
score = checks.check_mean_negative(mean_negative)
score.mark  # of 10

# %% [markdown]
# ### Exercise 3: `closest_negative`
#
# The mean is comfortable: one bad neighbour hardly shows in it. So the loss also looks at the **closest
# negative**, the largest off-diagonal entry of the row: the wrong question that looks most like the right
# one.
#
# $$\mathrm{closest\_neg}_i = \max_{j \ne i} S_{ij}$$
#
# A mask again, but be careful: putting **0** on the diagonal is not enough. Where all negatives are below 0,
# that 0 would be the largest. Cosines never go below −1; so *subtract* something large from the diagonal (the
# course takes 2).


# %% exercise="closest_negative"
def closest_negative(scores):
    """The largest of each row's negatives.

    Args:
      scores: float [b, b]; positives on the diagonal.

    Returns:
      float [b].
    """
    ### BEGIN SOLUTION
    b = scores.shape[0]
    without_positives = scores - 2.0 * np.eye(b)
    closest = np.max(without_positives, axis=1)
    ### BLANK
    # # Replace each None.
    # b = None
    # without_positives = None  # scores, with the diagonal below every cosine
    # closest = None
    ### END SOLUTION
    return closest


# %%
print(closest_negative(scores))  # 0.3 0.1 0.3 -0.2
# Other matrices to try it on: 2 * np.random.random((4, 4)) - 1
plot_similarity_matrix(scores)

# %% check="closest_negative" points=10
score = checks.check_closest_negative(closest_negative)
score.mark  # of 10

# %% [markdown]
# ### A tempting mistake: the largest but one
#
# "The positive is the largest of its row, so the closest negative is the second largest." Notes on this loss do contain
# code that does so:


# %%
def largest_but_one(row):
    return max(x for x in row if x != max(row))  # wrong


print("largest but one: ", np.array([largest_but_one(row) for row in scores]))
print("closest negative:", closest_negative(scores))
try:
    largest_but_one([1.0, 1.0, 1.0])
except ValueError as error:
    print("all equal:       ", error)

# %% [markdown]
# It is right in rows 0, 1 and 3, where the positive is the largest. In row 2 the positive is −0.4 and the largest is a
# negative, 0.3: just the mistake that the loss must see. "Largest but one" throws it away and says 0.1. When all cosines are
# equal it does not run at all. The positive is known by its **place**, the diagonal, never by its size.
#
# ### Two ways to say "closest"
#
# The lecture's mask is stricter than the assignment's: it also leaves out every negative that lies *above*
# the row's positive, "$S_{ij} \le S_{ii}$ and $j \ne i$". Look at row 2, where the positive is −0.4:

# %%
off_diagonal = ~np.eye(4, dtype=bool)
semi_hard = off_diagonal & (scores <= positive[:, None])
plot_masks(
    {
        "assignment": off_diagonal,
        "lecture": semi_hard,
    },
    scores,
)

# %%
lecture = np.where(semi_hard, scores, -2.0).max(axis=1)
print("assignment:", closest_negative(scores))
print("lecture:   ", lecture)

# %% [markdown]
# The assignment says 0.3, the hardest negative of all; the lecture says −0.8, the only one that is still
# below the positive. The hardest one learns from the worst mistakes; the lecture's choice ("semi-hard")
# leaves out those that may be label errors. `siamese` has both, `closest='hardest'` and
# `closest='semi_hard'`; the second is the default, as in the course's edition of 2023.
#
# ### What to put where an entry must not count
#
# Three ways are in use: *write* −2 there, *subtract* 2, or write minus infinity. Most of the time they agree. Take
# a row whose positive is −0.9 and whose negatives, 0.9 and 0.8, both lie above it. The lecture's mask leaves out all
# three. No negative is left, so the closest negative should cost nothing:

# %%
row, out = np.array([-0.9, 0.9, 0.8]), np.array([True, True, True])  # the positive comes first
for name, masked in (
    ("write -2", np.where(out, -2.0, row)),
    ("subtract 2", row - 2.0 * out),
    ("write -inf", np.where(out, -np.inf, row)),
):
    cost = max(masked.max() - row[0] + 0.25, 0)
    print(f"{name:<11} {masked}  closest {masked.max():5.2f}  cost {cost:.2f}")

long_rows = np.array([[10.0, -3.0], [-5.0, 8.0]])  # dot products of vectors longer than 1
print("\nlong vectors, subtract 2: ", (long_rows - 2 * np.eye(2)).max(axis=1))
print("long vectors, write -inf: ", np.where(np.eye(2) == 1, -np.inf, long_rows).max(axis=1))
with np.errstate(all="ignore"):
    print("float16, subtract 1e9:    ", (scores[0] - np.float16(1e9) * np.eye(4)[0]))

# %% [markdown]
# * *Subtract 2* leaves −1.1 in place of nothing, and the row costs 0.05 for negatives that were left out.
# * 2 is enough for **cosines** only. Dot products of longer vectors can be larger: there the "closest negative" becomes the
#   positive itself, less 2.
# * *A large number* has its own trap. In `float16` 1e9 is infinity, and infinity times 0 is not a number (`nan`).
#
# So *write*, do not subtract: `np.where(mask, -np.inf, scores)`. The exercise subtracts 2 because the assignment does, and with the
# assignment's mask (the diagonal only) it is right for cosines.
#
# ## The loss
#
# The original triplet loss has one negative. The **modified triplet loss** uses the hinge twice, with the mean negative and
# with the closest one in the place of $s(A, N)$; $s(A, P)$ is $S_{ii}$:
#
# $$\mathcal L^{(i)}_1 = \max(\mathrm{mean\_neg}_i - S_{ii} + \alpha,\; 0), \qquad
# \mathcal L^{(i)}_2 = \max(\mathrm{closest\_neg}_i - S_{ii} + \alpha,\; 0)$$
#
# $$\mathcal L^{(i)} = \mathcal L^{(i)}_1 + \mathcal L^{(i)}_2$$
#
# What is each of them good for? We draw the 31 negatives of one row a thousand times, at random around 0:

# %%
drawn = np.random.default_rng(34).normal(0.0, 0.2, size=(1000, 31))
for name, values in (
    ("one negative", drawn[:, 0]),
    ("mean negative", drawn.mean(axis=1)),
    ("closest negative", drawn.max(axis=1)),
):
    print(f"{name:<17} {values.mean():5.2f} on average, standard deviation {values.std():.2f}")

# %% [markdown]
# * One negative, as in the original loss, is noisy: it depends on which question happens to be drawn. The **mean negative**
#   averages 31 of them. There is far less noise, and training is steadier.
# * The **closest negative** is the hard one. It is never below the mean, so its term is never the smaller one: most of
#   the penalty comes from it, and it still teaches when the mean has long been low enough.

# %%
alpha = 0.25
for name, closest in (("lecture", lecture), ("assignment", closest_negative(scores))):
    first = np.maximum(mean_negative(scores) - positive + alpha, 0)
    second = np.maximum(closest - positive + alpha, 0)
    print(f"{name}:  l1 {first}  l2 {second}")
    print(
        f"{'':{len(name)}}   loss of each row {first + second}, cost {np.sum(first + second):.6f}"
    )

# %% [markdown]
# With the lecture's choice only row 2 has a loss, and the cost is 0.516667. With the assignment's, row 2
# costs 1.466667: 0.516667 for its mean negative and 0.95 for the closest.
#
# The lecture *adds* the rows up; the assignment takes their *mean*, so that the number does not grow with the
# batch. All the combinations, by the library (which must agree with us):

# %%
from siamese.course.loss import loss_from_scores

for closest in ("semi_hard", "hardest"):
    for reduction in ("sum", "mean"):
        cost = loss_from_scores(scores, 0.25, closest=closest, reduction=reduction)
        print(f"closest={closest:<15} reduction={reduction:<5} {cost:.6f}")

# %% [markdown]
# ### How large a margin?
#
# The same matrix under different margins. With $\alpha = 0$ the order alone matters; every bit more asks for
# a clearer lead, and sooner or later every row pays.

# %%
plot_loss_by_margin(scores)

# %% [markdown]
# Remember the dotted black line, 2 × margin. If the network gives *every* question the same vector, all cosines are 1 and both
# terms are exactly the margin: the loss is $2\alpha = 0.5$. A training run that stands at 0.5 has learned
# that and nothing else. Notebook 6 looks at it closely.
#
# ### Must all negatives reach −1?
#
# No, and they could not. Two vectors can point opposite ways; a third cannot be opposite to both. What $n$
# vectors can do at best is to form a *regular simplex* (three: a triangle, four: a tetrahedron), in which
# every two have the cosine $-1/(n-1)$. It needs $n - 1$ dimensions, so in $d$ dimensions at most $d + 1$
# vectors are mutually at $-1/d$. The more questions in a batch, the nearer that is to 0: not one axis, but
# right angles. The margin asks for much less: where a positive is at 1, a negative at 0.75 costs nothing.


# %%
def simplex(n):
    """n vectors of length 1, as far apart as n vectors can be; n numbers each."""
    return normalized(np.eye(n) - 1 / n)


counts = np.array([2, 3, 4, 5, 8, 16, 32, 64, 128, 256])
largest = []
for n in counts:
    cosines = simplex(n) @ simplex(n).T
    largest.append(np.max(cosines - 2.0 * np.eye(n)))  # the diagonal left out, as in exercise 3
assert np.allclose(largest, -1 / (counts - 1))

fig, ax = plt.subplots(figsize=(4.8, 3.6))
ax.axhspan(-1.05, 1 - alpha, color="#56B4E9", alpha=0.15)
ax.axhline(1 - alpha, color="#0072B2", linestyle="--")
ax.text(2, 1 - alpha + 0.04, "below it a negative costs nothing: 1 − margin", color="#005a8c")
ax.plot(counts, largest, "o-", color="#D55E00")
ax.text(3.3, -0.6, "the best that n vectors can do: −1/(n − 1)", color="#a84300")
ax.set(xscale="log", ylim=(-1.05, 1.05))
ax.set_xticks(counts, [str(n) for n in counts])
ax.minorticks_off()
ax.set_xlabel("number of vectors n (log scale)")
ax.set_ylabel("largest cosine between two of them")
fig.tight_layout()
plt.show()

# %% [markdown]
# ## 3.783: a stale kernel
#
# A TensorFlow notebook about this very matrix prints a cost of **3.783**. You have just seen that 0.517 is right. The code
# in it is right too. What went wrong is the **order in which its cells ran**. First a NumPy cell made the negatives with
# `keepdims=True`. Below it a TensorFlow cell makes them again, without. Below that the loss is computed. But the numbers
# beside the cells say `In [17]`, `In [33]`, `In [32]`: the loss ran *before* the TensorFlow cell, with what the NumPy
# cell had left behind. Look at the shapes:

# %%
mean_column = np.sum(scores * negatives, axis=1, keepdims=True) / 3
closest_column = np.where(semi_hard, scores, -2.0).max(axis=1, keepdims=True)
print("negatives:", mean_column.shape, closest_column.shape, " positives:", positive.shape)
print(mean_column)

# %% [markdown]
# `keepdims=True` keeps the axis that was summed over: a column, (4, 1). The positives are (4,). NumPy and TensorFlow both
# subtract one from the other without complaint, by *broadcasting*: every negative minus every positive.

# %%
wrong = np.maximum(mean_column - positive + alpha, 0)
wrong = wrong + np.maximum(closest_column - positive + alpha, 0)
print(wrong)
print(f"sum of {wrong.shape}: {wrong.sum():.6f}; of the diagonal alone: {np.trace(wrong):.6f}")

# %% [markdown]
# Four pairs have four losses, and here are sixteen. Entry $(i, j)$ sets the negatives of row $i$ against the positive of
# row $j$. Only the diagonal makes sense, and its sum is the right cost, 0.516667. With the positives as a column too,
# (4, 1) against (4, 1), the result is right again:

# %%
column = positive.reshape(4, 1)
right = np.maximum(mean_column - column + alpha, 0)
right = right + np.maximum(closest_column - column + alpha, 0)
print(right.shape, f"{right.sum():.6f}")

# %% [markdown]
# Three habits against it:
#
# * **Restart the kernel and run all cells**, before you believe a number and before you hand in.
# * Write the shape beside each line: `# [b]`.
# * Let functions check what they are given. Those of `siamese` do:

# %%
from siamese.course.loss import hinge

try:
    hinge(positive, mean_column, margin=alpha)
except siamese.ShapeError as error:
    print(error)

# %% [markdown]
# ## From vectors to the loss, in one go
#
# The same steps on real vectors, those of a batch of four with small disturbances:

# %%
V2 = np.array(
    [
        [1.27551159, 2.11854853, 3.01429143],
        [8.83539979, 8.44302619, 8.21303737],
        [-1.95506567, -2.96172592, -1.76136987],
        [1.45513761, -8.12660221, 2.14513688],
    ]
)
S = siamese.similarity_matrix(V1, V2)
print(S, "\n")
print("mean negative:   ", mean_negative(S))
print("closest negative:", closest_negative(S))
terms = [np.maximum(n - np.diagonal(S) + alpha, 0) for n in (mean_negative(S), closest_negative(S))]
print(f"cost: {np.sum(terms):.10f}")

# %%
assert np.isclose(np.sum(terms), 0.33096828036929316, rtol=0, atol=1e-8)
plot_similarity_matrix(S)

# %% [markdown]
# Rows 0 and 1 are each other's closest negatives: $(1, 2, 3)$ and $(9, 8, 7)$ point much the same way. The
# positives are nearly 1, and still these two rows pay, because 0.91 is closer to 0.998 than the margin
# allows.
#
# ## The same in JAX and in TensorFlow
#
# The names differ, the steps do not. JAX is what Trax computes with. The TensorFlow half runs where TensorFlow is
# installed; nothing else here needs it.

# %%
import jax.numpy as jnp

a, b = (x / jnp.linalg.norm(x, axis=1, keepdims=True) for x in (jnp.array(V1), jnp.array(V2)))
S_jax = a @ b.T  # [4, 4]
pos = jnp.diagonal(S_jax)  # [4]
mean = (S_jax.sum(axis=1) - pos) / 3  # [4]
closest = jnp.where(jnp.eye(4, dtype=bool), -jnp.inf, S_jax).max(axis=1)  # [4]
cost = jnp.sum(jnp.maximum(mean - pos + alpha, 0) + jnp.maximum(closest - pos + alpha, 0))
print(f"JAX:        {float(cost):.5f}")

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
    low = tf.fill([4], tf.constant(-2.0, S_tf.dtype))
    closest = tf.reduce_max(tf.linalg.set_diag(S_tf, low), axis=1)  # [4]
    terms = tf.maximum(mean - pos + alpha, 0) + tf.maximum(closest - pos + alpha, 0)
    print(f"TensorFlow: {float(tf.reduce_sum(terms)):.5f}")

# %% [markdown]
# The cost is 0.33097 with each of them, and the cosine 0.9974 as in exercise 1. (JAX computes with 32 bits unless told otherwise, so further digits may differ.)
#
# ## What you take along
#
# * Anchor, positive, negative: the positive must be ahead of the negative by a margin. What is right costs 0.
# * Cosine: the dot product of vectors of length 1. A batch: one matrix product.
# * Duplicates on the diagonal; the rest of the batch are negatives, for free.
# * Mean negative: divide by $b - 1$. Closest negative: mask with something *below* every cosine.
# * Loss: the hinge with the mean negative (less noise) plus the hinge with the closest (the hard one).
# * Shapes are part of the formula. Restart and run all.
#
# Next: the network that makes the vectors (notebook 2).
