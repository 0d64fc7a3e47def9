"""Items and a model -> scores -> outcomes -> a run on disk; two runs -> a difference. Reads no annotation files.

This file imports nothing: whoever wants the types of a result (`record`) need not load what makes one (`run`).
"""
