"""Lines that stand in many posts: counted, named and left out."""

from itertools import count

import pytest

from siamese.data.repeated import repeated_lines, without_lines

SIGNATURE, TEMPLATE = "Sent from my phone", "### What did you expect?"


NUMBERS = count()


def posts(size: int, *lines: str) -> list[str]:
    """Posts whose first lines are all different."""
    return ["\n".join([f"How do I solve number {next(NUMBERS)}?", *lines]) for _ in range(size)]


def test_lines_of_more_than_one_percent_are_counted_most_frequent_first():
    texts = posts(450, SIGNATURE) + posts(6, TEMPLATE) + posts(144)
    assert repeated_lines(texts) == {SIGNATURE: 450}  # 6 of 600 are not more than 1 %
    assert repeated_lines(texts[:-1]) == {SIGNATURE: 450, TEMPLATE: 6}
    few = posts(120) + posts(2, TEMPLATE)  # two posts may share a line because they are duplicates
    assert repeated_lines(few) == {}


@pytest.mark.parametrize(
    "texts, expected",
    [
        (posts(99, SIGNATURE), {}),
        (posts(100, SIGNATURE), {SIGNATURE: 100}),
        (posts(200, "Hello all", "Thanks"), {}),
        ([SIGNATURE] * 200, {}),
        ([SIGNATURE + "\n"] * 200, {}),
        (posts(200, SIGNATURE, SIGNATURE), {SIGNATURE: 200}),
        (posts(100, "  SENT  from my phone") + posts(100, SIGNATURE + " \r"), {SIGNATURE: 200}),
        (posts(200, ""), {}),
        ([], {}),
    ],
    ids=[
        "few",
        "enough",
        "short",
        "alone",
        "alone, ended",
        "twice",
        "blanks",
        "blank lines",
        "none",
    ],
)
def test_what_counts_as_a_repeated_line(texts, expected):
    assert repeated_lines(texts) == expected


def test_lines_are_left_out_whatever_their_blanks_and_case():
    texts = [f"Why?\n {TEMPLATE} \nBecause.\nSENT from  my phone", "Sent from my phone or not?"]
    assert without_lines(texts, [SIGNATURE, TEMPLATE]) == ["Why?\nBecause.", texts[1]]


def test_a_text_of_repeated_lines_alone_stays():
    texts = [f"{SIGNATURE}\n\n{TEMPLATE}", "", "\n"]
    assert without_lines(texts, [SIGNATURE, TEMPLATE]) == texts


def test_what_is_counted_can_be_left_out():
    texts = posts(200, SIGNATURE, TEMPLATE)
    assert repeated_lines(without_lines(texts, repeated_lines(texts))) == {}
