"""Files and tables, read row by row: opening, formats, columns by name, the report of what was read."""
