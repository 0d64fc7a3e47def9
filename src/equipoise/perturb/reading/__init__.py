"""Captions out of anyone's files, as a stream. No grammar and no editing here."""
