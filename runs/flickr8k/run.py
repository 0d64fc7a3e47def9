"""Train a dual encoder on Flickr8k's 6,000 training photos, then finetune it by every recipe, and judge all of them.

    python runs/flickr8k/data.py --out DATA
    python runs/flickr8k/run.py base DATA --photos ../shared/data/flickr8k --wheel LITE2.whl --out OUT
    python runs/flickr8k/run.py second DATA --photos ../shared/data/flickr8k --out OUT --base e6     on dev, to choose
    python runs/flickr8k/run.py final DATA --photos ../shared/data/flickr8k --out OUT --base e6      on test, once

Every model is trained by `equipoise.train` and saved as a folder that `equipoise eval hf:FOLDER` takes. The vision
tower (EfficientNet-Lite2) is frozen: photos go through it once per run. Every model has its numbers beside it, in
OUT/STAGE/NAME-SEED.json; a model that has them is not trained again.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import time
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import torch
from jobs import BASES, FINAL, FIRST, MINI_BASES, SECOND, SEEDS, THIRD, Job
from numpy.typing import NDArray
from PIL import Image
from retrieval import experts, recalls

from equipoise.evaluation.metrics import judge as judge_scores
from equipoise.evaluation.scores import ItemScores
from equipoise.files import atomic_write
from equipoise.images.sources import ImageSource, TarImages
from equipoise.items import load_items
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.train.recipes import get_recipe
from equipoise.train.run.loop import train
from equipoise.train.run.options import Hardware, Saving

KINDS = ("seen", "unseen", "swap", "type")
# The same for every recipe: chosen for the base on dev, never for one recipe.
BASE = {
    "batch_size": 256,
    "weight_decay": 0.1,
    "warmup_steps": 200,
    "freeze": "vision_backbone",
    "distinct_images": True,
}
TUNE = BASE | {"epochs": 5, "lr": 2e-4, "warmup_steps": 50}


@cache
def source(photos: str) -> ImageSource:
    return TarImages(sorted(Path(photos).glob("*.tar")))


@cache
def pixels(photos: str, data: str, split: str) -> tuple[list[str], NDArray[np.uint8]]:
    """The photos of a split in the model's size, once per process."""
    from parts import PREPROCESS

    names = list(dict.fromkeys(item.image.path for item in load_items(f"{data}/{split}-captions.jsonl") if item.image))

    def read(name: str) -> NDArray[np.uint8]:
        return np.asarray(PREPROCESS.pixels(Image.open(BytesIO(source(photos).read(name)))))

    with ThreadPoolExecutor(8) as threads:
        return names, np.stack(list(threads.map(read, names)))


def embed(model: ClipModel, values: NDArray[np.uint8], size: int = 250) -> NDArray[np.float32]:
    return np.concatenate([model.begin_images(values[n : n + size])() for n in range(0, len(values), size)])


def texts(model: ClipModel, strings: list[str], size: int = 1000) -> NDArray[np.float32]:
    ids = [model.truncate(row) for row in model.tokenize(strings)]
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    out = np.zeros((len(ids), model.card["embed_dim"]), np.float32)
    for start in range(0, len(ids), size):
        rows = order[start : start + size]
        out[rows] = model.encode_texts([ids[row] for row in rows])
    return out


def judge(model: ClipModel, data: str, photos: str, split: str, scores: Path | None = None) -> dict[str, float]:
    """Original, Augmented, Brittleness in percent for each kind of item; recall and experts' correlation."""
    names, values = pixels(photos, data, split)
    images = dict(zip(names, embed(model, values), strict=True))
    found: dict[str, float] = {}
    for kind in KINDS:
        items = load_items(f"{data}/{split}-{kind}.jsonl")
        seen = np.stack([images[item.image.path] for item in items if item.image])
        c, p, n = (
            (texts(model, strings) * seen).sum(1)
            for strings in (
                [item.caption for item in items],
                [item.positives[0].text for item in items],
                [item.negatives[0].text for item in items],
            )
        )
        rows = [
            ItemScores(id=i.id, image=i.image.path, caption=a, positives=[b], negatives=[d], tags=i.tags)
            for i, a, b, d in zip(items, c.tolist(), p.tolist(), n.tolist(), strict=True)
            if i.image
        ]
        outcomes = judge_scores(rows)
        found |= {
            f"{kind}/original": 100 * float(outcomes.original.mean()),
            f"{kind}/augmented": 100 * float(outcomes.augmented.mean()),
            f"{kind}/brittleness": 100 * float(outcomes.brittle.mean()),
            f"{kind}/apart": float(np.abs(c - p).mean() / np.concatenate([c, p, n]).std()),
        }
        if scores:
            with atomic_write(scores / f"{kind}.jsonl") as handle:
                handle.writelines(row.model_dump_json(exclude_defaults=True) + "\n" for row in rows)
    plain = load_items(f"{data}/{split}-captions.jsonl")
    captions = texts(model, [item.caption for item in plain])
    order = np.array([names.index(item.image.path) for item in plain if item.image])
    found |= recalls(np.stack([images[name] for name in names]), captions, order)
    return found | experts(images, lambda strings: texts(model, strings), photos)


def work(task: tuple[str, Job, int, dict[str, str]]) -> None:
    """One model: trained, judged, its line written."""
    stage, job, seed, where = task
    out = Path(where["out"])
    folder = out / stage / f"{job.name}-{seed}"
    line = folder.with_suffix(".json")
    if line.exists():
        return
    started = time.monotonic()
    device = where["device"]
    try:
        if stage == "base":
            from parts import dual_encoder

            captions = [item.caption for item in load_items(f"{where['data']}/train-captions.jsonl")]
            words, text = folder.with_name(folder.name + "-words"), Path(where["text"]) if where["text"] else None
            model = dual_encoder(Path(where["wheel"]), captions, words, seed, text, job.dropout)
            settings = BASE
        else:
            base = load_model(f"hf:{out}/base/{where['base']}-0/model", device="cpu")
            assert isinstance(base, ClipModel)
            model, settings = base, TUNE | {"lr": float(where["lr"])}
        saved = folder / "model"
        if job.recipe:
            recipe = get_recipe(job.recipe, **(settings | {"seed": seed} | dict(job.options)))
            path = f"{where['data']}/{'train-captions' if stage == 'base' else 'train'}.jsonl"
            hardware = Hardware(device=device, compiled=False)
            train(
                recipe,
                load_items(path),
                model,
                folder,
                images=source(where["photos"]),
                hardware=hardware,
                saving=Saving(every=10**6, keep=1),
                show=False,
            )
            model = load_model(f"hf:{saved}", device=device)  # type: ignore[assignment]
        else:
            model = load_model(f"hf:{out}/base/{where['base']}-0/model", device=device)  # type: ignore[assignment]
        split = "test" if stage == "final" else "dev"
        scores = out / "scores" / f"{job.name}-{seed}" if stage == "final" else None
        found = judge(model, where["data"], where["photos"], split, scores)
        dev = judge(model, where["data"], where["photos"], "dev") if stage == "final" else found
    except Exception as error:  # one job that fails must not cost the others
        print(f"{job.name}-{seed}: {type(error).__name__}: {error}", flush=True)
        return
    seconds = round(time.monotonic() - started, 1)
    line.parent.mkdir(parents=True, exist_ok=True)
    row = {"name": job.name, "recipe": job.recipe, "options": dict(job.options), "seed": seed, "split": split}
    line.write_text(json.dumps(row | {"seconds": seconds, "found": found, "dev": dev}) + "\n")
    keys = ("seen/augmented", "seen/brittleness", "unseen/augmented", "unseen/brittleness", "swap/augmented")
    keys += ("swap/brittleness", "type/augmented", "t2i@1", "i2t@1", "experts")
    print(f"{job.name}-{seed} {seconds:.0f}s", *(f"{k}={found[k]:.1f}" for k in keys), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("base", "first", "second", "third", "final"))
    parser.add_argument("data")
    parser.add_argument("--photos", required=True)
    parser.add_argument("--wheel")
    parser.add_argument("--text", default="", help="folder of all-MiniLM-L6-v2; else the text tower is from scratch")
    parser.add_argument("--lr", default="2e-4", help="of finetuning")
    parser.add_argument("--out", required=True)
    parser.add_argument("--base", default="e6")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--only", nargs="*", help="names of jobs")
    parser.add_argument("--seeds", type=int, nargs="*")
    options = parser.parse_args()
    bases = MINI_BASES if options.text else BASES
    jobs = {"base": bases, "first": FIRST, "second": SECOND, "third": THIRD, "final": FINAL}[options.stage]
    jobs = [job for job in jobs if not options.only or job.name in options.only]
    seeds = options.seeds or (SEEDS if options.stage == "final" else [0])
    where = {key: str(value) for key, value in vars(options).items() if key in {"data", "photos", "out", "base"}}
    where |= {"device": options.device, "wheel": options.wheel or "", "text": options.text, "lr": options.lr}
    tasks = [(options.stage, job, seed, where) for seed in seeds for job in jobs]
    if options.jobs == 1:
        for task in tasks:
            work(task)
        return
    torch.multiprocessing.set_start_method("spawn")
    with multiprocessing.get_context("spawn").Pool(options.jobs, maxtasksperchild=None) as pool:
        for _ in pool.imap_unordered(work, tasks, chunksize=1):
            pass


if __name__ == "__main__":
    main()
