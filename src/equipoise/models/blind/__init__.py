"""Baselines that never see an image: how much of a benchmark its texts give away.

`length` and `ngram` learn from the benchmark's own captions and hard negatives, on other images than those they are
asked about; a causal language model comes from a folder of the user's.
"""
