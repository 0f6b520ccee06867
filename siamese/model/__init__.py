"""The detector: an encoder and a threshold, with its file and its explanations."""
