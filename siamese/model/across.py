"""How much lower the default threshold is for two questions in two languages.

A cosine across languages is smaller than one within a language for the same two
meanings. On the choosing half of the STS benchmark as large a part of the pairs has a
cosine above 0.70 in English as above 0.53 to 0.61 in English with another language, and
above 0.47 to 0.61 (0.54 in the mean) in two others; within another language it is 0.63
to 0.68, which is too little for a threshold of its own.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from siamese.text.language import ENGLISH, sure_language

ENGLISH_WITH_OTHER = 0.10
TWO_OTHERS = 0.15


def lowered(texts: Sequence[str], others: Sequence[str]) -> np.ndarray:
    """How much lower the threshold is for pairs of texts, float64 [n]; 0 where a language is not sure.

    Example:
      >>> english, german = "How do I reset my password?", "Wie setze ich mein Passwort zurück?"
      >>> lowered([english, german], [german, german]).tolist()
      [0.1, 0.0]
    """
    pairs = zip(map(sure_language, texts), map(sure_language, others))
    return np.array([_of_languages(*pair) for pair in pairs], np.float64)


def _of_languages(one: str | None, other: str | None) -> float:
    if one is None or other is None or one == other:
        return 0.0
    return ENGLISH_WITH_OTHER if ENGLISH in (one, other) else TWO_OTHERS
