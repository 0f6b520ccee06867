"""Models and checkpoints: one safetensors file each, checked by its SHA-256; no pickle.

The file holds arrays, and one JSON text under ``siamese`` in its metadata: format, kind, version, SHA-256
and more facts. A writer replaces the file as a whole (`siamese.storage.atomic`).

The facts of a model: tower, vocabulary (words, folded, unknown_ids), encoder (name, share, fingerprint),
threshold, calibration, card.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError
from siamese.nn.encoder import TowerConfig
from siamese.storage.atomic import explained, open_atomically

if TYPE_CHECKING:
    from siamese.search.detector import DuplicateDetector

FORMAT, VERSION = "siamese", 1
DTYPES = ("float32", "float16", "int32", "int64", "uint32", "uint8", "bool")
MAX_BYTES = 16 << 30  # of one file
MAX_FACTS = 64 << 20  # bytes of the JSON text; safetensors reads headers of 100 MB at most
TOWER = ("vocab_size", "d_model", "mask_padding", "bidirectional")
MODEL_NAME = "model.safetensors"  # in the directory of a run
OBJECT = (
    "probe "  # how the fingerprint of an object in Python starts; its vector of a sentence follows
)

# What makes a file of each kind, for messages.
MAKERS = {
    "model": "`siamese train` or `siamese import-weights` makes one",
    "checkpoint": "`siamese train` makes one",
}


def write_file(
    path: str | os.PathLike, kind: str, arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]
) -> None:
    """Writes arrays and facts as one file, in place of an older file; a killed writer leaves the older one.

    Args:
      path: the file; its directory must exist. A symbolic link is followed.
      kind: 'model' or 'checkpoint'; `read_file` refuses another kind.
      arrays: name -> array of one of `DTYPES`, any shape.
      facts: JSON values by name, 64 MB at most; tuples come back as lists.

    Raises:
      CheckpointError: an array of another dtype, too many facts, or the file cannot be written.

    Example:
      >>> write_file("weights.safetensors", "model", {"a": np.zeros(3, "f")}, {"step": 4})  # doctest: +SKIP
    """
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise CheckpointError(
                f"Cannot write {path}: the array {name!r} is {array.dtype}; a file holds "
                f"{', '.join(DTYPES)}."
            )
    body = {**facts, "format": FORMAT, "kind": kind, "version": VERSION}
    body = json.loads(json.dumps(body))  # As it is read, for the checksum: keys are text.
    body.pop("sha256", None)
    text = json.dumps({**body, "sha256": checksum(arrays, body)})
    if len(text) > MAX_FACTS:
        raise CheckpointError(f"Cannot write {path}: {len(text):,} bytes of metadata are too many.")
    with open_atomically(path, CheckpointError) as file:
        file.write(save(arrays, {FORMAT: text}))


def read_file(path: str | os.PathLike, kind: str) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads a file that `write_file` wrote: its arrays by name, and its facts.

    Raises:
      CheckpointError: it is missing, damaged, too large, or of another program, kind or version.
    """
    from safetensors import SafetensorError, safe_open

    _check_regular(path, kind)
    try:
        with explained(path, "read"), safe_open(path, "np") as file:
            facts = _facts(path, kind, file.metadata() or {})
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
    except (SafetensorError, MemoryError) as error:
        raise _damaged(path, error) from error
    body = {name: value for name, value in facts.items() if name != "sha256"}
    if facts.get("sha256") != checksum(arrays, body):
        raise _damaged(path, "its checksum differs")
    for name, array in arrays.items():
        if array.dtype.name not in DTYPES:
            raise _damaged(path, f"the array {name!r} is {array.dtype}")
    return arrays, facts


def checksum(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> str:
    """The SHA-256 of JSON values and of every array's name, dtype, shape and bytes, in sorted order."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8))
    return digest.hexdigest()


# ---- Models ----


def write_model(path: str | os.PathLike, detector: DuplicateDetector) -> Path:
    """Writes a detector as a file, or into a directory as `MODEL_NAME`; returns the file's path."""
    path, calibration = model_path(path), detector.calibration
    facts = {**vector_facts(detector), "threshold": detector.threshold, "card": detector.card}
    facts["calibration"] = calibration.to_dict() if calibration else None
    write_file(path, "model", detector.weights, facts)
    return path


def read_model(path: str | os.PathLike, encoder: Any = None) -> DuplicateDetector:
    """Reads a detector from its file, or from the directory of a run.

    Raises:
      CheckpointError: see `read_file` and `saved_encoder`; or the file's parts do not fit together.
    """
    from siamese.evaluation.calibration import Calibration
    from siamese.search.detector import DuplicateDetector

    path = model_path(path)
    arrays, facts = read_file(path, "model")
    try:
        tower, vocabulary, frozen = facts["tower"], facts["vocabulary"], facts["encoder"]
        if tower is not None:
            tower, vocabulary = TowerConfig(**{n: tower[n] for n in TOWER}), _vocabulary(vocabulary)
            if tower.vocab_size != vocabulary.size:
                sizes = f"{vocabulary.size} rows, and its embedding has {tower.vocab_size}"
                raise ValueError(f"its vocabulary needs {sizes}")
        elif frozen is None:
            raise ValueError("it has neither a tower nor an encoder")
        if not math.isfinite(facts["threshold"]):
            raise ValueError(f"its threshold is {facts['threshold']}")
        options = {"threshold": facts["threshold"], "card": dict(facts["card"])}
        if facts["calibration"] is not None:
            options["calibration"] = Calibration.from_dict(facts["calibration"])
        if frozen is not None:
            options["encoder_share"] = frozen["share"]
            texts = all(isinstance(frozen[name], str) for name in ("name", "fingerprint"))
            if not texts or not 0 <= frozen["share"] <= 1:
                raise ValueError(f"its encoder is {frozen!r:.60}")
    except (ValueError, TypeError, LookupError, AttributeError, ArithmeticError) as error:
        raise _damaged(path, error) from error
    if frozen is None and encoder is not None:
        raise CheckpointError(f"{path} has no encoder. Load it without one.")
    if frozen is not None:
        options["encoder"] = saved_encoder(path, frozen, encoder)
    return DuplicateDetector(arrays if tower else None, vocabulary, tower, **options)


def vector_facts(detector: DuplicateDetector) -> dict[str, Any]:
    """What decides a detector's vectors beside its arrays, as JSON values."""
    tower, words = detector.tower, detector.vocabulary
    names = "words", "folded", "unknown_ids"
    return {
        "tower": tower and {name: getattr(tower, name) for name in TOWER},
        "vocabulary": tower and {name: getattr(words, name) for name in names},
        "encoder": encoder_facts(detector),
    }


def encoder_facts(detector: DuplicateDetector) -> dict[str, Any] | None:
    """A detector's encoder as JSON values: name, share, fingerprint; None without an encoder."""
    encoder, share = detector.encoder, detector.encoder_share
    return encoder and {"name": encoder.name, "share": share, "fingerprint": encoder.fingerprint}


def saved_encoder(path: str | os.PathLike, facts: Mapping[str, Any], encoder: Any = None) -> Any:
    """The encoder that a file names (`encoder_facts`): found by its name, or `encoder`.

    Raises:
      CheckpointError: an encoder that is an object, and none was passed; or another encoder.
      MissingDependencyError: its package is not installed.
    """
    from siamese.search.encoders import find_encoder, same_encoder

    name, fingerprint = facts["name"], facts["fingerprint"]
    is_object = fingerprint.startswith(OBJECT)
    if encoder is None and is_object:
        raise CheckpointError(
            f"{path} was made with the encoder {name!r}, which is not saved with it. Pass that encoder: "
            "it is the second argument of load in Python."
        )
    encoder = find_encoder(name if encoder is None else encoder, name)
    named = encoder.name == name or not is_object
    if not named or not same_encoder(encoder.fingerprint, fingerprint):
        other = "another encoder of that name" if encoder.name == name else repr(encoder.name)
        raise CheckpointError(
            f"{path} was made with the encoder {name!r}, not with {other}: their vectors cannot be "
            "compared. Pass that encoder, or make the file again."
        )
    return encoder


def model_path(path: str | os.PathLike) -> Path:
    """The file of a model, which may be given by the directory of a run."""
    return Path(path, MODEL_NAME) if os.path.isdir(path) else Path(path)


def _vocabulary(facts: Mapping[str, Any]) -> Vocabulary:
    words, folded = facts["words"], facts["folded"]
    vocabulary = Vocabulary(words[1:], folded=folded, unknown_ids=facts["unknown_ids"])
    if words != list(vocabulary.words) or not isinstance(folded, bool):
        raise ValueError("its vocabulary does not list each word once")
    return vocabulary


def _check_regular(path: str | os.PathLike, kind: str) -> None:
    """Refuses a path that is missing, too large or not a file (or a link to a file)."""
    folder = Path(path) if os.path.isdir(path) else Path(path).absolute().parent
    old = (folder / "CURRENT").exists() or (folder / "model" / "CURRENT").exists()
    if old and not os.path.isfile(path):
        raise CheckpointError(
            f"{folder} is a directory of an earlier version of siamese; a {kind} is one file now. "
            f"{MAKERS[kind]}."
        )
    if not os.path.lexists(path):
        raise CheckpointError(f"There is no {kind} at {path}. {MAKERS[kind]}.")
    with explained(path, "read"):
        status = os.stat(path)
    if not stat.S_ISREG(status.st_mode):
        what = "a directory" if stat.S_ISDIR(status.st_mode) else "not a file"
        raise CheckpointError(f"{path} is {what}; a {kind} is one file. Check the path.")
    if status.st_size > MAX_BYTES:
        raise CheckpointError(
            f"{path} has {status.st_size:,} bytes; {MAX_BYTES:,} are read at most."
        )


def _facts(path: str | os.PathLike, kind: str, metadata: Mapping[str, str]) -> dict[str, Any]:
    """The facts in a file's metadata, their format, kind and version checked."""
    if FORMAT not in metadata:
        raise CheckpointError(
            f"{path} is a safetensors file of another program, not a {kind}. {MAKERS[kind]}."
        )
    try:
        facts = dict(json.loads(metadata[FORMAT]))
    except (ValueError, TypeError, RecursionError) as error:
        raise _damaged(path, "its metadata cannot be read") from error
    if facts.get("version") != VERSION:
        version = f"{path} has format version {facts.get('version')!r}"
        raise CheckpointError(f"{version}; this siamese reads version {VERSION}. Upgrade siamese.")
    if facts.get("kind") != kind:
        raise CheckpointError(f"{path} is a {facts.get('kind')!s:.40}, not a {kind}.")
    return facts


def _damaged(path: str | os.PathLike, why: object) -> CheckpointError:
    return CheckpointError(f"{path} is damaged: {str(why)[:200]}. Take another copy of the file.")
