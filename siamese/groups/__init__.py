"""Groups of duplicate questions."""
