"""Runs without items: zero-shot classification, retrieval, human ratings. Each is a module of kinds.SETS."""
