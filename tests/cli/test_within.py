"""`--within COLUMN`: questions of equal values are compared, as if each part stood alone."""

import csv
import json
from collections import defaultdict

import pytest
from foreign_questions import QUESTIONS

from siamese.corpus import handwritten_questions

COLUMNS = ("source", "style")
COMMANDS = {
    "groups": ("duplicates",),
    "groups at a threshold": ("duplicates", "--threshold", "0.6"),
    "pairs": ("duplicates", "--pairs", "--threshold", "0.6"),
    "differences": ("duplicates", "--differences"),
    "matches": ("match", "-k", "2"),
}


def write(path, rows):
    with open(path, "w", encoding="utf-8", newline="") as file:
        names = ("id", "question", *COLUMNS)
        table = csv.DictWriter(file, names, extrasaction="ignore")
        table.writeheader()
        table.writerows(rows)


def parts_of(rows, names):
    parts = defaultdict(list)
    for row in rows:
        parts[tuple(row[name] for name in names)].append(row)
    return parts


NUMBERS = ("similarity", "adjusted")


def told(rows):
    """The rows of a table by their texts, and their numbers; `row` counts those of the file."""
    ids = ("id", "id1", "id2", "match_id")
    rows = sorted(rows, key=lambda row: [str(row.get(name)) for name in ids])
    texts = [
        {k: v for k, v in row.items() if k not in ("row", *NUMBERS)} for row in rows
    ]
    numbers = [float(row[name]) for row in rows for name in NUMBERS if row.get(name)]
    return texts, Near(numbers)


class Near(list):
    """Numbers that equal others to two millionths: a vector is the same in company to one."""

    def __eq__(self, other):
        return list(self) == pytest.approx(list(other), abs=2e-6)

    __hash__ = None


@pytest.fixture
def hits(run):
    """Function of a search: the hits that it finds, as texts and numbers."""

    def hits(*arguments):
        code, out, err = run("search", *arguments, "--json")
        assert code == 0, err
        found = json.loads(out)["hits"]
        texts = [(hit["id"], hit["question"], hit["columns"]) for hit in found]
        return texts, Near(hit["similarity"] for hit in found)

    return hits


@pytest.fixture
def questions():
    rows = handwritten_questions()[:120]
    for row in rows[::17]:
        row["style"] = ""  # An empty cell is a value.
    return rows


def test_pairs_outside_the_groups_have_the_order_of_a_list_without_parts(
    run, questions
):
    questions += [{**row, "id": f"b{row['id']}", "source": "b"} for row in questions]
    write("b.csv", questions[len(questions) // 2 :])
    write("all.csv", [{**row, "style": row["source"] == "b"} for row in questions])

    def next_pairs(*command):
        pairs = json.loads(run("duplicates", *command, "--json")[1])["next_pairs"]
        return [{row["question1"], row["question2"]} for row in pairs]

    # Each pair is in both parts.
    once = next_pairs("b.csv")
    assert len(once) > 10
    assert next_pairs("all.csv", "--within", "style")[::2] == once


@pytest.mark.parametrize("names", [("source",), COLUMNS], ids="+".join)
@pytest.mark.parametrize("kind", COMMANDS)
def test_it_is_equal_to_each_part_alone(rows, questions, kind, names):
    command, *flags = COMMANDS[kind]
    within = [word for name in names for word in ("--within", name)]
    write("all.csv", questions)
    whole = rows(command, "all.csv", *flags, *within)
    alone = []
    for part in parts_of(questions, names).values():
        write("part.csv", part)
        alone += rows(command, "part.csv", *flags)
    assert whole and told(whole) == told(alone)


def test_two_lists_are_matched_within_a_column(rows, questions):
    write("old.csv", questions[:60])
    write("new.csv", questions[60:])
    whole = rows("match", "new.csv", "old.csv", "--within", "source")
    assert len(whole) == 60
    assert all(row["source"] == row["match_source"] for row in whole)
    write("old.csv", [row for row in questions[:60] if row["source"] == "forum"])
    write("new.csv", [row for row in questions[60:] if row["source"] == "forum"])
    alone = rows("match", "new.csv", "old.csv")
    assert told([row for row in whole if row["source"] == "forum"]) == told(alone)


def test_the_language_is_a_column_that_is_computed(rows):
    texts = [*QUESTIONS["de"], *QUESTIONS["en"], *QUESTIONS["fr"]]
    with open("list.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(texts))
    across = rows("match", "list.txt")
    within = rows("match", "list.txt", "--within", "language")
    language_of = {
        text: code for code in ("de", "en", "fr") for text in QUESTIONS[code]
    }

    def same(table):
        return [
            language_of[row["question"]] == language_of[row["match"]] for row in table
        ]

    assert not any(same(across)) and all(same(within))


@pytest.mark.parametrize("kind", ["list", "index"])
def test_a_question_is_searched_among_those_of_a_value(run, hits, questions, kind):
    write("all.csv", questions)
    build = ["index", "build", "all.csv", "--model", "use", "--output", "x.db"]
    assert run(*build)[0] == 0
    source = "all.csv" if kind == "list" else "x.db"
    asked = "How do I get my money back?"
    for style in ("", "plain"):
        write("part.csv", [row for row in questions if row["style"] == style])
        alone = hits("part.csv", asked, "-k", "5")
        assert len(alone[0]) == 5
        assert hits(source, asked, "-k", "5", "--within", f"style={style}") == alone
    assert run("search", source, asked, "--within", "style=none")[1] == (
        "Nothing found where style=none.\n"
    )


def test_a_question_is_searched_among_those_of_its_own_language(hits):
    texts = [*QUESTIONS["de"], *QUESTIONS["en"], *QUESTIONS["fr"]]
    with open("list.txt", "w", encoding="utf-8") as file:
        file.write("\n".join(texts))
    for code in ("de", "en", "fr"):
        asked = max(QUESTIONS[code], key=len)
        for within in ("language", f"language={code}"):
            found, _ = hits("list.txt", asked, "--within", within)
            assert {text for _, text, _ in found} == set(QUESTIONS[code])


def test_an_index_is_compared_within_a_column_and_keeps_no_such_groups(
    run, rows, questions
):
    write("all.csv", questions)
    build = ["index", "build", "all.csv", "--model", "use", "--output", "x.db"]
    assert run(*build)[0] == 0
    listed = rows("duplicates", "all.csv", "--within", "style")
    assert told(rows("duplicates", "x.db", "--within", "style")) == told(listed)
    assert len(rows("duplicates", "x.db")) > len(listed)


def test_what_has_no_effect_or_is_not_there_is_an_error(run, questions):
    write("all.csv", questions)
    code, _, err = run("duplicates", "all.csv", "--within", "product")
    assert code and "no column 'product'; the columns: " in err
    code, _, err = run("search", "all.csv", "old?", "--within", "product=3")
    assert code and "no column 'product'; the columns: " in err
    code, _, err = run("search", "all.csv", "old?", "--within", "source")
    assert code and "--within source=VALUE" in err
    code, _, err = run("duplicates", "all.csv", "--within", "source", "--regroup")
    assert code and "leave out --regroup" in err
