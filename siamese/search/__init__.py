"""Answers: the detector, the index of questions, groups of duplicates, one-shot classes."""
