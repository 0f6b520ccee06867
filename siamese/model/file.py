"""Models and checkpoints: one safetensors file each, checked by its SHA-256; no pickle.

The file holds arrays, and one JSON text under ``siamese`` in its metadata: format,
kind, version, SHA-256 and more facts. A writer replaces the file as a whole
(`siamese.system.files`).

The arrays of a model are the LSTM's weights and the head. Its facts: LSTM, vocabulary
(words, folded, unknown_ids), encoder (name, fingerprint), shares, threshold,
calibration, card.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from siamese.encoders import find_encoder, is_encoder_name
from siamese.encoders.lstm import LstmConfig
from siamese.errors import CheckpointError, DataError
from siamese.system.files import explained, open_atomically
from siamese.text.vocabulary import Vocabulary

if TYPE_CHECKING:
    from siamese.model.detector import DuplicateDetector

FORMAT, VERSION = "siamese", 4
MODEL_NAME = "model.safetensors"  # in the directory of a run
DAMAGE = (
    ValueError,
    TypeError,
    LookupError,
    AttributeError,
    ArithmeticError,
)  # of other contents
MAKE = "`siamese train` makes one."


def write_file(
    path: str | os.PathLike,
    kind: str,
    arrays: Mapping[str, np.ndarray],
    facts: Mapping[str, Any],
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
    body = json.loads(
        json.dumps(body)
    )  # As it is read, for the checksum: keys are text.
    body.pop("sha256", None)
    text = json.dumps({**body, "sha256": checksum(arrays, body)})
    with open_atomically(path, CheckpointError, overwrite=overwrite) as file:
        file.write(save(arrays, {FORMAT: text}))


def read_file(
    path: str | os.PathLike, kind: str
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Reads a file that `write_file` wrote: its arrays by name, and its facts.

    CheckpointError where it is missing, damaged, or of another program, kind or
    version.
    """
    from safetensors import SafetensorError, safe_open

    if not os.path.isfile(path):
        other = ", which is not a file" if os.path.exists(path) else ""
        raise CheckpointError(f"There is no {kind} at {path}{other}. {MAKE}")
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
                    f"{kind} of version {VERSION} here. {MAKE}"
                )
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118
        body = {name: value for name, value in facts.items() if name != "sha256"}
        if facts.get("sha256") != checksum(arrays, body):
            raise ValueError("its checksum differs")
    except (SafetensorError, MemoryError, *DAMAGE, RecursionError) as error:
        raise _damaged(path, error) from error
    return arrays, facts


def checksum(arrays: Mapping[str, np.ndarray], facts: Mapping[str, Any]) -> str:
    """The SHA-256 of JSON values and of every array's name, dtype, shape and bytes, in sorted order."""
    digest = hashlib.sha256(json.dumps(facts, sort_keys=True).encode())
    for name, array in sorted(arrays.items()):
        digest.update(json.dumps([name, array.dtype.name, array.shape]).encode())
        digest.update(array.reshape(-1).view(np.uint8))
    return digest.hexdigest()


# ---- Models ----


def arrays_of(detector: DuplicateDetector) -> dict[str, np.ndarray]:
    """A detector's arrays by name: the LSTM's weights, and the head where there is one."""
    return detector.weights | ({} if detector.head is None else {"head": detector.head})


def read_model(path: str | os.PathLike) -> DuplicateDetector:
    """Reads a detector from its file, or from the directory of a run; CheckpointError as `read_file`."""
    from siamese.model.detector import DuplicateDetector
    from siamese.model.parts import calibration_of

    path = model_path(path)
    arrays, facts = read_file(path, "model")
    try:
        lstm, words, frozen = facts["lstm"], facts["vocabulary"], facts["encoder"]
        options = {name: facts[name] for name in ("threshold", "shares")}
        options |= {"card": dict(facts["card"]), "head": arrays.pop("head", None)}
        options["calibration"] = calibration_of(facts["calibration"])
        if frozen is not None:
            options["encoder"] = saved_encoder(path, frozen)
        if lstm is None:
            return DuplicateDetector(None, None, None, **options)
        lstm = LstmConfig(**lstm)
        vocabulary = Vocabulary(**{**words, "words": words["words"][1:]})
        is_whole = list(vocabulary.words) == words["words"] and isinstance(
            vocabulary.folded, bool
        )
        if not is_whole or lstm.vocab_size != vocabulary.size:
            sizes = f"{vocabulary.size} different words, and its embedding {lstm.vocab_size} rows"
            raise ValueError(f"its vocabulary has {sizes}")
        return DuplicateDetector(arrays, vocabulary, lstm, **options)
    except DataError:  # of the encoder's files
        raise
    except DAMAGE as error:
        raise _damaged(path, error) from error


def vector_facts(detector: DuplicateDetector) -> dict[str, Any]:
    """What decides a detector's vectors beside its arrays, as JSON values."""
    lstm, words, encoder = detector.lstm, detector.vocabulary, detector.encoder
    names = "words", "folded", "unknown_ids"
    return {
        "lstm": lstm and asdict(lstm),
        "vocabulary": lstm and {name: getattr(words, name) for name in names},
        "encoder": encoder
        and {"name": encoder.name, "fingerprint": encoder.fingerprint},
        "shares": detector.shares,
    }


def check_encoder(detector: DuplicateDetector) -> None:
    """Raises a CheckpointError where the encoder is an object in Python, which no file can name."""
    if detector.encoder is not None and detector.encoder.fingerprint is None:
        raise CheckpointError(
            f"The encoder {detector.encoder.name!r} is an object in Python, which no file can name. Keep "
            "what is made with it in memory, or take an encoder by its name."
        )


def saved_encoder(path: str | os.PathLike, facts: Mapping[str, Any]) -> Any:
    """The encoder that a file names, by its name; CheckpointError for another fingerprint."""
    encoder = find_encoder(str(facts["name"]))
    if encoder.fingerprint != facts["fingerprint"]:
        raise CheckpointError(
            f"{path} was made with the encoder {encoder.name!r}, not with the version that is installed: "
            "their vectors cannot be compared. Make the file again."
        )
    return encoder


def model_path(path: str | os.PathLike) -> Path:
    """The file of a model, which may be given by the directory of a run."""
    path = os.fsdecode(
        path
    )  # of bytes, too; `Path.is_dir` raises for a name that is too long
    return Path(path, MODEL_NAME) if os.path.isdir(path) else Path(path)


# ---- The model of an index ----


def index_facts(
    detector: DuplicateDetector,
    path: str | os.PathLike | None,
    model: str | os.PathLike | None,
) -> dict[str, Any]:
    """What an index says of its model: checksum, encoder, places; for an encoder alone its threshold."""
    facts = {
        "model_checksum": detector.checksum,
        "size": detector.output_size,
        "model": [],
    }
    facts["encoder"] = vector_facts(detector)["encoder"]
    if model is not None and not is_encoder_name(model) and os.path.exists(model):
        where = model_path(model).resolve()
        # Relative first, so that model and index can be moved together.
        folder = os.path.dirname(os.path.realpath(path or "."))
        facts["model"] = [os.path.relpath(where, folder), str(where)]
    elif detector.lstm is None:
        facts["fit"] = detector.fit
    return facts


def detector_of(
    path: str | os.PathLike, facts: dict[str, Any], detector: Any
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
        return DuplicateDetector.from_encoder(saved_encoder(path, facts["encoder"]))
    places = "".join(f" ({place})" for place in facts["model"][1:])
    raise CheckpointError(
        f"{path} does not say where its model is, or it is gone from there{places}. Name the model "
        "(--model)."
    )


def _damaged(path: str | os.PathLike, why: object) -> CheckpointError:
    why = str(why)[:200]
    return CheckpointError(
        f"{path} is damaged, or was not saved by siamese: {why}. Take another copy of the file."
    )
