"""The program and machine that made a result or a trained model."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import subprocess
from pathlib import Path

from pydantic import BaseModel, ConfigDict

import equipoise

PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "pillow")  # numbers may depend on these


class CodeRevision(BaseModel):
    """The commit of a checkout, and whether its files were changed since."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    revision: str
    dirty: bool


class Environment(BaseModel):
    """The versions and platform that numbers may depend on besides model and data."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)
    equipoise: str
    code: CodeRevision | None  # None if the package is installed: its version is enough
    python: str
    platform: str
    packages: dict[str, str | None]


def environment() -> Environment:
    return Environment(
        equipoise=equipoise.__version__,
        code=code_revision(),
        python=platform.python_version(),
        platform=f"{platform.system()} {platform.machine()}",
        packages={name: package_version(name) for name in PACKAGES},
    )


def default_cache() -> Path:
    """$EQUIPOISE_CACHE, else the user's cache folder."""
    if chosen := os.environ.get("EQUIPOISE_CACHE"):
        return Path(chosen)
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "equipoise"


def package_version(package: str) -> str | None:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None


def code_revision() -> CodeRevision | None:
    """None if the package does not run from a checkout."""
    here = Path(__file__).parents[1]

    def git(*arguments: str) -> str:
        command = ["git", "-C", str(here), *arguments]
        return subprocess.run(command, capture_output=True, text=True, check=True, timeout=10).stdout.strip()

    try:
        git("ls-files", "--error-unmatch", "__init__.py")
        return CodeRevision(
            revision=git("rev-parse", "HEAD"), dirty=bool(git("status", "--porcelain", "--", str(here)))
        )
    except (OSError, subprocess.SubprocessError):
        return None


def cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
