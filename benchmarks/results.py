"""The files of benchmarks/results: NAME.json holds figures, and NAME.md is the page that is made of them.

A script reads the figures that are there, adds those that it measures, and writes both:
a part can be measured again alone.
"""

import json
import os
import platform
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parent / "results"


def read_figures(path: Path) -> dict[str, Any]:
    """The figures of a JSON file; none where there is no file."""
    return json.loads(path.read_text("utf-8")) if path.exists() else {}


def write_figures(path: Path, figures: Mapping[str, Any], page: str = "") -> None:
    """Writes figures as JSON, and the page beside them where there is one."""
    path.write_text(json.dumps(figures, indent=1) + "\n", "utf-8")
    if page:
        path.with_suffix(".md").write_text(page, "utf-8")


def rounded(figures: Mapping[str, Any], digits: int = 4) -> dict[str, Any]:
    """The figures with so many decimals; texts and whole numbers stay."""
    return {
        name: value if isinstance(value, (str, int)) else round(float(value), digits)
        for name, value in figures.items()
    }


def markdown_table(
    heads: Sequence[str], rows: Iterable[Iterable[object]], rule: str = "|---"
) -> str:
    """A table of Markdown, with a line break at its end; `rule` stands below each head."""
    head = table_row(heads).replace("|  |", "| |", 1)
    lines = [head, rule * len(heads) + "|", *map(table_row, rows)]
    return "\n".join(lines) + "\n"


def table_row(cells: Iterable[object]) -> str:
    """A line of a table."""
    return f"| {' | '.join(map(str, cells))} |"


def titled(title: str, words: str, table: str) -> str:
    """A page of one table, which a page of the documentation includes from the comment on."""
    return f"# {title}\n\n{words}\n\n<!-- table -->\n\n{table}"


def machine() -> dict[str, Any]:
    """The cores that this process may use, and what they are."""
    text = Path("/proc/cpuinfo").read_text()
    names = re.findall(r"^model name\s*: (.*)$", text, re.M)
    # An ARM's cpuinfo names no model.
    processor = names[0] if names else platform.machine()
    return {"cores": len(os.sched_getaffinity(0)), "processor": processor}
