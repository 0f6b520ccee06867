"""Lines that stand in many texts are counted and left out."""

from itertools import count

import pytest

from siamese.data.repeated import repeated_lines, without_lines

SIGNATURE, TEMPLATE = "Sent from my phone", "### What did you expect?"
NUMBERS = count()


def posts(size: int, *lines: str) -> list[str]:
    """Posts whose first lines are all different."""
    return ["\n".join([f"How do I solve number {next(NUMBERS)}?", *lines]) for _ in range(size)]


@pytest.mark.parametrize(
    "texts, expected",
    [
        (posts(450, SIGNATURE) + posts(6, TEMPLATE) + posts(143), {SIGNATURE: 450, TEMPLATE: 6}),
        (posts(450, SIGNATURE) + posts(6, TEMPLATE) + posts(144), {SIGNATURE: 450}),  # just 1 %
        (posts(120) + posts(2, TEMPLATE), {}),  # two duplicates may share a line
        (posts(99, SIGNATURE), {}),
        (posts(200, "Hello all", "Thanks", ""), {}),
        ([SIGNATURE + "\n"] * 200, {}),  # a text of one line
        (posts(100, "  SENT  from my phone") + posts(100, SIGNATURE + " \r"), {SIGNATURE: 200}),
    ],
)
def test_what_counts_as_a_repeated_line(texts, expected):
    assert repeated_lines(texts) == expected


def test_lines_are_left_out_whatever_their_blanks_and_case():
    for text, expected in (
        (f"Why?\n {TEMPLATE} \nBecause.\nSENT from  my phone", "Why?\nBecause."),
        ("Sent from my phone or not?", "Sent from my phone or not?"),
        (f"{SIGNATURE}\n\n{TEMPLATE}", f"{SIGNATURE}\n\n{TEMPLATE}"),  # nothing else
    ):
        assert without_lines(text, [SIGNATURE, TEMPLATE]) == expected
