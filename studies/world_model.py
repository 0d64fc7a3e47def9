"""The base model: a small standard CLIP, and the recipe of its pretraining."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from equipoise.core.files import write_json
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Recipe
from equipoise.world.draw import PIXELS
from equipoise.world.sentences import TEMPLATES
from equipoise.world.vocabulary import FAMILIES, FILLERS, plural

if TYPE_CHECKING:
    from transformers import CLIPModel, CLIPTokenizer

CONTEXT = 32  # tokens; the longest sentence of the world has about 20
TOWER = {"hidden_size": 128, "intermediate_size": 384, "num_attention_heads": 4, "projection_dim": 128}
TEXT = {**TOWER, "num_hidden_layers": 3, "max_position_embeddings": CONTEXT}
VISION = {**TOWER, "num_hidden_layers": 4, "image_size": PIXELS, "patch_size": 8}
# How the shipped weights were pretrained; tuned on validation scenes, see README.md in this folder.
PRETRAINING = {"scenes": 400_000, "steps": 1950, "batch": 1024, "lr": 1e-3, "warmup_steps": 200, "seed": 0}
PREPROCESSING = {  # to numbers from -1 to 1
    "image_processor_type": "CLIPImageProcessor",
    "do_convert_rgb": True,
    "do_resize": True,
    "size": {"shortest_edge": PIXELS},
    "resample": 3,
    "do_center_crop": True,
    "crop_size": {"height": PIXELS, "width": PIXELS},
    "do_rescale": True,
    "rescale_factor": 1 / 255,
    "do_normalize": True,
    "image_mean": [0.5, 0.5, 0.5],
    "image_std": [0.5, 0.5, 0.5],
}


def vocabulary() -> list[str]:
    """Every word of the pretraining captions and of the test sets, sorted.

    Not the verbs, which came after the base model was trained: with them every token would get another number. The
    tokenizer spells them in pieces, as it does any word, so tokenizer and weights stay the shipped ones to the byte.
    """
    families = [values for family, values in FAMILIES.items() if family != "action"]
    said = [word for values in families for words in values.values() for word in words]
    said += [plural(word) for words in FAMILIES["kind"].values() for word in words]
    said += [template.format("", "", r="", n="") for templates in TEMPLATES.values() for template in templates]
    return sorted({word for phrase in [*said, *FILLERS, "a an and the"] for word in phrase.split()})


@cache
def merges() -> tuple[tuple[str, str], ...]:
    """Byte-pair merges that leave every word of the world in one piece.

    By hand because the trainer of `tokenizers` breaks ties by hash order: another vocabulary on every run.
    """
    words = [[*word[:-1], word[-1] + "</w>"] for word in vocabulary()]
    learned: list[tuple[str, str]] = []
    while pairs := Counter(pair for word in words for pair in pairwise(word)):
        best = min(pairs, key=lambda pair: (-pairs[pair], pair))
        learned.append(best)
        words = [_merged(word, best) for word in words]
    return tuple(learned)


def _merged(pieces: list[str], pair: tuple[str, str]) -> list[str]:
    out: list[str] = []
    for piece in pieces:
        if out and (out[-1], piece) == pair:
            out[-1] += piece
        else:
            out.append(piece)
    return out


def build_tokenizer() -> CLIPTokenizer:
    """CLIP's own tokenizer with merges of our own: a word of `vocabulary` is one token, other text is spelled out."""
    from tokenizers import pre_tokenizers
    from transformers import CLIPTokenizer

    letters = sorted(pre_tokenizers.ByteLevel.alphabet())
    pieces = [*letters, *(letter + "</w>" for letter in letters)]
    pieces += [first + second for first, second in merges()]
    pieces += ["<|startoftext|>", "<|endoftext|>"]  # last, as in CLIP
    vocab = {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}
    return CLIPTokenizer(vocab=vocab, merges=list(merges()), model_max_length=CONTEXT)


def pretraining(name: str, steps: int, batch: int, warmup: int, seed: int, epochs: int = 1) -> Recipe:
    return Recipe(
        name=name,
        citation="Radford et al. 2021, Learning Transferable Visual Models From Natural Language Supervision",
        terms={"clip": (1, clip_loss)}, batch_size=batch, epochs=epochs, max_steps=steps, lr=PRETRAINING["lr"],
        warmup_steps=warmup, grad_clip=1.0, seed=seed,
    )  # fmt: skip


def build_model(seed: int = 0, text: Mapping[str, int] = TEXT, vision: Mapping[str, int] = VISION) -> CLIPModel:
    """The untrained model, the same weights for the same seed."""
    import torch
    from transformers import CLIPConfig, CLIPModel

    tokenizer = build_tokenizer()
    ids = {
        "vocab_size": len(tokenizer),
        "bos_token_id": tokenizer.bos_token_id,
        "eos_token_id": tokenizer.eos_token_id,
        "pad_token_id": tokenizer.pad_token_id,
    }
    config = CLIPConfig(text_config={**text, **ids}, vision_config=dict(vision), projection_dim=TOWER["projection_dim"])
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return CLIPModel(config)


def save(model: CLIPModel, folder: str | Path) -> None:
    """Weights, config, tokenizer and preprocessing as any model on the hub has them."""
    folder = Path(folder)
    model.save_pretrained(folder)
    build_tokenizer().save_pretrained(folder)
    write_json(folder / "preprocessor_config.json", PREPROCESSING)
