"""Arrays: the LSTM, the tower without Trax, cosines, the triplet loss, rows of token ids."""
