"""What the page shows, without Gradio: the detector's own answers, escaped."""

import re
from html.parser import HTMLParser

import pytest
from small_models import make_detector, random_questions

from siamese.search.index import QuestionIndex
from siamese.serving import page

EVIL = '<script>alert(1)</script> how <img src=x onerror=alert(1)> & "far" \'?'


def text_of(html):
    """The visible text, and the tags that stand in the HTML."""
    parser, parts, tags = HTMLParser(), [], set()
    parser.handle_data = parts.append
    parser.handle_starttag = lambda tag, attributes: tags.add(tag)
    parser.feed(html)
    return re.sub(r"\s+", " ", " ".join(parts)).strip(), tags


@pytest.fixture(scope="module")
def detector():
    return make_detector(threshold=0.5)


@pytest.mark.parametrize("threshold", [None, -0.999, 0.999])
def test_the_answer_is_the_detectors(detector, threshold):
    answer, words = page.comparison(detector, "how far ?", "how old are you ?", threshold)
    cosine = detector.similarity("how far ?", "how old are you ?")
    yes = detector.predict("how far ?", "how old are you ?", threshold)
    text, _ = text_of(answer)
    assert text.startswith("Duplicate" if yes else "Not a duplicate")
    assert f"{cosine:.3f}" in text and "probability" not in text
    assert f"{0.5 if threshold is None else threshold:.3f}" in text
    shown, _ = text_of(words)
    assert all(word in shown for word in ["how", "far", "?", "old", "are", "you"])


def test_the_probability_is_shown_where_the_model_has_one():
    detector = make_detector()
    detector.calibration = lambda cosine: cosine * 0 + 0.25
    assert "25%" in text_of(page.comparison(detector, "how far", "how old")[0])[0]
    index = QuestionIndex.build(detector, ["how far"])
    assert "25%" in text_of(page.hits_table(index, "how"))[0]


def test_what_was_typed_is_shown_and_never_run(detector):
    index = QuestionIndex.build(detector, ["how far", EVIL], ids=["<i>1</i>", 2])
    ours = {"p", "b", "table", "caption", "tr", "th", "td", "span", "i"}
    for html in (*page.comparison(detector, EVIL, EVIL), page.hits_table(index, EVIL)):
        assert text_of(html)[1] <= ours
    assert EVIL in text_of(page.hits_table(index, EVIL))[0]
    assert "Never seen by the model" in text_of(page.comparison(detector, EVIL, "how")[0])[0]
    assert "<i>1</i>" in text_of(page.hits_table(index, "how far"))[0]


@pytest.mark.parametrize(
    ("pair", "said"),
    [
        (("", ""), "Write two questions"),
        ((None, None), "Write two questions"),
        (("", "how"), "first question has no words"),
        (("how", " \n"), "second question has no words"),
    ],
)
def test_questions_without_words_get_a_sentence(detector, pair, said):
    answer, words = page.comparison(detector, *pair)
    assert said in text_of(answer)[0] and words == ""


def test_long_and_odd_questions(detector):
    long = "how far " * 5000
    answer, words = page.comparison(detector, long, "元気 \x00\x07 \ud800 👩‍👩‍👧")
    assert (answer + words).encode()  # a lone surrogate cannot be sent
    assert "its first 40 of 512 words" in words and len(words) < 30_000
    assert page.comparison(detector, "rice", "rice")[1].count("the only word") == 2


def test_hits_are_those_of_the_index(detector):
    questions = random_questions(50)
    index = QuestionIndex.build(detector, questions)
    html = page.hits_table(index, "how far ?", 5, threshold=0.9)
    text, _ = text_of(html)
    hits = index.search("how far ?", 5, threshold=0.9)
    places = [text.index(f"{hit.similarity:.3f}") for hit in hits]
    assert places == sorted(places) and all(hit.question in text for hit in hits)
    assert html.count('class="yes"') == sum(hit.is_duplicate for hit in hits)
    assert page.hits_table(index, "") == page.hits_table(index, None) == ""
    assert "empty" in page.hits_table(QuestionIndex.build(detector, []), "how")
