"""Finetune bases on COCO's photos by every recipe of the papers and ours: choose on dev, then measure on test.

    python -m studies.coco.base DATA --wheel LITE2.whl --minilm FOLDER --out OUT
    python -m studies.coco.run DATA --out OUT --device cuda --jobs 12      resumes
    python -m studies.coco.keep OUT/m --out studies/coco/results/m.jsonl

`every` (--only every): each recipe that the package has, on the same texts, steps and rate, then what CE-CLIP's paper
claims, on three bases; nothing is chosen (device.sh).

`search`: every recipe of the contest has the same 20 settings on one base of each text tower: four kinds of training
(`TRIED`), each averaged with the base in five shares. `chosen` has the rule. `final`: everything that is in the tables,
on nine bases of each text tower, each with its own seed; the kept results have not every model on every base. Models
with a chosen setting are also averaged with the model finetuned on captions alone, in the same five shares, on dev
(`shares`) and on test; table.py chooses the share on dev. Several of these commands may work on one OUT. A model needs
up to 10 GB of memory.

Training texts: NegCLIP's, which exchange words; `balanced`, which replaces words (2.1 % exchange); `both`, balanced
with exchanges added; `phrases`, balanced with short phrases added (phrases.py); `thesaurus`, more of them
(thesaurus.py); `known`, the same with the words that REPLACE uses.
"""

from __future__ import annotations

import argparse
import gc
import json
import math
import multiprocessing
import os
import random
import shutil
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from equipoise.core.files import atomic_write
from equipoise.data.items import Edit, Item, Text, load_items
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipes import get_recipe
from equipoise.train.run.log import read_log
from equipoise.train.run.loop import Hardware, Saving, train
from equipoise.train.run.mining import TAG
from studies.coco import judging
from studies.coco.choice import worth
from studies.needs import existing, made_from

RATE, BATCH = 5e-5, 256
OURS = "equipoise_2026"
PAPER, CE = "hard_positives_kamath_2024", "ce_clip_zhang_2024"
SEEDS = range(9)
CONTEST: dict[str, tuple[str, dict[str, Any]]] = {
    "hn": ("hn_only", {}),
    "hp-hn": (PAPER, {}),
    "ce-clip": (CE, {}),
    "ours": (OURS, {}),
}
TRIED = [  # texts, times the rate, passes over the captions
    ("thesaurus", 3.0, 2), ("phrases", 3.0, 2), ("thesaurus", 3.0, 1), ("balanced", 3.0, 1),
]  # fmt: skip
SHARES = (0.4, 0.5, 0.6, 0.8, 1.0)  # of the finetuned weights; the rest is the base's


@dataclass(frozen=True)
class Job:
    name: str
    recipe: str | None = None  # None: the base as it is
    options: tuple[tuple[str, Any], ...] = ()
    speed: float = 1.0  # times the learning rate of the others
    train: str = "balanced"  # whose texts: TEXTS
    start: str = ""  # letter of its bases, where it is not the text tower's


def job(
    name: str, recipe: str | None, texts: str = "balanced", speed: float = 1.0, start: str = "", **options: Any
) -> Job:
    return Job(name, recipe, tuple(options.items()), speed, texts, start)


SEARCH = [job("control", "control")] + [
    job(f"{name}.{texts}.{speed:.0f}.{epochs}", recipe, texts, speed, epochs=epochs, **options)
    for (texts, speed, epochs), (name, (recipe, options)) in product(TRIED, CONTEST.items())  # the longest first
]
MAIN = [
    job("base", None),
    job("control", "control"),
    job("hn-negclip", "hn_only", "negclip"),
    job("hp-hn-negclip", PAPER, "negclip"),
    *(job(name, recipe, "balanced", **options) for name, (recipe, options) in CONTEST.items()),
    *(job(f"{name}-swaps", recipe, "both", **options) for name, (recipe, options) in CONTEST.items()),
]
BEST = [job(f"{name}-best", recipe, **options) for name, (recipe, options) in CONTEST.items()]  # texts and rate: chosen
BEST += [job("ours-best-known", OURS)]  # as chosen, and REPLACE's words in the training texts
AS_OURS = [  # rivals with the setting that was chosen for ours
    job("hp-hn-best-as-ours", PAPER),
    job("hp-hn-best-known", PAPER),
    job("ce-clip-best-as-ours", CE),
    job("hn-best-as-ours", "hn_only"),
]
EQUAL = [  # 1,024 texts a step for every recipe, which is what ours has
    job("control-equal", "control", batch_size=1024),
    job("hn-equal", "hn_only", batch_size=512),
    job("hp-hn-equal", PAPER, batch_size=341),
    job("ce-clip-equal", CE, batch_size=205),
]
PAPERS = [  # Table 3 and the ablations of the hard-positive paper, Table 4 of CE-CLIP, and both with parts of ours
    *(job(f"hp-hn-{share}", PAPER, "both", hn_weight=float(share)) for share in ("0", "0.25", "0.5", "0.75")),
    job("hp-hn-replace-only", PAPER, "both", replace_only=True),
    job("hp-hn-swap-only", PAPER, "both", swap_only=True),
    job("ce-clip-itc", CE, "both", imc_weight=0.0, cmr_weight=0.0),
    job("ce-clip-imc", CE, "both", cmr_weight=0.0),
    job("ce-clip-cmr", CE, "both", imc_weight=0.0),
    job("ce-clip-fixed", CE, "both", fixed_threshold=0.0),
    job("hp-hn-keep", "py:studies.coco.recipes:paper_keep"),
    job("hp-hn-margin", "py:studies.coco.recipes:paper_margin"),
    job("ce-clip-positives", "py:studies.coco.recipes:ce_clip_positives"),
]
WITHOUT: dict[str, dict[str, Any]] = {  # a part of ours
    "no-rank": {"rank_weight": 0.0},
    "no-text": {"text_weight": 0.0},
    "no-agreement": {"agreement_weight": 0.0},
    "no-keep": {"keep_weight": 0.0},
    "no-second-caption": {"two_captions_each": False},
    "one-negative": {"by_operation": False},
}
OTHERS = [
    job("svlc", "svlc_doveh_2023", lora=0, warmup_steps=50),
    job("dac", "dac_doveh_2023", dense_captions=3, lora=0, warmup_steps=50),
    *(job(f"ours-{name}", OURS, **options) for name, options in WITHOUT.items()),
]
ALL = [  # the other recipes with these texts are in MAIN. A frozen vision tower keeps no patches and takes no LoRA
    job("negclip-swaps", "negclip_yuksekgonul_2023", "both"),
    job("svlc-swaps", "svlc_doveh_2023", "both", lora=0),
    job("dac-swaps", "dac_doveh_2023", "both", dense_captions=3, lora=0),
    job("fsc-swaps", "fsc_clip_oh_2024", "shuffled", local_weight=0.0),
    job("read-swaps", "read_clip_kwon_2025", "both"),
    job("clic-swaps", "clic_peleg_2025", "both", freeze="vision"),
    job("degla-swaps", "degla_hu_2025", "both"),
    job("cs-swaps", "cs_clip_kargi_2026", "both"),
]
EARLY = [  # on bases that hardly know COCO, as CLIP does not
    job("early-base", None, start="e"),
    job("early-control", "control", start="e"),
    job("early-ce-clip", CE, "both", start="e"),
]
CLAIMS = [
    *(job(f"ce-clip-{one}", CE, "both", types=(one,)) for one in ("object", "attribute", "relation", "action")),
    job("ce-clip-fixed-10", CE, "both", fixed_threshold=10.0),
    job("ce-clip-half", CE, "half", epochs=2),  # half the photos for as many steps
    job("ce-clip-fixed-2", CE, "both", fixed_threshold=2.0),
    job("control-half", "control", "half", epochs=2),
    job("ce-clip-fixed-5", CE, "both", fixed_threshold=5.0),
]
JOBS = {job.name: job for job in (*MAIN, *BEST, *AS_OURS, *EQUAL, *PAPERS, *OTHERS, *ALL, *EARLY, *CLAIMS)}
EVERY = [
    "base", "control", "hn-swaps", "hp-hn-swaps", "ce-clip-swaps", "ours-swaps",
    *(job.name for job in (*ALL, *CLAIMS, *EARLY)),
]  # fmt: skip
SCRATCH = ("base", "control", "hn-negclip", "hn", "hp-hn", "ce-clip", "ours", "hp-hn-swaps", "ours-swaps")


def training_texts(data: Path, wanted: set[str]) -> dict[str, list[Item]]:
    def read(name: str) -> list[Item]:
        return list(load_items(data / f"train-{name}.jsonl"))

    found = {"balanced": read("balanced")}
    if wanted & {"both", "shuffled", "half"}:
        both = [
            one.model_copy(
                update={"positives": one.positives + two.positives, "negatives": one.negatives + two.negatives}
            )
            for one, two in zip(found["balanced"], read("swaps"), strict=True)
        ]
        found |= {"both": both, "half": [item for item in both if item.image and int(item.image.path[:12]) % 2]}
    if "shuffled" in wanted:
        found["shuffled"] = [shuffled(item) for item in found["both"]]
    if "negclip" in wanted:
        found["negclip"] = read("negclip")
    if wanted & {"phrases", "thesaurus", "known"}:
        found["phrases"] = found["balanced"] + read("phrases")
        found |= {name: found["phrases"] + read(name) for name in ("thesaurus", "known")}
    return found


def shuffled(item: Item) -> Item:
    """With FSC-CLIP's third negative: the caption's pairs of words in another order."""
    words = item.caption.split()
    pairs = [" ".join(words[start : start + 2]) for start in range(0, len(words), 2)]
    random.Random(item.id).shuffle(pairs)
    text = Text(text=" ".join(pairs), edit=Edit(op="shuffle", target="order", by="rules"))
    more = (text,) if text.text != " ".join(words) else ()
    return item.model_copy(update={"negatives": item.negatives + more})


def with_hard_images(items: Sequence[Item], model: ClipModel, rows: judging.Vectors, device: str) -> list[Item]:
    """As `perturb --hard-images`: each item names items of the three photos that are most like its own to the base."""
    photos: dict[str, list[str]] = {}
    places = []
    for item in items:
        own = photos.setdefault(item.image.path if item.image else "", [])
        places.append(len(own))
        own.append(item.id)
    names = list(photos)
    unit = torch.from_numpy(np.stack(list(judging.projected(model, rows, names).values()))).to(device)
    near = [(part @ unit.T).topk(4).indices.tolist() for part in torch.split(unit, 2000)]
    like = {
        name: [photos[names[other]] for other in own if names[other] != name][:3]
        for name, own in zip(names, (own for part in near for own in part), strict=True)
    }
    found = []
    for item, place in zip(items, places, strict=True):
        others = [own[place % len(own)] for own in like[item.image.path]] if item.image else []
        found.append(item.model_copy(update={"tags": {**item.tags, TAG: json.dumps(others)}}))
    return found


def chosen(out: Path, name: str) -> dict[str, Any]:
    """The setting of a recipe: of those that keep the mean of six recalls within 0.3 of the control's, and no kind of
    dev items more than 2 points below it, the one with the highest mean Augmented accuracy. Where none keeps all of
    that, the one that misses by the fewest points in all."""
    rows = {path.stem: json.loads(path.read_text()) for path in (out / "search").glob("*.json")}
    if len(rows) != len(SHARES) * (len(SEARCH) - 1) + 1:
        raise RuntimeError(f"{name}: the search is not finished")  # the next round tries again
    control = rows["control-0"]["found"]
    own = [row for row in rows.values() if row["name"].startswith(f"{name}.")]
    best = max(own, key=lambda row: worth(row["found"], control, 0.3))
    return {key: best[key] for key in ("train", "speed", "options", "wise")}


def base_of(letter: str, seed: int) -> str:
    return f"{letter}.{seed}" if seed else letter


TEXTS: dict[str, list[Item]] = {}
Task = tuple[str, str, Job, int, dict[str, str]]  # text tower, stage, model, base, paths


def work(task: Task) -> None:
    """One model: trained, measured as it is or averaged with its base, its lines written."""
    tower, stage, job, seed, where = task
    data, photos, device = where["data"], f"{where['data']}/photos", where["device"]
    base, out = base_of(job.start or {"m": "t", "s": "s"}[tower], seed), Path(where["out"])
    own = out / tower
    folder = own / stage / f"{job.name}-{seed}"
    line, claim = folder.with_name(folder.name + ".json"), folder.with_name(folder.name + ".claim")
    while not (out / f"pooled-{base}.npz").exists() and time.time() < float(where["until"]):
        time.sleep(2)
    if line.exists() or time.time() > float(where["until"]):
        return
    folder.parent.mkdir(parents=True, exist_ok=True)
    if not claimed(claim):
        return
    started, wise, shares = time.monotonic(), 1.0, [1.0]
    try:
        tuned, best, changed = job.name.partition("-best")
        if best:
            setting = chosen(own, "ours" if changed else tuned)
            wise = setting["wise"]
            texts = "known" if changed == "-known" else setting["train"]
            job = replace(job, train=texts, speed=setting["speed"], options=tuple(setting["options"].items()))
            shares = [wise]
        elif stage == "search" and job.name != "control":
            shares = list(SHARES)
        rows = judging.pooled(str(out / f"pooled-{base}.npz"))
        judging.remember(rows)
        words = judging.tokens(tower)
        judging.know(words)
        start = f"hf:{out}/base/{base}-0/model"
        model = load_model(start, device=device if job.recipe is None else "cpu")
        assert isinstance(model, ClipModel)
        if job.recipe:
            batch = min(BATCH, len({item.image for item in TEXTS["balanced"]}))
            settings: dict[str, Any] = {
                "batch_size": batch, "weight_decay": 0.1, "freeze": "vision_backbone", "distinct_images": True,
                "epochs": 1, "lr": job.speed * RATE, "warmup_steps": 50, "seed": seed,
            } | dict(job.options)  # fmt: skip
            settings["max_steps"] = settings["epochs"] * len(TEXTS["balanced"]) // batch
            recipe, items = get_recipe(job.recipe, **settings), TEXTS[job.train]
            if recipe.needs.hard_images:
                items = with_hard_images(items, model, rows, device)
            train(
                recipe,
                items,
                model,
                folder,
                images=judging.source(photos),
                hardware=Hardware(device=device, compiled=False),
                saving=Saving(every=10**6, keep=1),
                show=False,
            )
            last_step = read_log(folder)[-1]
            before = model.network.state_dict()
            finetuned = load_model(f"hf:{folder}/model", device=device)
            assert isinstance(finetuned, ClipModel)
            model = finetuned
            after = {name: value.clone() for name, value in model.network.state_dict().items()}
            if stage == "final" and job.name == "control":
                with atomic_write(own / f"captions-{seed}.pt", "wb", flush=False) as handle:
                    torch.save(after, handle)
        shutil.rmtree(folder, ignore_errors=True)
        split = "test" if stage == "final" else "dev"
        row: dict[str, Any] = {"name": job.name, "recipe": job.recipe, "options": dict(job.options), "train": job.train}
        row |= {"speed": job.speed, "base": base, "seed": seed, "split": split}
        if job.recipe:  # where it ended: losses, CE-CLIP's thresholds, the scale
            row |= {"steps": last_step["step"], "scale": last_step["scale"], "parts": last_step["parts"]}
        if stage == "final" and job.name == "control":
            found = judging.judge(model, data, photos, "dev", rows, words)
            write(own / "shares" / f"control-{seed}.json", row | {"split": "dev"}, found)
        if best:
            captions, control = own / f"captions-{seed}.pt", own / "final" / f"control-{seed}"
            while not captions.exists() and Path(f"{control}.claim").exists() and not Path(f"{control}.json").exists():
                time.sleep(2)  # it is being trained
            alone = torch.load(captions, weights_only=True, map_location=device) if captions.exists() else {}
            if not alone:
                print(f"{tower}/{job.name}-{seed}: no {captions.name}, so not averaged with captions alone", flush=True)
            for share in SHARES if alone else ():
                average(model, alone, after, share)
                name = f"{job.name}+captions.{share}"
                about = row | {"name": name, "wise": share}
                found = judging.judge(model, data, photos, "dev", rows, words)
                write(own / "shares" / f"{name}-{seed}.json", about | {"split": "dev"}, found)
                found = judging.judge(model, data, photos, "test", rows, words, own / "scores" / f"{name}-{seed}.npz")
                write(own / "final" / f"{name}-{seed}.json", about, found)
        for share in shares:  # the setting that was chosen comes last: its line says that all are done
            if len(shares) > 1 or best:
                average(model, before, after, share)
            last = share == shares[-1]
            scores = own / "scores" / f"{job.name}-{seed}.npz" if stage == "final" and last else None
            found = judging.judge(model, data, photos, split, rows, words, scores)
            name = job.name if last else f"{job.name}.{share}"
            seconds = round(time.monotonic() - started, 1)
            write(
                folder.with_name(f"{name}-{seed}.json"), row | {"name": name, "wise": share, "seconds": seconds}, found
            )
    except Exception as error:  # one model that fails must not cost the others; the next round tries again
        print(f"{tower}/{job.name}-{seed}: {type(error).__name__}: {error}", flush=True)
        claim.unlink()
        return
    finally:
        if device == "cuda":
            torch.cuda.empty_cache()
    keys = [key for key in found if key.endswith("/augmented") or key in ("t2i@1", "experts")]
    numbers = " ".join(f"{key.removesuffix('/augmented')}={found[key]:.1f}" for key in keys)
    print(f"{tower}/{job.name}-{seed} {time.time() - float(where['began']):.0f} ({seconds:.0f}s) {numbers}", flush=True)


def claimed(path: Path) -> bool:
    """Several processes work on one list; the claim of a process that was killed counts no more."""
    try:
        if not Path(f"/proc/{path.read_text() or 1}").exists():
            path.unlink()
    except FileNotFoundError:
        pass
    try:
        with path.open("x") as handle:
            handle.write(str(os.getpid()))
    except FileExistsError:
        return False
    return True


@torch.no_grad()
def average(model: ClipModel, before: dict[str, torch.Tensor], after: dict[str, torch.Tensor], share: float) -> None:
    """The weights: `share` of those after finetuning, the rest of the others."""
    for name, value in model.network.state_dict().items():
        if value.is_floating_point():
            value.copy_(torch.lerp(before[name].to(value.device), after[name], share))


def write(path: Path, row: dict[str, Any], found: dict[str, float]) -> None:
    with atomic_write(path) as handle:
        handle.write(json.dumps(row | {"found": found}) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=existing("train-balanced.jsonl"))
    parser.add_argument("--out", type=Path, required=True, help="what base.py writes, or is still writing")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, choices=SEEDS, help="of the bases")
    parser.add_argument(
        "--only", nargs="+", help="models for the tables, in this order; s/NAME: of the scratch bases; every: see above"
    )
    parser.add_argument(
        "--start", default="", help="letter of the bases, where a model has no own; t, or s from scratch"
    )
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    options = parser.parse_args()
    began = time.time()
    where = {name: str(getattr(options, name)) for name in ("data", "out", "device")}
    where |= {"until": str(began + options.seconds), "began": str(began)}
    if options.only == ["every"]:
        options.only = EVERY
    if unknown := {name.removeprefix("s/") for name in options.only or ()} - JOBS.keys():
        parser.error(f"--only: no model {', '.join(sorted(unknown))}; there are {', '.join(JOBS)}")
    made_from(options.out / "texts.sha256", sorted(options.data.glob("*.jsonl")))
    for split in ("dev", "test"):
        for kind in ("captions", *judging.kinds(where["data"], split)):
            judging.items_of(f"{where['data']}/{split}-{kind}.jsonl")
    tasks = [
        (tower, stage, replace(job, start=job.start or options.start), seed, where)
        for tower, stage, job, seed, where in tasks_of(options.seeds, options.only, where)
    ]
    wanted = {"phrases" if "-best" in job.name else job.train for _, _, job, _, _ in tasks if job.recipe}
    TEXTS.update(training_texts(options.data, wanted))
    if any(tower == "m" for tower, *_ in tasks):
        known(options.out, began + options.seconds)
    gc.freeze()
    with multiprocessing.get_context("fork").Pool(options.jobs) as pool:  # the texts are loaded once for all
        for _ in range(2):
            for _ in pool.imap_unordered(work, tasks, chunksize=1):
                pass


def tasks_of(seeds: Sequence[int], only: Sequence[str] | None, where: dict[str, str]) -> Iterator[Task]:
    if only is not None:
        for named in only:
            tower, name = ("s" if named.startswith("s/") else "m"), named.removeprefix("s/")
            yield from ((tower, "final", JOBS[name], seed, where) for seed in seeds)
        return
    if 0 in seeds:
        yield from ((tower, "search", job, 0, where) for tower in "ms" for job in SEARCH)
    scratch = [("s", "final", job, seed, where) for seed in seeds for job in MAIN if job.name in SCRATCH]
    yield from (("m", "final", job, seed, where) for seed in seeds for job in MAIN)
    yield from scratch[: len(SCRATCH)]  # until these are done, so is the search
    yield from ((tower, "final", job, seed, where) for tower in "ms" for seed in seeds for job in BEST)
    yield from scratch[len(SCRATCH) :]
    yield from (("m", "final", job, seed, where) for job in (*AS_OURS, *EQUAL, *PAPERS, *OTHERS) for seed in seeds)


def known(out: Path, until: float) -> None:
    """The tokens of all training texts, once for all models that start from MiniLM; base.py begins with `words`."""
    while not (found := sorted([*out.glob("words"), *(out / "base").glob("[emt]*-0/model")])):
        print(f"waiting for a base in {out / 'base'}, which base.py writes", flush=True)
        if time.time() > until:
            raise SystemExit(1)
        time.sleep(2)
    model = load_model(f"hf:{found[-1]}", device="cpu")
    assert isinstance(model, ClipModel)
    texts = {
        text
        for items in TEXTS.values()
        for item in items
        for text in (item.caption, *(one.text for one in (*item.positives, *item.negatives)))
    }
    ordered = sorted(texts)
    judging.tokens("m").update(zip(ordered, (model.truncate(row) for row in model.tokenize(ordered)), strict=True))


if __name__ == "__main__":
    main()
