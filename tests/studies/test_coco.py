"""studies/coco: the paper's rule for REPLACE, how shares were chosen, both parts of a model with a matching head."""

from __future__ import annotations

import importlib
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parents[2]
TABLES = ROOT / "docs" / "appendix" / "tables" / "coco"


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


COUNTED: dict[tuple[str, str], tuple[list[str], Any]] = {  # table, head: tests, and which outcomes count
    ("every-recipe-on-balanced-and-swaps", "REPLACE: Aug."): (
        ["replace_attributes", "replace_relations"], lambda c, p, n: (c > n) & (p > n),
    ),
    ("every-recipe-on-balanced-and-swaps", "REPLACE: Brit."): (
        ["replace_attributes", "replace_relations"],
        lambda c, p, n: ((c > n) & (p < n)) | ((c < n) & (p > n)),
    ),
    ("every-recipe-on-balanced-and-swaps", "VSR inverse: Aug."): (["vsr_inverse"], lambda c, p, n: (c > n) & (p > n)),
    ("hard-positive-paper-table-1", "our swaps: drop"): (["swap"], lambda c, p, n: (c > n) & (p <= n)),
    ("hard-positive-paper-table-7", "relations: original"): (["replace_relations"], lambda c, p, n: c > n),
    ("hard-positive-paper-table-10", "image R@1"): (["t2i"], lambda rank: rank < 1),
    ("hard-positive-paper-table-10", "ImageNet acc@5"): (["imagenet/ranks"], lambda rank: rank < 5),
    ("ce-clip-tables-1-and-2", "VALSE coreference"): (["coreference"], lambda c, p, n: c > n),
    ("ce-clip-table-5", "VALSE, two parts"): (["foil", "coreference"], lambda c, p, n: c > n),
    ("ce-clip-fig-4-and-5a", "swapped attributes"): (["sugarcrepe:swap_att"], lambda c, p, n: c > n),
}  # fmt: skip
ROWS = {
    "base": "base", "captions alone": "control", "ce_clip_zhang_2024": "ce-clip-swaps", "equipoise_2026": "ours-swaps",
    "negatives of action alone": "ce-clip-action",
}  # fmt: skip


def scores_of(kept: dict[str, Any], model: str, test: str) -> Any:
    """The scores of all items of a test, or of a group."""
    name, _, group = test.partition(":")
    return kept[f"{model}/{name}"][:, kept[f"{name}/relation"] == group] if group else kept[f"{model}/{name}"]


def test_levels_are_what_the_kept_scores_give() -> None:
    """Counted here, not by the code that made the tables: means over three bases, then over tests."""
    with np.load(ROOT / "studies/coco/results/a.npz") as held:
        kept = {name: held[name] for name in held.files}
    seen = set()
    for (file, head), (tests, counts) in COUNTED.items():
        first, *rows = (line.split("\t") for line in (TABLES / f"{file}.tsv").read_text("utf-8").splitlines())
        column = [name.partition(" (n =")[0] for name in first].index(head)
        for row in (row for row in rows if row[0] in ROWS):
            scores = [scores_of(kept, f"{ROWS[row[0]]}-{base}", test) for test in tests for base in range(3)]
            found = [counts(*one.astype(int)) if one.ndim == 2 else counts(one) for one in scores]
            wanted = 100 * np.mean([one.mean() for one in found])
            assert float(row[column]) == pytest.approx(wanted, abs=0.0501), (file, head, row[0])
            seen.add(row[0])
    assert seen == set(ROWS)
