"""Models against each other: paired differences over images and seeds, groups that cannot be told apart, what flipped.

docs/appendix/statistics.md says what each number means, with an example worked by hand.
"""
