# %% [markdown]
# # 8. Beyond the course
#
# > *I signed up but never got the confirmation email. What should I do?*
# >
# > *no confirmaton mail after registering, can you resend it?*
#
# **A help desk gets such questions every day. What can it do with your model?** The assignment ends with an accuracy. This notebook goes
# on:
#
# | section | | minutes |
# |---|---|---|
# | 1 | why `siamese train`'s preset `lstm` leaves the triplet loss: **in-batch softmax** and labelled pairs | 12 |
# | 2 | **probabilities** that you can trust | 12 |
# | 3 | **search**: which of thousands of questions has been asked before? | 8 |
# | 4 | **groups**: which questions of a collection belong together? | 6 |
# | 5 | **one-shot classes**: sort questions into classes given by one example each | 12 |
# | 6 | the same tower in Keras | 3 |
# | 7 | three tasks | 12 |

# %% setup=true

# %% hidden=true
# @title Imports
import importlib.util
import os

import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics import roc_curve

import siamese
from siamese import checks
from siamese.course.loss import loss_from_scores
from siamese.teaching.lesson import compare, guess, need
from siamese.teaching.plots import DARK, GREY, LIGHT, new_picture

siamese.enable_compile_cache()  # so that the next run need not compile again
siamese.keep_memory()  # so that each step does not ask the system for it again
np.set_printoptions(precision=3, suppress=True)

# %%
QUESTIONS = None  # path of Quora's questions.csv, or None for the embedded corpus
STEPS = 120  # training steps; on Quora's file 1000 and more
SEEDS = (34, 35, 36)

# %%
if QUESTIONS is None:
    corpus = siamese.embedded_corpus()
    train, valid, test = corpus.train, corpus.valid, corpus.test
else:
    train, valid, test = siamese.read_pairs(QUESTIONS).split_by_cluster([0.8, 0.1, 0.1])
print(
    f"{len(train):,} pairs to train on, {len(valid):,} to choose and to calibrate with, {len(test):,} to test"
)

# %% [markdown]
# ## 1. In-batch softmax, and the pairs that the course throws away (12 minutes)
#
# The preset `lstm` of `siamese train` does not use the course's loss. Why not? The triplet loss reads two numbers of each row, its mean
# and its closest negative, and a row whose hinges are both 0 teaches nothing more. Another loss asks each question to *find* its
# duplicate among all questions of the other side: a softmax over the row, with the positive as the right class and a temperature $t$.
#
# $$\mathcal L_i = -\log \frac{e^{S_{ii}/t}}{\sum_j e^{S_{ij}/t}}$$
#
# It is older than the course (Henderson et al., 2017; its other names are multiple-negatives ranking loss and InfoNCE). Every negative
# takes part, the near ones more, and no row is ever finished. And `lstm` uses what the course throws away: the pairs labelled
# *different*. A second term, a logistic regression on the cosine, learns from labelled pairs of both kinds.
#
# All three ways train the same model with three seeds: questions folded to lower case, padding masked and batches by length (notebook 7),
# both directions (notebook 6). **Guess before you run:** which is best, and is softmax alone ahead of the triplet loss?

# %% guess=true
guess("order", "labelled pairs, softmax, triplet")  # from best to worst

# %%
BOTH = {
    "d_model": 64,
    "batch_size": 128,
    "steps": STEPS,
    "warmup_steps": 60,
    "lstm_bias": "forget_gate",  # no plateau (notebook 7)
    "folded": True,  # fewer words to learn
    "mask_padding": True,
    "batches": "bucketed",  # like lengths together, no known duplicate as a negative
}
WAYS = {
    "triplet": {"loss": "triplet", "direction": "both"},
    "softmax": {"loss": "ranking"},
    "labelled pairs": {"loss": "ranking", "pair_batch_size": 128},  # softmax, and labelled pairs
}
trainers = {}
for name, options in WAYS.items():
    for seed in SEEDS:
        config = siamese.TrainConfig(**BOTH, **options, seed=seed)
        trainers[name, seed] = siamese.Trainer(train, config, valid=valid, quiet=True)
        trainers[name, seed].train()

# %%
labels, cosines_of, detectors, areas = test.is_duplicate, {}, {}, {}
for (name, seed), trainer in trainers.items():
    detectors[name, seed] = trainer.save(
        trainer.evaluate(test)
    )  # threshold and calibration from `valid`
    scores = detectors[name, seed].similarity(list(test.question1), list(test.question2))
    cosines_of[name, seed] = scores
    areas.setdefault(name, []).append(siamese.evaluate_scores(scores, labels).roc_auc)
for name, values in areas.items():
    print(f"{name:<15} ROC AUC {np.array(values)}, mean {np.mean(values):.3f}")
print("on Quora's validation rows (docs/topics/quality.md, three seeds): 0.836, 0.840, 0.877")
compare(
    "order",
    ", ".join(sorted(areas, key=lambda name: -np.mean(areas[name]))),
    "The labelled pairs bring what no batch holds: questions that differ in one word and ask different things.",
)

# %%
few = train.duplicates()
one, two = (
    detectors["triplet", SEEDS[0]].encode(list(side[:128]))
    for side in (few.question1, few.question2)
)
S = one @ two.T  # [128, 128]
idle = np.mean(loss_from_scores(S, reduction="none") == 0)
weights = np.exp((S - S.max(axis=1, keepdims=True)) / 0.05) * ~np.eye(128, dtype=bool)
shares = weights / weights.sum(axis=1, keepdims=True)  # of each negative in its row's gradient
print(f"triplet: {idle:.0%} of 128 training rows have both hinges at 0 and teach nothing")
print(
    f"softmax on the same matrix: every row counts, and {np.median(1 / np.sum(shares**2, axis=1)):.1f} of its "
    "127 negatives carry the weight (median)"
)

# %% [markdown]
# (The number of negatives that carry the weight is $1/\sum p^2$ over their shares $p$.) So the softmax goes on learning where the triplet
# loss has stopped. Is that better? By itself hardly: on this corpus the softmax alone is behind with every seed, on Quora's rows it is
# slightly ahead. What pays, here and there, is the third way. The reason for the change is that softmax and labelled pairs train
# together, and never stop at "good enough". `lstm` has more (docs/tasks/train.md): mined hard negatives, dropout, a second direction of the
# LSTM.
#
# From here on we use the third model of the first seed. It is a `DuplicateDetector`: it needs no Trax and answers at once.

# %% hidden=true alt="Two ROC curves. That of softmax with labelled pairs lies above that of the triplet loss up to a false positive rate of 0.4, where they meet. Both lie above the diagonal of guessing."
detector, test_scores = (
    detectors["labelled pairs", SEEDS[0]],
    cosines_of["labelled pairs", SEEDS[0]],
)
with new_picture() as figure:
    axes = figure.add_subplot()
    axes.set_prop_cycle(color=[DARK, LIGHT, GREY], linestyle=["-", "--", ":"])
    for name in ("labelled pairs", "triplet"):
        false_positives, true_positives, _ = roc_curve(labels, cosines_of[name, SEEDS[0]])
        label = f"{name}: AUC {areas[name][0]:.3f}"
        axes.plot(false_positives, true_positives, label=label)
    axes.plot([0, 1], [0, 1], linewidth=1, label="chance: AUC 0.500")
    axes.set(title="ROC curve", xlabel="false positive rate", ylabel="true positive rate")
    axes.legend(loc="lower right")
figure

# %% [markdown]
# ## 2. Probabilities that mean something (12 minutes)
#
# "Cosine 0.8" is not a probability. But on labelled pairs you can look up how often 0.8 *was* a duplicate, and fit a curve that never
# falls through that: **calibration**. A model is calibrated when, of all pairs for which it says 70 %, seventy in a hundred are
# duplicates.
#
# The **expected calibration error** measures how far it is from that. Cut $[0, 1]$ into bins of equal width; in each bin $B$ compare the
# mean probability with the share of duplicates; weight each gap by its bin's size:
#
# $$\mathrm{ECE} = \sum_{B} \frac{|B|}{n}\; \Big|\,\overline{p}_B - \overline{y}_B\,\Big|$$
#
# **Exercise 1: `expected_calibration_error`.** A probability of exactly 1 belongs to the last bin. Skip an empty bin.


# %% exercise="expected_calibration_error"
def expected_calibration_error(probabilities, labels, bins=10):
    """The mean gap between promise and truth.

    Args:
      probabilities: float [n], from 0 to 1.
      labels: bool or 0/1 [n].
      bins: how many bins of equal width.

    Returns:
      A number from 0 to 1.
    """
    ### BEGIN SOLUTION
    probabilities = np.asarray(probabilities, float)
    labels = np.asarray(labels, float)
    number = np.minimum((probabilities * bins).astype(int), bins - 1)  # of each pair's bin
    error = 0.0
    for b in range(bins):
        inside = number == b
        if inside.any():
            gap = abs(probabilities[inside].mean() - labels[inside].mean())
            error += inside.mean() * gap
    ### BLANK
    # probabilities = np.asarray(probabilities, float)
    # labels = np.asarray(labels, float)
    # number = None  # int [n]: 0 to bins - 1, the bin of each pair
    # error = 0.0
    # for b in range(bins):
    #     inside = None  # bool [n]
    #     if inside.any():
    #         gap = None
    #         error += None  # weighted by the bin's share of the pairs
    ### END SOLUTION
    return error


# %%
need(expected_calibration_error)
as_it_is = (test_scores + 1) / 2  # a cosine squeezed into 0 to 1
calibrated = detector.probabilities_of(test_scores)
print(f"(cosine + 1) / 2: {expected_calibration_error(as_it_is, labels):.3f}")
print(f"calibrated:       {expected_calibration_error(calibrated, labels):.3f}")

# %% check="expected_calibration_error" points=10
score = checks.check_expected_calibration_error(expected_calibration_error)
score.mark  # of 10

# %% [markdown]
# A **reliability diagram** draws what the ECE adds up: a point for each bin, across its mean probability, upwards the share of duplicates
# in it. On the diagonal the two are equal. The bars below show how many pairs have which probability: a point above a short bar rests on
# few pairs.


# %% hidden=true alt="Reliability diagram of the squeezed cosine: all points lie far below the diagonal. The bars spread from 0.3 to 1."
def plot_reliability(probabilities, title):
    """The share of duplicates in each of ten bins, and how many pairs have which probability."""
    with new_picture() as figure:
        axes, below = figure.subplots(2, sharex=True, height_ratios=[3, 1])
        CalibrationDisplay.from_predictions(
            labels, probabilities, n_bins=10, name="this model", ax=axes, color=DARK
        )
        axes.set(title=title, xlabel="", ylabel="share of duplicates")
        axes.legend(loc="upper left")
        below.hist(probabilities, np.linspace(0, 1, 41), color=GREY)
        below.set(xlabel="predicted probability", ylabel="pairs")
    return figure


as_it_is = (test_scores + 1) / 2
plot_reliability(as_it_is, "(cosine + 1) / 2")

# %% alt="Reliability diagram after calibration: the points lie near the diagonal. Most pairs have a probability near 0; the others spread up to 0.87."
calibrated = detector.probabilities_of(test_scores)
plot_reliability(calibrated, "calibrated")

# %%
print(
    f"{len(np.unique(test_scores)):,} different cosines become {len(np.unique(calibrated)):,} different probabilities,"
)
print(f"from {calibrated.min():.3f} to {calibrated.max():.3f}")

# %% [markdown]
# Calibration does not make the model better. The curve never falls, so it keeps the order of the pairs and with it the ROC AUC; where the
# curve is a staircase (isotonic regression), pairs on one step become equal, and the model loses resolution. What you gain is that the
# numbers can be read as probabilities. Look at the largest one: a model may be calibrated and still never be sure. (Like a threshold, a
# calibration belongs to a base rate.)

# %% [markdown]
# ## 3. Search (8 minutes)
#
# Comparing a new question with 100,000 old ones pair by pair would take 100,000 runs of the network. But the tower knows nothing of the
# partner: every old question is turned into its vector **once**, and a new one costs one run and one matrix product. That is why siamese
# networks are used for search.

# %%
collection = sorted({*test.question1, *test.question2})
index = siamese.QuestionIndex.build(detector, collection)
print(f"{len(index):,} questions")
for query in (
    "How can I learn to play the guitar by myself?",
    "What's the cheapest way to travel in Italy?",
):
    print("\n" + query)
    for hit in index.search(query, k=3, mode="vectors"):
        print(f"  {hit.similarity:.3f}  {hit.question}")

# %% [markdown]
# The collection may not hold what was asked for (the embedded corpus knows neither guitars nor cheap journeys). Then the search still
# returns the nearest questions: look at the cosine, and compare it with the threshold. (By default `search` is *hybrid*: it adds BM25, a
# score of shared words in which rare ones count more, to the cosine, because words that training has not seen have no vector. Then the order is not that of the
# cosines.)
#
# How good is the search? For each test duplicate look for its partner: how often is it first, and among the first ten? A question has
# several duplicates in the collection. In practice any of them would do, so the second line counts any question of the same meaning.

# %%
pairs, first, ten, any_first = test.duplicates(), [], [], []
meaning = None if QUESTIONS else {q.text: q.meaning for q in corpus.questions}
for asked, partner in zip(pairs.question1, pairs.question2):
    hits = [
        hit.question for hit in index.search(asked, k=11, mode="vectors") if hit.question != asked
    ][:10]
    first.append(hits[0] == partner)
    ten.append(partner in hits)
    if meaning:
        any_first.append(meaning[hits[0]] == meaning[asked])
print(
    f"the partner: first {np.mean(first):.2f}, among ten {np.mean(ten):.2f} (by chance {10 / len(index):.4f})"
)
if meaning:
    print(f"any question of its meaning: first {np.mean(any_first):.2f}")

# %% [markdown]
# ## 4. Groups of duplicates (6 minutes)
#
# Join two groups where the **mean** cosine over all their pairs is above a threshold (average linkage), so that a chain
# of similar questions does not join its ends. The threshold for that must be **higher** than for single pairs: of $n$
# questions there are $n(n-1)/2$ pairs, nearly all of them no duplicates (the base rate again!).

# %%
for threshold in (detector.threshold, 0.9, 0.95, 0.98):
    groups = siamese.duplicate_groups(index.vectors, threshold)
    line = f"above {threshold:.2f}: {len(groups):4} groups, the largest of {len(groups[0]) if groups else 0:5}"
    if meaning and groups:
        pure = [len({meaning[collection[member.row]] for member in group}) == 1 for group in groups]
        line += f"; {np.mean(pure):.0%} of them all of one meaning"
    print(line)

# %%
for group in groups[:3]:
    print(*(collection[member.row] for member in group[:4]), sep="\n", end="\n\n")

# %% [markdown]
# Higher is purer, up to a point: at the very top stand pairs that differ in a single word, or in the order of two names. "From Greek to
# Turkish" and "from Turkish to Greek" are different questions with nearly the same vector, and no threshold tells them apart. The
# answer is a better model, trained on just such pairs.
#
# ## 5. One-shot classes (12 minutes)
#
# A classifier is trained on $k$ classes, and again when one is added. A similarity, once learned, serves for classes that were never
# trained (Koch et al., 2015, did so with handwritten characters). Give **one example** of each class. A question belongs to the class of
# the example it is most similar to, or to none of them if even that one is not similar enough.
#
# **Exercise 2: `one_shot`.** Compare the question with all examples at once.


# %% exercise="one_shot"
def one_shot(vector, examples, names, threshold):
    """The class of a question, by one example (or several) of each class.

    Args:
      vector: float [d], of length 1.
      examples: float [n, d], rows of length 1.
      names: the class of each example.
      threshold: the best example's cosine must be above it.

    Returns:
      The best example's name, or None.
    """
    ### BEGIN SOLUTION
    cosines = examples @ vector  # [n]
    best = int(np.argmax(cosines))
    answer = names[best] if cosines[best] > threshold else None
    ### BLANK
    # cosines = None  # [n]
    # best = None  # the place of the largest
    # answer = None  # its name, if it is above the threshold
    ### END SOLUTION
    return answer


# %%
EXAMPLES = {
    "music": "How do I learn to play the piano?",
    "food": "What is the best way to cook rice?",
    "travel": "What should I see in Rome?",
    "pets": "Why does my dog bark all day?",
    "sleep": "How can I fall asleep faster?",
}
need(one_shot)
names = list(EXAMPLES)
examples = detector.encode(list(EXAMPLES.values()))
for question in (
    "Can I teach myself the piano as an adult?",
    "How do I cook rice without burning it?",
    "Why is my dog barking at night?",
    "What helps people fall asleep faster?",
    "How do I fix a flat tire?",
):
    vector = detector.encode([question])[0]
    print(f"{one_shot(vector, examples, names, 0.4)!s:<8} {question}")

# %% check="one_shot" points=10
score = checks.check_one_shot(one_shot)
score.mark  # of 10

# %% [markdown]
# How good is it? A class is now a **meaning**: the questions of the test part that ask the same. One example of each class is drawn, or
# three; all its other questions are classified. None of these meanings was trained on. TF-IDF, which counts common words and learns
# nothing, stands beside it. The last two lines do the same with **subjects** ("music", "pets") as classes. **Guess before you run:** does
# the model beat TF-IDF on meanings, on subjects, on both or on neither?

# %% guess=true
guess("one_shot", "both")  # "meanings", "subjects", "both" or "neither"

# %%
if QUESTIONS is None:
    asked = [q for q in corpus.questions if q.part == "test"]
    vectors = detector.encode([q.text for q in asked])
    counts = TfidfVectorizer(sublinear_tf=True).fit_transform([q.text for q in asked])
    draw, wins = np.random.default_rng(34), set()
    for kind, count in (("meaning", 1), ("meaning", 3), ("subject", 1), ("subject", 3)):
        classes = np.array([getattr(q, kind) for q in asked])
        members = [np.flatnonzero(classes == name) for name in np.unique(classes)]
        members = [rows for rows in members if len(rows) > 3]  # three examples and one to classify
        shots = np.concatenate([draw.choice(rows, count, replace=False) for rows in members])
        rest = np.setdiff1d(np.concatenate(members), shots)
        right = []
        for scores in (
            vectors[rest] @ vectors[shots].T,
            (counts[rest] @ counts[shots].T).toarray(),
        ):
            right.append(np.mean(classes[shots[scores.argmax(axis=1)]] == classes[rest]))
        if count == 1 and right[0] > right[1]:
            wins.add(f"{kind}s")
        print(
            f"{len(members)} classes by {kind}, {count} of each: model {right[0]:.3f}, "
            f"TF-IDF {right[1]:.3f}, guessing {1 / len(members):.3f}"
        )

# %%
if QUESTIONS is None:
    compare(
        "one_shot",
        "both" if len(wins) == 2 else "neither" if not wins else min(wins),
        "Training said which questions ask the same, not which are about the same thing.",
    )

# %% [markdown]
# For *subjects* common words are a good guide, and nothing in the training said that all questions about music belong together. So a
# similarity serves for new classes **of the kind it has learned**. (Only classes with at least four questions take part.)
#
# ## 6. The same tower in Keras (3 minutes)
#
# The tower is not bound to Trax. In Keras its four layers are called `Embedding`, `LSTM`, `GlobalAveragePooling1D` and
# `UnitNormalization`. The weights are the same too, in another order: Trax keeps one kernel for input and state, with the gates input,
# candidate, forget, output; Keras keeps two kernels, with the gates input, forget, candidate, output. The later editions of the course
# use these layers. This cell runs where Keras is installed (its output is kept in the solution).

# %%
if importlib.util.find_spec("keras") is None:
    print("Keras is not installed: this cell does nothing.")
else:
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("KERAS_BACKEND", "jax")
    import keras

    d = BOTH["d_model"]
    embedding = detector.weights["embedding"]
    twin = keras.Sequential(
        [
            keras.layers.Embedding(*embedding.shape),
            keras.layers.LSTM(d, return_sequences=True),
            keras.layers.GlobalAveragePooling1D(),
            keras.layers.UnitNormalization(),
        ]
    )
    ids = np.array([detector.vocabulary.encode("How do I learn to play the piano?")])  # [1, length]
    twin(ids)  # makes the weights
    order = np.concatenate([np.arange(d) + k * d for k in (0, 2, 1, 3)])  # of the gates
    kernel, bias = detector.weights["lstm/kernel"][:, order], detector.weights["lstm/bias"][order]
    twin.set_weights([embedding, kernel[:d], kernel[d:], bias])
    ours = detector.encode(["How do I learn to play the piano?"])
    same = np.allclose(np.asarray(twin(ids)), ours, atol=1e-5)
    print(f"the same vector, to five digits: {same}")

# %% [markdown]
# Both questions go through this one `twin`: that makes the network siamese in any library.
#
# ## 7. Three tasks (12 minutes)
#
# **Task 1: a blank.** A model says 0.9, 0.9, 0.6, 0.6 and 0.1 for five pairs; the first three are duplicates. What is the ECE with ten
# bins? Work it out on paper.

# %% exercise="ece"
### BEGIN SOLUTION
ece = (2 * 0.1 + 2 * 0.1 + 1 * 0.1) / 5
### BLANK
# ece = None
### END SOLUTION

# %%
need(expected_calibration_error, ece)
print(
    f"{ece:.3f}; counted: {expected_calibration_error([0.9, 0.9, 0.6, 0.6, 0.1], [1, 1, 1, 0, 0]):.3f}"
)

# %% [markdown]
# **Task 2: no scaffold.** Write `softmax_loss(scores, temperature)`, the mean of section 1's loss over the rows of a similarity matrix.
# Take each row's maximum off before `np.exp`, so that nothing overflows.


# %% exercise="softmax_loss"
### BEGIN SOLUTION
def softmax_loss(scores, temperature):
    logits = scores / temperature
    largest = logits.max(axis=1, keepdims=True)
    log_sum = np.log(np.sum(np.exp(logits - largest), axis=1)) + largest[:, 0]
    return np.mean(log_sum - np.diagonal(logits))


### BLANK
# softmax_loss = None
### END SOLUTION

# %%
need(softmax_loss)
for name, matrix in (("equal vectors", np.ones((4, 4))), ("perfect", 2 * np.eye(4) - 1)):
    print(f"{name:<14} {softmax_loss(matrix, 0.05):.4f}")
print("(log 4 = 1.3863 for equal vectors: four guesses, one of them right)")

# %% [markdown]
# **Task 3: design** (3 points, graded by your teacher). Your help desk has 20,000 old tickets without labels and one colleague for one
# afternoon. You want duplicates merged automatically. Which pairs do you have the colleague label, what do you choose from the labels,
# and how do you find out how good it is?

# %% [markdown] answer="design" points=3
# Label pairs around the threshold, found by search (each ticket with its nearest ones), not random pairs: of random pairs nearly none are
# duplicates. Take some from all heights of the cosine, so that a calibration can be fitted, and choose the threshold from the costs of a
# wrong and of a missed merge. Keep a part of the labels aside before choosing anything, by ticket rather than by pair, and report on that
# part alone, with an interval: an afternoon is some 300 pairs.
#
# *Rubric, 1 point each: candidates by search, not at random; threshold or calibration from the labels, with the costs; a part set aside
# that was not used to choose.*

# %% [markdown]
# ## Key points
#
# * In-batch softmax goes on learning where a hinge stops. By itself it gains little; with labelled pairs of both kinds it gains much.
# * A calibrated probability can be read; a cosine can only be compared.
# * One vector for each question makes search cheap. Groups need a higher threshold than pairs.
# * A similarity serves for new classes of the kind it has learned.
#
# Everything here is a command as well: `siamese train --preset lstm --questions questions.csv`, then `siamese predict runs/best "..."
# "..."`; `siamese --help` lists the rest. Questions to explore: does the calibration of one corpus hold on another? Which duplicates does
# the model miss? How small can a vector be before search suffers?
#
# *References.* J. Bromley et al. (1993), Signature verification using a "siamese" time delay neural network, NIPS. G. Koch, R. Zemel, R.
# Salakhutdinov (2015), Siamese neural networks for one-shot image recognition. F. Schroff, D. Kalenichenko, J. Philbin (2015), FaceNet: a
# unified embedding for face recognition and clustering, arXiv:1503.03832. M. Henderson et al. (2017), Efficient natural language response
# suggestion for Smart Reply, arXiv:1705.00652.
