"""Questions: readers, pairs, clusters, the embedded corpus, tokens and vocabulary."""
