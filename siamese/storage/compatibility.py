"""Whether a checkpoint fits the model and the vocabulary in use; says how it differs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from siamese.errors import CheckpointError
from siamese.storage.checkpoint_files import Checkpoint
from siamese.storage.trees import leaves_with_places


def check_compatible(
    checkpoint: Checkpoint,
    vocabulary_checksum: str | None = None,
    shapes: Any = None,
    slot_shapes: Any = None,
) -> None:
    """Refuses a checkpoint of another model or another vocabulary.

    Args:
      checkpoint: the loaded checkpoint.
      vocabulary_checksum: that of the vocabulary in use; None leaves it unchecked.
      shapes: the model's weights, or any tree of things with a `shape`; None leaves it unchecked.
      slot_shapes: the optimizer's slots, likewise.

    Raises:
      CheckpointError: names both sides and the way out.
    """
    where = checkpoint.path or f"The checkpoint of step {checkpoint.step}"
    way_out = (
        "Use the vocabulary and configuration saved in the checkpoint, or train into another "
        "directory; --overwrite starts this one anew."
    )
    mine = checkpoint.vocabulary_checksum
    if vocabulary_checksum is not None and mine != vocabulary_checksum:
        had = f"vocabulary {mine[:12]}" if mine else "no vocabulary"
        raise CheckpointError(
            f"{where} was made with {had}, and {vocabulary_checksum[:12]} is in use "
            f"(checksums): the same token ids would mean other words. {way_out}"
        )
    for what, saved, wanted in (
        ("weights", checkpoint.weights, shapes),
        ("optimizer slots", checkpoint.slots, slot_shapes),
    ):
        if wanted is not None:
            difference = _difference(saved, wanted)
            if difference:
                raise CheckpointError(
                    f"{where} is of another model: {what} {difference}. {way_out}"
                )


def _difference(saved: Any, wanted: Any) -> str | None:
    """The first place where two trees differ in structure or shape, in words."""
    places = _shapes(leaves_with_places(saved))
    wanted_places = _shapes(leaves_with_places(wanted))
    for place in [*wanted_places, *places]:
        if place not in places:
            return f"have nothing at {place}, and the model has shape {wanted_places[place]}"
        if place not in wanted_places:
            return f"have shape {places[place]} at {place}, and the model has nothing there"
        if places[place] != wanted_places[place]:
            return (
                f"have shape {places[place]} at {place}, and the model has {wanted_places[place]}"
            )
    return None


def _shapes(leaves: Iterable[tuple[str, Any]]) -> dict[str, tuple[int, ...]]:
    return {place: tuple(getattr(leaf, "shape", ())) for place, leaf in leaves}
