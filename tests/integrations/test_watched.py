"""Behaviour of all integrations: the budget, the best, and a model that does not notice that it was measured."""

from __future__ import annotations

import random
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import equipoise.integrations as integrations
from equipoise.core.errors import UserError
from equipoise.integrations.watched import Watched, undisturbed


class Frozen(nn.Sequential):
    """A part that its owner keeps in evaluation mode."""

    def train(self, mode: bool = True) -> Frozen:
        return super().train(False)


class Stubborn(nn.BatchNorm1d):
    """A part that cannot be put into evaluation mode: its statistics move."""

    def train(self, mode: bool = True) -> Stubborn:
        return super().train(True)


class Net(nn.Module):
    """Dropout, statistics that move, frozen weights, a mode of its own; embeds with noise, in a foolish way."""

    def __init__(self) -> None:
        super().__init__()
        self.config = type("Config", (), {})()
        self.config.end = 2
        self.frozen = Frozen(nn.Linear(4, 4), nn.Dropout(0.5))
        self.frozen.requires_grad_(False)
        self.body = nn.Sequential(nn.Linear(4, 8), nn.BatchNorm1d(8), nn.Dropout(0.3), nn.Linear(8, 4), Stubborn(4))
        self.register_buffer("seen", torch.zeros(()))
        self.train()

    def forward(self, rows: torch.Tensor) -> torch.Tensor:
        self.seen += 1
        return self.body(self.frozen(rows)) + 0.01 * torch.rand(4)

    def embed_images(self, images: Any) -> np.ndarray:
        self.config.end = 7
        self.left = torch.ones(1)
        noise = random.random() + np.random.rand()
        rows = torch.tensor([[image.width, image.height, sum(image.getpixel((0, 0))), noise] for image in images])
        return self(rows.float()).numpy()

    def embed_texts(self, texts: Any) -> np.ndarray:
        rows = torch.tensor([[len(text), sum(map(ord, text)) % 97, text.count("a"), 1.0] for text in texts])
        return self(rows.float()).numpy()


def steps(network: Net, optimizer: torch.optim.Optimizer, count: int) -> list[float]:
    losses = []
    for _ in range(count):
        rows = torch.randn(6, 4) + random.random() + float(np.random.rand())
        loss = network(rows).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())  # gradients add up, and are never cleared
    return losses


def test_the_next_ten_steps_are_those_of_a_run_that_was_not_measured(tiny_items, tmp_path: Path) -> None:
    items, ends = tiny_items(12), []
    for measured in (False, True):
        random.seed(1), np.random.seed(2), torch.manual_seed(3)
        network = Net()
        network.body[2].eval()
        optimizer = torch.optim.AdamW([one for one in network.parameters() if one.requires_grad], lr=0.05)
        begun = steps(network, optimizer, 3)
        if measured:
            modes = [module.training for module in network.modules()]
            numbers = Watched(items, tmp_path / "images", 5.0).measure(network, network)
            assert numbers["augmented"].n and [module.training for module in network.modules()] == modes
            assert network.config.end == 2 and not hasattr(network, "left") and torch.is_grad_enabled()
        more = steps(network, optimizer, 10)
        ends.append((begun, more, {name: value.clone() for name, value in network.state_dict().items()}))
    assert ends[0][:2] == ends[1][:2]
    assert all(torch.equal(value, ends[1][2][name]) for name, value in ends[0][2].items())


def test_an_error_while_measuring_leaves_the_model_as_it_was() -> None:
    network, state = Net(), torch.get_rng_state()
    with pytest.raises(RuntimeError), undisturbed(network):
        torch.rand(3)
        raise RuntimeError
    assert network.body.training and torch.equal(torch.get_rng_state(), state)


class Slow:
    """40 ms for each call."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def embed_images(self, images: Any) -> np.ndarray:
        time.sleep(0.04)
        return np.ones((len(images), 2))

    def embed_texts(self, texts: Any) -> np.ndarray:
        self.texts += texts
        return np.array([[1.0, len(text) % 7] for text in texts])


def test_it_keeps_to_the_seconds_and_takes_the_same_items_every_time(tiny_items, tmp_path: Path) -> None:
    watched, network = Watched(tiny_items(400), tmp_path / "images", 0.4), nn.Identity()
    seen = []
    for _ in range(2):
        model, began = Slow(), time.monotonic()
        watched.measure(model, network)
        watched._ready = None
        assert time.monotonic() - began < 2
        seen.append(sorted(model.texts))
    assert seen[0] == seen[1] and 16 <= watched.count < 320


def test_the_best_has_the_highest_augmented_accuracy_and_a_tie_is_not_better(tiny_items, tmp_path: Path) -> None:
    watched = Watched(tiny_items(8), tmp_path / "images", 5)
    watched.begin(tmp_path, resumed=False)
    numbers = watched.measure(Slow(), nn.Identity())
    assert watched.is_best(numbers)
    watched.note(3, numbers)
    assert not watched.is_best(numbers)
    higher = numbers["augmented"].model_copy(update={"value": numbers["augmented"].value + 0.1})
    assert watched.is_best({**numbers, "augmented": higher})
    assert not watched.is_best({**numbers, "original": higher})
    resumed = Watched(tiny_items(8), tmp_path / "images", 5)
    resumed.begin(tmp_path, resumed=True)
    assert (resumed.best, resumed.count) == (watched.best, watched.count)
    with pytest.raises(UserError, match="chosen by other items"):
        Watched(tiny_items(7), tmp_path / "images", 5).begin(tmp_path, resumed=True)


def test_what_cannot_be_measured_is_refused_at_once(tiny_items, tmp_path: Path) -> None:
    items = tiny_items(6)
    with pytest.raises(UserError, match="images are missing"):
        Watched(items, tmp_path, 5)
    with pytest.raises(UserError, match="none of 6 items"):
        Watched([item.model_copy(update={"negatives": ()}) for item in items], tmp_path / "images", 5)
    with pytest.raises(UserError, match="above 0"):
        Watched(items, tmp_path / "images", 0)


def test_a_missing_package_is_named_with_its_install_line(monkeypatch: pytest.MonkeyPatch) -> None:
    def gone(name: str) -> None:
        raise ModuleNotFoundError("No module named 'lightning'")

    monkeypatch.setattr("importlib.import_module", gone)
    monkeypatch.delitem(vars(integrations), "EquipoiseLightning", raising=False)
    with pytest.raises(UserError, match="pip install lightning"):
        _ = integrations.EquipoiseLightning
    with pytest.raises(AttributeError):
        _ = integrations.EquipoiseKeras
