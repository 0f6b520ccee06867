"""Duplicates among the issues of a project: examples/github_issues.py on the file beside it."""

from pathlib import Path

from examples import github_issues

DUPLICATES = {(117, 101), (123, 104), (128, 114), (132, 112), (133, 115), (138, 118)}


def test_the_duplicates_stand_at_the_top_of_the_ranking():
    """Each issue once, with an earlier one; five of the six duplicates are among the first six pairs."""
    file = Path(github_issues.__file__).with_suffix(".json")
    pairs = github_issues.duplicates(github_issues.read_issues(file), threshold=0.6)
    ranking = [(pair.issue, pair.earlier) for pair in pairs]
    assert len(set(ranking[:6]) & DUPLICATES) == 5 and set(ranking) >= DUPLICATES
    assert all(issue > earlier for issue, earlier in ranking)
    assert len({pair.issue for pair in pairs}) == len(pairs)
    assert all(pair.is_duplicate == (pair.similarity > 0.6) for pair in pairs)
