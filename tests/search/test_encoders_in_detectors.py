"""Encoders in detectors: the references are the parts' own cosines; files name encoders, refuse others."""

import json
from itertools import pairwise

import numpy as np
import pytest
from small_models import (
    SENTENCES,
    Letters,
    letters,
    make_detector,
    make_mixed_detector,
    random_questions,
)

from siamese import DuplicateDetector, QuestionIndex, QuestionPairs
from siamese.cli.main import main
from siamese.errors import ArgumentError, CheckpointError, DataError
from siamese.search.detector import UNLABELLED_THRESHOLD
from siamese.search.encoders import find_encoder
from siamese.search.model_file import read_file, write_file

TEXTS = [*SENTENCES, "how far is it", "what is the way"]
NAMED = "use"


def made(encoder=letters, name="letters", **options):
    return DuplicateDetector.from_encoder(encoder, name, **({"threshold": 0.9} | options))


def unit_letters(texts):
    return letters(texts) / np.linalg.norm(letters(texts), axis=1, keepdims=True)


# ---- Vectors ----


def test_an_encoder_alone_gives_its_own_vectors_with_length_1():
    expected = unit_letters(TEXTS)
    for detector in (made(), made(Letters())):
        np.testing.assert_allclose(detector.encode(TEXTS), expected, atol=1e-6)
        cosine = detector.similarity(TEXTS[0], TEXTS[1])
        assert cosine == pytest.approx(expected[0] @ expected[1], abs=1e-6)
        np.testing.assert_array_equal(detector.encode(["", "how far"])[0], np.zeros(26))
        assert detector.similarity(" ", "how far") == 0 and detector.unknown_words("xyzzy") == []
        assert detector.predict("how far", "far how") and detector.encode([]).shape == (0, 26)


@pytest.mark.parametrize("share", [0.25, 0.75])
@pytest.mark.parametrize("mask_padding", [True, False])
def test_the_cosine_is_the_weighted_mean_of_the_parts_cosines(share, mask_padding):
    tower = make_detector(mask_padding=mask_padding)
    detector = make_mixed_detector(share, mask_padding=mask_padding)
    first, second = random_questions(100), random_questions(100, seed=2)
    frozen = np.vecdot(unit_letters(first), unit_letters(second))
    expected = share * frozen + (1 - share) * tower.similarity(first, second)
    np.testing.assert_allclose(detector.similarity(first, second), expected, atol=1e-5)
    vectors = detector.encode(first)
    assert vectors.dtype == np.float32 and vectors.shape == (100, 26 + 8)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(detector.encode(" "), np.zeros(34))


def test_a_threshold_is_given_fitted_or_the_default():
    first, second = TEXTS * 2, [*TEXTS, *TEXTS[1:], TEXTS[0]]
    labels = [1] * len(TEXTS) + [0] * len(TEXTS)
    pairs = QuestionPairs(first, second, labels)
    detector = made(threshold=None).fitted(pairs)
    scores = detector.similarity(first, second)
    assert (scores[: len(TEXTS)] > detector.threshold).all()
    assert detector.probabilities_of(detector.threshold) == pytest.approx(0.5, abs=1e-6)
    assert detector.threshold_from == "labels" and made().threshold_from == "model"
    default = made(threshold=None)
    assert (default.threshold, default.threshold_from) == (UNLABELLED_THRESHOLD, "default")
    with pytest.raises(DataError, match="do not have higher cosines"):
        detector.fitted(QuestionPairs(first, second, 1 - np.array(labels)))


def test_parts_that_do_not_fit_are_refused():
    tower = make_detector()
    parts = tower.weights, tower.vocabulary, tower.tower
    for arguments, options in (
        ((None, None, None), {}),
        ((None, *parts[1:]), {}),
        ((None, *parts[1:]), {"encoder": find_encoder(letters, "letters")}),
        (parts, {"shares": {"encoder": 0.5, "tower": 0.5}}),
        (parts, {"head": np.eye(2)}),
        (parts, {"encoder": find_encoder(letters, "letters"), "head": np.eye(2)}),
        (
            parts,
            {"encoder": find_encoder(letters, "letters"), "shares": {"encoder": 1.0, "tower": 0.0}},
        ),
    ):
        with pytest.raises(ArgumentError, match=r"tower together|shares must|square matrix"):
            DuplicateDetector(*arguments, **options)


# ---- Files ----


@pytest.mark.parametrize("make", [made, make_mixed_detector])
def test_a_model_over_an_object_needs_that_object_to_load(tmp_path, make):
    detector = make()
    path = detector.save(tmp_path / "model.safetensors")
    with pytest.raises(CheckpointError, match="'letters', which is not saved with it"):
        DuplicateDetector.load(path)
    for encoder in (letters, Letters()):
        loaded = DuplicateDetector.load(path, encoder)
        np.testing.assert_array_equal(loaded.encode(TEXTS), detector.encode(TEXTS))
        assert loaded.threshold == detector.threshold and loaded.checksum == detector.checksum
    for other in (
        lambda texts: letters([text[::2] for text in texts]),
        lambda texts: letters(texts)[:, :9],
    ):
        with pytest.raises(CheckpointError, match="not with another encoder of that name"):
            DuplicateDetector.load(path, other)
    with pytest.raises(ArgumentError, match="An encoder is a specification"):
        DuplicateDetector.load(path, 7)
    with pytest.raises(CheckpointError, match="has no encoder"):
        DuplicateDetector.load(make_detector().save(tmp_path / "tower"), letters)


def test_a_model_names_its_encoder_and_refuses_another_fingerprint(tmp_path):
    detector = make_detector(encoder=find_encoder(NAMED), shares={"encoder": 0.5, "tower": 0.5})
    path = detector.save(tmp_path / "model.safetensors")
    loaded = DuplicateDetector.load(path)
    assert loaded.encoder.name == NAMED and loaded.shares == detector.shares
    np.testing.assert_array_equal(loaded.encode(TEXTS), detector.encode(TEXTS))
    arrays, facts = read_file(path, "model")
    facts["encoder"]["fingerprint"] = "0" * 64
    write_file(path, "model", arrays, facts)
    with pytest.raises(CheckpointError, match=f"made with the encoder '{NAMED}', not with another"):
        DuplicateDetector.load(path)


def test_an_index_names_its_encoder_and_refuses_another(tmp_path):
    path = tmp_path / "index"
    index = QuestionIndex.build(made(), TEXTS, path=path)
    hits = index.search("how far is that")
    for encoder in (letters, Letters(), made()):
        loaded = QuestionIndex.open(path, encoder)
        assert [hit.id for hit in loaded.search("how far is that")] == [hit.id for hit in hits]
        assert loaded.detector.threshold == 0.9
    for encoder, why in (
        (None, "'letters', which is not saved with it. Pass that encoder"),
        (make_detector(), "made by another model"),
        (made(name="other"), "not with 'other'"),
        (lambda texts: letters([text[::2] for text in texts]), "another encoder of that name"),
        (lambda texts: letters(texts)[:, :9], "another encoder of that name"),
    ):
        with pytest.raises(CheckpointError, match=why):
            QuestionIndex.open(path, encoder)
    with QuestionIndex.open(path, letters) as shared:
        shared.add("one more")
    assert len(QuestionIndex.open(path, letters)) == len(TEXTS) + 1
    model = make_mixed_detector().save(tmp_path / "model.safetensors")
    QuestionIndex.build(make_mixed_detector(), TEXTS, path=path, model=model)
    assert QuestionIndex.open(path, letters).search(TEXTS[0], 1)[0].id == "0"
    with pytest.raises(CheckpointError, match="Pass that encoder"):
        QuestionIndex.open(path)
    QuestionIndex.build(make_detector(), TEXTS, path=tmp_path / "words")
    with pytest.raises(CheckpointError, match="made by another model"):
        QuestionIndex.open(tmp_path / "words", made())


# ---- Commands ----


def test_an_encoders_name_is_a_model_for_every_command(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "old.csv").write_text(
        "id,question\n5,how far is it\n6,How far is it\n7,cook rice\n"
    )
    rows = [f"{a},{a},1\n{a},{b},0" for a, b in pairwise(TEXTS)] * 5
    (tmp_path / "mine.csv").write_text("question1,question2,is_duplicate\n" + "\n".join(rows))

    def run(*command):
        assert main([*command]) == 0
        return "".join(capsys.readouterr())

    assert "not fitted to labels" in run("predict", NAMED, "how far", "how far")
    given = run("predict", NAMED, "how far", "cook rice", "--threshold", "0.5", "--json")
    assert json.loads(given)["threshold_from"] == "given"
    run("index", "build", "old.csv", "--model", NAMED, "--output", "old")
    for command in (["search", "old", "cook"], ["duplicates", "old"]):
        assert "not fitted to labels" in run(*command)
    assert "not fitted to labels" in run("match", "old.csv", "old.csv", "--model", NAMED)
    # A threshold on an encoder's name is written as a model.
    fit = "threshold", NAMED, "--answers", "mine.csv"
    assert "It is not saved; --output FILE writes a model" in run(*fit)
    run(*fit, "--output", "mine.safetensors")
    fitted = DuplicateDetector.load("mine.safetensors")
    assert fitted.threshold_from == "labels" and fitted.encoder.name == NAMED
    assert fitted.calibration is not None and fitted.tower is None
    run("index", "build", "old.csv", "--model", "mine.safetensors", "--output", "new")
    with QuestionIndex.open("new") as index:
        assert index.detector.threshold == fitted.threshold
    assert main(["threshold", "new", "--answers", "mine.csv", "--output", "x"]) == 2
    assert "An index keeps its own threshold" in capsys.readouterr().err
