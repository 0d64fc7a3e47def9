"""Scores and outcomes as other people publish them, read as the scores of a benchmark's items."""
