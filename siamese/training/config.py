"""TrainConfig: every choice of a training run, its presets, and its flags on the command line."""

from __future__ import annotations

import argparse
import dataclasses
import json
import types
import typing
from dataclasses import dataclass, field
from typing import Any

from siamese.errors import ArgumentError


def _choice(default: Any, help: str, *accepted: Any) -> Any:
    return field(default=default, metadata={"help": help, "accepted": accepted})


@dataclass(frozen=True)
class TrainConfig:
    """All choices of a training run. The defaults are the course's; `best` overrides some of them.

    Raises:
      ArgumentError: a value outside what its field accepts; names the field and what it accepts.

    Example:
      >>> TrainConfig.course().margin, TrainConfig(batch_size=64).batch_size
      (0.25, 64)
    """

    # The text and the model
    lowercase: bool = _choice(False, "fold words to lower case before looking them up")
    d_model: int = _choice(128, "size of the embedding, the LSTM and the question vectors")
    mask_padding: bool = _choice(
        False, "leave padding out of the mean, so that a question's vector is its own"
    )
    lstm_bias: str = _choice(
        "all_gates",
        "where the LSTM's bias starts at 1: Trax's way, or the forget gate alone, which learns sooner",
        "all_gates",
        "forget_gate",
    )
    bidirectional: bool = _choice(False, "read each question from its end too, with a second LSTM")
    vocabulary: str = _choice(
        "duplicates",
        "whose words have an embedding: those of the training duplicates, or of all training pairs",
        "duplicates",
        "all",
    )
    min_count: int = _choice(1, "leave words out that are seen fewer times in training")
    unknown_ids: int = _choice(
        0, "embeddings that words without one of their own share, by hash; 0 gives them one"
    )
    embedding_init: float = _choice(
        0.0, "standard deviation of the embedding's first values; 0 takes Trax's"
    )
    embedding_dropout: float = _choice(
        0.0, "share of the embedding's numbers set to zero in training"
    )
    word_dropout: float = _choice(0.0, "share of the words taken for unknown in training")
    # The pairs
    implied: bool = _choice(
        False, "train also on duplicates that follow from others: a = b and b = c, so a = c"
    )
    # The loss
    loss: str = _choice(
        "triplet",
        "the course's triplet loss, or a softmax over the same similarities",
        "triplet",
        "softmax",
    )
    temperature: float = _choice(0.05, "what cosines are divided by in the softmax")
    labelled_size: int = _choice(
        0, "labelled pairs of both kinds that go along with each batch (softmax, bucketed batches)"
    )
    labelled_weight: float = _choice(1.0, "how much their loss counts beside the softmax")
    labelled_duplicates: float = _choice(0.35, "the share of duplicates among them")
    near_misses: int = _choice(
        0, "pairs of similar words from different clusters that join them as non-duplicates"
    )
    margin: float = _choice(0.25, "how much more similar a duplicate must be than a negative")
    closest: str = _choice("hardest", "which negative is the closest", "hardest", "semi_hard")
    direction: str = _choice("rows", "which side's negatives count", "rows", "columns", "both")
    precision: str = _choice(
        "float32",
        "arithmetic inside the tower; weights and loss stay float32 (for accelerators)",
        "float32",
        "bfloat16",
    )
    # The batches
    batches: str = _choice(
        "course",
        "the course's generator, or batches of questions of like length",
        "course",
        "bucketed",
    )
    batch_size: int = _choice(256, "pairs in a batch")
    swap: bool = _choice(False, "swap the two questions of a pair at random (bucketed batches)")
    same: str = _choice(
        "negatives",
        "pairs of one cluster in a batch: plain negatives, masked, or kept apart (bucketed batches)",
        "negatives",
        "mask",
        "separate",
    )
    subject_block: int = _choice(
        0, "pairs on one subject that come into batches together; 0 mixes all (bucketed batches)"
    )
    # The optimizer
    learning_rate: float = _choice(0.01, "Adam's learning rate after the warm-up")
    adam_epsilon: float = _choice(
        1e-5, "what Adam adds to its denominator; Trax's is large for the embeddings of rare words"
    )
    lazy_adam: bool = _choice(
        False,
        "Adam moves only the embeddings of a batch's words: less work with a large vocabulary",
    )
    warmup_steps: int = _choice(400, "steps of linear warm-up")
    schedule: str = _choice(
        "rsqrt",
        "the learning rate after the warm-up: 1/sqrt(step), or straight to zero at the run's end",
        "rsqrt",
        "linear",
    )
    # The run
    steps: int = _choice(1000, "training steps, unless epochs is given")
    epochs: float = _choice(0.0, "passes over the training pairs; 0 counts steps instead")
    train_share: float = _choice(
        0.8, "share of the training duplicates trained on; the rest validates"
    )
    eval_every: int = _choice(100, "steps between evaluations")
    checkpoint_every: int = _choice(100, "steps between checkpoints")
    keep: int = _choice(3, "how many of the last checkpoints stay")
    patience: int = _choice(0, "stop after so many evaluations without a better loss; 0 never does")
    seed: int = _choice(34, "seed of the weights and the batches")

    def __post_init__(self):
        for name, kind in typing.get_type_hints(type(self)).items():
            value = getattr(self, name)
            accepted = type(self).__dataclass_fields__[name].metadata["accepted"]
            number = kind in (int, float) and isinstance(value, (int, float))
            if number and kind is float and not isinstance(value, bool):
                object.__setattr__(self, name, float(value))
            elif type(value) is not kind:
                raise ArgumentError(f"{name} must be of type {kind.__name__}; it is {value!r}.")
            if accepted and value not in accepted:
                raise ArgumentError(
                    f"{name} must be one of {', '.join(accepted)}; it is {value!r}."
                )
        at_least = {
            "d_model": 1, "margin": 0, "batch_size": 2, "learning_rate": 0, "warmup_steps": 0,
            "steps": 1, "epochs": 0, "eval_every": 1, "checkpoint_every": 1, "keep": 1, "patience": 0,
            "seed": 0, "embedding_init": 0, "embedding_dropout": 0, "word_dropout": 0,
            "labelled_size": 0, "labelled_weight": 0, "labelled_duplicates": 0, "near_misses": 0,
            "subject_block": 0, "min_count": 1, "unknown_ids": 0,
        }  # fmt: skip
        for name, least in at_least.items():
            if not getattr(self, name) >= least:
                raise ArgumentError(
                    f"{name} must be at least {least}; it is {getattr(self, name)}."
                )
        if not 0 < self.train_share < 1:
            raise ArgumentError(f"train_share must lie between 0 and 1; it is {self.train_share}.")
        for name in ("embedding_dropout", "word_dropout", "labelled_duplicates"):
            if not getattr(self, name) < 1:
                raise ArgumentError(f"{name} must be below 1; it is {getattr(self, name)}.")
        for name in ("temperature", "adam_epsilon"):
            if not getattr(self, name) > 0:
                raise ArgumentError(f"{name} must be above 0; it is {getattr(self, name)}.")
        if self.labelled_size and (self.loss != "softmax" or self.batches != "bucketed"):
            raise ArgumentError("labelled_size goes with loss='softmax' and batches='bucketed'.")
        if self.near_misses and not self.labelled_size:
            raise ArgumentError("near_misses are labelled pairs: give labelled_size too.")
        if self.subject_block and self.batches != "bucketed":
            raise ArgumentError("subject_block is an option of batches='bucketed'.")
        if self.batches == "course" and (self.swap or self.same != "negatives"):
            raise ArgumentError("swap and same are options of batches='bucketed'.")

    @classmethod
    def course(cls, **changes: Any) -> TrainConfig:
        """The course's own choices."""
        return cls(**changes)

    @classmethod
    def best(cls, **changes: Any) -> TrainConfig:
        """The most accurate choices measured so far on labelled Quora rows; see docs/training.md."""
        chosen = {
            "lowercase": True,
            "vocabulary": "all",
            "min_count": 3,
            "unknown_ids": 3000,
            "mask_padding": True,
            "lstm_bias": "forget_gate",
            "bidirectional": True,
            "embedding_init": 0.1,
            "embedding_dropout": 0.3,
            "word_dropout": 0.05,
            "implied": True,
            "loss": "softmax",
            "direction": "both",
            "labelled_size": 256,
            "labelled_weight": 2.0,
            "labelled_duplicates": 0.4,
            "near_misses": 36_000,
            "batches": "bucketed",
            "same": "mask",
            "swap": True,
            "subject_block": 32,
            "schedule": "linear",
            "warmup_steps": 200,
            "adam_epsilon": 1e-8,
            "epochs": 8.0,
            "eval_every": 250,
            "checkpoint_every": 500,
        }
        return cls(**{**chosen, **changes})

    @classmethod
    def preset(cls, name: str, **changes: Any) -> TrainConfig:
        """The preset of that name, with changes."""
        if name not in PRESETS:
            raise ArgumentError(f"The presets are {', '.join(PRESETS)}; there is no {name!r}.")
        return getattr(cls, name)(**changes)

    def to_json(self) -> str:
        """As JSON text, for the saved model."""
        return json.dumps(dataclasses.asdict(self), indent=1)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """From what `to_json` wrote; unknown fields are an error, not forgotten."""
        unknown = set(values) - set(cls.__dataclass_fields__)
        if unknown:
            raise ArgumentError(f"Unknown fields of a training configuration: {sorted(unknown)}.")
        return cls(**values)

    def __str__(self) -> str:
        course = TrainConfig()
        lines = []
        for name, value in dataclasses.asdict(self).items():
            changed = (
                "" if value == getattr(course, name) else f"   (course: {getattr(course, name)})"
            )
            lines.append(f"  {name:<21}{value}{changed}")
        return "\n".join(lines)


PRESETS = ("course", "best")


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    """Adds ``--preset`` and a flag for every field of `TrainConfig`."""
    parser.add_argument(
        "--preset", choices=PRESETS, default="course", help="set of choices to start from"
    )
    group = parser.add_argument_group("training choices (the preset's value where not given)")
    for name, kind in typing.get_type_hints(TrainConfig).items():
        info = TrainConfig.__dataclass_fields__[name]
        options: dict[str, Any] = {"help": f"{info.metadata['help']} [course: {info.default}]"}
        if kind is bool:
            options["action"] = argparse.BooleanOptionalAction
        else:
            options["type"] = kind
            options["metavar"] = kind.__name__.upper()
        if info.metadata["accepted"]:
            options["choices"] = info.metadata["accepted"]
            del options["metavar"]
        group.add_argument(f"--{name.replace('_', '-')}", default=None, **options)


def config_from_flags(flags: types.SimpleNamespace | argparse.Namespace) -> TrainConfig:
    """The configuration that the parsed command line asks for."""
    given = {
        name: getattr(flags, name)
        for name in TrainConfig.__dataclass_fields__
        if getattr(flags, name, None) is not None
    }
    return TrainConfig.preset(flags.preset, **given)
