"""Fixtures that more than one test file needs."""

import random
from pathlib import Path

import numpy as np
import pytest

import siamese  # noqa: F401  (first of all: a test file's `import trax` is then quick and light)

SHARED = Path(__file__).resolve().parents[2] / "shared"


@pytest.fixture(autouse=True)
def the_same_start():
    """Trax seeds each layer from Python's `random`: without this, every run has other weights."""
    random.seed(34)
    np.random.seed(34)


@pytest.fixture(scope="session")
def shared() -> Path:
    """The folder beside the repository with real pairs; tests that ask for it are skipped without it."""
    if not (SHARED / "data" / "quora" / "questions.csv.gz").exists():
        pytest.skip("needs ../shared/data/quora, which may not be redistributed")
    return SHARED


@pytest.fixture(scope="session")
def quora_csv(shared) -> Path:
    """The real Quora rows, gzipped, in the course's columns."""
    return shared / "data" / "quora" / "questions.csv.gz"
