"""Items and images -> the batches of a run, which depend only on seed and step. No model weights here."""
