"""Models that never see an image: their scores, and what they say of every other result."""
