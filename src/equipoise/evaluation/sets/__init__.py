"""Runs that are not of items: zero-shot classification, retrieval, human ratings. One row of kinds.KINDS each."""
