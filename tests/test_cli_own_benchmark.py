"""`bench show`, and a benchmark of the user's own (py:) from the command line: shown, built, evaluated, refused."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import PAPER_METRICS

Run = Callable[..., tuple[int, str, str]]

MODULE = '''
import numpy as np
from equipoise.benchmarks.base import PAIR_CHANCE, Average, Benchmark
from equipoise.benchmarks.reading import Case, Raw, choose, read
from equipoise.data.items import ImageRef, texts

class Row(Raw):
    image: str
    caption: str
    foil: str
    group: str

def cases(split, key, row):
    yield Case(key, ImageRef(path=row.image), row.caption, texts(row.foil), tags={"group": row.group})

def load(source, splits):
    return read("toy", choose("toy", source, {"test": "test.jsonl"}, splits), Row, cases)

BENCH = Benchmark(
    name="toy", title="Toy: caption against foil", splits={"test": 6}, chance=PAIR_CHANCE, ties="a tie is right",
    licence="CC0", citation="Nobody 2024", url="https://example.org", get="Draw it.", load=load,
    averages={"mine": Average(("group",))},
)

def make():
    return BENCH

class Model:
    """Right where the caption says "right", whatever the image."""
    card = {"digest": "words"}
    def embed_images(self, images): return np.tile([1.0, 0.0], (len(images), 1))
    def embed_texts(self, texts): return np.array([[1.0, 0.0] if "right" in t else [0.9, len(t) / 99] for t in texts])
'''


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, command_line: Run, tmp_path: Path) -> Iterator[Run]:
    """Run a command in a folder with a module `toy_bench`, its annotations and its photos."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(sys, "path", list(sys.path))
    (tmp_path / "toy_bench.py").write_text(MODULE)
    Image.fromarray(np.zeros((8, 8, 3), np.uint8)).save(tmp_path / "0.png")
    rows = [  # the large group is answered wrongly, the small one rightly: 1 of 6, or the mean of 0 and 1
        {"image": "0.png", "caption": f"a cat {n}", "foil": "the right dog", "group": "large"} for n in range(5)
    ]
    rows.append({"image": "0.png", "caption": "the right cat", "foil": "a dog", "group": "small"})
    (tmp_path / "test.jsonl").write_text("\n".join(map(json.dumps, rows)))

    yield command_line
    for name in [name for name in sys.modules if name.startswith("toy_")]:
        del sys.modules[name]


def original(run: Run, bench: str, *more: str) -> tuple[float, dict[str, object]]:
    folder = f"out-{Path(bench).suffix.removeprefix('.') or 'py'}"
    code, _, error = run(
        "eval", "py:toy_bench:Model", "--bench", bench, "--out", folder, "--images", ".", "--skip-preflight", *more
    )
    assert code == 0, error
    record = json.loads(next(Path(folder).glob("*/result.json")).read_text())
    metrics = record["metrics"]
    shown = metrics["averages"].get(metrics["rule"], metrics["overall"])
    return shown["metrics"]["original"]["value"], record["benchmark"]


def test_a_benchmark_of_ones_own_keeps_its_averages(run: Run, tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    assert original(run, "py:toy_bench:BENCH") == original(run, "py:toy_bench:make")
    assert original(run, "py:toy_bench:BENCH")[0] == 0.5
    for file in ("built.jsonl", "built.parquet"):
        code, out, _ = run("bench", "build", "py:toy_bench:BENCH", "--source", ".", "--out", file)
        assert code == 0 and "wrote 6 items of toy" in out and f"{file}.benchmark.json" in out
        value, benchmark = original(run, file)
        assert value == 0.5 and benchmark["name"] == "toy"
    assert '"toy-test/5"' in (tmp_path / "built.jsonl").read_text()
    (tmp_path / "alone.jsonl").write_bytes((tmp_path / "built.jsonl").read_bytes())  # without what lay beside it
    assert not caplog.text
    code, _, _ = run("bench", "show", "alone.jsonl")
    assert code == 0 and "items of toy, a benchmark that is not known here" in caplog.text
    assert "the headline is the plain mean" in caplog.text


FACTS = """
title = "Toy: caption against foil"
ties = "a tie is right"
licence = "CC0"
citation = "Nobody 2024"
url = "https://example.org"
get = "Draw it."
splits = { test = 6 }
chance = { original = "1/2" }
averages = { mine = { path = ["group"] } }

[item]
file = "{split}.jsonl"
image = "{image}"
caption = "{caption}"
negative = "{foil}"
tags = { group = "{group}" }
"""


def test_a_file_of_facts_is_the_benchmark_that_a_module_is(run: Run, tmp_path: Path) -> None:
    (tmp_path / "toy.toml").write_text(FACTS)
    of_module = original(run, "py:toy_bench:BENCH")
    assert original(run, "toy.toml", "--source", ".") == of_module
    code, _, error = run("bench", "build", "toy.toml", "--source", ".", "--out", "built.jsonl")
    assert code == 0 and original(run, "built.jsonl") == of_module, error


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('"{split}.jsonl"', '"{kind}.jsonl"', ("toy.toml", "item.file", "{kind}")),
        ('"{image}"', '"{image.path}"', ("item.image", "{image.path}")),
        ('"{foil}"', '"{foil"', ("item.negative",)),
        ('"{foil}"', '"{wrong}"', ("test.jsonl", "wrong: field required")),
        ('"1/2"', "0.5", ("chance.original",)),
        ("test = 6", 'test = "many"', ("splits.test", '"many"')),
        ('["group"]', '["kind"]', ("tag kind: missing",)),
        ("[item]", "[items]", ("item: field required", "items: extra")),
        ('get = "Draw it."', "get = ", ("toy.toml", "not TOML")),
    ],
)
def test_mistakes_in_a_file_of_facts(run: Run, tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    assert old in FACTS
    (tmp_path / "toy.toml").write_text(FACTS.replace(old, new))
    code, _, error = run("bench", "build", "toy.toml", "--source", ".", "--out", "x.jsonl")
    assert code == 2 and "bug in equipoise" not in error
    for part in parts:
        assert part in error, error


def test_facts_of_other_items_are_not_used(run: Run, tmp_path: Path) -> None:
    run("bench", "build", "py:toy_bench:BENCH", "--source", ".", "--out", "built.jsonl")
    (tmp_path / "built.jsonl").write_text('{"id": "1", "caption": "a", "negatives": [{"text": "b"}]}\n')
    assert "items of built.jsonl" in run("bench", "show", "built.jsonl")[1]
    (tmp_path / "built.jsonl.benchmark.json").write_text('{"name": 3}')
    code, _, error = run("bench", "show", "built.jsonl")
    assert code == 2 and "built.jsonl.benchmark.json" in error and "name: input should be a valid string" in error


# ---------------------------------------------------------------------------- show


@pytest.mark.parametrize("name", registry.names())
def test_show_says_every_fact(run: Run, name: str) -> None:
    benchmark = registry.get(name)
    code, out, _ = run("bench", "show", name)
    text = " ".join(out.split())
    assert code == 0
    for fact in (
        benchmark.title,
        benchmark.licence,
        benchmark.citation,
        benchmark.url,
        benchmark.notes,
        benchmark.ties,
    ):
        assert " ".join(fact.split()) in text, fact
    assert " ".join(benchmark.get.split()) in text and " ".join(benchmark.by_hand.split()) in text
    assert all(part.url in out for part in benchmark.downloads)
    assert all(PAPER_METRICS[metric] in text for metric in benchmark.metrics)
    found = json.loads(run("bench", "show", name, "--json")[1])
    assert found["splits"] == dict(benchmark.splits) and found["macro"] == list(benchmark.macro)
    assert [part["url"] for part in found["downloads"]] == [part.url for part in benchmark.downloads]


def test_show_says_how_the_headline_is_averaged(run: Run) -> None:
    assert "headline the plain mean over all items" in " ".join(run("bench", "show", "winoground")[1].split())
    text = " ".join(run("bench", "show", "valse")[1].split())
    assert "the mean over the values of `phenomenon`, each the mean over its values of `split`" in text
    assert "fewer than 25 items are left out" in " ".join(run("bench", "show", "aro-vg-a")[1].split())


def test_show_ones_own(run: Run, tmp_path: Path) -> None:
    out = run("bench", "show", "py:toy_bench:BENCH")[1]
    assert "toy  Toy: caption against foil" in out and "a tie is right" in out and "values of `group`" in out
    (tmp_path / "mine.csv").write_text("image,caption,negative,split\n0.png,a,b,one\n0.png,c,d,two\n0.png,e,f,two\n")
    found = json.loads(run("bench", "show", "mine.csv", "--json")[1])
    assert found["splits"] == {"one": 1, "two": 2} and found["items"] == 3 and found["chance"] == {"original": 0.5}


def test_show_what_is_not_there(run: Run) -> None:
    for name, part in (
        ("sugarcrep", "Did you mean sugarcrepe"),
        ("absent.jsonl", "no such file"),
        ("py:toy_bench:BENCHH", "Did you mean BENCH"),
        ("py:toy_bench:load", "missing 2 required positional arguments: 'source' and 'splits'"),
        ("py:toy_bench:Model", "Model() returned Model"),
    ):
        code, _, error = run("bench", "show", name)
        assert code == 2 and part in error, error
    code, out, _ = run("bench", "show", "aro")  # four benchmarks
    assert code == 0 and all(name in out for name in ("aro-vg-r", "aro-vg-a", "aro-coco-order", "aro-flickr-order"))
    code, _, error = run("bench", "check", "aro")
    assert code == 2 and "name one of aro-vg-r" in error


# ---------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("old", "new", "parts"),
    [
        ('name="toy"', 'name="swap"', ("'swap' is a benchmark of this package",)),
        ('name="toy"', 'name="../toy"', ("expected letters",)),
        ('Average(("group",))', "Average(())", ("averages.mine.path: tuple should have at least 1 item",)),
        ('Average(("group",))', 'Average("group")', ("averages.mine.path: input should be a valid tuple",)),
        (
            'Average(("group",))',
            '("group",)',
            ("averages.mine: input should be a dictionary or an instance of Average",),
        ),
        ('{"mine": Average(("group",))}', '("group",)', ("averages: input should be a valid dictionary",)),
        ('"mine": ', '"items": ', ("averages.items: this name is the plain mean's",)),
        ("load=load,", 'load=load, metrics="ranks",', ("metrics: input should be a valid tuple",)),
        ("load=load,", 'load=load, metrics=("rank",),', ("no metric 'rank' (ranks, groups, ",)),
        ('Average(("group",))', 'Average(("kind",))', ("6 problems", "toy-test/0: tag kind: missing")),
        ('read("toy"', 'read("toys"', ("toys-test/0: id: expected toy-test/KEY",)),
        ("return read(", "return 1 / 0; read(", ("ZeroDivisionError", "toy_broken.py, line 17: return 1 / 0")),
        ("return read(", "return []; read(", ("gave no list of Items",)),
        ("import numpy", "import nunpy", ("ModuleNotFoundError", "toy_broken.py, line 2: import nunpy")),
    ],
)
def test_mistakes_in_ones_own_benchmark(run: Run, tmp_path: Path, old: str, new: str, parts: tuple[str, ...]) -> None:
    assert old in MODULE
    (tmp_path / "toy_broken.py").write_text(MODULE.replace(old, new))
    code, _, error = run("bench", "build", "py:toy_broken:BENCH", "--source", ".", "--out", "x.jsonl")
    assert code == 2 and "bug in equipoise" not in error
    for part in parts:
        assert part in error, error
