"""Hints for the exercises on request: three steps each, of which the last is nearly the solution."""

from __future__ import annotations

from siamese.errors import ArgumentError

_STEPS = {
    "cosine_similarity": (
        "The cosine compares directions: the dot product, with both lengths divided out.",
        "The length of v is the square root of v . v. Divide by the product of both lengths.",
        "np.dot(v1, v2) / (length of v1 * length of v2), with length = np.sqrt(np.dot(v, v)).",
    ),
    "triplet_loss": (
        "How far is the negative ahead of the positive? Add the margin to that.",
        "Where the sum is below 0 the triplet costs 0: that is the hinge.",
        "np.maximum(s_an - s_ap + margin, 0): np.maximum also takes arrays.",
    ),
    "modified_loss": (
        "The triplet loss twice: with the mean negative and with the closest one.",
        "The positives are np.diagonal(scores); your mean_negative and closest_negative do the rest.",
        "np.sum of triplet_loss(positive, mean, 0.25) + triplet_loss(positive, closest, 0.25).",
    ),
    "mean_negative": (
        "In a row of the matrix one entry belongs to the pair itself. The others are negatives.",
        "Set the diagonal to 0 by a product with 1 - np.eye(batch), then sum each row.",
        "np.sum(scores * (1 - np.eye(batch)), axis=1) divided by how many negatives a row has: "
        "one less "
        "than batch.",
    ),
    "closest_negative": (
        "You want the largest entry of each row, but never the one on the diagonal.",
        "Two masks joined by |: the diagonal, and what lies above the row's positive. Write -2 there.",
        "positive = np.diagonal(scores)[:, None]; np.where(left_out, -2.0, scores).max(axis=1).",
    ),
    "normalize": (
        "Each vector is divided by its own length. The vectors stand along the last axis.",
        "Sum the squares over axis=-1, and keep that axis, so that the shapes go together.",
        "x / fastnp.sqrt(the sum of x * x over axis=-1 with keepdims=True).",
    ),
    "shared_towers": (
        "Shared weights mean one tower, made once and used twice.",
        "tl.Serial of tl.Embedding, tl.LSTM, tl.Mean over the words (axis=1), and your normalize "
        "in a tl.Fn.",
        "tower = tl.Serial(...); then tl.Parallel(tower, tower): the same object in both places.",
    ),
    "accuracy_at": (
        "A pair is called a duplicate where its cosine is above the threshold.",
        "Compare the answers with the labels: how large is the share of agreement?",
        "np.mean of (scores > threshold) == labels.",
    ),
    "best_threshold": (
        "Between two neighbouring scores every threshold gives the same answers. So few are worth "
        "trying.",
        "Try each score, and one value below all of them, which calls every pair a duplicate.",
        "candidates: scores.min() - 1 and np.sort(scores). Take the one at np.argmax of "
        "accuracy_at for each.",
    ),
    "data_generator": (
        "Keep an order of indexes. Shuffle the order, never the questions, and both sides stay "
        "together.",
        "When the end is reached, start again and shuffle again. When batch_size pairs are there, "
        "pad both "
        "sides to one length: the next power of two of the longest question of either side.",
        "max_len = 2 ** int(np.ceil(np.log2(longest))); each question + [pad] * (max_len - "
        "len(question)); "
        "yield np.array of both; then begin two new empty lists.",
    ),
    "Siamese": (
        "It is notebook 2's model: one tower, used twice.",
        "tl.Serial(tl.Embedding(...), tl.LSTM(...), tl.Mean(axis=1), tl.Fn('Normalize', ...)).",
        "Give the embedding vocab_size and d_model, the LSTM d_model, then tl.Parallel(tower, "
        "tower).",
    ),
    "TripletLossFn": (
        "All cosines of the batch are one product: v1 with v2 transposed. Positives are its "
        "diagonal.",
        "Two negatives a row: the mean of the others, and the largest of them. Each gives a hinge: "
        "margin - positive + negative, and never below 0.",
        "closest = (scores - 2 * fastnp.eye(batch)).max(axis=1); mean = the row sums off the "
        "diagonal over "
        "batch - 1; return fastnp.mean of the sum of both fastnp.maximum(0.0, ...).",
    ),
    "train_model": (
        "A TrainTask says what is learned from, an EvalTask what is measured, a Loop joins both.",
        "The train task takes the generator, TripletLoss(), Adam(0.01) and "
        "warmup_and_rsqrt_decay(400, 0.01); "
        "the eval task the other generator and [TripletLoss()].",
        "training.Loop(Siamese(), train_task, eval_tasks=[eval_task], output_dir=output_dir): the "
        "arguments, "
        "not the global names of the notebook.",
    ),
    "classify": (
        "Go through the test pairs in parts of batch_size. The last part may be shorter, and "
        "counts too.",
        "Each part goes through data_generator with shuffle=False, then through model((q1, q2)).",
        "For pair j of a part: (np.dot(v1[j], v2[j]) > threshold) == y of that pair. Divide the "
        "sum of these by the "
        "number of all pairs.",
    ),
    "predict": (
        "A batch of one pair: words, then ids, then padding, then the model.",
        "vocab.get(word, 0) gives an id also for unknown words; data_generator pads both "
        "questions alike.",
        "v1, v2 = model((q1, q2)) for next(data_generator([ids1], [ids2], 1, vocab['<PAD>'])); "
        "then "
        "np.dot(v1[0], v2[0]) > threshold.",
    ),
    "symmetric_loss": (
        "Rows ask question1 for its question2; columns ask question2 for its question1. Use both.",
        "Average a row's and its column's negative before the hinge: one closest, one mean.",
        "closest = (masked.max(axis=1) + masked.max(axis=0)) / 2, likewise the mean; then the two "
        "hinges and the "
        "mean, as in the assignment.",
    ),
    "count_false_negatives": (
        "Two pairs of one cluster are duplicates of each other, so off the diagonal they are no "
        "negatives.",
        "Compare every cluster with every other: clusters[:, None] == clusters[None, :].",
        "The number of equal entries, less those on the diagonal: one for each pair.",
    ),
    "masked_mean": (
        "Padding must count neither in the sum nor in the number that it is divided by.",
        "(tokens != 1)[:, :, None] has a 1 for each word and goes with the shape of the states.",
        "Sum states times that mask over axis=1, and divide by the mask's sum over axis=1, at "
        "least 1.",
    ),
    "expected_calibration_error": (
        "In each bin compare two means: the mean probability and the share of duplicates.",
        "The bin of p is int(p * bins); p = 1 belongs to the last one. Empty bins count nothing.",
        "Sum over the bins of the share of pairs in it times abs(labels[inside].mean() - "
        "probabilities[inside].mean()).",
    ),
    "one_shot": (
        "The question gets the name of the example that is nearest to it.",
        "Vectors have length 1, so examples @ vector are the cosines with all examples.",
        "best = np.argmax(cosines); names[best] where cosines[best] is above the threshold, else "
        "None.",
    ),
}
_shown: dict[str, int] = {}


def hint(exercise: str) -> None:
    """Prints the next of an exercise's three hints; after the third, the third again.

    Raises:
      ArgumentError: there is no such exercise; names those that there are.

    Example:
      >>> hint("closest_negative")
      1 of 3: You want the largest entry of each row, but never the one on the diagonal.
    """
    if exercise not in _STEPS:
        raise ArgumentError(f"There is no exercise {exercise!r}. There are: {', '.join(_STEPS)}.")
    steps = _STEPS[exercise]
    step = _shown[exercise] = min(_shown.get(exercise, 0) + 1, len(steps))
    print(f"{step} of {len(steps)}: {steps[step - 1]}")


def solution(exercise: str) -> None:
    """Prints the last hint once all three were shown."""
    shown = _shown.get(exercise, 0)
    print(
        _STEPS[exercise][-1]
        if shown == 3
        else f"It opens after three hints; you have seen {shown}."
    )
