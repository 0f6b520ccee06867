"""What mixed precision does to the loss: the demo's training in float32 and in bfloat16, side by side.

    python benchmarks/precision.py --steps 300

And to the vectors of a trained model's questions, and the time they take:

    python benchmarks/precision.py --model runs/general --questions questions.csv
"""

import argparse
import statistics
import time

import numpy as np

from siamese.compat.process import keep_memory
from siamese.data.corpus import embedded_corpus
from siamese.training.config import TrainConfig
from siamese.training.trainer import Trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--model", help="a trained model: encode with it, and train nothing")
    parser.add_argument("--questions", help="a file of labelled pairs, for --model")
    flags = parser.parse_args()
    if flags.model:
        return encoding(flags.model, flags.questions)
    corpus, losses = embedded_corpus(), {}
    for precision in ("float32", "bfloat16"):
        config = TrainConfig.course(
            steps=flags.steps, lstm_bias="forget_gate", precision=precision, eval_every=flags.steps
        )
        trainer = Trainer(corpus.train, config, valid=corpus.valid, quiet=True)
        losses[precision] = found = []
        trainer.train(on_step=lambda loop, loss, found=found: found.append(float(loss)))
        report = trainer.evaluate(corpus.test)
        print(
            f"{precision:<9} loss at step 1 {found[0]:.5f}, 50 {found[49]:.5f}, {flags.steps} "
            f"{found[-1]:.5f}; test ROC AUC {report.roc_auc:.4f}, accuracy {report.tuned_accuracy:.4f}",
            flush=True,
        )
    pairs = list(zip(losses["float32"], losses["bfloat16"]))
    for until in (10, 50, flags.steps):
        largest = max(abs(a - b) for a, b in pairs[:until])
        print(f"largest difference of the loss in {until} steps: {largest:.5f}")


def encoding(model: str, path: str) -> None:
    """40,000 questions encoded in turns, five rounds; the ten nearest of 1,000 of them in both."""
    from siamese.data.pairs import read_pairs
    from siamese.search.detector import DuplicateDetector

    keep_memory()
    detector, pairs = DuplicateDetector.load(model), read_pairs(path)
    ids = detector.token_ids(list(dict.fromkeys([*pairs.question1, *pairs.question2]))[:40_000])
    encoders = [detector.with_precision(p).encoder for p in ("float32", "bfloat16")]
    seconds, vectors = [[], []], [encoder.encode(ids) for encoder in encoders]
    for _ in range(5):
        for taken, encoder in zip(seconds, encoders):
            start = time.perf_counter()
            encoder.encode(ids)
            taken.append(time.perf_counter() - start)
    exact, rounded = vectors
    expected = nearest(exact[:1000], exact)
    float32, bfloat16 = map(statistics.median, seconds)
    print(
        f"float32 {float32:.2f} s, bfloat16 {bfloat16:.2f} s: {float32 / bfloat16:.2f} times; least cosine "
        f"between the two {np.vecdot(exact, rounded).min():.6f}; recall@10 of rounded questions in a "
        f"rounded index {recall(expected, nearest(rounded[:1000], rounded)):.4f}, of a few questions, "
        f"which stay exact, {recall(expected, nearest(exact[:1000], rounded)):.4f}"
    )


def nearest(questions: np.ndarray, index: np.ndarray) -> np.ndarray:
    """The ten nearest of the index, of whose rows the questions are the first, without themselves."""
    scores = questions @ index.T
    np.fill_diagonal(scores, -2)
    return np.argpartition(-scores, 10)[:, :10]


def recall(expected: np.ndarray, found: np.ndarray) -> float:
    """The share of the expected that were found."""
    return float(np.mean([len(np.intersect1d(*rows)) / 10 for rows in zip(expected, found)]))


if __name__ == "__main__":
    main()
