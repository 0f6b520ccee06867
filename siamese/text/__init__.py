"""Texts: cleaned, folded, cut into words, and shown."""
