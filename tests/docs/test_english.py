"""Turns of phrase that do not come back, in pages, messages, docstrings and notebooks."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [ROOT / "README.md", ROOT / "CHANGELOG.md", *sorted((ROOT / "docs").rglob("*.md"))]
TEXTS += sorted((ROOT / "siamese").rglob("*.py")) + sorted((ROOT / "siamese").rglob("*.html"))
TEXTS += sorted((ROOT / "notebooks" / "src").glob("*.py")) + sorted(
    (ROOT / "examples").glob("*.py")
)
# Turn of phrase -> what to write instead.
INSTEAD = {
    r"what others (saved|store|wrote)": "the saved rows",
    r"who(ever)? (only |also )?(\w+s) .{0,40}\b(does|do) without": "X does not need Y",
    r"does without": "does not need",
    r"under changed choices": "with a changed configuration",
    r"start(s)? anew|begin(s)? anew|drawn anew": "start over, again",
    r"anything amiss": "an irregularity",
    r"letter by letter": "by exact text",
    r"an encoder of elsewhere": "an external encoder",
    r"whence": "source",
    r"text of strangers": "untrusted text",
    r"mind who": "share it with care",
    r"all is well": "OK",
    r"handed it hands on": "passes through",
    r"first sight": "first appearance",
    r"must bear": "must be",
    r"waits for an answer": "busy",
    r"as it lies": "as it is",
    r"is somebody else's": "is unrelated",
    r"(says|tells) duplicate": "is a duplicate",
    r"finds more still": "finds even more",
    r"what is known not to hold": "known limits",
    r"names? are there again": "removed names work again",
    r"in whatever words": "however they are worded",
    r"what you take along": "key points",
    r"no lower end": "can go down to",
    r"even by a hair": "however narrowly",
    r"quite another way": "in a different direction",
    r"into the same pit": "causes of the same collapse",
    r"wants its time": "takes time",
    r"worth an evening": "to explore",
    r"flatters oneself": "overstates",
    r"one flatters|on one's own labelled": "you, your",
}


def test_no_turn_of_phrase_comes_back():
    lines = []
    for path in TEXTS:
        text = " ".join(path.read_text(encoding="utf-8").split())
        for phrase, better in INSTEAD.items():
            lines += [
                f"{path.relative_to(ROOT)}: {found[0]!r}; write {better!r}"
                for found in re.finditer(rf"\b(?:{phrase})", text, re.I)
            ]
    assert not lines, "\n".join(lines)
