"""Edits that a language model writes: the client of its server, the papers' prompts, what becomes of an answer."""
