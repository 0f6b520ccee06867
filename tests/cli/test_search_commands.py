"""The subcommands around search, through `siamese.cli.main.main` as a user runs them."""

import csv
import io
import json

import pytest
from small_models import make_detector, random_questions

from siamese.cli.main import main


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
    assert (made["questions"], made["left_out"], made["storage"]) == (3, 1, "float32")
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
    for arguments, said in (
        (["--ids", "7", "a"], "no question with the id 'a'"),
        ([], "either --ids"),
        ([str(tmp_path / "ids.txt"), "--ids", "7"], "either --ids"),
    ):
        assert main(["index", "remove", index, *arguments]) == 2
        assert said in capsys.readouterr().err
    assert main(["index", "remove", index, "--ids", "7", "0"]) == 0
    assert main(["search", index, "how far ?"]) == 0
    assert "the index is empty" in capsys.readouterr().out


@pytest.mark.parametrize("question", ["", "  "])
def test_nothing_asked_nothing_found(tmp_path, model, capsys, question):
    (tmp_path / "old.txt").write_text("how far ?\n")
    assert main(["index", model, str(tmp_path / "old.txt")]) == 0
    assert main(["search", str(tmp_path / "old.txt.index"), question]) == 0
    assert "Nothing found: the question has no words." in capsys.readouterr().out


def test_predict_answers_a_file_line_by_line(tmp_path, model, capsys):
    (tmp_path / "pairs.tsv").write_text("how far\thow far\nhow\n")
    assert main(["predict", model, str(tmp_path / "pairs.tsv")]) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[0].startswith("how far\thow far\t1\t1.0")
    assert len(out.splitlines()) == 2 and "1 of 2 records" in err
    assert main(["predict", model, str(tmp_path / "none.csv")]) == 2
    assert "no such file" in capsys.readouterr().err


def test_predict_reads_standard_input(model, capsys, monkeypatch):
    lines = "".join(json.dumps([q, q]) + "\n" for q in random_questions(5))
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(lines.encode())))
    assert main(["predict", model, "-"]) == 0
    answers = [json.loads(line) for line in capsys.readouterr().out.splitlines()]
    assert [answer["is_duplicate"] for answer in answers] == [True] * 5


def test_explain_prints_words(model, capsys):
    assert main(["explain", model, "how far ?", "how old ?"]) == 0
    assert "far" in capsys.readouterr().out
    assert main(["explain", model, "how far ?", "how old ?", "--json"]) == 0
    assert len(json.loads(capsys.readouterr().out)["words1"]) == 3


def test_user_errors_exit_2(tmp_path, model, capsys):
    assert main(["search", str(tmp_path), "how"]) == 2
    assert "holds no index" in capsys.readouterr().err
    (tmp_path / "old.txt").write_text("how far ?\n")
    assert main(["index", model, str(tmp_path / "old.txt"), "--output", model]) == 2
    assert "something other" in capsys.readouterr().err
    arguments = ["import-weights", str(tmp_path), str(tmp_path / "o"), "--vocab", "none"]
    assert main(arguments) == 2
