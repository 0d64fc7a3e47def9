"""Where replacement words come from: each module has a `Source`."""
