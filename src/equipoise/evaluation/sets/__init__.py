"""Runs without items: zero-shot classification, retrieval, human ratings. Each is a row of kinds.SETS."""
