"""REPLACE: built byte for byte from VL-CheckList, and without its defects."""
