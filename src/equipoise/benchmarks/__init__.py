"""One file per benchmark: annotation files -> Items. No model, no scoring; names live in `registry`."""
