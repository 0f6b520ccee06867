"""TrainConfig: every choice of a training run, its presets, and its flags on the command line."""

from __future__ import annotations

import argparse
import dataclasses
import operator
import typing
from dataclasses import dataclass, field
from typing import Any

from siamese.errors import ArgumentError

_BOUNDS = {"at least": operator.ge, "above": operator.gt, "below": operator.lt}


def _choice(default: Any, help: str, *, least=None, above=None, below=None, **needs: Any) -> Any:
    """A field with its bounds, or with a tuple of accepted values, the default first.

    Where it is not the default, the other fields must be as `needs` says.
    """
    accepted = default if isinstance(default, tuple) else None
    bounds = {"at least": least, "above": above, "below": below}
    given = {word: bound for word, bound in bounds.items() if bound is not None}
    metadata = {"help": help, "accepted": accepted, "bounds": given, "needs": needs}
    return field(default=accepted[0] if accepted else default, metadata=metadata)


@dataclass(frozen=True)
class TrainConfig:
    """All choices of a training run. The defaults are the course's; a preset overrides some of them.

    Raises:
      ArgumentError: a value outside what its field accepts; names the field and what it accepts.

    Example:
      >>> TrainConfig.course().margin, TrainConfig(batch_size=64).batch_size
      (0.25, 64)
    """

    # The text and the model
    lowercase: bool = _choice(False, "fold words to lower case before looking them up")
    d_model: int = _choice(128, "size of the embedding, the LSTM and the question vectors", least=1)
    mask_padding: bool = _choice(False, "leave padding out of the LSTM and the mean")
    lstm_bias: str = _choice(
        ("all_gates", "forget_gate"),
        "where the LSTM's bias starts at 1: in all gates as in Trax, or in the forget gate alone",
    )
    bidirectional: bool = _choice(False, "add a second LSTM that reads each question from its end")
    embedding: str = _choice(
        "",
        "static vectors under the tower: wordllama, a file of word2vec or GloVe (text, also .gz), or a "
        ".safetensors file with its tokenizer.json; for --preset general",
        mask_padding=True,
        bidirectional=True,
    )
    static_share: float = _choice(
        0.3,
        "share of the static vectors in the cosine of training, beside what is learned",
        least=0,
        below=1,
    )
    pair_static_share: float = _choice(
        0.6, "their share in the saved model's cosine of pairs", least=0, below=1
    )
    search_static_share: float = _choice(
        0.75, "their share in the saved model's vectors, which order searches", above=0, below=1
    )
    character_share: float = _choice(
        0.15, "the part of that share of vectors made of character trigrams", least=0, below=1
    )
    embedding_rate: float = _choice(
        1.0, "the embedding's learning rate is the learning rate times it", above=0, lazy_adam=False
    )
    embedding_pull: float = _choice(
        0.0, "weight of the embeddings' mean squared length in the loss", least=0, lazy_adam=False
    )
    vocabulary: str = _choice(
        ("duplicates", "all"), "take the words of the training duplicates, or of all training pairs"
    )
    min_count: int = _choice(1, "leave out words seen fewer times in training", least=1)
    unknown_ids: int = _choice(
        0, "embeddings that unknown words share by hash; 0 gives them one", least=0
    )
    embedding_init: float = _choice(
        0.0, "standard deviation of the embedding's first values; 0 takes Trax's", least=0
    )
    embedding_dropout: float = _choice(
        0.0,
        "share of the numbers of each word of a batch set to zero in training",
        least=0,
        below=1,
    )
    word_dropout: float = _choice(
        0.0, "share of words replaced by the unknown word in training", least=0, below=1
    )
    # The pairs
    transitive_closure: bool = _choice(
        False, "train also on duplicates that follow from others: a = b and b = c, so a = c"
    )
    # The loss
    loss: str = _choice(
        ("triplet", "ranking"),
        "the course's triplet loss, or the multiple-negatives ranking loss",
    )
    temperature: float = _choice(0.05, "the ranking loss divides cosines by it", above=0)
    pair_batch_size: int = _choice(
        0,
        "labelled pairs a batch for the auxiliary pairwise loss; 0 leaves it out",
        least=0,
        loss="ranking",
        batches="bucketed",
    )
    pair_loss_weight: float = _choice(1.0, "weight of the auxiliary pairwise loss", least=0)
    pair_duplicates: float = _choice(
        0.35, "share of duplicates among its labelled pairs", least=0, below=1
    )
    hard_negatives: int = _choice(
        0,
        "mined non-duplicates among its labelled pairs: similar words, different clusters",
        least=0,
        pair_batch_size=True,
    )
    margin: float = _choice(
        0.25, "how much more similar a duplicate must be than a negative", least=0
    )
    closest: str = _choice(("hardest", "semi_hard"), "which negative is the closest")
    direction: str = _choice(("rows", "columns", "both"), "which side's negatives count")
    precision: str = _choice(
        ("float32", "bfloat16"),
        "arithmetic inside the tower; weights and loss stay float32 (for accelerators)",
    )
    # The batches
    batches: str = _choice(
        ("course", "bucketed"), "the course's generator, or batches of questions of like length"
    )
    batch_size: int = _choice(256, "pairs in a batch", least=2)
    swap: bool = _choice(False, "swap the two questions of a pair at random", batches="bucketed")
    false_negatives: str = _choice(
        ("keep", "mask"),
        "pairs of one cluster in a batch: kept as negatives, or masked",
        batches="bucketed",
    )
    topic_block: int = _choice(
        0, "pairs in a topic-homogeneous block; 0 mixes all", least=0, batches="bucketed"
    )
    # The optimizer
    learning_rate: float = _choice(0.01, "Adam's learning rate after the warm-up", least=0)
    adam_epsilon: float = _choice(
        1e-5, "Adam's epsilon; Trax's is large for the embeddings of rare words", above=0
    )
    lazy_adam: bool = _choice(
        False,
        "Adam moves only the embeddings of a batch's words: quicker with many words",
        embedding="",
    )
    warmup_steps: int = _choice(400, "steps of linear warm-up", least=0)
    schedule: str = _choice(
        ("rsqrt", "linear"),
        "the learning rate after the warm-up: 1/sqrt(step), or linear to zero at the run's end",
    )
    # The run
    steps: int = _choice(1000, "training steps, unless epochs is given", least=1)
    epochs: float = _choice(0.0, "passes over the training pairs; 0 counts steps", least=0)
    train_share: float = _choice(
        0.8, "share of the training duplicates trained on; the rest validates", above=0, below=1
    )
    valid_duplicates: int = _choice(
        0,
        "at most so many duplicates validate, the others train; 0 sets no limit (best: 3000, so that "
        "nearly all of a large file's train)",
        least=0,
    )
    eval_every: int = _choice(100, "steps between evaluations", least=1)
    checkpoint_every: int = _choice(100, "steps between checkpoints", least=1)
    keep: int = _choice(3, "how many of the last checkpoints stay", least=1)
    patience: int = _choice(
        0, "stop after so many evaluations without a lower loss; 0 never does", least=0
    )
    seed: int = _choice(34, "seed of the weights and the batches", least=0)

    def __post_init__(self):
        for name, kind in typing.get_type_hints(type(self)).items():
            value, info = getattr(self, name), self.__dataclass_fields__[name]
            if kind is float and isinstance(value, (int, float)) and not isinstance(value, bool):
                value = float(value)
                object.__setattr__(self, name, value)
            if type(value) is not kind:
                raise ArgumentError(f"{name} must be of type {kind.__name__}; it is {value!r}.")
            accepted = info.metadata["accepted"]
            if accepted and value not in accepted:
                raise ArgumentError(
                    f"{name} must be one of {', '.join(accepted)}; it is {value!r}."
                )
            for word, bound in info.metadata["bounds"].items():
                if not _BOUNDS[word](value, bound):
                    raise ArgumentError(f"{name} must be {word} {bound}; it is {value}.")
            for other, needed in info.metadata["needs"].items() if value != info.default else ():
                found = getattr(self, other)
                if needed is True and not found:
                    raise ArgumentError(f"{name} needs {other}: give it too.")
                if needed is not True and found != needed:
                    raise ArgumentError(f"{name} needs {other}={needed!r}; it is {found!r}.")

    @classmethod
    def preset(cls, name: str, **changes: Any) -> TrainConfig:
        """The preset of that name, with changes."""
        if name not in PRESETS:
            raise ArgumentError(f"The presets are {', '.join(PRESETS)}; there is no {name!r}.")
        if "steps" in changes:  # They are meant, also where the preset counts epochs.
            changes = {"epochs": 0.0, **changes}
        return cls(**{**PRESETS[name], **changes})

    @classmethod
    def course(cls, **changes: Any) -> TrainConfig:
        """The course's own choices."""
        return cls.preset("course", **changes)

    @classmethod
    def best(cls, **changes: Any) -> TrainConfig:
        """The most accurate choices measured so far on labelled Quora rows; see docs/quality.md."""
        return cls.preset("best", **changes)

    @classmethod
    def general(cls, **changes: Any) -> TrainConfig:
        """For one's own data: `best`'s pairs and loss over static vectors; see docs/own_data.md."""
        return cls.preset("general", **changes)

    @classmethod
    def from_dict(cls, values: dict[str, Any]) -> TrainConfig:
        """From a dict of fields; ArgumentError where there are unknown ones."""
        unknown = set(values) - set(cls.__dataclass_fields__)
        if unknown:
            raise ArgumentError(
                f"Unknown fields of a training configuration: {sorted(unknown)}. Another version of "
                "siamese wrote it: train anew, in another directory or with --overwrite."
            )
        return cls(**values)

    def __str__(self) -> str:
        lines = []
        for name, value in dataclasses.asdict(self).items():
            course = self.__dataclass_fields__[name].default
            changed = "" if value == course else f"   (course: {course})"
            lines.append(f"  {name:<21}{value}{changed}")
        return "\n".join(lines)


PRESETS: dict[str, dict[str, Any]] = {
    "course": {},
    "best": {
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
        "transitive_closure": True,
        "loss": "ranking",
        "direction": "both",
        "pair_batch_size": 256,
        "pair_loss_weight": 2.0,
        "pair_duplicates": 0.4,
        "hard_negatives": 36_000,
        "batches": "bucketed",
        "false_negatives": "mask",
        "swap": True,
        "topic_block": 32,
        "schedule": "linear",
        "warmup_steps": 200,
        "adam_epsilon": 1e-8,
        "epochs": 7.0,
        "valid_duplicates": 3000,
        "eval_every": 250,
        "checkpoint_every": 500,
    },
}
PRESETS["general"] = {
    **PRESETS["best"],
    "lowercase": False,  # Subwords fold text themselves.
    "min_count": 1,
    "unknown_ids": 0,
    "embedding_init": 0.0,
    "embedding": "wordllama",
    "learning_rate": 0.004,
    "embedding_rate": 10.0,
    "embedding_pull": 0.02,
    "epochs": 6.0,
}


def add_config_flags(parser: argparse.ArgumentParser) -> None:
    """Adds ``--preset`` and a flag for every field of `TrainConfig`."""
    parser.add_argument(
        "--preset", choices=[*PRESETS], default="course", help="set of choices to start from"
    )
    group = parser.add_argument_group("training choices (the preset's value where not given)")
    for name, kind in typing.get_type_hints(TrainConfig).items():
        info = TrainConfig.__dataclass_fields__[name]
        options: dict[str, Any] = {"type": kind, "metavar": kind.__name__.upper()}
        if kind is bool:
            options = {"action": argparse.BooleanOptionalAction}
        elif info.metadata["accepted"]:
            options = {"choices": info.metadata["accepted"]}
        options["help"] = f"{info.metadata['help']} [course: {info.default}]"
        group.add_argument(f"--{name.replace('_', '-')}", default=None, **options)


def choices_from_flags(flags: argparse.Namespace) -> dict[str, Any]:
    """The fields that the parsed command line gives, beside the preset."""
    names = TrainConfig.__dataclass_fields__
    return {n: getattr(flags, n) for n in names if getattr(flags, n, None) is not None}


def config_from_flags(flags: argparse.Namespace) -> TrainConfig:
    """The configuration that the parsed command line asks for."""
    return TrainConfig.preset(flags.preset, **choices_from_flags(flags))
