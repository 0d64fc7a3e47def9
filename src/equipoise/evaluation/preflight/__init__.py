"""Is a model loaded and called correctly? Checks that need no benchmark: drawn pictures, a few texts, seconds."""
