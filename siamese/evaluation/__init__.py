"""Evaluation: metrics, thresholds, calibration, baselines, reports and plots."""
