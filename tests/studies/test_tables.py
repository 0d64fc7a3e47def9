"""studies/tables: the table writer with made-up results, published numbers as data, one table from end to end."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, Text
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Change, Interval, Number, Numbers
from equipoise.evaluation.results import LoadedRun
from equipoise.evaluation.scores import ItemScores
from studies.tables import table
from studies.tables.lib import findings, jobs, keep, pages, published, real, show, study, world
from studies.tables.lib import tables as specs
from studies.tables.lib.real import Real
from studies.tables.lib.world import World

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / "studies" / "tables"


def made_up(original: float) -> Numbers:
    values = {"original": original, "augmented": 0.5, "brittleness": 0.25, "drop": original - 0.5}
    interval = {"original": Interval(original - 0.02, original + 0.02)}
    metrics = {name: Number(value=value, interval=interval.get(name), n=4000) for name, value in values.items()}
    return Numbers(n=4000, ties=0, metrics=metrics)


def form_of(name: str = "quick", lacks: str = "") -> Any:
    return SimpleNamespace(name=name, can=lambda job: job.name != lacks, label=lambda job: job.label, prior=lambda: "")


# ---------------------------------------------------------------------------- the table writer


def test_a_row_of_ours_has_n_and_interval_and_the_published_one_is_marked() -> None:
    found = {"REPLACE": made_up(0.691), "SWAP": None}
    study = SimpleNamespace(numbers=lambda job, column: found[column], form=form_of(lacks="hp-hn"))
    cells = (show.Cell("REPLACE Orig.", "REPLACE"), show.Cell("SWAP Orig.", "SWAP"))
    printed = {"base": (61.6, 60.5), "hp-hn": (69.0,), "BLIP": (None, 70.0)}
    lines = show.grid(study, (jobs.BASE, jobs.HN, jobs.HP_HN), cells, printed).splitlines()
    assert lines == [
        "| model | REPLACE Orig. (n = 4,000) | SWAP Orig. (–) |",
        "| --- | ---: | ---: |",
        "| base (not finetuned) | 69.1 [67.1, 71.1] | – |",
        "| *base (not finetuned), published* | *61.6* | *60.5* |",
        "| Our HN | 69.1 [67.1, 71.1] | – |",
        "| *Our HP+HN, published* | *69.0* | – |",  # this form has no such model
        "| *BLIP, published* | – | *70.0* |",
    ]


def test_what_a_model_has_seen_stands_in_table_1() -> None:
    study = SimpleNamespace(numbers=lambda job, column: made_up(0.7), form=form_of())
    cells = (show.Cell("REPLACE drop ↓", "REPLACE", "drop"),)
    lines = show.grid(study, (jobs.NEGCLIP, jobs.HN), cells, {"negclip": (16.6,)}, seen=True).splitlines()
    assert lines[2:] == [
        "| NegCLIP | SWAP | 20.0 |",
        "| *NegCLIP, published* | – | *16.6* |",
        "| Our HN | both | 20.0 |",
    ]


def test_a_tie_is_marked_and_never_a_win() -> None:
    change = Change(difference=0.01, interval=Interval(-0.01, 0.03))
    assert show.change(change) == "+1.0 [-1.0, +3.0] ~"
    assert show.change(change.model_copy(update={"interval": Interval(0.005, 0.03)})) == "+1.0 [+0.5, +3.0]"


def test_a_section_names_its_command_and_the_defects() -> None:
    study = SimpleNamespace(form=form_of("real"), standard=lambda *_: None)
    study.form.standards = {"VTAB": ("a", "b")}
    text = pages.section(study, "hp_table_10", pages.ALL["hp_table_10"].parts(study))
    assert "    python -m studies.tables.table hp_table_10 --real --data DIR\n" in text
    assert "COCO recalls are on training photos" in text and "VTAB acc@1 (–, 2 sets)" in text


def test_a_claim_has_a_direction_and_a_confirmation_is_never_a_refutation() -> None:
    up = Change(difference=0.15, interval=Interval(0.1, 0.2))
    assert (findings.verdict(+1, up), findings.verdict(-1, up)) == ("holds", "**fails**")
    unclear = up.model_copy(update={"interval": Interval(-0.1, 0.4)})
    assert findings.verdict(+1, unclear) == findings.verdict(+1, None) == "not clear"
    study = SimpleNamespace(form=form_of(), difference=lambda *_: SimpleNamespace(__getitem__=None))
    study.difference = lambda *_: {"original": up, "augmented": up, "brittleness": up}
    text = "\n".join(findings.findings(study))
    (line,) = [line for line in text.splitlines() if line.startswith("| hard negatives raise Brittleness | REPLACE")]
    assert line.removesuffix(" |").split(" | ")[2:6] == ["*-2.2*", "**fails**", "+15.0 [+10.0, +20.0]", "holds"]
    study.form = form_of("real")
    text = "\n".join(findings.findings(study))
    assert "world" not in text and "these photos: it" in text


# ---------------------------------------------------------------------------- every table, every number


def test_every_model_has_a_name_of_its_own() -> None:
    world = SimpleNamespace(variants={"half": "half"}, name="quick")
    jobs = {job for table in pages.ALL.values() for job in table.wanted(world).jobs}
    assert len({job.name for job in jobs}) == len(jobs)
    files = Counter(job.file for job in jobs if job.checkpoint)
    assert {"negclip.pt", "ce-clip.pt", "ce-clip-plus.pt", "dac-sam.pt"} <= set(files) and max(files.values()) == 1


def test_every_published_row_fits_its_table() -> None:
    widths = {"hp_table_1": 8, "hp_table_2": 3, "hp_table_3": 8, "hp_table_9": 2, "hp_table_10": 8}
    widths |= {name: len(columns) for name, columns in specs.CE_COLUMNS.items()}
    widths |= {"ce_table_4": 5, "ce_table_5": 8}
    for name, width in widths.items():
        assert {len(row) for row in published.rows(name).values()} == {width}, name
    assert [len(published.rows(f"ce_table_{n}")) for n in (1, 2, 3)] == [16, 17, 8]  # and random chance
    ours = {job.name for table in pages.ALL.values() for job in table.wanted(form_of_variants()).jobs}
    for name in ("hp_table_1", "hp_table_3", "hp_table_9", "hp_table_10", "ce_table_4", "ce_table_5"):
        assert set(published.rows(name)) - ours <= {"random chance", "people"}, name


def form_of_variants() -> Any:
    return SimpleNamespace(variants={}, name="quick")


def test_published_numbers_were_copied_rightly() -> None:
    """By their own averages, to the rounding of what is printed; where a paper breaks its rule, the defects say so."""
    rows = published.rows
    for name, row in rows("hp_table_1").items():
        for original, augmented, drop in (row[:3], row[3:6]):
            assert drop is None or original - augmented == pytest.approx(drop, abs=0.11), name
    for *parts, mean in rows("ce_table_4").values():
        assert sum(parts) / 4 == pytest.approx(mean, abs=0.11)
    ours = ("base", "negclip", "ce-clip", "ce-clip-plus")
    for name in (*ours, "BEIT3", "BLIP2 †", "CE-XVLM"):
        row = rows("ce_table_2")[name]
        assert sum(row[:5]) / 5 == pytest.approx(row[5], abs=0.11), name
        nine = (*row[:5], *row[6:8], *row[9:11])
        assert sum(nine) / 9 == pytest.approx(row[12], abs=1.3), name
    for name in ours:
        row = rows("ce_table_3")[name]
        assert sum(row[:3]) / 3 == pytest.approx(row[3], abs=0.2 if name == "base" else 0.1), name
        assert sum(row[4:6]) / 2 == pytest.approx(row[6], abs=0.11), name
        assert sum(row[7:9]) / 2 == pytest.approx(row[9], abs=0.11), name
    for name in ("base", "negclip", "BLIP", "BEIT3", "XVLM-coco", "CyCLIP †"):
        row = rows("ce_table_1")[name]
        assert (sum(row[2:11]) + 2 * row[4]) / 11 == pytest.approx(row[11], abs=0.2), name  # counting is three splits
    assert sum(rows("ce_table_1")["ce-clip-plus"][2:11]) / 9 == pytest.approx(76.7, abs=0.1)  # nine columns, not 11


def test_averages_of_the_text_follow_from_the_printed_tables() -> None:
    study = SimpleNamespace(form=form_of(), numbers=lambda *_: made_up(0.7), mean_scores=lambda *_: {})
    (table,) = findings.quoted(study)
    shown = [line.split(" | ")[1:3] for line in table.splitlines()[2:]]
    assert len(shown) == 6
    for said, recomputed in shown:
        digits = len(said.strip("*").partition(".")[2])
        assert float(recomputed.strip("*")) == pytest.approx(float(said.strip("*")), abs=0.51 * 10**-digits)
    assert [said for said, _ in shown] == ["*24.4*", "*12.5*", "*23.2*", "*20.7*", "*0.031*", "*0.006*"]


@pytest.mark.slow
def test_frequencies_of_phrases_are_those_of_the_released_files() -> None:
    source = ROOT.parent / "shared" / "data" / "vl_checklist"
    if not source.is_dir():
        pytest.skip("needs VL-CheckList's files")
    from equipoise.benchmarks.replace.build import LEXICON, read_triples

    counts = published.rows("hp_tables_4_to_6")
    assert sum(row[0] for row in counts.values()) == 27_443
    found: Counter[str] = Counter()
    for split in LEXICON:
        for triple in read_triples(source, split):
            # The longest phrase whose replacement gives the hard positive.
            pairs = [(k, p, q) for k, listed in LEXICON[split].items() for p, q in listed.items()]
            fits = [
                (kind, phrase)
                for kind, phrase, positive in pairs
                if triple.positive in {triple.caption.replace(phrase, positive),
                                       triple.caption.replace(f" {phrase} ", f" {positive} "),
                                       triple.caption.replace(f" {phrase} ", f" {positive} ", 1)}
            ]  # fmt: skip
            if len({phrase for _, phrase in fits}) == 1 and len(fits) == 1:
                found[f"{split}, {fits[0][0]}: {fits[0][1]}"] += 1
    for name in ("relations, spatial: behind", "attributes, color: blue", "attributes, state: wet"):
        assert found[name] == pytest.approx(counts[name][0], abs=3), name


# ---------------------------------------------------------------------------- averages


def run_of(tags: list[tuple[dict[str, str], int, int]], **benchmark: Any) -> LoadedRun:
    """A run with so many items right of so many, for each set of tags."""
    rows = [
        ItemScores(id=f"{place}/{k}", image=f"{place}/{k}", caption=float(k < right), negatives=[0.5], tags=dict(which))
        for place, (which, right, of) in enumerate(tags)
        for k in range(of)
    ]
    about = SimpleNamespace(**{"name": "bench", "macro": None, "least": None, "averages": {}, **benchmark})
    record = SimpleNamespace(benchmark=about, published=None)
    return LoadedRun(Path("run"), (record,), outcomes_of(rows))  # type: ignore[arg-type]


def study_with(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, columns: Any, runs: dict[str, LoadedRun]) -> Any:
    form = form_of()
    form.columns, form.trains = columns, lambda job: False
    for name in runs:
        (tmp_path / name).mkdir()
        (tmp_path / name / "result.json").touch()
    monkeypatch.setattr(study.Study, "run_folder", lambda self, job, seed, kind, name: tmp_path / name)
    monkeypatch.setattr(study, "load_run", lambda folder: runs[folder.name])
    monkeypatch.setattr(study, "average", lambda runs, path, least: mean_of(study, runs[0], path, least))
    return study.Study(form, tmp_path)


def mean_of(study: Any, run: LoadedRun, path: Any, least: int) -> Any:
    groups = study.leaves(run.outcomes.tags, path, least)
    means = [run.outcomes.original[mask].mean() for mask in groups.masks]
    return {"original": float(np.average(means, weights=groups.weights))}


RULE = {"ce_clip": SimpleNamespace(over=("split",), least=1)}


def test_a_part_of_a_benchmark_is_averaged_by_the_papers_rule(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """SugarCrepe's "replace" is the mean of three splits, VL-CheckList's "relation" that of two columns."""
    parts = [("replace_obj", 86, 160), ("replace_att", 24, 40), ("replace_rel", 46, 80), ("add_obj", 1, 1)]
    sugar = run_of([({"split": s, "group": s.split("_")[0]}, right, of) for s, right, of in parts], averages=RULE)
    rule = {"ce_clip": SimpleNamespace(over=("column", "test"), least=1)}
    vl = [("Relation_action", 2, 10), ("Relation_spatial", 67, 100)]
    checklist = run_of(
        [({"type": "Relation", "column": c, "test": c}, right, of) for c, right, of in vl], averages=rule
    )
    runs = {"sugarcrepe": sugar, "vl-checklist": checklist}
    study = study_with(tmp_path, monkeypatch, real.COLUMNS, runs)
    base = jobs.BASE
    assert study.numbers(base, "SC replace")["original"] == pytest.approx((86 / 160 + 24 / 40 + 46 / 80) / 3)
    assert study.numbers(base, "VL relation")["original"] == pytest.approx((0.2 + 0.67) / 2)
    assert study.numbers(base, "VL-CheckList")["original"] == pytest.approx((0.2 + 0.67) / 2)
    assert study.numbers(base, "SC swap") is None  # no item: a dash


def test_valse_on_the_world_is_the_mean_of_its_five_columns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shares = {"unseen": [("absence", 18, 100), ("number", 64, 100)], "relations": [("relation", 156, 200)],
              "actions": [("action", 88, 100)], "objects": [("kind", 84, 100)],
              "attributes": [("colour", 82, 100), ("texture", 6, 10), ("size", 8, 10)]}  # fmt: skip
    runs = {
        test: run_of([({"type": t, "split": test}, right, of) for t, right, of in listed], name=test)
        for test, listed in shares.items()
    }
    study = study_with(tmp_path, monkeypatch, world.COLUMNS, runs)
    base = jobs.BASE
    assert study.numbers(base, "VALSE")["original"] == pytest.approx((0.18 + 0.64 + 0.78 + 0.88 + 0.84) / 5)
    assert study.numbers(base, "VL-CheckList")["original"] == pytest.approx((0.82 + 0.6 + 0.8 + 0.84 + 0.78 + 0.88) / 6)
    assert study.numbers(base, "VL attribute")["original"] == pytest.approx((0.82 + 0.6 + 0.8) / 3)


def test_a_column_without_a_large_enough_group_is_a_dash(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = run_of([({"pair": "a"}, 3, 5)], macro=("pair",), least=25)
    study = study_with(tmp_path, monkeypatch, real.COLUMNS, {"aro-vg-a": few})
    base = jobs.BASE
    assert study.numbers(base, "ARO attribution") is None and study.difference(base, base, "ARO attribution") is None
    assert study.mean_scores(base, "ARO attribution") == {}


# ---------------------------------------------------------------------------- what is reused is known by its content


@dataclass
class Photos:
    content: dict[str, bytes] = field(default_factory=dict)

    def read(self, path: str) -> bytes:
        return self.content[path]


def test_another_base_item_or_photo_is_another_folder(tmp_path: Path) -> None:
    item = Item(id="1", image=ImageRef(path="a.jpg"), caption="a cat", negatives=(Text(text="a dog"),))
    plain: dict[str, Any] = {"weights": "w", "items": item, "photo": b"1", "test": item, "test_photo": b"1"}

    def folders(**changed: Any) -> tuple[Path, Path]:
        now = plain | changed
        form = form_of()
        form.trains = lambda job: True
        form.recipe = lambda job, seed: SimpleNamespace(describe=lambda: {"lr": now.get("lr", 1)})
        form.weights = lambda job: now["weights"]
        form.finetuning = lambda name: ([now["items"]], Photos({"a.jpg": now["photo"]}))
        form.test = lambda name: SimpleNamespace(items=[now["test"]], images=Photos({"a.jpg": now["test_photo"]}))
        one = study.Study(form, tmp_path)
        return one.folder(jobs.HN, 0), one.run_folder(jobs.HN, 0, "test", "swap")

    other = item.model_copy(update={"caption": "two cats"})
    model, run = folders()
    assert (model, run) == folders()
    for changed in ({"weights": "v"}, {"items": other}, {"photo": b"2"}, {"lr": 2}):
        assert model != folders(**changed)[0], changed
    for changed in ({"test": other}, {"test_photo": b"2"}):
        assert folders(**changed)[0] == model and folders(**changed)[1] != run, changed


def test_another_world_is_drawn_into_another_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every file that draws it or its base counts: the package's and the two scripts'."""
    base = jobs.BASE
    before = world.World(tmp_path, 160, 150)
    known = (before.folder, before.weights(base))
    real = world.sha256_file
    for name in ("splits.py", "model.safetensors", "variants.py"):
        monkeypatch.setattr(world, "sha256_file", lambda path, n=name: "x" if path.name == n else real(path))
        world._made_of.cache_clear()
        after = world.World(tmp_path, 160, 150)
        assert after.folder != known[0] and after.weights(base) != known[1], name
    world._made_of.cache_clear()


# ---------------------------------------------------------------------------- the forms


def test_rows_named_after_papers_say_what_they_are(tmp_path: Path) -> None:
    world, real = World(tmp_path, 160, 150), Real(tmp_path)
    assert world.label(jobs.NEGCLIP) == real.label(jobs.NEGCLIP) == "NegCLIP (loss only, our data)"
    assert world.label(jobs.HN) == real.label(jobs.HN) == "Our HN"
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / "negclip.pt").touch()
    assert real.label(jobs.NEGCLIP) == "NegCLIP (published checkpoint)"
    assert "loss only" in world.prior() and "loss only" in real.prior() and "world" not in real.prior()


def test_every_batch_of_a_small_world_can_be_filled(tmp_path: Path) -> None:
    world = World(tmp_path, 160, 150, share=0.02)
    jobs = {job for table in pages.ALL.values() for job in table.wanted(world).jobs if job.recipe}
    assert max(world.recipe(job, 0).batch_size for job in jobs) <= 60  # of 240 items, half of them swaps


def test_missing_peft_is_said_before_anything_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(study, "find_spec", lambda name: None)
    form = World(tmp_path, 160, 150)
    monkeypatch.setattr(form, "prepare", lambda *_: pytest.fail("the world was drawn before"))
    with pytest.raises(UserError, match=r"svlc, svlc-pos, dac: .*pip install 'equipoise\[lora\]'"):
        study.Study(form, tmp_path / "out").prepare([pages.ALL["hp_table_1"].wanted(form)])
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["hp_table_1", "ce_table_1", "hp_table_10"])
def test_the_real_form_says_what_is_missing_and_how_to_get_it(tmp_path: Path, name: str) -> None:
    form = Real(tmp_path)
    wanted = pages.ALL[name].wanted(form)
    with pytest.raises(UserError) as error:
        form.prepare(wanted.jobs, {"replace", "swap"}, wanted.standards, 1)
    told = str(error.value)
    parts = {
        "hp_table_1": ("equipoise bench fetch replace", "checkpoints/dac-sam.pt: not found", "train2017.zip"),
        "ce_table_1": ("ce_clip_zhang_2024_faithful", "mined.jsonl: equipoise perturb",
                       "checkpoints/ce-clip.pt: not found", "checkpoints/ce-clip-plus.pt: not found"),
        "hp_table_10": ("dataset_coco.json", "vtab/: 0 of 20 sets found"),
    }[name]  # fmt: skip
    always = ("hf download openai/clip-vit-base-patch32", "captions.jsonl: equipoise bench build hard-positives-ft")
    for part in (*parts, *always):
        assert part in told


def test_an_option_reaches_every_training_but_what_makes_the_row(tmp_path: Path) -> None:
    options = {"batch_size": "200", "hn_weight": "0.3"}
    for form in (Real(tmp_path, options), World(tmp_path, 160, 150, 1, options)):
        recipes = [form.recipe(job, 0) for job in (jobs.HP_HN, jobs.RATIOS[2])]
        assert [recipe.batch_size for recipe in recipes] == [200, 200]
        assert [str(recipe.describe()).count("0.3") > 0 for recipe in recipes] == [True, False]


def test_what_is_there_is_not_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """VL-CheckList's folder has REPLACE's texts; annotations without photos; a folder that holds something else."""
    monkeypatch.setattr(real, "_loaded", lambda name, source: (([], None), "no" if source.name == "swap" else ""))
    form = real.Real(tmp_path)
    for folder in ("vl_checklist", "swap"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "file.json").touch()
    missing = form.missing([], {"replace", "swap"}, [])
    assert missing["replace/images/"].startswith(f"only photos are missing (annotations: {tmp_path}/vl_checklist)")
    assert missing["swap/"].startswith("is there, and its annotations cannot be read: no")
    (tmp_path / "vl_checklist" / "images" / "vg").mkdir(parents=True)
    assert "replace/images/" not in form.missing([], {"replace"}, [])
    assert form._images("replace") == tmp_path / "vl_checklist" / "images" / "vg"


def test_table_8_names_the_papers_models_and_loads_those_that_are_there(tmp_path: Path) -> None:
    form = real.Real(tmp_path)
    variants = [jobs.variant(name, label) for name, label in form.variants.items()]
    assert len(variants) == 14 and not any(map(form.can, variants))
    assert form.optional(variants, []).count("not found") == 14
    for file in ("RN101/open_clip_model.safetensors", "CLIP-ViT-g-14/config.json", "xvlm-16m/16m.pth"):
        (tmp_path / file).parent.mkdir()
        (tmp_path / file).touch()
    specs = [form.spec(job.variant) for job in variants if form.can(job)]
    rn101 = f"openclip:RN101/{tmp_path}/RN101/open_clip_model.safetensors?act=quickgelu"
    assert specs == [f"hf:{tmp_path}/CLIP-ViT-g-14", rn101, f"itm:{tmp_path}/xvlm-16m/16m.pth"]


def test_ce_clip_plus_is_trained_on_several_sources_where_they_are(tmp_path: Path) -> None:
    """CC3M's own table, without a header, perturbed; its photos in shards of img2dataset."""
    job = jobs.CE_PLUS
    form = real.Real(tmp_path)
    assert not form.can(job)
    for name, image in (("cc3m", "000000000.jpg"), ("coco", "a.jpg")):
        (tmp_path / "more" / name).mkdir(parents=True)
        (tmp_path / "more" / name / image).write_bytes(name.encode())
        item = Item(id="1", image=ImageRef(path=image), caption="a cat", negatives=(Text(text="a dog"),))
        (tmp_path / "more" / f"{name}.jsonl").write_text(json.dumps(item.to_json()) + "\n")
    assert form.trains(job) and form.label(job) == "CE-CLIP+ (our cc3m, coco)"
    items, photos = form.finetuning(job.items)
    assert {item.id: photos.read(item.image.path) for item in items} == {"cc3m/1": b"cc3m", "coco/1": b"coco"}


def test_the_real_form_says_how_long_it_takes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "captions.jsonl").write_text("{}\n" * 51_200)
    monkeypatch.setattr(real.os, "cpu_count", lambda: 10)
    told = real.Real(tmp_path).time([jobs.BASE, jobs.HN, jobs.HP_HN, jobs.CE_PLUS], ["swap"])
    assert told.startswith(
        "2 models to train, 512,000 photos: about 0.1 hours at 1,360 photos a second (10 cores, cuda;"
    )


@pytest.mark.parametrize(
    "name, file", [("NEGCLIP", "negclip"), ("CE_PLUS", "ce-clip-plus"), ("CE_RELEASED", "ce-clip")]
)
def test_the_real_form_takes_a_published_checkpoint_where_it_is(tmp_path: Path, name: str, file: str) -> None:
    form, job = Real(tmp_path), getattr(jobs, name)
    assert form.can(job) == form.trains(job) == (name == "NEGCLIP")
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "checkpoints" / f"{file}.pt").touch()
    assert form.can(job) and not form.trains(job)


def test_the_page_shows_table_1_and_links_to_the_others() -> None:
    made = {"hp_table_1": ["| model | REPLACE |\n| --- | ---: |\n| *Our HN, published* | *1.0* |", "A note."],
            "ce_table_6": ["| model | n |\n| --- | ---: |\n| `control` | 2 |", "Of sizes."]}  # fmt: skip
    text, files = table.page_of(made, "# Head", "")
    assert files["hp_table_1.tsv"] == "model\tREPLACE\nOur HN, published\t1.0\n"
    assert files["ce_table_6.tsv"] == "model\tn\ncontrol\t2\n"
    assert "| Our HN, published | 1.0 |" in text and "| control |" not in text
    assert "[hp_table_1](tables/papers/hp_table_1.tsv)" in text
    assert (
        "**CE-CLIP, Table 6: sizes of the benchmarks.** [ce_table_6](tables/papers/ce_table_6.tsv). Of sizes." in text
    )
    assert "\n- Hard positives, Table 1 (a to d): drops were rounded" in text


def test_only_the_whole_quick_form_writes_into_docs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(table, "keep", lambda *_: None)
    pages = {}
    for name, share in (("real", 1.0), ("quick", 0.5), ("quick", 1.0)):
        study = SimpleNamespace(form=form_of(name), out=tmp_path / name, tasks=lambda _: [], seconds=lambda _: [])
        study.form.about, study.form.variants = lambda: "", {}
        asked = SimpleNamespace(share=share, seeds=1, jobs=1, device="cpu")
        monkeypatch.setattr(table, "ROOT", tmp_path)
        pages[name, share] = table.write_page(study, asked, {}, 1)
    assert (
        pages["real", 1.0] == tmp_path / "real" / "tables.md"
        and pages["quick", 0.5] == tmp_path / "quick" / "tables.md"
    )
    assert pages["quick", 1.0] == tmp_path / "docs" / "appendix" / "tables.md"
    assert "tables.table all --real" in pages["real", 1.0].read_text()


# ---------------------------------------------------------------------------- kept scores, and one table end to end


def recompute(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "studies" / "recompute.py"), *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_cells_are_recomputed_from_kept_scores(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By a script that imports nothing of ours: what it agrees with, and that it sees a wrong cell."""
    source = (ROOT / "studies" / "recompute.py").read_text()
    assert not re.search(r"^\s*(import|from) (equipoise|studies)", source, re.M)
    rng = np.random.default_rng(0)
    rows = [
        ItemScores(id=str(k), image=f"p{k // 2}", caption=c, negatives=[n], positives=[p], tags={"type": "colour"})
        for k, (c, n, p) in enumerate(rng.normal([0.45, 0.4, 0.43], 0.05, (400, 3)).round(3).tolist())
    ]
    record: Any = SimpleNamespace(benchmark=SimpleNamespace(name="swap"), published=None)
    run = LoadedRun(tmp_path, (record,), outcomes_of(rows))
    task = study.Task(jobs.HN, 0, ("swap",))
    (tmp_path / "result.json").touch()
    monkeypatch.setattr(keep, "load_run", lambda folder: run)
    made = SimpleNamespace(
        tasks=lambda _: [task], seeds_of=lambda _: (0,), form=form_of(), run_folder=lambda *_: tmp_path
    )
    keep.keep(made, [], tmp_path / "scores.npz")
    numbers = study.average([run])
    shown = [show.cell(numbers, metric) for metric in ("original", "augmented", "drop", "brittleness")]
    heads = ["model", *(f"SWAP {name} (n = 400)" for name in ("Orig.", "Aug.", "drop ↓", "Brit. ↓"))]
    page = tmp_path / "tables" / "hp_table_1.tsv"
    page.parent.mkdir()
    page.write_text("\n".join("\t".join(row) for row in (heads, ["Our HN", *shown])))
    asked = ("--tables", str(page.parent), "--scores", str(tmp_path / "scores.npz"))
    done = recompute(*asked)
    assert done.returncode == 0 and "4 of 4 cells" in done.stdout, done.stdout + done.stderr
    page.write_text(page.read_text().replace(shown[3], f"{float(shown[3].split()[0]) + 0.3:.1f} [1.0, 2.0]"))
    assert recompute(*asked).returncode == 1
    assert recompute("--tables", str(page.parent), "--scores", str(tmp_path / "none.npz")).returncode == 2


@pytest.mark.slow
def test_twenty_cells_of_the_page_are_what_the_kept_scores_give() -> None:
    done = recompute("--cells", "20", "--seed", "27")
    assert done.returncode == 0 and "20 of 20 cells" in done.stdout, done.stdout + done.stderr
    assert (FOLDER / "results" / "scores.npz").stat().st_size < 3.5e6


@pytest.mark.slow
def test_one_table_from_end_to_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    columns = (("c ↑", "REPLACE", "c"), ("n ↓", "REPLACE", "n"), ("p ↑", "REPLACE", "p"))
    small = specs.mean_scores("hp_table_2", "Table 2", (jobs.BASE, jobs.HP_HN), columns, "")
    monkeypatch.setitem(pages.ALL, "hp_table_2", small)
    monkeypatch.setattr(sys, "argv", ["x", "hp_table_2", "--share", "0.011", "--steps", "2", "--out", str(tmp_path)])
    for _ in range(2):  # the second time reads
        with pytest.raises(SystemExit) as ended:
            table.main()
        assert ended.value.code == 0
        text = (tmp_path / "quick" / "hp_table_2.md").read_text()
        assert "| *Our HP+HN, published* | *0.232* | *0.220* | *0.231* |" in text
        models = sorted(path.name.rpartition("-")[0] for path in (tmp_path / "quick" / "models").iterdir())
        assert models == ["base-0", "hp-hn-0"]
        monkeypatch.setattr(study.Study, "make", lambda *_: pytest.fail("made twice"))
