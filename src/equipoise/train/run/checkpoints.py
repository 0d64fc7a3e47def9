"""Checkpoints that survive a kill at any moment.

    OUT/run.json                what is being trained: another run's folder is refused
    OUT/checkpoints/step-N/     a standard transformers folder, and training_state.pt beside the weights
    OUT/latest, OUT/best        the name of a checkpoint folder, changed only once that folder is whole
    OUT/model/                  the finished model

A folder is written under another name, flushed to the disk and renamed; then the pointer is changed;
only then older folders go. A half-written folder is never pointed to.
"""

from __future__ import annotations

import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError

from equipoise.errors import UserError
from equipoise.files import atomic_write, read_json, read_text, write_json

STATE = "training_state.pt"
SCHEMA = 1


class Checkpoints:
    """The folders of one run; `keep` of the latest and the best stay."""

    def __init__(self, out: Path, keep: int = 2) -> None:
        self.out, self.keep = out, max(1, keep)
        self.folder = out / "checkpoints"

    def claim(self, identity: dict[str, Any]) -> None:
        """Take the output folder for this run, or find that it already is this run's."""
        path = self.out / "run.json"
        if path.exists():
            found = read_json(path)
            if found.get("schema", 0) > SCHEMA:
                raise UserError(f"{path}: written by a newer version of equipoise; update it to go on with this run")
            other = _differences(found.get("run", {}), identity)
            if other:
                raise UserError(
                    f"{self.out} holds another run:\n  "
                    + "\n  ".join(other)
                    + "\nChoose another --out, or delete that folder if its run is not wanted any more."
                )
            return
        if self.out.is_dir() and any(self.out.iterdir()):
            raise UserError(f"{self.out} is not empty and holds no run of equipoise train; choose another --out")
        write_json(path, {"schema": SCHEMA, "run": identity})

    @property
    def model(self) -> Path:
        return self.out / "model"

    def save(self, step: int, write_model: Callable[[Path], None], state: dict[str, Any], best: bool) -> Path:
        target = self.folder / f"step-{step:08d}"
        if not target.exists():
            with whole_folder(target) as part:
                write_model(part)
                torch.save(state, part / STATE)
        for pointer in ("latest", "best") if best else ("latest",):
            with atomic_write(self.out / pointer) as handle:
                handle.write(target.name + "\n")
        self._clean()
        return target

    def _clean(self) -> None:
        """Remove what is neither among the last nor the best, and what a kill left half-written."""
        done = sorted(path for path in self.folder.iterdir() if path.name.startswith("step-"))
        wanted = {*done[-self.keep :], self.pointed("latest"), self.pointed("best")}
        for path in self.folder.iterdir():
            if path not in wanted:
                shutil.rmtree(path, ignore_errors=True)

    def pointed(self, pointer: str) -> Path | None:
        """The folder a pointer names, if it is there."""
        path = self.out / pointer
        if not path.exists():
            return None
        folder = self.folder / read_text(path).strip()
        return folder if folder.is_dir() else None

    def state(self, folder: Path) -> dict[str, Any]:
        state: dict[str, Any] = torch.load(folder / STATE, map_location="cpu", weights_only=True)
        return state


@contextmanager
def whole_folder(target: Path) -> Iterator[Path]:
    """A new folder to write into; it becomes `target`, replacing it, when everything is on the disk."""
    target.parent.mkdir(parents=True, exist_ok=True)
    part = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}."))
    try:
        yield part
        part.chmod(0o755)
        for path in (*part.rglob("*"), part):
            _flush(path)
        if target.exists():
            shutil.rmtree(target)
        os.replace(part, target)
        _flush(target.parent)
    except (OSError, SafetensorError, RuntimeError) as error:
        if (isinstance(error, OSError) and error.errno == errno.ENOSPC) or "No space left" in str(error):
            raise UserError(
                f"{target}: the disk is full, so it could not be written; earlier checkpoints are whole"
            ) from error
        raise
    finally:
        shutil.rmtree(part, ignore_errors=True)


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _differences(found: dict[str, Any], wanted: dict[str, Any]) -> list[str]:
    return [
        f"{name}: there {found.get(name)!r}, here {wanted.get(name)!r}"
        for name in sorted({*found, *wanted})
        if found.get(name) != wanted.get(name)
    ]
