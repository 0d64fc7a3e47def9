"""A language model in a local folder: loaded without the network and without its code, and named by its bytes."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from equipoise.errors import UserError


def load_lm(folder: str | Path, kind: str) -> tuple[Any, Any]:
    """Tokenizer and model of a local folder; never the network, never code from the folder."""
    path = Path(folder)
    if not (path / "config.json").is_file() or not any(_VOCABULARY.search(file.name) for file in path.iterdir()):
        # Without its vocabulary, transformers would make an empty tokenizer and say nothing.
        raise UserError(f"{path}: expected a folder of transformers with config.json, weights and tokenizer")
    import transformers

    safely = {"local_files_only": True, "trust_remote_code": False}  # unsaid, it would ask on the terminal
    try:
        tokenizer = transformers.AutoTokenizer.from_pretrained(path, **safely)
        model, found = getattr(transformers, kind).from_pretrained(path, **safely, output_loading_info=True)
    except Exception as error:  # whatever a damaged or foreign file does to transformers
        what = f"{type(error).__name__}: {error}".split("\n")[0]
        raise UserError(f"{path}: cannot be loaded as {kind.removeprefix('AutoModelFor')} ({what})") from None
    if kind != "AutoModel" and found["missing_keys"]:  # a bare encoder; its head would be made of random numbers
        raise UserError(
            f"{path}: no weights for {sorted(found['missing_keys'])[0]}; it is no {kind[len('AutoModelFor') :]}"
        )
    return tokenizer, model.eval()


_VOCABULARY = re.compile(r"tokenizer\.json|vocab|merges|\.model$|spiece")


def longest(model: Any) -> int:
    """Tokens the model reads; RoBERTa's positions begin at two."""
    return int(getattr(model.config, "max_position_embeddings", None) or 512) - 2
