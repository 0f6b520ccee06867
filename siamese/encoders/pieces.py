"""Texts to the pieces of a SentencePiece model of the kind unigram, read from its file.

The library tokenizers cuts many texts quickly, but takes 0.3 s to build; few texts are
cut here before that. Both find the cut with the largest sum of the pieces' scores
(Kudo, 2018, "Subword regularization").
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

UNKNOWN = 0  # the id of a character that is in no piece
FEW = 20_000  # characters that are cut in less time than the library takes to build
_PENALTY = 10.0  # An unknown character scores so much less than the worst piece.

# A piece of the vocabulary in SentencePiece's file: length, length, text, score,
# perhaps a type. This is what stands between two texts, and behind the last one.
_HEAD = 4  # bytes before the first text
_BETWEEN = re.compile(rb"\x15(.{4})(?:\x18.)?(?:\n.\n.|\x12.*)", re.DOTALL)
_NORMALIZER = b"\n\x08nmt_nfkc\x12"


class Pieces:
    """The pieces and the normalizer of a SentencePiece file's bytes."""

    def __init__(self, content: bytes):
        # text, score, ..., text, score, nothing
        parts = _BETWEEN.split(content[_HEAD:])
        self._texts = b"\n".join(parts[:-1:2]).decode().split("\n")
        self._scores = np.frombuffer(b"".join(parts[1::2]), "<f4").tolist()
        self._ids = dict(zip(self._texts, range(len(self._scores)), strict=True))
        self.longest = max(map(len, self._texts))
        self._unknown_score = min(self._scores) - _PENALTY
        self._normalizer = _read_normalizer(content)

    @functools.cached_property
    def library(self) -> Any:
        """The library's tokenizer, built when many texts, or long ones, come."""
        from tokenizers import Tokenizer, models, pre_tokenizers

        scored = list(zip(self._texts, self._scores))
        tokenizer = Tokenizer(models.Unigram(scored, UNKNOWN))
        tokenizer.normalizer = self._normalizer
        tokenizer.pre_tokenizer = pre_tokenizers.Metaspace(split=False)
        return tokenizer

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's pieces; an unknown character is the id `UNKNOWN`."""
        if "library" not in vars(self) and sum(map(len, texts)) < FEW:
            return list(map(self.best_cut, texts))
        rows = [
            e.ids
            for e in self.library.encode_batch_fast(texts, add_special_tokens=False)
        ]
        for place, ids in enumerate(rows):
            if UNKNOWN in ids:  # The library joins neighbouring unknown characters.
                tokens = self.library.encode(
                    texts[place], add_special_tokens=False
                ).tokens
                counts = [
                    1 if number else len(token) for number, token in zip(ids, tokens)
                ]
                rows[place] = np.repeat(ids, counts).tolist()
        return rows

    def __contains__(self, text: str) -> bool:
        """Whether a text is a piece. A character that is none is in no other piece."""
        return text in self._ids

    def words(self) -> Iterator[tuple[str, float]]:
        """The pieces that are the start of a word, without the mark of the blank, and their scores."""
        return (
            (t[1:], score) for t, score in zip(self._texts, self._scores) if t[0] == "▁"
        )

    def score(self, text: str) -> float:
        """The sum of the scores of a text's pieces."""
        ids = self.best_cut(text)
        return sum(
            self._scores[number] if number else self._unknown_score for number in ids
        )

    def best_cut(self, text: str) -> list[int]:
        """The ids of the cut whose pieces have the largest sum of scores (Viterbi's algorithm)."""
        text = self._normalizer.normalize_str(text).replace(" ", "▁")
        if text and text[0] != "▁":
            text = f"▁{text}"
        # The best cut of each beginning of the text: its score, where its last piece
        # starts, that one's id.
        best = [(0.0, 0, UNKNOWN), *[(-np.inf, 0, UNKNOWN)] * len(text)]
        for start in range(len(text)):
            before = best[start][0]
            single = False
            for end in range(start + 1, min(start + self.longest, len(text)) + 1):
                number = self._ids.get(text[start:end])
                if number is None:
                    continue
                single = single or end == start + 1
                score = before + self._scores[number]
                if score > best[end][0]:
                    best[end] = score, start, number
            score = before + self._unknown_score
            if not single and score > best[start + 1][0]:
                best[start + 1] = score, start, UNKNOWN
        ids = []
        end = len(text)
        while end:
            _, start, number = best[end]
            ids += [number] * (1 if number else end - start)
            end = start
        return ids[::-1]


def _read_normalizer(content: bytes) -> Any:
    """The file's own normalizer, after NFC, and blanks as SentencePiece has them.

    The library applies the file's normalizer to each character with its accents; after
    NFC it composes what stands apart. Half-width katakana with a voicing mark stay
    apart.
    """
    from tokenizers import Regex, normalizers

    start = content.index(_NORMALIZER) + len(_NORMALIZER)
    # The length of the normalizer's table, 7 bits in each of three bytes.
    length = sum((content[start + i] & 127) << 7 * i for i in range(3))
    table = content[start + 3 : start + 3 + length]
    steps = (
        normalizers.NFC(),
        normalizers.Precompiled(table),
        normalizers.Replace(Regex(" +"), " "),
    )
    return normalizers.Sequence([*steps, normalizers.Strip()])
