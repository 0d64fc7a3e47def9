"""Standard evaluations: zero-shot classification, retrieval, agreement with human ratings; and the analysis of scores."""
