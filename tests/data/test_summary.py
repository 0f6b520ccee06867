"""What `siamese data FILE` says, on pairs whose numbers are known by counting."""

import pytest

from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.data.summary import describe, render
from siamese.errors import ArgumentError

ROWS = [
    ("a one?", "b one two?", 1),
    ("b one two?", "c?", 1),
    ("a one?", "c?", 0),  # contradicts the two above by way of b
    ("d?", "e?", 0),
    ("f?", "g one two three four?", 1),
    ("h?", "", 1),
]


@pytest.fixture
def pairs(tmp_path):
    file = tmp_path / "questions.csv"
    rows = [f"{i},{q1},{q2},{label}\n" for i, (q1, q2, label) in enumerate(ROWS)]
    file.write_text("id,question1,question2,is_duplicate\n" + "".join(rows))
    return read_pairs(file)


def test_numbers(pairs):
    found = describe(pairs, train_rows=3, test_rows=2)
    assert (found["pairs"], found["duplicates"], found["base_rate"]) == (5, 3, 0.6)
    assert found["questions"] == 7
    # Words of the ten questions: 2 3, 3 1, 2 1, 1 1, 1 5
    assert found["words"]["mean"] == 2.0 and found["words"]["longest"] == 5
    joined = found["clusters"]
    assert (joined["count"], joined["of_two_or_more"], joined["largest"]) == (4, 2, 3)
    assert joined["conflicts"] == 1 and joined["first_conflicts"] == ["2"]
    assert found["splits"]["rows"]["train"] == 3 and found["splits"]["rows"]["overlap"] == 0.0
    assert found["splits"]["clusters"]["overlap"] == 0.0
    by_rows = describe(pairs, train_rows=2, test_rows=1)["splits"]["rows"]
    assert by_rows["overlap"] == 1.0
    with pytest.raises(ArgumentError, match="of 6 rows"):
        describe(pairs, train_rows=5, test_rows=5)


def test_text_fits_80_columns_and_says_what_was_handled(pairs):
    text = render(describe(pairs, train_rows=3))
    lines = text.split("\n")
    assert lines[0] == pairs.report.path
    assert max(map(len, lines[1:])) <= 80
    assert "duplicates          3   base rate 60.0%" in text
    assert "Conflicts: 1 pairs labelled different within one cluster\n  (ids 2)" in text
    assert "  1 row with an empty question (line 7): left out" in text


def test_pairs_without_a_file_and_without_a_possible_split():
    text = render(describe(QuestionPairs(["a?"], ["b?"], [1])))
    assert "A split is not possible" in text and "Handled" not in text
    chained = QuestionPairs(["a?", "b?", "c?"], ["b?", "c?", "d?"], [1, 0, 1])
    assert "form 1 groups" in describe(chained)["splits"]["not_possible"]


@pytest.mark.quora
def test_the_real_file(quora_csv):
    text = render(describe(read_pairs(quora_csv), train_rows=105_119, test_rows=7_981))
    assert "pairs         113,100" in text
    assert "36.2% duplicates, 25.9% of its questions in train" in text
    assert max(map(len, text.split("\n")[1:])) <= 80
