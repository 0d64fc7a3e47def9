"""Finetuning: recipes (what), losses, data, step and run (how). Evaluation is elsewhere: a trained model is scored like
any other."""

from equipoise.core.verbs import make_callable

make_callable(__name__)
