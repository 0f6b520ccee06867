"""What the notebooks themselves use: the faults that a learner looks for."""

from siamese.teaching.lesson import find_faults

FAULTS = {"x": ("no mask", "look at row 2", "what may it take?", "It takes 0.3.")}


def said(capsys, answer):
    find_faults({"x": answer}, FAULTS)
    return capsys.readouterr().out


def test_a_wrong_letter_gets_a_hint_then_another_and_the_answer_last(capsys):
    first = said(capsys, "columns")
    assert "look at row 2" in first
    assert first == said(capsys, "columns")  # the same answer again is no new try
    second = said(capsys, "broadcasting")
    assert "what may it take?" in second
    assert "no mask" not in first + second
    assert "It takes 0.3" not in first + second
    third = said(capsys, "margin outside")
    assert third == "x: it is no mask. It takes 0.3.\n"
    assert said(capsys, "no mask") == "x: yes, no mask. It takes 0.3.\n"
