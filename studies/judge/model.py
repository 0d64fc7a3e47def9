"""The net of perturb/judge in torch, as it is learned, and the file it is written to and read from again."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from equipoise.perturb.judge import FACTS, HEADS, PAD, VERDICTS, WORDS
from studies.harness import LANGUAGE

OUT = LANGUAGE / "judge.npz"
STATE, VECTOR, INNER, LAYERS, JUDGE, LAST = 128, 96, 256, 2, 256, 96
DROP = 0.1
_AS_THEY_ARE = frozenset(("pos", "seg", "firstb.weight"))  # all other matrices are turned round, as numpy multiplies


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(STATE), nn.LayerNorm(STATE)
        self.qkv, self.o = nn.Linear(STATE, 3 * STATE), nn.Linear(STATE, STATE)
        self.f1, self.f2 = nn.Linear(STATE, INNER), nn.Linear(INNER, STATE)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        rows, size, _ = states.shape
        projected = self.qkv(self.n1(states)).view(rows, size, 3, HEADS, STATE // HEADS).permute(2, 0, 3, 1, 4)
        query, key, value = projected
        seen = functional.scaled_dot_product_attention(query, key, value, attn_mask=mask[:, None, None, :])
        states = states + self._drop(self.o(seen.transpose(1, 2).reshape(rows, size, STATE)))
        return states + self._drop(self.f2(torch.relu(self.f1(self.n2(states)))))

    def _drop(self, states: Tensor) -> Tensor:
        return functional.dropout(states, DROP, self.training)


class Judge(nn.Module):
    """The net that perturb/judge.py computes; its parts are named as in the file."""

    def __init__(self, begin: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding(len(begin), begin.shape[1], PAD, _weight=begin)
        self.up = nn.Linear(VECTOR, STATE, bias=False)
        self.pos, self.seg = (nn.Parameter(torch.randn(n, STATE) * 0.02) for n in (WORDS, 2))
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(STATE)
        self.slot = nn.Linear(3 * STATE, STATE)
        self.A, self.C = nn.Linear(STATE, JUDGE), nn.Linear(STATE, JUDGE)
        self.B, self.Dn = nn.Linear(VECTOR, JUDGE, bias=False), nn.Linear(VECTOR, JUDGE, bias=False)
        self.q, self.k = nn.Linear(VECTOR, VECTOR, bias=False), nn.Linear(STATE, VECTOR, bias=False)
        self.v, self.p, self.r = nn.Linear(STATE, VECTOR), nn.Linear(VECTOR, JUDGE), nn.Linear(FACTS, JUDGE)
        self.out1, self.out2 = nn.Linear(JUDGE, LAST), nn.Linear(LAST, len(VERDICTS))
        self.both1, self.both2 = nn.Linear(2 * LAST + STATE, LAST), nn.Linear(LAST, len(VERDICTS))
        self.first, self.firstb = nn.Linear(STATE, VECTOR), nn.Embedding(len(begin), 1)
        nn.init.zeros_(self.firstb.weight)

    def forward(self, own: Tensor, told: Tensor, shares: Tensor, edits: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Captions, and new words in them: caption, first and last word, new words, facts of each.

        The second halves of swaps stand behind all edits; `two` says which edits they belong to. Verdicts and ranks of
        the edits (a rank means nothing for a swap).
        """
        states, mask = self._read(own, told, shares)
        place, new, share = self._place(states, mask, own, edits), *self._new(edits["new"])
        made = self._considered(states, mask, place, new, edits)
        two, count = edits["two"], len(edits["first"]) - len(edits["two"])
        between = _inside(edits["last"][two], edits["first"][count:])
        middle = _mean(states[edits["caption"][two], :WORDS], between)
        pairs = self.both2(torch.relu(self.both1(torch.cat([made[two], made[count:], middle], -1))))
        rank = (self.first(place) * new).sum(-1) + (self.firstb(edits["new"])[..., 0] * share).sum(1)
        return self.out2(made[:count]).index_copy(0, two, pairs), rank[:count]

    def _read(self, own: Tensor, told: Tensor, shares: Tensor) -> tuple[Tensor, Tensor]:
        told_states = self._drop(self.up(self.words(told))) + self.seg[0] + shares[..., None] * self.seg[1]
        states = torch.cat([self._drop(self.up(self.words(own))) + self.pos, told_states], 1)
        mask = torch.cat([own, told], 1) > 0
        for layer in self.layers:
            states = layer(states, mask)
        return self.norm(states), mask

    def _place(self, states: Tensor, mask: Tensor, own: Tensor, edits: dict[str, Tensor]) -> Tensor:
        """The net's output for the words at these places."""
        at, inside = edits["caption"], _inside(edits["first"], edits["last"])
        whole, plain = _mean(states, mask), self.up(self.words(own))
        seen = [_mean(states[at, :WORDS], inside), whole[at], _mean(plain[at], inside)]
        return torch.relu(self.slot(torch.cat(seen, -1)))

    def _new(self, words: Tensor) -> tuple[Tensor, Tensor]:
        """The mean vector of the new words, and the share of each."""
        here = (words > 0).float()
        share = here / here.sum(1, keepdim=True).clamp(min=1)
        return (self.words(words) * share[..., None]).sum(1), share

    def _considered(self, states: Tensor, mask: Tensor, place: Tensor, new: Tensor, edits: dict[str, Tensor]) -> Tensor:
        at, heads = edits["caption"], (HEADS, VECTOR // HEADS)
        key, value = (part(states).unflatten(-1, heads)[at] for part in (self.k, self.v))
        score = torch.einsum("nhd,nthd->nht", self.q(new).unflatten(-1, heads), key) / heads[1] ** 0.5
        score = score.masked_fill(~mask[at][:, None], -1e4).softmax(-1)
        attended = torch.einsum("nht,nthd->nhd", score, value).flatten(1)
        inner = (
            self.A(place) * self.B(new) + self.C(place) + self.Dn(new) + self.p(attended * new) + self.r(edits["facts"])
        )
        return torch.relu(self.out1(self._drop(torch.relu(inner))))

    def _drop(self, x: Tensor) -> Tensor:
        return functional.dropout(x, DROP, self.training)


def _inside(first: Tensor, last: Tensor) -> Tensor:
    column = torch.arange(WORDS, device=first.device)[None]
    return (column >= first[:, None]) & (column < last[:, None])


def _mean(states: Tensor, mask: Tensor) -> Tensor:
    """The mean over the mask; zero where the mask is empty."""
    here = mask[..., None].float()
    return (states * here).sum(1) / here.sum(1).clamp(min=1)


def first_vectors(folder: str, words: list[str], width: int = VECTOR) -> Tensor:
    """The encoder's input vectors of the words, their first components."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    table: Tensor = AutoModel.from_pretrained(folder, local_files_only=True).get_input_embeddings().weight.detach()
    vectors = torch.stack([table[tokenizer(word, add_special_tokens=False)["input_ids"]].mean(0) for word in words])
    left, sizes, _ = torch.linalg.svd(vectors - vectors.mean(0), full_matrices=False)
    begin: Tensor = left[:, :width] * sizes[:width]
    begin = begin / begin.std() * 0.5
    begin[0] = 0
    return begin.contiguous()


def write(net: Judge, words: list[str], nouns: list[str], verbs: list[str], out: Path = OUT) -> None:
    """Matrices turned round, as numpy multiplies; the word table in int8."""
    arrays = {name: value.detach().cpu().numpy() for name, value in net.state_dict().items()}
    table = arrays.pop("words.weight")
    scale = np.abs(table).max(1, keepdims=True) / 127
    scale[scale == 0] = 1
    texts = {"vocabulary": words, "nouns": nouns, "verbs": verbs}
    stored = {name: np.frombuffer("\n".join(listed).encode(), np.uint8) for name, listed in texts.items()}
    stored |= {"words": np.round(table / scale).astype(np.int8), "scale": scale.astype(np.float32)}
    for name, value in arrays.items():
        stored[name] = _turned(name, value).astype(np.float16)
    np.savez_compressed(out, **stored)  # type: ignore[arg-type]
    print(f"{out}: {out.stat().st_size:,} bytes")


def read_again(path: Path) -> tuple[Judge, list[str], list[str], list[str]]:
    """The net that `write` wrote, to continue learning from it; and its words, nouns and verbs."""
    stored = dict(np.load(path, allow_pickle=False))
    words, nouns, verbs = (bytes(stored.pop(name)).decode().split("\n") for name in ("vocabulary", "nouns", "verbs"))
    table = torch.from_numpy(stored.pop("words").astype(np.float32) * stored.pop("scale"))
    net = Judge(table)
    tensors = {name: torch.from_numpy(_turned(name, value).astype(np.float32)) for name, value in stored.items()}
    net.load_state_dict({**tensors, "words.weight": table})
    return net, words, nouns, verbs


def _turned(name: str, value: np.ndarray) -> np.ndarray:
    return value.T if value.ndim == 2 and name not in _AS_THEY_ARE else value
