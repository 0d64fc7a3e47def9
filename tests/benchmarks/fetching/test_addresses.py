"""The addresses that benchmarks name are sound, and are what their loaders read."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from equipoise.benchmarks import registry
from equipoise.benchmarks.fetching.fetch import plan, wrong

ADDRESSES = {name: found for name in registry.names() if (found := registry.get(name).downloads)}


def test_addresses_are_sound(whole_data: Path | None) -> None:
    """Hashes are well formed; where the real files are at hand, the table's sizes and hashes are theirs."""
    folders = {"sugarcrepe": "sugarcrepe", "sugarcrepe-pp": "sugarcrepe_pp", "valse": "valse", "negclip": "negclip"}
    folders |= {"vl-checklist": "vl_checklist", "replace": "vl_checklist"}
    pinned = compared = 0
    for name, downloads in ADDRESSES.items():
        for download in downloads:
            assert download.sha256 is None or re.fullmatch("[0-9a-f]{64}", download.sha256), (name, download.to)
            pinned += name in folders and download.sha256 is not None
            path = (whole_data or Path("-")) / folders.get(name, "-") / download.to
            if path.is_file():
                assert wrong(path, download) == "" and download.sha256, (name, download.to)
                compared += 1
    assert pinned >= 6 + 4 + 9 + 1 + 7
    assert whole_data is None or compared >= 6 + 4 + 9 + 1 + 7


FILES = {  # whose files are not named as the splits
    "negclip": {"valid_neg_clip"},
    "visla": {"Generic_VISLA", "Spatial_VISLA"},
    "predicate-noun": {"eval_set"},
    "predicate-noun-cropped": {"eval_set"},
    "cola": {"COLA_multiobjects_matching_benchmark"},
}


@pytest.mark.parametrize("name", ADDRESSES)
def test_addresses_are_what_the_loader_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")  # asks nobody
    bench = registry.get(name)
    todo = plan(bench, tmp_path)
    assert len({step.path for step in todo.steps}) == len(ADDRESSES[name])
    assert todo.get == bench.by_hand
    annotations = {step.download.to.rpartition(".")[0] for step in todo.steps if not step.download.unpack}
    if name in FILES:
        assert annotations == FILES[name]
    elif name.startswith("vsr"):  # where its repository keeps them: every split's file is called test.jsonl
        assert annotations == {f"splits/{split}/test" for split in bench.splits}
    elif not name.startswith("replace"):
        assert annotations == set(bench.splits)
