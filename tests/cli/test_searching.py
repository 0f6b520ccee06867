"""Indexes, search, groups and matches through the command, as a user runs them."""

import json
import os
from itertools import combinations
from pathlib import Path

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese import DuplicateDetector, QuestionIndex
from siamese.cli import pairs
from siamese.corpus import handwritten_questions
from siamese.errors import CheckpointError
from siamese.groups.table import GROUP_COLUMNS
from siamese.model.detector import UNLABELLED_THRESHOLD

EVIL = "how \x1b]0;owned\x07\x1b[31m far ?"


@pytest.fixture
def old(run):
    lines = [
        "5,how far ?,me",
        "6,how far ?,you",
        "7,what is rice,=x",
        "8,what is rice,y",
    ]
    lines = ["id,question,by", *lines, "9,how do i cook,z", "10,,z"]
    Path("old.csv").write_text("\n".join(lines))
    facts = json.loads(
        run("index", "build", "old.csv", "--model", "model", "--json")[1]
    )
    assert (facts["output"], facts["questions"], facts["left_out"]) == (
        "old.csv.index",
        5,
        1,
    )
    return "old.csv.index"


def values(rows, *columns):
    return [tuple(row[column] for column in columns) for row in rows]


def test_a_hit_has_the_id_and_the_columns_of_its_row(run, old):
    hits = json.loads(run("search", old, "how far ?", "-k", "2", "--json")[1])["hits"]
    assert values(hits, "id", "columns") == [("5", {"by": "me"}), ("6", {"by": "you"})]


def test_a_word_that_the_model_does_not_know_is_named(run, old):
    assert "never seen: xyzzy" in run("search", old, "how xyzzy ?")[1]


@pytest.fixture
def more(run):
    """A table of a new and a changed question, and a list of a repeated and a new one."""
    text = "id,question,by,vector,column_vector\na,age of rice,u,1,2\n9,how do you cook,z,3,4\n"
    Path("more.csv").write_text(text)
    Path("repeated.txt").write_text("How far ?\nlearn to cook\n")


def test_additions_are_counted_by_what_they_are(run, old, more):
    for file, numbers in (
        ("more.csv", "11006"),
        ("more.csv", "00206"),
        ("repeated.txt", "10107"),
    ):
        shown = run("index", "add", old, file)[1].splitlines()
        assert "".join(line.split()[-1] for line in shown) == numbers


def test_a_list_without_ids_gets_the_next_numbers(run, old, more):
    err = run("index", "add", old, "repeated.txt")[2]
    assert "ids: the next free numbers of the index" in err


def test_an_index_that_numbers_its_questions_takes_no_ids(run, more):
    build = ["index", "build", "repeated.txt", "--model", "model"]
    assert run(*build, "--output", "numbered")[0] == 0
    err = run("index", "add", "numbered", "more.csv")[2]
    assert "numbers its questions itself" in err


def test_an_id_that_is_not_there_removes_nothing(run, old):
    removed = run("index", "remove", old, "--ids", "5", "9", "5 of another list")
    assert removed[0] == 2
    assert "no question with the id '5 of another list'" in removed[2]
    assert "how far" in run("search", old, "how far ?")[1]


def test_questions_are_removed_by_the_ids_of_a_file(run, old):
    Path("ids").write_text("key;x\n5;1\n6;2\n")
    command = ["index", "remove", old, "ids", "--id-column", "key", "--json"]
    assert json.loads(run(*command)[1]) == {"removed": 2, "questions": 3}
    assert "how far" not in run("search", old, "how far ?")[1]


def test_an_index_is_exported_with_a_column_of_its_own_for_each(run, old, more):
    parquet = pytest.importorskip("pyarrow.parquet")
    assert run("index", "add", old, "more.csv")[0] == 0
    assert run("index", "export", old, "out.parquet")[0] == 0
    rows = parquet.read_table("out.parquet").to_pylist()
    names = "id", "column_vector", "column_column_vector"
    expected = [("8", None, None), ("a", "2", "1"), ("9", "4", "3")]
    assert values(rows, *names)[-3:] == expected


def test_an_export_replaces_a_file_on_request_and_never_the_index(run, old):
    pytest.importorskip("pyarrow")
    for code, flags in ((0, []), (2, []), (0, ["--overwrite"])):
        assert run("index", "export", old, "out.parquet", *flags)[0] == code
    Path("link.parquet").symlink_to(old)
    assert "belongs to" in run("index", "export", old, "link.parquet", "--overwrite")[2]


def test_a_list_of_questions_will_do_for_an_index(tmp_path, run, old):
    before = sorted(tmp_path.iterdir())
    for name, *rest in (["search", "how far ?"], ["duplicates", "--pairs"]):
        direct = run(name, "old.csv", *rest, "--model", "model")
        assert direct[0] == 0 and direct[1] == run(name, old, *rest)[1]
    direct = run("match", "old.csv", "old.csv", "--model", "model")
    assert direct[1] == run("match", "old.csv", old)[1]
    assert sorted(tmp_path.iterdir()) == before


UNLABELLED = {
    "an index": ["search", "plain.index", "how far is it?"],
    "evaluate": ["evaluate", "plain", "--questions", "pairs.csv"],
    "a list": ["search", "old.csv", "how far is it?"],
    "an index of use": ["search", "use.index", "how far is it?"],
    "duplicates": ["duplicates", "old.csv"],
    "match": ["match", "old.csv", "old.csv"],
    "predict": ["predict", "use", "how far ?", "far?"],
}


@pytest.mark.parametrize("name", UNLABELLED)
def test_that_no_labels_stand_behind_a_threshold_is_said_once(run, old, name):
    Path("use").touch()  # The encoder is meant.
    assert run("index", "build", "old.csv", "--output", "use.index")[0] == 0
    fit = {"threshold": 0.7, "calibration": None, "threshold_from": "default"}
    # As training saves a model that separates nothing.
    make_detector().with_threshold(fit).save("plain")
    build = ["index", "build", "old.csv", "--model", "plain"]
    assert run(*build, "--output", "plain.index")[0] == 0
    Path("pairs.csv").write_text(
        "question1,question2,label\nhow far,how old,0\nwhy,why,1\n"
    )
    command = UNLABELLED[name]
    code, out, err = run(*command)
    assert code == 0 and (out + err).count("not fitted to labels") == 1
    assert "not fitted" not in run(*command, "--threshold", "0.7")[2]


def test_predict_answers_a_file_of_pairs_in_order(run, rows):
    texts = random_questions(60)
    pairs = [(f"n{i}", *pair) for i, pair in enumerate(zip(texts[::2], texts[1::2]))]
    Path("pairs").write_text("\n".join(map(";".join, [("id", "a", "b"), *pairs])))
    command = ["predict", "model", "pairs", "--threshold", "0.4", "--columns", "a,b"]
    table = rows(*command)
    columns = [
        "question1",
        "question2",
        "similarity",
        "probability",
        "is_duplicate",
        "difference",
        "id",
    ]
    assert list(table[0]) == columns
    assert values(table, "id", "question1", "question2") == pairs
    cosines = make_detector().similarity(texts[::2], texts[1::2]).tolist()
    assert [float(row["similarity"]) for row in table] == pytest.approx(
        cosines, abs=1e-6
    )
    assert [row["is_duplicate"] for row in table] == [
        "01"[cosine > 0.4] for cosine in cosines
    ]
    facts = json.loads(run(*command, "--json")[1])
    assert facts["duplicates"] == sum(cosine > 0.4 for cosine in cosines)


def test_predict_explains_by_words_and_notes_what_it_does_not_read(run):
    code, out, _ = run("predict", "model", "how far ?", "how old ?", "--explain")
    assert code == 0 and "not a duplicate: cosine" in out and "far  " in out
    answer = json.loads(
        run("predict", "model", "how far", "how old", "--explain", "--json")[1]
    )
    assert [word["word"] for word in answer["words1"]] == ["how", "far"]


LONG = "how far " * 400


@pytest.mark.parametrize(
    "command",
    [
        ["predict", "model", LONG, "how"],
        ["predict", "model", "pairs.csv"],
        ["evaluate", "model", "--questions", "pairs.csv"],
        ["threshold", "model", "--answers", "pairs.csv", "--output", "other"],
    ],
    ids=["two texts", "a file", "evaluate", "threshold"],
)
def test_a_question_that_is_not_read_to_its_end_is_counted(run, command):
    Path("pairs.csv").write_text(
        f"question1,question2,label\n{LONG},how,1\nhow,far,0\n"
    )
    assert "1 question too long for the model" in run(*command)[2]


@pytest.fixture
def foreign(run):
    """A list and pairs with texts that would move a terminal's cursor, or forge a line."""
    records = [
        {"question": EVIL},
        {"question": "how far ?\n* 1.000 [9] no"},
        {"question": EVIL},
    ]
    records[0] |= {"score": float("nan"), "more": [float("inf")]}
    Path("old.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    Path("pairs.csv").write_text(f"question1,question2\n{EVIL},how far ?\n")


@pytest.mark.parametrize(
    "command",
    [
        ["search", "old.jsonl", "how far ?", "--model", "model"],
        ["search", "old.jsonl", EVIL, "--model", "model"],
        ["duplicates", "old.jsonl", "--model", "model"],
        ["predict", "model", EVIL, "how far", "--explain"],
        ["predict", "model", "pairs.csv"],
    ],
    ids=["found", "asked", "duplicates", "explained", "a file"],
)
def test_foreign_text_is_shown_and_not_obeyed(run, foreign, command):
    code, out, _ = run(*command)
    assert code == 0 and not {"\x1b", "\x07"} & set(out) and r"\x1b[31m" in out
    assert "\n* 1.000" not in out or command[0] == "duplicates"


def test_foreign_text_stays_as_it_is_in_files_and_json(run, foreign):
    model = ["--model", "model"]
    assert run("duplicates", "old.jsonl", *model, "--output", "g.csv")[0] == 0
    assert EVIL in Path("g.csv").read_text()
    out = run("search", "old.jsonl", EVIL, "--json", *model)[1]
    # It fails for NaN and infinity.
    hits = json.loads(out, parse_constant=pytest.fail)["hits"]
    assert {"score": None, "more": [None]} in [hit["columns"] for hit in hits]


def test_the_order_of_a_hybrid_search_is_explained_where_it_shows(run, old):
    shown = [
        run("search", old, question)[1]
        for question in ("how far ?", *random_questions(9))
    ]
    for out in shown:
        cosines = [float(line[2:8]) for line in out.splitlines() if "[" in line]
        is_ordered = cosines == sorted(cosines, reverse=True)
        assert is_ordered != ("--vectors-only orders by cosine" in out)
    assert any("weight 0.6" in out for out in shown)
    assert "Ordered" not in run("search", old, "how far", "--vectors-only")[1]


def test_evaluate_measures_a_search_on_queries_with_known_answers(run, old):
    Path("new.csv").write_text("id,question\nq1,how far ?\nq2,what is rice\nq3,way\n")
    Path("known.csv").write_text("query_id,id\nq1,5\nq1,6\nq2,7\nq8,5\n")
    command = ["evaluate", old, "--queries", "new.csv", "--relevant", "known.csv"]
    _, out, err = run(*command)
    header, *table, count = out.splitlines()
    assert header.split() == [
        "search",
        "MRR",
        "MAP",
        "recall@1",
        "recall@5",
        "recall@10",
    ]
    modes = ["hybrid", "vectors", "words"]
    assert [row.split()[:2] for row in table] == [[mode, "1.000"] for mode in modes]
    assert "1 of the 3 ids in known.csv are not in new.csv, such as 'q8'" in err
    assert count.startswith("2 queries")
    facts = json.loads(run(*command, "--json")[1])
    assert facts["queries"] == 2 and facts["words"]["recall@1"] == 0.75


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ("q2,9\nq3,5\nq1,7\n,5\n", "line 5: no query_id or no id"),
        ("q9,5\n", "names no query of new.csv"),
    ],
)
def test_known_answers_of_no_query_are_one_message(refused, old, known, message):
    Path("new.csv").write_text("id,question\nq1,how far ?\nq2,what is rice\nq3,way\n")
    Path("known.csv").write_text(f"query_id,id\n{known}")
    command = ["evaluate", old, "--queries", "new.csv", "--relevant", "known.csv"]
    refused(command, message)


def test_groups_keep_their_ids_when_questions_are_added(run, rows, old):
    before = rows("duplicates", old, "--threshold", "0.999")
    assert values(before, "group", "id") == [
        ("5", "5"),
        ("5", "6"),
        ("7", "7"),
        ("7", "8"),
    ]
    Path("new.csv").write_text(
        "id,question,by\na,how far ?,u\nd,age old,w\ne,age old,w\n"
    )
    assert run("index", "add", old, "new.csv")[0] == 0
    ends = ["55", "56", "5a", "77", "78", "dd", "de"]  # group and id
    assert values(rows("duplicates", old), "group", "id") == list(map(tuple, ends))
    for flags, threshold in (([], 0.999), (["--regroup"], 0.9)):
        facts = json.loads(run("duplicates", old, "--json", *flags)[1])
        assert (facts["threshold"], facts["threshold_from"] == "groups") == (
            threshold,
            not flags,
        )


@pytest.fixture
def keep(run):
    """The command that keeps one post of each group, to which a rule belongs."""
    lines = [
        "id,title,created_at,votes,at,keep,Score",
        "1,how far,2026-03-01,3,3,A,",
        "2,how   far,2026-01-31,10,soon,B,5",
        "3,how far,2026-02-01T08:00:00Z,9,1,C,7",
        "4,cook rice,2026-01-01,1,2,D,",
    ]
    Path("posts.csv").write_text("\n".join(lines))
    return ["duplicates", "posts.csv", "--model", "model", "--keep"]


@pytest.mark.parametrize(
    ("rule", "kept"),
    [
        ("first", "1"),
        ("longest", "2"),
        ("created_at=min", "2"),
        ("votes=max", "2"),
        ("score=min", "2"),
        ("score=max", "3"),
        ("id=max", "3"),
    ],
)
def test_one_question_of_each_group_is_kept_by_a_rule(rows, keep, rule, kept):
    table = rows(*keep, rule)
    others = ((i, "0") for i in "123" if i != kept)
    assert values(table, "id", "keep") == [(kept, "1"), *others]
    columns = "group", "row", "votes", "same_text", "column_keep"
    assert ("1", "1", "10", "1", "B") in values(table, *columns)
    assert float(table[0]["similarity"]) == 1


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        ("new", "COLUMN=min"),
        ("when=min", "no column 'when'"),
        ("at=min", "Question 2: at is 'soon'"),
    ],
)
def test_a_rule_that_orders_nothing_is_refused(refused, keep, rule, words):
    refused([*keep, rule], words)


@pytest.fixture
def big(run):
    """The command on numbers that no float holds, and a row without one."""
    line = '{"question": "how far", "row": 7, "n": 1%s}\n' % ("0" * 400)
    Path("big.jsonl").write_text(line * 2 + line.replace('"row": 7, ', ""))
    return ["duplicates", "big.jsonl", "--model", "model", "--keep"]


def test_a_question_without_a_value_is_kept_last(rows, big):
    assert values(rows(*big, "row=min"), "row") == [("7",), ("7",), ("",)]


def test_a_number_beyond_all_floats_orders_nothing(refused, big):
    refused([*big, "n=min"], "Question 0: n is 1000")


APART = (
    "Does the 8:15 train stop in York?",
    "Does the 9:15 train stop in York?",
    "does the 9:15 train stop in york?",
    "Can I feed my dog grapes?",
)


@pytest.mark.parametrize("stored", [False, True])
def test_what_is_kept_apart_is_counted_and_listed_with_its_reason(run, rows, stored):
    Path("q.txt").write_text("\n".join(APART))
    target = "q.txt"
    if stored:
        target = "q.db"
        assert run("index", "build", "q.txt", "--output", target)[0] == 0
    for _ in range(2):  # An index has its groups the second time.
        out, err = run("duplicates", target, "--json")[1:]
        assert json.loads(out)["kept_apart"] == 1
        assert "1 pair above the threshold was kept apart as near misses" in err
    (row,) = rows("duplicates", target, "--differences")
    assert (row["id1"], row["id2"]) == ("0", "1")
    assert row["difference"] == "number: 8:15 / 9:15"
    pairs = rows("duplicates", target, "--pairs")
    assert [(own["id1"], own["id2"], own["difference"]) for own in pairs] == [
        ("1", "2", "")
    ]
    # The owner says that a number does not count; an index makes its groups again.
    out, err = run("duplicates", target, "--ignore", "number", "--json")[1:]
    facts = json.loads(out)
    assert (facts["largest"], facts["kept_apart"]) == (3, 0)
    assert ("made again" in err) == stored
    unchecked = json.loads(
        run("duplicates", target, "--no-near-miss-check", "--json")[1]
    )
    assert unchecked["largest"] == 3 and "kept_apart" not in unchecked
    assert "0 pairs above the threshold were kept apart" in err


def test_groups_are_measured_by_a_column_of_true_ones(run):
    table = ["question,problem", *(f"{text},{at > 0}" for at, text in enumerate(APART))]
    Path("q.csv").write_text("\n".join(table))
    command = ["evaluate", "q.csv", "--groups", "problem"]
    facts = json.loads(run(*command, "--json")[1])
    found = rows_in_groups(json.loads(run("duplicates", "q.csv", "--json")[1]))
    assert facts["pairs"] == len(found) == 1 and facts["right_pairs"] == 1
    assert facts["precision"] == 1 and facts["recall"] == pytest.approx(1 / 3)
    assert facts["best_f1"] >= facts["f1"]
    assert "Best F1 over pairs" in run(*command)[1]
    assert run("evaluate", "q.csv", "--groups", "nothing")[0] == 2


def rows_in_groups(facts):
    """The pairs of questions that share a group."""
    groups = {}
    for row in facts["rows"]:
        groups.setdefault(row["group"], []).append(row["id"])
    return [pair for group in groups.values() for pair in combinations(group, 2)]


def test_a_pair_that_an_answer_joins_is_not_kept_apart(run, rows):
    Path("q.txt").write_text("\n".join(APART))
    answers = ["question1,question2,is_duplicate", f"{APART[0]},{APART[1]},1"]
    Path("q.txt.answers.csv").write_text("\n".join(answers))
    facts = json.loads(run("duplicates", "q.txt", "--json")[1])
    assert (facts["largest"], facts["kept_apart"]) == (3, 0)
    assert rows("duplicates", "q.txt", "--differences") == []


def test_verdicts_have_a_difference_and_the_order_stays_that_of_the_cosine(run, rows):
    Path("q.txt").write_text("\n".join(APART))
    hits = json.loads(run("search", "q.txt", APART[0], "-k", "3", "--json")[1])["hits"]
    cosines = [hit["similarity"] for hit in hits]
    assert cosines == sorted(cosines, reverse=True)
    told = [(hit["id"], hit["is_duplicate"], hit["difference"]) for hit in hits]
    reason = "number: 8:15 / 9:15"
    assert told[0] == ("0", True, "")
    assert sorted(told[1:]) == [("1", False, reason), ("2", False, reason)]
    matches = rows("match", "q.txt", "-k", "1")
    assert [row["difference"] for row in matches][:3] == [reason, "", ""]
    Path("p.csv").write_text(f"question1,question2\n{APART[0]},{APART[1]}\n")
    (row,) = rows("predict", "use", "p.csv")
    assert (row["is_duplicate"], row["difference"]) == ("0", reason)
    command = ["predict", "use", *APART[:2]]
    text = run(*command, "--explain")[1]
    assert reason in text and "numbers_exchanged 1" in text
    answer = json.loads(run(*command, "--explain", "--json")[1])
    assert answer["difference"] == reason and answer["compared"]["penalty"] > 0.1
    assert json.loads(run(*command, "--ignore", "number", "--json")[1])["is_duplicate"]


def test_a_threshold_without_labels_is_shown_with_what_lies_below(run):
    texts = [own["question"] for own in handwritten_questions()]
    Path("q.txt").write_text("\n".join(texts))
    code, out, err = run("duplicates", "q.txt", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["threshold_from"] == "default"
    assert facts["threshold"] == UNLABELLED_THRESHOLD
    use = DuplicateDetector.pretrained()
    vectors = use.encode(texts)
    cosines = vectors @ vectors.T
    group_of = {row["id"]: row["group"] for row in facts["rows"]}
    one, two = np.nonzero(np.triu(cosines, 1) > 0.5)
    read = list(map(use.encoder.read, texts))
    sides = [read[at] for at in one], [read[at] for at in two]
    scores = cosines.copy()
    scores[one, two] -= use.check.penalty(*sides, cosines[one, two])
    counts = {
        str(cut): (np.triu(cosines, 1) > cut).sum() for cut in (0.9, 0.8, 0.7, 0.6, 0.5)
    }
    assert facts["pairs_above"] == counts
    named, expected = set(), []
    for pair in sorted(zip(one.tolist(), two.tolist()), key=lambda own: -scores[own]):
        one, two = (group_of.get(str(row), row) for row in pair)
        if one != two and named.isdisjoint(pair):
            named.update(pair)
            expected.append(pair)
    next_pairs = values(facts["next_pairs"], "id1", "id2")
    assert next_pairs == [tuple(map(str, pair)) for pair in expected[:50]]
    for words in (
        "siamese threshold q.txt --label 30",
        "siamese threshold q.txt --answers",
    ):
        assert words in err
    # A threshold of one's own says enough.
    assert (
        "next_pairs"
        not in run("duplicates", "q.txt", "--threshold", "0.7", "--json")[1]
    )


def test_equal_texts_are_compared_once_and_listed_in_their_order(run, monkeypatch):
    Path("q.txt").write_text("How far is it 2?\nHow long is it 3?\n" * 100)
    facts = json.loads(run("duplicates", "q.txt", "--json")[1])
    assert (facts["groups"], len(facts["next_pairs"])) == (2, 1)
    command = ["duplicates", "q.txt", "--json", "--threshold", "0.3"]
    monkeypatch.setattr(pairs, "MOST_PAIRS", 9_950)
    out, err = run(*command, "--pairs")[1:]
    rows = json.loads(out)["rows"]
    assert len(rows) == 9_950 and "There are too many pairs" in err
    order = [(-row["similarity"], int(row["id1"]), int(row["id2"])) for row in rows]
    assert order == sorted(order)
    assert "1 of 1" in run("threshold", "q.txt", "--label", "1", stdin="y\n")[2]


def test_questions_without_a_known_word_are_named_and_make_no_groups(run):
    texts = (
        "TCK-99812",
        "TCK-10034",
        "Почему?",
        "ERR77 X",
        "how far",
        "how far",
        '"Hi all, ошибка"',
    )
    lines = [f"{number},{text}" for number, text in enumerate(texts, 1)]
    Path("q.csv").write_text("\n".join(["id,question", *lines]))
    _, out, err = run("duplicates", "q.csv", "--model", "model", "--json")
    assert values(json.loads(out)["rows"], "group", "id") == [("5", "5"), ("5", "6")]
    assert (
        "5 questions without any word that the model knows" in err
        and "1 (TCK-99812)" in err
    )


@pytest.fixture
def kept(run):
    """Files that commands read, and a pipe; none of them is changed."""
    Path("q.csv").write_text("id,question\n1,how far\n2,how far\n")
    Path("pairs.csv").write_text(
        "question1,question2,label\nhow far,how old,0\nwhy,why,1\n"
    )
    Path("q.csv.answers.csv").write_text(
        "question1,question2,is_duplicate\nwhy,how,1\n"
    )
    os.mkfifo(Path("pipe"))
    assert (
        run("index", "build", "q.csv", "--model", "model", "--output", "q.db")[0] == 0
    )
    names = "q.db", "q.csv", "pairs.csv", "model", "q.csv.answers.csv"
    files = [Path(name) for name in names]
    before = [file.read_bytes() for file in files]
    yield
    assert before == [file.read_bytes() for file in files]


WRITING = [  # a command, and the files that it reads
    ("duplicates q.csv --model model --output", "q.csv model q.csv.answers.csv"),
    ("duplicates q.db --pairs --output", "q.db"),
    ("match q.csv q.db --output", "q.csv q.db"),
    ("predict model pairs.csv --output", "model pairs.csv"),
    ("threshold model --answers pairs.csv --output", "model pairs.csv"),
    ("index build q.csv --model model --output", "q.csv model"),
]
each_writing = pytest.mark.parametrize(
    ("command", "read"), WRITING, ids=[command for command, _ in WRITING]
)


@each_writing
def test_a_file_is_replaced_where_the_user_says_so(run, refused, kept, command, read):
    command = command.split()
    assert run(*command, "new")[0] == run(*command, "new", "--overwrite")[0] == 0
    refused([*command, "new"], "There is new already. Pass --overwrite")


@each_writing
def test_a_pipe_is_not_replaced(refused, kept, command, read):
    refused([*command.split(), "pipe", "--overwrite"], "or a pipe, and is not replaced")


@each_writing
def test_a_file_that_is_read_is_never_replaced(refused, kept, command, read):
    for name in read.split():
        words = "belongs to what this command reads"
        refused([*command.split(), f"./{name}", "--overwrite"], words)


@pytest.mark.parametrize(
    ("command", "words"),
    [
        ("predict model how far --output o.csv", "not a file; leave out --output"),
        ("predict model how far --columns a,b --bad-rows skip", "leave out --bad-rows, --columns"),
        ("search q.db how --encoding cp1252 --bad-rows skip", "leave out --bad-rows, --encoding"),
        ("index remove q.db --ids 1 --id-column x", "leave out --id-column"),
        ("evaluate q.db --queries x --relevant x --threshold 0", "leave out --threshold"),
        ("evaluate model --questions pairs.csv --model model", "leave out --model"),
        ("threshold q.db --label 3 --encoding cp1252", "q.db is an index, which keeps its answers"),
        ("threshold q.db --label 3 --list q.csv", "leave out --list"),
        ("threshold q.db --answers pairs.csv --overwrite", "leave out --overwrite"),
        ("index export q.db x.csv", "x.csv: an index is written as Parquet"),
        ("index build q.csv --output pairs.csv --overwrite", "pairs.csv: it holds no index"),
        ("duplicates nothere --output q.csv/x", "Cannot write q.csv"),
        ("duplicates q.csv --output x.ODS", "x.ODS: a table is written as CSV"),
        ("predict q.db how far", "q.db is damaged, or was not saved by siamese"),
    ],
)  # fmt: skip
def test_what_cannot_be_written_or_has_no_effect_is_refused(
    refused, kept, command, words
):
    refused(command.split(), words)


def test_an_index_that_a_full_disk_has_cut_is_not_in_the_way(run, refused, monkeypatch):
    def cut(*_, **options):
        raise CheckpointError("the disk is full")

    Path("q.txt").write_text("how far\n")
    build = ["index", "build", "q.txt", "--model", "model"]
    with monkeypatch.context() as patch:
        patch.setattr("siamese.index.rows.insert", cut)
        refused(build, "the disk is full")
    assert sorted(path.name for path in Path().iterdir()) == ["model", "q.txt"]
    assert run(*build)[0] == 0


def test_an_index_is_added_to_from_the_columns_that_it_was_built_of(run, refused):
    Path("a.csv").write_text("SKU,text,note\nA1,how far,x\nA2,how old,y\n")
    Path("b.csv").write_text("SKU,text,note\nA2,how are you,y\nA3,rice,z\n")
    flags = "--model model --id-column SKU --column note+text --output a.db"
    Path("a.db").touch()  # as a full disk leaves it
    run("index", "build", "a.csv", *flags.split())
    facts = json.loads(run("index", "add", "a.db", "b.csv", "--json")[1])
    assert (facts["added"], facts["replaced"], facts["skipped"]) == (1, 1, 0)
    with QuestionIndex.open(Path("a.db")) as index:
        entries = {entry["id"]: entry["question"] for entry in index.snapshot().entries}
    assert entries == {"A1": "x how far", "A2": "y how are you", "A3": "z rice"}
    refused(
        ["index", "add", "a.db", "b.csv", "--column", "text"],
        "The index compares note+text",
    )
    Path("c.csv").write_text("SKU,remark,words\nA1,x,how far\n")
    out = run("index", "add", "a.db", "c.csv", "--column", "remark+words", "--json")[1]
    assert json.loads(out)["added"] == 0
    refused(
        ["duplicates", "a.db", "--column", "text"],
        "a.db is an index, which is read as it is",
    )


@pytest.mark.parametrize("body", ["body", "Notiz"])
def test_what_a_list_repeats_is_left_out_of_additions_and_queries(run, body):
    posts = [
        f'how far {n},"I ask {n} times.\nRead aloud by my phone"' for n in range(120)
    ]
    Path("a.csv").write_text("\n".join([f"title,{body}", *posts]))
    Path("b.csv").write_text(
        f'title,{body}\nhow old,"I know.\nread aloud by my phone"\n'
    )
    column = ["--column", f"title+{body}"]
    err = run(
        "index", "build", "a.csv", "--model", "model", "--output", "a.db", *column
    )[2]
    assert "Read aloud by my phone' (120)" in err and "--keep-repeated" in err
    match = ["match", "b.csv", "a.db", *column]
    with QuestionIndex.open(Path("a.db")) as index:
        expected = index.detector.similarity(
            "how far 1. I ask 1 times.", "how old. I know."
        )
    score = json.loads(run(*match, "--json", "-k", "120")[1])["rows"]
    assert {row["match_id"]: row for row in score}["1"]["similarity"] == pytest.approx(
        expected
    )
    assert run("index", "add", "a.db", "b.csv")[0] == 0
    with QuestionIndex.open(Path("a.db")) as index:
        assert (
            index.snapshot().entries[-1]["question"]
            == "how old I know.\nread aloud by my phone"
        )
        vector = index.detector.encode("how old. I know.")
        assert index.vectors[-1] == pytest.approx(vector, abs=1e-6)


def test_what_a_list_repeats_is_compared_on_request(run):
    posts = [
        f'how far {n},"I ask {n} times.\nRead aloud by my phone"' for n in range(120)
    ]
    Path("a.csv").write_text("\n".join(["title,body", *posts]))
    build = [
        "index",
        "build",
        "a.csv",
        "--model",
        "model",
        "--output",
        "a.db",
        "--keep-repeated",
    ]
    assert "phone" not in run(*build)[2]
    with QuestionIndex.open(Path("a.db")) as index:
        texts = [entry["question"] for entry in index.snapshot().entries]
        assert index.vectors == pytest.approx(index.detector.encode(texts), abs=1e-6)


@pytest.mark.parametrize("kind", ["list", "index"])
def test_match_finds_the_most_similar_others_of_one_list(rows, run, kind):
    texts = [
        "how far is rome",
        "how far is rome",
        "how old is rome",
        "!",
        "cook rice",
        "how far",
    ]
    lines = [f"{n},{text},{n % 2}" for n, text in enumerate(texts) if text != "!"]
    Path("q.csv").write_text("\n".join(["id,question,by", *lines]))
    if kind == "index":
        run("index", "build", "q.csv", "--model", "model", "--output", "q.db")
    command = (
        ["match", "q.db"] if kind == "index" else ["match", "q.csv", "--model", "model"]
    )
    table = rows(*command, "-k", "3")
    vectors = DuplicateDetector.load("model").encode(
        [text for text in texts if text != "!"]
    )
    cosines = vectors @ vectors.T - 9 * np.eye(5)
    ids = [n for n in range(6) if n != 3]
    for at, own in enumerate(ids):
        mine = [row for row in table if row["id"] == str(own)]
        assert len(mine) == 3 and str(own) not in {row["match_id"] for row in mine}
        similar = [float(row["similarity"]) for row in mine]
        np.testing.assert_allclose(similar, np.sort(cosines[at])[:1:-1], atol=1e-5)
        assert {row["by"] for row in mine} == {str(own % 2)} and mine[0][
            "match_by"
        ] in "01"
    (copy,) = rows(*command)[:1]
    assert (copy["match_id"], copy["is_duplicate"]) == ("1", "1")
    if kind == "index":
        assert run(*command, "--column", "question")[0] == 2


def test_match_two_lists(run, rows):
    Path("a.csv").write_text("id,question,by\n1,how far ?,me\n3,,x\n4,!,x\n")
    Path("b.jsonl").write_text(
        '{"question": "how far ?", "answer": "far"}\n{"question": "how far", "answer": "so so"}\n'
    )
    command = ["match", "a.csv", "b.jsonl", "--model", "model"]
    columns = "id", "match", "match_answer", "by", "is_duplicate", "match_id"
    assert values(rows(*command), *columns)[0] == (
        "1",
        "how far ?",
        "far",
        "me",
        "1",
        "0",
    )
    facts = json.loads(run(*command, "-k", "2", "--output", "m.csv", "--json")[1])
    assert (facts["questions"], facts["matched"], facts["output"]) == (1, 1, "m.csv")
    assert (
        Path("m.csv")
        .read_text("utf-8-sig")
        .startswith("id,question,match_id,match,similarity")
    )


LISTS = {
    "q.txt": "how far\nrice\n",
    "q.csv": "id,question,by,group\n7,how far,me,1\n8,rice,you,2\n",
    "q.jsonl": '{"question": "how far", "by": "me"}\n{"question": "rice", "row": 1}\n',
}


each_list = pytest.mark.parametrize("name", LISTS)
each_target = pytest.mark.parametrize("stored", [False, True], ids=["list", "index"])


def target_of(run, name, stored):
    """A list, or an index of it, as a command names it."""
    Path(name).write_text(LISTS[name])
    if not stored:
        return [name, "--model", "model"]
    build = ["index", "build", name, "--model", "model", "--output", "q.db"]
    assert run(*build)[0] == 0
    return ["q.db"]


@each_list
@each_target
@pytest.mark.parametrize("kind", ["groups", "--pairs"])
def test_a_table_has_the_same_header_whatever_is_found(run, name, stored, kind):
    flags = [kind]
    if kind == "groups":
        flags = ["--regroup"] if stored else []
    command = ["duplicates", *target_of(run, name, stored), *flags]
    headers = set()
    for threshold in ("1", "-1"):
        code, out, err = run(*command, "--threshold", threshold)
        assert code == 0, err
        headers.add(out.splitlines()[0])
    assert len(headers) == 1


@each_list
@each_target
def test_a_table_of_matches_has_the_same_header_whatever_is_found(run, name, stored):
    command = ["match", "asked.txt", *target_of(run, name, stored)]
    headers = set()
    for text in ("xyzzy plugh\n", "how far\n"):
        Path("asked.txt").write_text(text)
        code, out, err = run(*command)
        assert code == 0, err
        headers.add(out.splitlines()[0])
    assert len(headers) == 1


@each_list
@each_target
def test_a_table_of_groups_has_the_lists_own_columns(run, name, stored):
    target = target_of(run, name, stored)
    regroup = ["--regroup"] * stored
    header = run("duplicates", *target, "--threshold", "1", *regroup)[1].splitlines()[0]
    columns = header.split(",")
    assert columns[:7] == [*GROUP_COLUMNS]
    own = {"q.txt": [], "q.csv": ["by", "column_group"], "q.jsonl": ["by", "row"]}[name]
    row = ["row"] if not stored and name != "q.jsonl" else []
    assert columns[len(GROUP_COLUMNS) :] == row + own
