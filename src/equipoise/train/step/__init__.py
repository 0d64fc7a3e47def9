"""One step: towers, embeddings, gradients and optimizer, over one process or many. Nothing here touches the disk."""
