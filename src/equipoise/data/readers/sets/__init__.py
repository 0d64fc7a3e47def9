"""Other people's classification sets, captions and ratings, read into the three sets of `sets.py`."""
