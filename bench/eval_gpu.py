"""A whole evaluation on a GPU: seconds by phase, beside what the cores and the towers could do, and the naive way.

    python bench/eval_gpu.py --source DIR-of-vl_checklist [--naive-records 1000 | --ours 3] [--records 500 --device cpu]

REPLACE's 27,443 records on 8,041 drawn photos (500 x 375, drawn before anything is timed), random ViT-B/32. Ours runs
end to end through `evaluate`, with an empty embedding cache on disk and a run folder. Printed beside it: the photos per
second that the same workers decode with no model behind them, what the towers do with synthetic batches, the
straightforward way (see eval_vs_naive.py) on all records or on the first N, and how many outcomes TF32 and bfloat16
change. Random weights have many near ties, so trained models lose fewer.
"""

from __future__ import annotations

import argparse
import contextlib
import cProfile
import hashlib
import io
import os
import pstats
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import made
import numpy as np
from eval_vs_naive import naive, outcomes_of, sample

BATCHES = 20  # of the towers' limit


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--records", type=int, default=1_000_000, help="default: all")
    parser.add_argument("--naive-records", type=int, help="of the straightforward way; its time is scaled up by count")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--workers", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--photos", type=Path, help="where the drawn photos are, or are to be kept")
    parser.add_argument("--profile", action="store_true", help="where the main thread's time goes")
    parser.add_argument("--ours", type=int, metavar="TIMES", help="ours alone, so often, in float32")
    parser.add_argument(
        "--tiny", action="store_true", help="made-up items, a tiny model, the CPU: does the script run?"
    )
    arguments = parser.parse_args()
    if arguments.tiny:
        arguments.source, arguments.records, arguments.device = None, 24, "cpu"
    elif not arguments.source:
        parser.error("--source is missing: the folder of VL-CheckList's annotations (or --tiny)")
    with tempfile.TemporaryDirectory() as name:
        measure(arguments, Path(name))


def measure(arguments: argparse.Namespace, folder: Path) -> None:
    items, benchmark = sample(arguments.source, arguments.records)
    photos = arguments.photos or folder / "photos"
    paths = list(dict.fromkeys(item.image.path for item in items))
    missing = [path for path in paths if not (photos / path).exists()]
    started = time.monotonic()
    made.draw(photos, missing)
    print(f"{len(items):,} records, {len(paths):,} photos ({len(missing):,} drawn in {since(started):.1f} s)")
    model = made.clip(arguments.device, tiny=arguments.tiny)
    print(f"{device_name(model)}, {arguments.workers} cores that decode, torch {version()}")

    decode_limit(model, photos, paths, arguments.workers)
    tower_limits(model, items)

    if arguments.ours:
        for time_ in range(arguments.ours):
            ours(model, items, benchmark, photos, folder / str(time_), arguments)
        return
    seconds, outcomes = ours(model, items, benchmark, photos, folder, arguments)
    reference = naive_way(model, items, photos, arguments.naive_records)
    wrong = differences(reference[1], outcomes)
    print(f"{reference[0] / seconds:.1f} times faster; {wrong} of {len(reference[1]):,} outcomes differ (float32)")
    if wrong > len(reference[1]) / 1000:  # a near tie may turn with the shape of a batch
        sys.exit("the outcomes are not the same")

    for dtype in ("tf32", "bfloat16"):
        if dtype == "tf32" and model.device.type != "cuda":
            continue
        other = made.clip(arguments.device, dtype, tiny=arguments.tiny)
        tower_limits(other, items)
        took, changed = ours(other, items, benchmark, photos, folder, arguments)
        print(f"{dtype}: {took:.2f} s; {differences(outcomes, changed)} of {len(outcomes):,} outcomes differ")


# ---------------------------------------------------------------------------- ours


def ours(
    model: Any, items: Any, benchmark: Any, photos: Path, folder: Path, arguments: argparse.Namespace
) -> tuple[float, dict[str, dict[str, bool]]]:
    from equipoise.core.garbage import seldom_collected
    from equipoise.data.identity import loaded, steady
    from equipoise.embedding.cache import EmbeddingCache
    from equipoise.evaluation.run import evaluate

    dtype = model.card["dtype"]
    profiler = cProfile.Profile() if arguments.profile else None
    cache = EmbeddingCache(folder / f"cache-{dtype}")
    started = time.monotonic()
    with profiler or contextlib.nullcontext(), seldom_collected(), steady(), contextlib.redirect_stderr(io.StringIO()):
        loaded(model)  # as in the command line, where nobody changes a model after it was loaded
        result = evaluate(
            model,
            items,
            images=photos,
            benchmark=benchmark,
            out=folder / f"run-{dtype}",
            cache=cache,
            workers=arguments.workers,
        )
    total = since(started)
    record = result.record
    spent = {**record.seconds.parts, "score": record.seconds.score, "measure": record.seconds.measure}
    images, texts = record.counts["images_encoded"], record.counts["texts_encoded"]
    embedding = spent["images"] + spent["texts"]
    rest = spent["score"] - spent["tokenize"] - embedding - spent["cosines"] - spent["kept"]
    scores = hashlib.sha256()
    for row in result.rows:
        scores.update(np.array([row.caption, *row.positives, *row.negatives], dtype=np.float64).tobytes())
    print(
        f"ours, {dtype}: {total:.2f} s for {len(result.rows):,} records, {images:,} images, {texts:,} texts; "
        f"scores {scores.hexdigest()[:12]}, the same for the same bits"
    )
    print(
        f"  tokenize {spent['tokenize']:.2f}, towers {embedding:.2f} ({images / embedding:,.0f} images/s; "
        f"of it with images {spent['images']:.2f}, with texts {spent['texts']:.2f}"
        f"), cosines {spent['cosines']:.2f}, the cache's last write {spent['kept']:.2f}, "
        f"identity and rest of scoring {rest:.2f}, measure {spent['measure']:.2f}, "
        f"write {total - spent['score'] - spent['measure']:.2f}"
    )
    if profiler:
        pstats.Stats(profiler).sort_stats("cumtime").print_stats(45)
    return total, outcomes_of(result)


# ---------------------------------------------------------------------------- limits


def decode_limit(model: Any, photos: Path, paths: list[str], workers: int) -> None:
    """Print how fast photos are read, hashed, decoded and resized where nothing else is waited for."""
    from equipoise.data.images import FolderImages
    from equipoise.data.items import ImageRef
    from equipoise.embedding.decoding import decoded

    refs = {path: [ImageRef(path=path)] for path in paths}
    many = workers > 2 or model.device.type == "cuda"
    started = time.monotonic()
    everything = lambda digests: (None, [ref for path in digests for ref in refs[path]])  # noqa: E731
    with decoded(FolderImages(photos), refs, everything, model.preprocess, workers, many) as jobs:
        count = sum(len(job.images) for job in jobs)
    print(f"decode limit: {count / since(started):,.0f} images/s ({workers} workers)")


def tower_limits(model: Any, items: Any) -> None:
    """Synthetic batches, one begun before the other is waited for; the first is not timed."""
    from equipoise.embedding.embed import LENGTH_STEP, TOKENS_PER_IMAGE
    from equipoise.evaluation.scoring import default_batch

    rows = default_batch(model)
    batches = BATCHES if model.device.type == "cuda" else 2
    pixels = np.random.default_rng(0).integers(0, 255, (rows, *model.preprocess.image_size, 3), dtype=np.uint8)
    images = rate(lambda: model.begin_images([model.send_pixels(pixels)], rows), rows, batches)
    speeds = []
    for length in (2 * LENGTH_STEP, 3 * LENGTH_STEP, 4 * LENGTH_STEP):
        texts = rows * TOKENS_PER_IMAGE // length
        ids = [[49406, *range(1000, 998 + length), 49407]] * texts
        speed = rate(lambda ids=ids: model.begin_texts(ids), texts, batches)
        speeds.append(f"{speed:,.0f} texts/s of {length} tokens")
    print(f"tower limit, {model.card['dtype']}: {images:,.0f} images/s, {', '.join(speeds)}")


def rate(begin: Any, rows: int, batches: int) -> float:
    begin()()
    started = time.monotonic()
    last = begin()
    for _ in range(batches - 1):
        before, last = last, begin()
        before()
    last()
    return batches * rows / since(started)


# ---------------------------------------------------------------------------- the naive way, and what differs


def naive_way(model: Any, items: Any, photos: Path, records: int | None) -> tuple[float, dict[str, dict[str, bool]]]:
    sampled = items[: records or len(items)]
    naive(model, sampled[:16], photos)
    started = time.monotonic()
    outcomes = naive(model, sampled, photos)
    seconds = since(started)
    whole = seconds * len(items) / len(sampled)
    scaled = f", so {whole:.1f} s for all" if len(sampled) < len(items) else ""
    print(f"naive: {seconds:.1f} s for {len(sampled):,} records{scaled}")
    return whole, outcomes


def differences(first: dict[str, dict[str, bool]], second: dict[str, dict[str, bool]]) -> int:
    """The number of outcomes in `first` that differ in `second`."""
    return sum(second[name] != outcome for name, outcome in first.items())


def since(started: float) -> float:
    return time.monotonic() - started


def device_name(model: Any) -> str:
    import torch

    return torch.cuda.get_device_name(model.device) if model.device.type == "cuda" else "CPU"


def version() -> str:
    import torch

    return str(torch.__version__)


if __name__ == "__main__":
    main()
