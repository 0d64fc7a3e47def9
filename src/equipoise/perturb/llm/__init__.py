"""Edits that a language model writes: the papers' prompts, and what becomes of an answer."""
