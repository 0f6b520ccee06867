"""An error as tests look at it: its class, and the names that it gives. Wording is test_messages.py's."""

from contextlib import contextmanager

import pytest


@contextmanager
def refuses(error, *names):
    """`pytest.raises` of one line that holds each name: of an argument, a place, a file, a value."""
    with pytest.raises(error) as refused:
        yield refused
    message = str(refused.value)
    assert "\n" not in message
    lacking = [name for name in names if name not in message]
    assert not lacking, message
