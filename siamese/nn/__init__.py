"""Arrays: the LSTM, the tower without Trax, rows of token ids."""
