"""The content of objects in memory: what changes the hash, what does not, and what has none."""

from __future__ import annotations

import functools
import io
import re
import socket
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.objects import Unidentified, of_object

SCALE = 1


def helper(x: Any) -> Any:
    return x * SCALE


class Thing:
    def __init__(self, size: int = 1) -> None:
        self.size = size

    def __repr__(self) -> str:
        return "Thing()"

    def __call__(self, x: Any) -> Any:
        return helper(x) + self.size


class Partly(Thing):
    def __getstate__(self) -> dict[str, Any]:
        return {}  # pickle would keep nothing


def closing(held: Any) -> Callable[..., Any]:
    return lambda x: (x, held)


def array(value: float) -> Any:
    found = np.ones(5000)
    found[2500] = value
    return found


PAIRS: dict[str, tuple[Any, Any]] = {
    "code": (lambda x: x + 1, lambda x: x + 2),
    "a type of number": (lambda x: x + 1, lambda x: x + 1.0),
    "a closure": (closing(1), closing(2)),
    "an array": (closing(array(1)), closing(array(2))),
    "a dtype": (np.ones(4, np.int32), np.ones(4, np.float32)),
    "a default": (lambda x, y=1: x, lambda x, y=2: x),
    "a partial": (functools.partial(helper, 1), functools.partial(helper, 2)),
    "an attribute": (Thing(1), Thing(2)),
    "an attribute that pickle loses": (Partly(1), Partly(2)),
    "a bound method": (Thing(1).__call__, Thing(2).__call__),
    "an inner function": (lambda x: [y + 1 for y in x], lambda x: [y + 2 for y in x]),
    "a part of a module": (lambda x: np.sin(x), lambda x: np.cos(x)),
    "a pattern": (re.compile("a"), re.compile("b")),
}


@pytest.mark.parametrize("name", PAIRS)
def test_what_differs_has_another_hash(name: str) -> None:
    one, other = PAIRS[name]
    assert of_object(one) == of_object(one) != of_object(other)


def test_a_global_that_the_code_reads_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = [lambda x: helper(x), Thing(), Thing().__call__, functools.partial(helper, 1)]
    before = [of_object(one) for one in asked]
    monkeypatch.setitem(globals(), "SCALE", 2)
    assert all(of_object(one) != then for one, then in zip(asked, before, strict=True))
    monkeypatch.undo()
    assert [of_object(one) for one in asked] == before


def test_where_code_stands_does_not_count() -> None:
    first, second = (lambda x: x + 1), (lambda x: x + 1)
    assert of_object(first) == of_object(second) and of_object(Thing()) == of_object(Thing())


def test_a_method_that_was_put_into_an_installed_class(monkeypatch: pytest.MonkeyPatch) -> None:
    import torch

    before = of_object(torch.nn.Linear(2, 2).weight.shape), of_object(linear())
    monkeypatch.setattr(torch.nn.Linear, "forward", lambda self, x: x)
    assert of_object(linear()) != before[1]


def linear() -> Any:
    import torch

    torch.manual_seed(0)
    return torch.nn.Linear(2, 2)


def test_every_part_of_a_network_counts() -> None:
    import torch

    before, network = of_object(linear()), linear()
    network.register_forward_hook(lambda *given: None)
    assert of_object(network) != before
    changes: list[Callable[[Any], Any]] = [
        lambda one: one.weight.data.add_(1),
        lambda one: one.eval(),
        lambda one: one.half(),
        lambda one: one.register_buffer("more", torch.zeros(1), persistent=False),
        lambda one: setattr(one, "forward", lambda x: x),
    ]
    seen = {before}
    for change in changes:
        network = linear()
        change(network)
        seen.add(of_object(network))
    assert len(seen) == 1 + len(changes)
    weights = list((network := linear()).parameters())
    without = of_object(network, without=weights)
    network.weight.data.add_(1)
    assert of_object(network, without=weights) == without


def test_what_cannot_be_known_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x").touch()
    with (tmp_path / "x").open() as handle, socket.socket() as connection:
        for held in (handle, connection, threading.Lock(), (one for one in ())):
            with pytest.raises(Unidentified):
                of_object(closing(held))
    readers = [lambda: open("x"), lambda: Path("x").read_text(), lambda: np.load("x"), lambda: io.open("x")]  # noqa: PTH123, SIM115, UP020
    for reads in [*readers, lambda: eval("1")]:
        with pytest.raises(Unidentified):
            of_object(reads)


def test_an_object_that_refers_to_itself() -> None:
    one, other = Thing(), Thing()
    one.me, other.me = one, other  # type: ignore[attr-defined]
    assert of_object(one) == of_object(other)
