"""Whole lists: groups of duplicates in one, matches between two."""
