"""Time of classify beside the course's loop, pair by pair, with the course's model.

Usage: python benchmarks/classify.py [--pairs 10240] [--batch-size 64] [--repeats 3] [--json]

The pairs have the lengths of everyday questions (3 to about 60 tokens, mean 11), the weights are
random: neither changes the work. Both run the same Trax model, as the course calls it. "first" is the
first call in the process, compilation included; "again" the median of those after it. The course's
loop compiles its recurrence at every model call, so it has no quicker second call.
"""

from __future__ import annotations

import argparse
import json
import statistics
import time

import jax
import numpy as np

import siamese
import siamese.course.classify
from siamese.course.model import Siamese  # prepares Trax

from trax import shapes  # isort: skip


def course_classify(Q1, Q2, y, threshold, model, vocab, data_generator, batch_size):
    """The course's loop; the last, short batch stops at its last pair."""
    accuracy = 0
    for i in range(0, len(Q1), batch_size):
        part1, part2 = Q1[i : i + batch_size], Q2[i : i + batch_size]
        q1, q2 = next(data_generator(part1, part2, batch_size, vocab["<PAD>"], shuffle=False))
        y_test = y[i : i + batch_size]
        v1, v2 = model((q1, q2))
        for j in range(len(y_test)):
            d = np.dot(v1[j], v2[j].T)
            accuracy += y_test[j] == (d > threshold)
    return accuracy / len(Q1)


def made_pairs(pairs: int, vocab_size: int, seed: int = 0):
    """Pairs of random token ids with the lengths of everyday questions."""
    generator = np.random.default_rng(seed)
    lengths = np.clip(generator.lognormal(2.35, 0.45, (2, pairs)).round(), 3, 64).astype(int)
    sides = [
        [generator.integers(2, vocab_size, length).tolist() for length in side] for side in lengths
    ]
    return *sides, generator.integers(0, 2, pairs)


def main() -> None:
    """Prints the times and the accuracies."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=10240)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--vocab-size", type=int, default=41699)
    parser.add_argument("--d-model", type=int, default=128)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()

    Q1, Q2, y = made_pairs(options.pairs, options.vocab_size)
    model = Siamese(options.vocab_size, options.d_model)
    shape = shapes.ShapeDtype((options.batch_size, 32), np.int32)
    model.init((shape, shape))
    # As drawn, all scores lie within 1e-4 of 1; a larger embedding spreads them as training does.
    model.weights = jax.tree_util.tree_map(
        lambda weight: 50 * weight if len(weight) == options.vocab_size else weight, model.weights
    )
    vocab = {"<PAD>": 1}
    # A threshold in the midst of the scores, so that both answers occur.
    few = siamese.course.classify.pair_scores(Q1[:640], Q2[:640], model, vocab, batch_size=64)
    threshold = float(np.median(few))
    siamese.course.classify._COMPILED.clear()
    arguments = (Q1, Q2, y, threshold, model, vocab, siamese.data_generator, options.batch_size)

    started = time.perf_counter()
    course_accuracy = course_classify(*arguments)
    course = time.perf_counter() - started
    ours, accuracies = [], set()
    for _ in range(1 + options.repeats):
        started = time.perf_counter()
        accuracies.add(siamese.classify(*arguments))
        ours.append(time.perf_counter() - started)
    again = statistics.median(ours[1:])
    result = {
        "pairs": options.pairs,
        "batch_size": options.batch_size,
        "course_s": round(course, 2),
        "first_s": round(ours[0], 2),
        "again_s": round(again, 2),
        "times_faster_first": round(course / ours[0], 1),
        "times_faster_again": round(course / again, 1),
        "course_accuracy": course_accuracy,
        "same_accuracy": accuracies == {course_accuracy},
    }
    if options.json:
        print(json.dumps(result))
    else:
        print("\n".join(f"{name:<20}{value}" for name, value in result.items()))


if __name__ == "__main__":
    main()
