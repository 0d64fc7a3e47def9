"""Items and images -> the batches of a run, as a function of seed and step. No model weights here."""
