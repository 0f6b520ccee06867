"""Small models whose towers NumPy runs."""

import pytest


@pytest.fixture(autouse=True)
def numpy_runs_towers(monkeypatch):
    """For any number of questions: nothing is compiled. tests/nn shows that JAX's vectors are equal."""
    monkeypatch.setattr("siamese.nn.encoder.FEW", 10**6)
