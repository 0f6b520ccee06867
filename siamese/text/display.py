"""Untrusted text, made safe to display: on a terminal, on a page, in a spreadsheet, as JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterable

from siamese.system.open_types import JsonMapping, JsonObject

# Said with every answer by an encoder's default threshold.
NO_LABELS = "This threshold is a default, not fitted to labels."

# What a terminal obeys, what turns the direction of writing, and what cannot be
# encoded.
_HARM = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")
# What text in lines and cells may well hold: breaks and right-to-left marks.
LAYOUT = "\t\n\r\u061c\u200e\u200f\u2028\u2029" + "".join(
    map(chr, (*range(0x202A, 0x202F), *range(0x2066, 0x206A)))
)


def harmless(text: object, keep: str = "") -> str:
    r"""Text with control characters, changes of direction and lone surrogates as escapes, but `keep`.

    Example:
      >>> harmless("how \x1b[31mfar?")
      'how \\x1b[31mfar?'
    """
    return _HARM.sub(
        lambda found: (
            found[0] if found[0] in keep else found[0].encode("unicode_escape").decode()
        ),
        str(text),
    )


def excel_cell(value: object) -> object:
    """A cell that a spreadsheet does not take for a formula: an apostrophe before =, +, - and @ of text."""
    is_formula = isinstance(value, str) and value.startswith(_FORMULA)
    return f"'{value}" if is_formula else value


def csv_line(cells: Iterable[object], delimiter: str = ",") -> str:
    """A record of CSV without a line end."""
    out = io.StringIO()
    # It quotes a cell with a line break.
    csv.writer(out, delimiter=delimiter).writerow(cells)
    return out.getvalue()[:-2].encode("utf-8", "replace").decode()


def rounded(values: JsonMapping) -> JsonObject:
    """Values to print: floats with six decimals."""
    return {n: round(v, 6) if isinstance(v, float) else v for n, v in values.items()}


def json_text(value: object) -> str:
    """`json.dumps` in one line; NaN and infinity, which JSON does not have, become null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        value = json.loads(json.dumps(value), parse_constant=lambda name: None)
        text = json.dumps(value, ensure_ascii=False)
    # U+2028 and the like would end a line; a lone surrogate cannot be written in UTF-8.
    return text if text.isprintable() else json.dumps(value)
