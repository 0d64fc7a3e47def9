"""One step: towers, embeddings, gradients, the optimizer, over one process or many. Nothing here touches the disk."""
