"""Captions -> Items at scale: streamed, sharded, on several processes, the same bytes whatever happens on the way."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from equipoise import __version__
from equipoise.errors import UserError
from equipoise.files import read_json, sha256_file, write_json
from equipoise.items import Item
from equipoise.perturb.bias import separability
from equipoise.perturb.blind import judge_named
from equipoise.perturb.manifest import Parts, code_hash
from equipoise.perturb.readers import caption_files, read_captions
from equipoise.perturb.refine import KINDS, Judges, refine_file
from equipoise.perturb.setup import Setup
from equipoise.perturb.shards import SHARD, Shard, run_shard, shards_of, summed
from equipoise.progress import progress

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = ("local", "ray")
_SAMPLE = 4_000  # items on which the text-only classifier is trained for the report
_TAUGHT = 12_000  # items from which the blind judge of words learns, where edits are refined
Advance = Callable[[int], None]


def perturb_file(
    captions: str | Path,
    out: str | Path,
    setup: Setup,
    *,
    workers: int = 1,
    engine: Engine = "local",
    limit: int | None = None,
    refine: tuple[str, str] | None = None,
    shard: int = SHARD,
) -> dict[str, Any]:
    """Perturb every caption of a file into the items file `out`; returns, and writes beside it, the report."""
    out, started = Path(out), time.monotonic()
    if out.suffix == ".parquet":
        raise UserError(f"--out {out}: items are written as JSONL; name a .jsonl file")
    if out.is_dir():
        raise UserError(f"--out {out}: a folder; name the file to write")
    setup.recipe()  # a recipe that cannot be made is known before the long reading
    total = sum(group.captions for group in read_captions(captions, limit))  # and a broken file before the long work
    identity = {
        "schema": 1,
        "equipoise": __version__,
        "code": code_hash(),
        "input": [[file.name, sha256_file(file)] for file in caption_files(captions)],
        "limit": limit,
        "shard": shard,
        "setup": setup.identity(),
        "refine": None if refine is None else list(refine),
    }
    if (done := _finished_before(out, identity)) is not None:
        return done
    parts = Parts(out)
    parts.open(identity)
    found: dict[int, dict[str, Any]] = {}
    with progress(total, f"perturbing ({setup.name})", "captions") as advance:
        waiting = _unfinished(shards_of(read_captions(captions, limit), shard), parts, found, advance)
        if engine == "ray":
            from equipoise.perturb.ray_engine import run_ray

            run_ray(setup, parts, waiting, workers, found, advance)
        elif workers == 1:
            for work in waiting:
                found[work.number] = run_shard(setup, parts, work)
                advance(work.captions)
        else:
            _run_pool(setup, parts, waiting, workers, found, advance)
    joined, report = _finish(parts, found, identity, setup, refine)
    report["seconds"] = round(time.monotonic() - started, 3)
    write_json(report_path(out), report)
    parts.publish(joined)
    return report


def _finished_before(out: Path, identity: dict[str, Any]) -> dict[str, Any] | None:
    """The report of the same run, if it is finished and nobody touched its output since."""
    beside = report_path(out)
    if not out.is_file() or not beside.is_file():
        return None
    found: dict[str, Any] = read_json(beside)
    same = isinstance(found, dict) and all(found.get(name) == value for name, value in identity.items())
    return found if same and found.get("sha256") == sha256_file(out) else None


def report_path(out: str | Path) -> Path:
    return Path(out).with_name(Path(out).name + ".report.json")


def _unfinished(
    shards: Iterator[Shard], parts: Parts, found: dict[int, dict[str, Any]], advance: Advance
) -> Iterator[Shard]:
    for shard in shards:
        counts = parts.finished(shard.number)
        if counts is None:
            yield shard
        else:
            found[shard.number] = counts
            advance(shard.captions)


# ---------------------------------------------------------------------------- processes


def _run_pool(
    setup: Setup,
    parts: Parts,
    shards: Iterator[Shard],
    workers: int,
    found: dict[int, dict[str, Any]],
    advance: Advance,
) -> None:
    """Shards on so many processes; only a few wait at a time, so that memory does not grow with the input."""
    pool = ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), initializer=_start_worker)
    running: dict[Future[dict[str, Any]], Shard] = {}
    try:
        while True:
            for shard in islice(shards, 2 * workers - len(running)):
                running[pool.submit(run_shard, setup, parts, shard)] = shard
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                shard = running.pop(future)
                found[shard.number] = future.result()
                advance(shard.captions)
    except BrokenProcessPool:
        raise UserError(
            "a worker process was killed, most likely for want of memory. What was finished is kept: the same command "
            "goes on from there, with fewer --workers if need be."
        ) from None
    finally:
        pool.shutdown(cancel_futures=True)


def _start_worker() -> None:
    """Ctrl-C is for the main process; and when that one is killed, its workers must not stay behind."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    parent = multiprocessing.parent_process()

    def leave_with_parent() -> None:
        if parent is not None:
            parent.join()
            os._exit(1)

    threading.Thread(target=leave_with_parent, daemon=True).start()


# ---------------------------------------------------------------------------- the report


def _finish(
    parts: Parts,
    found: dict[int, dict[str, Any]],
    identity: dict[str, Any],
    setup: Setup,
    refine: tuple[str, str] | None,
) -> tuple[Path, dict[str, Any]]:
    """Join the parts, refine, and judge the result by its words; all of it is done again if a kill comes between."""
    counts = summed(found[number] for number in sorted(found))
    if not counts["items"]:
        reasons = ", ".join(f"{reason} ({n:,})" for reason, n in list(counts["refused"].items())[:5])
        raise UserError(
            f"none of the {counts['captions']:,} captions gave an item with recipe {setup.name}; nothing was written"
            + (f". Left out: {reasons}" if reasons else "")
        )
    joined, refined = parts.join(len(found)), None
    if refine is not None:
        sample = list(sample_items(joined, counts["items"], _TAUGHT))
        first, second = refine
        judges: Judges = {kind: (judge_named(first, sample, kind), judge_named(second, sample, kind)) for kind in KINDS}
        refined = refine_file(joined, judges, setup.seed)
        counts["items"] = refined["items_after"]
    return joined, {
        **identity,
        "recipe": setup.name,
        **counts,
        "refined": refined,
        "separability": separability(list(sample_items(joined, counts["items"], _SAMPLE))),
        "sha256": sha256_file(joined),
    }


def sample_items(path: Path, count: int, most: int) -> Iterator[Item]:
    """At most `most` of a file's `count` items, evenly spaced, without reading the others into memory."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle):
            if count <= most or (number + 1) * most // count > number * most // count:
                yield Item.model_validate_json(line)
