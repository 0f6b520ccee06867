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
    r"anything amiss": "an irregularity",
    r"whence": "source",
    r"text of strangers": "untrusted text",
    r"all is well": "OK",
    r"waits for an answer": "busy",
    r"as it lies": "as it is",
    r"(says|tells) duplicate": "is a duplicate",
    r"names? are there again": "removed names work again",
    r"what you take along": "key points",
    r"wants its time": "takes time",
    r"one flatters|on one's own labelled": "you, your",
    r"pip install ['\"]?siamese\b": "pip install .: the package of that name is unrelated",
}


PHRASES = re.compile(rf"\b(?:{'|'.join(INSTEAD)})", re.I)


def test_no_turn_of_phrase_comes_back():
    texts = {path: " ".join(path.read_text(encoding="utf-8").split()) for path in TEXTS}
    found = {str(path): match[0] for path, text in texts.items() if (match := PHRASES.search(text))}
    assert not found
