"""Equipoise: does a vision-language model know when a change of words changes the meaning?"""

__version__ = "0.1.0"
