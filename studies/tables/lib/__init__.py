"""Shared by the scripts of this folder: the models, the data of both forms, training once, tables in Markdown."""
