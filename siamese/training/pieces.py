"""What a trained encoder is made of: a frozen encoder, a head on it, an LSTM beside them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from siamese.encoders.joined import Head, Joined
from siamese.encoders.lstm import Lstm
from siamese.encoders.protocol import BaseEncoder
from siamese.errors import ArgumentError

# The shares of encoder, head and LSTM in the cosine, chosen by validation rows and
# other topics (docs/topics/quality.md).
WITH_HEAD = (0.5, 0.5)
WITH_LSTM = (0.75, 0.25)
WITH_BOTH = (0.65, 0.18, 0.17)


class Pieces(NamedTuple):
    """The pieces of an encoder; those that it lacks are None."""

    frozen: BaseEncoder | None
    head: Head | None
    lstm: Lstm | None

    @classmethod
    def of(cls, encoder: BaseEncoder) -> Pieces:
        """The pieces of the encoder of a model."""
        inside = encoder.encoders if isinstance(encoder, Joined) else (encoder,)
        head = next((own for own in inside if isinstance(own, Head)), None)
        lstm = next((own for own in inside if isinstance(own, Lstm)), None)
        if head is not None:
            return cls(head.base, head, lstm)
        if lstm is not None:
            return cls(
                next((own for own in inside if own is not lstm), None), None, lstm
            )
        return cls(encoder, None, None)

    def with_head(self, matrix: np.ndarray) -> Pieces:
        """The same with another head."""
        if self.frozen is None:
            raise ArgumentError("A head needs an encoder; an LSTM alone is none.")
        return self._replace(head=Head(self.frozen, matrix))

    def encoder(self, shares: Sequence[float] | None = None) -> BaseEncoder:
        """The encoder of these pieces, side by side with their usual shares where None are given."""
        present = [own for own in self if own is not None]
        if len(present) == 1:
            return present[0]
        usual = WITH_BOTH if len(present) == 3 else WITH_HEAD
        if self.head is None:
            usual = WITH_LSTM
        return Joined(list(zip(shares or usual, present)))
