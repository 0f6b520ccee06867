"""The subcommands around search, through `siamese.cli.main.main` as a user runs them."""

import csv
import io
import json

import numpy as np
import pytest
from small_models import make_detector, random_questions

from siamese.cli.main import main
from siamese.search.index import QuestionIndex


@pytest.fixture
def model(tmp_path):
    return str(make_detector(threshold=0.9).save(tmp_path / "model"))


def test_index_search_duplicates(tmp_path, model, capsys):
    (tmp_path / "old.csv").write_text(
        "id,question,by\n5,how far ?,me\n6,how far ?,you\n7,what is rice,x\n8,,x\n"
    )
    index = str(tmp_path / "index")
    assert main(["index", model, str(tmp_path / "old.csv"), "--output", index, "--json"]) == 0
    made = json.loads(capsys.readouterr().out)
    assert (made["questions"], made["left_out"], made["bytes"]) == (3, 1, 3 * 4 * 8)
    assert main(["search", index, "how far ?", "-k", "2", "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert [(hit["id"], hit["columns"]) for hit in found["hits"]] == [
        ("5", {"by": "me"}),
        ("6", {"by": "you"}),
    ]
    assert main(["search", index, "how xyzzy ?"]) == 0
    assert "never seen: xyzzy" in capsys.readouterr().out
    assert main(["duplicates", index, "--threshold", "0.999"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["group"], r["id"], r["by"]) for r in rows] == [("1", "5", "me"), ("1", "6", "you")]
    output = str(tmp_path / "groups.csv")
    assert main(["duplicates", index, "--threshold", "1", "--output", output]) == 0
    assert "0 groups" in capsys.readouterr().out
    assert (tmp_path / "groups.csv").read_text() == "group,id,question,similarity,central\n"


def test_index_add_and_remove(tmp_path, model, capsys):
    (tmp_path / "old.txt").write_text("how far ?\nwhat is rice\n")
    (tmp_path / "more.csv").write_text("id,question\na,how old are you ?\n7,cook rice\n")
    (tmp_path / "ids.txt").write_text("id\na\n1\n")
    index = str(tmp_path / "index")
    assert main(["index", model, str(tmp_path / "old.txt"), "--output", index]) == 0
    assert main(["index", "add", index, str(tmp_path / "more.csv")]) == 0
    assert "2 questions added; the index has 4." in capsys.readouterr().out
    assert main(["search", index, "how old are you ?", "-k", "1"]) == 0
    assert "[a] how old are you ?" in capsys.readouterr().out
    assert main(["index", "add", index, str(tmp_path / "more.csv")]) == 2
    assert "The id 'a' is taken" in capsys.readouterr().err
    assert main(["index", "remove", index, str(tmp_path / "ids.txt"), "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"removed": 2, "questions": 2}
    for arguments, words in (
        (["--ids", "7", "a"], "no question with the id 'a'"),
        ([], "either --ids"),
        ([str(tmp_path / "ids.txt"), "--ids", "7"], "either --ids"),
    ):
        assert main(["index", "remove", index, *arguments]) == 2
        assert words in capsys.readouterr().err
    assert main(["index", "remove", index, "--ids", "7", "0"]) == 0
    assert main(["search", index, "how far ?"]) == 0
    assert "the index is empty" in capsys.readouterr().out


def test_an_index_is_exported_as_parquet(tmp_path, capsys):
    parquet = pytest.importorskip("pyarrow.parquet")
    detector, path = make_detector(), tmp_path / "out.parquet"
    texts, columns = ["how far", "how \ud800 old", "cook rice"], [{"id": "x"}, {"n": 3}, {"n": "y"}]
    index = QuestionIndex.build(detector, texts, columns=columns)
    index.remove(2)
    index.add("what is rice", columns=[{"vector": None}])
    index.save(tmp_path / "index")
    assert main(["export", str(tmp_path / "index"), str(path), "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["questions"] == 3
    table = parquet.read_table(path)
    assert table.column_names == ["id", "question", "column_id", "n", "column_vector", "vector"]
    found = table.to_pydict()
    np.testing.assert_array_equal(found.pop("vector"), index.vectors)
    assert found == {
        "id": [0, 1, 3],
        "question": ["how far", "how ? old", "what is rice"],
        "column_id": ["x", None, None],
        "n": [None, "3", None],
        "column_vector": [None, None, None],
    }
    index.add("how old", ids=["a"])
    index.save(tmp_path / "index")
    assert main(["export", str(tmp_path / "index"), str(path)]) == 0
    assert parquet.read_table(path)["id"].to_pylist() == ["0", "1", "3", "a"]
    assert main(["export", str(tmp_path), str(path)]) == 2
    assert "holds no index" in capsys.readouterr().err


@pytest.mark.parametrize("question", ["", "  "])
def test_nothing_asked_nothing_found(tmp_path, model, capsys, question):
    (tmp_path / "old.txt").write_text("how far ?\n")
    assert main(["index", model, str(tmp_path / "old.txt")]) == 0
    assert main(["search", str(tmp_path / "old.txt.index"), question]) == 0
    assert "Nothing found: the question has no words." in capsys.readouterr().out


def test_predict_answers_a_file_of_pairs(tmp_path, model, capsys, monkeypatch):
    lines = "".join(
        json.dumps({"question1": q, "question2": q}) + "\n" for q in random_questions(5)
    )
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert main(["predict", model, "-"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["is_duplicate"] for answer in answers] == [True] * 5
    assert main(["predict", model, str(tmp_path / "none.csv")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_explain_prints_words(model, capsys):
    assert main(["explain", model, "how far ?", "how old ?"]) == 0
    assert "far" in capsys.readouterr().out
    assert main(["explain", model, "how far ?", "how old ?", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["words1"]) == 3


EVIL = "how \x1b]0;owned\x07\x1b[31m far ?"


def test_what_strangers_wrote_is_shown_and_not_obeyed(tmp_path, model, capsys):
    records = [{"question": EVIL}, {"question": "how far ?\n* 1.000 [9] no"}, {"question": EVIL}]
    (tmp_path / "old.jsonl").write_text("".join(json.dumps(r) + "\n" for r in records))
    (tmp_path / "pairs.csv").write_text(f"question1,question2\n{EVIL},how far ?\n")
    index = str(tmp_path / "i")
    assert main(["index", model, str(tmp_path / "old.jsonl"), "--output", index]) == 0
    for arguments in (
        ["search", index, "how far ?"],
        ["search", index, EVIL],
        ["duplicates", index],
        ["explain", model, EVIL, "how far"],
        ["predict", model, EVIL, "how far"],
        ["predict", model, str(tmp_path / "pairs.csv")],
    ):
        assert main(arguments) == 0
        out = capsys.readouterr().out
        assert not {"\x1b", "\x07"} & set(out) and r"\x1b[31m" in out, arguments
        assert "\n* 1.000" not in out or arguments[0] == "duplicates"
    assert main(["duplicates", index, "--output", str(tmp_path / "g.csv")]) == 0
    assert EVIL in (tmp_path / "g.csv").read_text()


def test_cells_that_a_spreadsheet_would_run_are_marked_when_asked(tmp_path, model, capsys):
    (tmp_path / "old.csv").write_text('question,by\nhow far,-5\nhow far,"=HYPERLINK(""x"")"\n')
    (tmp_path / "pairs.csv").write_text("question1,question2\n=how far,@how\n")
    index = str(tmp_path / "i")
    assert main(["index", model, str(tmp_path / "old.csv"), "--output", index]) == 0
    for excel, mark in (([], ""), (["--excel"], "'")):
        capsys.readouterr()
        assert main(["duplicates", index, *excel]) == 0
        rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
        assert [row["by"] for row in rows] == ["-5", f'{mark}=HYPERLINK("x")']
        assert main(["predict", model, str(tmp_path / "pairs.csv"), *excel]) == 0
        (row,) = csv.DictReader(io.StringIO(capsys.readouterr().out))
        assert (row["question1"], row["question2"]) == (f"{mark}=how far", f"{mark}@how")


def test_json_has_no_nan(tmp_path, model, capsys):
    (tmp_path / "old.jsonl").write_text(
        '{"question": "how far", "score": NaN, "more": [Infinity]}\n'
    )
    index = str(tmp_path / "i")
    assert main(["index", model, str(tmp_path / "old.jsonl"), "--output", index]) == 0
    capsys.readouterr()
    assert main(["search", index, "how", "--json"]) == 0
    (hit,) = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)["hits"]
    assert hit["columns"] == {"score": None, "more": [None]}


@pytest.mark.parametrize("output", [".", "./", "sub/.."])
def test_the_folder_one_stands_in_may_become_the_index(
    tmp_path, model, capsys, monkeypatch, output
):
    (tmp_path / "old.txt").write_text("how far ?\n")
    empty = tmp_path / "empty" / "sub"
    empty.mkdir(parents=True)
    monkeypatch.chdir(empty if output != "sub/.." else empty.parent)
    taken = main(["index", model, str(tmp_path / "old.txt"), "--output", output])
    if output == "sub/..":  # It holds a folder, so it is not taken.
        assert taken == 2 and "something other than an older index" in capsys.readouterr().err
    else:
        assert taken == 0 and main(["search", output, "how far ?"]) == 0
    assert main(["duplicates", model, "--output", "."]) == 2


def test_user_errors_exit_2(tmp_path, model, capsys):
    assert main(["search", str(tmp_path), "how"]) == 2
    assert "holds no index" in capsys.readouterr().err
    (tmp_path / "old.txt").write_text("how far ?\n")
    assert main(["index", model, str(tmp_path / "old.txt"), "--output", model]) == 2
    assert "is a file, not a directory" in capsys.readouterr().err
    assert main(["predict", model, "how", "how"]) == 0  # The model is still there.
    arguments = ["import-weights", str(tmp_path), str(tmp_path / "o"), "--vocab", "none"]
    assert main(arguments) == 2


@pytest.fixture
def small_index(tmp_path, model):
    (tmp_path / "old.csv").write_text(
        "id,question,by\n5,how far ?,me\n6,How  far ?,you\n7,what is rice,x\n8,how old are you,=me\n"
    )
    (tmp_path / "new.csv").write_text("id,question\nq1,how far ?\nq2,what is rice\nq3,way\n")
    assert main(["index", model, str(tmp_path / "old.csv"), "--output", str(tmp_path / "i")]) == 0
    return str(tmp_path / "i")


def test_a_file_of_questions_is_answered_as_csv_and_json_lines(
    tmp_path, small_index, capsys, monkeypatch
):
    file = str(tmp_path / "new.csv")
    capsys.readouterr()
    assert main(["search", small_index, "--queries", file, "--csv", "--excel"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [row["query_id"] for row in rows] == ["q1"] * 4 + ["q2"] * 4 + ["q3"] * 4
    first, second = rows[:2]
    assert (first["id"], first["same"], first["is_duplicate"]) == ("5", "6", "1")
    assert (first["rank"], first["vector_rank"], first["word_rank"]) == ("1", "1", "1")
    assert (second["id"], second["same"]) == ("6", "5")
    assert {row["by"] for row in rows} == {"me", "you", "x", "'=me"}
    text = (tmp_path / "new.csv").read_bytes()
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
    arguments = ["search", small_index, "--queries", "-", "--json", "--merge-same", "-k", "2"]
    assert main(arguments) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["query_id"] for answer in answers] == ["q1", "q2", "q3"]
    assert answers[0]["hits"][0]["same"] == ["6"] and answers[0]["hits"][1]["id"] != "6"
    assert main(["search", small_index, "--queries", file, "--words-only", "-k", "1"]) == 0
    assert "how far ?\n*  1.000  [5] how far ?" in (shown := capsys.readouterr().out)
    assert "way\nNothing found: no question fits." in shown


def test_search_says_what_it_needs(tmp_path, small_index, capsys):
    file = str(tmp_path / "new.csv")
    for arguments, words in (
        ([file], f"siamese search {small_index} --queries {file}"),
        ([], "Give one question, or a file"),
        (["how", "--queries", file], "Give one question, or a file"),
        (["--queries", str(tmp_path / "none.csv")], "no such file"),
        (["how", "--where", "by"], "write COLUMN=VALUE"),
        (["how", "--where", "who=me"], "no column 'who'; there are by"),
        (["how", "--min-probability", "0.5"], "no calibration"),
        (["how", "--csv", "--json"], "not both"),
    ):
        assert main(["search", small_index, *arguments]) == 2, arguments
        assert words in capsys.readouterr().err
    assert main(["search", small_index, "how far ?", "--where", "by=you"]) == 0
    assert "[6]" in (out := capsys.readouterr().out) and "[5]" not in out


def test_evaluate_search_measures_and_chooses_the_weight(tmp_path, small_index, capsys):
    (tmp_path / "qrels.txt").write_text("q1 0 5 1\nq1 0 6 1\nq2 0 7 1\nq2 0 8 0\n")
    command = ["evaluate-search", small_index, "--queries", str(tmp_path / "new.csv")]
    capsys.readouterr()
    assert main([*command, "--relevant", str(tmp_path / "qrels.txt")]) == 0
    header, *rows, last = capsys.readouterr().out.splitlines()
    assert header.split() == [
        "search",
        "MRR",
        "MAP",
        "nDCG@10",
        "recall@1",
        "recall@5",
        "recall@10",
    ]
    assert [row.split()[:2] for row in rows] == [
        [m, "1.000"] for m in ("hybrid", "vectors", "words")
    ]
    assert last.startswith("2 queries in 2 clusters")
    # Relevance that only the words find: the weight of the vectors falls.
    lines = "query_id,id\nq3,8\n" + "".join(f"q{n},5\n" for n in (1, 2))
    (tmp_path / "relevant.csv").write_text(lines)
    command += ["--relevant", str(tmp_path / "relevant.csv"), "--json", "-k", "3"]
    assert main([*command, "--choose-weight"]) == 0
    found = json.loads(capsys.readouterr().out)
    tried = found["mrr_at_weight"]
    assert len(tried) == 11 and tried[str(found["vector_weight"])] == max(tried.values())
    assert main([*command, "--vectors-only"]) == 0
    again = json.loads(capsys.readouterr().out)
    assert again["vector_weight"] == found["vector_weight"] and "hybrid" not in again
    (tmp_path / "qrels.txt").write_text("other 0 5 1\n")
    command[command.index("--relevant") + 1] = str(tmp_path / "qrels.txt")
    assert main(command) == 2
    assert "says nothing of a query" in capsys.readouterr().err


@pytest.fixture
def index(tmp_path, model):
    (tmp_path / "old.csv").write_text(
        "id,question,by\n5,how far ?,me\n6,how far ?,you\n7,what is rice,x\n8,what is rice,y\n"
        "9,how do i cook,z\n"
    )
    made = str(tmp_path / "index")
    assert main(["index", model, str(tmp_path / "old.csv"), "--output", made]) == 0
    return made


def test_duplicates_as_pairs_and_as_json_lines(tmp_path, index, capsys):
    capsys.readouterr()
    assert main(["duplicates", index, "--pairs", "--threshold", "0.999"]) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(row["id1"], row["id2"]) for row in rows] == [("5", "6"), ("7", "8")]
    assert float(rows[0]["similarity"]) == pytest.approx(1)
    assert main(["duplicates", index, "--pairs", "--largest", "3"]) == 2
    assert "leave out --largest" in capsys.readouterr().err
    output = tmp_path / "groups.jsonl"
    arguments = ["duplicates", index, "--threshold", "0.999", "--largest", "1"]
    assert main([*arguments, "--output", str(output)]) == 0 and output.read_text() == ""
    assert main([*arguments[:-2], "--output", str(output)]) == 0
    rows = [json.loads(line) for line in output.read_text().splitlines()]
    assert [(row["group"], row["by"]) for row in rows] == [
        (1, "me"),
        (1, "you"),
        (2, "x"),
        (2, "y"),
    ]


def test_the_threshold_is_chosen_on_labelled_pairs(tmp_path, index, capsys):
    labels = tmp_path / "labels.csv"
    labels.write_text(
        "question1,question2,is_duplicate\nhow far ?,what is rice,0\nwhat is rice,how do i cook,0\n"
    )
    assert main(["duplicates", index, "--choose-threshold", str(labels), "--json"]) == 0
    found = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert found["b_cubed_f1"] == 1 and found["groups"] == 2 and found["threshold"] >= 0.8
    labels.write_text("question1,question2,is_duplicate\nxyzzy,plugh,0\n")
    assert main(["duplicates", index, "--choose-threshold", str(labels)]) == 2
    assert "none of its questions is in the index" in capsys.readouterr().err


def test_new_questions_are_added_and_told_their_groups(tmp_path, index, capsys):
    (tmp_path / "new.csv").write_text(
        "id,question,by\na,how far ?,u\nb,how do i cook,v\nc,what is the best way,w\n"
    )
    add = ["duplicates", index, "--threshold", "0.999", "--add", str(tmp_path / "new.csv")]
    capsys.readouterr()
    assert main(add) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    told = [(row["id"], row["answer"], row["central_id"], row["by"]) for row in rows]
    assert told == [
        ("a", "joins group 1", "5", "u"),
        ("b", "forms a group", "9", "v"),
        ("c", "new", "", "w"),
    ]
    assert main(["duplicates", index, "--threshold", "0.999", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)["rows"]
    assert [row["id"] for row in rows] == ["5", "6", "a", "7", "8", "9", "b"]
    assert main(add) == 2 and "is taken" in capsys.readouterr().err


def test_match_two_lists(tmp_path, model, capsys):
    (tmp_path / "a.csv").write_text(
        "id,question,by\n1,how far ?,me\n2,how far ?,you\n3,cook rice,x\n"
    )
    (tmp_path / "b.jsonl").write_text(
        '{"question": "how far ?", "answer": "far"}\n{"question": "how far", "answer": "so so"}\n'
    )
    command = ["match", str(tmp_path / "a.csv"), str(tmp_path / "b.jsonl"), "--model", model]
    assert main(command) == 0
    rows = list(csv.DictReader(io.StringIO(capsys.readouterr().out)))
    assert [(r["id"], r["match"], r["match_answer"], r["by"]) for r in rows[:2]] == [
        ("1", "how far ?", "far", "me"),
        ("2", "how far ?", "far", "you"),
    ]
    assert rows[0]["is_duplicate"] == "1" and rows[0]["match_id"] == "0"
    assert main([*command, "-k", "2", "--output", str(tmp_path / "m.jsonl")]) == 0
    assert len((tmp_path / "m.jsonl").read_text().splitlines()) == 6
    assert main([*command, "--one-to-one", "--threshold", "0.5", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out.splitlines()[-1])["rows"]
    matched = [row["match_id"] for row in rows if row["match_id"] is not None]
    assert len(rows) == 3 and len(set(matched)) == len(matched) > 0
    assert main([*command, "-k", "0"]) == 2 and "at least 1" in capsys.readouterr().err
    assert main([*command, "--one-to-one", "-k", "2"]) == 2
    assert "leave out -k" in capsys.readouterr().err
