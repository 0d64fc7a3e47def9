"""The Python API as docs/python.md shows it: every input it takes, what comes back, and its errors."""

from __future__ import annotations

import inspect
import rlcompleter
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from tests.docs_blocks import blocks

import equipoise as eq
from equipoise.data.items import load_items, write_items
from equipoise.world.splits import make_world

ROOT = Path(__file__).resolve().parents[2]


class Colour:
    """Mean colours against words: a model without a card."""

    def embed_images(self, images: Any) -> Any:
        return np.stack([np.asarray(image.convert("RGB"), dtype=float).mean((0, 1)) - 128 for image in images])

    def embed_texts(self, texts: Any) -> Any:
        return np.array([[text.count(word) + 0.01 for word in ("red", "green", "blue")] for text in texts])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("world")
    make_world(60, 0, found, "test")
    return found


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)


@pytest.fixture(scope="module")
def pairs(folder: Path) -> list[tuple[str, str]]:
    return [(item.image.path, item.caption) for item in eq.load_items(folder / "test-0.jsonl") if item.image]


def test_names_are_offered_by_tab() -> None:
    offered = {rlcompleter.Completer({"eq": eq}).complete("eq.ev", 0)}
    assert offered == {"eq.evaluate("} and {
        "audit",
        "doctor",
        "perturb",
        "compare",
        "report",
        "train",
        "metrics",
    } <= set(dir(eq))
    assert "recipe" in inspect.signature(eq.perturb).parameters  # a package that is called like a function


def test_captions_to_page(folder: Path, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    items = eq.perturb(pairs, recipe="balanced")
    assert "hard positives" in repr(items) and len(items[:3]) == 3 and "<table>" in items._repr_html_()
    assert items[0].caption in items._repr_html_()
    old = eq.evaluate("world", items, images=folder, label="old")
    new = eq.evaluate(Colour(), items, images=folder)
    assert new.label == "Colour" and "old" in repr(old) and len(repr(old)) < 600
    assert (
        0 <= (old["original"] or 0) <= 100
        and repr(old.table()) == str(old.table())
        and "<pre>" in old.table()._repr_html_()
    )
    assert "Brittleness" in old._repr_html_() and "s(c)" not in old.table() and "s(c)" in old.table(verbose=True)
    diff = eq.compare(old, new)
    assert diff.worse("augmented", by=1.0) and not eq.compare(new, old).worse("augmented")
    assert repr(diff).startswith("items: Colour against old") and "Augmented" in diff._repr_html_()
    for found, said in ((old, "ranks the caption above every"), (diff, "items: Colour against old")):
        assert repr(found).count(said) == found._repr_html_().count(said) == 1, "the conclusion is shown once"
    assert old._repr_html_().startswith("<p>old: ")
    page = eq.report([old, new], "report.html")
    text = page.read_text()
    assert "Colour" in text and "data:image" in text and str(tmp_path) not in text.split("Provenance")[0]


@pytest.mark.slow
def test_every_kind_of_pictures_gives_the_same(folder: Path, pairs: list[tuple[str, str]]) -> None:
    items = eq.perturb(pairs)
    opened = {name: Image.open(folder / name) for name, _ in pairs}
    by_folder = eq.evaluate("world", items, images=folder)["original"]
    assert eq.evaluate("world", items, images=opened)["original"] == by_folder
    assert eq.evaluate("world", items, images=lambda name: folder / name)["original"] == by_folder
    assert eq.evaluate("world", items, images=lambda name: (folder / name).read_bytes())["original"] == by_folder
    held = eq.perturb([(opened[name], caption) for name, caption in pairs])  # a column of pictures
    assert eq.evaluate("world", held)["original"] == by_folder
    assert eq.evaluate("world", held, images=[opened[name] for name, _ in pairs])["original"] == by_folder
    absolute = eq.perturb([(str(folder / name), caption) for name, caption in pairs])
    assert eq.evaluate("world", absolute)["original"] == by_folder


def test_captions_of_one_image_are_put_together(pairs: list[tuple[str, str]]) -> None:
    (first, a), (second, b) = pairs[0], pairs[2]
    mixed = [(first, a), (second, b), (first, f"{a} outside")]
    assert [item.image.path for item in eq.perturb(mixed, keep_all=True) if item.image] == [first, first, second]


def test_a_transformers_model_stays_as_it_was(folder: Path) -> None:
    transformers = pytest.importorskip("transformers")
    base = ROOT / "src" / "equipoise" / "world" / "base"
    model = transformers.CLIPModel.from_pretrained(base).train()
    tokenizer = transformers.AutoTokenizer.from_pretrained(base)
    processor = transformers.CLIPProcessor(transformers.CLIPImageProcessorPil.from_pretrained(base), tokenizer)
    items = eq.load_items(folder / "test-0.jsonl")
    run = eq.evaluate((model, processor), items, images=folder)
    assert run["original"] == eq.evaluate("world", items, images=folder)["original"] and model.training
    with pytest.raises(eq.UserError, match=r"pass \(model, processor\)"):
        eq.evaluate(model, items, images=folder)


def test_a_run_is_saved_read_and_compared_by_folder(folder: Path, tmp_path: Path) -> None:
    file = folder / "test-0.jsonl"
    first = eq.evaluate("world", file, images=folder, out="kept")
    again = eq.evaluate("world", file, images=folder, out="kept")
    assert again.read_from is not None and again["original"] == first["original"]
    other = eq.evaluate(Colour(), file, images=folder)
    other.save("saved")
    assert eq.compare("kept", "saved").worse("original")
    with pytest.raises(eq.UserError, match="already holds a run"):
        other.save("saved")


@pytest.mark.slow
def test_training_returns_a_model(folder: Path) -> None:
    items = eq.load_items(folder / "test-0.jsonl")
    small = {"quick": True, "max_steps": 2, "batch_size": 16}
    tuned = eq.train("hard_positives_kamath_2024", items, "world", images=folder, **small)
    assert Path("runs/hard_positives_kamath_2024/model/model.safetensors").is_file()
    assert eq.evaluate(tuned, items, images=folder)["original"] is not None
    again = eq.train("hard_positives_kamath_2024", items, "world", images=folder, **small)
    assert again.card["weight_sha256"] == tuned.card["weight_sha256"]
    with pytest.raises(eq.UserError, match="Did you mean lr"):
        eq.train("hn_only", items, "world", images=folder, learning_rate=1)


def test_scores_of_a_list() -> None:
    found = eq.metrics([{"id": "a", "caption": 0.3, "positives": [0.2], "negatives": [0.25]}])
    assert found["original"] == 100 and found["brittleness"] == 100 and "1 items" in repr(found)
    with pytest.raises(eq.UserError, match=r"^scores: 1 problem"):
        eq.metrics([{"id": "a", "caption": "0.3", "negatives": [0.25]}])
    with pytest.raises(eq.UserError, match=r"^nofile.csv"):
        eq.metrics("nofile.csv")
    with pytest.raises(eq.UserError, match=r"no metric 'brittlenes'.* Did you mean brittleness"):
        found["brittlenes"]


def test_plain_rows_are_read_like_a_frame(pairs: list[tuple[str, str]]) -> None:
    scores = [{"caption": 0.3, "negative": 0.1, "kind": "a"}, {"caption": 0.2, "negative": 0.1, "negative_2": 0.3}]
    assert eq.metrics(scores)["original"] == 50
    rows = [{"image": image, "caption": caption} for image, caption in pairs[:10]]
    assert list(eq.perturb(rows)) == list(eq.perturb(pairs[:10]))


def test_errors_name_arguments(folder: Path, pairs: list[tuple[str, str]], tmp_path: Path) -> None:
    items = eq.perturb(pairs[:20])
    wrong: list[tuple[Any, str]] = [
        (lambda: eq.evaluate("world", items), "images"),
        (lambda: eq.evaluate("world", items, images=tmp_path / "none"), "no such folder"),
        (lambda: eq.evaluate("world", items, images=3), "images: int; expected a folder, a dict"),
        (lambda: eq.evaluate("world", items, images=folder, device="tpu"), "device tpu is not known"),
        (lambda: eq.evaluate(Colour, items, images=folder), r"Colour is a class; pass a model: Colour\(...\)"),
        (
            lambda: eq.evaluate(object(), items, images=folder),
            "nor score_pairs, nor answer",
        ),
        (lambda: eq.evaluate("world", 3), "items: int; expected items"),
        (lambda: eq.perturb(3), "expected a file, a DataFrame"),
        (lambda: eq.perturb(["a dog"]), r"row 0: expected \(image, caption\)"),
        (lambda: eq.perturb(pairs, recipe="balanzed"), "Did you mean balanced"),
        (lambda: eq.compare("one"), "two runs or more"),
        (lambda: eq.report([], "page.txt"), "out page.txt: the page is HTML"),
    ]
    for call, words in wrong:
        with pytest.raises(eq.UserError, match=words) as caught:
            call()
        assert "--" not in str(caught.value)


def test_a_command_in_an_error_stays_a_command() -> None:
    from equipoise.api.inputs import in_arguments

    said = "name it with --images DIR, or run: equipoise perturb a.csv --out b.jsonl"
    assert in_arguments(said) == "name it with images, or run: equipoise perturb a.csv --out b.jsonl"


def test_frames_need_pandas_and_say_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(eq.UserError, match="pip install pandas"):
        eq.metrics([{"id": "a", "caption": 0.3, "negatives": [0.25]}]).to_frame()


# ---------------------------------------------------------------------------- with pandas, Jupyter


def test_frames(folder: Path, pairs: list[tuple[str, str]]) -> None:
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame(pairs, columns=["image", "caption"])
    items = eq.perturb(table)
    assert list(items.to_frame().columns[:5]) == ["id", "image", "caption", "positives", "negatives"]
    run = eq.evaluate("world", items, images=folder)
    frame, each = run.to_frame(), run.items.to_frame()
    assert frame.loc[0, "original"] == run["original"] and len(each) == frame.loc[0, "n"]
    assert round(100 * each["original"].mean(), 6) == round(run["original"], 6)
    assert set(eq.compare(run, run).to_frame()["metric"]) >= {"original", "brittleness"}
    renamed = table.rename(columns={"caption": "said", "image": "photo"})
    assert len(eq.perturb(renamed, caption="said", image="photo")) == len(items)
    with pytest.raises(eq.UserError, match="no column caption; found photo, said"):
        eq.perturb(renamed)
    scores = pandas.DataFrame({"caption": [0.3, 0.2], "negative": [0.1, 0.3]})
    assert eq.metrics(scores)["original"] == 50 and len(eq.metrics(scores).to_frame()) == 1
    own = pandas.DataFrame([{"image": name, "caption": text, "negative": f"no {text}"} for name, text in pairs])
    assert eq.evaluate("world", own, images=folder).record.n.scored == len(own)


def test_a_hugging_face_dataset(folder: Path, pairs: list[tuple[str, str]]) -> None:
    datasets = pytest.importorskip("datasets")
    columns = {"image": [str(folder / name) for name, _ in pairs], "caption": [text for _, text in pairs]}
    table = datasets.Dataset.from_dict(columns).cast_column("image", datasets.Image())
    run = eq.evaluate("world", eq.perturb(table))
    assert run["original"] == eq.evaluate("world", eq.perturb(pairs), images=folder)["original"]


@pytest.mark.long  # the tutorial runs in Jupyter and tests/test_docs.py runs the page: this is both
def test_the_page_runs_in_jupyter(tmp_path: Path) -> None:
    nbclient, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbformat"))
    for name in ("ipykernel", "pandas"):
        pytest.importorskip(name)
    notebook = nbformat.v4.new_notebook()
    code = [block.code for block in blocks(ROOT / "docs" / "python.md") if block.language == "python"]
    notebook.cells = [nbformat.v4.new_code_cell(part) for part in code]
    done = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=300).execute()
    shown = [output for cell in done.cells for output in cell.outputs if output.output_type == "execute_result"]
    assert any("text/html" in output["data"] for output in shown)


@pytest.mark.slow
def test_the_tutorial_ends_at_a_decision(tmp_path: Path) -> None:
    nbclient, nbformat = (pytest.importorskip(name) for name in ("nbclient", "nbformat"))
    for name in ("ipykernel", "pandas"):
        pytest.importorskip(name)
    notebook = nbformat.read(ROOT / "examples" / "tutorial.ipynb", 4)
    done = nbclient.NotebookClient(notebook, resources={"metadata": {"path": str(tmp_path)}}, timeout=300).execute()
    outputs = [output for cell in done.cells if cell.cell_type == "code" for output in cell.outputs]
    tables = [output["data"]["text/html"] for output in outputs if "text/html" in output.get("data", {})]
    said = "".join(output["text"] for output in outputs if output.get("name") == "stdout")
    assert sum("linear-gradient" in table for table in tables) >= 4 and "Do not ship" in said
    assert (tmp_path / "report.html").is_file()
    assert 'install "ipywidgets"' not in "".join(output["text"] for output in outputs if output.get("name") == "stderr")


def test_a_notebook_shows_tables_with_bars_and_escapes_them(folder: Path) -> None:
    items = eq.load_items(folder / "test-0.jsonl")
    named = [item.model_copy(update={"tags": {"split": "<script>x</script>"}}) for item in items]
    run = eq.evaluate("world", named, images=folder, label="<img src=x>")
    diff = eq.compare(run, eq.evaluate("blind:length", named, images=folder))
    for shown in (run, diff, eq.audit(named), eq.doctor("world"), items):
        page = shown._repr_html_()
        assert "<table>" in page and "<script>" not in page and "<img" not in page
    assert "linear-gradient" in run._repr_html_() and "linear-gradient" in diff._repr_html_()


def test_audit_and_doctor_in_python(folder: Path) -> None:
    items = eq.load_items(folder / "test-0.jsonl")
    audit = eq.audit([*items, items[0].model_copy(update={"id": "again"})])
    assert list(audit.to_frame()["id"]) == ["again"] and len(audit.clean) == len(items)
    assert repr(audit).startswith("1 of 61 items is bad") and eq.audit(folder / "test-0.jsonl").record.items == 60
    found = eq.doctor("world")
    assert found.fine and {"name", "verdict", "fix"} <= set(found.to_frame().columns)
    wrong = eq.doctor(Colour())
    assert not wrong.fine and "wrong: finite" in repr(wrong) and "division by zero" in wrong._repr_html_()
    with pytest.raises(eq.UserError, match="reads texts alone"):
        eq.doctor("blind:length")


def test_what_is_no_item_is_named(folder: Path) -> None:
    items = [eq.load_items(folder / "test-0.jsonl")[0], "x", None]
    with pytest.raises(eq.UserError, match=r"(?s)2 of 3.*items\[1\]: 'x'.*items\[2\]: None"):
        eq.evaluate(Colour(), items, images=folder)  # type: ignore[arg-type]


def test_a_row_without_a_caption_is_named_by_its_number() -> None:
    frame = pytest.importorskip("pandas").DataFrame(
        {"image": "ab", "caption": ["a cat", None], "negative": "xy"}, [5, 7]
    )
    with pytest.raises(eq.UserError, match=r"^items: .*row 1"):
        eq.evaluate(Colour(), frame, images=".")


def test_a_run_compared_with_itself_says_so(folder: Path) -> None:
    run = eq.evaluate(Colour(), folder / "test-0.jsonl", images=folder, label="same")
    found = eq.compare(run, run)
    assert [(one.before, one.after) for one in found.compared.differences] == [("same", "same")]
    assert len(found.compared.warnings) == 1 and found.compared.warnings[0] in repr(found)


def test_a_difference_has_the_n_of_its_metric(folder: Path, tmp_path: Path) -> None:
    """Augmented and Brittleness are of the items with a hard positive."""
    items = [one if number else one.model_copy(update={"positives": ()})
             for number, one in enumerate(load_items(folder / "test-0.jsonl"))]  # fmt: skip
    write_items(tmp_path / "some.jsonl", items)
    run = eq.evaluate(Colour(), tmp_path / "some.jsonl", images=folder, label="same")
    n = eq.compare(run, run).to_frame().set_index("metric")["n"]
    assert (n["original"], n["augmented"], n["brittleness"]) == (len(items), len(items) - 1, len(items) - 1)
