"""The editions of the course in Trax: one loss each, and one call of train_model."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from siamese.course.loss import EDITIONS, TripletLoss, TripletLossFn
from siamese.errors import ArgumentError


@dataclass(frozen=True)
class Edition:
    """The assignment's functions in one edition: `TripletLossFn`, `TripletLoss` and `train_model`."""

    year: int
    TripletLossFn: Callable[..., Any]  # As `siamese.TripletLossFn`, with this edition's defaults.
    TripletLoss: Callable[..., Any]

    @property
    def train_model(self) -> Callable[..., Any]:
        """`siamese.train_model`, which takes the call of every edition; loads Trax."""
        from siamese.course.train_model import train_model

        return train_model


def edition(year: int) -> Edition:
    """The functions of the Trax edition of a year, 2020 to 2023; `siamese.TripletLossFn` is 2023's.

    Until 2022 the closest negative was the hardest one and the loss the mean over the batch; in 2023 the
    closest negative became the lecture's (not more similar than the duplicate), and the loss the sum. In
    2020 train_model had the schedule as its third argument.

    Args:
      year: 2020, 2021, 2022 or 2023.

    Raises:
      ArgumentError: another year.

    Example:
      >>> v1, v2 = [[0.6, 0.8], [-0.8, -0.6]], [[0.6, 0.8], [0.8, 0.6]]
      >>> [round(float(edition(year).TripletLossFn(v1, v2)), 4) for year in (2022, 2023)]
      [0.5, 0.71]
    """
    if year not in EDITIONS:
        raise ArgumentError(
            f"There are Trax editions of {min(EDITIONS)} to {max(EDITIONS)}; year is {year!r}."
        )
    words = EDITIONS[year]
    functions: list[Any] = [partial(f, **words) for f in (TripletLossFn, TripletLoss)]
    for function in functions:
        for name in ("__module__", "__name__", "__doc__"):
            setattr(function, name, getattr(function.func, name))
    return Edition(year, *functions)
