"""A run from start to export: the loop, checkpoints, log, interrupts and model card."""
