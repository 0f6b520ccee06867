"""TrainConfig: the configuration of a training run, and its presets."""

from __future__ import annotations

import operator
import typing
from dataclasses import dataclass, field
from typing import Any

from siamese.errors import ArgumentError
from siamese.system.arguments import one_of
from siamese.system.open_types import Keywords

_BOUNDS = {"at least": operator.ge, "above": operator.gt, "below": operator.lt}


def _choice(
    default: Any,
    help: str,
    *,
    least: float | None = None,
    above: float | None = None,
    below: float | None = None,
    **needs: str,
) -> Any:
    """A field with its bounds, or with a tuple of accepted values, the default first.

    Where it is not the default, the other fields must be as `needs` says.
    """
    accepted = default if isinstance(default, tuple) else ()
    bounds = {"at least": least, "above": above, "below": below}
    metadata = {"help": help, "accepted": accepted, "bounds": bounds, "needs": needs}
    return field(default=accepted[0] if accepted else default, metadata=metadata)


@dataclass(frozen=True)
class TrainConfig:
    """The configuration of a training run. The defaults are the course's; a preset overrides some of them.

    Raises:
      ArgumentError: a value outside what its field accepts; names the field and what it accepts.

    Example:
      >>> TrainConfig().margin, TrainConfig(batch_size=64).batch_size
      (0.25, 64)
    """

    # The text and the model
    encoder: str = _choice(
        "",
        "train a head on this frozen encoder, such as use; empty: an LSTM",
        batches="bucketed",
    )
    folded: bool = _choice(
        False, "fold case, quotes, Unicode forms and markup of texts"
    )
    vocabulary: str = _choice(
        ("duplicates", "all"), "training pairs whose words have embeddings"
    )
    min_count: int = _choice(1, "leave out words seen fewer times in training", least=1)
    unknown_ids: int = _choice(
        0, "embeddings of unknown words; 0: they share one", least=0, below=10**7
    )
    d_model: int = _choice(
        128, "size of embedding and LSTM's state", least=1, below=10_000
    )
    mask_padding: bool = _choice(False, "leave padding out of the LSTM and the mean")
    bidirectional: bool = _choice(
        False, "a second LSTM reads each question from its end"
    )
    lstm_bias: str = _choice(
        ("all_gates", "forget_gate"), "where the LSTM's bias starts at 1"
    )
    embedding_std: float = _choice(
        0.0, "of the embedding's first values; 0: Trax's", least=0
    )
    embedding_dropout: float = _choice(
        0.0,
        "share of each word's, or for a head each vector's, numbers set to 0",
        least=0,
        below=1,
    )
    word_dropout: float = _choice(
        0.0, "share of words made unknown in training", least=0, below=1
    )
    # The pairs and their batches
    transitive_closure: bool = _choice(
        False, "where a = b and b = c, train on a = c too"
    )
    # The bucketed ones: questions of like length, sides swapped at random, known
    # duplicates masked.
    batches: str = _choice(
        ("course", "bucketed"), "the course's generator, or little padding"
    )
    batch_size: int = _choice(256, "pairs in a batch", least=2, below=10**5)
    # The loss
    loss: str = _choice(
        ("triplet", "ranking"), "the course's, or multiple-negatives ranking"
    )
    edition: int = _choice(
        (2023, 2022, 2021, 2020), "the course's edition of the triplet loss"
    )
    margin: float = _choice(
        0.25, "by which a duplicate must exceed a negative", least=0
    )
    direction: str = _choice(
        ("rows", "columns", "both"), "which side's negatives count", loss="triplet"
    )
    pair_batch_size: int = _choice(
        0,
        "labelled pairs a batch, for a loss of their own",
        least=0,
        below=10**5,
        loss="ranking",
        batches="bucketed",
    )
    pair_loss_weight: float = _choice(
        2.0, "weight of the loss of labelled pairs", least=0
    )
    # The optimizer
    learning_rate: float = _choice(
        0.01, "Adam's learning rate after the warm-up", least=0
    )
    adam_epsilon: float = _choice(
        1e-5, "Adam's; Trax's is large for rare words", above=0
    )
    warmup_steps: int = _choice(400, "steps of linear warm-up", least=0)
    schedule: str = _choice(
        ("rsqrt", "linear"), "after it: 1/sqrt(step), or linear to 0 at the end"
    )
    # The run
    steps: int = _choice(1000, "training steps, unless epochs is set", least=1)
    epochs: float = _choice(
        0.0, "passes over the training pairs; 0 counts steps", least=0
    )
    valid_duplicates: int = _choice(
        0, "that validate at most; 0: a fifth, as the course", least=0
    )
    eval_every: int = _choice(100, "steps between evaluations", least=1)
    checkpoint_every: int = _choice(100, "steps between checkpoints", least=1)
    patience: int = _choice(
        0, "evaluations without a lower loss before a stop; 0: none", least=0
    )
    seed: int = _choice(34, "seed of the weights and the batches", least=0, below=2**32)

    def __post_init__(self) -> None:
        for name, kind in typing.get_type_hints(type(self)).items():
            info = self.__dataclass_fields__[name]
            value = getattr(self, name)
            if hasattr(value, "item"):  # of NumPy
                value = value.item()
            if kind is float and type(value) is int:
                value = float(value)
            object.__setattr__(self, name, value)
            if type(value) is not kind:
                raise ArgumentError(
                    f"{name} must be of type {kind.__name__}; it is {value!r}."
                )
            if info.metadata["accepted"]:
                one_of(value, name, info.metadata["accepted"])
            for word, bound in info.metadata["bounds"].items():
                if bound is not None and not _BOUNDS[word](value, bound):
                    raise ArgumentError(
                        f"{name} must be {word} {bound}; it is {value}."
                    )
            if value != info.default:
                self._check_needs(name, info.metadata["needs"])

    def _check_needs(self, name: str, needs: dict[str, str]) -> None:
        for other, expected in needs.items():
            value = getattr(self, other)
            if value != expected:
                raise ArgumentError(
                    f"{name} needs {other}={expected!r}; it is {value!r}."
                )

    @classmethod
    def preset(cls, name: str, **changes: Any) -> TrainConfig:
        """The preset of that name, with changes."""
        one_of(name, "preset", tuple(PRESETS))
        if "steps" in changes:  # They are meant, also where the preset counts epochs.
            changes = {"epochs": 0.0, **changes}
        return cls(**{**PRESETS[name], **changes})


_LSTM = {
    "folded": True, "vocabulary": "all", "min_count": 3, "unknown_ids": 3000,
    "mask_padding": True, "bidirectional": True, "lstm_bias": "forget_gate", "embedding_std": 0.1,
    "embedding_dropout": 0.3, "word_dropout": 0.05,
    "transitive_closure": True, "batches": "bucketed",
    "loss": "ranking", "pair_batch_size": 256,
    "adam_epsilon": 1e-8, "warmup_steps": 200, "schedule": "linear", "epochs": 7.0,
    "valid_duplicates": 3000, "eval_every": 250, "checkpoint_every": 500,
}  # fmt: skip
_HEAD = {
    "encoder": "use",
    "learning_rate": 1e-3,
    "epochs": 4.0,
    "pair_loss_weight": 6.0,
}
PRESETS: dict[str, Keywords] = {
    "course": {},
    "lstm": _LSTM,
    "head": {**_LSTM, **_HEAD},
    # The LSTM beside that head, which judges new questions: it may learn the known
    # ones by heart.
    "ensemble": {**_LSTM, "epochs": 10.0},
}
