# %% [markdown]
# # 1. Similarity, and the modified triplet loss
#
# Two questions are duplicates when they ask the same thing, in whatever words. In this course a network
# turns every question into a **vector**, so that duplicates point the same way. This first notebook leaves
# the network aside. It is about two things that can be done on paper:
#
# 1. how alike two vectors are: the **cosine**;
# 2. how wrong a batch of vectors is: the **loss** that training will push down.
#
# Everything here is plain NumPy. There are three exercises, each with a check that tells you what is wrong,
# not just that something is.

# %% setup=true

# %%
import matplotlib.pyplot as plt
import numpy as np

import siamese
from siamese import checks
from siamese.teaching.lesson_plots import plot_masks, plot_similarity_matrix
from siamese.teaching.vector_plots import plot_angles, plot_loss_by_margin

np.set_printoptions(precision=4, suppress=True)

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
# You should see 0.9974, 1, −1 and −0.5153. Note the last one: the second vector is eleven times as long as
# the first, and it does not matter.

# %% check="cosine_similarity" points=10
score = checks.check_cosine_similarity(cosine_similarity)
assert score.full, "Some cases do not pass yet: see above."

# %%
v1 = np.array([1, 2, 3.3, 4])
for v2 in ([1.5, 2, 3, 4], [1.5, 2, 3, -4], [-1.5, -2, -3, -4]):
    print(f"{cosine_similarity(v1, np.array(v2)):.10f}")

# %% [markdown]
# One entry with its sign turned round, the last, and from almost 1 the cosine falls to almost 0. (The three
# numbers are 0.9946662396, −0.0190063613 and −0.9946662396.)
#
# ## Two batches: a loop, and one matrix product
#
# Training sees many questions at once. Put the vectors of the first questions into the rows of $V_1$ and
# those of the second questions into the rows of $V_2$; row $i$ of one is the duplicate of row $i$ of the
# other. Every first question can be compared with every second one:
#
# $$S_{ij} = \cos(V_{1,i},\; V_{2,j})$$
#
# Two loops say exactly that:

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
plot_similarity_matrix(scores, closest=None)

# %% [markdown]
# * The **diagonal** (in boxes) compares duplicates. These are the *positives*; they should be high. The third
#   one, −0.4, is a disaster: two questions that mean the same point almost opposite ways.
# * Everything else compares questions that have nothing to do with each other. These are the *negatives*;
#   they should be low. We never had to collect them: a batch of duplicates brings its own.
#
# For each row the loss looks at its positive and at two numbers made of its negatives.

# %%
positive = np.diagonal(scores)
print("positives:", positive)

# %% [markdown]
# ### Exercise 2: `mean_negative`
#
# The **mean negative** of a row is the average of its off-diagonal entries. There are $b - 1$ of them, not
# $b$:
#
# $$\mathrm{mean\_neg}_i = \frac{1}{b - 1} \sum_{j \ne i} S_{ij}$$
#
# A mask does it without a loop: multiply by 0 where an entry must not count, by 1 where it must.

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
assert score.full, "Some cases do not pass yet: see above."

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
plot_similarity_matrix(scores)

# %% check="closest_negative" points=10
score = checks.check_closest_negative(closest_negative)
assert score.full, "Some cases do not pass yet: see above."

# %% [markdown]
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
# `closest='semi_hard'`; the first is the default.
#
# ## The loss
#
# A row is fine when its positive beats its negative by at least the **margin** $\alpha$. What is missing is
# the loss; anything more than enough counts as zero:
#
# $$\mathcal L^{(i)}_1 = \max(\mathrm{mean\_neg}_i - S_{ii} + \alpha,\; 0), \qquad
# \mathcal L^{(i)}_2 = \max(\mathrm{closest\_neg}_i - S_{ii} + \alpha,\; 0)$$
#
# $$\mathcal L^{(i)} = \mathcal L^{(i)}_1 + \mathcal L^{(i)}_2$$
#
# The first term is smooth and steady, the second is sharp: together they train better than either alone.

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
# Remember the dotted line. If the network gives *every* question the same vector, all cosines are 1 and both
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

fig, ax = plt.subplots(figsize=(6.5, 3.6))
ax.axhspan(-1.05, 1 - alpha, color="#56B4E9", alpha=0.15)
ax.axhline(1 - alpha, color="#0072B2", linestyle="--")
ax.text(2, 1 - alpha + 0.04, "below it a negative costs nothing: 1 − margin", color="#0072B2")
ax.plot(counts, largest, "o-", color="#D55E00")
ax.text(9, -0.35, "the best that n vectors can do: −1/(n − 1)", color="#D55E00")
ax.set(xscale="log", ylim=(-1.05, 1.05))
ax.set_xticks(counts, [str(n) for n in counts])
ax.minorticks_off()
ax.set_xlabel("number of vectors n (log scale)")
ax.set_ylabel("largest cosine between two of them")
fig.tight_layout()
plt.show()

# %% [markdown]
# ## A mistake that nobody notices
#
# Two arrays hold the same four numbers, one with shape `(4,)` and one with shape `(4, 1)`. Subtract one from
# the other, and NumPy does not complain: it makes a **4 × 4 matrix** of all differences. This is how it gets
# into the loss, with nothing but a `reshape` that looked harmless:

# %%
column = positive.reshape(4, 1)  # or: scores[mask].reshape(...), or keepdims=True
row = mean_negative(scores)

wrong_1 = np.maximum(row - column + alpha, 0)
wrong_2 = np.maximum(lecture - column + alpha, 0)
print(
    "shape of the loss:", (wrong_1 + wrong_2).shape, "- one number for each of 4 pairs was wanted"
)
print(f"its sum: {np.sum(wrong_1 + wrong_2):.6f} - the right cost is 0.516667")

# %% [markdown]
# 3.783 instead of 0.517; and since it does go down in training, nobody looks twice. Two habits help: write
# the shape beside each line (`# [b]`), and let functions check what they are given. Those of `siamese` do:

# %%
from siamese.course.loss import hinge

try:
    hinge(column, row, margin=alpha)
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
# ## What you take along
#
# * Cosine: the dot product of vectors of length 1. A batch: one matrix product.
# * Duplicates on the diagonal; the rest of the batch are negatives, for free.
# * Mean negative: divide by $b - 1$. Closest negative: mask with something *below* every cosine.
# * Loss: what is missing to a lead of one margin, twice.
# * Shapes are part of the formula.
#
# Next: the network that makes the vectors (notebook 2).
