# %% [markdown]
# # 3. The siamese model in Trax
#
# In notebook 2 the vectors were given. Now the network that makes them: text in, vector out, and the same network for
# both questions.
#
# ## Why not simply classify?
#
# A bank compares signatures. It could train a classifier with $k$ classes, one for each customer. With every new customer
# it would have to train again, on the one or two signatures it has. Instead it learns **how similar two signatures
# are**. Then one example of a new customer is enough: compare with it. No training, only a similarity and a threshold.
# This is *one-shot* learning, and siamese networks were invented for it.
#
# Questions are the same kind of problem. There is no list of everything that people ask, but "do these two ask
# the same thing?" can be learned, and it holds for questions that nobody has asked before.

# %% setup=true

# %%
import random

import numpy as np

import siamese  # first: it makes the next line quick
import trax
from trax import layers as tl
from trax.fastmath import numpy as fastnp

from siamese import checks
from siamese.teaching.lesson_plots import plot_similarity_matrix
from siamese.teaching.vector_plots import plot_states

siamese.enable_compile_cache()  # so that the next run need not compile again
np.set_printoptions(precision=3, suppress=True)
random.seed(34)  # Trax takes its layers' first weights from here

# %% [markdown]
# ## A question becomes numbers
#
# A vocabulary gives each word a number, from 2 on; 1 is padding, 0 an unknown word. Two questions in a batch
# are filled up to the same length:

# %%
questions = ["How do I learn Spanish ?", "Is it cold in Norway in May ?"]
words = [question.split() for question in questions]
vocabulary = {"<PAD>": 1}
for word in words[0] + words[1]:
    vocabulary.setdefault(word, len(vocabulary) + 1)

length = 8
tokens = np.array([[vocabulary[w] for w in ws] + [1] * (length - len(ws)) for ws in words])
print(tokens, tokens.shape)

# %% [markdown]
# ## Layer by layer
#
# A Trax layer is first *initialized* with the shape of its input, then called like a function. We send the
# batch through one layer after the other and look at the shapes. Batch 2, length 8, and vectors of 4 numbers
# only, so that they fit on the page.
#
# **Embedding.** A table with one row for each word number; the layer looks the rows up.

# %%
vocab_size, d_model = len(vocabulary) + 1, 4


def run(layer, x):
    layer.init(trax.shapes.signature(x))
    return np.asarray(layer(x))


embedded = run(tl.Embedding(vocab_size, d_model), tokens)
print("[batch, length]", tokens.shape, "-> [batch, length, d_model]", embedded.shape)
print("padding is a word like any other to it:", np.array_equal(embedded[0, 6], embedded[0, 7]))

# %% [markdown]
# **LSTM.** It reads a question from left to right and keeps a *state*; after each word it gives out what it
# knows so far. So the same word gives different numbers in different places. "in" comes twice in the second
# question:

# %%
states = run(tl.LSTM(d_model), embedded)
print("-> [batch, length, d_model]", states.shape)
first, second = [i for i, word in enumerate(words[1]) if word == "in"]
print("embedding of 'in': the same?", np.array_equal(embedded[1, first], embedded[1, second]))
print("state after 'in':  the same?", np.array_equal(states[1, first], states[1, second]))

# %% [markdown]
# **Mean.** One vector for the whole question: the average over the positions, axis 1.

# %%
means = run(tl.Mean(axis=1), states)
print("-> [batch, d_model]", means.shape)

# %% [markdown]
# The picture shows the whole way for the second question. Each column is the state after a word, the last
# column their mean.

# %%
plot_states(states[1], words[1])

# %% [markdown]
# ### Exercise 1: `normalize`
#
# Last, each vector is brought to **length 1**, so that from now on a dot product *is* a cosine:
#
# $$\hat x = \frac{x}{\sqrt{\sum_k x_k^2}}$$
#
# Row by row! Use `fastnp`, which is Trax's NumPy, so that Trax can compile the function.


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
    # # Replace each None.
    # squared_lengths = None  # [batch, 1]: which axis? keepdims?
    # result = None
    ### END SOLUTION
    return result


# %%
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
# ## Two towers that are one
#
# The four layers in a row are a **tower**, `tl.Serial(...)`. `tl.Parallel(a, b)` sends its first input through
# `a` and its second through `b`. What should `a` and `b` be?
#
# ### Exercise 2: `shared_towers`
#
# Make the tower **once**, and use that same object for both.


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
    # # Replace each None.
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
random.seed(34)
model = shared_towers(vocab_size, d_model)
model.init(trax.shapes.signature((tokens, tokens)))
v1, v2 = model((tokens, tokens[::-1]))  # the second batch is the first one upside down
print(v1, v2, sep="\n\n")

# %% check="shared_towers" points=10
score = checks.check_shared_towers(shared_towers)
score.mark  # of 10

# %% [markdown]
# ### An error that comes late
#
# `tl.Fn` gets a function, here a `lambda`. Python looks up the names inside a `lambda` only when it is **called**. Suppose
# the function above it is called `l2_normalize`, and the `lambda` says `normalise`. The model is made and printed without
# complaint:


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
# Only `init` finds it. A model that prints has not run yet. (Without the `lambda`, `tl.Fn("Normalize", normalise)` fails in the
# line where it stands.)
#
# ### Is it really one tower?
#
# Three ways to see it. First, what Python says, and that the same question has the same vector on either side:

# %%
print("one object:", model.sublayers[0] is model.sublayers[1])
print("one vector:", np.allclose(v1, np.asarray(v2)[::-1]))

# %% [markdown]
# Second, change a number in the embedding of the *first* tower, and look at the *second* side:

# %%
tower = model.sublayers[0]
before = np.asarray(model((tokens, tokens))[1])
embedding, *others = tower.weights
changed = np.array(embedding)
changed[vocabulary["Spanish"]] += 1.0
tower.weights = (changed, *others)
after = np.asarray(model((tokens, tokens))[1])
print("vector of the question with 'Spanish' changed:   ", not np.allclose(before[0], after[0]))
print("vector of the question without 'Spanish' changed:", not np.allclose(before[1], after[1]))

# %% [markdown]
# Third, count the weights. At the course's size, 41,699 words and 128 numbers, one tower has
#
# $$\underbrace{41699 \cdot 128}_{\text{embedding}} +
# \underbrace{(128 + 128) \cdot 4 \cdot 128 + 4 \cdot 128}_{\text{LSTM: 4 gates, input and state, bias}} = 5\,469\,056$$


# %%
def count(layer):
    return sum(np.size(array) for array in trax.fastmath.tree_leaves(layer.weights))


def two_towers(vocab_size, d_model):
    """The mistake: the tower is made twice."""
    towers = [
        tl.Serial(
            tl.Embedding(vocab_size, d_model),
            tl.LSTM(d_model),
            tl.Mean(axis=1),
            tl.Fn("Normalize", lambda x: normalize(x)),
        )
        for _ in range(2)
    ]
    return tl.Parallel(*towers)


for name, make in (("one tower, used twice", shared_towers), ("two towers", two_towers)):
    large = make(41_699, 128)
    large.init(trax.shapes.signature((tokens, tokens)))
    same = np.allclose(*large((tokens, tokens)))
    print(f"{name:<22} {count(large):>10,} weights; the same question, the same vector: {same}")

# %% [markdown]
# Two separate towers look identical when printed, and training even lowers their loss. But they are twice the
# size, what one learns the other does not know, and "is A a duplicate of B" may differ from "is B one of A".
#
# ## The model as it prints
#
# `siamese.Siamese` is this model with the course's default sizes, ready-made:

# %%
print(siamese.Siamese())

# %% [markdown]
# The shapes for a batch as in the assignment: 256 pairs, padded to 64 words.

# %%
large_q = np.random.default_rng(34).integers(2, 500, size=(256, 64))
small = siamese.Siamese(500, 128)  # 500 words are enough to see the shapes
small.init(trax.shapes.signature((large_q, large_q)))
large_v1, large_v2 = small((large_q, large_q))
print("q1", large_q.shape, " q2", large_q.shape)
print("v1", large_v1.shape, " v2", large_v2.shape)
print("similarity matrix v1 @ v2.T", (large_v1 @ large_v2.T).shape)

# %% [markdown]
# | layer | shape |
# |---|---|
# | word numbers | (256, 64) |
# | Embedding | (256, 64, 128) |
# | LSTM | (256, 64, 128) |
# | Mean, over axis 1 | (256, 128) |
# | Normalize | (256, 128) |
#
# Both towers give (256, 128). `v2` is transposed only in the product, and that gives (256, 256).

# %% [markdown]
# ## What an untrained model thinks
#
# Here are eight questions from the embedded corpus, four pairs of duplicates, through a model with its first,
# random weights:

# %%
corpus = siamese.embedded_corpus()
pairs = corpus.test.duplicates().rows(0, 4)
texts = [*pairs.question1, *pairs.question2]
vocab = siamese.Vocabulary.from_words(w for text in texts for w in siamese.word_tokenize(text))
random.seed(34)
untrained = siamese.Siamese(vocab.size, 64)
q1, q2 = next(
    siamese.data_generator(
        [vocab.encode(text) for text in texts[:4]],
        [vocab.encode(text) for text in texts[4:]],
        4,
        shuffle=False,
    )
)
untrained.init(trax.shapes.signature((q1, q2)))
v1, v2 = (np.asarray(v) for v in untrained((q1, q2)))
plot_similarity_matrix(v1 @ v2.T, rows=texts[:4], columns=texts[4:])

# %% [markdown]
# Every question is like every other: all cosines are nearly 1, on the diagonal and off it. Training has to
# pull the questions apart and keep the duplicates together. With all cosines equal both terms of the loss are
# exactly the margin; that is the 0.5 that a training run starts from.
#
# ## What you take along
#
# * Embedding `[b, l] → [b, l, d]`, LSTM `→ [b, l, d]`, Mean `→ [b, d]`, Normalize `→ [b, d]`.
# * *Siamese* means: one tower object, twice in `tl.Parallel`. Its weights exist once.
# * A similarity, once learned, holds for things that came after the training: one-shot learning. Notebook 7
#   makes classes of questions from one example each.
#
# Next: how to tell whether such a model is any good (notebook 4).
