"""A saved model made of a run's checkpoint, such as that of a run which was stopped."""

from __future__ import annotations

import json
import os
from pathlib import Path

from siamese.data.subwords import StaticVectors
from siamese.data.vocabulary import Vocabulary
from siamese.errors import CheckpointError
from siamese.nn.characters import CharacterTable
from siamese.search.detector import COURSE_THRESHOLD, DuplicateDetector
from siamese.storage import checkpoints
from siamese.training.config import TrainConfig
from siamese.training.prepare import static_start
from siamese.training.trainer import saved_tower, saved_weights


def export(
    run: os.PathLike | str, step: int | None = None, output: os.PathLike | str | None = None
) -> tuple[DuplicateDetector, Path]:
    """Saves a checkpoint of `siamese train` as a model; its threshold is the course's 0.7.

    Args:
      run: the run's directory.
      step: of the checkpoint; the newest where None.
      output: directory of the model; ``RUN/model`` where None, which must not be there then.

    Returns:
      The model and its directory.

    Raises:
      CheckpointError: there is no such checkpoint, or it is not one of `siamese train`.
    """
    path = Path(run, "model") if output is None else Path(output)
    if output is None and path.exists():
        raise CheckpointError(f"{path} is there already. Give --output another directory.")
    paths = {saved.step: saved.path for saved in reversed(checkpoints.list_checkpoints(run))}
    if not paths:
        raise CheckpointError(f"{run} holds no checkpoints. Give the directory of a training run.")
    if step is not None and step not in paths:
        steps = ", ".join(map(str, sorted(paths)))
        raise CheckpointError(f"{run} has no checkpoint of step {step}. It has {steps}.")
    if step is None:
        found = checkpoints.load_newest(run).checkpoint
    else:
        found = checkpoints.load_checkpoint(paths[step])
    if not found.config or not found.vocabulary:
        raise CheckpointError(
            f"{found.path} is not a checkpoint of `siamese train`: it has no configuration or "
            "vocabulary. For the course's files use `siamese import-weights`."
        )
    config, facts = TrainConfig.from_dict(found.config), json.loads(found.vocabulary)
    static = None
    if config.embedding:
        vectors = StaticVectors.read(config.embedding)
        vocabulary, counts = vectors.vocabulary, facts["characters"]
        if facts["vectors"] != vectors.checksum:
            raise CheckpointError(
                f"{found.path} was trained on other vectors than {config.embedding} holds now. Put those "
                "in their place again."
            )
        characters = CharacterTable(vocabulary.text, vocabulary.size, **counts)
        static = static_start(vectors, characters, config, facts["familiar_length"])
    else:
        vocabulary = Vocabulary.from_words(facts["words"], lowercase=facts["lowercase"])
        vocabulary = vocabulary.with_unknown_ids(config.unknown_ids)
    detector = DuplicateDetector(
        saved_weights(found, static),
        vocabulary,
        saved_tower(config, vocabulary.size, static),
        threshold=COURSE_THRESHOLD,
        card={"config": found.config, "steps": found.step, "exported_from": found.path.name},
    )
    detector.save(path)
    return detector, path
