"""Models against each other: paired differences over images and seeds, groups without a significant difference, flips.

docs/appendix/statistics.md says what each number means, with an example worked by hand.
"""
