"""What many texts of a list repeat is not compared; what is shown and stored keeps it."""

import random

import numpy as np
import pytest

from siamese import DuplicateDetector, QuestionIndex
from siamese.reading.questions import read_questions
from siamese.text.repeated import Repeated, find_repeated

TEXT = """lamp door key red blue green table chair window street house garden river cloud
stone paper glass bread water stove fridge ladder basket bottle carpet curtain drawer engine"""
WORDS = TEXT.split()


@pytest.fixture(scope="module")
def use():
    return DuplicateDetector.pretrained()


def body(number: int, rng: random.Random) -> str:
    own = " ".join(rng.choices(WORDS, k=6))
    return f"Case {number}: {own}\nExample Ltd, 12 Long Street\nTel. +49 40 {rng.randint(10_000, 99_999)}"


def table(size: int) -> dict[str, list[str]]:
    rng = random.Random(size)
    return {
        "title": [
            f"{' '.join(rng.choices(WORDS, k=4))} {number}" for number in range(size)
        ],
        "body": [body(number, rng) for number in range(size)],
    }


def test_lines_are_left_out_of_what_is_compared_alone_digits_aside():
    posts = read_questions(table(150), column="title+body")
    assert list(posts.repeated.lines.values()) == [150, 150]
    for shown, compared in zip(posts.questions, posts.compared):
        assert "Tel." in shown and "Long Street" in shown
        assert "Tel." not in compared and "Long Street" not in compared
    (note,) = posts.report.notes
    assert "2 lines" in note and "(150)" in note and "keep_repeated=True" in note


def test_what_is_repeated_is_compared_on_request():
    posts = read_questions(table(150), column="title+body", keep_repeated=True)
    assert posts.compared == posts.questions
    assert not posts.repeated and not posts.report.notes


@pytest.mark.parametrize("column", [None, "title+body", "body"])
def test_a_list_of_twenty_rows_is_left_alone(column):
    posts = read_questions(table(20), column=column)
    assert not posts.repeated and not posts.report.notes
    assert all("Tel." in text for text in posts.compared)


@pytest.mark.parametrize("column", ["body", "title+body"])
def test_a_list_with_few_repeats_is_left_alone(column):
    posts = table(500)
    rng = random.Random(1)
    posts["body"] = [
        "\n".join(" ".join(rng.sample(WORDS, 5)) for _ in "ab") for _ in range(495)
    ]
    posts["body"] += ["My phone is broken.\nExample Ltd"] * 5
    posts = read_questions(posts, column=column)
    assert not posts.repeated and not posts.report.notes


def test_a_question_that_many_ask_is_no_repeated_line():
    rng = random.Random(0)
    bodies = [
        f"{' '.join(rng.sample(WORDS, 5))}\nExample Ltd, Long Street"
        for _ in range(200)
    ]
    bodies += ["I forgot my password.\nExample Ltd, Long Street"] * 9
    repeated = find_repeated(bodies)
    assert list(repeated.lines) == ["example ltd, long street"]
    assert repeated.without(bodies[-1]) == "I forgot my password."


TITLES = [
    f"[Bug][Mobile App][Release {n % 9}] {' '.join(WORDS[n : n + 3])}" for n in range(6)
]


def test_tags_before_titles_are_left_out_of_a_short_list_that_has_them_in_most_rows(
    use,
):
    titles = [
        "the keyboard hides the form",
        "colours are wrong at night",
        "crash when a photo is taken",
        "the map does not load",
        "sync takes an hour",
        "sounds play twice",
    ]
    tagged = [
        f"[Bug][Mobile App][Release {n}] {title}" for n, title in enumerate(titles)
    ]
    posts = read_questions({"title": tagged})
    assert posts.questions == tagged
    assert posts.compared == titles
    vectors = use.encode(posts.compared)
    assert np.array_equal(vectors, use.encode(titles))


@pytest.mark.parametrize(
    "frame",
    [
        "[Shop] {}",
        "[Shop 4.{n}] {}",
        "(Shop) {}",
        "Shop: {}",
        "Shop - {}",
        "Shop | {}",
        "SHOP-{n}: {}",
        "{} - Example Help",
        "{} | Example Help",
        "{} [Shop]",
        "{} (ticket {n})",
        "[Shop][{n}] {} - Example Help",
    ],
)
def test_what_stands_before_and_after_titles_is_left_out(frame):
    rng = random.Random(2)
    own = [
        " ".join(rng.choices(["how", "why", "lamp", "door", "key", "red"], k=5))
        for _ in range(200)
    ]
    titles = [frame.format(text, n=number) for number, text in enumerate(own)]
    posts = read_questions({"title": titles})
    assert posts.compared == own
    assert posts.questions == titles
    assert len(posts.report.notes) == 1


def test_common_first_words_are_no_tags():
    rng = random.Random(3)
    titles = [f"How do I {' '.join(rng.sample(WORDS, 3))}?" for _ in range(300)]
    assert not find_repeated(titles).before


def test_a_text_of_nothing_else_stays():
    repeated = Repeated(lines={"tel. 0": 9}, before={"[bug]": 9})
    assert repeated.without("Tel. 1\nTel. 2") == "Tel. 1\nTel. 2"
    assert repeated.without("[Bug] ") == "[Bug] "
    assert Repeated.from_json(repeated.to_json()) == repeated


def test_an_index_leaves_the_same_out_of_additions_and_queries(use, tmp_path):
    posts = read_questions(table(150), column="title+body")
    options = {
        "compared": posts.compared,
        "reading": {"repeated": posts.repeated.to_json()},
    }
    with QuestionIndex.build(use, posts.questions, path=tmp_path / "a.db", **options):
        pass
    signature = "\nExample Ltd, 12 Long Street\nTel. +49 40 77777"
    with QuestionIndex.open(tmp_path / "a.db") as index:
        index.add([f"Who waters the plants?{signature}"], ids=["plants"])
        bare, *_ = index.search("Who waters the plants?", 1)
        signed, *_ = index.search(f"Who waters the plants?{signature}", 1)
        assert bare.id == signed.id == "plants"
        assert bare.similarity == signed.similarity == pytest.approx(1, abs=1e-6)
        assert bare.question.endswith("77777")
