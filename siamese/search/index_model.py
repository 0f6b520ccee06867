"""Which model an index was made by: what its file says of it, and the model found again."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from siamese.errors import CheckpointError
from siamese.search.detector import DuplicateDetector
from siamese.search.lexical import ENCODER_VECTOR_WEIGHT, VECTOR_WEIGHT
from siamese.search.model_file import encoder_facts, model_path, saved_encoder


def model_facts(
    detector: DuplicateDetector, path: str | os.PathLike | None, model: str | os.PathLike | None
) -> dict[str, Any]:
    """What a file says of its model: checksum, encoder, places; for an encoder alone its threshold."""
    weight = VECTOR_WEIGHT if detector.encoder is None else ENCODER_VECTOR_WEIGHT
    facts = {"model_checksum": detector.checksum, "encoder": encoder_facts(detector)}
    facts |= {"size": detector.output_size, "vector_weight": weight, "model": []}
    if model is not None and os.path.exists(model):  # Else it is an encoder's name.
        where = model_path(model).resolve()
        # Relative first, so that model and index can be moved together.
        folder = os.path.dirname(os.path.realpath(path or "."))
        facts["model"] = [os.path.relpath(where, folder), str(where)]
    elif detector.tower is None:
        calibration = detector.calibration
        facts["fit"] = {
            "threshold": detector.threshold,
            "calibration": calibration.to_dict() if calibration else None,
            "threshold_from": detector.threshold_from,
        }
    return facts


def detector_of(
    path: str | os.PathLike, facts: Mapping[str, Any], detector: Any
) -> DuplicateDetector:
    """The model of an index, from its file, or of the encoder that the index names."""
    if isinstance(detector, DuplicateDetector):
        if facts["encoder"] and detector.encoder is not None:
            saved_encoder(path, facts["encoder"], detector.encoder)
        return detector
    if isinstance(detector, (str, os.PathLike)):
        return DuplicateDetector.load(detector)
    folder = os.path.dirname(os.path.abspath(path))
    for place in facts["model"]:
        if os.path.exists(os.path.join(folder, place)):
            return DuplicateDetector.load(os.path.join(folder, place), detector)
    if facts["encoder"] and not facts["model"]:
        encoder = saved_encoder(path, facts["encoder"], detector)
        return DuplicateDetector.from_encoder(encoder)  # The index has a threshold of its own.
    places = "".join(f" ({place})" for place in facts["model"][1:])
    raise CheckpointError(
        f"{path} does not say where its model is, or it is gone from there{places}. Name the model "
        "(--model)."
    )
