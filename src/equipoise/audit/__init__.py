"""`equipoise audit`: defects in a benchmark's texts, and how many answers a model can guess without the image."""

from equipoise.core.verbs import make_callable

make_callable(__name__)
