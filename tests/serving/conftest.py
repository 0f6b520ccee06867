"""Small models whose towers NumPy runs."""

import pytest


@pytest.fixture(scope="module", autouse=True)
def numpy_runs_towers():
    """For any number of questions: nothing is compiled. tests/nn shows that JAX's vectors are equal."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("siamese.nn.encoder.FEW", 10**6)
        yield
