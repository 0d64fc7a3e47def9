"""What `import equipoise` gives: the verbs as functions, for notebooks and scripts (docs/python.md)."""
