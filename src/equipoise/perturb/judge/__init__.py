"""A learned judge: how likely a strict reader is to let a negative pass, and which words might."""
