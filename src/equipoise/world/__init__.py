"""The built-in drawn world: scenes, pictures, sentences, test sets, the base model. No evaluation or training."""
