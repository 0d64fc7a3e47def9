"""The built-in drawn world: scenes whose truth is known, their pictures, sentences and test sets, and the shipped base
model. No evaluation and no training code here."""
