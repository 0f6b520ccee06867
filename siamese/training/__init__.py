"""Training: configuration, losses beside the course's, the loop and the trainer."""
