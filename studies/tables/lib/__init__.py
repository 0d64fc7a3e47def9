"""What the scripts of this folder share: the models, the data of both forms, training once, tables in Markdown."""
