"""Learns the net of perturb/judge from verdicts and from what the teacher says of the pools.

    python -m studies.judge.learn verdicts.jsonl --pool pool.jsonl scores.npy --pool wide.jsonl wide.npy \\
        --encoder FOLDER --shared DATA [--hold 204,307] [--write]
    python -m studies.judge.candidates pool --passed --shared DATA --out own.jsonl  (and teach.py: own.npy)
    python -m studies.judge.learn verdicts.jsonl --pool ... --begin src/equipoise/language/data/judge.npz \\
        --own own.jsonl own.npy [--write]

A caption is read once and all its edits are judged, so a step is a few hundred captions. The second pass goes on from
the weights of the first, with what the first net itself lets pass (--own): there its faults are. --write: writes
src/equipoise/language/data/judge.npz. --hold: sheets whose photos are left out of everything, and for which the share
that passed among the likeliest is printed; of the shipped weights these were 204 to 207, 307, 317 and 400 to 407, in
the second pass those of their photos whose name has an even zlib.crc32. In some of the captions the others are hidden,
for captions that have none. Minutes on a GPU, days without.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from studies.harness import read_lines
from studies.harness.inputs import arguments, existing
from studies.judge.examples import Arrays, Data, vocabulary
from studies.judge.model import Judge, first_vectors, read_again, write

EPOCHS, RATE, HIDE, MOST = 16, 2e-3, 0.15, 40
CAPTIONS, AGAIN = 384, 256  # of the pool in a step: of the first pass, of the second
READ, READ_SWAPS = 128, 24  # captions with verdicts in a step: any, and with a swap
SWAP_WEIGHT, VERDICT_WEIGHT, RANK_WEIGHT, OWN_RANK_WEIGHT = 3.0, 0.5, 0.3, 0.2
ALL = 10**6


class Given(NamedTuple):
    pool: Arrays
    verdicts: Arrays
    own: Arrays | None = None  # for the second pass


def learned(net: Judge, given: Given, epochs: float, device: str) -> Judge:
    size = AGAIN if given.own else CAPTIONS
    steps = max(1, int(epochs * len(given.pool.own) / size))
    optimizer = torch.optim.AdamW(net.parameters(), lr=RATE, weight_decay=1e-2, betas=(0.9, 0.98))
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, RATE, total_steps=steps + 1, pct_start=0.08)
    swaps, order = given.verdicts.with_swaps(), _in_turn(len(given.pool.own), size)
    net.train()
    for _ in range(steps):
        loss = _pool_loss(net, given.pool, next(order), MOST, RANK_WEIGHT, device)
        if given.own:
            loss = loss + _pool_loss(net, given.own, _some(len(given.own.own), size // 2), ALL, OWN_RANK_WEIGHT, device)
        worth = given.verdicts.worth / given.verdicts.worth.sum()
        chosen = np.append(_some(len(worth), READ, worth), swaps[_some(len(swaps), READ_SWAPS)])
        inputs, targets = given.verdicts.batch(chosen, HIDE, ALL, device)
        loss = loss + VERDICT_WEIGHT * _surprise(net(*inputs)[0], targets).mean()
        optimizer.zero_grad()
        torch.autograd.backward(loss)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        schedule.step()
    return net.eval()


def _pool_loss(net: Judge, data: Arrays, chosen: np.ndarray, most: int, rank_weight: float, device: str) -> Tensor:
    """Swaps are few and count more; only replacements are ranked."""
    inputs, targets = data.batch(chosen, HIDE, most, device)
    chances, rank = net(*inputs)
    weight = torch.ones(len(targets), device=device)
    weight[inputs[3]["two"]] = SWAP_WEIGHT
    alone = weight == 1
    off = functional.binary_cross_entropy_with_logits(rank[alone], targets[alone, 0], reduction="sum")
    return (_surprise(chances, targets) * weight).sum() / weight.sum() + rank_weight * off / alone.sum().clamp(min=1)


def _surprise(chances: Tensor, targets: Tensor) -> Tensor:
    return -(targets * chances.log_softmax(-1)).sum(-1)


def _in_turn(count: int, size: int) -> Iterator[np.ndarray]:
    """All captions before any comes again."""
    while True:
        order = np.random.permutation(count)
        for start in range(0, max(1, count - size + 1), size):
            yield order[start : start + size]


def _some(count: int, size: int, chances: np.ndarray | None = None) -> np.ndarray:
    return np.random.choice(count, min(size, count), replace=False, p=chances) if count else np.zeros(0, int)


def worth(sheet: int) -> float:
    """In the second pass: verdicts on what the recipe writes say most, of this net (400) or of the one before (200)."""
    return 4.0 if sheet >= 400 else 2.0 if 200 <= sheet < 300 else 1.0


def pool_of(files: list[list[Path]], held_out: set[str]) -> Data:
    data = Data()
    for name, scores in files:
        chances, place = np.load(scores).astype(np.float32), 0
        with name.open(encoding="utf-8") as lines:
            for block in map(json.loads, lines):
                mine = chances[place : place + len(block["made"])]
                place += len(block["made"])
                for made, chance in zip(block["made"], mine, strict=False):  # a wrong file is told below
                    if block["image"] not in held_out:
                        data.add(block, made, chance)
        if place != len(chances):
            raise SystemExit(f"{name} has {place:,} edits and {scores} {len(chances):,} rows: not of the same pool")
    return data


@torch.no_grad()
def report(net: Judge, unseen: Arrays, device: str) -> None:
    """Print how many edits passed among those that the net finds likeliest."""
    inputs, targets = unseen.batch(np.arange(len(unseen.own)), 0.0, ALL, device)
    chances = net(*inputs)[0].softmax(-1)[:, 0].cpu().numpy()
    passed = targets[:, 0].cpu().numpy()
    swap = np.isin(np.arange(len(passed)), inputs[3]["two"].cpu().numpy())
    for what, rows in (("replacements", np.flatnonzero(~swap)), ("swaps", np.flatnonzero(swap))):
        likeliest = passed[rows[np.argsort(-chances[rows], kind="stable")]]
        for share in (0.1, 0.2, 0.3, 0.4, 0.5, 1.0):
            if count := int(share * len(rows)):
                print(f"the likeliest {share:.0%} of {len(rows)} {what}: {likeliest[:count].mean():.1%} passed")


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("verdicts", type=existing())
    parser.add_argument("--pool", nargs=2, type=existing(), action="append", required=True, metavar=("POOL", "SCORES"))
    parser.add_argument(
        "--encoder", type=existing(), help="for the first pass: a folder of transformers, whose word vectors begin"
    )
    parser.add_argument(
        "--shared", type=existing(), help="for the first pass with --write: for the words that are proposed"
    )
    parser.add_argument("--begin", type=existing(), help="for the second pass: what the first wrote")
    parser.add_argument(
        "--own", nargs=2, type=existing(), action="append", metavar=("POOL", "SCORES"), help="for the second pass"
    )
    parser.add_argument("--hold", type=lambda text: {int(sheet) for sheet in text.split(",")}, default=set())
    parser.add_argument("--write", action="store_true")
    options = parser.parse_args()
    if bool(options.begin) != bool(options.own) or bool(options.begin) == bool(options.encoder):
        parser.error("give --encoder (first pass), or --begin and --own (second pass)")
    if options.write and not (options.begin or options.shared):
        parser.error("--write in the first pass needs --shared, for the words that may be proposed")
    torch.manual_seed(0)
    np.random.seed(0)
    read = read_lines(options.verdicts)
    held_out = {row["image"] for row in read if row["sheet"] in options.hold}
    pool, own = pool_of(options.pool, held_out), pool_of(options.own or [], held_out)
    verdicts, unseen, one_hot = Data(), Data(), np.eye(4)
    for row in read:
        counted = worth(row["sheet"]) if options.own else 1.0
        (unseen if row["image"] in held_out else verdicts).add(row, row, one_hot[row["verdict"]], counted)
    net, words, nouns, verbs = _begun(options, [pool, verdicts])
    ids = {word: place for place, word in enumerate(words)}
    device = "cuda" if torch.cuda.is_available() else "cpu"
    given = Given(Arrays(pool, ids), Arrays(verdicts, ids), Arrays(own, ids) if own.edits else None)
    net = learned(net.to(device), given, EPOCHS, device)
    if unseen.edits:
        report(net, Arrays(unseen, ids), device)
    if options.write:
        write(net, words, nouns, verbs)


def _begun(options: Any, sets: list[Data]) -> tuple[Judge, list[str], list[str], list[str]]:
    if options.begin:
        return read_again(options.begin)
    words = vocabulary(sets)
    proposed: dict[str, list[str]] = {"noun": [], "verb": []}
    if options.write:
        from studies.judge.wide import Frames

        proposed = Frames(options.shared).words
    return Judge(first_vectors(options.encoder, words)), words, proposed["noun"], proposed["verb"]


if __name__ == "__main__":
    main()
