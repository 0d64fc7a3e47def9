"""Items and images: the nouns, how they are read from anyone's files, and what makes two of them the same."""
