"""LanceDB and Qdrant, loaded with an exported index, rank as the index does: examples/*_search.py."""

import sys
from pathlib import Path

import pytest
from small_corpus import corpus_detector, corpus_questions

from siamese.search.index import QuestionIndex

REASON = "needs Ray, LanceDB and Qdrant: make scale"
pytest.importorskip("lancedb", reason=REASON)
pytest.importorskip("qdrant_client", reason=REASON)
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "examples"))

import hybrid  # noqa: E402
from lancedb_search import LanceEngine  # noqa: E402
from qdrant_search import QdrantEngine  # noqa: E402


@pytest.fixture(scope="module")
def index():
    """All but every twentieth of the corpus's questions, after one was removed and one was added."""
    questions = [text for at, text in enumerate(corpus_questions()) if at % 20]
    made = QuestionIndex.build(corpus_detector(), questions[1:])
    made.remove(3)
    made.add(questions[0], ids=["added"])
    return made


@pytest.mark.parametrize("engine", [LanceEngine, QdrantEngine])
def test_an_engine_finds_what_the_index_finds(engine, index, tmp_path):
    new = [*corpus_questions()[::20], "how how how old", "xyzzy"]
    index.export(tmp_path / "old.parquet")
    made = engine(str(tmp_path / "old.parquet"), str(tmp_path / "database"))
    shares = hybrid.recalls(made, index, new)
    assert set(shares) == {"vectors", "words", "hybrid"} and min(shares.values()) >= 0.99, shares
