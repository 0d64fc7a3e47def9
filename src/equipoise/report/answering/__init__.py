"""Models that answer: their lines for the terminal, and their page."""
