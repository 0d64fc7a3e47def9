"""Reads classification sets, captions and ratings into the three sets of `kinds.py`."""
