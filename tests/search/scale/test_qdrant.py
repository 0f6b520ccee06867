"""Qdrant, loaded with an exported index, ranks as the index does: examples/qdrant_search.py."""

import sys
from pathlib import Path

import pytest
from small_corpus import corpus_detector, corpus_questions

from siamese.search.index import QuestionIndex

pytest.importorskip("qdrant_client", reason="needs Ray and Qdrant: make scale")
sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "examples"))

import qdrant_search


def test_qdrant_finds_what_the_index_finds(tmp_path):
    """The index had a question removed and one added; every twentieth of the corpus's is a new one."""
    questions = [text for at, text in enumerate(corpus_questions()) if at % 20]
    index = QuestionIndex.build(corpus_detector(), questions[1:])
    index.remove([3])
    index.add(questions[0], ids=["added"])
    index.export(tmp_path / "old.parquet")
    engine = qdrant_search.QdrantEngine(str(tmp_path / "old.parquet"), str(tmp_path / "database"))
    new = [*corpus_questions()[::20], "how how how old", "xyzzy"]
    shares = qdrant_search.recalls(engine, index, new)
    assert set(shares) == {"vectors", "words", "hybrid"} and min(shares.values()) >= 0.99, shares
