"""Checks: each looks at a candidate and returns None to keep it, or the reason to drop it."""
