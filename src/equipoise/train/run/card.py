"""The model card beside an exported model: what was trained, on what, by which code, and what it scored."""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from typing import Any

import torch

import equipoise
from equipoise.core.errors import UserError
from equipoise.core.provenance import code_revision
from equipoise.train.run.log import in_words

_revision = functools.cache(code_revision)  # a run is of one revision; asking git takes a moment each time


def model_card(
    identity: Mapping[str, Any],
    base: str,
    citation: str,
    step: int,
    steps: int,
    metrics: Mapping[str, float],
    skipped: int = 0,
) -> str:
    """README.md of a model folder, with the front matter the hub reads."""
    code = _revision()
    revision = "" if code is None else f" at {code.revision}{' (with local changes)' if code.dirty else ''}"
    scores = ["| measured during training | |", "| --- | --- |"]
    scores += [f"| {name} | {in_words(name, value)} |" for name, value in metrics.items()]
    measured = "\n".join(scores) if metrics else "Not evaluated during training."
    left_out = f"{skipped:,} of them were skipped: their image could not be read" if skipped else "none was skipped"
    return f"""---
library_name: transformers
pipeline_tag: zero-shot-image-classification
tags: [clip, equipoise]
---

# {base} finetuned by `{identity["recipe"]}`

Recipe: `{identity["recipe"]}` ({citation}), step {step} of {steps}.
Data: {identity["items"]["count"]} items, sha256 `{identity["items"]["sha256"]}`; {left_out}.
Images: {identity["images"]["count"]}, sha256 `{identity["images"]["sha256"]}`.
Base: `{base}`, weights sha256 `{identity["model"]["weight_sha256"]}`.
Code: equipoise {equipoise.__version__}{revision}.

{measured}

Load it with `equipoise eval hf:THIS_FOLDER --bench ...` or `transformers.CLIPModel.from_pretrained`.

## Everything the run was started with

```json
{json.dumps(identity, indent=2, ensure_ascii=False)}
```
"""


# ----------------------------------------------------------------------------
# WiSE-FT (Wortsman et al. 2022): between the base and the finetuned weights often lies the better model.


@torch.no_grad()
def interpolate(base: torch.nn.Module, tuned: torch.nn.Module, alpha: float) -> None:
    """Make the weights of `tuned` (1 - alpha) base + alpha tuned: 0 gives the base back, 1 changes nothing."""
    if not 0 <= alpha <= 1:
        raise UserError(f"WiSE-FT's weight of the finetuned model must lie between 0 and 1, found {alpha}")
    old = base.state_dict()
    new = tuned.state_dict()
    if old.keys() != new.keys():
        odd = sorted(old.keys() ^ new.keys())
        raise UserError(f"base and finetuned model are of different architectures ({len(odd)} weights, first {odd[0]})")
    for name, weight in new.items():
        if weight.is_floating_point():
            weight.lerp_(old[name].to(weight), 1 - alpha) if alpha != 1 else None
