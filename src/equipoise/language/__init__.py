"""What perturb knows of English: captions as words and phrases, word forms and lists, WordNet, which words go
together. Nothing here edits a caption."""
