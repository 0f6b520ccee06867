"""The pages of benchmarks/results are what the benchmarks make of the figures beside them."""

import importlib
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "benchmarks"
NAMES = [
    "everybody",
    "languages",
    "near_misses",
    "own_check",
    "quality",
    "search",
    "speed",
    "which_loss",
]


@pytest.mark.parametrize("name", NAMES)
def test_a_page_is_made_of_its_figures(name, monkeypatch):
    monkeypatch.syspath_prepend(FOLDER)
    results = importlib.import_module("results")
    figures = results.read_figures(results.FOLDER / f"{name}.json")
    page = (results.FOLDER / f"{name}.md").read_text("utf-8")
    assert page == importlib.import_module(name).page(figures)
