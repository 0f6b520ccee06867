"""Text of strangers, shown: on a terminal, on a page, in a spreadsheet, as JSON."""

from __future__ import annotations

import json
import math
import re
from typing import Any

# What a terminal obeys, what turns the direction of writing, and what cannot be encoded.
_HARMFUL = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]"
)
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def harmless(text: Any, keep: str = "") -> str:
    r"""Text with control characters, changes of direction and lone surrogates written as escapes.

    Args:
      text: what is to be shown.
      keep: control characters that stay.

    Example:
      >>> harmless("how \x1b[31mfar?")
      'how \\x1b[31mfar?'
    """
    return _HARMFUL.sub(
        lambda found: found[0] if found[0] in keep else found[0].encode("unicode_escape").decode(),
        str(text),
    )


def excel_cell(value: Any) -> Any:
    """A cell that a spreadsheet does not take for a formula: an apostrophe before =, +, - and @.

    Numbers stay as they are.
    """
    if not isinstance(value, str) or not value.startswith(_FORMULA):
        return value
    try:
        return value if math.isfinite(float(value)) else f"'{value}"
    except ValueError:
        return f"'{value}"


def json_text(value: Any) -> str:
    """JSON in UTF-8; NaN and infinity, which JSON does not have, become null."""
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
    except ValueError:
        text = json.dumps(_without_nan(value), ensure_ascii=False)
    # A lone surrogate cannot be written in UTF-8.
    return json.dumps(json.loads(text)) if re.search("[\ud800-\udfff]", text) else text


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _without_nan(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_without_nan(part) for part in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
