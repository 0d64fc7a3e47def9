"""Learns the net of perturb/proposer from verdicts and from what the teacher says of the pools.

    python runs/proposer/learn.py verdicts.jsonl --pool pool.jsonl scores.npy --pool wide.jsonl wide.npy \\
        --encoder FOLDER [--hold 119,125] [--write]

A caption is read once and all its candidates are judged, so a step is a few hundred captions. --hold: sheets whose
captions are left out of everything, and for which the share that passed among the likeliest is printed. --write: writes
src/equipoise/perturb/data/proposer.npz. In a fifth of the captions the others are hidden, for captions that have none.
Two minutes on a GPU, hours without.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from equipoise.perturb.english.word_lists import SECTIONS
from equipoise.perturb.proposer.net import FACTS, FROM_OTHERS, HEADS, OF_EDIT, PAD, UNKNOWN, WORDS
from equipoise.perturb.proposer.reading import words_of, words_of_others

OUT = Path(__file__).resolve().parents[2] / "src" / "equipoise" / "perturb" / "data" / "proposer.npz"
STATE, VECTOR, INNER, LAYERS, JUDGE, LAST = 96, 64, 192, 2, 192, 64
EPOCHS, CAPTIONS, MOST, RATE, DROP, HIDE = 30, 512, 48, 3e-3, 0.1, 0.2
VERDICT_WEIGHT, RANK_WEIGHT, MOST_WORDS, LEAST_SEEN = 0.7, 0.3, 5200, 5


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(STATE), nn.LayerNorm(STATE)
        self.qkv, self.o = nn.Linear(STATE, 3 * STATE), nn.Linear(STATE, STATE)
        self.f1, self.f2 = nn.Linear(STATE, INNER), nn.Linear(INNER, STATE)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        rows, size, _ = states.shape
        asked = self.qkv(self.n1(states)).view(rows, size, 3, HEADS, STATE // HEADS).permute(2, 0, 3, 1, 4)
        seen = functional.scaled_dot_product_attention(*asked, attn_mask=mask[:, None, None, :])
        drop = lambda x: functional.dropout(x, DROP, self.training)  # noqa: E731
        states = states + drop(self.o(seen.transpose(1, 2).reshape(rows, size, STATE)))
        return states + drop(self.f2(torch.relu(self.f1(self.n2(states)))))


class Proposer(nn.Module):
    """What perturb/proposer/net.py computes, as it is learned; the names of its parts are those of the file."""

    def __init__(self, begin: Tensor) -> None:
        super().__init__()
        self.words, self.up = nn.Embedding.from_pretrained(begin, False, PAD), nn.Linear(VECTOR, STATE, bias=False)
        self.pos, self.seg = (nn.Parameter(torch.randn(n, STATE) * 0.02) for n in (WORDS, 2))
        self.layers, self.norm = nn.ModuleList(Layer() for _ in range(LAYERS)), nn.LayerNorm(STATE)
        self.slot = nn.Linear(3 * STATE, STATE)
        self.A, self.C = nn.Linear(STATE, JUDGE), nn.Linear(STATE, JUDGE)
        self.B, self.Dn = nn.Linear(VECTOR, JUDGE, bias=False), nn.Linear(VECTOR, JUDGE, bias=False)
        self.q, self.k = nn.Linear(VECTOR, VECTOR, bias=False), nn.Linear(STATE, VECTOR, bias=False)
        self.v, self.p, self.r = nn.Linear(STATE, VECTOR), nn.Linear(VECTOR, JUDGE), nn.Linear(FACTS, JUDGE)
        self.out1, self.out2 = nn.Linear(JUDGE, LAST), nn.Linear(LAST, 4)
        self.first, self.firstb = nn.Linear(STATE, VECTOR), nn.Embedding(len(begin), 1)
        nn.init.zeros_(self.firstb.weight)

    def forward(self, own: Tensor, told: Tensor, shares: Tensor, asked: dict[str, Tensor]) -> tuple[Tensor, Tensor]:
        """Captions; and of candidates: caption, first and last word, new words, facts. Verdicts and ranks."""
        drop = lambda x: functional.dropout(x, DROP, self.training)  # noqa: E731
        told_states = drop(self.up(self.words(told))) + self.seg[0] + shares[..., None] * self.seg[1]
        states, mask = (
            torch.cat([drop(self.up(self.words(own))) + self.pos, told_states], 1),
            torch.cat([own, told], 1) > 0,
        )
        for layer in self.layers:
            states = layer(states, mask)
        states, at = self.norm(states), asked["caption"]
        column = torch.arange(WORDS, device=own.device)[None]
        inside = ((column >= asked["first"][:, None]) & (column < asked["last"][:, None])).float()[..., None]
        size = inside.sum(1).clamp(min=1)
        old, mean = (states[at, :WORDS] * inside).sum(1) / size, (states * mask[..., None]).sum(1) / mask.sum(1, True)
        plain = (self.up(self.words(own))[at] * inside).sum(1) / size
        place = torch.relu(self.slot(torch.cat([old, mean[at], plain], -1)))
        here = (asked["new"] > 0).float()
        share = here / here.sum(1, keepdim=True).clamp(min=1)
        new = (self.words(asked["new"]) * share[..., None]).sum(1)
        heads = (HEADS, VECTOR // HEADS)
        key, value = (part(states).unflatten(-1, heads)[at] for part in (self.k, self.v))
        score = torch.einsum("nhd,nthd->nht", self.q(new).unflatten(-1, heads), key) / heads[1] ** 0.5
        score = score.masked_fill(~mask[at][:, None], -1e4).softmax(-1)
        found = torch.einsum("nht,nthd->nhd", score, value).flatten(1)
        inner = (
            self.A(place) * self.B(new) + self.C(place) + self.Dn(new) + self.p(found * new) + self.r(asked["facts"])
        )
        rank = (self.first(place) * new).sum(-1) + (self.firstb(asked["new"])[..., 0] * share).sum(1)
        return self.out2(torch.relu(self.out1(drop(torch.relu(inner))))), rank


class Data:
    """Captions and candidates as arrays; `targets` are chances of the four verdicts."""

    def __init__(self) -> None:
        self.captions: dict[tuple[str, tuple[str, ...]], int] = {}
        self.own: list[list[str]] = []
        self.others: list[list[tuple[str, float]]] = []
        self.rows: list[list[tuple[int, int, list[str], list[float], Any]]] = []

    def add(self, block: dict[str, Any], made: dict[str, Any], target: Any) -> None:
        start, end = made["span"]
        text, said = block["caption"], [frozenset(words_of(other)) for other in block["others"]]
        first, old, new = len(words_of(text[:start])), words_of(text[start:end]), words_of(made["to"])[-OF_EDIT:]
        if not old or not new or first + len(old) > WORDS:
            return
        key = text, tuple(block["others"])
        if key not in self.captions:
            self.captions[key] = len(self.own)
            self.own.append(words_of(text)[:WORDS])
            self.others.append(words_of_others(said))
            self.rows.append([])
        facts = [float(made["target"] == section) for section in SECTIONS]
        facts += [made["by"] == "captions", made["by"] == "gender", min(len(said), 7) / 5]
        little = {word for word, _ in words_of_others([frozenset(old)])}
        for words in (little, set(new) - set(old)):
            facts.append(sum(not words.isdisjoint(each) for each in said) / max(1, len(said)))
        facts += [min(len(old), OF_EDIT) / OF_EDIT, len(new) / OF_EDIT]
        facts += [0.0] * (FACTS - len(facts))
        self.rows[self.captions[key]].append((first, first + len(old), new, facts, target))

    def batch(self, chosen: np.ndarray, ids: dict[str, int], hide: float, most: int, device: str) -> tuple[Any, Tensor]:
        own, told = torch.zeros(len(chosen), WORDS, dtype=torch.long), torch.zeros(len(chosen), FROM_OTHERS).long()
        shares, parts, targets = torch.zeros(len(chosen), FROM_OTHERS), [], []
        for row, place in enumerate(chosen):
            hidden = np.random.random() < hide
            own[row, : len(self.own[place])] = torch.tensor([ids.get(word, UNKNOWN) for word in self.own[place]])
            for k, (word, share) in enumerate(() if hidden else self.others[place]):
                told[row, k], shares[row, k] = ids.get(word, UNKNOWN), share
            listed = self.rows[place]
            for k in np.random.permutation(len(listed))[:most]:
                first, last, new, facts, target = listed[k]
                new_ids = [ids.get(word, UNKNOWN) for word in new] + [PAD] * (OF_EDIT - len(new))
                parts.append(
                    (row, first, last, new_ids, [*facts[:6], *([0.0] * 3 if hidden else facts[6:9]), *facts[9:]])
                )
                targets.append(target)
        names = ("caption", "first", "last", "new", "facts")
        asked = {name: torch.tensor([part[k] for part in parts]).to(device) for k, name in enumerate(names)}
        return (own.to(device), told.to(device), shares.to(device), asked), torch.tensor(np.array(targets)).float().to(
            device
        )


def first_vectors(folder: str, words: list[str], width: int = VECTOR) -> Tensor:
    """The encoder's input vectors of the words, their first components."""
    from transformers import AutoModel, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(folder, local_files_only=True)
    table = AutoModel.from_pretrained(folder, local_files_only=True).get_input_embeddings().weight.detach()
    found = torch.stack([table[tokenizer(word, add_special_tokens=False)["input_ids"]].mean(0) for word in words])
    left, sizes, _ = torch.linalg.svd(found - found.mean(0), full_matrices=False)
    begin = left[:, :width] * sizes[:width]
    begin = begin / begin.std() * 0.5
    begin[0] = 0
    return begin.contiguous()


def vocabulary(sets: list[Data]) -> list[str]:
    counts: Counter[str] = Counter()
    for data in sets:
        for own, others, rows in zip(data.own, data.others, data.rows, strict=True):
            counts.update(own)
            counts.update(word for word, _ in others)
            for row in rows:
                counts.update(row[2] * 3)
    return ["<pad>", "<unk>", *(word for word, n in counts.most_common(MOST_WORDS) if n >= LEAST_SEEN)]


def learned(net: Proposer, pool: Data, verdicts: Data, ids: dict[str, int], epochs: float, device: str) -> Proposer:
    steps = max(1, int(epochs * len(pool.own) / CAPTIONS))
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-2, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1, pct_start=0.08)
    for _ in range(steps):
        loss = torch.zeros((), device=device)
        for data, weight, size in ((pool, 1.0, CAPTIONS), (verdicts, VERDICT_WEIGHT, CAPTIONS // 3)):
            chosen = np.random.choice(len(data.own), min(size, len(data.own)), replace=False)
            given, targets = data.batch(chosen, ids, HIDE, MOST, device)
            chances, rank = net(*given)
            loss = loss - weight * (targets * chances.log_softmax(-1)).sum(-1).mean()
            if data is pool:
                loss = loss + RANK_WEIGHT * functional.binary_cross_entropy_with_logits(rank, targets[:, 0])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return net.eval()


def write(net: Proposer, words: list[str], nouns: list[str], verbs: list[str], out: Path = OUT) -> None:
    """Matrices turned round, as numpy multiplies; the word table in int8."""
    parts = {name: value.detach().cpu().numpy() for name, value in net.state_dict().items()}
    table = parts.pop("words.weight")
    scale = np.abs(table).max(1, keepdims=True) / 127
    scale[scale == 0] = 1
    texts = {"vocabulary": words, "nouns": nouns, "verbs": verbs}
    stored = {name: np.frombuffer("\n".join(listed).encode(), np.uint8) for name, listed in texts.items()}
    stored |= {"words": np.round(table / scale).astype(np.int8), "scale": scale.astype(np.float32)}
    for name, value in parts.items():
        turned = value.T if value.ndim == 2 and name not in {"pos", "seg", "firstb.weight"} else value
        stored[name] = turned.astype(np.float16)
    np.savez_compressed(out, **stored)  # type: ignore[arg-type]
    print(f"{out}: {out.stat().st_size:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("verdicts", type=Path)
    parser.add_argument("--pool", nargs=2, action="append", required=True, metavar=("POOL", "SCORES"))
    parser.add_argument("--encoder", required=True)
    parser.add_argument("--shared", type=Path, help="with --write: for the words that may be proposed")
    parser.add_argument("--hold", type=lambda text: {int(sheet) for sheet in text.split(",")}, default=set())
    parser.add_argument("--epochs", type=float, default=EPOCHS)
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    torch.manual_seed(0)
    np.random.seed(0)
    read = [json.loads(line) for line in options.verdicts.open(encoding="utf-8")]
    held = {(row["image"], row["caption"]) for row in read if row["sheet"] in options.hold}
    pool, verdicts, unseen, one_hot = Data(), Data(), Data(), np.eye(4)
    for name, scores in options.pool:
        chances, place = np.load(scores).astype(np.float32), 0
        for line in Path(name).read_text(encoding="utf-8").splitlines():
            block = json.loads(line)
            for made in block["made"]:
                if (block["image"], block["caption"]) not in held:
                    pool.add(block, made, chances[place])
                place += 1
    for row in read:
        (unseen if row["sheet"] in options.hold else verdicts).add(row, row, one_hot[row["verdict"]])
    words = vocabulary([pool, verdicts])
    ids = {word: place for place, word in enumerate(words)}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    net = Proposer(first_vectors(options.encoder, words)).to(device)
    net = learned(net, pool, verdicts, ids, options.epochs, device)
    if unseen.own:
        with torch.no_grad():
            given, targets = unseen.batch(np.arange(len(unseen.own)), ids, 0.0, 10**6, device)
            chances = net(*given)[0].softmax(-1)[:, 0].cpu().numpy()
        passed = targets[:, 0].cpu().numpy()[np.argsort(-chances)]
        for share in (0.2, 0.3, 0.4, 0.5, 0.6, 1.0):
            print(f"the likeliest {share:.0%} of {len(passed)}: {passed[: int(share * len(passed))].mean():.1%} passed")
    if options.write:
        from wide import Frames

        frames = Frames(options.shared)
        write(net, words, frames.words["noun"], frames.words["verb"])


if __name__ == "__main__":
    main()
