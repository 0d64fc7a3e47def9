"""`equipoise audit`: defects in a benchmark's texts, and how many answers a model can guess without the image."""
