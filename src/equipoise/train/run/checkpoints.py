"""Checkpoints that survive a kill at any moment.

    OUT/run.json                what is being trained (see run_folder.py): another run's folder is refused
    OUT/watched.json            on what the steps are evaluated
    OUT/checkpoints/step-N/     a standard transformers folder, and training_state.pt next to the weights
    OUT/latest, OUT/best        the name of a checkpoint folder, changed only once that folder is whole
    OUT/model/                  the finished model

A folder is written under another name, flushed to the disk and renamed; then the pointer is changed;
only then older folders go. A half-written folder is never pointed to; one that a disk damaged later
is passed over for the one before it.
"""

from __future__ import annotations

import errno
import functools
import json
import os
import pickle
import shutil
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError

import equipoise
from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, read_text
from equipoise.core.provenance import code_revision
from equipoise.train.run.log import in_words, read_log

STATE = "training_state.pt"
CLAIM = "run.json"
WATCHED = "watched.json"
_DAMAGE = (OSError, EOFError, RuntimeError, ValueError, KeyError, pickle.UnpicklingError, SafetensorError)
_Loaded = TypeVar("_Loaded")


class Checkpoints:
    """The folders of one run; `keep` of the latest and the best stay."""

    def __init__(self, out: Path, keep: int = 2) -> None:
        self.out, self.keep = out, max(1, keep)
        self.folder = out / "checkpoints"
        self.damaged: set[Path] = set()

    def claim(self, identity: dict[str, Any]) -> None:
        """Take the output folder for this run, or find that it already is this run's."""
        run_folder.take(self.out, "train", identity, claim=CLAIM)

    def refuse_early(self, known: dict[str, Any]) -> None:
        """Raise where `claim` would, before the model is loaded and the photos are hashed."""
        known.pop("warmup_steps", None)  # cut to the number of steps, which depends on the photos
        run_folder.refuse_early(self.out, "train", known, claim=CLAIM)

    def watch(self, identity: Mapping[str, Any]) -> None:
        """What `best` is measured by, once it is known: the log and `best` are never of two test sets."""
        run_folder.take(self.out, "train --watch", identity, writes=(), claim=WATCHED)

    @property
    def model(self) -> Path:
        return self.out / "model"

    def save(self, step: int, write_model: Callable[[Path], None], state: dict[str, Any], best: bool) -> Path:
        target = self.folder / f"step-{step:08d}"
        if not target.exists() or target in self.damaged:
            with whole_folder(target) as part:
                write_model(part)
                _save_state(state, part / STATE)
            self.damaged.discard(target)
        for pointer in ("latest", "best") if best else ("latest",):
            with atomic_write(self.out / pointer) as handle:
                handle.write(target.name + "\n")
        self._clean()
        return target

    def _clean(self) -> None:
        """Remove what is neither among the last nor the best, and what a kill left half-written."""
        done = [path for path in self._steps() if path not in self.damaged]
        wanted = {*done[-self.keep :], self.pointed("latest"), self.pointed("best"), *self.damaged}
        for path in list(self.folder.iterdir()):
            if path not in wanted:
                _remove(path)

    def _steps(self) -> list[Path]:
        return sorted(path for path in self.folder.iterdir() if path.name.startswith("step-"))

    def load_latest(self, load: Callable[[Path], _Loaded], tell: bool = True) -> tuple[Path, _Loaded] | None:
        """The newest checkpoint that `load` can read, with what it read; None where there is none."""
        latest = self.pointed("latest")
        if latest is None:
            return None
        for folder in [path for path in reversed(self._steps()) if path <= latest]:
            try:
                return folder, load(folder)
            except PermissionError:
                raise
            except _DAMAGE as error:
                self.damaged.add(folder)
                if tell:
                    why = " ".join(str(error).split())[:100]
                    print(f"{folder}: cannot be read ({why}); going back to the one before it", file=sys.stderr)
        if tell:
            print("no checkpoint can be read; the run starts over", file=sys.stderr)
        return None

    def pointed(self, pointer: str) -> Path | None:
        """The folder a pointer names, if it is there."""
        path = self.out / pointer
        if not path.exists():
            return None
        folder = self.folder / read_text(path).strip()
        return folder if folder.is_dir() else None

    def best(self, metric: str) -> Path | str | None:
        """The best checkpoint, or in words that step 0 was not beaten; None where nothing was evaluated on the way."""
        found = [record["metrics"][metric] for record in read_log(self.out) if "metrics" in record]
        beaten = len(found) < 2 or max(found[1:]) > found[0]
        return self.pointed("best") if beaten else "no step beat the base"

    def state(self, folder: Path) -> dict[str, Any]:
        state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        return state


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder to write into; it becomes `target`, replacing it, when everything is on the disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    for left in target.parent.glob(f".{target.name}.*"):  # by a killed run; this one has the lock of the run's folder
        shutil.rmtree(left, ignore_errors=True)
    part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield part
        part.chmod(0o755)
        for path in (*part.rglob("*"), part):
            _flush(path)
        if target.exists():
            _remove(target)
        os.replace(part, target)
        _flush(target.parent)
    except (OSError, SafetensorError, RuntimeError) as error:
        full = "No space left" in str(error) or (isinstance(error, OSError) and error.errno == errno.ENOSPC)
        if full or isinstance(error, OSError):
            why = "the disk is full" if full else error
            raise UserError(f"{target}: could not be written ({why}); earlier checkpoints are whole") from error
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _remove(folder: Path) -> None:
    """Out of sight at once: a kill while its files are removed must not leave half a checkpoint under its name."""
    gone = folder if folder.name.startswith(".") else folder.with_name(f".{folder.name}.gone")
    if gone != folder:
        shutil.rmtree(gone, ignore_errors=True)
        os.replace(folder, gone)
    shutil.rmtree(gone, ignore_errors=True)


def _save_state(state: dict[str, Any], path: Path) -> None:
    try:
        torch.save(state, path)
    except RuntimeError as error:  # torch says that its writer failed, never what the disk said
        raise OSError("torch could not write all of it; most likely the disk is full") from error


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


# ----------------------------------------------------------------------------
# The model card next to an exported model: what was trained, on what, by which code, and what it scored.

_revision = functools.cache(code_revision)  # a run is of one revision; asking git takes a moment each time


def model_card(
    identity: Mapping[str, Any],
    base: str,
    spec: str,
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
    network = identity["model"]["architecture"]["class"]
    library = "X-VLM's own code" if network == "XVLM" else f"`transformers.{network}.from_pretrained`"
    dual = "pipeline_tag: zero-shot-image-classification\ntags: [clip, equipoise]"
    return f"""---
library_name: transformers
{dual if spec.startswith("hf:") else "tags: [equipoise]"}
---

# {base} finetuned by `{identity["recipe"]}`

Recipe: `{identity["recipe"]}` ({citation}), step {step} of {steps}.
Data: {identity["items"]["count"]} items, sha256 `{identity["items"]["sha256"]}`; {left_out}.
Images: {identity["images"]["count"]}, sha256 `{identity["images"]["sha256"]}`.
Base: `{base}`, weights sha256 `{identity["model"]["weight_sha256"]}`.
Code: equipoise {equipoise.__version__}{revision}.

{measured}

Load it with `equipoise eval {spec} --bench ...` or {library}.

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
    if odd := sorted((old.keys() ^ new.keys()) - {"logit_scale"}):  # training may have added it
        raise UserError(f"base and finetuned model are of different architectures ({len(odd)} weights, first {odd[0]})")
    for name, weight in new.items():
        if weight.is_floating_point() and name in old:
            weight.lerp_(old[name].to(weight), 1 - alpha) if alpha != 1 else None
