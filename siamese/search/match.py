"""Two lists: the best matches of each question of one in the other, one-to-one on request."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siamese.data.arguments import whole_number
from siamese.search.detector import DuplicateDetector
from siamese.search.nearest import top_k

CANDIDATES = 50  # of each question, for one-to-one


def match_questions(
    detector: DuplicateDetector,
    questions: Sequence[str],
    others: Sequence[str],
    *,
    k: int = 1,
    one_to_one: bool = False,
    threshold: float | None = None,
) -> list[list[tuple[int, float]]]:
    """For each question its best matches in another list, best first; none for one without words.

    Args:
      detector: the model.
      questions: the texts that are to be matched.
      others: the texts to match them with.
      k: how many matches of each.
      one_to_one: at most one match of each, above the threshold, and no question matched twice, chosen
        for all at once; see `assign`. Looks at the 50 best of each question.
      threshold: cosine above which two questions may be matched one-to-one; the model's own where None.

    Returns:
      For each question (place in `others`, cosine) of its matches.

    Raises:
      ArgumentError: k below 1.

    Example:
      >>> found = match_questions(detector, ["How old are you?"], faq)  # doctest: +SKIP
    """
    k = CANDIDATES if one_to_one else whole_number(k, "k", 1)
    asked, kept = detector.encode(questions), detector.encode(others)
    rows, products = top_k(kept, asked, k, np.flatnonzero(~kept.any(axis=1)))  # [n, k]
    cosines = np.minimum(products, 1)
    chosen = np.broadcast_to(asked.any(axis=1)[:, None], rows.shape)  # [n, k]
    if one_to_one:
        cut = detector.threshold if threshold is None else threshold
        chosen = chosen & (
            assign(rows, cosines, len(others), cut)[:, None] == np.arange(rows.shape[1])
        )
    return [
        list(zip(r[good].tolist(), c[good].tolist())) for r, c, good in zip(rows, cosines, chosen)
    ]


def assign(rows: np.ndarray, cosines: np.ndarray, size: int, threshold: float) -> np.ndarray:
    """Gives each question at most one of its candidates, and each candidate to one question at most.

    Of all such assignments it is the one in which the cosines, each less the threshold, have the
    largest sum (`scipy.sparse.csgraph.min_weight_full_bipartite_matching`: Jonker and Volgenant, 1987).
    It is the best of all where every row of the other list is a candidate, else among the candidates.

    Args:
      rows: int64 [n, k]; candidates of each question among `size` rows, none twice.
      cosines: float32 [n, k].
      size: rows of the other list.
      threshold: candidates whose cosine is not above it do not count.

    Returns:
      int64 [n]; the candidate's place in `rows`, -1 for none.

    Example:
      >>> rows, cosines = np.array([[0, 1], [0, 1]]), np.array([[0.9, 0.8], [0.8, 0.1]], np.float32)
      >>> assign(rows, cosines, 2, 0.5).tolist()
      [1, 0]
    """
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import min_weight_full_bipartite_matching

    n = len(rows)
    good = cosines > threshold  # [n, k]
    question, place = np.nonzero(good)
    # Each question may also take a column of its own, which stands for no partner: so there always is
    # an assignment. Weights must not be 0; they are 3 for no partner and less for a good one.
    weights = 3 - np.append(cosines[good].astype(np.float64) - threshold, np.zeros(n))
    across = np.append(question, np.arange(n))
    down = np.append(rows[good], size + np.arange(n))
    graph = csr_array((weights, (across, down)), shape=(n, size + n))
    _, chosen = min_weight_full_bipartite_matching(graph)  # [n]
    found = np.full(n, -1)
    kept = rows[good] == chosen[question]
    found[question[kept]] = place[kept]
    return found
