"""Which two sides of an "and" may be exchanged without changing what is said."""
