"""A curve of the parts' cosines: what it is fitted on, refits, and texts that a part has no vector for."""

import json
import threading

import numpy as np
import pytest
from small_models import make_curve_detector, make_detector, random_questions

from siamese import QuestionIndex, QuestionPairs
from siamese.search.groups import duplicate_groups


def labelled(detector, count, seed, cut):
    texts = random_questions(2 * count, seed=seed)
    sides = texts[:count], texts[count:]
    cosines = detector.similarity(*sides)
    return QuestionPairs(*sides, cosines > np.quantile(cosines, cut))


def test_a_refit_is_one_of_the_models_own_curve():
    detector = make_curve_detector()
    first, second = (labelled(detector, 60, seed, cut) for seed, cut in ((1, 0.6), (2, 0.9)))
    once = detector.fitted(second)
    assert detector.fitted(first).calibration != once.calibration != detector.calibration
    for again in (detector.fitted(first).fitted(second), once.fitted(second)):
        assert again.calibration == once.calibration
    saved = detector.with_fit(json.loads(json.dumps(once.fit)))
    assert saved.fitted(second).calibration == once.calibration


class Vowels:
    """It has no vector for a text without vowels."""

    def encode(self, texts):
        return [[text.count(vowel) for vowel in "aeiou"] for text in texts]


@pytest.mark.parametrize("share", [0.2, 0.8])
def test_a_text_that_one_part_has_no_vector_for_has_the_other_parts_own_cosines(share):
    shares = {"encoder": share, "tower": 1 - share}
    detector, tower = make_detector(encoder=Vowels(), shares=shares), make_detector()
    texts = ["xyzzy ?", "how far", "hw fr ?", "what is rice"]
    one, two = ([texts[at] for at in side] for side in zip(*np.ndindex(4, 4)))
    expected = np.stack([detector.encoder.encode(side) for side in (one, two)])
    cosines = detector.part_cosines(detector.encode(one), detector.encode(two))
    np.testing.assert_allclose(cosines[:, 0], np.vecdot(*expected), atol=1e-6)
    np.testing.assert_allclose(cosines[:, 1], tower.similarity(one, two), atol=1e-5)
    assert not cosines[0, 0] and detector.similarity("xyzzy ?", "xyzzy ?") == pytest.approx(1)
    vector = detector.encode("xyzzy ?")
    np.testing.assert_array_equal(vector[:5], 0)
    np.testing.assert_allclose(vector[5:], tower.encode("xyzzy ?"), atol=1e-6)
    # Of two groups they are the mean cosines over their pairs.
    a, b = detector.encode(["what is rice", "how far"]), detector.encode(["how old", "rice"])
    mean = detector.part_cosines(a.mean(axis=0)[None], b.mean(axis=0)[None])
    pairs = detector.part_cosines(np.repeat(a, 2, axis=0), np.tile(b, (2, 1)))
    np.testing.assert_allclose(mean[0], pairs.mean(axis=0), atol=1e-6)


# ---- Groups ----


def test_groups_questions_and_vectors_are_of_one_moment(tmp_path):
    """While another connection writes."""
    detector, texts = make_detector(threshold=0.9), random_questions(60)
    index = QuestionIndex.build(detector, texts, path=tmp_path / "i")

    def write():
        with QuestionIndex.open(tmp_path / "i", detector) as writer:
            for n in range(25):
                ids = [f"{n} {k}" for k in "abc"]
                writer.add(random_questions(3, seed=n + 7), ids=ids)
                writer.remove([str(n), ids[0]])

    thread = threading.Thread(target=write)
    thread.start()
    sizes = set()
    while thread.is_alive():
        entries, vectors, _, groups, *_ = index.grouped(regroup=len(sizes) % 2 == 0)
        sizes.add(len(entries))
        encoded = detector.encode([entry["question"] for entry in entries])
        np.testing.assert_allclose(vectors, encoded, atol=1e-5)
        assert all(vectors[m.row] @ vectors[g[0].row] > 0.5 for g in groups for m in g)
        assert duplicate_groups(index)
    thread.join()
    assert len(sizes) > 1
    assert {len(index)} == {len(index.entries)} == {len(index.snapshot().vectors)} == {85}
