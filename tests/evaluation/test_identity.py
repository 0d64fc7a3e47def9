"""A finished run is read only where items, photos, model and settings are the same."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Average
from equipoise.core.errors import OtherRun, UserError
from equipoise.core.files import sha256_json
from equipoise.data.identity import of_items, of_own
from equipoise.data.items import Edit, ImageRef, Item, Text, load_items, texts, write_items
from equipoise.data.objects import Unidentified
from equipoise.evaluation.results import load_run, read_result
from equipoise.evaluation.run import Result, evaluate, model_card


class Mean:
    """Embeds a picture by its mean colour and a text by its letters; `scale` is its only weight."""

    def __init__(self, scale: float = 1.0, **card: Any) -> None:
        self.scale = scale
        if card:
            self.card = card

    def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray[Any, Any]:
        return np.stack([np.asarray(image, dtype=float).mean((0, 1)) + self.scale for image in images])

    def embed_texts(self, strings: Sequence[str]) -> np.ndarray[Any, Any]:
        return np.stack([np.array([len(string), string.count("a"), self.scale]) for string in strings])


class Pairs:
    def __init__(self, scale: float = 1.0) -> None:
        self.scale = scale

    def score_pairs(self, images: Sequence[Image.Image], strings: Sequence[str]) -> list[float]:
        return [self.scale * len(string) for string in strings]


def photo(path: Path, colour: tuple[int, int, int]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.new("RGB", (4, 4), colour).save(path)


@pytest.fixture
def items(tmp_path: Path) -> list[Item]:
    for index in range(3):
        photo(tmp_path / "A" / f"{index}.png", (index * 40, 10, 200))
        photo(tmp_path / "B" / f"{index}.png", (10, index * 40, 7))
    return [
        Item(id=str(index), image=ImageRef(path=f"{index}.png"), caption="a cat", negatives=texts("a giraffe"))
        for index in range(3)
    ]


@pytest.fixture
def run(items: list[Item], tmp_path: Path) -> Callable[..., Result]:
    def evaluated(model: Any = None, data: str = "A", **options: Any) -> Result:
        return evaluate(model or Mean(), items, images=tmp_path / data, out=tmp_path / "run", **options)

    return evaluated


Run = Callable[..., Result]


# ---------------------------------------------------------------------------- photos


def test_other_photos_are_another_run(run: Run, tmp_path: Path) -> None:
    assert run().read_from is None and run().read_from == tmp_path / "run"
    with pytest.raises(OtherRun, match=r"images sha256: there"):
        run(data="B")
    photo(tmp_path / "A" / "1.png", (1, 2, 3))
    with pytest.raises(UserError, match="images sha256"):
        run()


def test_a_photo_that_appears_later_is_another_run(run: Run, tmp_path: Path) -> None:
    path = tmp_path / "A" / "2.png"
    data = path.read_bytes()
    path.unlink()
    assert run(allow_missing=True).record.n.skipped == 1
    assert run(allow_missing=True).read_from is not None
    path.write_bytes(data)
    with pytest.raises(UserError, match=r"(?s)images sha256.*images count"):
        run(allow_missing=True)


def test_a_copy_of_the_photos_is_the_same_run(run: Run, tmp_path: Path) -> None:
    run()
    (tmp_path / "A").rename(tmp_path / "moved")
    assert run(data="moved").read_from is not None


def test_the_digest_is_of_the_bytes_that_were_scored(run: Run, items: list[Item], tmp_path: Path) -> None:
    """Each photo is read once. One that is replaced later does not belong to the run any more."""

    class Slow(Mean):
        def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray[Any, Any]:
            found = super().embed_images(images)
            if len(images) == 3:
                photo(tmp_path / "A" / "2.png", (9, 9, 9))
            return found

    before = evaluate(Mean(digest="1"), items, images=tmp_path / "A").record
    after = run(Slow(digest="1"), batch_size=3).record
    assert after.images == before.images and after.metrics == before.metrics
    with pytest.raises(UserError, match="images sha256"):
        run(Slow(digest="1"), batch_size=3)


# ---------------------------------------------------------------------------- models


@pytest.mark.parametrize("kind", [Mean, Pairs])
def test_another_model_of_the_same_class_is_another_run(kind: Any, run: Run) -> None:
    assert run(kind()).read_from is None and run(kind()).read_from is not None
    with pytest.raises(UserError, match="model digest: there"):
        run(kind(2.0))


def test_a_models_own_digest_is_taken_as_it_is(run: Run) -> None:
    class Once(Mean):
        def embed_images(self, images: Sequence[Image.Image]) -> np.ndarray[Any, Any]:
            assert len(images[0].getcolors()) == 1, "the probe's pictures have many colours"
            return super().embed_images(images)

    assert run(Once(digest="1")).record.model.digest == "1"
    assert run(Once(5.0, digest="1")).read_from is not None, "it says that it is the same"
    with pytest.raises(UserError, match="model digest"):
        run(Once(digest="2"))
    assert model_card(Once(weight_sha256="1"), probe=True).digest is None


def test_a_model_that_cannot_be_told_from_another_is_never_reused(run: Run) -> None:
    class Narrow(Mean):
        def embed_texts(self, strings: Sequence[str]) -> np.ndarray[Any, Any]:
            if not set(strings) <= {"a cat", "a giraffe"}:
                raise ValueError("not my words")
            return super().embed_texts(strings)

    with pytest.raises(Unidentified):
        of_own(Narrow())
    run(Narrow())
    with pytest.raises(UserError, match="the model has no identity of its own: give it a card"):
        run(Narrow())


def test_the_probe_is_the_same_every_time() -> None:
    assert of_own(Mean()) == of_own(Mean()) != of_own(Mean(1.001))


def test_whatever_a_card_says_counts(run: Run) -> None:
    run(Mean(digest="1", more=(1, 2)))
    assert run(Mean(digest="1", more=[1, 2])).read_from is not None
    for model in (Mean(digest="1", more=[1, 3]), Mean(digest="1"), Mean(digest="1", more=[1, 2], other=1)):
        with pytest.raises(UserError, match=r"model (more|other)"):
            run(model)


@pytest.mark.parametrize(
    "card",
    [{"spec": 3}, {"x": object()}, {"x": float("nan")}, {"digest": 7, "spec": "x"}, {"spec": None}, "a string", [1]],
)
def test_a_card_that_no_file_could_hold(card: Any, run: Run) -> None:
    model = Mean()
    model.card = card
    with pytest.raises(UserError, match=r"the card of the model \(object of .*Mean\)"):
        run(model)


# ---------------------------------------------------------------------------- settings


def test_the_batch_size_counts_where_it_can_be_seen(run: Run, tmp_path: Path) -> None:
    run(Mean(digest="1", dtype="float32"), batch_size=2)
    assert run(Mean(digest="1", dtype="float32"), batch_size=3).read_from is not None
    with pytest.raises(UserError, match=r"(?s)model dtype.*settings batch size"):
        run(Mean(digest="1", dtype="bfloat16"), batch_size=3)
    with pytest.raises(UserError, match=r"(?s)settings seed.*settings allow missing"):
        run(Mean(digest="1", dtype="float32"), seed=7, allow_missing=True)


def test_other_code_that_embeds_is_another_run(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    run()
    monkeypatch.setattr("equipoise.evaluation.run.EMBEDDING_CODE", 99)
    with pytest.raises(UserError, match="settings embedding code"):
        run()


def test_other_averages_are_another_run(items: list[Item], tmp_path: Path) -> None:
    benchmark = registry.get("world-swap")
    evaluate(Mean(), items, images=tmp_path / "A", out=tmp_path / "run", benchmark=benchmark)
    with pytest.raises(UserError, match="benchmark macro"):
        evaluate(
            Mean(),
            items,
            images=tmp_path / "A",
            out=tmp_path / "run",
            benchmark=replace(benchmark, averages={"mine": Average(("type",))}),
        )
    other = replace(benchmark, notes="said in other words")
    assert evaluate(Mean(), items, images=tmp_path / "A", out=tmp_path / "run", benchmark=other).read_from is not None


# ---------------------------------------------------------------------------- files that were changed, or are not ours


def test_scores_that_were_changed_after_the_run(run: Run, tmp_path: Path) -> None:
    run()
    path = tmp_path / "run" / "items.jsonl"
    for text in (path.read_text().replace('"caption": 0.', '"caption": 1.'), path.read_text() + "{", ""):
        path.write_text(text)
        for read in (run, lambda: load_run(tmp_path / "run")):
            with pytest.raises(UserError, match=r"items\.jsonl: changed after the run"):
                read()


@pytest.mark.parametrize("place", [("overall",), ("by", "split", "x")])
def test_a_number_that_was_written_by_hand(place: tuple[str, ...], tmp_path: Path, items: list[Item]) -> None:
    tagged = [item.model_copy(update={"tags": {"split": "xy"[index % 2]}}) for index, item in enumerate(items)]
    evaluate(Mean(), tagged, images=tmp_path / "A", out=tmp_path / "run")
    path = tmp_path / "run" / "result.json"
    value = json.loads(path.read_text())
    numbers = value["metrics"]
    for part in place:
        numbers = numbers[part]
    numbers["metrics"]["original"]["value"] = 0.123
    path.write_text(json.dumps(value))
    with pytest.raises(UserError, match="it was changed after the run"):
        evaluate(Mean(), tagged, images=tmp_path / "A", out=tmp_path / "run")


def test_a_file_that_no_run_wrote_is_never_overwritten(items: list[Item], tmp_path: Path) -> None:
    class Never(Mean):
        def embed_images(self, images: Any) -> Any:
            raise AssertionError("asked before the folder was looked at")

    write_items(tmp_path / "items.jsonl", items)
    before = (tmp_path / "items.jsonl").read_bytes()
    with pytest.raises(UserError, match=r"items\.jsonl would be overwritten"):
        evaluate(Never(), load_items(tmp_path / "items.jsonl"), images=tmp_path / "A", out=tmp_path)
    assert (tmp_path / "items.jsonl").read_bytes() == before
    (tmp_path / "items.jsonl").unlink()
    (tmp_path / "result.json").write_text('{"mine": 1}')
    with pytest.raises(UserError, match="not a result of equipoise"):
        evaluate(Never(), items, images=tmp_path / "A", out=tmp_path)


def test_a_run_that_was_killed_between_its_two_files_is_made_again(run: Run, tmp_path: Path) -> None:
    run()
    (tmp_path / "run" / "result.json").unlink()
    assert run(seed=7).read_from is None
    assert read_result(tmp_path / "run").settings.seed == 7


# ---------------------------------------------------------------------------- what a metric needs


def test_items_without_a_tag_of_the_paper_are_refused_before_anything_is_scored(
    items: list[Item], tmp_path: Path
) -> None:
    class Never(Mean):
        def embed_images(self, images: Any) -> Any:
            raise AssertionError("scored first")

    with pytest.raises(UserError, match=r"3 of 3 items lack the tag 'label'"):
        evaluate(Never(), items, images=tmp_path / "A", benchmark=registry.get("vsr"))


# ---------------------------------------------------------------------------- the hash of items


def test_the_hash_of_items_is_that_of_their_json() -> None:
    edit = Edit(op="replace", target="object", source='a "cat"', to="ein Kätzchen\n", by="x", span=(2, 9))
    cases = [
        Item(
            id="3",
            image=ImageRef(path="a.jpg"),
            caption="x",
            negatives=texts("y"),
            positive_images=(ImageRef(path='b"é.jpg', box=(0, 1, 2, 3)), ImageRef(path="c.jpg")),
            negative_images=(ImageRef(path="d.jpg"),),
            paired=True,
        ),
        Item(id="4", image=ImageRef(path="a.jpg"), caption="x", negative_images=(ImageRef(path="d.jpg"),)),
        Item(id="é/1", image=ImageRef(path="a b.jpg", box=(0.1, 2, 1e22, 3)), caption="a \\ cat\t\u2028", tags={}),
        Item(
            id="2",
            caption="a 🐈",
            positives=(Text(text="x", edit=edit), Text(text="y")),
            negatives=(Text(text="z", edit=Edit(op="swap")),),
            tags={"split": "b", "a": "ü"},
        ),
    ]
    for some in (cases, cases[:1], []):
        assert of_items(some) == sha256_json([item.to_json() for item in some])
