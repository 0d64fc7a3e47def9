"""Embeds every photo and text once and caches the vectors on disk by content; also scores (photo, text) pairs."""
