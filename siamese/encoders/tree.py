"""Encoders in a file: a tree of JSON values that names them, and the arrays of heads and LSTMs.

``{"name": "use", "fingerprint": ...}`` is an encoder that `find_encoder` finds,
``{"head": BASE}`` a head on the encoder of a tree, ``{"lstm": CONFIG, "vocabulary":
...}`` an LSTM, ``{"joined": [[SHARE, ENCODER], ...]}`` several side by side. The arrays
of the second of them have names that begin with ``1/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np

from siamese.encoders import find_encoder
from siamese.encoders.joined import Head, Joined
from siamese.encoders.lstm import Lstm
from siamese.encoders.protocol import BaseEncoder
from siamese.errors import CheckpointError
from siamese.nn.lstm import LstmConfig
from siamese.system.open_types import JsonObject
from siamese.text.vocabulary import Vocabulary

Tree = JsonObject
Arrays = dict[str, np.ndarray]


def tree_of(encoder: BaseEncoder) -> tuple[Tree, Arrays]:
    """The tree of an encoder, and its arrays by name; CheckpointError for an object in Python."""
    if isinstance(encoder, Joined):
        parts: list[tuple[float, Tree]] = []
        arrays: Arrays = {}
        for number, own in enumerate(encoder.encoders):
            tree, inner = tree_of(own)
            parts.append((encoder.weights[number], tree))
            arrays |= {f"{number}/{name}": array for name, array in inner.items()}
        return {"joined": parts}, arrays
    if isinstance(encoder, Head):
        tree, arrays = tree_of(encoder.base)
        return {"head": tree}, {**arrays, "head": encoder.matrix}
    if isinstance(encoder, Lstm):
        words = encoder.vocabulary
        names = "words", "folded", "unknown_ids"
        vocabulary = {name: getattr(words, name) for name in names}
        tree = {"lstm": asdict(encoder.config), "vocabulary": vocabulary}
        return tree, dict(encoder.weights)
    if encoder.fingerprint is None:
        raise CheckpointError(
            f"The encoder {encoder.name!r} is an object in Python, which no file can name. Keep "
            "what is made with it in memory, or take an encoder by its name."
        )
    return {"name": encoder.name, "fingerprint": encoder.fingerprint}, {}


def encoder_of(
    tree: Tree, arrays: Mapping[str, np.ndarray], path: str | os.PathLike
) -> BaseEncoder:
    """The encoder of a tree and its arrays, which stand in the file at `path`.

    CheckpointError where an encoder is installed in another version, or an LSTM's parts
    do not fit; ValueError, TypeError or LookupError for another tree.
    """
    return _Reader(path).read(tree, arrays)


class _Reader:
    """Reads the trees of one file; an encoder that stands in it twice is one."""

    def __init__(self, path: str | os.PathLike):
        self._path = path
        self._found: dict[str, BaseEncoder] = {}  # by the JSON of their trees

    def read(self, tree: Tree, arrays: Mapping[str, np.ndarray]) -> BaseEncoder:
        """The encoder of a tree and its arrays."""
        if "joined" in tree:
            parts = [
                (share, self.read(own, _of_part(arrays, f"{number}/")))
                for number, (share, own) in enumerate(tree["joined"])
            ]
            return Joined(parts)
        if "head" in tree:
            return Head(self.read(tree["head"], arrays), arrays["head"])
        if "lstm" in tree:
            return _lstm(tree, arrays)
        text = json.dumps(tree, sort_keys=True)
        if text not in self._found:
            self._found[text] = self._named(tree)
        return self._found[text]

    def _named(self, tree: Tree) -> BaseEncoder:
        """The installed encoder of a name; CheckpointError for another fingerprint."""
        encoder = find_encoder(str(tree["name"]))
        if encoder.fingerprint != tree["fingerprint"]:
            raise CheckpointError(
                f"{self._path} was made with the encoder {encoder.name!r}, not with the version that is "
                "installed: their vectors cannot be compared. Make the file again."
            )
        return encoder


def _of_part(arrays: Mapping[str, np.ndarray], start: str) -> Arrays:
    """The arrays of a part, by their names in it."""
    return {
        name.removeprefix(start): array
        for name, array in arrays.items()
        if name.startswith(start)
    }


def _lstm(tree: Tree, arrays: Mapping[str, np.ndarray]) -> Lstm:
    words = tree["vocabulary"]
    vocabulary = Vocabulary(**{**words, "words": words["words"][1:]})
    if list(vocabulary.words) != words["words"] or not isinstance(
        vocabulary.folded, bool
    ):
        raise ValueError("its vocabulary is none")
    return Lstm(LstmConfig(**tree["lstm"]), arrays, vocabulary)
