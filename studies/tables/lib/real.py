"""The real form: ViT-B/32 finetuned on COCO, judged on REPLACE, SWAP, ARO, VALSE, VL-CheckList and SugarCrepe.

Everything lies below one folder, DATA, and all that is missing is said at once, each with the command that gets it.
Not run here: no CLIP weights and no COCO photos were at hand. What it shares with the quick form (training, scoring,
tables) is the same code.

Of the papers it does not train CE-CLIP+ (CC3M's three million photos), DAC-SAM and X-VLM. Ablations that the paper did
with CE-CLIP+ are done with CE-CLIP. Models of earlier papers are their published checkpoints where DATA/checkpoints has
them (`Job.checkpoint`), else that paper's loss on our items, and every row says which.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from dataclasses import replace
from pathlib import Path

from equipoise.benchmarks import registry
from equipoise.core.errors import UserError
from equipoise.core.files import sha256_file, sha256_json
from equipoise.data.images import ImageSource, open_source
from equipoise.data.items import Item, load_items
from equipoise.data.readers.sets.kinds import AnySet
from equipoise.evaluation.sets.kinds import open_set
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipe import Recipe
from equipoise.train.recipes import get_recipe
from studies.tables.lib.form import Column, TestSet
from studies.tables.lib.jobs import Job

BASE = "clip-vit-base-patch32"
PHOTOS = "coco/images"  # train2014/, train2017/, val2014/
BENCHMARKS = ("replace", "swap", "aro-vg-r", "aro-vg-a", "valse", "vl-checklist", "sugarcrepe")
VARIANTS = {  # folder: what is said of it, and its name on the hub
    "clip-vit-base-patch16": ("ViT-B/16", "openai/clip-vit-base-patch16"),
    "clip-vit-large-patch14": ("ViT-L/14", "openai/clip-vit-large-patch14"),
    "CLIP-ViT-H-14": ("ViT-H/14 (LAION)", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"),
    "CLIP-ViT-B-32-DataComp": ("ViT-B/32 (DataComp)", "laion/CLIP-ViT-B-32-DataComp.XL-s13B-b90K"),
}
HUB = {BASE: "openai/clip-vit-base-patch32"} | {folder: hub for folder, (_, hub) in VARIANTS.items()}
MAKE = {  # items to finetune on: the commands that make them, D being the folder of the data
    "captions": (
        "equipoise bench build hard-positives-ft --source D/coco --out D/positives.jsonl && "
        "equipoise perturb D/positives.jsonl --recipe crepe_ma_2023 --out D/captions.jsonl   (D/coco: the authors' "
        "hard_positives_ft/*.jsonl and COCO's annotations/captions_train2017.json; without the former: equipoise "
        "perturb --recipe hard_positives_rules,crepe_ma_2023)"
    ),
    "four-types": (
        "equipoise bench build ce-clip --source D/ce-clip --out D/four-types.jsonl   (D/ce-clip: the authors' "
        "processed_dataset*.npy; without them: equipoise perturb D/coco/annotations/captions_train2014.json --recipe "
        "ce_clip_zhang_2024_faithful --out D/four-types.jsonl)"
    ),
    "mined": (
        "equipoise perturb D/captions.jsonl --hard-images hf:D/clip-vit-base-patch32 --images D/coco/images "
        "--out D/mined.jsonl"
    ),
}
FILES = {"swaps": "captions", "replacements": "captions"}  # parts of a file
STANDARDS = {"ImageNet": ("imagenet",), "COCO": ("coco",), "Flickr30k": ("flickr30k",)}
FOLDERS = {"VTAB": 20, "ELEVATER": 20}  # CLIP_benchmark's folders, as many as there are, and how many the papers had
KARPATHY = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
PER_CORE = 136  # photos a second that a core makes ready (bench/input_pipeline.py), the limit of training
MODEL_LIMIT = 7_487  # pairs a second that an H200 takes (bench/train_step.py)
SCORED = 3_090  # photos a second in evaluation (bench/eval_gpu.py)


def _valse(value: str, tag: str = "split") -> Column:
    return Column(("valse",), tag, value, rule="ce_clip")


def _vl(value: str, tag: str = "column") -> Column:
    return Column(("vl-checklist",), tag, value, rule="ce_clip")


def _sc(value: str, tag: str = "split") -> Column:
    return Column(("sugarcrepe",), tag, value, rule="ce_clip")


COLUMNS = {
    "REPLACE": Column(("replace",)),
    "REPLACE attributes": Column(("replace",), "split", "attributes"),
    "REPLACE relations": Column(("replace",), "split", "relations"),
    "SWAP": Column(("swap",)),
    "ARO relation": Column(("aro-vg-r",)),
    "ARO attribution": Column(("aro-vg-a",)),
    "VALSE existence": _valse("existence"),
    "VALSE plurality": _valse("plurals"),
    "VALSE counting": _valse("counting", "phenomenon"),
    "VALSE relations": _valse("relations"),
    "VALSE actions": _valse("action-replacement"),
    "VALSE actant swap": _valse("actant-swap"),
    "VALSE coreference": _valse("coreference-standard"),
    "VALSE coreference clean": _valse("coreference-hard"),
    "VALSE foil-it": _valse("foil-it"),
    "VALSE": Column(("valse",), rule="ce_clip"),
    **{
        f"VL attribute {name}": _vl(f"Attribute_{value}")
        for name, value in {"action": "action", "colour": "color", "material": "material", "size": "size"}.items()
    },
    "VL attribute state": _vl("Attribute_state"),
    "VL attribute": _vl("Attribute", "type"),
    "VL object location": _vl("Object_Location"),
    "VL object size": _vl("Object_Size"),
    "VL object": _vl("Object", "type"),
    "VL relation action": _vl("Relation_action"),
    "VL relation spatial": _vl("Relation_spatial"),
    "VL relation": _vl("Relation", "type"),
    "VL-CheckList": Column(("vl-checklist",), rule="ce_clip"),
    **{
        f"SC {kind} {name}": _sc(f"{kind}_{short}")
        for kind in ("replace", "swap", "add")
        for name, short in (("object", "obj"), ("attribute", "att"), ("relation", "rel"))
        if kind == "replace" or short != "rel"
    },
    **{f"SC {kind}": _sc(kind, "group") for kind in ("replace", "swap", "add")},
    "SugarCrepe": Column(("sugarcrepe",), rule="ce_clip"),
}


class Real:
    name = "real"
    columns = COLUMNS

    def __init__(self, data: Path) -> None:
        self.data = data
        self.variants = {folder: label for folder, (label, _) in VARIANTS.items()}
        self.standards = dict(STANDARDS)
        for paper in FOLDERS:
            found = sorted(path.name for path in (data / paper.lower()).glob("*") if path.is_dir())
            self.standards[paper] = tuple(f"{paper.lower()}-{name}" for name in found)

    def about(self) -> str:
        return (
            "Real form: CLIP ViT-B/32, finetuned by the recipes' own numbers on COCO, judged on the benchmarks' "
            "photos. Our models are loaded with the activation they were trained with, so the published numbers, which "
            "were not, need not be met."
        )

    # ------------------------------------------------------------------ is all there, and how long will it take?

    def prepare(self, jobs: Iterable[Job], tests: Iterable[str], standards: Iterable[str], processes: int) -> None:
        asked, standards = list(jobs), list(standards)
        jobs = [job for job in asked if self.can(job)]
        sets = sorted({one for name in standards for one in self.standards.get(name, ())})
        missing = list(dict.fromkeys(self._missing(jobs, sorted(tests), sets)))
        if missing:
            lines = "\n".join(f"  {one}" for one in missing)
            raise UserError(
                f"{self.data}: {len(missing)} of the files that these tables need are missing:\n{lines}\n"
                f"{self.optional(asked, standards)}"
            )
        print(self.optional(asked, standards), self.time(jobs, list(tests)), sep="\n", flush=True)

    def optional(self, jobs: Iterable[Job], standards: Iterable[str]) -> str:
        """What is used where it exists, and whether it does."""
        files = {job.file: self._checkpoint(job) for job in jobs if job.checkpoint}
        lines = [f"checkpoints/{name}: {'found' if path else 'not found'}" for name, path in files.items()]
        for name in standards:
            if name in FOLDERS:
                count = len(self.standards[name])
                lines.append(f"{name.lower()}/: {count} of {FOLDERS[name]} sets found, each a folder of CLIP_benchmark")
        return "\n".join(["not required, used if present:", *(f"  {one}" for one in lines)]) if lines else ""

    def _missing(self, jobs: list[Job], tests: list[str], standards: list[str]) -> Iterator[str]:
        folders = {BASE, *(job.variant for job in jobs if job.variant)}
        for folder in sorted(folders):
            if not (self.data / folder / "config.json").exists():
                yield f"{folder}/: hf download {HUB[folder]} --local-dir {self.data / folder}"
        trained = [job for job in jobs if self.trains(job)]
        wanted = {FILES.get(job.items, job.items) for job in trained}
        if "mined" in wanted and not (self.data / "mined.jsonl").exists():
            wanted.add("captions")  # which it is made of
        for name, command in MAKE.items():
            if name in wanted and not (self.data / f"{name}.jsonl").exists():
                yield f"{name}.jsonl: {command.replace('D/', f'{self.data}/')}"
        for year in ("2017", "2014"):
            used = {"2017": {"captions", "swaps", "replacements", "mined"}, "2014": {"four-types"}}[year]
            if any(job.items in used for job in trained) and not (self.data / PHOTOS / f"train{year}").is_dir():
                address = f"https://s3.amazonaws.com/images.cocodataset.org/zips/train{year}.zip"
                yield f"{PHOTOS}/train{year}/: unpack {address} there"
        for name in tests:
            if not self._images(name).is_dir():
                fetch = f"equipoise bench fetch {name} --out {self.data / name}"
                by_hand = f"   ({' '.join(registry.get(name).get.split())})"
                yield f"{name}/ with its annotations and images/: {fetch}{by_hand}"
        for name in standards:
            yield from self._missing_standard(name)

    def _missing_standard(self, name: str) -> Iterator[str]:
        if name == "imagenet" and not (self.data / name).is_dir():
            yield "imagenet/: the validation photos, a folder for each class, and classnames.txt (docs/files.md)"
        if name in {"coco", "flickr30k"} and not (self.data / "karpathy" / f"dataset_{name}.json").exists():
            yield f"karpathy/dataset_{name}.json: {KARPATHY}"
        place = self.data / (f"{PHOTOS}/val2014" if name == "coco" else name)
        if name in {"coco", "flickr30k"} and not place.is_dir():
            yield f"{place.relative_to(self.data)}/: the photos of {name}"

    def time(self, jobs: list[Job], tests: list[str]) -> str:
        """How long it will take, from what was measured on an H200; photos, not the GPU, are the limit."""
        cores = os.cpu_count() or 1
        rate = min(MODEL_LIMIT, PER_CORE * cores)
        seen, counted = 0, {}
        for job in jobs:
            if self.trains(job):
                file = self.data / f"{FILES.get(job.items, job.items)}.jsonl"
                counted[file] = counted.get(file) or _lines(file)
                recipe = self.recipe(job, 0)
                steps = recipe.max_steps or recipe.epochs * counted[file] // recipe.batch_size
                seen += steps * recipe.batch_size
        known = [sum(count or 20_000 for count in registry.get(name).splits.values()) for name in tests]
        hours = seen / rate / 3600, len(jobs) * sum(known) / min(SCORED, PER_CORE * cores) / 3600
        number = sum(map(self.trains, jobs))
        return (
            f"{number} models to train, {seen:,} photos: about {hours[0]:.1f} hours at {rate:,} photos a second "
            f"({cores} cores; what is there already is not done again); scoring {len(jobs)} models: about "
            f"{hours[1]:.1f} hours or less"
        )

    # ------------------------------------------------------------------ models and data

    def can(self, job: Job) -> bool:
        return self.trains(job) or self._checkpoint(job) is not None or not (job.recipe or job.checkpoint)

    def _checkpoint(self, job: Job) -> Path | None:
        path = self.data / "checkpoints" / job.file
        return path if job.checkpoint and path.exists() else None

    def trains(self, job: Job) -> bool:
        return job.recipe is not None and job.items != "more" and self._checkpoint(job) is None

    def label(self, job: Job) -> str:
        if not job.checkpoint:
            return job.label
        return f"{job.label} ({'published checkpoint' if self._checkpoint(job) else 'loss only, our data'})"

    def prior(self) -> str:
        return (
            "Rows marked *loss only, our data* are that paper's loss on captions.jsonl (COCO with CREPE's negatives), "
            "not on its own data: DAC has no dense captions there, SVLC no language model's negatives. Put the "
            "published file into DATA/checkpoints to replace such a row."
        )

    def weights(self, job: Job) -> str:
        path = self._checkpoint(job) or self.data / (job.variant or BASE)
        files = [path] if path.is_file() else sorted(one for one in path.rglob("*") if one.is_file())
        return sha256_json([[one.name, sha256_file(one)] for one in files])

    def recipe(self, job: Job, seed: int) -> Recipe:
        assert job.recipe is not None
        return replace(get_recipe(job.recipe, **dict(job.options)), seed=seed)

    def base(self, job: Job, device: str) -> ClipModel:
        file = self._checkpoint(job)
        paper = job.checkpoint.partition("/")[0]
        spec = f"paper:{paper}@{file}" if file else f"hf:{self.data / (job.variant or BASE)}"
        model = load_model(spec, device=device)
        assert isinstance(model, ClipModel)
        return model

    def finetuning(self, name: str) -> tuple[list[Item], ImageSource]:
        items = load_items(self.data / f"{FILES.get(name, name)}.jsonl")
        op = {"swaps": "swap", "replacements": "replace"}.get(name)
        if op:
            kept = (
                (item, tuple(text for text in item.negatives if text.edit and text.edit.op == op)) for item in items
            )
            items = [item.model_copy(update={"negatives": negatives}) for item, negatives in kept if negatives]
        return items, open_source(self.data / PHOTOS)

    # ------------------------------------------------------------------ test sets

    def _images(self, name: str) -> Path:
        return self.data / name / "images" / ("val2017" if name == "sugarcrepe" else "")

    def test(self, name: str) -> TestSet:
        items, benchmark = registry.load(name, self.data / name)
        return TestSet(items, open_source(self._images(name)), benchmark, name)

    def standard(self, name: str) -> AnySet:
        if name in {"coco", "flickr30k"}:
            photos = self.data / (PHOTOS if name == "coco" else name)
            return open_set(f"{name}-retrieval", source=self.data / "karpathy", data=photos)
        paper, _, folder = name.partition("-")
        return open_set(f"zeroshot:{self.data / paper / folder if folder else self.data / name}")


def _lines(path: Path) -> int:
    with path.open("rb") as handle:
        return sum(1 for _ in handle)
