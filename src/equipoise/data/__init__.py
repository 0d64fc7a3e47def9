"""Items and images: the nouns, how they are read from users' files, and how two of them are recognised as the same."""
