"""Dicts whose values a checker cannot know: JSON, rows of tables, keyword arguments on their way."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

# An object of JSON, as `json.loads` gives it; who reads a file checks its values.
JsonObject: TypeAlias = dict[str, Any]
JsonMapping: TypeAlias = Mapping[str, Any]  # the same, only read
# A row of a table: the value of each column, of any type that a table can hold.
Record: TypeAlias = dict[str, Any]
# Keyword arguments that one function gathers for another.
Keywords: TypeAlias = dict[str, Any]
