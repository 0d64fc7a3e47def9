"""Scores and outcomes as other people publish them, read as the scores of a benchmark's items.

One module a kind of layout; `layouts.py` knows them all and tells them apart by their first record.
"""
