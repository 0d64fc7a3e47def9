"""Quiet faults of towers and tokens: most of them still name every drawn thing."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from tests.evaluation.preflight.planted import Loader, copied


def tokens(change: Callable[[torch.Tensor, torch.Tensor], tuple[torch.Tensor, torch.Tensor]]) -> type:
    return type("Tokens", (Loader,), {"tokens": lambda self, texts: change(*Loader.tokens(self, texts))})


def words(change: Callable[[str], str]) -> type:
    return type("Words", (Loader,), {"cleaned": lambda _, text: change(text.lower())})


def read(pool: Callable[[Any, Any, torch.Tensor], torch.Tensor]) -> type:
    """`pool` makes the row of a text of the text tower, its output and the number of tokens."""

    def method(self: Loader, ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
        seen = self.network.text_model(input_ids=ids, output_hidden_states=True)
        return pool(self.network, seen, lengths)

    return type("Read", (Loader,), {"read": method})


def see(pool: Callable[[Any, Any], torch.Tensor]) -> type:
    def method(self: Loader, pixels: torch.Tensor) -> torch.Tensor:
        return pool(self.network, self.network.vision_model(pixel_values=pixels, output_hidden_states=True))

    return type("See", (Loader,), {"see": method})


def damaged(change: Callable[[Any], Any]) -> type:
    def init(self: Any) -> None:
        Loader.__init__(self)
        self.network = copied()
        torch.manual_seed(0)
        with torch.no_grad():
            change(self.network)

    return type("Damaged", (Loader,), {"__init__": init})


def at(rows: torch.Tensor, places: torch.Tensor) -> torch.Tensor:
    return rows[torch.arange(len(rows)), places]


def reversed_words(ids: torch.Tensor, lengths: torch.Tensor) -> torch.Tensor:
    rows = zip(ids, lengths, strict=True)
    return torch.stack([torch.cat([row[:1], row[1 : n - 1].flip(0), row[n - 1 :]]) for row, n in rows])


def random(module: Any) -> None:
    for part in module.modules():
        if hasattr(part, "reset_parameters"):
            part.reset_parameters()


def shuffled(weight: Any) -> None:
    weight.copy_(weight[torch.randperm(len(weight))])


def two_heads(tower: Any) -> None:
    for layer in tower.encoder.layers:
        attention = layer.self_attn
        attention.num_heads, attention.head_dim, attention.scale = 2, 64, 1 / 8


def positions(tower: Any) -> Any:
    return tower.embeddings.position_embedding.weight


UNLINKED = {  # as good as random: wrong
    "ids minus 1": tokens(lambda ids, n: (torch.where((ids < 1227) & (ids > 0), ids - 1, ids), n)),
    "no text projection": read(lambda _, seen, n: at(seen.last_hidden_state, n - 1)),
    "text projection transposed": read(
        lambda net, seen, n: at(seen.last_hidden_state, n - 1) @ net.text_projection.weight
    ),
    "image projection transposed": see(lambda net, seen: seen.pooler_output @ net.visual_projection.weight),
    "text projection random": damaged(lambda net: random(net.text_projection)),
    "image projection random": damaged(lambda net: random(net.visual_projection)),
    "text tower random": damaged(lambda net: random(net.text_model)),
}
UNLOADED = {  # layer norms show it, also where the files of the model are gone
    "last text layer": damaged(lambda net: random(net.text_model.encoder.layers[-1])),
    "a vision layer": damaged(lambda net: random(net.vision_model.encoder.layers[2])),
    "a norm": damaged(lambda net: random(net.text_model.final_layer_norm)),
}
QUIET = {  # only the files of the model show it
    "reversed": tokens(lambda ids, n: (reversed_words(ids, n), n)),
    "read one token early": read(lambda net, seen, n: net.text_projection(at(seen.last_hidden_state, n - 2))),
    "text layer before the last": read(
        lambda net, seen, n: net.text_projection(net.text_model.final_layer_norm(at(seen.hidden_states[-2], n - 1)))
    ),
    "no last norm": read(lambda net, seen, n: net.text_projection(at(seen.hidden_states[-1], n - 1))),
    "mean of patches": see(
        lambda net, seen: net.visual_projection(net.vision_model.post_layernorm(seen.last_hidden_state[:, 1:].mean(1)))
    ),
    "no norm of pictures": see(lambda net, seen: net.visual_projection(seen.last_hidden_state[:, 0])),
    "positions of texts": damaged(lambda net: shuffled(positions(net.text_model))),
    "positions of patches": damaged(lambda net: shuffled(positions(net.vision_model))),
    "layer skipped": damaged(lambda net: net.text_model.encoder.layers.__delitem__(1)),
    "heads of pictures": damaged(lambda net: two_heads(net.vision_model)),
    "heads of texts": damaged(lambda net: two_heads(net.text_model)),
    "negation dropped": words(lambda text: text.replace("no ", "")),
    "said twice": words(lambda text: f"{text} {text}"),
}
BY_ANSWERS: dict[str, tuple[type, str]] = {
    "ids plus 1": (tokens(lambda ids, n: (torch.where(ids < 1227, (ids + 1) % 1227, ids), n)), "channels"),
    "begins with the end": (tokens(lambda ids, n: (ids.where(ids != 1227, 1228), n)), "special tokens"),
    "last five words": (words(lambda text: " ".join(text.split()[-5:])), "text end"),
    "sorted words": (words(lambda text: " ".join(sorted(text.split()))), "word order"),
    "a word dropped": (words(lambda text: text.replace("two", "").strip()), "vocabulary"),
    "last vision layer random": (damaged(lambda net: random(net.vision_model.encoder.layers[-1])), "probe set"),
}
