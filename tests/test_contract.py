"""tools/contract.py: what it takes for equal, and what not."""

import numpy as np
import pytest

from tools.contract import compare, compared

VECTORS = np.eye(3, dtype=np.float32)


@pytest.mark.parametrize(
    ("name", "old", "new", "holds"),
    [
        ("a/vectors", VECTORS, VECTORS.copy(), True),
        ("a/vectors", VECTORS, VECTORS + np.float32(1e-7), False),
        ("a/vectors", VECTORS, VECTORS.astype(float), False),
        ("a/vectors", VECTORS, VECTORS[:2], False),
        ("a/scores", VECTORS, VECTORS + np.float32(5e-7), True),
        ("a/scores", VECTORS, VECTORS + np.float32(5e-6), False),
        ("a/scores", np.array([np.nan]), np.array([np.nan]), True),
        ("a/scores", np.array([np.nan]), np.array([1.0]), False),
        ("a/answers", np.array([True]), np.array([False]), False),
        ("a/groups", "[[1, 2]]", "[[1, 2]]", True),
        ("a/groups", "[[1, 2]]", "[[1, 3]]", False),
        ("a/table", "id,cosine\na,0.5\n", "id,cosine\na,0.500001\n", True),
        ("a/table", "id,cosine\na,0.5\n", "id,cosine\na,0.51\n", False),
        ("a/table", "id,cosine\na,0.5\n", "id,cosine\nb,0.5\n", False),
        ("a/table", "id,cosine\na,0.5\n", "id,cosine,more\na,0.5,1\n", False),
        ("a/table", "id\na\n", "id\na\nb\n", False),
        ("a/json", '{"a": [0.5]}', '{"a": [0.500001]}', True),
        ("a/json", '{"a": [0.5]}', '{"a": [0.5, 1]}', False),
        ("a/text", "FAILED: no", "FAILED: no", False),
    ],
)
def test_what_is_equal(name, old, new, holds):
    assert compared(name, np.asarray(old), np.asarray(new))[0] is holds


def test_a_value_that_one_side_lacks_fails(tmp_path, capsys):
    np.savez(tmp_path / "a.npz", **{"a/vectors": VECTORS, "b/text": "one"})
    np.savez(tmp_path / "b.npz", **{"a/vectors": VECTORS})
    both = tmp_path / "a.npz", tmp_path / "b.npz"
    assert compare(*both[:1] * 2) == 0
    assert compare(*both) == 1 and compare(*both[::-1]) == 1
    assert "only in the first" in capsys.readouterr().out
