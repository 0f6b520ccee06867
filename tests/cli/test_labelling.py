"""A threshold of a few labels: asked near the border, kept in a file, written to the model or the index."""

import io

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese import DuplicateDetector, QuestionIndex
from siamese.cli.labelling import Answers, ask, similar_candidates
from siamese.cli.main import main
from siamese.data.pairs import read_pairs
from siamese.errors import DataError
from siamese.evaluation.thresholds import fit_threshold

TRUE_BORDER = 0.9


@pytest.fixture(scope="module")
def index():
    return QuestionIndex.build(make_detector(), random_questions(300))


def test_the_fitted_threshold_is_where_the_curve_passes_one_half():
    rng = np.random.default_rng(0)
    scores = rng.uniform(0, 1, 1000)
    labels = rng.uniform(size=1000) < 1 / (1 + np.exp(-12 * (scores - 0.6)))
    found = fit_threshold(scores, labels)
    assert found.threshold == pytest.approx(0.6, abs=0.04)
    assert found.low < found.threshold < found.high < found.low + 0.1
    assert found.calibration(found.threshold) == pytest.approx(0.5)
    # Pairs chosen by their score do not move it.
    near = np.abs(scores - 0.75) < 0.2
    assert fit_threshold(scores[near], labels[near]).threshold == pytest.approx(0.6, abs=0.06)
    few = fit_threshold(scores[:40], labels[:40])
    assert few.high - few.low > found.high - found.low
    with pytest.raises(DataError, match="do not have higher cosines"):
        fit_threshold(scores, ~labels)


def test_pairs_near_the_border_are_asked_and_answers_survive(index, tmp_path):
    candidates = similar_candidates(index)
    assert len(set(zip(candidates.first, candidates.second))) == len(candidates.first) > 300
    similarity, asked = index.detector.similarity, []

    def truthful(one, two, number):
        if len(asked) == 25:
            raise EOFError
        asked.append((one, two))
        return similarity(one, two) > TRUE_BORDER

    path = tmp_path / "answers.csv"
    ask(candidates, Answers(path), 40, truthful, similarity, 0.5)
    assert len(read_pairs(path)) == 25
    more = []
    ask(
        candidates,
        Answers(path),
        40,
        lambda one, two, number: more.append((one, two)) or similarity(one, two) > TRUE_BORDER,
        similarity,
        0.5,
    )
    pairs = read_pairs(path)
    assert len(pairs) == 40 and len(more) == 15 and not set(more) & set(asked)
    fitted = fit_threshold(similarity(pairs.question1, pairs.question2), pairs.is_duplicate)
    assert fitted.threshold == pytest.approx(TRUE_BORDER, abs=0.03)
    far = np.abs(similarity(*zip(*more)) - TRUE_BORDER)
    assert np.median(far) < 0.1


def test_the_command_asks_and_writes_to_model_or_index(tmp_path, monkeypatch, capsys):
    detector = make_detector(threshold=0.2)
    model = detector.save(tmp_path / "model")
    index = QuestionIndex.build(detector, random_questions(200))
    index.save(tmp_path / "old", model=model)
    monkeypatch.setattr(
        "sys.stdin", io.TextIOWrapper(io.BytesIO(b"what\ny\ns\nn\n" + b"n\ny\n" * 4))
    )
    assert main(["threshold", str(tmp_path / "old"), "--label", "30"]) in (0, 2)
    told = capsys.readouterr()
    assert "2 of 30" in told.err and "The same question?" in told.err
    answers = tmp_path / "old.answers.csv"
    assert len(read_pairs(answers)) == 10
    one, two = random_questions(60, seed=2), random_questions(60, seed=3)
    labels = detector.similarity(one, two) > 0.5
    rows = [f"{a},{b},{'good' if y else 'bad'}" for a, b, y in zip(one, two, labels)]
    mine = tmp_path / "mine.csv"
    mine.write_text("\n".join(["x,y,grade", *rows]))
    options = ["--answers", str(mine), "--columns", "x,y,grade", "--duplicate-labels", "good"]
    assert main(["threshold", str(tmp_path / "old"), *options]) == 0
    assert "95 % interval" in capsys.readouterr().out
    fitted = QuestionIndex.open(tmp_path / "old").detector
    assert fitted.threshold == pytest.approx(0.5, abs=0.1) and fitted.calibration
    assert DuplicateDetector.load(model).threshold == pytest.approx(0.2)
    with QuestionIndex.open(tmp_path / "old") as changed:
        changed.add("one more")
    assert QuestionIndex.open(tmp_path / "old").detector.threshold == fitted.threshold
    assert main(["threshold", str(model), *options]) == 0
    assert DuplicateDetector.load(model).threshold == pytest.approx(fitted.threshold)


def test_what_cannot_be_fitted_is_one_sentence(tmp_path, capsys):
    model = make_detector().save(tmp_path / "model")
    one_kind = tmp_path / "one.csv"
    one_kind.write_text("question1,question2,is_duplicate\nhow far,how old,1\n")
    for options, why in (
        ([], "--label 30"),
        (["--label", "3"], "--questions FILE"),
        (["--answers", str(one_kind)], "both kinds are needed. The threshold stays 0.700"),
    ):
        assert main(["threshold", str(model), *options]) == 2
        assert why in capsys.readouterr().err
    other = tmp_path / "other.csv"
    other.write_text("a,b,c\nx,y,1\n")
    options = ["--label", "3", "--questions", str(one_kind), "--answers", str(other)]
    assert main(["threshold", str(model), *options]) == 2
    assert "has the columns a, b, c" in capsys.readouterr().err
