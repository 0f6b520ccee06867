"""What mixed precision does to the loss: the demo's training in float32 and in bfloat16, side by side.

python benchmarks/precision.py --steps 300
"""

import argparse

from siamese.data.corpus import embedded_corpus
from siamese.training.config import TrainConfig
from siamese.training.trainer import Trainer


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=300)
    flags = parser.parse_args()
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


if __name__ == "__main__":
    main()
