"""Commands that start at once because they load no torch, which takes seconds: all of them in one fresh process."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

TORCH = {"torch", "transformers", "ray", "peft", "lemminflect", "spacy"}
HELP = TORCH | {"pandas", "numpy", "pydantic", "pyarrow", "PIL", "jinja2", "rich.console", "hashlib"}
LIGHT = {  # one after the other: a line that loads something is named, and those after it are not blamed
    "import equipoise": HELP,
    "from equipoise.cli import app; app(['--help'])": HELP,
    "import equipoise; equipoise.load_items": TORCH | {"numpy", "pyarrow", "PIL", "jinja2"},
    "app(['bench', 'list'])": TORCH | {"numpy", "PIL"},
    "app(['perturb', '--list'])": TORCH | {"http.client", "PIL"},
    "from equipoise.language.forms import plural; plural('dog')": TORCH,
    "from equipoise.language import tagging; tagging.tag('a dog')": TORCH,
    "import equipoise.perturb, equipoise.perturb.run.engine": TORCH,
    "from equipoise.perturb import Caption, get_recipe, perturb_caption": TORCH,
    "perturb_caption(get_recipe('balanced'), Caption('a dog and a cat'))": TORCH,
    "from equipoise.benchmarks.registry import get, names; [*map(get, names())]": TORCH,
    "import equipoise.evaluation.run, equipoise.evaluation.metrics, equipoise.embedding.decoding": TORCH,
    "import equipoise.models": TORCH,
    "import equipoise.report.page, equipoise.study.page, equipoise.study.score, equipoise.view.server": TORCH,
    "import equipoise.world.scenes, equipoise.world.splits, equipoise.world.benchmarks": TORCH,
    "import equipoise.cli.machine": TORCH,
    "app(['train', 'list'])": TORCH,
    "import torch": set(),  # else all would be light
}
PRINTED = {
    "'train'": "hard_positives_kamath_2024",
    "--help": "perturb",
    "--list": "swap_pairs",
    "'bench'": "winoground",
}
PROGRAM = """
import contextlib, io, json, sys
for code, heavy in json.loads(sys.argv[1]):
    before = {*sys.modules}
    with contextlib.redirect_stdout(io.StringIO()) as said, contextlib.suppress(SystemExit):
        exec(code)
    print(json.dumps([[name for name in heavy if name in sys.modules and name not in before], said.getvalue()]))
"""


@pytest.fixture(scope="module")
def seen() -> dict[str, tuple[list[str], str]]:
    """The forbidden modules that each line loaded, and its output."""
    given = json.dumps([[code, sorted(heavy or TORCH)] for code, heavy in LIGHT.items()])
    done = subprocess.run([sys.executable, "-c", PROGRAM, given], capture_output=True, text=True, check=True)
    return dict(zip(LIGHT, map(json.loads, done.stdout.splitlines()), strict=True))


@pytest.mark.parametrize("code", LIGHT)
def test_it_loads_nothing_heavy(code: str, seen: dict[str, tuple[list[str], str]]) -> None:
    loaded, printed = seen[code]
    assert loaded == (["torch"] if code == "import torch" else [])
    for command, word in PRINTED.items():
        assert word in printed or command not in code
