"""Captions out of anyone's files, as a stream: their layouts, and the captions of one image together."""
