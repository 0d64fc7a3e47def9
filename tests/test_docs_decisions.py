"""docs/appendix/decisions.md is what the docstrings say."""

from __future__ import annotations

import importlib.util
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def test_the_page_is_made_from_the_docstrings() -> None:
    spec = importlib.util.spec_from_file_location("write_decisions", ROOT / "studies" / "write_decisions.py")
    assert spec is not None and spec.loader is not None
    script = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    written = (ROOT / "docs" / "appendix" / "decisions.md").read_text(encoding="utf-8")
    assert written == script.page(), "run: python -m studies.write_decisions"
    for expected in ("IMC", "CMR", "`negclip_yuksekgonul_2023`", "**sugarcrepe**", "a tie is never a win"):
        assert expected in written
