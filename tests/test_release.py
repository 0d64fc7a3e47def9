"""The promises of a release: one version everywhere, pins that agree, files that strangers look for."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

import equipoise

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def pins() -> dict[str, str]:
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    return dict(line.lower().split("==") for line in lines if "==" in line)


def test_one_version() -> None:
    assert re.search(r"(?m)^version: (.*)$", (ROOT / "CITATION.cff").read_text()).group(1) == equipoise.__version__  # type: ignore[union-attr]
    assert f"## {equipoise.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert "version" in PROJECT["dynamic"]


def test_hooks_have_the_pinned_versions() -> None:
    found = re.findall(r"\[(\w+)==([\d.]+)\]", (ROOT / ".pre-commit-config.yaml").read_text())
    assert found and all(pins()[name] == version for name, version in found)


@pytest.mark.parametrize("extra", ["", *PROJECT["optional-dependencies"]])
def test_every_dependency_is_pinned(extra: str) -> None:
    """Except open_clip, which brings torchvision: no build of it imports beside the CPU torch."""
    needed = PROJECT["optional-dependencies"][extra] if extra else PROJECT["dependencies"]
    names = {re.split(r"[\[<>=]", one)[0].lower() for one in needed} - {"open_clip_torch"}
    known = {name.replace("_", "-") for name in pins()}
    assert not {name for name in names if name.replace("_", "-") not in known}


def test_hosted_ci_is_the_same_ci() -> None:
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text()
    assert "run: .ci/run" in text and ".ci/versions" in text
    assert all(f'"{version}"' in text for version in ("3.11", "3.12", "3.13"))


def test_security_says_what_is_untrusted_refused_and_how_to_report() -> None:
    text = (ROOT / "SECURITY.md").read_text()
    assert all(part in text for part in ("What is untrusted", "refused", "What is not promised", "How to report"))


@pytest.mark.parametrize("name", [".pre-commit-config.yaml", ".github/workflows/ci.yml", "CITATION.cff"])
def test_yaml_is_yaml(name: str) -> None:
    yaml = pytest.importorskip("yaml", reason="PyYAML comes with transformers")
    assert isinstance(yaml.safe_load((ROOT / name).read_text()), dict)


def test_citation_has_what_forges_read() -> None:
    text = (ROOT / "CITATION.cff").read_text()
    for field in ("cff-version", "message", "title", "authors", "license"):
        assert re.search(rf"(?m)^{field}:", text), field
    assert f"license: {PROJECT['license']}" in text


@pytest.mark.parametrize("name", ["studies", ".ci", ".github", "bench", "constraints.txt", "docs", "examples", "tests"])
def test_a_source_distribution_holds_what_tests_open(name: str) -> None:
    lines = (ROOT / "MANIFEST.in").read_text().splitlines()
    assert (ROOT / name).exists() and any(name in line.split()[1:] for line in lines if not line.startswith("#"))
