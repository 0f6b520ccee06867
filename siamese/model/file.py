"""Models and checkpoints: one safetensors file each, checked by its SHA-256; no pickle.

The file holds arrays, and one JSON text under ``siamese`` in its metadata: format,
kind, version, SHA-256 and more facts. A writer replaces the file as a whole
(`siamese.system.files`).

The facts of a model: encoder (`siamese.encoders.tree`), threshold, calibration, card,
and which kinds its near-miss check ignores. The arrays are those of the encoder, and
the trees of its own near-miss check, whose names begin with ``check/``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese.encoders import is_encoder_name
from siamese.encoders.protocol import Encoder, checksum
from siamese.encoders.tree import encoder_of, tree_of
from siamese.errors import CheckpointError, DataError
from siamese.model.decision import calibration_of, numbers_of
from siamese.model.near_misses import NearMissCheck
from siamese.model.trees import Trees
from siamese.system.files import explained, open_atomically
from siamese.system.open_types import JsonMapping, JsonObject

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector

FORMAT = "siamese"
VERSION = 8
MODEL_NAME = "model.safetensors"  # in the directory of a run
_TREES = "check/"  # The names of the arrays of a model's own check begin so.
# What reading other contents raises.
DAMAGE = (ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


def write_file(
    path: str | os.PathLike,
    kind: str,
    arrays: Mapping[str, np.ndarray],
    facts: JsonMapping,
    *,
    overwrite: bool,
) -> None:
    """Writes arrays and facts as one file; a killed writer leaves an older one as it was.

    The kind is 'model' or 'checkpoint'. Facts are JSON values by name; tuples come back
    as lists. ArgumentError for a file that is there without `overwrite`;
    CheckpointError where it cannot be written.
    """
    from safetensors.numpy import save

    arrays = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    body = {**facts, "format": FORMAT, "kind": kind, "version": VERSION}
    # As it is read, for the checksum: keys are text.
    body = json.loads(json.dumps(body))
    body.pop("sha256", None)
    text = json.dumps({**body, "sha256": checksum(arrays, body)})
    with open_atomically(path, CheckpointError, overwrite=overwrite) as file:
        file.write(save(arrays, {FORMAT: text}))


def read_file(
    path: str | os.PathLike, kind: str
) -> tuple[dict[str, np.ndarray], JsonObject]:
    """Reads a file that `write_file` wrote: its arrays by name, and its facts.

    CheckpointError where it is missing, damaged, or of another program, kind or
    version.
    """
    from safetensors import SafetensorError, safe_open

    if not os.path.isfile(path):
        other = ", which is not a file" if os.path.exists(path) else ""
        raise CheckpointError(f"There is no {kind} at {path}{other}.")
    try:
        with explained(path, "read"), safe_open(path, "np") as file:
            metadata = file.metadata() or {}
            if FORMAT not in metadata:
                raise ValueError("it is of another program")
            facts = dict(json.loads(metadata[FORMAT]))
            found = facts.get("kind"), facts.get("version")
            if found != (kind, VERSION):
                raise CheckpointError(
                    f"{path} is a {found[0]!s:.40} of version {found[1]!r:.20}; this siamese reads a "
                    f"{kind} of version {VERSION} here. Make it again."
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        body = {name: value for name, value in facts.items() if name != "sha256"}
        if facts.get("sha256") != checksum(arrays, body):
            raise ValueError("its checksum differs")
    except (SafetensorError, MemoryError, *DAMAGE, RecursionError) as error:
        raise _damaged(path, error) from error
    return arrays, facts


# ---- Models ----


def read_model(path: str | os.PathLike) -> DuplicateDetector:
    """Reads a detector from its file, or from the directory of a run; CheckpointError as `read_file`."""
    from siamese.model.detector import DuplicateDetector

    path = model_path(path)
    arrays, facts = read_file(path, "model")
    try:
        encoder = encoder_of(facts["encoder"], arrays, path)
        return DuplicateDetector(
            encoder,
            threshold=facts["threshold"],
            calibration=calibration_of(facts["calibration"]),
            card=dict(facts["card"]),
            check=check_of(facts["check"]),
            trees=trees_of(arrays, encoder),
        )
    except DataError:  # of the encoder's files
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error


def fit_of(detector: DuplicateDetector) -> JsonObject:
    """Threshold and calibration as plain values, for `DuplicateDetector.with_threshold`."""
    calibration = detector.calibration
    return {
        "threshold": detector.threshold,
        "calibration": None if calibration is None else asdict(calibration),
        "threshold_from": detector.threshold_from,
    }


def facts_of_check(check: NearMissCheck | None) -> JsonObject | None:
    """What a file says of a near-miss check: the kinds that it ignores; None where there is none."""
    return None if check is None else {"ignore": list(check.ignore)}


def check_of(facts: JsonMapping | None) -> NearMissCheck | None:
    """The shipped near-miss check as `facts_of_check` describes it."""
    return None if facts is None else NearMissCheck.shipped(facts["ignore"])


def arrays_of(trees: Trees | None) -> dict[str, np.ndarray]:
    """The arrays of a model's own near-miss check, by their names in its file."""
    if trees is None:
        return {}
    return {f"{_TREES}{name}": array for name, array in trees._asdict().items()}


def trees_of(arrays: Mapping[str, np.ndarray], encoder: Encoder) -> Trees | None:
    """The trees of the arrays of a file, None of none; ValueError for trees that are none."""
    own = {
        name.removeprefix(_TREES): array
        for name, array in arrays.items()
        if name.startswith(_TREES)
    }
    if not own:
        return None
    return Trees.of(own).checked(numbers_of(len(encoder.parts)))


def model_path(path: str | os.PathLike) -> Path:
    """The file of a model, which may be given by the directory of a run."""
    # of bytes, too; `Path.is_dir` raises for a name that is too long
    path = os.fsdecode(path)
    return Path(path, MODEL_NAME) if os.path.isdir(path) else Path(path)


# ---- The model of an index ----


def fingerprint_of(detector: DuplicateDetector) -> str:
    """The SHA-256 of what decides a model's vectors; '' where an object in Python does."""
    return detector.encoder.fingerprint or ""


def index_facts(
    detector: DuplicateDetector,
    path: str | os.PathLike | None,
    model: str | os.PathLike | None,
) -> JsonObject:
    """What an index says of its model: checksum, places, check; of a frozen encoder its threshold."""
    facts = {
        "model_checksum": fingerprint_of(detector),
        "size": detector.encoder.size,
        "model": [],
        "encoder": None,
    }
    if model is not None and not is_encoder_name(model) and os.path.exists(model):
        where = model_path(model).resolve()
        # Relative first, so that model and index can be moved together.
        folder = os.path.dirname(os.path.realpath(path or "."))
        facts["model"] = [os.path.relpath(where, folder), str(where)]
    elif detector.encoder.fingerprint is not None:
        tree, arrays = tree_of(detector.encoder)
        if not arrays:  # The index names all that is needed to open it.
            facts["encoder"] = tree
            facts["fit"] = fit_of(detector)
    facts["check"] = facts_of_check(detector.check)
    return facts


def detector_of(
    path: str | os.PathLike, facts: JsonObject, detector: Any
) -> DuplicateDetector:
    """The model of an index, from its file, or of the encoder that the index names."""
    from siamese.model.detector import DuplicateDetector

    if isinstance(detector, DuplicateDetector):
        return detector
    if detector is not None:
        return DuplicateDetector.load(detector)
    folder = os.path.dirname(os.path.abspath(path))
    for place in facts["model"]:
        if os.path.exists(os.path.join(folder, place)):
            return DuplicateDetector.load(os.path.join(folder, place))
    if facts["encoder"] and not facts["model"]:
        # The index has a threshold of its own.
        return DuplicateDetector.from_encoder(encoder_of(facts["encoder"], {}, path))
    places = "".join(f" ({place})" for place in facts["model"][1:])
    raise CheckpointError(
        f"{path} does not say where its model is, or it is gone from there{places}. Name the model "
        "(detector=).",
        arguments=("detector",),
    )


def _damaged(path: str | os.PathLike, why: object) -> CheckpointError:
    why = str(why)[:200]
    return CheckpointError(
        f"{path} is damaged, or was not saved by siamese: {why}. Take another copy of the file."
    )
