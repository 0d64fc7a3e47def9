"""Soups: one base of several tails that began with the same weights, by the mean of their weights.

After Wortsman et al. 2022. Only what is trained is averaged; the rest is the same in all of them.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from pathlib import Path

import torch
from base import finished, judged, keep, results, tell
from bases import score


@torch.no_grad()
def soups(tower: str, where: dict[str, str]) -> None:
    """Means of the weights of a base and its tails, judged on dev: of all, and of those that raise it one by one."""
    out, device, data = Path(where["out"]), where["device"], where["data"]
    tails = {
        name: row for name, row in results(out).items() if row["base"]["tower"] == tower and row["base"].get("begin")
    }
    if not tails:
        return
    first = next(iter(tails.values()))["base"]["begin"]
    rows = sorted([first, *tails], key=lambda name: -score(results(out)[name]["found"]))
    trained = finished(out, first, device)
    parameters = dict(trained.parameters())
    weights = {name: {key: value.clone() for key, value in finished(out, name, device).parameters()} for name in rows}

    def mean(names: Sequence[str]) -> dict[str, float]:
        for key, value in parameters.items():
            value.copy_(torch.stack([weights[name][key] for name in names]).mean(0))
        return judged(trained, data, where["out"], "dev")

    kept, best = rows[:1], score(mean(rows[:1]))
    for name in rows[1:]:
        if (now := score(mean([*kept, name]))) >= best:
            kept, best = [*kept, name], now
    for name, members in (("soup-all", rows), ("soup", kept)):
        base = dataclasses.replace(trained.base, name=f"{first}+{name}", begin="")
        line = out / "base" / f"{base.name}-0.json"
        if len(members) > 1 and not line.exists():
            found = mean(members)
            keep(trained, line.with_suffix(""))
            tell(base, found, line, members=list(members))
