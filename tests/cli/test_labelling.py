"""A threshold of a few labels: asked near the border, kept in a file, written to the model or the index."""

import argparse
import io

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese import DuplicateDetector, QuestionIndex
from siamese.cli.labelling import Answers, ask, similar_candidates
from siamese.cli.main import main
from siamese.data.pairs import read_pairs
from siamese.errors import ArgumentError, DataError
from siamese.evaluation.thresholds import fit_threshold

TRUE_BORDER = 0.9
FLAGS = argparse.Namespace(encoding=None)
HEADER = "question1,question2,is_duplicate\n"


@pytest.fixture(scope="module")
def index():
    return QuestionIndex.build(make_detector(threshold=0.5), random_questions(300))


def test_pairs_near_the_border_are_asked_and_answers_survive(index, tmp_path):
    candidates, detector = similar_candidates(index), index.detector
    assert len({(one, two) for _, one, two in candidates}) == len(candidates) > 300
    asked, path = [], tmp_path / "answers.csv"

    def truthful(one, two, number):
        if len(asked) == 25:
            raise EOFError
        asked.append((one, two))
        return detector.similarity(one, two) > TRUE_BORDER

    ask(candidates, Answers(path, FLAGS), 40, detector, truthful)
    assert len(read_pairs(path)) == 25
    first, asked = asked, []
    ask(candidates, Answers(path, FLAGS), 40, detector, truthful)
    pairs = read_pairs(path)
    assert len(pairs) == 40 and len(asked) == 15 and not set(asked) & set(first)
    fit = fit_threshold(detector.similarity(pairs.question1, pairs.question2), pairs.is_duplicate)
    assert fit.threshold == pytest.approx(TRUE_BORDER, abs=0.03)
    far = np.abs(detector.similarity(*zip(*asked)) - TRUE_BORDER)
    assert np.median(far) < 0.1


@pytest.mark.parametrize(
    "start",
    [
        b"",
        HEADER.encode(),
        HEADER.strip().encode(),
        f"{HEADER}a,b,1".encode(),
        f"{HEADER}a,b,1\r\n".encode(),
        f"\ufeff{HEADER}a,b,1".encode(),
        f"{HEADER}a,b,1".encode("utf-16"),
        "\ufeffquestion1,question2,is_duplicate\r\na,b,1".encode("utf-16-be"),
        f'{HEADER}"a\nb",c,1'.encode(),
        f"{HEADER}a,b,1".replace(",", ";").encode(),
    ],
    ids=repr,
)
def test_whatever_is_appended_can_be_read_again(tmp_path, start):
    path = tmp_path / "answers.csv"
    if start:
        path.write_bytes(start)
    before = len(Answers(path, FLAGS).pairs)
    for number in range(2):
        answers = Answers(path, FLAGS)
        assert len(answers.pairs) == before + number
        answers.add('Wo ist "Zürich";\nhier?', f"Où, {number}?", number == 1)
    pairs = read_pairs(path)
    assert len(pairs) == before + 2 and pairs.question1[-1] == 'Wo ist "Zürich";\nhier?'
    assert pairs.question2[-1] == "Où, 1?" and pairs.is_duplicate[-2:].tolist() == [False, True]


def test_answers_are_added_in_the_encoding_that_is_read(tmp_path):
    path, flags = tmp_path / "answers.csv", argparse.Namespace(encoding="cp1252")
    path.write_bytes(f"{HEADER}café,b,1".encode("cp1252"))
    Answers(path, flags).add("Où?", "c", False)
    assert read_pairs(path, encoding="cp1252").question1 == ["café", "Où?"]
    with pytest.raises(ArgumentError, match="no such encoding"):
        Answers(path, argparse.Namespace(encoding="utf-88"))
    with pytest.raises(DataError, match="Cannot read"):
        Answers(tmp_path, FLAGS)


def test_the_command_asks_and_writes_to_model_or_index(tmp_path, monkeypatch, capsys):
    detector = make_detector(threshold=0.2)
    model = detector.save(tmp_path / "model")
    old = str(tmp_path / "old")
    questions = random_questions(200)
    QuestionIndex.build(detector, questions, path=old, model=model).close()
    said = io.BytesIO(b"what\ny\ns\nn\n" + b"n\ny\n" * 4)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(said))
    assert main(["threshold", old, "--label", "30"]) in (0, 2)
    printed = capsys.readouterr()
    assert "2 of 30" in printed.err and "The same question?" in printed.err
    assert len(read_pairs(tmp_path / "old.answers.csv")) == 10
    with QuestionIndex.open(old) as index:
        assert len(index.answers()) == 10
    one, two = random_questions(60, seed=2), random_questions(60, seed=3)
    labels = detector.similarity(one, two) > 0.5
    rows = [f"{a},{b},{'good' if y else 'bad'}" for a, b, y in zip(one, two, labels)]
    mine = tmp_path / "mine.csv"
    mine.write_text("\n".join(["x,y,grade", *rows]))
    options = ["--answers", str(mine), "--columns", "x,y,grade", "--duplicate-labels", "good"]
    assert main(["threshold", old, *options]) == 0
    assert "95 % interval" in capsys.readouterr().out
    with QuestionIndex.open(old) as index:
        fitted = index.detector
        index.add("one more")
    assert fitted.threshold == pytest.approx(0.5, abs=0.1) and fitted.calibration
    with QuestionIndex.open(old) as index:
        assert index.detector.threshold == fitted.threshold
    assert DuplicateDetector.load(model).threshold == pytest.approx(0.2)
    assert main(["threshold", str(model), *options]) == 0
    assert DuplicateDetector.load(model).threshold == pytest.approx(fitted.threshold)


def test_an_answer_binds_the_groups_of_the_index(tmp_path, capsys):
    model = make_detector(threshold=0.9).save(tmp_path / "model")
    (tmp_path / "old.txt").write_text("how far\nfar how\nwhat is rice\nhow old\n")
    index, answers = str(tmp_path / "old.index"), tmp_path / "answers.csv"
    command = ["index", "build", str(tmp_path / "old.txt"), "--model", str(model)]
    assert main([*command, "--output", index]) == 0
    answers.write_text(f"{HEADER}how far,far how,0\nhow far,what is rice,1\nhow old,how far,0\n")
    assert main(["threshold", index, "--answers", str(answers)]) in (0, 2)
    capsys.readouterr()
    assert main(["duplicates", index, "--threshold", "0.9", "--regroup"]) == 0
    groups = [line.split(",")[:3] for line in capsys.readouterr().out.splitlines()[1:]]
    of = {question: group for group, _, question in groups}
    assert of["how far"] == of["what is rice"] != of.get("far how")


def test_what_cannot_be_fitted_is_one_sentence(tmp_path, capsys):
    model = str(make_detector().save(tmp_path / "model"))
    one_kind, other = tmp_path / "one.csv", tmp_path / "other.csv"
    one_kind.write_text(f"{HEADER}how far,how old,1\n")
    other.write_text("a,b,c\nx,y,1\n")
    label = ["--label", "3"]
    for options, why in (
        ([model], "--label N"),
        ([model, *label], "--questions FILE"),
        ([model, "--answers", str(one_kind)], "both kinds are needed. The threshold stays 0.700"),
        ([str(one_kind), *label], "one.csv is a list of questions. Name the file of the model"),
        ([model, *label, "--questions", str(one_kind), "--answers", str(other)], "columns a, b, c"),
        (["use", "--answers", str(one_kind)], "--output FILE"),
    ):
        assert main(["threshold", *options]) == 2, options
        assert why in capsys.readouterr().err
