"""`equipoise audit`: what is wrong with a benchmark's texts, and how far a model gets that never looks at the image."""
