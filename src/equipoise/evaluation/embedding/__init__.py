"""Photos and texts -> unit vectors, each once, kept on disk by content. What is scored with them is not known here."""
