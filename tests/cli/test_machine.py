from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path
from types import SimpleNamespace

import pytest
from packaging.requirements import Requirement

from equipoise.cli import machine


def installed(monkeypatch: pytest.MonkeyPatch, **versions: str | None) -> None:
    """Pretend that packages are there, in some version, or not."""
    real = machine._version
    monkeypatch.setattr(machine, "_version", lambda name: versions[name] if name in versions else real(name))


def test_report_on_this_machine() -> None:
    rows = {subject: (text, fine) for subject, text, fine in machine.report()}
    assert rows["python"][1] and rows["packages"][1] and rows["torch"][1]
    assert {"cpu", "torchvision", "extra openclip", "extra lora", "extra scale", "hub"} <= set(rows)
    assert {"embedding cache", "model cache"} <= set(rows)
    assert all(text for text, _ in rows.values())
    assert {"gpu", "cuda:0", "mps"} & set(rows)


def test_missing_and_old_packages_come_with_the_command(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, pyarrow=None, rich="1.0")
    _, text, fine = machine._packages()
    assert not fine and "rich>=14 (1.0 is installed)" in text
    assert "pip install 'pyarrow>=20' 'rich>=14'" in text


@pytest.mark.parametrize("name", machine.EXTRAS)
def test_extras(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    packages = machine.EXTRAS[name][0]
    for missing in packages:
        installed(monkeypatch, **{**dict.fromkeys(packages, "9.9"), missing: None})
        _, text, fine = machine._extra(name)
        assert not fine and f"{missing} not installed" in text and f"pip install 'equipoise[{name}]'" in text
    installed(monkeypatch, **dict.fromkeys(packages, "9.9"))
    _, text, fine = machine._extra(name)
    assert fine and text == f"{', '.join(f'{package} 9.9' for package in packages)}; {machine.EXTRAS[name][1]}"


def test_what_is_optional_breaks_nothing() -> None:
    rows = [("python", "3.1", False), ("extra lora", "absent", False)]
    assert machine.broken(rows) == ["python"]


def test_every_extra_is_known_with_its_packages() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    wanted = {
        extra: {Requirement(one).name for one in needed}
        for extra, needed in project["optional-dependencies"].items()
        if extra not in {"dev", "docs"}
    }
    assert {name: set(packages) for name, (packages, _) in machine.EXTRAS.items()} == wanted


def test_missing_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    installed(monkeypatch, torch=None)
    assert [(row[0], row[2]) for row in machine._devices()] == [("torch", False)]


def device_rows(monkeypatch: pytest.MonkeyPatch, folder: Path, cards: int, torch: str) -> list[machine.DoctorRow]:
    for number in range(cards):
        (folder / f"0000:0{number}").mkdir(parents=True, exist_ok=True)
        (folder / f"0000:0{number}" / "information").write_text("Model: \t NVIDIA H200\nIRQ: 5\n")
    monkeypatch.setattr(machine, "_CARDS", folder)
    installed(monkeypatch, torch=torch)
    return machine._devices()[1:]


def test_devices(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert [(row[0], row[2]) for row in device_rows(monkeypatch, tmp_path, 0, "2.15.0")] == [("gpu", True)]
    found = device_rows(monkeypatch, tmp_path, 2, "2.15.0")
    assert found == [("cuda:0", "NVIDIA H200", True), ("cuda:1", "NVIDIA H200", True)]
    ((_, text, fine),) = device_rows(monkeypatch, tmp_path, 1, "2.13.0+cpu")
    assert not fine and "CUDA build" in text, "a GPU that this torch cannot use"
    monkeypatch.setattr(machine.sys, "platform", "darwin")
    monkeypatch.setattr(machine.platform, "machine", lambda: "arm64")
    assert machine._devices()[1][0] == "mps"


@pytest.mark.parametrize(
    ("torch", "torchvision", "fits"),
    [
        ("2.13.0", "0.28.0", True),
        ("2.13.0+cpu", "0.28.0+cpu", True),
        ("2.13.0+cpu", "0.28.0", False),
        ("2.15.0", "0.28.0", False),
    ],
)
def test_torchvision_fits_torch(monkeypatch: pytest.MonkeyPatch, torch: str, torchvision: str, fits: bool) -> None:
    installed(monkeypatch, torchvision=None)
    assert machine._torchvision() == ("torchvision", "not installed, and not needed", True)
    installed(monkeypatch, torch=torch, torchvision=torchvision)
    monkeypatch.setattr(machine.metadata, "requires", lambda name: ["numpy", "torch==2.13.0"])
    _, text, fine = machine._torchvision()
    assert fine == fits and ("pip uninstall torchvision" in text) != fits


def test_hub_without_its_package(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """doctor is for broken installations: one without huggingface_hub must not stop it."""
    monkeypatch.setitem(sys.modules, "huggingface_hub", None)
    for name in ("HF_HUB_OFFLINE", "TRANSFORMERS_OFFLINE", "HF_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    (_, hub, _), (_, cache, _) = machine._hub()
    assert "may be downloaded" in hub and cache.startswith(f"{tmp_path / 'hub'},")
    monkeypatch.setenv("TRANSFORMERS_OFFLINE", "1")
    assert machine._hub()[0][1].startswith("TRANSFORMERS_OFFLINE set")


@pytest.mark.parametrize("name", ["HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME", ""])
def test_model_cache_is_where_the_hub_puts_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, name: str) -> None:
    for other in ("HF_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(other, raising=False)
    if name:
        monkeypatch.setenv(name, str(tmp_path))
    code = "from huggingface_hub import constants; print(constants.HF_HUB_CACHE)"
    asked = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip()
    assert machine._hub()[1][1].startswith(f"{asked},")


def test_folders(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    assert machine._folder("cache", tmp_path / "not/there/yet", "X")[2]
    (tmp_path / "file").write_text("")
    _, text, fine = machine._folder("cache", tmp_path / "file", "X")
    assert not fine and "export X=" in text
    monkeypatch.setattr(machine.shutil, "disk_usage", lambda path: SimpleNamespace(free=10**9))
    _, text, fine = machine._folder("cache", tmp_path, "X")
    assert not fine and "only 1.0 GB free" in text
