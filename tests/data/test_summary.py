"""What `siamese data FILE` says, on pairs whose numbers are known by counting."""

import pytest

from siamese.data.pairs import QuestionPairs, read_pairs
from siamese.data.summary import describe, render

ROWS = [
    ("a one?", "b one two?", 1),
    ("b one two?", "c?", 1),
    ("a one?", "c?", 0),  # contradicts the two above by way of b
    ("d?", "e?", 0),
    ("f?", "g one two three four?", 1),
    ("h?", "", 1),
]


def test_numbers_and_text(tmp_path):
    file = tmp_path / "questions.csv"
    rows = [f"{i},{q1},{q2},{label}\n" for i, (q1, q2, label) in enumerate(ROWS)]
    file.write_text("id,question1,question2,is_duplicate\n" + "".join(rows))
    facts = describe(read_pairs(file))
    assert (facts["pairs"], facts["duplicates"], facts["base_rate"]) == (5, 3, 0.6)
    assert facts["questions"] == 7 and facts["split"] is None
    assert facts["clusters"] == {
        "count": 4, "of_two_or_more": 2, "largest": 3, "conflicts": 1, "first_conflicts": ["2"],
    }  # fmt: skip
    text = render(facts)
    assert text.split("\n")[0] == str(file)
    assert max(map(len, text.split("\n")[1:])) <= 80
    assert "duplicates          3   base rate 60.0%" in text
    assert "Conflicts: 1 pairs labelled different within one cluster\n  (ids 2)" in text
    assert "There are too few pairs of both labels to train and test on." in text
    assert "  1 row with an empty question (line 7): left out" in text


def test_the_split_of_pairs_without_a_file():
    texts = [f"{number}?" for number in range(41)]
    facts = describe(QuestionPairs(texts[:-1], texts[1:], [1, 0] * 20))
    assert (facts["split"]["train"], facts["split"]["test"]) == (36, 4)
    assert 0.5 < facts["split"]["overlap"] <= 1  # Neighbours share a question.
    assert "36 pairs to train and 4 to" in render(facts) and "reading" not in render(facts)


@pytest.mark.quora
def test_the_real_file(quora_csv):
    text = render(describe(read_pairs(quora_csv)))
    assert "pairs         113,100" in text
    assert max(map(len, text.split("\n")[1:])) <= 80
