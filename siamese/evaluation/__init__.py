"""Evaluation: metrics, thresholds, calibration, baselines and reports."""
