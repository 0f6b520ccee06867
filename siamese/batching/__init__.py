"""Batches for training: bucketed by length, free of false negatives."""
