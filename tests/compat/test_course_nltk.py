"""NLTK's names as the course calls them: no network, no data, NLTK's own tokens.

Reference: `siamese.word_tokenize`, which tests/data/test_vocabulary.py compares with NLTK's rules.
"""

import nltk
import pytest
from nltk.tokenize import punkt

from siamese import word_tokenize
from siamese.compat.course_nltk import provide_punkt

TEXT = "Mr. Smith can't go. Why? It costs $3.50!"
SENTENCES = ["Mr. Smith can't go.", "Why?", "It costs $3.50!"]


@pytest.fixture
def no_data(monkeypatch):
    monkeypatch.setattr(nltk.data, "path", [])
    nltk.tokenize._get_punkt_tokenizer.cache_clear()
    yield
    nltk.tokenize._get_punkt_tokenizer.cache_clear()


def test_tokens_and_sentences_are_nltks_without_its_data(no_data):
    """L9: what the download promises."""
    assert nltk.download("punkt_tab", quiet=True) is True
    assert nltk.sent_tokenize("Hi. You?") == ["Hi.", "You?"]
    assert nltk.sent_tokenize(TEXT) == nltk.tokenize.sent_tokenize(TEXT) == SENTENCES
    assert nltk.word_tokenize(TEXT) == nltk.tokenize.word_tokenize(TEXT) == word_tokenize(TEXT)
    assert punkt.PunktTokenizer("english").tokenize(TEXT) == SENTENCES
    assert punkt.PunktTokenizer().tokenize(TEXT) == SENTENCES


def test_another_language_and_whole_lines_stay_nltks(no_data):
    assert nltk.word_tokenize("Go. Now", preserve_line=True) == ["Go.", "Now"]
    with pytest.raises(LookupError, match="NLTK Downloader to obtain"):
        nltk.sent_tokenize("a b", language="german")


def test_nltks_own_data_are_used_where_they_are(tmp_path, monkeypatch, no_data):
    folder = tmp_path / "tokenizers" / "punkt_tab" / "english"
    folder.mkdir(parents=True)
    (folder / "abbrev_types.txt").write_text("zorb\n")
    for name in ("collocations.tab", "sent_starters.txt", "ortho_context.tab"):
        (folder / name).touch()
    monkeypatch.setattr(nltk.data, "path", [str(tmp_path)])
    assert nltk.sent_tokenize("A zorb. Like this. Go") == ["A zorb. Like this.", "Go"]


def test_punkt_alone_is_not_downloaded(capsys, monkeypatch):
    calls = []

    def download(*args, **options):
        calls.append((args, options))
        return "downloaded"

    for module in (nltk, nltk.downloader):
        monkeypatch.setattr(module, "download", download)
    load = punkt.PunktTokenizer.load_lang
    monkeypatch.setattr(punkt.PunktTokenizer, "load_lang", load)  # It comes back.
    provide_punkt(nltk)
    assert nltk.download("punkt") is True
    assert "nltk.download('punkt', force=True) gets all languages" in capsys.readouterr().out
    assert nltk.download("punkt_tab", quiet=True) is True
    assert nltk.download(["punkt", "punkt_tab"], quiet=True) is True
    assert capsys.readouterr().out == "" and not calls
    assert nltk.download(["punkt", "stopwords"]) and calls.pop() == (("stopwords", None), {})
    force = {"force": True}
    for args, options in ((["stopwords"], {}), (["punkt", "x"], {}), (["punkt"], force), ([], {})):
        for own in (nltk, nltk.downloader):
            assert own.download(*args, **options) == "downloaded"
