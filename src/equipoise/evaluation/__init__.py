"""Items and a model -> scores -> outcomes -> a run on disk; two runs -> a difference. Reads no annotation files."""

from equipoise.evaluation.run import Result, evaluate, evaluate_benchmarks

__all__ = ["Result", "evaluate", "evaluate_benchmarks"]
