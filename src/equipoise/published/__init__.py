"""Reads scores, outcomes and answers that others published as the scores of a benchmark's items."""
