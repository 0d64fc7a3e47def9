"""Learns the small reader of perturb/checks/reader.py from verdicts and from what the teacher says of the pool.

    python runs/proposer/learn_reader.py verdicts.jsonl pool.jsonl scores.npy --encoder FOLDER [--hold 16,17] [--write]

--encoder: the teacher's folder, whose word vectors (their first 48 components) the words begin with. --hold: sheets
whose photos are left out, and the share that passed among the likeliest is printed for them. --write: writes
src/equipoise/perturb/data/reader.npz. In a fifth of the examples the other captions are hidden, for captions that have
none.
"""

from __future__ import annotations

import argparse
import importlib
import json
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from learn import first_vectors
from torch import Tensor, nn

from equipoise.items import Edit
from equipoise.perturb import Candidate, Caption

# The package's name `reader` is the check; here the module is wanted.
module = importlib.import_module("equipoise.perturb.checks.reader")
OUT = Path(__file__).resolve().parents[2] / "src" / "equipoise" / "perturb" / "data" / "reader.npz"
WIDTH, PAIRS, HIDDEN, DROP = 48, 64, 128, 0.1
EPOCHS, BATCH, RATE, VERDICT_WEIGHT, HIDE = 10, 1024, 3e-3, 4.0, 0.2
MOST_WORDS, LEAST_SEEN = 4500, 4
AROUND, FROM_OTHERS, OF_EDIT, FAR = module.AROUND, module.FROM_OTHERS, module.OF_EDIT, module.FAR


class Example(NamedTuple):
    near: list[tuple[str, int]]  # words around the edit, and how far to the left (below zero) or right
    old: list[str]
    new: list[str]
    others: tuple[tuple[str, float], ...]
    facts: np.ndarray


def example(block: dict[str, Any], made: dict[str, Any]) -> Example:
    caption = Caption(block["caption"], tuple(block["others"]))
    start, end = made["span"]
    edit = Edit(**{key: made[key] for key in ("op", "target", "source", "to", "by")}, span=(start, end))
    candidate = Candidate(made["text"], "negative", edit, made["mark"], made["attested"])
    old, new = (module.words_of(text)[-OF_EDIT:] for text in (caption.text[start:end], made["to"]))
    near, others = module.words_around(caption.text, (start, end)), module.words_of_others(caption)
    return Example(near, old, new, others, module.facts(caption, candidate))


def vocabulary(examples: list[Example]) -> list[str]:
    counts: Counter[str] = Counter()
    for each in examples:
        counts.update(each.new * 3)
        counts.update(each.old)
        counts.update(word for word, place in each.near if abs(place) <= 3)
    return ["<pad>", "<unk>", *(word for word, n in counts.most_common(MOST_WORDS) if n >= LEAST_SEEN)]


def tensors(examples: list[Example], index: dict[str, int]) -> list[Tensor]:
    n = len(examples)
    near, places = np.zeros((n, AROUND), np.int32), np.zeros((n, AROUND), np.int32)
    edit = np.zeros((2, n, OF_EDIT), np.int32)
    others, shares = np.zeros((n, FROM_OTHERS), np.int32), np.zeros((n, FROM_OTHERS), np.float32)
    for row, each in enumerate(examples):
        for k, (word, place) in enumerate(each.near):
            near[row, k], places[row, k] = index.get(word, 1), place + FAR + 1
        for side, words in enumerate((each.old, each.new)):
            edit[side, row, : len(words)] = [index.get(word, 1) for word in words]
        for k, (word, share) in enumerate(each.others):
            others[row, k], shares[row, k] = index.get(word, 1), share
    facts = np.stack([each.facts for each in examples]).astype(np.float32)
    return [torch.from_numpy(part) for part in (near, places, edit[0], edit[1], others, shares, facts)]


class Reader(nn.Module):
    """What checks/reader.py computes, as it is learned."""

    def __init__(self, begin: Tensor) -> None:
        super().__init__()
        self.words = nn.Embedding.from_pretrained(begin, freeze=False, padding_idx=0)
        self.places = nn.Embedding(2 * FAR + 3, WIDTH, padding_idx=0)
        self.around, self.others = nn.Linear(4 * WIDTH, PAIRS), nn.Linear(4 * WIDTH, PAIRS)
        self.hidden, self.last = nn.Linear(3 * WIDTH + 4 * PAIRS + module.FACTS, HIDDEN), nn.Linear(HIDDEN, 4)
        self.drop = nn.Dropout(DROP)

    def forward(self, *parts: Tensor) -> Tensor:
        near, places, old_ids, new_ids, other_ids, shares, facts = parts
        old, new = (self._mean(ids).unsqueeze(1) for ids in (old_ids, new_ids))
        words, told = self.drop(self.words(near)), self.drop(self.words(other_ids))
        seen = torch.relu(self.around(torch.cat([new * words, old * words, words, self.places(places)], -1)))
        heard = torch.relu(self.others(torch.cat([new * told, old * told, told, (new - old) * told], -1)))
        seen, heard = seen * (near > 0).unsqueeze(-1), heard * shares.unsqueeze(-1)
        pooled = [part for made in (seen, heard) for part in (made.sum(1) / 3, made.amax(1))]
        inner = torch.cat([new[:, 0], old[:, 0], (new * old)[:, 0], *pooled, facts], -1)
        return self.last(self.drop(torch.relu(self.hidden(inner))))

    def _mean(self, ids: Tensor) -> Tensor:
        return self.drop(self.words(ids)).sum(1) / (ids > 0).sum(1, keepdim=True).clamp(min=1)


def learned(parts: list[Tensor], targets: Tensor, weights: Tensor, begin: Tensor, device: str) -> Reader:
    torch.manual_seed(0)
    net = Reader(begin).to(device).train()
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-3)
    steps = EPOCHS * -(-len(targets) // BATCH) + 1
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps, pct_start=0.1)
    for _ in range(EPOCHS):
        for batch in torch.randperm(len(targets)).split(BATCH):
            here = [part[batch].to(device) for part in parts]
            shown = (torch.rand(len(batch), 1, device=device) >= HIDE).float()
            here[4], here[5] = here[4] * shown.int(), here[5] * shown
            here[6] = torch.cat([here[6][:, :17], here[6][:, 17:21] * shown, here[6][:, 21:]], 1)
            chances = net(*here).log_softmax(-1)
            loss = (-(targets[batch].to(device) * chances).sum(-1) * weights[batch].to(device)).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
    return net.eval().cpu()


def write(net: Reader, words: list[str], out: Path = OUT) -> None:
    table = net.words.weight.detach()
    scale = table.abs().amax(1, keepdim=True) / 127
    scale[scale == 0] = 1
    stored: dict[str, np.ndarray] = {
        "vocabulary": np.frombuffer("\n".join(words).encode(), np.uint8),
        "words": (table / scale).round().to(torch.int8).numpy(),
        "words.scale": scale.numpy(),
        "places": net.places.weight.detach().numpy(),
    }
    for name in ("around", "others", "hidden", "last"):
        layer = getattr(net, name)
        stored[f"{name}.weight"] = layer.weight.detach().numpy().astype(np.float16)
        stored[f"{name}.bias"] = layer.bias.detach().numpy()
    np.savez_compressed(out, **stored)  # type: ignore[arg-type]
    print(f"{out}: {out.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name in ("verdicts", "pool", "scores"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--hold", type=lambda text: {int(sheet) for sheet in text.split(",")}, default=set())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    read = [json.loads(line) for line in options.verdicts.open(encoding="utf-8")]
    held = {row["image"] for row in read if row["sheet"] in options.hold}
    blocks = [json.loads(line) for line in options.pool.open(encoding="utf-8")]
    asked = [(block, made) for block in blocks for made in block["made"]]
    scores = np.load(options.scores).astype(np.float32)
    taken = [place for place, (block, _) in enumerate(asked) if block["image"] not in held]
    mine = [row for row in read if row["image"] not in held]
    examples = [*(example(*asked[place]) for place in taken), *(example(row, row) for row in mine)]
    words = vocabulary(examples)
    index = {word: place for place, word in enumerate(words)}
    verdicts = np.eye(4, dtype=np.float32)[[row["verdict"] for row in mine]]
    targets = torch.from_numpy(np.concatenate([scores[taken], verdicts]))
    weights = torch.cat([torch.ones(len(taken)), torch.full((len(mine),), VERDICT_WEIGHT)])
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = learned(tensors(examples, index), targets, weights, first_vectors(options.encoder, words, WIDTH), device)
    unseen = [row for row in read if row["sheet"] in options.hold]
    if unseen:
        with torch.no_grad():
            chances = net(*tensors([example(row, row) for row in unseen], index)).softmax(-1)[:, 0].numpy()
        passed = np.array([row["verdict"] == 0 for row in unseen])[np.argsort(-chances)]
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 0.7, 1.0):
            print(f"the likeliest {share:.0%} of {len(passed)}: {passed[: int(share * len(passed))].mean():.1%} passed")
    if options.write:
        write(net, words)


if __name__ == "__main__":
    main()
