"""Arrays: the LSTM with its embedding and its mean, cosines, the triplet loss, rows of token ids."""
