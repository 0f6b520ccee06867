"""The README: its length, its commands in order, word by word."""

import pytest

from tools import run_readme


def test_a_stranger_reads_it_to_its_end():
    text = (run_readme.ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 110
    first = run_readme.commands(installed=False)
    assert first[0].startswith("python3 -m venv") and first[1] == "pip install ."
    assert run_readme.commands(installed=True) == first[2:]


@pytest.mark.slow
def test_its_commands_run_in_order(tmp_path):
    output = run_readme.run(tmp_path, installed=True)
    assert "38 groups of 80 questions, the largest of 4" in output
    assert "How can I reset the password for my account?" in output
    assert "of 30 labels" in output and (tmp_path / "questions.db").exists()
    assert "-> duplicate: " in output
    assert (tmp_path / "runs" / "mine" / "model.safetensors").exists()
    assert (tmp_path / "groups.csv").read_text(encoding="utf-8").startswith("group,")
