"""Standard evaluations: zero-shot classification, retrieval, human ratings; and the analysis of scores."""
