"""Logs of evaluation harnesses -> answers: one module for each harness, and the registry that finds it."""
