"""English for perturb: captions as words and phrases, word forms and lists, WordNet, words that go together. Nothing
here edits a caption."""
