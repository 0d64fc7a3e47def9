"""The verbs as functions, as `import equipoise` gives them, for notebooks and scripts (docs/python.md)."""
