# %% [markdown]
# # 3. The siamese model in Trax
#
# > *Why does my bike chain squeak?*
# >
# > *My bicycle chain makes a squeaking noise, how do I get rid of it?*
#
# **How does a sentence of any length become one vector, and why do both sentences go through the same network?** In notebook 2 the vectors
# were given. Here you build the network that makes them, layer by layer, in 45 minutes.
#
# **Before it:** notebooks 1 and 2; what a layer and its weights are. **After it** you can follow the shapes through Embedding, LSTM, Mean
# and Normalize, build a tower in Trax and use it twice, show that there is one set of weights, and say what the gates of an LSTM do and why
# Trax's start makes all questions alike.

# %% setup=true

# %% hidden=true
# @title Imports
import random

import matplotlib.pyplot as plt
import numpy as np

import siamese  # first: it makes the next line quick
import trax
from trax import layers as tl
from trax.fastmath import numpy as fastnp

from siamese import checks
from siamese.course.loss import loss_from_scores
from siamese.teaching.lesson import compare, guess, need
from siamese.teaching.plots import plot_similarity_matrix

siamese.enable_compile_cache()  # so that the next run need not compile again
np.set_printoptions(precision=3, suppress=True)
random.seed(34)  # Trax takes its layers' first weights from here

# %% [markdown]
# ## Why not simply classify? (4 minutes)
#
# A bank compares signatures. It could train a classifier with $k$ classes, one for each customer. With every new customer
# it would have to train again, on the one or two signatures it has. Instead it learns **how similar two signatures
# are**: siamese networks were made for this (Bromley et al., 1993). Then one example of a new customer is enough. Compare with it, and
# decide by a threshold. To recognise a class from a single example is called *one-shot* learning, and siamese networks
# are used for it as well (Koch et al., 2015).
#
# Questions are the same kind of problem. There is no list of everything that people ask. But "do these two ask
# the same thing?" can be learned, and it also works for questions nobody has asked before.
#
# ## The network in one picture (2 minutes)
#
# Two questions go in, one into each **tower**. Both towers have the same layers *and the same weights*. Out come two vectors. If
# their cosine $\hat y$ is above a threshold $\tau$, the answer is "duplicates".

# %% hidden=true alt="Two columns of boxes. Each question goes through Embedding, LSTM, Mean over the words and Normalize and becomes a vector. Arrows between the columns say: same weights. The cosine of both vectors is compared with a threshold."
# @title Picture: two towers, one set of weights
fig, ax = plt.subplots(figsize=(5.0, 4.8))


def box(x, y, text, colour="white", width=3.2):
    ax.add_patch(plt.Rectangle((x, y), width, 0.7, facecolor=colour, edgecolor="black"))
    ax.text(x + width / 2, y + 0.35, text, ha="center", va="center", fontsize=9)


def arrow(start, end, style="->"):
    ax.annotate("", end, start, arrowprops={"arrowstyle": style})


layers = ("Embedding", "LSTM", "Mean over the words", "Normalize to length 1")
for x, question, vector in (
    (0, "How old are you?", "vector v1"),
    (5.8, "What is your age?", "vector v2"),
):
    box(x, 7, question)
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
# ## A question becomes numbers (2 minutes)
#
# A vocabulary gives each word a number, from 2 on; 1 is padding, and 0 is an unknown word. The questions of a batch are filled
# up to the same length:

# %%
questions = ["Can I still cancel it ?", "Does my phone need my old number ?"]
words = [question.split() for question in questions]
vocabulary = {"<PAD>": 1}
for word in words[0] + words[1]:
    vocabulary.setdefault(word, len(vocabulary) + 1)

length = 8
tokens = np.array([[vocabulary[w] for w in ws] + [1] * (length - len(ws)) for ws in words])
print(tokens, tokens.shape)

# %% [markdown]
# ## Layer by layer (11 minutes)
#
# We send the batch through one layer after the other. The batch has 2 questions of length 8, and each vector has only 4
# numbers, so that everything fits on the page.
#
# * **Embedding**: a table with one row for each word number. The layer looks the rows up. The layer treats padding like any other word.
# * **LSTM**: reads a question from left to right and gives its *state* after each word.
# * **Mean** over axis 1: the average over the positions.
#
# **Guess before you run.** What are the shapes after the three layers, from `[2, 8]` word numbers on? Write three lists.

# %% guess=true
guess("shapes", [[2, 8, 4], [2, 4], [2, 4]])  # such as [[2, 8], [2, 8], [2, 8]]

# %%
vocab_size, d_model = len(vocabulary) + 1, 4


def run(layer, x):
    layer.init(trax.shapes.signature(x))  # a Trax layer makes its weights when it sees a shape
    return np.asarray(layer(x))


embedded = run(tl.Embedding(vocab_size, d_model), tokens)
states = run(tl.LSTM(d_model), embedded)
means = run(tl.Mean(axis=1), states)
compare(
    "shapes",
    [list(x.shape) for x in (embedded, states, means)],
    "The LSTM gives a state for every word, not only for the last one; the mean removes the length.",
)

# %% [markdown]
# The LSTM's state depends on what came before. "my" comes twice in the second question:

# %%
first, second = [i for i, word in enumerate(words[1]) if word == "my"]
print("embedding of 'my': the same?", np.array_equal(embedded[1, first], embedded[1, second]))
print("state after 'my':  the same?", np.array_equal(states[1, first], states[1, second]))

# %% [markdown]
# > **Box: the LSTM's gates.** An LSTM (Hochreiter & Schmidhuber, 1997) keeps a memory $c$ beside its state $h$. At each word it computes four vectors
# > from the word's vector $x$ and the last state $h$. Three of them are **gates**: numbers between 0 and 1 that multiply something, so 0 shuts it off and 1
# > lets it through. ($\sigma$ is the logistic function, $\odot$ multiplies entry by entry.)
# >
# > $$i = \sigma(W_i [x, h] + b_i), \quad f = \sigma(W_f [x, h] + b_f), \quad o = \sigma(W_o [x, h] + b_o), \quad
# > j = \tanh(W_j [x, h] + b_j)$$
# >
# > $$c \leftarrow f \odot c + i \odot j, \qquad h \leftarrow o \odot \tanh(c)$$
# >
# > The **forget gate** $f$ decides how much of the memory stays, the **input gate** $i$ how much of the new content $j$ comes in, the
# > **output gate** $o$ how much of the memory is passed on. All weights start small, so at first the biases decide. How much of a word is left
# > after seven more?

# %%
for bias in (0.0, 1.0):
    gate = 1 / (1 + np.exp(-bias))
    print(f"bias {bias:.0f}: forget gate {gate:.2f}; left after seven words {gate**7:.3f}")

# %% [markdown]
# > With the bias 1 the forget gate stays at about 0.73, and 0.112 of the memory is left; with 0 it is 0.008. So LSTMs start with a bias of 1 **on the forget
# > gate**. Trax adds the 1 to *all four* vectors. Then $j$ starts at $\tanh(1)$ whatever the word is: every question begins
# > with nearly the same state. You will see what that does at the end of this notebook and in notebook 7.
#
# Two questions that differ in one word show what the LSTM remembers:

# %% hidden=true alt="Bars for the words What really works against hiccups or heartburn and the question mark. The states of the two questions are the same for the first four words, bar height 0, and differ from the fifth on."
# @title Picture: two questions that differ in one word
pair = [f"What really works against {what} ?".split() for what in ("hiccups", "heartburn")]
numbers = {word: 2 + i for i, word in enumerate(dict.fromkeys(pair[0] + pair[1]))}
random.seed(34)
both = run(
    tl.Serial(tl.Embedding(len(numbers) + 2, 16), tl.LSTM(16)),
    np.array([[numbers[word] for word in ws] for ws in pair]),
)
fig, ax = plt.subplots(figsize=(6.0, 3.0), layout="constrained")
ax.bar(range(6), np.linalg.norm(both[0] - both[1], axis=1), color="#12436d")
ax.set_xticks(range(6), [a if a == b else f"{a} /\n{b}" for a, b in zip(*pair)])
ax.set(ylabel="distance of the two states", xlabel="after the word")
plt.show()

# %% [markdown]
# Up to "against" both states are the same. From the fifth word on they differ, and the last bar shows that the LSTM remembers it.
#
# ## Normalize (5 minutes)
#
# Last, each vector is brought to **length 1**, so that from now on a dot product *is* a cosine:
# $\hat x = x \,/ \sqrt{\sum_k x_k^2}$.
#
# **Exercise 1: `normalize`.** Row by row! Use `fastnp`, Trax's NumPy, so that Trax can compile the function.


# %% exercise="normalize"
def normalize(x):
    """Each row divided by its length.

    Args:
      x: float [batch, d_model].

    Returns:
      float [batch, d_model]; rows of length 1.
    """
    ### BEGIN SOLUTION
    squared_lengths = fastnp.sum(x * x, axis=-1, keepdims=True)  # [batch, 1]
    result = x / fastnp.sqrt(squared_lengths)
    ### BLANK
    # squared_lengths = None  # [batch, 1]: which axis? keepdims?
    # result = None
    ### END SOLUTION
    return result


# %%
need(normalize)
x = np.array(
    [
        [0.77132064, 0.02075195, 0.63364823, 0.74880388, 0.49850701],
        [0.22479665, 0.19806286, 0.76053071, 0.16911084, 0.08833981],
    ]
)
print(np.asarray(normalize(x)))

# %% [markdown]
# You should see 0.574, 0.015, 0.471, 0.557, 0.371 in the first row.

# %% check="normalize" points=10
score = checks.check_normalize(normalize)
score.mark  # of 10

# %% [markdown]
# ## Two towers that are one (8 minutes)
#
# The four layers in a row are a **tower**, `tl.Serial(...)`. `tl.Parallel(a, b)` sends its first input through
# `a` and its second through `b`.
#
# **Exercise 2: `shared_towers`.** Make the tower **once**, and use that same object for both.


# %% exercise="shared_towers"
def shared_towers(vocab_size, d_model):
    """The siamese model.

    Args:
      vocab_size: rows of the embedding.
      d_model: size of embedding, state and vectors.

    Returns:
      A Trax layer from (q1, q2), int [batch, length] each, to (v1, v2), float [batch, d_model] each.
    """
    ### BEGIN SOLUTION
    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", lambda x: normalize(x)),
    )
    model = tl.Parallel(tower, tower)
    ### BLANK
    # tower = tl.Serial(
    #     None,
    #     None,
    #     None,
    #     None,  # tl.Fn("Normalize", lambda x: normalize(x))
    # )
    # model = None
    ### END SOLUTION
    return model


# %%
need(normalize, shared_towers)
random.seed(34)
model = shared_towers(vocab_size, d_model)
model.init(trax.shapes.signature((tokens, tokens)))
v1, v2 = model((tokens, tokens[::-1]))  # the second batch is the first one upside down
print(v1, v2, sep="\n\n")
print("the same question, the same vector:", np.allclose(v1, np.asarray(v2)[::-1]))

# %% check="shared_towers" points=10
score = checks.check_shared_towers(shared_towers)
score.mark  # of 10

# %% [markdown]
# **Guess before you run.** The next cell changes one number in the embedding of the *first* tower. What happens to the vectors on the
# *second* side?

# %% guess=true
guess("second_side", "they stay")  # "they change" or "they stay"

# %%
need(normalize, shared_towers)
tower = model.sublayers[0]
before = np.asarray(model((tokens, tokens))[1])
embedding, *others = tower.weights
changed = np.array(embedding)
changed[vocabulary["phone"]] += 1.0
tower.weights = (changed, *others)
after = np.asarray(model((tokens, tokens))[1])
print("vector of the question with 'phone' changed:   ", not np.allclose(before[1], after[1]))
print("vector of the question without 'phone' changed:", not np.allclose(before[0], after[0]))
compare(
    "second_side",
    "they change" if not np.allclose(before, after) else "they stay",
    "There is one tower object, so its weights exist once: both sides read the same table.",
)

# %% [markdown]
# ### An error that shows up late
#
# `tl.Fn` gets a function, here a `lambda`. Python looks up the names inside a `lambda` only when it is **called**. Suppose
# the function above it is called `l2_normalize`, and the `lambda` says `normalise`. The model builds and prints without any error:


# %%
def l2_normalize(x):
    return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))


late = tl.Serial(
    tl.Embedding(vocab_size, d_model),
    tl.LSTM(d_model),
    tl.Mean(axis=1),
    tl.Fn("Normalize", lambda x: normalise(x)),  # noqa: F821 - there is no such name
)
print(late)
try:
    late.init(trax.shapes.signature(tokens))
except Exception as error:
    print("\nat init:", str(error).strip().splitlines()[-1])

# %% [markdown]
# Only `init` finds it: printing a model does not run it.
#
# ## The model as it prints (3 minutes)
#
# `siamese.Siamese` is this model with the course's default sizes, ready-made. These are the shapes for a batch as in the
# assignment, 256 pairs padded to 64 words:

# %%
print(siamese.Siamese())
large_q = np.random.default_rng(34).integers(2, 500, size=(256, 64))
small = siamese.Siamese(500, 128)  # 500 words are enough to see the shapes
small.init(trax.shapes.signature((large_q, large_q)))
large_v1, large_v2 = small((large_q, large_q))
print("\nq1", large_q.shape, "-> v1", large_v1.shape, "and the same for q2 -> v2")
print("similarity matrix v1 @ v2.T", (large_v1 @ large_v2.T).shape)

# %% [markdown]
# Both towers give (256, 128). `v2` is transposed only in the product, and that gives (256, 256).
#
# ## What an untrained model does (3 minutes)
#
# Eight questions from the embedded corpus, four pairs of duplicates, through a model with its first, random weights:

# %% alt="A four by four matrix of cosines of four pairs of questions, before training. Every entry is 1.00, on the diagonal and off it."
corpus = siamese.embedded_corpus()
pairs = corpus.test.duplicates().rows(0, 4)
texts = [*pairs.question1, *pairs.question2]
vocab = siamese.Vocabulary([w for text in texts for w in siamese.word_tokenize(text)])
random.seed(34)
untrained = siamese.Siamese(vocab.size, 64)
ids = [vocab.encode(text) for text in texts]
q1, q2 = next(siamese.data_generator(ids[:4], ids[4:], 4, shuffle=False))
untrained.init(trax.shapes.signature((q1, q2)))
v1, v2 = (np.asarray(v) for v in untrained((q1, q2)))
scores = v1 @ v2.T
for name, closest in (("2022", "hardest"), ("2023", "semi_hard")):
    print(f"edition {name}: {loss_from_scores(scores, closest=closest) / 4:.3f} for each pair")
plot_similarity_matrix(scores, closest=None, rows=texts[:4], columns=texts[4:])

# %% [markdown]
# Every question looks like every other: all cosines are nearly 1, on the diagonal and off it. Training has to
# pull the questions apart and keep the duplicates together.
#
# ## Three tasks (7 minutes)
#
# **Task 1: a blank.** At the course's size, 41,699 words and 128 numbers, how many weights does one tower have? The embedding is
# a table. The LSTM has four matrices from word and state, 128 + 128 numbers, to 128, and four biases. Write it as a product and a
# sum.

# %% exercise="weights"
### BEGIN SOLUTION
weights = 41_699 * 128 + 4 * (128 + 128) * 128 + 4 * 128
### BLANK
# weights = None
### END SOLUTION


# %%
def count(layer):
    return sum(np.size(array) for array in trax.fastmath.tree_leaves(layer.weights))


need(normalize, shared_towers, weights)
large = shared_towers(41_699, 128)
large.init(trax.shapes.signature((tokens, tokens)))
print(f"yours {weights:,}; the model's {count(large):,}")

# %% [markdown]
# You should see 5,469,056 twice.
#
# **Task 2: no scaffold.** Make the mistake on purpose. Write `two_towers`, which makes the tower twice. It looks the same when you
# print it. What does the next cell show?


# %% exercise="two_towers"
def two_towers(vocab_size, d_model):
    """Like `shared_towers`, with two separate towers."""
    ### BEGIN SOLUTION
    towers = [
        tl.Serial(
            tl.Embedding(vocab_size, d_model),
            tl.LSTM(d_model),
            tl.Mean(axis=1),
            tl.Fn("Normalize", lambda x: normalize(x)),
        )
        for _ in range(2)
    ]
    model = tl.Parallel(*towers)
    ### BLANK
    # model = None
    ### END SOLUTION
    return model


# %%
need(normalize, shared_towers, two_towers)
for name, make in (("one tower, used twice", shared_towers), ("two towers", two_towers)):
    large = make(41_699, 128)
    large.init(trax.shapes.signature((tokens, tokens)))
    same = np.allclose(*large((tokens, tokens)))
    print(f"{name:<22} {count(large):>10,} weights; the same question, the same vector: {same}")

# %% [markdown]
# Two towers have twice the weights, and what one learns is lost on the other. "Is A a duplicate of B?" may get another answer than
# "is B a duplicate of A?".
#
# **Task 3: explain the picture** (3 points, graded by your teacher). In the last picture all cosines are 1.00. Explain why, from
# the box about the gates and from the mean over the words. Why is that a bad start for training? Four or five sentences.

# %% [markdown] answer="all_alike" points=3
# All four vectors of Trax's LSTM start with a bias of 1, and its weights are small, so the gates and the new content are nearly the same
# for every word. The states therefore run through nearly the same numbers whatever the question is. The mean over the words averages away what little
# differs, and dividing by the length leaves the common direction: the cosines are near 1. At the start duplicates and other questions cannot be told
# apart, so each step of training moves all vectors in nearly the same way, and it takes long until the questions separate.
#
# *Rubric, 1 point each: the biases make the states alike; the mean averages differences away; without differences the loss gives hardly any
# direction to learn from.*

# %% [markdown]
# ## Key points
#
# * Embedding `[b, l] → [b, l, d]`, LSTM `→ [b, l, d]`, Mean `→ [b, d]`, Normalize `→ [b, d]`.
# * *Siamese* means: one tower object, twice in `tl.Parallel`. Its weights exist once.
# * A similarity, once learned, holds for things that came after the training. Notebook 8 makes classes of questions
#   from one example each.
#
# ### Questions
#
# <details><summary>Do the two towers need the same input length?</summary>
# No: the mean removes the length. The assignment pads both to one length for its own reasons.
# </details>
# <details><summary>Why normalize inside the model?</summary>
# Then a dot product is a cosine, for the loss and for search.
# </details>
# <details><summary>What does padding do to the mean?</summary>
# It is averaged in like a word (notebook 7).
# </details>
#
# Next: how to tell whether such a model is any good (notebook 4).
