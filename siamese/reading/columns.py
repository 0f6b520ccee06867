"""Columns by name: how names are compared, and how a user writes them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, NamedTuple

from siamese.text.cleaning import folded
from siamese.text.names import normal_name


class TextColumns(NamedTuple):
    """What makes a text: columns, and how many of their first words count (None: all)."""

    columns: list[str]
    words: int | None = None

    @property
    def is_joined(self) -> bool:
        """Whether the text is another than that of one column."""
        return len(self.columns) > 1 or self.words is not None


def shown_names(header: Sequence[Any]) -> str:
    """The names of a header for a message, the first twelve, cut."""
    names = ", ".join(" ".join(str(name).split())[:40] for name in header[:12])
    return f"{names}, …" if len(header) > 12 else names


def columns_called(name: str, header: Sequence[str]) -> list[str]:
    """The columns of exactly this name; else those that differ in case or blanks; else in marks, too."""
    for form in (str, folded):
        same = [other for other in header if form(other) == form(name)]
        if same:
            return same
    normal = normal_name(name)
    return [other for other in header if normal_name(other) == normal]


def read_spec(spec: str, header: Sequence[str] = ()) -> TextColumns:
    """What a user calls columns, "title+body:50" taken apart; a column's own name may have these marks."""
    own = set(map(folded, header))
    if folded(spec) in own:
        return TextColumns([spec])
    limit = re.search(r":([1-9]\d{0,8}+)\Z", spec)
    names = spec[: limit.start()] if limit else spec
    columns = [names] if folded(names) in own else names.split("+")
    return TextColumns(columns, int(limit[1]) if limit else None)
