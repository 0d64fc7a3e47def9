"""runs/proposer/learn_reader.py: what is learned is what the package computes, and a small net learns."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from equipoise.perturb import Caption

FOLDER = Path(__file__).parents[2] / "runs" / "proposer"
ROWS: list[dict[str, Any]] = [
    {
        "caption": "A black dog sits on a couch", "others": ["a dog on a sofa", "a dog that sits"], "text": "",
        "mark": "", "attested": True, "op": "replace", "target": "attribute", "source": "black", "to": "white",
        "by": "lexicon", "span": [2, 7],
    },
    {
        "caption": "A man eats", "others": [], "text": "", "mark": "wide", "attested": False, "op": "replace",
        "target": "object", "source": "man", "to": "young woman", "by": "gender", "span": [2, 5],
    },
]  # fmt: skip


@pytest.fixture
def learn(monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.syspath_prepend(str(FOLDER))
    yield importlib.import_module("learn_reader")
    sys.modules.pop("learn_reader", None)


def test_the_package_computes_what_was_learned(learn: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    examples = [learn.example(row, row) for row in ROWS]
    words = [
        "<pad>",
        "<unk>",
        *sorted({word for each in examples for word, _ in each.near} | {"white", "woman", "sofa"}),
    ]
    torch.manual_seed(0)
    begin = torch.randn(len(words), learn.WIDTH)
    begin[0] = 0
    net = learn.Reader(begin).eval()
    learn.write(net, words, tmp_path / "reader.npz")
    index = {word: place for place, word in enumerate(words)}
    with torch.no_grad():
        wanted = net(*learn.tensors(examples, index)).softmax(-1).numpy()
    module = learn.module
    with (tmp_path / "reader.npz").open("rb") as handle:
        stored = module.loaded(handle)
    monkeypatch.setattr(module, "_net", lambda: stored)
    for row, chances in zip(ROWS, wanted, strict=True):
        edit = learn.Edit(**{key: row[key] for key in ("op", "target", "source", "to", "by")}, span=tuple(row["span"]))
        made = learn.Candidate(row["text"], "negative", edit, row["mark"], row["attested"])
        found = module.chances_of(Caption(row["caption"], tuple(row["others"])), made)
        assert np.abs(found - chances).max() < 0.02 and abs(found.sum() - 1) < 1e-9


def test_a_small_net_learns(learn: Any) -> None:
    """Two examples told apart after a few epochs: the loss goes the right way."""
    examples = [learn.example(row, row) for row in ROWS] * 64
    words = learn.vocabulary(examples)
    targets = torch.eye(4)[[0, 2] * 64]
    begin = torch.randn(len(words), learn.WIDTH, generator=torch.Generator().manual_seed(0))
    net = learn.learned(
        learn.tensors(examples, {w: k for k, w in enumerate(words)}), targets, torch.ones(128), begin, "cpu"
    )
    with torch.no_grad():
        found = net(*learn.tensors(examples[:2], {w: k for k, w in enumerate(words)})).argmax(-1)
    assert found.tolist() == [0, 2]
