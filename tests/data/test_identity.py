"""Identity: everything that is reused is known by the bytes it depends on."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.evaluation.sets.helpers import Eye

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Average
from equipoise.core.errors import OtherRun
from equipoise.core.llm_client import LlmSettings
from equipoise.data.identity import (
    PACKAGE,
    code_files,
    of_code,
    of_folder,
    of_model,
    photo_digests,
)
from equipoise.data.images import open_source
from equipoise.data.items import Edit, ImageRef, Item, Text
from equipoise.data.readers.sets.captions import caption_set, from_items
from equipoise.evaluation.results import of_run
from equipoise.evaluation.run import evaluate_set, images_id, model_card, settings_of
from equipoise.evaluation.task import benchmark_id
from equipoise.models import load_model
from equipoise.perturb.recipes import Setup
from equipoise.study.making import make_study
from equipoise.train.data.batches import Part
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.svlc import svlc_negative
from equipoise.train.recipe import Lora, Needs, Recipe, Slot
from equipoise.train.run.check import read_photos, run_identity

RULES = ("perturb", "language")
DATA = [path.relative_to(PACKAGE) for path in code_files(*RULES) if path.suffix != ".py"]


def test_other_code_is_another_identity(tmp_path: Path) -> None:
    rules = tmp_path / "perturb" / "rules.py"
    rules.parent.mkdir()
    rules.write_text("N = 3\n")
    before = of_code("perturb", package=tmp_path)
    rules.write_text("N = 4\n")
    of_code.cache_clear()
    assert of_code("perturb", package=tmp_path) != before


def test_the_judge_and_the_forms_are_among_the_data() -> None:
    assert {"judge.npz", "forms.npz", "pairs.json.gz", "synonyms.txt", "brill-lexicon.txt.gz"} <= {p.name for p in DATA}
    assert {path.suffix for path in DATA} == {".npz", ".txt", ".gz", ".json", ".toml"}, (
        "a new kind of file is data as well"
    )


@pytest.mark.parametrize("data", DATA, ids=str)
def test_one_byte_of_any_data_file_is_other_rules(data: Path, tmp_path: Path) -> None:
    target = tmp_path / "package" / data
    target.parent.mkdir(parents=True)
    for room in RULES:
        (tmp_path / "package" / room).mkdir(exist_ok=True)
    (tmp_path / "package" / "perturb" / "rules.py").write_text("N = 3\n")
    shutil.copy(PACKAGE / data, target)
    before = of_code(*RULES, package=tmp_path / "package")
    raw = bytearray(target.read_bytes())
    raw[len(raw) // 2] ^= 1
    shutil.copytree(tmp_path / "package", tmp_path / "changed")
    (tmp_path / "changed" / data).write_bytes(raw)
    assert of_code(*RULES, package=tmp_path / "changed") != before


# One test a verb: its identity with everything as it is, and again with one input changed. A new field of a recipe, a
# setup or a card is changed too, without a word here: it counts, or the test says so.
def other(value: Any) -> Any:
    """Another JSON value of about the same kind."""
    if value is None or isinstance(value, str):
        return f"{value}x"
    if isinstance(value, bool):
        return not value
    if isinstance(value, int | float):
        return value + 1
    return [*value, 1] if isinstance(value, list) else {**value, "more": 1}


def each_changed(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[tuple[Any, ...], Any]]:
    """(where, the whole with another value there), for every leaf of a JSON value."""
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in list(parts):
        for where, changed in each_changed(part, (*path, key)):
            whole = json.loads(json.dumps(value))
            whole[key] = changed
            yield where, whole
    if not isinstance(value, dict | list) or not value:
        yield path, other(value)


def assert_each_counts(identity: Callable[..., Any], **changes: Any) -> None:
    """`identity()` is the same every time, and differs for every changed input."""
    base = json.dumps(identity(), sort_keys=True, default=str)
    assert json.dumps(identity(), sort_keys=True, default=str) == base
    seen = {base: "nothing"}
    for name, change in changes.items():
        for one in change if isinstance(change, list) else [change]:
            found = json.dumps(identity(**{name.partition("__")[0]: one}), sort_keys=True, default=str)
            assert found not in seen, f"{name} = {one!r} is taken for {seen[found]}"
            seen[found] = name


EDIT = Edit(op="replace", target="object", source="cat", to="dog", by="x", span=(2, 5))
ITEM = Item(
    id="1",
    image=ImageRef(path="a.png", box=(0, 1, 2, 3)),
    caption="a cat",
    positives=(Text(text="one cat"),),
    negatives=(Text(text="a dog", edit=EDIT),),
    negative_images=(ImageRef(path="b.png"),),
    positive_images=(ImageRef(path="c.png"),),
    paired=True,
    tags={"split": "x"},
)


@pytest.fixture(scope="module")
def world() -> Any:
    return load_model("world", device="cpu")


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    for folder in ("photos", "others"):
        (tmp_path / folder).mkdir()
        for shade, name in enumerate("abc"):
            Image.new("RGB", (8, 8), (200, 60 * shade, folder == "others")).save(tmp_path / folder / f"{name}.png")
    return tmp_path / "photos"


def items_with(**changes: Any) -> list[Item]:
    return [ITEM.model_copy(update=changes), Item(id="2", image=ImageRef(path="b.png"), caption="a cup")]


ITEMS: dict[str, Any] = {
    "items__id": items_with(id="3"),
    "items__path": items_with(image=ImageRef(path="b.png", box=(0, 1, 2, 3))),
    "items__box": items_with(image=ImageRef(path="a.png")),
    "items__caption": items_with(caption="A cat"),
    "items__positives": items_with(positives=()),
    "items__negatives": items_with(negatives=(Text(text="a dog"),)),
    "items__span": items_with(negatives=(Text(text="a dog", edit=EDIT.model_copy(update={"span": (1, 5)})),)),
    "items__tags": items_with(tags={"split": "y"}),
    "items__negative_images": items_with(negative_images=(ImageRef(path="c.png"),)),
    "items__positive_images": items_with(positive_images=()),
    "items__paired": items_with(paired=False),
    "items__order": items_with()[::-1],
    "items__fewer": items_with()[:1],
}
ITEMS = {name: [value] for name, value in ITEMS.items()}  # a list is one change


def test_eval(world: Any, photos: Path, tmp_path: Path) -> None:
    benchmark = replace(registry.get("world-swap"), metrics=())
    card_class = type(model_card(world, probe=False))
    card = json.loads(model_card(world, probe=True).model_dump_json())

    def identity(
        items: Any = None, images: Path = photos, card: Any = card, seed: int = 0, missing: bool = False,
        batch: int = 1, benchmark: Any = benchmark,
    ) -> Any:  # fmt: skip
        model = type("Model", (), {"card": {**card, "dtype": "bfloat16"} if batch > 1 else card, "device": "cpu"})()
        paths = (ref.path for item in items_with() for ref in item.images())
        return of_run(
            {
                "benchmark": benchmark_id(items or items_with(), benchmark),
                "model": card_class(**card),
                "settings": settings_of(model, seed, missing, batch),
                "images": images_id(photo_digests(paths, open_source(images), 2)),
            }
        )

    def averaged(**rules: Average) -> Any:
        return replace(benchmark, averages=rules)

    assert_each_counts(
        identity,
        **ITEMS,
        images=tmp_path / "others",
        seed=1,
        missing=True,
        batch=[2, 3],
        benchmark=[
            replace(benchmark, name="other"),
            replace(benchmark, metrics=("tot",)),
            averaged(a=Average(("split",))),
            averaged(a=Average(("split",), least=2)),
            averaged(a=Average(("split",)), b=Average(("type",))),
        ],
        card=[changed for _, changed in each_changed(card)],
    )
    assert identity(benchmark=replace(benchmark, notes="in other words")) == identity()


def test_the_cache_of_vectors_and_scores(world: Any) -> None:
    def identity(card: Any = world.card, device: str = "cpu", batch: int = 16, code: int = 1) -> Any:
        return of_model(type("Model", (), {"card": card, "device": device})(), batch, code)

    changed = [one for where, one in each_changed(world.card) if where[0] not in ("spec", "file")]
    assert_each_counts(identity, card=changed, device="cuda", code=2)
    half = world.card | {"dtype": "float16"}
    assert identity(half, batch=2) != identity(half, batch=3) and identity(batch=2) == identity(batch=3)
    assert identity({**world.card, "spec": "hf:elsewhere"}) == identity(), "a name changes no number"
    assert identity({"spec": "mine"}) is None, "nothing is kept of a model that does not say who it is"


def test_every_field_of_both_towers_is_in_the_card(world: Any) -> None:
    from equipoise.models.families import config_sha256

    config = world.network.config.to_dict()
    unnamed = {"transformers_version", "architectures", "dtype", "_name_or_path"}

    def identity(config: Any = config) -> str:
        return config_sha256(type("Config", (), {"to_dict": lambda self: config})())

    counted = [(where, one) for where, one in each_changed(config) if not unnamed & set(where)]
    assert {("text_config", "layer_norm_eps"), ("vision_config", "layer_norm_eps")} <= {where for where, _ in counted}
    assert_each_counts(identity, config=[one for _, one in counted])
    assert world.card["architecture"]["config"] == identity()


RECIPE = Recipe(terms={"clip": (1.0, clip_loss), "rank": (0.5, RankEach(0.1))})
CHANGED_RECIPES = {
    "terms": [
        {"clip": (1.0, clip_loss)},
        {"clip": (0.01, clip_loss), "rank": (0.5, RankEach(0.1))},
        {"clip": (1.0, svlc_negative), "rank": (0.5, RankEach(0.1))},
        {"clip": (1.0, clip_loss), "rank": (0.5, RankEach(0.2))},
        {"clip": (1.0, clip_loss), "other": (0.5, RankEach(0.1))},
    ],
    "needs": [
        Needs(**{field.name: value})
        for field in fields(Needs)
        for value in [
            {"positive": Slot(), "negatives": (Slot(),), "dense": 1, "teacher": 0.5}.get(field.name, True),
        ]
    ],
    "options": [{"a": 1}],
    "max_steps": [7],
    "betas": [(0.9, 0.99)],
    "grad_clip": [1.0],
    "lora": [Lora(2), Lora(4, 2.0)],
    "freeze": ["vision"],
    "crop": [(0.5, 1.0)],
    "wise_ft": [0.5],
    "source": ["x"],
}


def test_train(world: Any, photos: Path, tmp_path: Path) -> None:
    def identity(
        recipe: Recipe = RECIPE,
        items: Any = None,
        images: Path = photos,
        card: Any = world.card,
        weights: Any = (None,),
    ) -> Any:
        parts = [Part(items or items_with(), open_source(images), weight) for weight in weights]
        model = type("Model", (), {"card": card})()
        return run_identity(recipe, parts, model, read_photos(parts))

    recipes = [
        replace(RECIPE, **{field.name: value})
        for field in fields(Recipe)
        if field.name != "citation"
        for value in CHANGED_RECIPES.get(field.name) or [other(getattr(RECIPE, field.name))]
    ]
    cards = [one for where, one in each_changed(world.card) if where[0] not in ("spec", "file")]
    weights: list[Any] = [(None, None), (1.0, 1.0), (1.0, 2.0)]
    assert_each_counts(identity, **ITEMS, recipe=recipes, images=tmp_path / "others", card=cards, weights=weights)


def test_the_code_that_trains_counts(monkeypatch: pytest.MonkeyPatch, world: Any, photos: Path) -> None:
    parts = [Part(items_with(), open_source(photos))]
    before = run_identity(RECIPE, parts, world, read_photos(parts))
    monkeypatch.setattr("equipoise.train.run.check.of_code", lambda *rooms: "another version")
    assert run_identity(RECIPE, parts, world, read_photos(parts)) != before


LLM = LlmSettings("http://127.0.0.1:1/v1", "m")
COUNTS = {"url": "http://127.0.0.1:2/v1", "model": "n", "temperature": 0.5, "seed": 1, "max_tokens": 9}
AS_IT_IS_ASKED = {"key_variable", "concurrency", "timeout", "tries", "pause", "cache", "budget", "rpm", "tpm"}


def test_answers_of_a_server() -> None:
    assert {field.name for field in fields(LlmSettings)} == COUNTS.keys() | AS_IT_IS_ASKED
    assert_each_counts(
        lambda settings=LLM: settings.identity(), settings=[replace(LLM, **{n: v}) for n, v in COUNTS.items()]
    )
    assert "secret" not in str(LlmSettings("http://me:secret@127.0.0.1/v1", "m").identity())


def test_perturb(tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "config.json").write_text(name)
    setup = Setup("balanced,hard_positives_kamath_2024", llm=LLM)
    changed: dict[str, Any] = {
        "name": ["balanced", "hard_positives_kamath_2024"],
        "seed": [1],
        "llm": [replace(LLM, **{name: value}) for name, value in COUNTS.items()],
        "masked_lm": [str(tmp_path / "a"), str(tmp_path / "b")],
        "keep_all": [True],
        "precision": [0.85],
    }
    assert {field.name for field in fields(Setup)} == changed.keys() | {"folder"}
    setups = [replace(setup, **{name: value}) for name, values in changed.items() for value in values]
    assert_each_counts(lambda setup=setup: setup.identity(), setup=setups)
    before = of_folder(tmp_path / "a")
    (tmp_path / "a" / "below").mkdir()
    (tmp_path / "a" / "below" / "weights").write_text("1")
    assert of_folder(tmp_path / "a") != before


def test_sets(photos: Path, tmp_path: Path) -> None:
    def run(images: Path = photos, model: Any = None, items: Any = None, name: str = "set", **options: Any) -> Any:
        data = caption_set(name, None, open_source(images), from_items(items or items_with()))
        return evaluate_set(model or Eye(), data, out=tmp_path / "run", **options)

    class Other(Eye):
        card = {"spec": "eye", "digest": "2"}  # noqa: RUF012

    assert run().read_from is None and run().read_from is not None
    changes: list[dict[str, Any]] = [
        {"images": tmp_path / "others"},
        {"model": Other()},
        {"seed": 1},
        {"name": "other"},
    ]
    changes += [{"allow_missing": True}, {"items": items_with(caption="another cat")}]
    for change in changes:
        with pytest.raises(OtherRun):
            run(**change)


def test_study_make(photos: Path, tmp_path: Path) -> None:
    def run(items: Any = None, images: Path = photos, n: int = 1, seed: int = 0, ask: Any = "rank") -> Any:
        return make_study(items or items_with(), "x", tmp_path / "study", n, seed, ask, images)

    assert run() == run()
    changes: list[dict[str, Any]] = [{"items": items_with(caption="another cat")}, {"images": tmp_path / "others"}]
    for change in [*changes, {"seed": 1}, {"ask": "pairs"}]:
        with pytest.raises(OtherRun):
            run(**change)
