"""A whole file of captions -> an Items file: shards, workers, parts on disk. The rules of English live elsewhere."""
