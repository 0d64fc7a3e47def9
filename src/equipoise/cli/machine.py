"""equipoise doctor: what this machine can do, what is missing and how to install it, and the checks of a model.

Packages are looked up by their metadata and never imported: that is quick, and a broken one does no harm.
"""

from __future__ import annotations

import json
import os
import platform
import shutil
import sys
from collections.abc import Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import typer
from packaging.requirements import Requirement

from equipoise.core.errors import UserError, printable
from equipoise.core.provenance import cores, default_cache
from equipoise.core.provenance import package_version as _version
from equipoise.report import fold

if TYPE_CHECKING:
    from equipoise.evaluation.record import Check

DoctorRow = tuple[str, str, bool]  # subject; what was found, or how to get it; fine?

LEAST_FREE = 2 * 10**9  # bytes: the embeddings of all benchmarks for a handful of models
EXTRAS = {  # extra -> its packages, and what it is for
    "openclip": (("open_clip_torch",), "models named openclip:ARCH/PRETRAINED"),
    "lora": (("peft",), "training with LoRA (--set lora=...)"),
    "siglip": (("sentencepiece", "protobuf"), "SigLIP models, whose tokenizer needs it"),
    "scale": (("ray",), "perturb --engine ray: corpora that outgrow one process"),
    "tensorboard": (("tensorboard",), "train --log tensorboard"),
    "wandb": (("wandb",), "train --log wandb"),
}
OPTIONAL = {f"extra {name}" for name in EXTRAS}  # nothing is wrong where they are absent
_CARDS = Path("/proc/driver/nvidia/gpus")


def report() -> list[DoctorRow]:
    """One row for each subject. False: it does not work, or an extra is not installed."""
    return [
        ("python", f"{platform.python_version()} ({sys.executable})", True),
        _packages(),
        _processor(),
        *_devices(),
        _torchvision(),
        *(_extra(name) for name in EXTRAS),
        _folder("embedding cache", default_cache(), "EQUIPOISE_CACHE"),
        *_hub(),
    ]


def broken(rows: list[DoctorRow]) -> list[str]:
    """The names of the rows that do not work, without the extras."""
    return [name for name, _, fine in rows if not fine and name not in OPTIONAL]


def check_model(spec: str, as_json: bool) -> int:
    """Print the checks of a model; the exit code."""
    from equipoise.evaluation.preflight.checks import BASIC, name_of
    from equipoise.evaluation.preflight.judging import checked
    from equipoise.models import load_model

    preflight = checked(load_model(spec), spec, default_cache())
    if preflight is None:
        raise UserError(f"{spec}: doctor checks models that look at pictures; this one reads texts alone")
    if as_json:
        typer.echo(json.dumps([check.model_dump() for check in preflight.checks], indent=2))
    else:
        show_checks(preflight.checks)
        last = preflight.checks[-1]
        stops = last.verdict == "wrong" and last.name in map(name_of, BASIC)
        stopped = "; the other checks come after this fix" if stops else ""
        typer.echo(f"{spec}: {preflight.words()}{stopped}")
    return 1 if preflight.wrong else 0


def show_checks(checks: Sequence[Check], *, err: bool = False) -> None:
    for check in checks:
        typer.echo(
            fold(f"{check.verdict:10}  {check.name:16}  {printable(' '.join(check.found.split()))}", hang=30), err=err
        )
        if check.fix:
            typer.echo(fold(f"{'':30}{check.why}\n{'':30}fix: {check.fix}", hang=30), err=err)


def _packages() -> DoctorRow:
    """The packages equipoise itself asks for, each there and new enough."""
    needed = [Requirement(text) for text in metadata.requires("equipoise") or []]
    needed = [package for package in needed if package.marker is None or package.marker.evaluate({"extra": ""})]
    lacking = [
        f"{package} ({'not installed' if found is None else f'{found} is installed'})"
        for package in needed
        if not ((found := _version(package.name)) and package.specifier.contains(found, prereleases=True))
    ]
    if lacking:
        names = " ".join(f"'{text.split(' (')[0]}'" for text in lacking)
        return "packages", f"missing or too old: {', '.join(lacking)}; run: pip install {names}", False
    return "packages", f"all {len(needed)} installed, with transformers {_version('transformers')}", True


def _processor() -> DoctorRow:
    words = f"{cores()} core{'s' if cores() > 1 else ''}"
    if hasattr(os, "sysconf"):  # not on Windows
        words += f", {_gigabytes(os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE'))} of memory"
    return "cpu", words, True


def _devices() -> list[DoctorRow]:
    """torch and the graphics cards, by what the system says of them: importing torch takes seconds."""
    version = _version("torch")
    if version is None:
        return [("torch", "not installed; run: pip install torch (https://pytorch.org for the right build)", False)]
    torch = ("torch", version, True)
    if sys.platform == "darwin" and platform.machine() == "arm64":
        return [torch, ("mps", "Apple GPU, sharing the machine's memory", True)]
    cards = [
        line.partition(":")[2].strip()
        for file in sorted(_CARDS.glob("*/information"))
        for line in file.read_text().splitlines()
        if line.startswith("Model:")
    ]
    if cards and "+cpu" in version:
        fix = "but this torch is a CPU build: get a CUDA build from https://pytorch.org"
        return [torch, ("gpu", f"{', '.join(cards)}; {fix}", False)]
    if cards:
        return [torch, *((f"cuda:{index}", card, True) for index, card in enumerate(cards))]
    return [torch, ("gpu", "no NVIDIA GPU: everything works, on the CPU", True)]


def _torchvision() -> DoctorRow:
    """Not needed; but a build that does not fit torch breaks transformers and open_clip, with a puzzling message."""
    version, torch = _version("torchvision"), _version("torch") or ""
    if version is None:
        return "torchvision", "not installed, and not needed", True
    needed = [Requirement(text) for text in metadata.requires("torchvision") or []]
    fits = all(package.specifier.contains(torch, prereleases=True) for package in needed if package.name == "torch")
    if fits and ("+cpu" in torch) == ("+cpu" in version):
        return "torchvision", version, True
    return (
        "torchvision",
        f"{version} is not the build for torch {torch}: transformers and open_clip may fail to import. equipoise does "
        "not need it; run: pip uninstall torchvision",
        False,
    )


def _extra(name: str) -> DoctorRow:
    packages, use = EXTRAS[name]
    versions = {package: _version(package) for package in packages}
    if lacking := [package for package, version in versions.items() if version is None]:
        fix = f"only for {use}; run: pip install 'equipoise[{name}]'"
        return f"extra {name}", f"{' and '.join(lacking)} not installed; {fix}", False
    return (
        f"extra {name}",
        ", ".join(f"{package} {version}" for package, version in versions.items()) + f"; {use}",
        True,
    )


def _hub() -> list[DoctorRow]:
    """The Hugging Face hub: whether models may be downloaded, and where its files are, by its own rules."""
    text = "models may be downloaded; HF_HUB_OFFLINE=1 forbids it"
    names = ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE")
    if flags := [name for name in names if os.environ.get(name, "").lower() in {"1", "true", "yes", "on"}]:
        text = f"{' and '.join(flags)} set: only models and files that are here already; unset to download"
    base = os.environ.get("XDG_CACHE_HOME") or "~/.cache"
    home = os.environ.get("HF_HOME") or f"{base}/huggingface"
    cache = Path(os.environ.get("HF_HUB_CACHE") or f"{home}/hub").expanduser()
    return [("hub", text, True), _folder("model cache", cache, "HF_HOME")]


def _folder(subject: str, folder: Path, variable: str) -> DoctorRow:
    there = next(parent for parent in (folder, *folder.absolute().parents) if parent.exists())
    elsewhere = f"name another folder: export {variable}=/path"
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        return subject, f"{folder} cannot be written to; {elsewhere}", False
    free = shutil.disk_usage(there).free
    if free < LEAST_FREE:
        return subject, f"{folder}, only {_gigabytes(free)} free; make room, or {elsewhere}", False
    return subject, f"{folder}, {_gigabytes(free)} free", True


def _gigabytes(count: int) -> str:
    return f"{count / 1e9:.1f} GB"
