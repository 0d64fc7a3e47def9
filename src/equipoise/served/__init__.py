"""Models behind any OpenAI-compatible server: the one client of `perturb --llm` and of `served:MODEL@URL`."""
