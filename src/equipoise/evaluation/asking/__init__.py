"""Asks models that answer: the variants of a question, what an answer names, asking live or by batch files."""
