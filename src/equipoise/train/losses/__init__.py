"""The losses of the papers, one per file: a term is a function from Features to one number.

A recipe names its terms with their weights, and `Sum` adds them up. A new loss is one file with its explanation;
nothing else has to know of it, this file neither.
"""
