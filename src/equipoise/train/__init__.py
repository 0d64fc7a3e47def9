"""Finetuning: recipes, losses, data, step and run. Evaluation is elsewhere and treats trained models like any other."""

from equipoise.core.verbs import make_callable

make_callable(__name__)
