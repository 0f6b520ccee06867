"""NLTK's names as the course calls them: no network, no data, NLTK's own tokens.

Reference: `siamese.word_tokenize`, which tests/test_tokenizer.py compares with NLTK's rules.
"""

from __future__ import annotations

import types

import pytest
from programs import output_of

from siamese import word_tokenize
from siamese.data.course_nltk import provide_punkt

TEXT = "Mr. Smith can't go. Why? It costs $3.50!"


class FakeNltk(types.ModuleType):
    """NLTK's three names, with or without the data."""

    def __init__(self, has_data):
        super().__init__("nltk")
        self.calls = []

        def tokenize(text, language="english", preserve_line=False):
            self.calls.append((text, language, preserve_line))
            if not has_data and not preserve_line:
                raise LookupError("punkt_tab not found")
            return ["nltk", *text.split()]

        def download(*args, **options):
            self.calls.append((args, options))
            return "downloaded"

        self.word_tokenize = tokenize
        self.tokenize = types.SimpleNamespace(word_tokenize=tokenize)
        self.download = download
        self.downloader = types.SimpleNamespace(download=download)
        provide_punkt(self)


def test_tokens_are_nltks_with_its_data_and_siameses_without():
    nltk = FakeNltk(has_data=False)
    for _ in range(3):
        assert nltk.word_tokenize(TEXT) == word_tokenize(TEXT)
    assert nltk.tokenize.word_tokenize(TEXT) == word_tokenize(TEXT)
    assert len(nltk.calls) == 1  # NLTK looked for its files once
    assert FakeNltk(has_data=True).word_tokenize("a b") == ["nltk", "a", "b"]
    # Another language and whole lines stay NLTK's.
    assert nltk.word_tokenize("a b", preserve_line=True) == ["nltk", "a", "b"]
    with pytest.raises(LookupError, match="punkt_tab"):
        nltk.word_tokenize("a b", language="german")


def test_punkt_alone_is_not_downloaded(capsys):
    nltk = FakeNltk(has_data=False)
    assert nltk.download("punkt") is True
    assert "nothing was downloaded" in capsys.readouterr().out
    assert nltk.download("punkt_tab", quiet=True) is True
    assert capsys.readouterr().out == "" and not nltk.calls
    for args, options in (
        *((("stopwords",), {}), (("punkt", "there"), {})),
        *((("punkt",), {"force": True}), ((), {})),
    ):
        assert nltk.download(*args, **options) == "downloaded"
        assert nltk.downloader.download(*args, **options) == "downloaded"


@pytest.mark.slow
@pytest.mark.parametrize("first", ["", "siamese.word_tokenize('It cannot be, Mr. A.')"])
def test_the_real_nltk_in_a_clean_process(first, tmp_path, monkeypatch):
    monkeypatch.setenv("NLTK_DATA", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    shown = output_of(f"""
        import siamese
        {first}
        import nltk
        from nltk.tokenize import word_tokenize
        assert nltk.download("punkt")
        assert nltk.word_tokenize({TEXT!r}) == siamese.word_tokenize({TEXT!r}) == word_tokenize({TEXT!r})
        print(*nltk.word_tokenize({TEXT!r}))
    """)
    assert shown.splitlines()[-1] == "Mr. Smith ca n't go . Why ? It costs $ 3.50 !"
