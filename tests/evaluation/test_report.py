"""The report: its figures, its text escaped, nothing loaded from elsewhere."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest

from siamese.errors import DataError
from siamese.evaluation import report
from siamese.evaluation.metrics import evaluate_scores
from siamese.evaluation.report import FIGURES, worst_mistakes

NASTY = [
    "<script>alert(1)</script>",
    "\"><img src=x onerror=alert(1)>' & &amp;",
    "</style></body><h1>gone</h1>",
    "https://example.org/picture.png url(http://example.org)",
    "null \x00 escape \x1b lone \ud800 noncharacter \uffff",
    "right to left \u202e override, שלום",
    "costs $5 and $6 \\frac{",
    "emoji 🙂",
]


@pytest.fixture(scope="module")
def evaluation():
    generator, n = np.random.default_rng(0), 80
    labels = generator.random(n) < 0.4
    scores = np.round(np.clip(generator.normal(size=n) * 0.3 + labels * 0.4, -1, 1), 3)
    first = [NASTY[i % len(NASTY)] for i in range(n)]
    second = [NASTY[(i * 3 + 1) % len(NASTY)] for i in range(n)]
    options = {"probabilities": (scores + 1) / 2, "threshold_from": "best accuracy on <valid>"}
    return report.Evaluation(first, second, scores, labels, 0.2, **options)


@pytest.fixture(scope="module")
def tree(evaluation):
    page = report.report_page(evaluation, {"<Model>": "runs/<best>"})
    assert "default-src 'none'" in page and "href" not in page
    return ElementTree.fromstring(page)  # Well-formed also as XML.


def test_the_questions_are_text_and_no_markup(tree, evaluation):
    tags = [element.tag for element in tree.iter()]
    assert "script" not in tags and tags.count("img") == 4
    assert tags.count("h1") == tags.count("style") == tags.count("body") == 1
    assert {name for element in tree.iter() for name in element.attrib} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "src", "alt")
    }
    text = "".join(tree.find("body").itertext())
    for row in np.concatenate(worst_mistakes(evaluation)):
        assert evaluation.question1[row] in text or "null" in evaluation.question1[row]
    assert "runs/<best>" in text and "<Model>" in text and "best accuracy on <valid>" in text


def test_loads_nothing_from_anywhere(tree):
    images = [element.attrib for element in tree.iter("img")]
    assert len(images) == 4 and all(len(image["alt"]) > 30 for image in images)
    assert all(image["src"].startswith("data:image/png;base64,iVBOR") for image in images)
    style = next(tree.iter("style")).text
    assert "url(" not in style and "@import" not in style


def test_figures_stand_in_the_page_and_in_the_table(evaluation, tree):
    expected = evaluate_scores(evaluation.scores, evaluation.labels, 0.2)
    table = report.short_table(evaluation)
    assert table in next(tree.iter("pre")).text
    for name, title in FIGURES.items():
        value, interval = getattr(expected, name), evaluation.intervals[name]
        assert re.search(rf"^{title} +{value:.3f} \[", table, re.M)
        assert interval.low <= value <= interval.high and str(interval) in table
    for words in ("80 pairs", "best accuracy on <valid>", "always no", "word overlap"):
        assert words in table
    assert table.count("calibration error") == 1 and max(map(len, table.splitlines())) <= 80
    values = json.loads(json.dumps(evaluation.to_dict()))
    assert values["accuracy"] == expected.accuracy and set(values["intervals"]) == set(FIGURES)
    assert values["calibration_error"] == evaluation.calibration_error > 0


def test_worst_mistakes_by_hand(monkeypatch):
    scores, labels = [0.9, 0.8, 0.7, 0.1, 0.2, 0.3], [0, 1, 0, 1, 0, 1]
    evaluation = report.Evaluation("abcdef", "abcdef", scores, labels, 0.5)
    assert [rows.tolist() for rows in worst_mistakes(evaluation)] == [[0, 2], [3, 5]]
    page = report.report_page(evaluation)
    assert page.count("<li>") == 4 and "4 of 6 answers are wrong" in page
    assert page.count("<img") == 3 and "calibration error" not in page  # No probabilities.
    monkeypatch.setattr(report, "WORST", 1)
    assert [rows.tolist() for rows in worst_mistakes(evaluation)] == [[0], [3]]


def test_written_over_an_older_one_or_refused(tmp_path, evaluation):
    path = tmp_path / "a" / "b" / "index.html"
    path.parent.mkdir(parents=True)
    path.write_text("older")
    assert report.write_report(path.parent, evaluation) == path
    text = path.read_bytes().decode("utf-8")
    assert text.startswith("<!DOCTYPE html>") and text.endswith("</html>\n")
    assert "\x00" not in text and "\x1b" not in text
    assert [entry.name for entry in path.parent.iterdir()] == ["index.html"]
    with pytest.raises(DataError, match=r"is a file|exists"):
        report.write_report(path, evaluation)
    with pytest.raises(DataError, match="question2 holds 1:"):
        report.Evaluation(["a", "b"], ["a"], [0.1, 0.2], [0, 1], 0.5)
