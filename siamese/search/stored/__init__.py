"""An index: its file, what changes and answers do to it, and what is held in memory to search it."""
