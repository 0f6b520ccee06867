"""The one place where the command writes its answers."""

from __future__ import annotations

import contextlib
import os
import sys

from siamese.errors import ArgumentError
from siamese.search.display import LAYOUT, harmless


def write_out(text: str) -> None:
    """Prints an answer; ArgumentError where standard output is full or otherwise not to be written.

    Control characters, which a terminal would obey, are written as escapes.
    """
    try:
        print(harmless(text, LAYOUT), flush=True)
    except BrokenPipeError:  # `siamese ... | head`
        raise
    except OSError as error:
        with contextlib.suppress(OSError), open(os.devnull, "w") as nowhere:
            os.dup2(nowhere.fileno(), sys.stdout.fileno())  # what is left in the buffer goes there
        raise ArgumentError(f"Standard output cannot be written: {error.strerror}.") from None
