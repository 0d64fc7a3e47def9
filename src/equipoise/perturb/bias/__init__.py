"""Text-only bias: how well words alone separate edits from originals, and draws against it. No image, no model of
images."""
