"""The quick form: the built-in world. Its pictures are drawn once into tar files below OUT/world, in several processes.

What stands for the papers' columns is named in COLUMNS; what the world cannot show (pictures with added things, numbers
of plurals, coreference) has no column there, and the tables say so with a dash. Averages of VALSE and VL-CheckList are
means of their printed columns, which are the items' types.
"""

from __future__ import annotations

import io
import os
import tarfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import chain
from pathlib import Path
from random import Random
from typing import Any

from PIL import Image

from equipoise import world
from equipoise.benchmarks import registry
from equipoise.benchmarks.base import splits_of
from equipoise.core.files import atomic_write, sha256_file, sha256_json
from equipoise.data.images import ImageSource, TarImages, encoded
from equipoise.data.items import Item, load_items, write_items
from equipoise.data.readers.sets.captions import caption_set, from_items
from equipoise.data.readers.sets.kinds import AnySet, ClassSet
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipe import Recipe
from equipoise.train.recipes import get_recipe
from equipoise.train.run.mining import with_hard_images
from equipoise.world.draw import draw
from equipoise.world.scenes import sample_scene
from equipoise.world.splits import DrawnImages, world_items
from equipoise.world.vocabulary import KINDS
from studies.harness.jobs import each
from studies.tables.lib.form import Column, TestSet
from studies.tables.lib.jobs import Job
from studies.tables.lib.variants import (
    BATCH,
    SCENES,
    VARIANTS,
    PretrainingImages,
    pretraining_items,
    untrained,
)
from studies.world_model import pretraining

FINETUNING = 12_000  # items
FOUR_TYPES = 8_000  # items with negatives of CE-CLIP's four types
MORE_TESTS = {"objects": "replace-objects", "actions": "replace-actions"}  # no test set of the package has them
SIZE = sum(count or 0 for count in splits_of("world-swap").values())
MORE_SIZE = 1_000
TESTS = {"attributes": "world-replace-attributes", "relations": "world-replace-relations", "swap": "world-swap"}
TESTS |= {"unseen": "world-unseen"}
SPLITS: dict[str, tuple[str, ...]] = {
    "attributes": ("replace-attributes",), "relations": ("replace-relations",), "swap": ("swap",),
    "unseen": ("count", "without"), "objects": ("replace-objects",), "actions": ("replace-actions",),
}  # fmt: skip
PICTURES_OF_A_KIND = 40
A_MODEL = 2  # minutes on two cores: 160 steps and its scores
RETRIEVAL = 1_000  # pictures with two things and their attributes; many captions still fit several of them

COLUMNS = {
    "REPLACE": Column(("attributes", "relations")),
    "REPLACE attributes": Column(("attributes",)),
    "REPLACE relations": Column(("relations",)),
    "SWAP": Column(("swap",)),
    "unseen type": Column(("unseen",)),
    "seen synonyms": Column(("attributes", "relations"), "synonym", "seen"),
    "unseen synonyms": Column(("attributes", "relations"), "synonym", "unseen"),
    "ARO relation": Column(("relations",)),
    "ARO attribution": Column(("swap",)),
    "VALSE existence": Column(("unseen",), "split", "without"),
    "VALSE counting": Column(("unseen",), "split", "count"),
    "VALSE relations": Column(("relations",)),
    "VALSE actions": Column(("actions",)),
    "VALSE foil-it": Column(("objects",)),
    "VALSE": Column(("unseen", "relations", "actions", "objects"), over=("type",)),
    "VL attribute colour": Column(("attributes",), "type", "colour"),
    "VL attribute material": Column(("attributes",), "type", "texture"),
    "VL attribute size": Column(("attributes",), "type", "size"),
    "VL attribute": Column(("attributes",), over=("type",)),
    "VL object": Column(("objects",)),
    "VL relation action": Column(("actions",)),
    "VL relation spatial": Column(("relations",)),
    "VL relation": Column(("actions", "relations"), over=("type",)),
    "VL-CheckList": Column(("attributes", "objects", "relations", "actions"), over=("type",)),
    "SC replace object": Column(("objects",)),
    "SC replace attribute": Column(("attributes",)),
    "SC replace relation": Column(("relations",)),
    "SC replace": Column(("objects", "attributes", "relations")),
    "SC swap attribute": Column(("swap",)),
    "SugarCrepe": Column(("objects", "attributes", "relations", "swap")),
}


class World:
    """Finetuning for `steps` steps of 128 at the rates of `get_recipe(quick=True)`; CE-CLIP's family for half."""

    name = "quick"
    columns = COLUMNS

    def __init__(
        self,
        out: Path,
        steps: int,
        pretraining_steps: int,
        share: float = 1.0,
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.options = dict(options or {})
        self.folder = out / f"world-{share:g}-{_made_of()}"
        self.steps, self.pretraining_steps, self.share = steps, pretraining_steps, share
        classes: tuple[str, ...] = ("classes",)
        self.standards = {"ImageNet": classes, "ELEVATER": classes, "COCO": ("retrieval",)}
        self.variants = {name: label for name, (label, *_) in VARIANTS.items()}

    def size(self, n: int) -> int:
        """This many, or fewer where the whole is only tried out."""
        return max(20, round(n * self.share))

    def about(self) -> str:
        return (
            f"Quick form, on the drawn world: a CLIP of 1.4 million parameters, finetuned on {self.size(FINETUNING):,} "
            f"items for {self.steps} steps of 128 ({max(1, self.steps // 2)} for CE-CLIP's family). It tests code and "
            "mechanism; it is not the papers' data, and its numbers are not to be expected on photos."
        )

    @property
    def of_a_kind(self) -> int:
        return max(1, round(PICTURES_OF_A_KIND * self.share))

    # ------------------------------------------------------------------ data

    def prepare(self, jobs: Iterable[Job], tests: Iterable[str], standards: Iterable[str], processes: int) -> None:
        jobs = list(jobs)
        minutes = sum(map(self.can, jobs)) * A_MODEL * (self.steps / 160) * min(1, self.share)
        print(
            f"{len(jobs)} models: about {max(1, minutes):.0f} minutes on two cores, less for what is there", flush=True
        )
        needed = {"pretraining" if job.variant else job.items for job in jobs if self.trains(job)}
        standards = {part for name in standards for part in self.standards.get(name, ())}
        sets: dict[str, Callable[[], list[Item]]] = {}
        if needed & {"captions", "swaps", "replacements", "mined", "more"}:
            sets["captions"] = lambda: list(world_items("finetune", self.size(FINETUNING)))
        if needed & {"four-types", "more"}:
            sets["four-types"] = lambda: list(world_items("finetune-actions", self.size(FOUR_TYPES)))
        if "pretraining" in needed:
            sets["pretraining"] = lambda: pretraining_items("base", self.size(SCENES))
        for name in sorted({*tests, *(("swap",) if "retrieval" in standards else ())}):
            size = self.size(MORE_SIZE if name in MORE_TESTS else SIZE)
            sets[f"test-{name}"] = partial(_test_items, name, size)
        self._make({name: made for name, made in sets.items() if not self._items(name).exists()}, processes)
        if "classes" in standards:
            self._classes()
        if "mined" in needed and not self._items("mined").exists():
            items, images = self.finetuning("swaps")
            write_items(self._items("mined"), with_hard_images(items, load_model("world", device="cpu"), images))

    def _items(self, name: str) -> Path:
        return self.folder / f"{name}.jsonl"

    def _make(self, sets: Mapping[str, Callable[[], list[Item]]], processes: int) -> None:
        """For each NAME.tar with the pictures and then NAME.jsonl, the sign that both are there."""
        if not sets:
            return
        by_name = {name: made() for name, made in sets.items()}
        paths = {name: [item.image.path for item in items if item.image] for name, items in by_name.items()}
        everything = [path for listed in paths.values() for path in listed]
        print(f"drawing {len(everything):,} pictures: {', '.join(by_name)}", flush=True)
        chunks = [everything[start : start + 250] for start in range(0, len(everything), 250)]
        drawn = chain.from_iterable(each(_draw, chunks, min(processes, len(chunks))))
        for name, items in by_name.items():
            _write_tar(self.folder / f"{name}.tar", paths[name], [next(drawn) for _ in paths[name]])
            write_items(self._items(name), items)

    def _classes(self) -> None:
        """Pictures of one thing, the same number of each kind, for zero-shot classification."""
        path = self.folder / "classes.tar"
        if path.exists():
            return
        rng, names, drawn = Random("classes"), [], []
        counts = dict.fromkeys(KINDS, 0)
        most = self.of_a_kind
        while min(counts.values()) < most:
            scene = sample_scene(rng, (2,))
            for thing in scene.objects[2:]:  # placed freely, so alone it stands where it stood
                if counts[thing.kind] < most:
                    pixels = draw(replace(scene, objects=(thing,)))
                    names.append(f"classes/{thing.kind}/{counts[thing.kind]:03d}.bmp")
                    drawn.append(encoded(Image.fromarray(pixels), "BMP"))
                    counts[thing.kind] += 1
        _write_tar(path, names, drawn)

    def finetuning(self, name: str) -> tuple[Sequence[Item], ImageSource]:
        if name == "more":
            sets = [self.finetuning(part)[0] for part in ("captions", "four-types")]
            return [*sets[0], *sets[1]], TarImages([self.folder / f"{part}.tar" for part in ("captions", "four-types")])
        if name in VARIANTS:
            return pretraining_items(name, self.size(SCENES)), self._tar("pretraining")
        if name == "mined":
            return load_items(self._items("mined")), self._tar("captions")
        file = "captions" if name in {"swaps", "replacements"} else name
        items = load_items(self._items(file))
        op = {"swaps": "swap", "replacements": "replace"}.get(name)
        kept = [
            item for item in items if op is None or any(text.edit and text.edit.op == op for text in item.negatives)
        ]
        return kept, self._tar(file)

    def _tar(self, name: str) -> ImageSource:
        return _opened(str(self.folder / f"{name}.tar"))

    # ------------------------------------------------------------------ models

    def can(self, job: Job) -> bool:
        return bool(job.recipe or job.variant or not job.checkpoint)

    def trains(self, job: Job) -> bool:
        return bool(job.recipe or job.variant)

    def label(self, job: Job) -> str:
        if job.items == "more":
            return f"{job.label} (more of the world)"
        return f"{job.label} (loss only, our data)" if job.checkpoint else job.label

    def prior(self) -> str:
        return (
            "Rows marked *loss only, our data* are that paper's loss on the world's items: no published checkpoint and "
            "none of its data was used. NegCLIP has swaps and mined hard images, CREPE-Swap and CREPE-Replace have one "
            "kind of negative each in the same contrast, SVLC and DAC have both kinds, and DAC has the caption and the "
            "positive in place of dense captions."
        )

    def weights(self, job: Job) -> str:
        return sha256_json([job.variant, _made_of()])

    def recipe(self, job: Job, seed: int) -> Recipe:
        if job.variant:
            steps = self.pretraining_steps
            return pretraining("world_variant", steps, BATCH, max(1, steps // 10), seed, 10_000)
        assert job.recipe is not None
        steps = max(1, self.steps // 2) if job.short else self.steps
        usual: dict[str, Any] = {"seed": seed, "max_steps": steps, "warmup_steps": min(20, max(1, steps // 10))}
        if job.recipe == "dac_doveh_2023":  # ten captions and ten negatives of 128 would cost ten times the rest
            usual |= {"dense_captions": 2, "batch_size": 64}
        recipe = get_recipe(job.recipe, quick=True, **{**usual, **self.options, **dict(job.options)})
        most = self.size(FINETUNING) // 4  # half of the items are swaps
        return recipe if recipe.batch_size <= most else replace(recipe, batch_size=most)

    def base(self, job: Job, device: str) -> ClipModel:
        model = untrained(job.variant, self.folder / "untrained") if job.variant else load_model("world", device=device)
        assert isinstance(model, ClipModel)
        return model

    # ------------------------------------------------------------------ test sets

    def test(self, name: str) -> TestSet:
        items = load_items(self._items(f"test-{name}"))
        benchmark = None if name in MORE_TESTS else registry.get(TESTS[name])
        return TestSet(items, self._tar(f"test-{name}"), benchmark, f"world-{SPLITS[name][0]}")

    def standard(self, name: str) -> AnySet:
        if name == "retrieval":
            items = load_items(self._items("test-swap"))[:RETRIEVAL]
            return caption_set("world-retrieval", None, self._tar("test-swap"), from_items(items))
        kinds = tuple(KINDS)
        photos = tuple(
            (f"classes/{kind}/{number:03d}.bmp", place)
            for place, kind in enumerate(kinds)
            for number in range(self.of_a_kind)
        )
        source = self._tar("classes")
        return ClassSet(
            "world-kinds", None, source, kinds, ("{}", "a {}", "there is a {}", "a picture of a {}"), photos
        )


@cache
def _made_of() -> str:
    """A short hash of the code that makes the world and its base models: another world is drawn into another folder."""
    package, here = Path(world.__file__).parent, Path(__file__)
    files = sorted(path for path in package.rglob("*") if path.is_file() and path.suffix != ".pyc")
    pretraining = (here.parents[2] / f"world_{name}.py" for name in ("captions", "model"))
    made = [[path.name, sha256_file(path)] for path in (*files, here, here.with_name("variants.py"), *pretraining)]
    return sha256_json(made)[:8]


def _test_items(name: str, size: int) -> list[Item]:
    return list(world_items("test", size, 0, SPLITS[name]))


@cache
def _opened(path: str) -> ImageSource:
    return TarImages([path])


def _draw(paths: Sequence[str]) -> list[bytes]:
    os.environ["OMP_NUM_THREADS"] = "1"
    drawn, pretraining = DrawnImages(), PretrainingImages()
    return [(pretraining if path.startswith("pretrain/") else drawn).read(path) for path in paths]


def _write_tar(path: Path, names: Sequence[str], contents: Sequence[bytes]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as handle, tarfile.open(fileobj=handle, mode="w") as archive:
        for name, content in zip(names, contents, strict=True):
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
