"""One file per benchmark: somebody's annotation files -> Items. No model, no scoring; names live in `registry`."""
