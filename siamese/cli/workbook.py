"""A table as an Excel workbook."""

from __future__ import annotations

import io
from collections.abc import Sequence

from siamese.errors import ArgumentError, MissingDependencyError

SHEET_LINES = 1 << 20
CELL_LENGTH = 32_767  # characters


def check_workbooks() -> None:
    """MissingDependencyError where the package that writes workbooks is not installed."""
    try:
        import xlsxwriter  # noqa: F401
    except ModuleNotFoundError:
        why = "A table is written as an Excel workbook by XlsxWriter"
        raise MissingDependencyError(
            f'{why}: pip install ".[tables]", or name a .csv.'
        ) from None


def workbook(lines: Sequence[Sequence[object]]) -> bytes:
    """An Excel workbook of one sheet, the first line its header; "=1+1" and links stay text.

    ArgumentError for what no sheet holds: more than 1,048,576 lines, or 32,767
    characters in a cell.
    """
    import xlsxwriter

    longest = max(
        (len(c) for line in lines for c in line if isinstance(c, str)), default=0
    )
    if len(lines) > SHEET_LINES or longest > CELL_LENGTH:
        most = f"{SHEET_LINES:,} lines and {CELL_LENGTH:,} characters in a cell"
        raise ArgumentError(
            f"An Excel sheet holds {most}; this table has more. Name a .csv."
        )
    file = io.BytesIO()
    options = {"in_memory": True, "nan_inf_to_errors": True}
    with xlsxwriter.Workbook(file, options) as book:
        sheet = book.add_worksheet()
        bold = book.add_format({"bold": True})
        for row, line in enumerate(lines):
            for column, cell in enumerate(line):
                if isinstance(cell, str):
                    sheet.write_string(row, column, cell, bold if row == 0 else None)
                elif cell is not None:
                    sheet.write(row, column, cell)
        sheet.freeze_panes(1, 0)
    return file.getvalue()
