"""The losses of the papers, one per file; each term is a function from Features to one number.

A recipe names its terms and their weights, and `Sum` adds them up. A new loss is one new file; nothing else changes.
"""
