"""A finished run in the formats of others: one file per format, each a function from a run to files.

`equipoise export` writes them. What a format cannot say is left out, never guessed; docs/exports.md has what the
official packages made of the files.
"""
