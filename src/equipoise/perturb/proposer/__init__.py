"""A learned proposer: which words a strict reader might let pass as a replace negative, and how likely he is to."""
