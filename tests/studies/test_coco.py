"""studies/coco: the paper's rule for REPLACE, how shares were chosen, both parts of a model with a matching head."""

from __future__ import annotations

import importlib
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> Any:
    return importlib.import_module(f"studies.coco.{name}")


def test_an_averaged_model_may_lose_as_much_recall_as_the_limit_says() -> None:
    kept = load("kept")
    control = {f"{kind}/augmented": 50.0 for kind in kept.CHOSEN_ON}
    control |= {f"{way}@{top}": 40.0 for way in ("t2i", "i2t") for top in (1, 5, 10)}
    more = {key: value + 5 if key.endswith("/augmented") else value - 0.4 for key, value in control.items()}
    assert kept.worth(more, control, 0.5) > kept.worth(control, control, 0.5)
    assert kept.worth(more, control, 0.3) < kept.worth(control, control, 0.3)


def test_replace_is_the_mean_of_its_two_parts() -> None:
    """As in the paper: 572 attributes weigh as much as 986 relations, in levels and in differences."""
    kept = load("kept")
    parts = [kept.scores("m")[f"control-0/{part}"] for part in kept.JOINED["replace"]]
    assert [part.shape[1] for part in parts] == [986, 572]
    wanted = 100 * np.mean([((c > 0) & (p > 0)).mean() for c, p in parts])
    assert kept.level("m", "control", "replace", "augmented", [0]) == pytest.approx(wanted)
    pair = ("ours", "control")
    bases = kept.seeds("m", *pair)
    after, before = (kept.level("m", name, "replace", "augmented", bases) for name in pair)
    found = kept.compared(("m", *pair, "replace", "augmented"))
    assert 100 * found.difference == pytest.approx(after - before)


def test_the_table_has_both_parts_of_a_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    table, rng = load("table"), np.random.default_rng(0)
    monkeypatch.setattr(load("kept"), "RESULTS", tmp_path)
    kinds = [part for kind in table.KINDS for part in table.JOINED.get(kind, (kind,))]
    held: dict[str, Any] = {f"{kind}/photo": np.arange(20) for kind in kinds}
    lines = []
    for name in ("control", "control-itm", "ce-xvlm", "ce-xvlm-itm"):
        right = 1.0 if name == "ce-xvlm-itm" else -1.0
        held |= {f"{name}-0/{kind}": np.full((2, 20), right) + rng.normal(0, 0.1, (2, 20)) for kind in kinds}
        found = {f"{way}@{top}": 40.0 for way in ("t2i", "i2t") for top in (1, 5, 10)}
        lines.append(json.dumps({"stage": "final", "name": name, "seed": 0, "found": found}))
    np.savez(tmp_path / "x.npz", **held)
    (tmp_path / "x.jsonl").write_text("\n".join(lines))
    table.fused()
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:] if line]
    assert [(row[0][2:], row[1], row[2]) for row in rows] == [
        (table.FUSED["control"], "cosine", "0.0"),
        (table.FUSED["control"], "matching head", "0.0"),
        (table.FUSED["ce-xvlm"], "cosine", "0.0"),
        (table.FUSED["ce-xvlm"], "matching head", "100.0"),
    ]
    changes = table.corrected(table.family(["x"], table.FUSED_PAIRS))
    assert {tuple(pair) for _, *pair, _, _ in changes} == {("ce-xvlm", "control"), ("ce-xvlm-itm", "control-itm")}
    assert changes["x", "ce-xvlm-itm", "control-itm", "replace", "augmented"].difference == 1


@pytest.mark.slow
def test_levels_of_every_recipe_are_what_the_kept_scores_give() -> None:
    """By a script that imports nothing of ours."""
    script = ROOT / "studies/recompute.py"
    assert not any(line.startswith(("from studies", "from equipoise")) for line in script.read_text().splitlines())
    command = [sys.executable, str(script), "coco", "--cells", "200", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "200 of 200 cells" in done.stdout, done.stdout + done.stderr
