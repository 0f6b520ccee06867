"""Files: atomic writing, checkpoints, and files written by Trax."""
