"""Reads captions from users' files in many layouts, as a stream, with the captions of one image together."""
