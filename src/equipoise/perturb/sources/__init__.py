"""Sources of replacement words: each module has a `Source`."""
