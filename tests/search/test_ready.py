"""A detector of static vectors without training: saved, loaded, indexed, from the command line too."""

import csv

import numpy as np
import pytest
from small_vectors import D, write_vectors

from siamese import DuplicateDetector, QuestionIndex, explain
from siamese.cli.main import main
from siamese.errors import ArgumentError
from siamese.search.ready import ready_detector

QUESTIONS = ["how do i cook rice?", "what is the best way", "how far are you", "old cats"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_vectors(tmp_path_factory.mktemp("vectors") / "small")


def test_it_answers_and_is_indexed_without_training(folder, tmp_path, capsys):
    assert main(["vectors", "--embedding", str(folder), "--output", str(tmp_path / "ready")]) == 0
    assert "threshold 0.700 (the default)" in capsys.readouterr().out
    detector = DuplicateDetector.load(tmp_path / "ready")
    assert detector.checksum == ready_detector(folder).checksum
    assert detector.encode(QUESTIONS).shape == (4, D + 256)
    assert detector.predict("How do I cook rice", "how do i COOK rice?", threshold=0.5)
    # A misspelt word shares trigrams with the right one.
    wrong, other = detector.similarity(["how do i cok rice"] * 2, [QUESTIONS[0], QUESTIONS[1]])
    assert wrong > other
    index = QuestionIndex.build(detector, QUESTIONS)
    index.save(tmp_path / "index", model=tmp_path / "ready")
    hits = QuestionIndex.load(tmp_path / "index").search("How far are you", 1)
    assert hits[0].question == "how far are you" and hits[0].is_duplicate
    # Subwords are joined to the words that a reader sees, and a word is left out as a whole.
    explained = explain(detector, "how do i cook rice?", "how do i cok rice")
    assert [word.word for word in explained.words1] == ["how", "do", "i", "cook", "rice?"]
    assert [word.word for word in explained.words2][3] == "cok"
    without = detector.similarity("how do i cook rice?", "how do i rice")
    effect = explained.similarity - without
    assert explained.words2[3].effect == pytest.approx(effect, abs=1e-6)
    assert main(["explain", str(tmp_path / "ready"), *QUESTIONS[:2]]) == 0


def test_labels_fit_threshold_and_calibration(folder, tmp_path):
    draw = np.random.default_rng(0)
    with open(tmp_path / "pairs.csv", "w", encoding="utf-8", newline="") as file:
        rows = csv.writer(file)
        rows.writerow(["question1", "question2", "is_duplicate"])
        for _ in range(30):
            first, second = draw.choice(QUESTIONS, 2, replace=False)
            rows.writerow([first, first.upper() + " ?", 1])
            rows.writerow([first, second, 0])
    arguments = ["--embedding", str(folder), "--output", str(tmp_path / "ready")]
    assert main(["vectors", *arguments, "--labels", str(tmp_path / "pairs.csv")]) == 0
    detector = DuplicateDetector.load(tmp_path / "ready")
    assert detector.calibration is not None and detector.threshold != 0.7
    assert detector.predict(QUESTIONS[0], QUESTIONS[0]) and not detector.predict(*QUESTIONS[:2])
    with pytest.raises(ArgumentError, match="not both"):
        ready_detector(folder, threshold=0.5, pairs=[])
