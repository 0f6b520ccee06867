"""The caller's random generators: left as they were by what only happens to draw from them."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def keeping_generators() -> Iterator[None]:
    """Puts Python's and NumPy's global generators back at the end; also a decorator.

    Trax draws a number from `random` for each layer that is made, and its Loop seeds both generators:
    a learner's ``random.seed(34)`` would not survive making a model.
    """
    python, numpy = random.getstate(), np.random.get_state()
    try:
        yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
