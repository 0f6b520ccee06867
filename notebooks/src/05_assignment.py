# %% [markdown]
# # 5. The assignment: question duplicates
#
# Two posts from a course's forum:
#
# > *Hello professor, I was ill all week. Could I have an extension for assignment two?*
# >
# > *I won't make Friday's deadline for assignment 2. Who do I ask for more time?*
#
# **Can a network learn from pairs of questions alone that these two ask the same thing?** You build the whole chain yourself, from the
# text to the answer.
#
# **Before it:** notebooks 1 to 3; notebook 4 helps for part 6. **After it** you can make batches of pairs, build and train a siamese
# network, say from its curve and its cosines what it is doing, find out how good it is, and look at its worst mistakes. It takes 180
# minutes, at home or in three sessions: parts 1 to 3, part 4, parts 5 to 8.
#
# | part | what happens | your exercise | minutes |
# |---|---|---|---|
# | 1 | questions become lists of numbers | | 10 |
# | 2 | lists become batches | 1. `data_generator` | 30 |
# | 3 | a network gives each question a vector | 2. `Siamese` | 20 |
# | 4 | the loss says how wrong the vectors are | 3. `TripletLossFn` | 35 |
# | 5 | training | 4. `train_model` | 25 |
# | 6 | how good is it? | 5. `classify` | 25 |
# | 7 | your own questions | 6. `predict` | 15 |
# | 8 | three tasks | | 20 |
#
# Replace each `None`. If you get stuck, call `checks.hint("data_generator")` up to three times; `checks.solution` opens after that.

# %% setup=true

# %% hidden=true
# @title Imports
import contextlib
import functools
import importlib.util
import io
import os
import random
import tempfile
import textwrap
from collections import defaultdict

import numpy as np
from sklearn.decomposition import PCA

import siamese  # first: Trax then takes two seconds instead of a minute to import
import trax
from trax import layers as tl
from trax.fastmath import numpy as fastnp
from trax.supervised import training

from siamese import checks, word_tokenize
from siamese.course.loss import loss_from_scores
from siamese.reading.clusters import clusters
from siamese.teaching.lesson import compare, find_faults, guess, need
from siamese.teaching.plots import (
    DARK,
    GREY,
    LIGHT,
    RED,
    new_picture,
    plot_losses,
    plot_scores,
    plot_similarity_matrix,
)

siamese.enable_compile_cache()  # so that the next run need not compile again
siamese.keep_memory()  # so that each step does not ask the system for it again
random.seed(34)

# %%
QUESTIONS = None  # path of Quora's questions.csv, or None for the embedded corpus
D_MODEL = 128  # size of the vectors
BATCH_SIZE = 128
STEPS = 600  # training takes about a minute; on Quora's file 1000 steps and more

# %% [markdown]
# ## Part 1: the data (10 minutes)
#
# Each row holds two questions and a label: duplicates, or not. Without Quora's file the notebook uses a small corpus that comes with
# `siamese`: sixty everyday subjects, every meaning in several wordings, made by a grammar. It is easier than real questions in one way
# (no spelling mistakes) and harder in another: many pairs that are *not* duplicates differ in only one word.

# %%
if QUESTIONS is None:
    corpus = siamese.embedded_corpus()
    train_pairs, test_pairs = corpus.train, corpus.test
else:
    everything = siamese.read_pairs(QUESTIONS)
    train_pairs, test_pairs = everything.split_rows(len(everything) - 10_240)
for name, pairs in (("training", train_pairs), ("test", test_pairs)):
    print(f"{name}: {len(pairs):,} pairs, {pairs.base_rate:.0%} of them duplicates")
print()
for i in range(6):
    print(
        "same     " if train_pairs.is_duplicate[i] else "different", "|", train_pairs.question1[i]
    )
    print("          |", train_pairs.question2[i])

# %% [markdown]
# ### Train on duplicates only
#
# The loss of notebook 2 needs batches in which row $i$ of one side is the duplicate of row $i$ of the other, and everything else is
# different. So we train on the **duplicates** alone; the negatives are the other rows of a batch. The pairs labelled "different" are for
# the test.

# %%
duplicates = np.flatnonzero(train_pairs.is_duplicate)
Q1_words = [word_tokenize(train_pairs.question1[i]) for i in duplicates]
Q2_words = [word_tokenize(train_pairs.question2[i]) for i in duplicates]
print(len(duplicates), "duplicates to train on. The first one:")
print(Q1_words[0])
print(Q2_words[0])

# %% [markdown]
# ### The vocabulary
#
# Each word of the training questions gets a number. `1` is kept for **padding**, and `0` stands for every word that training has not
# seen. A `defaultdict` returns that 0 by itself.

# %%
vocab = defaultdict(lambda: 0)
vocab["<PAD>"] = 1
for words in [*Q1_words, *Q2_words]:
    for word in words:
        if word not in vocab:
            vocab[word] = len(vocab) + 1
print(f"{len(vocab):,} words;", {word: vocab[word] for word in ("<PAD>", Q1_words[0][0], "?")})
print("Zanzibarian:", vocab.get("Zanzibarian", 0))

# %% [markdown]
# We asked with `get`. With `vocab["Zanzibarian"]` the answer would be 0 as well, **but the word would be in the vocabulary from then
# on**: looking a key up in a `defaultdict` puts it there. `len(vocab)` grows with every question that anybody asks. Keep that in mind for
# exercise 6.
#
# Now the questions as numbers. The first 80 % train. The rest, the *validation* set, shows during training how it goes.

# %%
Q1 = [[vocab[word] for word in words] for words in Q1_words]
Q2 = [[vocab[word] for word in words] for words in Q2_words]
cut = int(0.8 * len(Q1))
train_Q1, train_Q2 = Q1[:cut], Q2[:cut]
val_Q1, val_Q2 = Q1[cut:], Q2[cut:]
print(len(train_Q1), "pairs train,", len(val_Q1), "validate")
print(Q1_words[0], "->", Q1[0])


# And the test pairs, of both kinds. Words that training has not seen are 0; they do not enter `vocab`.
def as_ids(questions):
    return [[vocab.get(word, 0) for word in word_tokenize(question)] for question in questions]


test_Q1, test_Q2 = as_ids(test_pairs.question1), as_ids(test_pairs.question2)
y_test = test_pairs.is_duplicate

# %% [markdown]
# ## Part 2: batches (30 minutes)
#
# A batch is two arrays, first questions and second questions, row by row. Arrays are rectangular and questions are not. The shorter ones
# are filled up with padding, to one length for *both* arrays: the next **power of two**. (A compiled program is made for each length that
# occurs; powers of two are few.)
#
# **Exercise 1: `data_generator`.** Write a generator that never ends. Four things are easy to get wrong:
#
# * the order is shuffled before the first batch, and again after each pass, but only if `shuffle` says so;
# * when the data runs out, the batch is filled from the next pass: every batch is full;
# * the length comes from the longest question of **both** sides;
# * after a batch was yielded, the next one starts empty.


# %% exercise="data_generator"
def data_generator(Q1, Q2, batch_size, pad=1, shuffle=True):
    """Endless batches of question pairs.

    Args:
      Q1: list of lists of word numbers, the first questions.
      Q2: list of lists, the second ones; Q2[i] is the partner of Q1[i].
      batch_size: pairs in a batch.
      pad: the number that fills a question up.
      shuffle: whether to shuffle the pairs, before the first and between the passes (random.shuffle).

    Yields:
      (batch1, batch2): two integer arrays [batch_size, length].
    """
    ### BEGIN SOLUTION
    order = list(range(len(Q1)))
    if shuffle:
        random.shuffle(order)
    place = 0  # in `order`, of the next pair
    input1, input2 = [], []
    while True:
        if place >= len(order):
            place = 0
            if shuffle:
                random.shuffle(order)
        input1.append(Q1[order[place]])
        input2.append(Q2[order[place]])
        place += 1
        if len(input1) == batch_size:
            longest = max(len(question) for question in input1 + input2)
            length = 2 ** int(np.ceil(np.log2(longest)))
            batch1 = [question + [pad] * (length - len(question)) for question in input1]
            batch2 = [question + [pad] * (length - len(question)) for question in input2]
            yield np.array(batch1), np.array(batch2)
            input1, input2 = [], []
    ### BLANK
    # order = list(range(len(Q1)))
    # if shuffle:
    #     None  # shuffle `order`, in place
    # place = 0  # in `order`, of the next pair
    # input1, input2 = [], []
    # while True:
    #     if place >= len(order):  # the pass is over
    #         place = None
    #         if shuffle:
    #             None
    #     input1.append(None)
    #     input2.append(None)
    #     place += 1
    #     if len(input1) == batch_size:
    #         longest = None  # among both sides
    #         length = None  # the power of two at or above it: np.log2, np.ceil
    #         batch1 = None  # each question of input1, filled up with pad
    #         batch2 = None
    #         yield np.array(batch1), np.array(batch2)
    #         input1, input2 = None, None
    ### END SOLUTION


# %%
need(data_generator)
q1, q2 = next(data_generator(train_Q1, train_Q2, batch_size=4, shuffle=False))
print("shapes:", q1.shape, q2.shape)
print(q1)

# %% check="data_generator" points=10
score = checks.check_data_generator(data_generator)
score.mark  # of 10

# %% [markdown]
# ### How much of a batch is padding?
#
# The first batch of 128 pairs as the network will see it, one question in each row. A row is as long as the batch's longest question
# needs. In a longer batch the same question has more padding, and the network reads all of it (notebook 7 shows what that does).

# %% hidden=true alt="Left: bars of how many training questions have 3 to 32 words; most have 8 to 15. Right: the first 40 questions of a batch as rows of squares, dark for a word and pale for padding; the right half is almost all padding."
# @title Picture: words and padding
need(data_generator)
lengths = [len(question) for question in train_Q1 + train_Q2]
q1, q2 = next(data_generator(train_Q1, train_Q2, BATCH_SIZE, vocab["<PAD>"], shuffle=False))
is_word = np.concatenate([q1, q2]) != vocab["<PAD>"]
with new_picture(6.4, 3.4) as figure:
    left, right = figure.subplots(1, 2)
    left.hist(lengths, np.arange(0.5, max(lengths) + 1), color=DARK)
    left.set(title="Questions", xlabel="words", ylabel="training questions")
    right.imshow(is_word[:40], cmap="Blues", vmin=-0.2, vmax=1.6, aspect="auto")
    right.grid(False)
    right.set(
        title=f"A batch: {1 - is_word.mean():.0%} is padding", xlabel="position", ylabel="row"
    )
figure

# %% [markdown]
# ## Part 3: the network (20 minutes)
#
# One **tower** turns a question into a vector:
#
# * `tl.Embedding(vocab_size, d_model)`: each word number becomes a vector; `[batch, length, d_model]`
# * `tl.LSTM(d_model)`: reads them in order, and gives its state after each word; the same shape
# * `tl.Mean(axis=1)`: the average over the words; `[batch, d_model]`
# * `tl.Fn("Normalize", ...)`: divides each row by its length, so that cosines are dot products
#
# *Siamese* means that both questions go through **the same** tower: `tl.Parallel(tower, tower)`, one object twice (Bromley et al., 1993,
# made the first such network, to compare signatures). Two towers made separately would learn two different languages.
#
# **Exercise 2: `Siamese`.** Write the tower's layers, and the network of two towers.


# %% exercise="Siamese"
def Siamese(vocab_size=41699, d_model=128, mode="train"):
    """The siamese network.

    Args:
      vocab_size: rows of the embedding.
      d_model: size of the word vectors, of the LSTM's state and of the question vectors.
      mode: 'train', 'eval' or 'predict'; makes no difference here.

    Returns:
      A Trax layer: (q1, q2), int [batch, length] each, to (v1, v2), float [batch, d_model] each.
    """

    ### BEGIN SOLUTION
    def normalize(x):  # [batch, d_model]
        return x / fastnp.sqrt(fastnp.sum(x * x, axis=-1, keepdims=True))

    tower = tl.Serial(
        tl.Embedding(vocab_size, d_model),
        tl.LSTM(d_model),
        tl.Mean(axis=1),
        tl.Fn("Normalize", lambda x: normalize(x)),
    )
    model = tl.Parallel(tower, tower)
    ### BLANK
    # def normalize(x):  # [batch, d_model]
    #     return None  # with fastnp, Trax's numpy: keepdims=True keeps the rows apart
    #
    # tower = tl.Serial(
    #     None,  # the embedding
    #     None,  # the LSTM
    #     None,  # the mean over the words: which axis?
    #     None,  # tl.Fn("Normalize", lambda x: normalize(x))
    # )
    # model = None  # the same tower for both questions
    ### END SOLUTION
    return model


# %%
need(Siamese)
print(Siamese())

# %% check="Siamese" points=10
score = checks.check_siamese(Siamese)
score.mark  # of 10

# %% [markdown]
# ## Part 4: the loss (35 minutes)
#
# It is your `modified_loss` of notebook 2: masked closest negative, summed over the rows. Two things are new. It starts from the vectors,
# which have length 1 already, so $S = V_1 V_2^\top$. And it is written with `fastnp`, so that Trax can compile it and take its gradient.
#
# $$\mathcal L = \sum_i \max(\mathrm{mean\_neg}_i - S_{ii} + \alpha, 0) + \max(\mathrm{closest\_neg}_i - S_{ii} + \alpha, 0)$$
#
# **Exercise 3: `TripletLossFn`.** Write it. As the closest negative of a row, take the largest entry off the diagonal that does not
# exceed the row's positive.


# %% exercise="TripletLossFn"
def TripletLossFn(v1, v2, margin=0.25):
    """The triplet loss with the mean and the closest negative of each row.

    Args:
      v1: float [batch, d_model], rows of length 1.
      v2: float [batch, d_model]; row i is the duplicate of row i of v1.
      margin: how much more similar a duplicate has to be than a negative.

    Returns:
      A number: the sum over the rows.
    """
    ### BEGIN SOLUTION
    scores = fastnp.dot(v1, v2.T)  # [batch, batch]
    batch_size = len(scores)
    positive = fastnp.diagonal(scores)  # [batch]
    negative = scores * (1.0 - fastnp.eye(batch_size))  # 0 on the diagonal
    mean_negative = fastnp.sum(negative, axis=1) / (batch_size - 1)  # [batch]
    left_out = (fastnp.eye(batch_size) == 1) | (scores > positive[:, None])  # [batch, batch]
    closest_negative = fastnp.max(fastnp.where(left_out, -2.0, scores), axis=1)  # [batch]
    loss1 = fastnp.maximum(mean_negative - positive + margin, 0.0)
    loss2 = fastnp.maximum(closest_negative - positive + margin, 0.0)
    loss = fastnp.sum(loss1 + loss2)
    ### BLANK
    # # Use fastnp: dot, diagonal, eye, where, max, sum, maximum.
    # scores = None  # [batch, batch]
    # batch_size = len(scores)
    # positive = None  # [batch]
    # negative = None  # scores, with 0 on the diagonal
    # mean_negative = None  # [batch]; how many negatives has a row?
    # left_out = None  # bool [batch, batch]: the diagonal, or above the row's positive
    # closest_negative = None  # [batch]
    # loss1 = None  # mean negative
    # loss2 = None  # closest negative
    # loss = None
    ### END SOLUTION
    return loss


# %%
need(TripletLossFn)
v1_two = np.array([[0.26726124, 0.53452248, 0.80178373], [-0.5178918, -0.57543534, -0.63297887]])
v2_two = np.array([[0.26726124, 0.53452248, 0.80178373], [0.5178918, 0.57543534, 0.63297887]])
loss, exchanged = float(TripletLossFn(v1_two, v2_two)), float(TripletLossFn(v2_two, v1_two))
print(f"{loss:.6f}, with the sides exchanged {exchanged:.6f}")

# %% [markdown]
# You should see 0.703508. The first pair is perfect, the second one exactly opposite.
#
# > **Box: which edition is this?** The course has changed its loss in two words, and its graders want different numbers here:
# >
# > | edition | closest negative | over the batch | these two pairs |
# > |---|---|---|---|
# > | Trax, 2020 to 2022 | hardest of all others | mean | 0.5 |
# > | **Trax, 2023: yours** | masked: none above the positive | sum | 0.703508 |
# > | TensorFlow, 2023 and later | masked | sum, on $V_2 V_1^\top$: rows are second questions | 2.203508 |
# >
# > (The TensorFlow assignment prints 0.703508 too: its cell has the minus sign in `v2`.)
# > The check accepts all three and says which one yours is. `siamese.edition(2022).TripletLossFn` is the first one. Notebook 6 keeps it,
# > because the forum's question was about it; notebook 7 shows how it collapses.

# %% check="TripletLossFn" points=10
score = checks.check_triplet_loss_fn(TripletLossFn)
score.mark  # of 10


# %% [markdown]
# ### Find the fault
#
# Five learners wrote this loss for a matrix `scores` and the margin 0.25. Each has one fault. The cell after them prints what each
# returns on the matrix of notebook 2, on its transpose and for equal vectors, beside the right loss. Read code and numbers together. Then
# write the letter's fault into `faults`: `"b instead of b - 1"`, `"no mask"`, `"margin outside"`, `"columns"` or `"broadcasting"`.


# %%
def loss_a(scores):
    positive, off = np.diag(scores), ~np.eye(len(scores), dtype=bool)
    mean = np.sum(scores * off, axis=1) / (len(scores) - 1)
    closest = np.max(np.where(off, scores, -2), axis=1)
    return np.sum(np.maximum(mean - positive + 0.25, 0) + np.maximum(closest - positive + 0.25, 0))


def loss_b(scores):
    positive, off = np.diag(scores), ~np.eye(len(scores), dtype=bool)
    mean = np.mean(scores * off, axis=1)
    closest = np.max(np.where(off & (scores <= positive[:, None]), scores, -2), axis=1)
    return np.sum(np.maximum(mean - positive + 0.25, 0) + np.maximum(closest - positive + 0.25, 0))


def loss_c(scores):
    positive, off = np.diag(scores), ~np.eye(len(scores), dtype=bool)
    mean = np.sum(scores * off, axis=1, keepdims=True) / (len(scores) - 1)
    closest = np.max(np.where(off & (scores <= positive[:, None]), scores, -2), axis=1)
    return np.sum(np.maximum(mean - positive + 0.25, 0) + np.maximum(closest - positive + 0.25, 0))


def loss_d(scores):
    positive, off = np.diag(scores), ~np.eye(len(scores), dtype=bool)
    mean = np.sum(scores * off, axis=0) / (len(scores) - 1)
    closest = np.max(np.where(off & (scores <= positive), scores, -2), axis=0)
    return np.sum(np.maximum(mean - positive + 0.25, 0) + np.maximum(closest - positive + 0.25, 0))


def loss_e(scores):
    positive, off = np.diag(scores), ~np.eye(len(scores), dtype=bool)
    mean = np.sum(scores * off, axis=1) / (len(scores) - 1)
    closest = np.max(np.where(off & (scores <= positive[:, None]), scores, -2), axis=1)
    return np.sum(np.maximum(mean - positive, 0) + np.maximum(closest - positive, 0) + 0.25)


# %%
matrix = np.array(
    [
        [0.9, -0.8, 0.3, -0.5],
        [-0.4, 0.5, 0.1, -0.1],
        [0.3, 0.1, -0.4, -0.8],
        [-0.5, -0.2, -0.7, 0.5],
    ]
)
print("loss       matrix    transposed  equal vectors")
right = functools.partial(loss_from_scores, reduction="sum")
for letter, loss in zip(("right", *"abcde"), (right, loss_a, loss_b, loss_c, loss_d, loss_e)):
    print(f"{letter:<5}", *(f"{loss(m):11.6f}" for m in (matrix, matrix.T, np.ones((4, 4)))))

# %% exercise="faults"
### BEGIN SOLUTION
faults = {
    "a": "no mask",
    "b": "b instead of b - 1",
    "c": "broadcasting",
    "d": "columns",
    "e": "margin outside",
}
### BLANK
# faults = {"a": None, "b": None, "c": None, "d": None, "e": None}
### END SOLUTION

# %% hidden=true
# @title The five faults
need(*faults.values())
find_faults(
    faults,
    {
        "a": (
            "no mask",
            "compare its first number with the right one: which row can make it larger?",
            "row 2 has negatives above its positive",
            "Row 2 takes 0.3, which lies above its positive: the hardest negative.",
        ),
        "b": (
            "b instead of b - 1",
            "look at equal vectors: what should each mean be there, and what is it?",
            "how many numbers does np.mean divide by?",
            "np.mean also counts the 0 on the diagonal: equal vectors cost less than 2.",
        ),
        "c": (
            "broadcasting",
            "equal vectors cost 8: how many numbers of 0.5 make 8?",
            "which shape has mean, and which has positive?",
            "keepdims makes the mean a column, and the sum runs over 4 x 4 numbers.",
        ),
        "d": (
            "columns",
            "compare its first two numbers with those of the right loss",
            "which axis runs along a row?",
            "Its first two numbers are the right ones exchanged: axis 0 runs down a column.",
        ),
        "e": (
            "margin outside",
            "what does a row cost that is right already?",
            "where does the 0.25 stand, and where does the formula have it?",
            "A row that is right already still costs the margin.",
        ),
    },
)


# %%
def TripletLoss(margin=0.25):
    """The loss as a Trax layer."""
    return tl.Fn("TripletLoss", functools.partial(TripletLossFn, margin=margin))


# %% [markdown]
# ## Part 5: training (25 minutes)
#
# Trax divides the work: a `training.TrainTask` says what to learn (batches, loss, optimizer, learning rate), a `training.EvalTask` what
# to measure, and a `training.Loop` does it, step by step.
#
# The learning rate first rises for 400 steps to 0.01 (the *warm-up*) and then falls with the square root of the step:
# `trax.lr.warmup_and_rsqrt_decay(400, 0.01)`.
#
# **Exercise 4: `train_model`.** Both `Siamese` and `TripletLoss` arrive as *functions*: call them to make the layers. The `random_seed`
# makes every run start from the same weights.


# %% exercise="train_model"
def train_model(Siamese, TripletLoss, train_generator, val_generator, output_dir="model/"):
    """Makes the training loop; the caller runs it.

    Args:
      Siamese: function that makes the model.
      TripletLoss: function that makes the loss layer.
      train_generator: batches to train on.
      val_generator: batches to evaluate on.
      output_dir: where Trax puts checkpoints.

    Returns:
      A trax.supervised.training.Loop.
    """
    output_dir = os.path.expanduser(output_dir)
    ### BEGIN SOLUTION
    schedule = trax.lr.warmup_and_rsqrt_decay(400, 0.01)
    train_task = training.TrainTask(
        labeled_data=train_generator,
        loss_layer=TripletLoss(),
        optimizer=trax.optimizers.Adam(0.01),
        lr_schedule=schedule,
    )
    eval_task = training.EvalTask(labeled_data=val_generator, metrics=[TripletLoss()])
    training_loop = training.Loop(
        Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir, random_seed=34
    )
    ### BLANK
    # schedule = None
    # train_task = training.TrainTask(
    #     labeled_data=None,
    #     loss_layer=None,
    #     optimizer=None,  # trax.optimizers.Adam(0.01)
    #     lr_schedule=None,
    # )
    # eval_task = training.EvalTask(labeled_data=None, metrics=None)  # metrics is a list
    # training_loop = training.Loop(
    #     None, None, eval_tasks=None, output_dir=output_dir, random_seed=34
    # )
    ### END SOLUTION
    return training_loop


# %% [markdown]
# The first ten steps of your own model. **Guess before you run:** what is the loss per pair (the loss divided by the batch) as
# long as the network gives all questions nearly the same vector?

# %% guess=true
guess("plateau", 0.0)  # a number

# %%
need(data_generator, Siamese, TripletLossFn, train_model)
random.seed(34)
train_generator = data_generator(train_Q1, train_Q2, BATCH_SIZE, vocab["<PAD>"])
val_generator = data_generator(val_Q1, val_Q2, BATCH_SIZE, vocab["<PAD>"])
model_dir = tempfile.TemporaryDirectory()  # goes away with the notebook; "model/" keeps it
my_model = Siamese(len(vocab) + 1, D_MODEL)  # + 1: numbers begin at 0
with contextlib.suppress(siamese.ArgumentError):  # layers of your own: then it takes twice as long
    siamese.fast_forward(my_model)  # the same vectors in half the time
loop = train_model(lambda: my_model, TripletLoss, train_generator, val_generator, model_dir.name)


def compiled(model):
    """The model compiled, NumPy arrays in and out: the same numbers in less time."""
    run = trax.fastmath.jit(
        lambda weights, pair: model.pure_fn(pair, weights, model.state, None)[0]
    )
    return lambda pair: [np.asarray(v) for v in run(model.weights, pair)]


trained_model = compiled(loop.eval_model)
watched = {"training": next(train_generator), "validation": next(val_generator)}  # a batch of each
history = {name: [] for name in watched}


def watch():
    """Notes the loss per pair of both batches; the mean cosine of different questions."""
    for name, batch in watched.items():
        v1, v2 = trained_model(batch)
        history[name].append((loop.step, float(TripletLossFn(v1, v2)) / BATCH_SIZE))
    return (v1 @ v2.T)[~np.eye(BATCH_SIZE, dtype=bool)].mean()


for step in range(1, 11, 3):
    loop.run(step - loop.step)
    different = watch()
    pair = history["validation"][-1][1]
    print(
        f"step {loop.step:2}: loss per pair {pair:.3f}, mean cosine of different questions {different:.3f}"
    )
compare(
    "plateau",
    f"{pair:.2f}",
    "Mean and closest negative are as similar as the positive, so each of the two hinges is the margin: 2 x 0.25.",
)

# %% check="train_model" points=10
score = checks.check_train_model(train_model)
score.mark  # of 10

# %% [markdown]
# ### Why it hardly learns, and what happens then
#
# Nothing is wrong with your code. Trax's LSTM starts with a bias of 1 not only on its forget gate, where that is meant to be, but on all
# its gates (notebook 3), so that at first all questions have nearly the same vector. It recovers, but that takes hundreds of steps.
#
# Go on with the same loop, until step 600 is passed. **This takes about a minute.** (Trax prints its own line every hundred steps: the loss of a whole
# batch, summed.)

# %%
need(data_generator, Siamese, TripletLossFn, train_model)
cosines_of_different = {}
while loop.step < STEPS:
    loop.run(20)
    cosines_of_different[loop.step] = watch()
for name, curve in history.items():
    print(f"{name:<11} loss per pair at step {curve[-1][0]}: {curve[-1][1]:.3f}")

# %% alt="Two curves of the loss per pair of your own model, for training and validation. Both stay on a dotted line at 0.5 to about step 70, fall to a plateau at 0.25, stay there to about step 310, and then fall to a few hundredths, training below validation."
need(data_generator, Siamese, TripletLossFn, train_model)
plot_losses(history, margin=0.25)

# %% [markdown]
# The curve has two stairs. First all vectors are nearly equal: both hinges cost the margin, 0.5 together. As soon as the vectors differ a little,
# the mask leaves out the negatives above the positive: the closest negative that is left lies below it, and only the mean negative still
# costs the margin. That is the long plateau at 0.25. Then the questions separate, and the loss falls to a few hundredths.
#
# > **Box: a better start.** `siamese.Siamese` has the same layers as your model and an option to start the bias on the forget gate alone.
# > Such a model has no plateau. We train one for 200 steps, to stand beside yours (15 seconds).

# %%
need(data_generator, Siamese, TripletLossFn, train_model)
library_model = siamese.Siamese(len(vocab) + 1, D_MODEL, lstm_bias="forget_gate")
siamese.fast_forward(library_model)
library_dir = tempfile.TemporaryDirectory()
library_loop = train_model(
    lambda: library_model, TripletLoss, train_generator, val_generator, library_dir.name
)
with contextlib.redirect_stdout(io.StringIO()):  # Trax prints a line each hundred steps
    library_loop.run(STEPS // 3)
library_model = compiled(library_loop.eval_model)
losses = {}
for name, model in (("your model", trained_model), ("the library's", library_model)):
    losses[name] = float(TripletLossFn(*model(watched["validation"]))) / BATCH_SIZE
    print(f"{name:<14} validation loss per pair {losses[name]:.3f}")

# %% [markdown]
# ### Change this, and predict: the margin
#
# A row teaches the network something only while one of its hinges is above 0. With a larger margin more rows cost something. **Predict
# first:** at the margin 0.25, what share of the rows of a validation batch still costs something to your trained model? And at 0.6? Write
# another number into `my_margin`, and look where it is on the curve.

# %%
my_margin = 0.25  # change this

# %% hidden=true alt="The share of rows that still cost something against the margin, from 0 to 1, for the batch of training and that of validation. Both curves rise, validation above training, and both reach 1 before the margin is 1. A dot marks the chosen margin."
# @title Picture: how many rows still teach
need(data_generator, Siamese, TripletLossFn, train_model)
margins = np.linspace(0, 1, 41)


def teaching_rows(batch, margin):
    """The share of rows with a loss above 0."""
    v1, v2 = trained_model(batch)
    return np.mean(loss_from_scores(v1 @ v2.T, margin=margin, reduction="none") > 0)


with new_picture(4.8, 3.6) as figure:
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=[DARK, LIGHT], linestyle=["-", "--"])
    for name, batch in watched.items():
        axes.plot(margins, [teaching_rows(batch, margin) for margin in margins], label=name)
        axes.plot(my_margin, teaching_rows(batch, my_margin), "o", color="black", markersize=5)
        print(
            f"{name:<11} {teaching_rows(batch, my_margin):.2f} of the rows cost something at {my_margin}"
        )
    axes.set(
        title="Rows that still teach", xlabel="margin", ylabel="share of the rows", ylim=(0, 1.02)
    )
    figure.legend(loc="outside lower center", ncols=2)
figure

# %% [markdown]
# What has changed? Here are the vectors of a few groups of questions that mean the same, before and after, projected on their first two
# principal components:


# %% hidden=true alt="Two panels of points, a colour and shape for each of six groups of questions. Before training all points are on one spot; after it each group is together, and some groups are near each other."
# @title Picture: the vectors before and after
need(data_generator, Siamese, TripletLossFn, train_model)


def vectors_of(model, questions):
    ids = as_ids(questions)
    q1, _ = next(data_generator(ids, ids, len(ids), vocab["<PAD>"], shuffle=False))
    return np.asarray(model((q1, q1))[0])


untrained = Siamese(len(vocab) + 1, D_MODEL)
untrained.init(trax.shapes.signature(watched["validation"]))
joined = clusters(test_pairs)  # questions joined by their labels
largest = np.argsort(-joined.sizes, kind="stable")[:6]
groups = [[q for q, c in zip(joined.questions, joined.question_cluster) if c == g] for g in largest]
questions = [question for group in groups for question in group]
panels = {
    "before training": vectors_of(compiled(untrained), questions),
    "after": vectors_of(trained_model, questions),
}
looks = (DARK, "o"), (LIGHT, "s"), (GREY, "^"), (RED, "D"), ("#2e8b57", "v"), ("#8e5ea2", "P")
planes = {title: PCA(2).fit_transform(vectors) for title, vectors in panels.items()}
group_of = np.repeat(range(6), [len(group) for group in groups])
with new_picture(4.9, 4.5) as figure:
    both = figure.subplots(1, 2, sharex=True, sharey=True)
    for axes, (title, plane) in zip(both, planes.items()):
        for place, (group, (colour, mark)) in enumerate(zip(groups, looks)):
            name = textwrap.fill(group[0], 56).replace("$", r"\$")
            points = plane[group_of == place].T
            axes.plot(*points, mark, color=colour, alpha=0.75, markeredgecolor="white", label=name)
        axes.set_box_aspect(1)
        axes.set(title=title, xlabel="1st component")
    both[0].set(ylabel="2nd principal component")
    figure.legend(*both[0].get_legend_handles_labels(), loc="outside lower center")
figure

# %% [markdown]
# ## Part 6: how good is it? (25 minutes)
#
# The test pairs are of both kinds. Two questions count as duplicates when the cosine of their vectors is **above** the threshold. The
# accuracy is the share of right answers, of "yes" and "no" alike.
#
# **Exercise 5: `classify`.** Go batch by batch, in order. The last batch may be short: ask the generator for as many pairs as there are.


# %% exercise="classify"
def classify(
    test_Q1, test_Q2, y, threshold, model, vocab, data_generator=data_generator, batch_size=64
):
    """The accuracy of a model on labelled pairs.

    Args:
      test_Q1: list of lists of word numbers.
      test_Q2: list of lists.
      y: for each pair 1 or True if it is a duplicate.
      threshold: a pair counts as a duplicate where its dot product is above it.
      model: takes (q1, q2) and returns (v1, v2).
      vocab: word -> number; has '<PAD>'.
      data_generator: makes the batches.
      batch_size: pairs in a batch.

    Returns:
      The share of right answers, from 0 to 1.
    """
    ### BEGIN SOLUTION
    right = 0
    for start in range(0, len(test_Q1), batch_size):
        part1 = test_Q1[start : start + batch_size]
        part2 = test_Q2[start : start + batch_size]
        y_part = y[start : start + batch_size]
        q1, q2 = next(data_generator(part1, part2, len(part1), vocab["<PAD>"], shuffle=False))
        v1, v2 = model((q1, q2))
        for j in range(len(part1)):
            cosine = np.dot(v1[j], v2[j])
            right += int((cosine > threshold) == y_part[j])
    accuracy = right / len(test_Q1)
    ### BLANK
    # right = 0
    # for start in range(0, len(test_Q1), batch_size):
    #     part1 = test_Q1[start : start + batch_size]
    #     part2 = None
    #     y_part = None
    #     q1, q2 = next(data_generator(part1, part2, None, None, shuffle=None))
    #     v1, v2 = None  # the model takes a pair
    #     for j in range(len(part1)):
    #         cosine = None  # of row j and row j
    #         right += None  # 1 if the answer is the label, otherwise 0
    # accuracy = None
    ### END SOLUTION
    return accuracy


# %% [markdown]
# **Guess before you run.** Always answering "no" is right for 63 % of the test pairs. How often is your model right at the threshold 0.7?

# %% guess=true
guess("accuracy", 0.95)  # a share, from 0 to 1

# %%
need(classify, data_generator, Siamese, TripletLossFn, train_model)
accuracy = classify(test_Q1, test_Q2, y_test, 0.7, trained_model, vocab, batch_size=256)
print(f"accuracy at the threshold 0.7: {accuracy:.3f}")
print(f"always saying no:              {1 - y_test.mean():.3f}")
library_accuracy = classify(test_Q1, test_Q2, y_test, 0.7, library_model, vocab, batch_size=256)
print(f"the library's model:           {library_accuracy:.3f}")
print("the course, on its own test pairs: 0.691, always saying no 0.623")
compare(
    "accuracy",
    f"{accuracy:.3f}",
    "Many of the test's other pairs differ from a duplicate in one word, and the training saw no such pair as a negative.",
)

# %% check="classify" points=10
score = checks.check_classify(classify)
score.mark  # of 10

# %% [markdown]
# One number says little. The cosines themselves show what the model does with the two kinds of pairs:

# %% alt="Two panels of histograms of the cosine. Above, as shares of each class: the duplicates gather between 0.7 and 1, the other pairs are spread evenly from -0.3 to 1. Below, as numbers of pairs: right of the threshold 0.7 every bar has more duplicates than others, but never four times as many."
need(data_generator, Siamese, TripletLossFn, train_model)
cosines = siamese.pair_scores(test_Q1, test_Q2, trained_model, vocab)
plot_scores(cosines, y_test, threshold=0.7)

# %% [markdown]
# Notebook 4 is about the threshold: why 0.7, and how to choose a better one.
#
# ### The worst mistakes
#
# An accuracy says how often a model is wrong, and not where. Read the ten **false alarms** with the highest cosine (the model says
# "duplicates", the label says no) and the ten **misses** with the lowest (the label says yes). Before you open the answer: *what do most
# false alarms have in common, and could the training have taught the model better?*

# %%
need(data_generator, Siamese, TripletLossFn, train_model)
false_alarms = np.flatnonzero((cosines > 0.7) & ~y_test)
misses = np.flatnonzero((cosines <= 0.7) & y_test)
for name, rows, order in (("false alarms", false_alarms, -cosines), ("misses", misses, cosines)):
    print(f"{len(rows)} {name}; the ten worst:")
    for i in rows[np.argsort(order[rows], kind="stable")[:10]]:
        print(f"  {cosines[i]:5.2f}  {test_pairs.question1[i]}\n         {test_pairs.question2[i]}")
    print()

# %% [markdown]
# <details><summary>What the false alarms have in common</summary>
#
# They share nearly all their words and differ in one that decides: "should" and "shouldn't", "for" and "against". The training never saw
# such a pair as a negative: a batch holds questions about unrelated things, and its negatives are easy. Labelled pairs of both kinds, or a
# comparison of the words themselves, help: notebook 8 tries both. The misses are two wordings with hardly a word in common.
# </details>
#
# ### Change this, and predict: the threshold
#
# **Predict first:** you move the threshold from 0.7 to 0.8. Do the false alarms fall by more, or do the misses rise by more?

# %%
my_threshold = 0.8  # change this

# %% hidden=true alt="Two curves against the threshold: the false alarms fall from a thousand to 0, the misses rise from a few to hundreds. They cross between 0.7 and 0.8. Vertical lines mark 0.7 and the chosen threshold."
# @title Picture: false alarms and misses at every threshold
need(data_generator, Siamese, TripletLossFn, train_model)
cuts = np.linspace(0, 1, 201)
alarms_at = np.array([np.sum((cosines > cut) & ~y_test) for cut in cuts])
misses_at = np.array([np.sum((cosines <= cut) & y_test) for cut in cuts])
for cut in (0.7, my_threshold):
    place = np.argmin(abs(cuts - cut))
    print(f"threshold {cut}: {alarms_at[place]} false alarms, {misses_at[place]} misses")
with new_picture(4.8, 3.6) as figure:
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=[DARK, LIGHT], linestyle=["-", "--"])
    axes.plot(cuts, alarms_at, label="false alarms")
    axes.plot(cuts, misses_at, label="misses")
    for cut in (0.7, my_threshold):
        axes.axvline(cut, color=GREY, linewidth=0.9)
    axes.set(title="Both mistakes", xlabel="threshold", ylabel="test pairs")
    figure.legend(loc="outside lower center", ncols=2)
figure

# %% [markdown]
# A batch of the test's duplicates, as the loss sees it: the positives on the diagonal, and the negatives that come closest.

# %% alt="A similarity matrix of six duplicates of the test with the questions written beside it: the largest value of each row is on the diagonal, and a dashed box stands around each row's closest negative."
need(data_generator, Siamese, TripletLossFn, train_model)
some = np.flatnonzero(y_test)[:6]
q1, q2 = next(
    data_generator([test_Q1[i] for i in some], [test_Q2[i] for i in some], 6, shuffle=False)
)
v1, v2 = trained_model((q1, q2))
plot_similarity_matrix(
    v1 @ v2.T,
    closest="semi_hard",
    rows=[test_pairs.question1[i] for i in some],
    columns=[test_pairs.question2[i] for i in some],
)

# %% [markdown]
# ## Part 7: your own questions (15 minutes)
#
# **Exercise 6: `predict`.** Text in, answer out. There are two traps: unknown words must be 0 **without entering the vocabulary**, and
# the generator takes a *list* of questions, even for one.


# %% exercise="predict"
def predict(
    question1, question2, threshold, model, vocab, data_generator=data_generator, verbose=False
):
    """Whether two questions are duplicates.

    Args:
      question1: text.
      question2: text.
      threshold: duplicates have a cosine above it.
      model: takes (q1, q2) and returns (v1, v2).
      vocab: word -> number; has '<PAD>'.
      data_generator: pads the two questions.
      verbose: print the cosine.

    Returns:
      True or False.
    """
    ### BEGIN SOLUTION
    ids1 = [vocab.get(word, 0) for word in word_tokenize(question1)]
    ids2 = [vocab.get(word, 0) for word in word_tokenize(question2)]
    q1, q2 = next(data_generator([ids1], [ids2], 1, vocab["<PAD>"], shuffle=False))
    v1, v2 = model((q1, q2))
    cosine = np.dot(v1[0], v2[0])
    answer = bool(cosine > threshold)
    ### BLANK
    # ids1 = None  # the numbers of its words, from word_tokenize
    # ids2 = None
    # q1, q2 = next(data_generator(None, None, 1, None, shuffle=False))
    # v1, v2 = None
    # cosine = None
    # answer = None  # True or False
    ### END SOLUTION
    if verbose:
        print(f"cosine {cosine:.3f}: {'duplicates' if answer else 'not duplicates'}")
    return answer


# %%
need(predict, data_generator, Siamese, TripletLossFn, train_model)
for question1, question2 in (
    ("How do I learn Spanish quickly?", "What's the fastest way to learn Spanish?"),
    ("How do I learn Spanish quickly?", "How do I learn French quickly?"),
    ("How do I learn Spanish quickly?", "What is a good recipe for pancakes?"),
):
    print(question1, "|", question2)
    predict(question1, question2, 0.7, trained_model, vocab, verbose=True)

# %% check="predict" points=10
score = checks.check_predict(predict)
score.mark  # of 10

# %%
need(predict, data_generator, Siamese, TripletLossFn, train_model)
before = len(vocab)
predict("Do zebras like jazz?", "Are zebras fond of jazz?", 0.7, trained_model, vocab, verbose=True)
assert len(vocab) == before, "a word has entered the vocabulary"
# Your turn: ask your own.

# %% [markdown]
# Words that training has not seen are all 0 to this model. Of a question about an unknown subject it sees little, and its answer is worth
# little. It answers all the same: nothing in the cosine says that the words were unknown.
#
# ## Part 8: three tasks (20 minutes)
#
# **Task 1: a blank.** How many numbers does training change? The embedding has a row of `D_MODEL` numbers for each word number. The LSTM
# multiplies the word's vector and its own state, $2d$ numbers, by a matrix for each of its four gates, and adds a bias.

# %% exercise="n_weights"
### BEGIN SOLUTION
n_weights = (len(vocab) + 1) * D_MODEL + 2 * D_MODEL * 4 * D_MODEL + 4 * D_MODEL
### BLANK
# n_weights = None
### END SOLUTION

# %%
need(n_weights, data_generator, Siamese, TripletLossFn, train_model)
in_the_model = sum(
    weights.size for weights in trax.fastmath.tree_flatten(my_model.weights) if weights.size
)
print(f"you: {n_weights:,}; in the model: {in_the_model:,}")

# %% [markdown]
# **Task 2: no scaffold.** Write `nearest(question, questions)`: the question of a list whose vector is most similar to that of
# `question`. It must run the network once for the list, not once for each pair.


# %% exercise="nearest"
### BEGIN SOLUTION
def nearest(question, questions):
    ids = as_ids([question, *questions])
    q1, _ = next(data_generator(ids, ids, len(ids), vocab["<PAD>"], shuffle=False))
    vectors = trained_model((q1, q1))[0]
    return questions[int(np.argmax(vectors[1:] @ vectors[0]))]


### BLANK
# nearest = None
### END SOLUTION

# %%
need(nearest, data_generator, Siamese, TripletLossFn, train_model)
for i in np.flatnonzero(y_test)[:3]:
    print(
        test_pairs.question1[i],
        "->",
        nearest(test_pairs.question1[i], list(test_pairs.question2[:200])),
    )

# %% [markdown]
# **Task 3: explain the picture** (3 points, graded by your teacher). Look at the two histograms of part 6, shares above and pairs below. A
# help desk merges two tickets when the model says "duplicate". A wrong merge costs ten times as much as a missed one. Would you move the
# threshold up or down from 0.7, and how do you read off the picture how far? What does your choice do to the accuracy? (Open the cell
# below your answer after you have written it.)

# %% [markdown] answer="threshold" points=3
# Up: a wrong merge is a pair of the other kind above the threshold. In the lower panel, which counts pairs, the others to the right of the
# threshold cost ten each, and the duplicates to its left one each. Moving the threshold up by one bar pays as long as the others in that
# bar, times ten, are more than its duplicates. In no bar are the duplicates ten times as many as the others, at most about three times: so
# the threshold goes up to the end, and merging nothing by itself is cheapest. The model should only *propose* merges. (With a cost of one to
# one the best place is where both bars are equally high, near 0.7.) The accuracy counts both mistakes alike: it falls from there on, to
# that of always saying no.
#
# *Rubric, 1 point each: up, because wrong merges are the others above the threshold; weighs the pairs in the bars, ten to one, and says how
# far that leads; the accuracy counts both mistakes alike, so its best place is another one.*

# %% hidden=true
# @title The costs, counted (open this cell after you have answered)
need(data_generator, Siamese, TripletLossFn, train_model)
for cut in (0.7, 0.8, 0.9, 0.95, 1.0):
    wrong, missed = np.sum((cosines > cut) & ~y_test), np.sum((cosines <= cut) & y_test)
    right = np.mean((cosines > cut) == y_test)
    print(
        f"threshold {cut:.2f}: 10 x {wrong:3} + {missed:3} = {10 * wrong + missed:5}, accuracy {right:.3f}"
    )
for low, high in ((0.7, 0.8), (0.8, 0.9), (0.9, 1.0)):
    inside = (cosines > low) & (cosines <= high)
    print(
        f"from {low} to {high}: {np.sum(inside & y_test)} duplicates, {np.sum(inside & ~y_test)} others"
    )

# %% [markdown]
# ## Key points
#
# * Batches of duplicates supply their own negatives: row $i$ against all other rows.
# * The loss of 2023 masks the closest negative and sums; a pair costs two margins while all vectors are equal.
# * Both questions go through one tower. Equal settings do not make two towers one.
# * Unknown words are 0 and must not enter the vocabulary.
#
# The course trained the same thing for some thousand steps on 300,000 rows of Quora's file and published an accuracy of 0.691 (always
# saying no: 0.623). With Quora's file in `QUESTIONS` and more `STEPS` you can compare.
#
# ### Questions
#
# <details><summary>Why do only duplicates train?</summary>
# The negatives are the other rows of a batch.
# </details>
# <details><summary>Why powers of two?</summary>
# A program is compiled for each length; there are few powers of two.
# </details>
# <details><summary>A pair costs 0.5, or 0.25, for hundreds of steps. Is the code wrong?</summary>
# Not if the cosines of different questions are near 1: the vectors are still (nearly) equal.
# </details>
# <details><summary>What does the model answer for words it has never seen?</summary>
# Something. Nothing in the cosine says that they were unknown.
# </details>
#
# Next: what columns add to rows (notebook 6), what goes wrong and how you see it (7), and what comes after the course (8).
#
# ## Appendix: the loss in the TensorFlow edition (optional)
#
# Since 2023 the course also teaches this assignment in TensorFlow. Its loss is the same formula on another matrix: $V_2 V_1^\top$, so that
# **rows are second questions**. Its `TripletLoss(labels, out, margin)` gets both vectors of a pair in one row of `out`, and does not use
# the labels. This part runs where TensorFlow is installed; nothing else here needs it, and it earns no points.
#
# **Exercise: `triplet_loss_of_tensorflow`.** Write it with `tf.linalg.matmul(..., transpose_b=True)`, `tf.linalg.diag_part`, `tf.eye`,
# `tf.where`, `tf.reduce_sum` and `tf.reduce_max`.

# %%
tf = None
if importlib.util.find_spec("tensorflow") is None:
    print("TensorFlow is not installed: the cells of this appendix do nothing.")
else:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    import tensorflow as tf


# %% exercise="triplet_loss_of_tensorflow"
def triplet_loss_of_tensorflow(v1, v2, margin=0.25):
    """`TripletLossFn` of the TensorFlow edition: rows are second questions.

    Args:
      v1: tensor, float [batch, d_model], rows of length 1.
      v2: tensor, float [batch, d_model]; row i is the duplicate of row i of v1.
      margin: how much more similar a duplicate has to be than a negative.

    Returns:
      A tensor, one number: the sum over the rows.
    """
    ### BEGIN SOLUTION
    scores = tf.linalg.matmul(v2, v1, transpose_b=True)  # [batch, batch]
    batch_size = scores.shape[0]
    positive = tf.linalg.diag_part(scores)  # [batch]
    mean_negative = (tf.reduce_sum(scores, axis=1) - positive) / (batch_size - 1)
    left_out = (tf.eye(batch_size) == 1) | (scores > tf.expand_dims(positive, 1))
    lowest = tf.cast(-2.0, scores.dtype)
    closest_negative = tf.reduce_max(tf.where(left_out, lowest, scores), axis=1)
    loss1 = tf.maximum(mean_negative - positive + margin, 0.0)
    loss2 = tf.maximum(closest_negative - positive + margin, 0.0)
    loss = tf.reduce_sum(loss1 + loss2)
    ### BLANK
    # scores = None  # [batch, batch]: rows are second questions
    # batch_size = scores.shape[0]
    # positive = None  # [batch]
    # mean_negative = None
    # left_out = None  # bool [batch, batch]
    # closest_negative = None  # tf.where, tf.reduce_max
    # loss = None
    ### END SOLUTION
    return loss


# %%
need(triplet_loss_of_tensorflow)


def TripletLoss_of_tensorflow(labels, out, margin=0.25):
    """The loss as Keras calls it: a row of `out` holds both vectors of a pair."""
    v1, v2 = tf.split(out, 2, axis=1)
    return triplet_loss_of_tensorflow(v1, v2, margin)


if tf is not None:
    score = checks.check_triplet_loss_fn(triplet_loss_of_tensorflow)
    out = tf.concat([tf.constant(v1_two), tf.constant(v2_two)], axis=1)
    print(f"the two pairs of part 4: {float(TripletLoss_of_tensorflow(None, out)):.6f}")

# %% [markdown]
# You should see 2.203508, the last line of the box in part 4. The check of `TripletLossFn` takes this function, too, and says which
# edition it is.
