"""The report: its figures, its text escaped, nothing loaded from elsewhere."""

import html.parser
import json
import re

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
def page(evaluation):
    return report.report_page(evaluation, {"<Model>": "runs/<best>"})


class Reader(html.parser.HTMLParser):
    def __init__(self, page):
        super().__init__(convert_charrefs=True)
        self.tags, self.attributes, self.text, self.open = [], [], [], []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.attributes += [(tag, name, value) for name, value in attributes]
        if tag not in ("meta", "img", "br", "link", "input"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.text.append(data)


def test_well_formed_and_the_questions_are_text_and_no_markup(page, evaluation):
    reader = Reader(page)
    assert reader.open == []
    assert set(reader.tags) <= {
        *(
            "html",
            "head",
            "meta",
            "title",
            "style",
            "body",
            "h1",
            "h2",
            "p",
            "pre",
            "div",
            "figure",
        ),
        *("img", "figcaption", "ul", "li", "bdi", "br", "small", "footer"),
    }
    assert reader.tags.count("h1") == reader.tags.count("style") == reader.tags.count("body") == 1
    assert {name for _, name, _ in reader.attributes} <= {
        *("lang", "charset", "http-equiv", "content", "name", "class", "src", "alt")
    }
    text = "".join(reader.text)
    for row in np.concatenate(worst_mistakes(evaluation)):
        assert evaluation.question1[row] in text or "null" in evaluation.question1[row]
    assert "runs/<best>" in text and "<Model>" in text and "best accuracy on <valid>" in text


def test_loads_nothing_from_anywhere(page):
    attributes = Reader(page).attributes
    words = [value for tag, name, value in attributes if (tag, name) == ("img", "alt")]
    assert len(words) == 4 and all(len(text) > 30 for text in words)
    sources = [value for _, name, value in attributes if name in ("src", "href")]
    assert len(sources) == 4
    assert all(source.startswith("data:image/png;base64,iVBOR") for source in sources)
    assert "default-src 'none'" in page
    style = re.search(r"<style>(.*?)</style>", page, re.S).group(1)
    assert "url(" not in style and "@import" not in style


def test_figures_stand_in_the_page_and_in_the_table(evaluation, page):
    expected = evaluate_scores(evaluation.scores, evaluation.labels, 0.2)
    text, table = "".join(Reader(page).text), report.short_table(evaluation)
    assert table in text
    for name, title in FIGURES.items():
        value = getattr(expected, name)
        assert re.search(rf"^{title} +{value:.3f} \[", table, re.M)
        low, high = evaluation.intervals[name].low, evaluation.intervals[name].high
        assert low <= value <= high and f"[{low:.3f}, {high:.3f}]" in table
    assert "80 pairs" in table and "best accuracy on <valid>" in table
    assert "always no" in table and "word overlap" in table
    assert max(map(len, table.splitlines())) <= 80
    assert len(re.findall("calibration error", table)) == 1
    values = json.loads(json.dumps(evaluation.to_dict()))
    assert values["accuracy"] == expected.accuracy and set(values["intervals"]) == set(FIGURES)
    assert values["calibration_error"] == evaluation.calibration_error > 0


def test_worst_mistakes_by_hand():
    scores, labels = [0.9, 0.8, 0.7, 0.1, 0.2, 0.3], [0, 1, 0, 1, 0, 1]
    texts = list("abcdef")
    evaluation = report.Evaluation(texts, texts, scores, labels, 0.5)
    wrongly, missed = worst_mistakes(evaluation)
    assert (wrongly.tolist(), missed.tolist()) == ([0, 2], [3, 5])
    assert [rows.tolist() for rows in worst_mistakes(evaluation, 1)] == [[0], [3]]
    page = report.report_page(evaluation)
    assert page.count("<li>") == 4 and "4 of 6 answers are wrong" in page
    assert page.count("<img") == 3 and "calibration error" not in page  # No probabilities.


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
