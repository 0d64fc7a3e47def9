"""The blocks of docs/appendix/trainers.md, each where its package is installed."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest
from tests.docs_blocks import _python, _shell, blocks

PAGE = Path(__file__).resolve().parents[2] / "docs" / "appendix" / "trainers.md"


@pytest.mark.slow
def test_every_block_runs_where_its_package_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    setup, *code = blocks(PAGE)
    assert [block.excuse.split()[1] if block.excuse else "accelerate" for block in code] == [
        "accelerate", "sentence_transformers", "open_clip", "lightning",
    ]  # fmt: skip
    _shell(setup, tmp_path)
    names: dict[str, Any] = {"__name__": "__main__"}
    kept = {"accelerate": "run/equipoise-best/model.safetensors", "sentence_transformers": "run-sentence/checkpoint-4"}
    kept |= {"open_clip": "run-open/equipoise-best.pt", "lightning": "run-lightning/equipoise-best.ckpt"}
    for block, (package, result) in zip(code, kept.items(), strict=True):
        if find_spec(package) is None:
            continue
        _python(block, names, tmp_path)
        assert (tmp_path / result).exists(), block
