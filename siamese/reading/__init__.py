"""Reading questions and labelled pairs from files and tables."""
