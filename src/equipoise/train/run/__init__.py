"""A run from start to export: the loop, checkpoints, log, interrupts, the model card."""
