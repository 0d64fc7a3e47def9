r"""Train a dual encoder on Flickr8k's 6,000 training photos, then finetune it by every recipe, and judge all of them.

    python runs/flickr8k/data.py --out DATA
    python runs/flickr8k/base.py DATA ...                                     the bases; OUT/base/NAME-0/model
    python runs/flickr8k/run.py fourth DATA --photos ../shared/data/flickr8k --out OUT --base NAME   on dev, to choose
    equipoise perturb DATA/train.jsonl --hard-images hf:OUT/base/NAME-0/model --images ../shared/data/flickr8k \
        --out OUT/mined.jsonl
    python runs/flickr8k/run.py final DATA --photos ../shared/data/flickr8k --out OUT --base NAME    on test, once
    python runs/flickr8k/run.py styles DATA ...         the same, on the negatives of data.py --negatives negclip, crepe
    python runs/flickr8k/both.py DATA ...               fifth, final and styles of both text towers, in one queue

Every model is trained by `equipoise.train` and saved as a folder that `equipoise eval hf:FOLDER` takes. The vision
tower is frozen: photos go through it once per base (OUT/pooled-NAME.npz). Every model has its numbers beside it, in
OUT/STAGE/NAME-SEED.json; a model that has them is not trained again. `base` trains the first, weaker bases.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import shutil
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, partialmethod
from io import BytesIO
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
import torch
from jobs import BASES, FIFTH, FINAL, FIRST, FOURTH, MINI_BASES, SECOND, SEEDS, STYLES, THIRD, Job
from needs import existing
from numpy.typing import NDArray
from PIL import Image
from retrieval import experts, outcomes, ranks, rated_photos, recalls
from scores import numbers, write_scores

from equipoise.core.files import atomic_write
from equipoise.data.images import ImageSource, TarImages
from equipoise.data.items import Item, load_items
from equipoise.models import load_model
from equipoise.models.clip import ClipModel, precision
from equipoise.models.preprocess import Preprocess
from equipoise.train.data.batches import TextChunks, TrainingData
from equipoise.train.recipes import get_recipe
from equipoise.train.run.loop import train
from equipoise.train.run.options import Hardware, Saving
from equipoise.train.step.towers import Towers

STAGES = {"first": FIRST, "second": SECOND, "third": THIRD, "fourth": FOURTH, "fifth": FIFTH}
STAGES |= {"final": FINAL, "styles": STYLES}
# The same for every recipe: chosen for the base on dev, never for one recipe.
BASE = {
    "batch_size": 256,
    "weight_decay": 0.1,
    "warmup_steps": 200,
    "freeze": "vision_backbone",
    "distinct_images": True,
}
TESTED = ("final", "styles")  # stages that read the test photos
TUNE = BASE | {"epochs": 5, "lr": 2e-4, "warmup_steps": 50}


@cache
def source(photos: str) -> ImageSource:
    return TarImages(sorted(Path(photos).glob("*.tar")))


@cache
def items_of(path: str) -> list[Item]:
    return load_items(path)


@cache
def pixels(photos: str, data: str, split: str, preprocess: Preprocess) -> tuple[list[str], NDArray[np.uint8]]:
    """The photos of a split in the model's size, once per process."""
    names = list(dict.fromkeys(item.image.path for item in items_of(f"{data}/{split}-captions.jsonl") if item.image))

    def read(name: str) -> NDArray[np.uint8]:
        return np.asarray(preprocess.pixels(Image.open(BytesIO(source(photos).read(name)))))

    with ThreadPoolExecutor(16) as threads:
        return names, np.stack(list(threads.map(read, names)))


Vectors = dict[str, NDArray[np.float32]]


def pool(model: ClipModel, out: Path, where: dict[str, str]) -> None:
    """What the base's frozen vision tower says of every photo, once for all models that share it."""
    if out.exists():
        return
    towers, found = Towers(model.network, model.preprocess), {}
    for split in ("train", "dev", "test", "extra"):
        if not Path(f"{where['data']}/{split}-captions.jsonl").exists():  # extra: photos of test items alone
            continue
        names, values = pixels.__wrapped__(where["photos"], where["data"], split, model.preprocess)
        for start in range(0, len(names), 250):
            with torch.inference_mode(), precision(False):
                rows = towers.pooled(torch.from_numpy(values[start : start + 250]).to(model.device)).cpu().numpy()
            found |= dict(zip(names[start : start + 250], rows, strict=True))
    with atomic_write(out, "wb") as handle:
        np.savez(handle, names=np.array(list(found)), rows=np.stack(list(found.values())))


@cache
def pooled(path: str) -> Vectors:
    with np.load(path) as held:
        return dict(zip(held["names"].tolist(), held["rows"], strict=True))


def remember(rows: Vectors) -> None:
    """Training asks its frozen tower for every photo; here it was asked already. Fifteen runs at a time would
    otherwise send the same 6,000 photos through the same tower."""

    def known(self: TrainingData, *_: object) -> None:
        self._pooled = {key: rows[key[1]] for key in self._keys if isinstance(key, tuple)}

    TrainingData.pool = partialmethod(known)  # type: ignore[assignment, method-assign]


def kinds(data: str, split: str) -> list[str]:
    """The kinds of test items that a folder has."""
    found = sorted(path.stem.removeprefix(f"{split}-") for path in Path(data).glob(f"{split}-*.jsonl"))
    return [kind for kind in found if kind != "captions" and "perturbed" not in kind]


def photos_of_kinds(data: str, split: str) -> list[str]:
    return [
        item.image.path
        for kind in kinds(data, split)
        for item in items_of(f"{data}/{split}-{kind}.jsonl")
        if item.image
    ]


Tokens = dict[str, list[int]]


@cache
def tokens(base: str) -> Tokens:
    """What is known of a base's tokens: it grows, and every model that a process trains finds it."""
    return {}


def know(words: Tokens) -> None:
    """Training asks its tokenizer for every text, which is half of the time in which a batch is made; most were asked
    by the models before it in this process."""

    def known(self: TextChunks, texts: Sequence[str]) -> list[list[int]]:
        self._known = words
        return own(self, texts)

    own = getattr(TextChunks._ids, "own", TextChunks._ids)
    known.own = own  # type: ignore[attr-defined]
    TextChunks._ids = known  # type: ignore[method-assign]


@torch.inference_mode()
def projected(model: ClipModel, rows: Vectors, names: list[str]) -> Vectors:
    """The embeddings of photos whose pooled values are known."""
    seen = torch.from_numpy(np.stack([rows[name] for name in names])).to(model.device)
    unit = torch.nn.functional.normalize(model.network.visual_projection(seen).float(), dim=-1).cpu().numpy()
    return dict(zip(names, unit, strict=True))


def embed(model: ClipModel, values: NDArray[np.uint8], size: int = 250) -> NDArray[np.float32]:
    return np.concatenate([model.begin_images(values[n : n + size])() for n in range(0, len(values), size)])


def texts(model: ClipModel, strings: list[str], words: Tokens, size: int = 1000) -> NDArray[np.float32]:
    unknown = [text for text in dict.fromkeys(strings) if text not in words]
    words |= zip(unknown, (model.truncate(row) for row in model.tokenize(unknown)), strict=True)
    ids = [words[text] for text in strings]
    order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
    out = np.zeros((len(ids), model.card["embed_dim"]), np.float32)
    for start in range(0, len(ids), size):
        rows = order[start : start + size]
        out[rows] = model.encode_texts([ids[row] for row in rows])
    return out


def judge(
    model: ClipModel,
    data: str,
    photos: str,
    split: str,
    rows: Vectors | None = None,
    words: Tokens | None = None,
    scores: Path | None = None,
) -> dict[str, float]:
    """Original, Augmented, Brittleness in percent for each kind of item; recall and experts' correlation."""
    words = {} if words is None else words
    if rows is None:
        names, values = pixels(photos, data, split, model.preprocess)
        images = dict(zip(names, embed(model, values), strict=True))
    else:
        names = list(dict.fromkeys(i.image.path for i in items_of(f"{data}/{split}-captions.jsonl") if i.image))
        rated = rated_photos(photos) & rows.keys() if split == "test" else set()
        images = projected(model, rows, [*dict.fromkeys([*names, *photos_of_kinds(data, split), *sorted(rated)])])
    found: dict[str, float] = {}
    kept: dict[str, NDArray[Any]] = {}
    for kind in kinds(data, split):
        items = items_of(f"{data}/{split}-{kind}.jsonl")
        shown = [item.image.path for item in items if item.image]
        seen = np.stack([images[name] for name in shown])
        c, p, n = (
            (texts(model, strings, words) * seen).sum(1)
            for strings in (
                [item.caption for item in items],
                [item.positives[0].text for item in items],
                [item.negatives[0].text for item in items],
            )
        )
        original, augmented, brittle = outcomes(c, p, n)
        found |= {
            f"{kind}/original": 100 * float(original.mean()),
            f"{kind}/augmented": 100 * float(augmented.mean()),
            f"{kind}/brittleness": 100 * float(brittle.mean()),
            f"{kind}/apart": float(np.abs(c - p).mean() / np.concatenate([c, p, n]).std()),
        }
        kept |= {f"{kind}/photo": numbers(shown, list(images)), f"{kind}/scores": np.stack([c, p, n])}
        if all("relation" in item.tags for item in items):
            kept[f"{kind}/relation"] = np.array([item.tags["relation"] for item in items])
    plain = items_of(f"{data}/{split}-captions.jsonl")
    captions = texts(model, [item.caption for item in plain], words)
    order = numbers([item.image.path for item in plain if item.image], names)
    photo_vectors = np.stack([images[name] for name in names])
    found |= recalls(photo_vectors, captions, order)
    to_image, to_text = (rank.astype(np.int16) for rank in ranks(photo_vectors, captions, order))
    kept |= {"captions/photo": order, "t2i": to_image, "i2t": to_text}
    told, pairs = experts(images, lambda strings: texts(model, strings, words), photos)
    if scores:
        write_scores(scores, kept | pairs)
    return found | told


def prepare(where: dict[str, str]) -> None:
    """What all models of a base share is made once."""
    base = load_model(f"hf:{where['out']}/base/{where['base']}-0/model", device=where["device"])
    assert isinstance(base, ClipModel)
    pool(base, Path(where["out"]) / f"pooled-{where['base']}.npz", where)


def work(task: tuple[str, Job, int, dict[str, str]]) -> None:
    """One model: trained, judged, its line written."""
    stage, job, seed, where = task
    out = Path(where["out"])
    folder = out / stage / f"{job.name}-{seed}"
    line = folder.with_name(folder.name + ".json")  # a name may have a dot: wise.8
    if line.exists() or time.time() > float(where["until"]):
        return
    started = time.monotonic()
    device, rows, words = where["device"], None, None
    try:
        if stage == "base":
            from parts import dual_encoder

            captions = [item.caption for item in load_items(f"{where['data']}/train-captions.jsonl")]
            learnt, text = folder.with_name(folder.name + "-words"), Path(where["text"]) if where["text"] else None
            model = dual_encoder(Path(where["wheel"]), captions, learnt, seed, text, job.dropout)
            settings = BASE
        else:
            rows = pooled(str(out / f"pooled-{where['base']}.npz"))
            remember(rows)
            words = tokens(where["base"])
            know(words)
            base = load_model(f"hf:{out}/base/{where['base']}-0/model", device="cpu")
            assert isinstance(base, ClipModel)
            model, settings = base, TUNE | {"lr": job.speed * float(where["lr"]), "epochs": int(where["epochs"])}
            settings |= {"batch_size": int(where["batch"])}
        saved = folder / "model"
        if job.recipe:
            recipe = get_recipe(job.recipe, **(settings | {"seed": seed} | dict(job.options)))
            path = f"{where['data']}/{'train-captions' if stage == 'base' else job.train}.jsonl"
            train(
                recipe,
                items_of(f"{out}/mined.jsonl" if job.train == "mined" else path),
                model,
                folder,
                images=source(where["photos"]),
                hardware=Hardware(device=device, compiled=False),
                saving=Saving(every=10**6, keep=1),
                show=False,
            )
            shutil.rmtree(folder / "checkpoints", ignore_errors=True)
            model = load_model(f"hf:{saved}", device=device)  # type: ignore[assignment]
        else:
            model = load_model(f"hf:{out}/base/{where['base']}-0/model", device=device)  # type: ignore[assignment]
        split = "test" if stage in TESTED else "dev"
        scores = out / "scores" / f"{job.name}-{seed}.npz" if stage in TESTED else None
        found = judge(model, where["data"], where["photos"], split, rows, words, scores)
        if where.get("weights") == "drop":
            shutil.rmtree(folder, ignore_errors=True)
    except Exception as error:  # one job that fails must not cost the others
        print(f"{job.name}-{seed}: {type(error).__name__}: {error}", flush=True)
        return
    seconds = round(time.monotonic() - started, 1)
    line.parent.mkdir(parents=True, exist_ok=True)
    row = {"name": job.name, "recipe": job.recipe, "options": dict(job.options), "speed": job.speed, "seed": seed}
    with atomic_write(line) as handle:
        handle.write(json.dumps(row | {"split": split, "seconds": seconds, "found": found}) + "\n")
    keys = [key for key in found if key.endswith(("/augmented", "/brittleness", "@1")) or key == "experts"]
    print(f"{job.name}-{seed} {seconds:.0f}s", *(f"{k}={found[k]:.1f}" for k in keys), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stage", choices=("base", *STAGES))
    parser.add_argument("data", type=existing("train.jsonl"))
    parser.add_argument("--photos", type=existing(), required=True)
    parser.add_argument("--wheel", type=existing())
    parser.add_argument("--text", default="", help="folder of all-MiniLM-L6-v2; else the text tower is from scratch")
    parser.add_argument("--lr", default="2e-4", help="of finetuning")
    parser.add_argument("--epochs", default="5", help="of finetuning")
    parser.add_argument("--batch", default="256", help="of finetuning")
    parser.add_argument("--out", required=True)
    parser.add_argument("--base", default="e6")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--only", nargs="*", help="names of jobs")
    parser.add_argument("--seeds", type=int, nargs="*")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="no model is begun later")
    options = parser.parse_args()
    bases = MINI_BASES if options.text else BASES
    jobs = (STAGES | {"base": bases})[options.stage]
    jobs = [job for job in jobs if not options.only or job.name in options.only]
    seeds = options.seeds or (SEEDS if options.stage in TESTED else [0])
    where = {key: str(value) for key, value in vars(options).items() if key in {"data", "photos", "out", "base"}}
    where |= {"device": options.device, "wheel": str(options.wheel or ""), "text": options.text, "lr": options.lr}
    where |= {"epochs": options.epochs, "batch": options.batch, "until": str(time.time() + options.seconds)}
    if options.stage != "base":
        prepare(where)
    tasks = [(options.stage, job, seed, where) for seed in seeds for job in jobs]
    if options.jobs == 1:
        for task in tasks:
            work(task)
        return
    torch.multiprocessing.set_start_method("spawn")
    with multiprocessing.get_context("spawn").Pool(options.jobs) as workers:
        for _ in workers.imap_unordered(work, tasks, chunksize=1):
            pass


if __name__ == "__main__":
    main()
