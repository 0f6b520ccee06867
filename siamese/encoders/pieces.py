"""Texts to the pieces of a SentencePiece model of the kind unigram, by the package sentencepiece."""

from __future__ import annotations

import functools
import itertools
import unicodedata
from collections.abc import Iterator, Sequence

from sentencepiece import SentencePieceProcessor

UNKNOWN = 0  # the id of a character that is in no piece
_PENALTY = 10.0  # An unknown character scores so much less than the worst piece.


class Pieces:
    """The pieces of a SentencePiece file's bytes."""

    def __init__(self, content: bytes):
        self._processor = SentencePieceProcessor(model_proto=content)

    @functools.cached_property
    def _texts(self) -> list[str]:
        return self._processor.IdToPiece(list(range(len(self._processor))))

    @functools.cached_property
    def _scores(self) -> list[float]:
        """Those of the pieces; of an unknown character where its id stands."""
        scores = self._processor.GetScore(list(range(len(self._processor))))
        scores[UNKNOWN] = min(scores) - _PENALTY
        return scores

    @functools.cached_property
    def longest(self) -> int:
        """The characters of the longest piece."""
        return max(self._lengths)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text's pieces; each unknown character is the id `UNKNOWN`."""
        # SentencePiece leaves the order of several accents of a letter as it is.
        texts = [unicodedata.normalize("NFC", text) for text in texts]
        rows = self._processor.EncodeAsIds(texts)
        for place, ids in enumerate(rows):
            if UNKNOWN in ids:  # Neighbouring unknown characters are one.
                pieces = self._processor.EncodeAsPieces(texts[place])
                counts = [1 if i else len(piece) for i, piece in zip(ids, pieces)]
                rows[place] = [i for i, n in zip(ids, counts) for _ in range(n)]
        return list(map(self._in_order, rows))

    def _in_order(self, ids: list[int]) -> list[int]:
        """The ids with the shorter pieces of a repeated character first, as "?" and "???" of "????".

        The sum of the scores is the same in any order, and SentencePiece's choice hangs
        on its version and on how it rounds.
        """
        ordered: list[int] = []
        for character, run in itertools.groupby(ids, self._repeated.get):
            pieces = list(run)
            if character is not None:
                pieces.sort(key=self._lengths.__getitem__)
            ordered += pieces
        return ordered

    @functools.cached_property
    def _lengths(self) -> list[int]:
        return list(map(len, self._texts))

    @functools.cached_property
    def _repeated(self) -> dict[int, str]:
        """The pieces of one character alone, such as "?" and "???", and that character."""
        return {
            number: text[0]
            for number, text in enumerate(self._texts)
            if text == text[0] * len(text)
        }

    def __contains__(self, text: str) -> bool:
        """Whether a text is a piece. A character that is none is in no other piece."""
        return self._processor.PieceToId(text) != UNKNOWN

    def words(self) -> Iterator[tuple[str, float]]:
        """The pieces that are the start of a word, without the mark of the blank, and their scores."""
        return (
            (t[1:], score) for t, score in zip(self._texts, self._scores) if t[0] == "▁"
        )

    def score(self, text: str) -> float:
        """The sum of the scores of a text's pieces."""
        return sum(self._scores[number] for number in self.ids([text])[0])
