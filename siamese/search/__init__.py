"""Answers: the detector, the index of questions, groups of duplicates, explanations."""
