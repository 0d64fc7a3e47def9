"""The real form: ViT-B/32 finetuned on COCO, judged on REPLACE, SWAP, ARO, VALSE, VL-CheckList and SugarCrepe.

Everything lies below one folder, DATA, and all that is missing is said at once, each with the command that gets it.
Not run here: no CLIP weights were at hand, and COCO's photos only at 256 px. What it shares with the quick form
(training, scoring, tables) is the same code.

Of the papers it does not train DAC-SAM and X-VLM, and CE-CLIP+ only where DATA/more is there (COCO, CC3M and Visual
Genome, see `MORE`). Ablations that the paper did with CE-CLIP+ are done with CE-CLIP. Models of earlier papers are
their published checkpoints where DATA/checkpoints has them (`Job.checkpoint`), else that paper's loss on our items, and
every row says which.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.benchmarks import registry
from equipoise.benchmarks.base import Benchmark
from equipoise.core.errors import UserError, first_line
from equipoise.core.files import sha256_file, sha256_json
from equipoise.data.images import ImageSource, open_source
from equipoise.data.items import Item, load_items
from equipoise.data.readers.sets.kinds import AnySet
from equipoise.evaluation.sets.kinds import open_set
from equipoise.models import load_model
from equipoise.train.recipe import Recipe
from equipoise.train.recipes import get_recipe
from studies.tables.lib.form import Column, TestSet
from studies.tables.lib.jobs import Job

BASE = "clip-vit-base-patch32"
PHOTOS = "coco/images"  # train2014/, train2017/, val2014/
BENCHMARKS = ("replace", "swap", "aro-vg-r", "aro-vg-a", "valse", "vl-checklist", "sugarcrepe")


class Other(NamedTuple):
    """Another model: its files lie in DATA/NAME, and it is loaded by the spec that a user would give."""

    label: str
    get: str  # its name on the hub, or where else
    spec: str = "hf:FOLDER"
    mark: str = "config.json"  # the file that shows that it is there


def _openclip(label: str, hub: str, act: str) -> Other:
    return Other(label, hub, f"openclip:NAME/FILE?act={act}", "open_clip_*")


OTHERS = {  # Table 8's fourteen, as the authors' run_eval.py names them; (b) to (f) are the table's parts
    "clip-vit-base-patch16": Other("(b) ViT-B/16", "openai/clip-vit-base-patch16"),
    "clip-vit-large-patch14": Other("(b) ViT-L/14", "openai/clip-vit-large-patch14"),
    "CLIP-ViT-H-14": Other("(b) ViT-H/14 (LAION-2B)", "laion/CLIP-ViT-H-14-laion2B-s32B-b79K"),
    "CLIP-ViT-g-14": Other("(b) ViT-g/14 (LAION-2B)", "laion/CLIP-ViT-g-14-laion2B-s34B-b88K"),
    "CLIP-ViT-bigG-14": Other("(b) ViT-bigG/14 (LAION-2B)", "laion/CLIP-ViT-bigG-14-laion2B-39B-b160k"),
    "roberta-ViT-B-32": _openclip(
        "(c) RoBERTa ViT-B/32 (LAION-2B)", "laion/CLIP-ViT-B-32-roberta-base-laion2B-s12B-b32k", "gelu"
    ),
    "CLIP-ViT-B-32-DataComp": Other("(d) ViT-B/32 (DataComp)", "laion/CLIP-ViT-B-32-DataComp.XL-s13B-b90K"),
    "CLIP-ViT-B-16-DataComp": Other("(d) ViT-B/16 (DataComp)", "laion/CLIP-ViT-B-16-DataComp.XL-s13B-b90K"),
    "CLIP-ViT-L-14-DataComp": Other("(d) ViT-L/14 (DataComp)", "laion/CLIP-ViT-L-14-DataComp.XL-s13B-b90K"),
    "RN101": _openclip("(e) ResNet-101", "timm/resnet101_clip.openai", "quickgelu"),
    "RN50x16": _openclip("(e) ResNet-50x16", "timm/resnet50x16_clip.openai", "quickgelu"),
    "RN50x64": _openclip("(e) ResNet-50x64", "timm/resnet50x64_clip.openai", "quickgelu"),
    "coca_ViT-B-32": _openclip("CoCa ViT-B/32 (LAION-2B)", "laion/CoCa-ViT-B-32-laion2B-s13B-b90k", "gelu"),
    "xvlm-16m": Other(
        "(f) X-VLM 16M", "16m_base_model_state_step_199999.th of github.com/zengyan-97/X-VLM as xvlm-16m/16m.pth, and "
        "tokenizer.json of bert-base-uncased", "itm:FILE", "*.pth",
    ),
}  # fmt: skip
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
MORE = "more"  # CE-CLIP+'s items: DATA/more/NAME.jsonl, their photos or shards of photos in DATA/more/NAME/
MORE_GET = (
    "for CE-CLIP+: more/NAME.jsonl by `equipoise perturb --recipe ce_clip_zhang_2024_faithful` and more/NAME/ with its "
    "photos, for COCO, CC3M and Visual Genome"
)
PLACES = {  # test set: other folders that hold its annotations; below which its photos may be
    "replace": ("vl_checklist", "vl-checklist"), "vl-checklist": ("vl_checklist",),
    "swap": ("aro-vg-a",), "aro-vg-a": ("swap",), "aro-vg-r": ("aro-vg-a", "swap"),
}  # fmt: skip
FILES = {"swaps": "captions", "replacements": "captions"}  # parts of a file
STANDARDS = {"ImageNet": ("imagenet",), "COCO": ("coco",), "Flickr30k": ("flickr30k",)}
FOLDERS = {"VTAB": 20, "ELEVATER": 20}  # CLIP_benchmark's folders, as many as there are, and how many the papers had
PHOTOS_OF = {
    "coco": "unpack https://s3.amazonaws.com/images.cocodataset.org/zips/val2014.zip there",
    "flickr30k": "the photos of Flickr30k, on request from its authors (shannon.cs.illinois.edu/DenotationGraph)",
}
KARPATHY = "https://cs.stanford.edu/people/karpathy/deepimagesent/caption_datasets.zip"
PER_CORE = 136  # photos a second that a core makes ready (bench/input_pipeline.py), the limit of training
MODEL_LIMIT = 7_487  # pairs a second that an H200 takes (bench/train_step.py)
SCORED = 3_090  # photos a second in evaluation (bench/eval_gpu.py)
ON_A_CORE = 1, 10  # photos a second that a core alone trains on (36 GFLOP each) and scores: a guide, not measured
ITEMS = {"captions": 591_753, "mined": 591_753, "four-types": 414_113}  # COCO's captions of train2017 and train2014


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

    def __init__(self, data: Path, options: Mapping[str, Any] | None = None, device: str = "cuda") -> None:
        self.data, self.options, self.device = data, dict(options or {}), device
        self.variants = {name: model.label for name, model in OTHERS.items()}
        self.standards: dict[str, tuple[str, ...]] = dict(STANDARDS)
        for paper in FOLDERS:
            names = sorted(path.name for path in (data / paper.lower()).glob("*") if path.is_dir())
            self.standards[paper] = tuple(f"{paper.lower()}-{name}" for name in names)

    def about(self) -> str:
        return (
            "Real form: CLIP ViT-B/32, finetuned by the recipes' own numbers on COCO, judged on the benchmarks' "
            "photos. Our models are loaded with the activation they were trained with, so the published numbers, which "
            "were not, need not be met."
        )

    # ------------------------------------------------------------------ is all there, and how long will it take?

    def prepare(self, jobs: Iterable[Job], tests: Iterable[str], standards: Iterable[str], processes: int) -> None:
        every_job, standards = list(jobs), list(standards)
        jobs = [job for job in every_job if self.can(job)]
        told = [self.optional(every_job, standards), self.time(jobs, list(tests))]
        if missing := self.missing(jobs, tests, standards):
            lines = [f"  {name}: {get}" for name, get in missing.items()]
            first = f"{self.data}: {len(missing)} of the files that these tables need are missing:"
            raise UserError("\n".join([first, *lines, *told]))
        print(*told, sep="\n", flush=True)

    def missing(self, jobs: Iterable[Job], tests: Iterable[str], standards: Iterable[str]) -> dict[str, str]:
        """Everything that is not below DATA, and how to get it."""
        sets = sorted({part for name in standards for part in self.standards.get(name, ())})
        return dict(self._missing([job for job in jobs if self.can(job)], sorted(tests), sets))

    def optional(self, asked: Iterable[Job], standards: Iterable[str]) -> str:
        """Data that is used where it exists, and whether it does."""
        jobs = list(asked)
        files = {job.file: self._checkpoint(job) for job in jobs if job.checkpoint}
        lines = [f"checkpoints/{name}: {'found' if path else 'not found'}" for name, path in files.items()]
        if any(job.items == MORE for job in jobs):
            lines.append(f"{MORE}/: {', '.join(self._more()) or f'not found ({MORE_GET})'}")
        for name in dict.fromkeys(job.variant for job in jobs if job.variant):
            spec, model = self.spec(name), OTHERS[name]
            where = f"hf download {model.get} --local-dir {self.data / name}" if " " not in model.get else model.get
            lines.append(f"{name}/: {spec or f'not found ({where})'}")
        for name in standards:
            if name in FOLDERS:
                count = len(self.standards[name])
                lines.append(f"{name.lower()}/: {count} of {FOLDERS[name]} sets found, each a folder of CLIP_benchmark")
        return "\n".join(["not required, used if present:", *(f"  {line}" for line in lines)]) if lines else ""

    def _missing(self, jobs: list[Job], tests: list[str], standards: list[str]) -> Iterator[tuple[str, str]]:
        if not (self.data / BASE / "config.json").exists():
            yield f"{BASE}/", f"hf download openai/{BASE} --local-dir {self.data / BASE}"
        trained = [job for job in jobs if self.trains(job)]
        needed = {FILES.get(job.items, job.items) for job in trained}
        if "mined" in needed and not (self.data / "mined.jsonl").exists():
            needed.add("captions")  # which it is made of
        for name, command in MAKE.items():
            if name in needed and not (self.data / f"{name}.jsonl").exists():
                yield f"{name}.jsonl", command.replace("D/", f"{self.data}/")
        for year in ("2017", "2014"):
            used = {"2017": {"captions", "swaps", "replacements", "mined"}, "2014": {"four-types"}}[year]
            if any(job.items in used for job in trained) and not (self.data / PHOTOS / f"train{year}").is_dir():
                address = f"https://s3.amazonaws.com/images.cocodataset.org/zips/train{year}.zip"
                yield f"{PHOTOS}/train{year}/", f"unpack {address} there"
        for name in tests:
            yield from self._missing_test(name)
        for name in standards:
            yield from self._missing_standard(name)

    def _missing_test(self, name: str) -> Iterator[tuple[str, str]]:
        """The missing parts only: annotations without photos, or a folder that does not hold them."""
        fetch = f"equipoise bench fetch {name} --out {self.data / name}"
        by_hand = f"   ({' '.join(registry.get(name).get.split())})"
        source, photos = self.source(name), self._images(name)
        if source is None and photos.is_dir():
            yield f"{name}/", f"its annotations (the photos are in {photos}): {fetch}{by_hand}"
        elif source is None:
            yield f"{name}/", f"its annotations, and its photos in images/: {fetch}{by_hand}"
        elif why := _loaded(name, source)[1]:
            yield f"{source.relative_to(self.data)}/", f"is there, and its annotations cannot be read: {why}"
        elif not photos.is_dir():
            only = f"only photos are missing (annotations: {source}): {fetch}{by_hand}"
            yield f"{photos.relative_to(self.data)}/", only

    def _missing_standard(self, name: str) -> Iterator[tuple[str, str]]:
        if name == "imagenet" and not (self.data / name).is_dir():
            yield "imagenet/", "the validation photos, a folder for each class, and classnames.txt (docs/files.md)"
        if name in {"coco", "flickr30k"} and not (self.data / "karpathy" / f"dataset_{name}.json").exists():
            yield f"karpathy/dataset_{name}.json", KARPATHY
        place = self.data / (f"{PHOTOS}/val2014" if name == "coco" else name)
        if name in {"coco", "flickr30k"} and not place.is_dir():
            yield f"{place.relative_to(self.data)}/", PHOTOS_OF[name]

    def time(self, jobs: list[Job], tests: list[str]) -> str:
        """How long it will take, from what was measured on an H200; photos, not the GPU, are the limit."""
        cores = os.cpu_count() or 1
        rate, score = self.rates(cores)
        seen = sum(self.photos(job) for job in jobs if self.trains(job))
        known = [sum(count or 20_000 for count in registry.get(name).splits.values()) for name in tests]
        hours = seen / rate / 3600, len(jobs) * sum(known) / score / 3600
        number = sum(map(self.trains, jobs))
        return (
            f"{number} models to train, {seen:,} photos: about {hours[0]:,.1f} hours at {rate:,} photos a second "
            f"({cores} cores, {self.device}; what is there already is not done again); scoring {len(jobs)} models: "
            f"about {hours[1]:,.1f} hours or less"
        )

    def rates(self, cores: int) -> tuple[int, int]:
        """Photos a second: trained on, and scored."""
        if self.device == "cpu":
            return ON_A_CORE[0] * cores, ON_A_CORE[1] * cores
        return min(MODEL_LIMIT, PER_CORE * cores), min(SCORED, PER_CORE * cores)

    def photos(self, job: Job) -> int:
        """How many photos training it takes; of items that are not there yet, as many as the papers had."""
        files = self._more() if job.items == MORE else [FILES.get(job.items, job.items)]
        folder = self.data / MORE if job.items == MORE else self.data
        items = sum(_lines(folder / f"{name}.jsonl", ITEMS.get(name, 0)) for name in files)
        recipe = self.recipe(job, 0)
        return (recipe.max_steps or recipe.epochs * items // recipe.batch_size) * recipe.batch_size

    # ------------------------------------------------------------------ models and data

    def can(self, job: Job) -> bool:
        if job.variant:
            return self.spec(job.variant) is not None
        return self.trains(job) or self._checkpoint(job) is not None or not (job.recipe or job.checkpoint)

    def spec(self, name: str) -> str | None:
        """The spec that loads another model; None where it is not below DATA."""
        model, folder = OTHERS[name], self.data / name
        for file in sorted(folder.glob(model.mark)):
            return model.spec.replace("FOLDER", str(folder)).replace("FILE", str(file)).replace("NAME", name)
        return None

    def _more(self) -> list[str]:
        return sorted(path.stem for path in (self.data / MORE).glob("*.jsonl"))

    def _checkpoint(self, job: Job) -> Path | None:
        path = self.data / "checkpoints" / job.file
        return path if job.checkpoint and path.exists() else None

    def trains(self, job: Job) -> bool:
        available = job.items != MORE or bool(self._more())
        return job.recipe is not None and available and self._checkpoint(job) is None

    def label(self, job: Job) -> str:
        if not job.checkpoint:
            return job.label
        ours = f"our {', '.join(self._more())}" if job.items == MORE else "loss only, our data"
        return f"{job.label} ({'published checkpoint' if self._checkpoint(job) else ours})"

    def prior(self) -> str:
        return (
            "Rows marked *loss only, our data* are that paper's loss on captions.jsonl (COCO with CREPE's negatives), "
            "not on its own data: DAC has no dense captions there, SVLC no language model's negatives. Put the "
            "published file into DATA/checkpoints to replace such a row."
        )

    def weights(self, job: Job) -> str:
        path = self._checkpoint(job) or self.data / (job.variant or BASE)
        files = [path] if path.is_file() else sorted(file for file in path.rglob("*") if file.is_file())
        return sha256_json([[file.name, sha256_file(file)] for file in files])

    def recipe(self, job: Job, seed: int) -> Recipe:
        assert job.recipe is not None
        return replace(get_recipe(job.recipe, **{**self.options, **dict(job.options)}), seed=seed)

    def base(self, job: Job, device: str) -> Any:
        file = self._checkpoint(job)
        paper = job.checkpoint.partition("/")[0]
        other = self.spec(job.variant) if job.variant else None
        return load_model(other or (f"paper:{paper}@{file}" if file else f"hf:{self.data / BASE}"), device=device)

    def finetuning(self, name: str) -> tuple[Sequence[Item], ImageSource]:
        if name == MORE:
            parts = {part: load_items(self.data / MORE / f"{part}.jsonl") for part in self._more()}
            sources = {part: open_source(self.data / MORE / part) for part in parts}
            return [_below(part, item) for part, items in parts.items() for item in items], Joined(sources)
        items = load_items(self.data / f"{FILES.get(name, name)}.jsonl")
        op = {"swaps": "swap", "replacements": "replace"}.get(name)
        if op:
            kept = (
                (item, tuple(text for text in item.negatives if text.edit and text.edit.op == op)) for item in items
            )
            items = [item.model_copy(update={"negatives": negatives}) for item, negatives in kept if negatives]
        return items, open_source(self.data / PHOTOS)

    # ------------------------------------------------------------------ test sets

    def source(self, name: str) -> Path | None:
        """The folder of its annotations: its own, or one that has them too."""
        folders = [self.data / place for place in (name, *PLACES.get(name, ()))]
        filled = [folder for folder in folders if any(path.name != "images" for path in folder.glob("*"))]
        return next((folder for folder in filled if not _loaded(name, folder)[1]), filled[0] if filled else None)

    def _images(self, name: str) -> Path:
        inner = "val2017" if name == "sugarcrepe" else ""
        folders = [self.data / place / "images" / inner for place in (name, *PLACES.get(name, ()))]
        deeper = [folder / "vg" for folder in folders if name == "replace"]  # where VL-CheckList has Visual Genome
        return next((place for place in (*deeper, *folders) if place.is_dir()), folders[0])

    def test(self, name: str) -> TestSet:
        source = self.source(name) or self.data / name
        (items, benchmark), why = _loaded(name, source)
        if why:
            raise UserError(f"{source}: {why}")
        return TestSet(items, open_source(self._images(name)), benchmark, name)

    def standard(self, name: str) -> AnySet:
        if name in {"coco", "flickr30k"}:
            photos = self.data / (PHOTOS if name == "coco" else name)
            return open_set(f"{name}-retrieval", source=self.data / "karpathy", data=photos)
        paper, _, folder = name.partition("-")
        return open_set(f"zeroshot:{self.data / paper / folder if folder else self.data / name}")


class Joined:
    """Photos of several sources: PART/PATH is PATH of the source PART."""

    def __init__(self, sources: Mapping[str, ImageSource]) -> None:
        self.sources = dict(sources)

    def read(self, path: str) -> bytes:
        part, _, rest = path.partition("/")
        return self.sources[part].read(rest)


def _below(part: str, item: Item) -> Item:
    assert item.image is not None
    image = item.image.model_copy(update={"path": f"{part}/{item.image.path}"})
    return item.model_copy(update={"id": f"{part}/{item.id}", "image": image})


@cache
def _loaded(name: str, source: Path) -> tuple[tuple[Any, Benchmark], str]:
    """The items of a test set, or why they cannot be read."""
    try:
        return registry.load(name, source), ""
    except UserError as error:
        return ([], registry.get(name)), first_line(error)


def _lines(path: Path, otherwise: int) -> int:
    if not path.exists():
        return otherwise
    with path.open("rb") as handle:
        return sum(1 for _ in handle)
