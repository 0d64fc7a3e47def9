"""Measures items within seconds during training and leaves the model's state as it was: shared by all integrations."""

from __future__ import annotations

import contextlib
import logging
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from equipoise.api.inputs import Images, as_source, is_path, wrapped_model
from equipoise.core import progress
from equipoise.core.errors import UserError, listed
from equipoise.core.files import read_json, sha256_json, write_json
from equipoise.data.identity import loaded, steady
from equipoise.data.images import absent
from equipoise.data.items import Item
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Number
from equipoise.evaluation.scoring import default_batch, default_workers, score_items

log = logging.getLogger("equipoise")

BEST = "equipoise-best"
Numbers = Mapping[str, Number]


class Watched:
    """Items, and the best step so far.

    The first measurement finds how many items fit into `seconds`, in a random order that is the same for every run.
    All later ones take the same items, so that steps can be compared.
    """

    def __init__(
        self, items: str | Path | Sequence[Item], images: Images | None, seconds: float, every: int = 1
    ) -> None:
        if every < 1:
            raise UserError(f"every={every}: expected at least 1 step")
        if not seconds > 0:
            raise UserError(f"seconds={seconds}: expected a number above 0")
        given: Any = items
        if is_path(items):
            from equipoise.api.items import load_items

            given = load_items(items)  # type: ignore[arg-type]
        usable = [item for item in given if item.image is not None and item.negatives]
        if not usable:
            raise UserError(f"none of {len(given):,} items has an image and a hard negative, so none can be scored")
        self.source = as_source(images, given)
        if missing := absent(self.source, dict.fromkeys(ref.path for item in usable for ref in item.images())):
            raise UserError(f"{len(missing):,} images are missing {self.source}:\n{listed(missing)}")
        random.Random(0).shuffle(usable)
        self.items = [item.model_copy(update={"tags": {}}) for item in usable]  # no breakdown is asked for
        self.every, self.seconds, self.count = every, seconds, 0  # items that fit; 0: not known yet
        self.metric = "augmented" if any(item.positives for item in usable) else "original"
        self.best: float | None = None
        self._record: Path | None = None
        self._ready: tuple[Any, Any] | None = None

    def begin(self, out: Path, resumed: bool) -> None:
        """Keep the best in `out`; a resumed training goes on with the best and the items that it had."""
        self._record = out / f"{BEST}.json"
        if resumed and self._record.is_file():
            there = read_json(self._record)
            if there.get("items_sha256") != self._items_sha256():
                raise UserError(
                    f"{self._record}: the best so far was chosen by other items. Resume with the same items, or move "
                    "this file and the weights next to it away"
                )
            self.count, self.best = there["items"], there["metrics"][self.metric]["value"]

    def measure(self, model: object, network: torch.nn.Module) -> Numbers:
        """The numbers of `model`: (network, processor), (network, preprocess, tokenizer) or an object that embeds."""
        with undisturbed(network), _no_bars(), steady():
            if self._ready is None or self._ready[0] is not network:
                ready = wrapped_model(model) if isinstance(model, tuple) else model
                if hasattr(ready, "card"):
                    ready.card.pop("weight_sha256", None)  # nothing is cached, so no weights need to be hashed
                self._ready = network, ready
            ready = self._ready[1]
            loaded(ready)
            rows = self._rows(ready)
        numbers = summarise(outcomes_of(rows)).overall.metrics
        return {name: numbers[name] for name, row in METRICS.items() if row.side == "texts" and name in numbers}

    def _rows(self, model: Any) -> list[Any]:
        rows: list[object] = []
        started, size = time.monotonic(), default_batch(model)
        while len(rows) < (self.count or len(self.items)):
            began = time.monotonic()
            chunk = self.items[len(rows) : min(len(rows) + size, self.count or len(self.items))]
            rows += score_items(model, chunk, images=self.source, workers=default_workers()).rows
            now = time.monotonic()
            if not self.count and 2 * now - began - started > self.seconds:  # the next chunk would be too late
                break
        self.count = len(rows)
        return rows

    def is_best(self, numbers: Numbers) -> bool:
        """Whether these are better than all before; a tie is not."""
        return self.best is None or numbers[self.metric].value > self.best

    def note(self, step: int, numbers: Numbers) -> None:
        """Remember the best, once its weights are saved."""
        self.best = numbers[self.metric].value
        if self._record is not None:
            metrics = {name: number.model_dump(mode="json", exclude_none=True) for name, number in numbers.items()}
            about = {"step": step, "items": self.count, "items_sha256": self._items_sha256(), "best by": self.metric}
            write_json(self._record, about | {"metrics": metrics})

    def _items_sha256(self) -> str:
        return sha256_json([item.to_json() for item in self.items])

    def logged(self, numbers: Numbers, prefix: str = "") -> dict[str, float]:
        """The values by name with the number of items, as loggers take them; one line says them with intervals."""
        shown = [
            f"{METRICS[name].title} {100 * number.value:.1f}"
            + (f" [{100 * number.interval.low:.1f}, {100 * number.interval.high:.1f}]" if number.interval else "")
            for name, number in numbers.items()
        ]
        log.info("%s of %d items", ", ".join(shown), self.count)
        return {f"{prefix}{name}": number.value for name, number in numbers.items()} | {f"{prefix}n": float(self.count)}


@contextlib.contextmanager
def undisturbed(network: torch.nn.Module) -> Iterator[None]:
    """Evaluate inside; afterwards all of torch's, numpy's and Python's random states, the mode and attributes of every
    module, its buffers and its configuration are what they were."""
    modules = list(network.modules())
    configs = {
        id(config): config for module in modules if hasattr(config := getattr(module, "config", None), "__dict__")
    }
    places = [vars(holder) for holder in (*modules, *configs.values())] + [module._buffers for module in modules]
    before = [(place, dict(place)) for place in places]
    buffers = [(buffer, buffer.clone()) for buffer in network.buffers()]
    python, numpy, cpu = random.getstate(), np.random.get_state(), torch.get_rng_state()
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    try:
        network.eval()
        with torch.no_grad():
            yield
    finally:
        for place, was in before:
            for name in place.keys() - was.keys():
                del place[name]
            place.update(was)
        with torch.no_grad():
            for buffer, copy in buffers:
                if not torch.equal(buffer, copy):
                    buffer.copy_(copy)
        random.setstate(python)
        np.random.set_state(numpy)
        torch.set_rng_state(cpu)
        if cuda:
            torch.cuda.set_rng_state_all(cuda)


@contextlib.contextmanager
def _no_bars() -> Iterator[None]:
    before = progress.is_quiet()
    progress.be_quiet(True)
    try:
        yield
    finally:
        progress.be_quiet(before)
