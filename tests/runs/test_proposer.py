"""runs/proposer: what is learned is what the package computes, and a small net learns."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.perturb import Caption
from equipoise.perturb.proposer import net as package
from equipoise.perturb.proposer.reading import Reading
from equipoise.perturb.sources.base import Proposal

FOLDER = Path(__file__).parents[2] / "runs" / "proposer"
ROWS: list[dict[str, Any]] = [
    {
        "caption": "A black dog sits on a couch", "others": ["a dog on a sofa", "a dog that sits"],
        "target": "attribute", "to": "white", "by": "lexicon", "span": [2, 7],
    },
    {"caption": "A man eats", "others": [], "target": "object", "to": "young woman", "by": "gender", "span": [2, 5]},
    {"caption": "A man eats", "others": [], "target": "action", "to": "sits", "by": "proposer", "span": [6, 10]},
]  # fmt: skip


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("learn")
    sys.modules.pop("learn", None)


def data(learn: Any) -> tuple[Any, list[str], dict[str, int], Any]:
    made = learn.Data()
    for row, verdict in zip(ROWS, (0, 2, 3), strict=True):
        made.add(row, row, np.eye(4)[verdict])
    words = ["<pad>", "<unk>", *"a black dog sits on couch sofa man eats white woman that".split()]
    begin = torch.randn(len(words), learn.VECTOR, generator=torch.Generator().manual_seed(0))
    begin[0] = 0
    torch.manual_seed(0)
    return made, words, {word: place for place, word in enumerate(words)}, learn.Proposer(begin)


def test_the_package_computes_what_was_learned(learn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made, words, ids, net = data(learn)
    learn.write(net.eval(), words, ["dog", "man"], ["eat"], tmp_path / "proposer.npz")
    given, _ = made.batch(np.arange(2), ids, 0.0, 9, "cpu")
    with torch.no_grad():
        verdicts, ranks = net(*given)
    wanted = {tuple(new.tolist()): row.softmax(-1).numpy() for new, row in zip(given[3]["new"], verdicts, strict=True)}
    with (tmp_path / "proposer.npz").open("rb") as handle:
        stored = package.loaded(handle)
    monkeypatch.setattr(package, "net", lambda: stored)
    monkeypatch.setattr("equipoise.perturb.proposer.reading._known", _known)
    for row in ROWS:
        reading = Reading(Caption(row["caption"], tuple(row["others"])))
        edit = Proposal(*row["span"], row["to"], row["target"], row["by"], 1.0)
        new = [ids.get(word, 1) for word in row["to"].split()]
        found = reading.chances([edit])[0]
        assert np.abs(found - wanted[tuple([*new, 0, 0, 0, 0][:4])]).max() < 0.01 and abs(found.sum() - 1) < 1e-5
    place = Reading(Caption("A man eats")).place(2, 3)
    rank = package.ranks(place, stored.vector(["sits"])[None], stored.weights["firstb.weight"][[ids["sits"]], 0])
    mine = [float(r) for new, r in zip(given[3]["new"], ranks, strict=True) if new[0] == ids["sits"]]
    assert abs(float(rank[0]) - mine[0]) < 0.05


def _known(text: str) -> tuple[frozenset[str], int, package.Array]:
    words = text.lower().split()
    return frozenset(words), len(words), package.net().vector(words)


def test_a_small_net_learns(learn: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Three verdicts told apart after some steps: the loss goes the right way."""
    made, _, ids, net = data(learn)
    monkeypatch.setattr(learn, "CAPTIONS", 6)
    np.random.seed(0)
    net = learn.learned(net, made, made, ids, 200, "cpu")
    given, targets = made.batch(np.arange(2), ids, 0.0, 9, "cpu")
    with torch.no_grad():
        assert net(*given)[0].argmax(-1).tolist() == targets.argmax(-1).tolist()
