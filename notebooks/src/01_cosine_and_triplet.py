# %% [markdown]
# # 1. The cosine and the triplet
#
# **How do you teach a machine that two people ask the same thing?** Two questions from a help desk:
#
# > *How do I cancel my subscription?*
# >
# > *I don't want the monthly plan any more, where do I stop it?*
#
# They ask the same thing and share hardly a word. The next two share every word and ask different things:
#
# > *Which bus goes from the station to the airport?*
# >
# > *Which bus goes from the airport to the station?*
#
# If you count common words, you get both pairs wrong. A **siamese network** gives each question a **vector**, a list of numbers.
# Questions that ask the same, the **duplicates**, get vectors that point in the same direction. That settles the first pair. The two buses
# are harder than they look: a vector for each question alone is *not* enough for them. Notebook 8 shows why, and what is.
#
# This notebook takes 45 minutes and needs no neural network yet, only NumPy.
#
# **Before it:** NumPy arrays, the dot product, the length of a vector. **After it** you can compute a cosine and say what it ignores, name
# anchor, positive and negative, explain why a plain difference is not a loss and what hinge and margin do, and write the triplet loss. These
# are the two functions that everything else rests on: how similar two vectors are, and how wrong three of them are.
#
# *If you get stuck, call `checks.hint("cosine_similarity")` up to three times: each call gives a stronger hint. After
# the third, `checks.solution("cosine_similarity")` shows the answer.*

# %% setup=true

# %% hidden=true
# @title Imports
import matplotlib.pyplot as plt
import numpy as np

from siamese import checks
from siamese.nn import similarity
from siamese.teaching.lesson import compare, drag_circle, guess, need
from siamese.teaching.plots import DARK, GREY, LIGHT, RED, new_picture

np.set_printoptions(precision=4, suppress=True)

# %% [markdown]
# ## The cosine of two vectors (12 minutes)
#
# $$\cos(v_1, v_2) = \frac{v_1 \cdot v_2}{\lVert v_1\rVert \, \lVert v_2\rVert}, \qquad
# v_1 \cdot v_2 = \sum_k v_{1k} v_{2k}, \qquad \lVert v\rVert = \sqrt{v \cdot v}$$
#
# The dot product $v_1 \cdot v_2$ grows when two vectors agree, *and* when they are long. Dividing by both lengths leaves only
# the agreement: 1 for the same direction, 0 for a right angle, −1 for opposite directions.

# %% hidden=true alt="Four arrows from one point: one nearly along v1 with a cosine near 1, one at a right angle with cosine 0, one opposite with cosine -1."
# @title Picture: three cosines
arrows = {
    "v1": np.array([2.0, 1.0]),
    "nearly the same": np.array([3.0, 1.9]),
    "right angle": np.array([-0.9, 1.8]),
    "opposite": np.array([-1.5, -0.75]),
}
looks = (DARK, "-"), (LIGHT, "--"), (GREY, "-."), (RED, ":")
with new_picture(4.8, 4.8) as figure:
    axes = figure.add_subplot()
    for (name, arrow), (colour, line) in zip(arrows.items(), looks):
        cosine = similarity.cosine_similarity(arrows["v1"], arrow)
        label = name if name == "v1" else f"{name}: cosine {cosine:.2f}"
        axes.plot([0, arrow[0]], [0, arrow[1]], line, color=colour, linewidth=2.4, label=label)
        axes.plot(*arrow, "o", color=colour, markersize=6)
    axes.axhline(0, color=GREY, linewidth=0.6)
    axes.axvline(0, color=GREY, linewidth=0.6)
    axes.set(xlim=(-3.5, 3.5), ylim=(-3.5, 3.5), aspect="equal")
    axes.set_title("The cosine sees directions, not lengths")
    figure.legend(loc="outside lower center", ncols=2)
figure

# %% [markdown]
# **Guess before you run.** The vector (0, −42, 1) is eleven times as long as (1, 2, 3). What is their cosine? Write a
# number in place of `None`. A guess earns no points and is never wrong: you will see it again beside the result.

# %% guess=true
guess("long_vector", -0.9)  # a number

# %% [markdown]
# **Exercise 1: `cosine_similarity`.** Write the formula above in three lines, with `np.dot` and `np.sqrt`. Replace each `None`.


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
    # numerator = None  # v1 · v2
    # denominator = None  # the length of v1 times the length of v2
    # cosine = None
    ### END SOLUTION
    return cosine


# %%
need(cosine_similarity)
v = np.array([1, 2, 3.0])
for other, name in (
    ([1, 2, 3.5], "nearly parallel"),
    ([1, 2, 3], "the same"),
    ([-1, -2, -3], "opposite"),
    ([0, -42, 1], "long, in a different direction"),
):
    print(f"{cosine_similarity(v, np.array(other)):8.4f}  {name}")
compare(
    "long_vector",
    f"{cosine_similarity(v, np.array([0, -42, 1])):.4f}",
    "The length does not count. The two point in directions more than a right angle apart.",
)

# %% [markdown]
# You should see 0.9974, 1, −1 and −0.5153. Change the numbers and try other vectors. The sign of a single entry can change a cosine completely:

# %%
need(cosine_similarity)
v1 = np.array([1, 2, 3.3, 4])
for v2 in ([1.5, 2, 3, 4], [1.5, 2, 3, -4], [-1.5, -2, -3, -4]):
    print(f"{v2!s:<22} {cosine_similarity(v1, np.array(v2)):.10f}")

# %% [markdown]
# You should see 0.9946662396, −0.0190063613 and −0.9946662396.

# %% check="cosine_similarity" points=10
score = checks.check_cosine_similarity(cosine_similarity)
score.mark  # of 10

# %% [markdown]
# ## Anchor, positive, negative (4 minutes)
#
# Training compares three questions, a **triplet**. Write $s(A, P)$ for the cosine of the vectors of $A$ and $P$.
#
# | role | question | what we want |
# |---|---|---|
# | **anchor** $A$ | How do I cancel my subscription? | |
# | **positive** $P$, asks the same | I don't want the monthly plan any more, where do I stop it? | $s(A, P)$ near 1 |
# | **negative** $N$, asks something else | What do I do so that my subscription is not cancelled? | $s(A, N)$ low |
#
# ## First try: the difference (8 minutes)
#
# The negative must be less similar than the positive. So why not train the network to lower the **difference** $s(A, N) - s(A, P)$?
# Here are two networks, with two triplets each:
#
# | | triplet 1: $s(A, P)$ | $s(A, N)$ | triplet 2: $s(A, P)$ | $s(A, N)$ |
# |---|---|---|---|---|
# | model 1 | 0.6 | 0.1 | 0.6 | 0.1 |
# | model 2 | 0.9 | −0.9 | 0.2 | **0.5** |
#
# Model 1 has both triplets in the right order. Model 2 has the second one wrong: its negative is more similar than its
# positive.
#
# **Guess before you run.** Training keeps the model whose differences add up to less. Which one?

# %% guess=true
guess("which_model", "model 1")  # "model 1" or "model 2"

# %%
models = {  # rows: triplets; columns: s(A, P), s(A, N)
    "model 1": np.array([[0.6, 0.1], [0.6, 0.1]]),
    "model 2": np.array([[0.9, -0.9], [0.2, 0.5]]),
}
sums = {}
for name, s in models.items():
    difference = s[:, 1] - s[:, 0]
    sums[name] = difference.sum()
    print(f"{name}: differences {difference}, sum {sums[name]:.2f}")
compare(
    "which_model",
    min(sums, key=sums.get),
    "One very good triplet cancels out a bad one, so training can leave the bad one as it is.",
)

# %% [markdown]
# Model 2 wins, with −1.5 against −1, although one of its answers is wrong. It pays to cheat: a network lowers this sum by pushing an
# easy triplet further apart, all the way down to a difference of −2, instead of repairing a hard one. And a sum below 0 is
# no loss: a loss is 0 when nothing is wrong.
#
# ## Second try: the hinge, with a margin (12 minutes)
#
# So let a triplet that is already right cost nothing: $\max(s(A, N) - s(A, P),\; 0)$. This function is called a *hinge* (in a
# network: ReLU). Two weaknesses are left: it is 0 as soon as the order is right, however narrowly, and it is 0 when all vectors
# are equal. The **margin** $\alpha$ asks for a clear lead and mends both. This is the **triplet loss** (Schroff et al., 2015):
#
# $$\mathcal L = \max(s(A, N) - s(A, P) + \alpha,\; 0)$$
#
# **Exercise 2: `triplet_loss`.** Write it so that it works for one triplet and for arrays of triplets alike.


# %% exercise="triplet_loss"
def triplet_loss(s_ap, s_an, margin):
    """The triplet loss of one triplet, or of each of several.

    Args:
      s_ap: the cosine of anchor and positive; a number, or float [n].
      s_an: the cosine of anchor and negative, likewise.
      margin: how far the positive must be ahead.

    Returns:
      A number >= 0, or float [n].
    """
    ### BEGIN SOLUTION
    difference = s_an - s_ap
    loss = np.maximum(difference + margin, 0)
    ### BLANK
    # difference = None
    # loss = None  # np.maximum takes numbers and arrays
    ### END SOLUTION
    return loss


# %%
need(triplet_loss)
for name, s in models.items():
    losses = triplet_loss(s[:, 0], s[:, 1], margin=0.25)
    print(f"{name}: losses {losses}, sum {losses.sum():.2f}")

# %% [markdown]
# Now model 1 costs nothing, and model 2 costs 0.55, all of it for the triplet in the wrong order. Cheating no longer pays: a
# triplet that is far ahead costs 0, and cannot cost less.

# %% check="triplet_loss" points=10
score = checks.check_triplet_loss(triplet_loss)
score.mark  # of 10

# %% hidden=true alt="The loss against the difference s(A, N) - s(A, P). The hinge without margin bends at 0, with margin 0.25 at -0.25. Between the two bends lies a shaded strip: right order, but not clearly. The triplets of model 1 lie at -0.5 and cost nothing; model 2 has one at -1.8, which costs nothing, and one at 0.3, which costs 0.55."
# @title Picture: what each triplet costs
need(triplet_loss)
difference = np.linspace(-2, 1, 301)
fig, ax = plt.subplots(figsize=(6.0, 3.8), layout="constrained")
ax.axvspan(-0.25, 0, color="#e8871e", alpha=0.25, linewidth=0)
ax.plot(difference, triplet_loss(0.0, difference, 0.0), "--", color="#6b6b6b", label="no margin")
ax.plot(difference, triplet_loss(0.0, difference, 0.25), color="#12436d", label="margin 0.25")
for name, mark in (("model 1", "o"), ("model 2", "D")):
    s = models[name]
    x = s[:, 1] - s[:, 0]
    ax.plot(
        x,
        triplet_loss(s[:, 0], s[:, 1], 0.25),
        mark,
        color="#a31515",
        markersize=8,
        markerfacecolor="white" if mark == "D" else "#a31515",
        label=name,
        clip_on=False,
    )
ax.annotate(
    "right, but not by\na margin: it costs",
    (-0.12, 0.13),
    (-1.1, 0.62),
    arrowprops={"arrowstyle": "->"},
)
ax.axvline(0, color="black", linewidth=0.6)
ax.text(-1.98, 1.12, "right order", fontsize=9)
ax.text(0.05, 1.12, "wrong order", fontsize=9)
ax.set(xlabel="difference s(A, N) − s(A, P)", ylabel="loss", xlim=(-2, 1), ylim=(0, 1.25))
ax.legend(loc="center left", frameon=False)
plt.show()

# %% [markdown]
# ### Drag the vectors
#
# In two dimensions vectors of length 1 lie on a circle. Drag anchor, positive and negative, and slide the margin. Where does the
# loss become 0? "One step of training" turns each vector a little in the direction that lowers the loss: the positive is pulled, the
# negative is pushed. The picture below the drawing shows three such steps.

# %% hidden=true
# @title Drawing: a triplet to drag
drag_circle()

# %% hidden=true alt="Two unit circles. Before training the negative is nearer to the anchor than the positive. After three steps anchor and positive are close, the negative is farther away, and the loss is 0."
# @title Picture: three steps of training
need(triplet_loss)


def costs(angles):
    """Both cosines, and the loss of the triplet."""
    s_ap, s_an = np.cos(np.radians(angles[0] - angles[1:]))
    return s_ap, s_an, triplet_loss(s_ap, s_an, 0.25)


def one_step(angles):
    """The angles after the drawing's step: 6 degrees where the slope is 1, and none where the loss is 0."""
    positive, negative = 6 * np.sin(np.radians(angles[0] - angles[1:]))
    return angles + (costs(angles)[2] > 0) * np.array([negative - positive, positive, -negative])


before = np.array(
    [90.0, 25.0, 140.0]
)  # degrees of anchor, positive and negative, as in the drawing
after = one_step(one_step(one_step(before)))
with new_picture(6.4, 3.6) as figure:
    both = figure.subplots(1, 2)
    for axes, title, angles in zip(both, ("before", "after 3 steps"), (before, after)):
        axes.add_artist(plt.Circle((0, 0), 1, fill=False, color=GREY))
        roles = ("anchor", DARK), ("positive", "#2e8b57"), ("negative", RED)
        for (name, colour), angle in zip(roles, np.radians(angles)):
            tip = np.array([np.cos(angle), np.sin(angle)])
            arrow = {"arrowstyle": "->", "color": colour, "lw": 2}
            axes.annotate("", tip, (0, 0), arrowprops=arrow)
            axes.text(*1.12 * tip, name, color=colour, ha="left" if tip[0] > 0.3 else "right")
        axes.set(xlim=(-1.7, 1.7), ylim=(-1.3, 1.4), aspect="equal", xticks=[], yticks=[])
        axes.grid(False)
        axes.spines[:].set_visible(False)
        s_ap, s_an, loss = costs(angles)
        axes.set_title(f"{title}: loss {loss:.2f}")
        axes.set_xlabel(f"s(A, P) = {s_ap:.2f}, s(A, N) = {s_an:.2f}")
figure

# %% [markdown]
# ## Three tasks (9 minutes)
#
# **Task 1: a blank.** Up to which margin does model 1 cost nothing? Read it off the picture, then see whether the next cell agrees.

# %% exercise="largest_margin"
### BEGIN SOLUTION
largest_margin = 0.5
### BLANK
# largest_margin = None
### END SOLUTION

# %%
need(triplet_loss, largest_margin)
for margin in (largest_margin, largest_margin + 0.01):
    total = triplet_loss(models["model 1"][:, 0], models["model 1"][:, 1], margin).sum()
    print(f"margin {margin:.2f}: model 1 costs {total:.2f}")

# %% [markdown]
# The first line should say 0.00 and the second one 0.02: 0.01 for each of the two triplets.
#
# **Task 2: no scaffold.** Choose three vectors of two numbers each, so that the triplet is in the right order and still costs
# between 0.1 and 0.2 at the margin 0.25.

# %% exercise="my_triplet"
### BEGIN SOLUTION
anchor = np.array([1.0, 0.0])
positive = np.array([0.6, 0.8])
negative = np.array([0.5, -np.sqrt(0.75)])
### BLANK
# anchor = positive = negative = None
### END SOLUTION

# %%
need(cosine_similarity, triplet_loss, anchor, positive, negative)
s_ap, s_an = cosine_similarity(anchor, positive), cosine_similarity(anchor, negative)
loss = triplet_loss(s_ap, s_an, 0.25)
print(f"s(A, P) {s_ap:.3f}, s(A, N) {s_an:.3f}, loss {loss:.3f}")
print(
    "right order:",
    "yes" if s_an < s_ap else "no",
    "| between 0.1 and 0.2:",
    "yes" if 0.1 < loss < 0.2 else "no",
)

# %% [markdown]
# **Task 3: break it, and say why** (3 points, graded by your teacher). A lazy network gives *every* question the same vector. What
# does it cost with the margin 0, and what with 0.25? Why does training leave it alone in one case and not in the other?
# Explain it with the picture, in three or four sentences.

# %% [markdown] answer="same_vector" points=3
# All cosines are 1, so every difference is 0. With the margin 0 the loss is 0: the network counts as perfect, and training has no reason to
# change anything. With 0.25 every triplet costs 0.25, the margin. In the picture the curve with the margin is already on
# its slope at 0, so moving any triplet to the left lowers the loss; the curve without a margin is flat everywhere to the left of 0.
#
# *Rubric, 1 point each: the loss 0 at margin 0 and that it counts as perfect; the loss 0.25 = margin; slope against flat at the
# difference 0.*

# %% [markdown]
# ## Key points
#
# * The cosine compares directions, not lengths. It lies between −1 and 1.
# * Anchor, positive, negative: the positive must be ahead of the negative by a margin.
# * A plain difference lets a good triplet cancel out a bad one. The hinge does not: what is right costs 0.
#
# ### Questions
#
# <details><summary>Two questions have the cosine −1. Are they opposites in meaning?</summary>
# No. Nothing trains a direction to mean the contrary; the loss asks only that negatives lie lower than positives.
# </details>
# <details><summary>Why is the difference not a loss?</summary>
# It can go down to −2 for one triplet, and so pays for another that is wrong.
# </details>
# <details><summary>Why not a margin of 2?</summary>
# Then only a positive at 1 with a negative at −1 costs nothing, and three vectors cannot all be opposite.
# </details>
#
# Next: where the negatives come from, and what a whole batch costs (notebook 2).
