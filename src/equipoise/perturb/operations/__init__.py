"""Operations: a caption -> candidate texts. No judging here; whether a candidate is any good is for `checks`."""
