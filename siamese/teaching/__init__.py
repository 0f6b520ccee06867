"""Teaching: checks of the exercises, grading of notebooks, plots for lessons."""
