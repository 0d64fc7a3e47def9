"""A recipe of the user's own that takes its parts from another file: other parts are another run."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file


def test_what_the_file_of_a_recipe_imports_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("captions.txt").write_text("a red car next to a small dog\ntwo cats on a wooden table\n")
    Path("own_top.py").write_text("from own_choice import NAME\nfrom equipoise.perturb import get_recipe\n\n"
                                  "mine = get_recipe(NAME)\n")  # fmt: skip
    names = {}
    for name in ("negclip_yuksekgonul_2023", "hard_positives_rules"):
        Path("own_choice.py").write_text(f"NAME = {name!r}\n")
        setup = Setup("py:own_top:mine", keep_all=True)
        names[name] = setup.recipe().name, setup.identity()["source"]
        if len(names) == 1:
            perturb_file("captions.txt", "out.jsonl", setup)
    assert len(set(map(str, names.values()))) == 2 and [*names] == [recipe for recipe, _ in names.values()]
    with pytest.raises(UserError, match="another run"):
        perturb_file("captions.txt", "out.jsonl", setup)
