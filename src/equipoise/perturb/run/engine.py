"""Captions -> Items at scale: streamed, sharded, on several processes, the same bytes whatever happens on the way."""

from __future__ import annotations

import json
import logging
import os
import time
from collections.abc import Iterator
from concurrent.futures import FIRST_COMPLETED, Future, wait
from itertools import islice
from pathlib import Path
from typing import Any, Literal

from equipoise import __version__
from equipoise.core import run_folder
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write, plain_target, read_json, sha256_file, write_json
from equipoise.core.processes import processes
from equipoise.core.progress import progress
from equipoise.data.identity import of_code
from equipoise.data.items import TEXT_KINDS, Item
from equipoise.data.readers.captions.groups import CaptionRecord, Group, caption_files, read_captions
from equipoise.language.separability import separability
from equipoise.perturb.bias.thinning import (
    Judges,
    cap_file,
    check_judge,
    even_file,
    judge_identity,
    judge_named,
    refine_file,
)
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.counts import having, summed
from equipoise.perturb.run.shards import SHARD, Advance, CountsByShard, Parts, Shard, in_words, run_shard, shards_of

Engine = Literal["local", "ray"]
ENGINES: tuple[Engine, ...] = ("local", "ray")
_SAMPLE = 4_000  # items on which the text-only classifier is trained for the report
_FEW = 4  # shards
_TAUGHT = 12_000  # items from which the blind judge of words learns, where edits are refined
_REPORTED = "recipe notes captions items nothing having edits dropped refused refused_at separability sha256".split()


def perturb_file(
    captions: str | Path,
    out: str | Path,
    setup: Setup,
    *,
    workers: int = 1,
    engine: Engine = "local",
    limit: int | None = None,
    cap: int | None = None,
    refine: tuple[str, str] | None = None,
    even: bool = False,
    shard: int = SHARD,
    dropped: str | Path | None = None,
) -> dict[str, Any]:
    """Perturb every caption of a file into the items file `out`; returns, and writes beside it, the report.

    `dropped` names a file for every caption and candidate that gave no text, with the reason.
    """
    out, started = Path(out), time.monotonic()
    if engine not in ENGINES:
        raise UserError(f"--engine {engine}: expected one of {', '.join(ENGINES)}")
    if engine == "ray":
        import_ray()
    _check_out(out, captions)
    if dropped is not None:
        _check_dropped(Path(dropped), out, captions)
    setup.recipes()  # a recipe or judge that cannot be made is known before the long reading
    for judge in refine or ():
        check_judge(judge)
    total, has_items = 0, False
    for group in read_captions(captions, limit):  # and a broken file before the long work
        total += group.captions
        has_items = has_items or any(record.item is not None for record in group.records)
    for option, is_set in (("--cap", cap is not None), ("--refine", refine is not None), ("--even-positives", even)):
        if is_set and has_items:
            raise UserError(f"{option}: would drop texts that the items of {captions} have already; give captions")
    identity: dict[str, object] = {
        "schema": 1,
        "equipoise": __version__,
        "code": of_code("perturb", "language", "data/readers"),
        "input": {file.name: sha256_file(file) for file in caption_files(captions)},
        "limit": limit,
        "shard": shard,
        "setup": setup.identity(),
        **({} if dropped is None else {"dropped_listed": True}),
    }
    judged: dict[str, object] = {
        "refine": None if refine is None else [judge_identity(judge) for judge in refine],
        "even_positives": True if even else None,  # None: as reports of before have it
        "cap": cap,
    }
    parts = Parts(out, listing=dropped is not None)
    if not parts.folder.is_dir() and (done := _finished_before(out, identity | judged)) is not None:
        return done  # also where nothing may be written any more
    with parts.locked():
        if (done := _finished_before(out, identity | judged)) is not None:
            parts.remove_if_of(identity)
            return done
        parts.open(identity)  # the parts are the same with any refinement
        by_shard = _run(captions, setup, parts, total, workers, engine, limit, shard)
        joined, report = _finish(parts, by_shard, identity | judged, setup, cap, refine, even)
        report["seconds"] = round(time.monotonic() - started, 3)
        if out.exists() and sha256_file(out) != report["sha256"]:  # it appeared, or nobody knew whose it was
            run_folder.refuse_file(out)
        if dropped is not None:
            parts.join_dropped(len(by_shard), Path(dropped))
        write_json(report_path(out), report)
        parts.publish(joined)
    return report


def _check_out(out: Path, captions: str | Path) -> None:
    """The output must be a file of its own: not the captions, nor among them, nor a device."""
    if out.suffix.lower() in {".parquet", ".gz", ".json"}:  # a .json with an item a line is no JSON
        raise UserError(f"--out {out}: items are written as plain JSONL, an item a line; name a .jsonl file")
    plain_target(out)
    source, target = Path(captions).resolve(), out.resolve()
    if target == source or report_path(target) == source:
        raise UserError(f"--out {out}: these are the captions, which would be lost; name another file")
    if source.is_dir() and target.parent == source:
        raise UserError(f"--out {out}: lies among the captions of {captions}; name a file in another folder")
    report_file = report_path(out)
    if out.exists() and not report_file.exists():
        run_folder.refuse_file(out, "already there, and no report beside it says that `equipoise perturb` wrote it")
    report = _read_report(out)  # None if it is damaged; then the output shows whether it is ours
    if plain_target(report_file).exists() and not ("sha256" in report if report is not None else out.exists()):
        run_folder.refuse_file(report_file, "already there, and no report of `equipoise perturb`")


def _check_dropped(path: Path, out: Path, captions: str | Path) -> None:
    """The list of dropped texts must be a file of its own too, and overwrites no other file."""
    plain_target(path)
    if path.resolve() in {out.resolve(), report_path(out).resolve(), Path(captions).resolve()}:
        raise UserError(f"--dropped {path}: is another file of this run; name one of its own")
    if path.exists() and not out.exists():
        run_folder.refuse_file(path, "already there, and not from this run")


def _run(
    captions: str | Path,
    setup: Setup,
    parts: Parts,
    total: int,
    workers: int,
    engine: Engine,
    limit: int | None,
    shard: int,
) -> CountsByShard:
    """Run every shard that is not finished; returns the counts of all."""
    by_shard: CountsByShard = {}
    with progress(total, f"perturbing ({setup.joined_name})", "captions") as advance:
        waiting = _unfinished(shards_of(read_captions(captions, limit), shard), parts, by_shard, advance)
        if engine == "ray":
            run_ray(setup, parts, waiting, workers, by_shard, advance)
        elif workers == 1 or total <= _FEW * shard:  # done before another process has started
            for work in waiting:
                by_shard[work.number] = run_shard(setup, parts, work)
                advance(work.captions)
        else:
            _run_pool(setup, parts, waiting, workers, by_shard, advance)
    return by_shard


def _finished_before(out: Path, identity: dict[str, object]) -> dict[str, Any] | None:
    """The report of the same run, if it is finished; the output of another run is refused."""
    report = _read_report(out)
    if report is None or not out.is_file():
        return None
    run_folder.refuse_other(out, *in_words({name: report.get(name) for name in identity}, identity), kind="file")
    if gone := [name for name in _REPORTED if name not in report]:
        run_folder.refuse_file(report_path(out), f"changed by hand ({', '.join(gone)} missing)")
    if report["sha256"] != sha256_file(out):
        run_folder.refuse_file(out, "changed after `equipoise perturb` wrote it")
    return report


def _read_report(out: Path) -> dict[str, object] | None:
    """The report of an output; None if it is missing or damaged: then the work is done again."""
    if not report_path(out).exists():
        return None
    try:
        report = read_json(report_path(out))
    except UserError:
        return None
    return report if isinstance(report, dict) else {}


def report_path(out: str | Path) -> Path:
    return Path(out).with_name(Path(out).name + ".report.json")


def _unfinished(shards: Iterator[Shard], parts: Parts, by_shard: CountsByShard, advance: Advance) -> Iterator[Shard]:
    for shard in shards:
        counts = parts.finished(shard.number)
        if counts is None or not _can_be_summed(counts):  # absent, or edited by hand: done again
            yield shard
        else:
            by_shard[shard.number] = counts
            advance(shard.captions)


def _can_be_summed(counts: dict[str, object]) -> bool:
    try:
        summed([counts])
    except (AttributeError, LookupError, TypeError, ValueError):
        return False
    return True


def _run_pool(
    setup: Setup, parts: Parts, shards: Iterator[Shard], workers: int, by_shard: CountsByShard, advance: Advance
) -> None:
    """Run shards on `workers` processes; only a few wait at a time, so that memory does not grow with the input."""
    running: dict[Future[dict[str, object]], Shard] = {}
    with processes(workers) as submit:
        while True:
            for shard in islice(shards, 2 * workers - len(running)):
                running[submit(run_shard, setup, parts, shard)] = shard
            if not running:
                return
            for future in wait(running, return_when=FIRST_COMPLETED).done:
                shard = running.pop(future)
                by_shard[shard.number] = future.result()
                advance(shard.captions)


def _finish(
    parts: Parts,
    by_shard: CountsByShard,
    identity: dict[str, object],
    setup: Setup,
    cap: int | None,
    refine: tuple[str, str] | None,
    even: bool,
) -> tuple[Path, dict[str, Any]]:
    """Join the parts, cap, refine or draw, and judge the result by its words; after a kill, all of it is done again."""
    counts = summed(by_shard[number] for number in sorted(by_shard))
    if not counts["items"]:
        parts.remove()
        raise UserError(
            f"none of the {counts['captions']:,} captions gave an item with recipe {setup.joined_name}; "
            "nothing was written"
            + _reasons(". Captions left out", counts["refused"])
            + _reasons(". No", counts["lacking"])
        )
    joined, capped, refined, evened = parts.join(len(by_shard)), None, None, None
    if cap is not None:
        capped, counts["edits"] = cap_file(joined, cap, setup.seed, setup.keep_all)
        counts["items"] = capped["items_after"]
    if refine is not None:
        sample = list(sample_items(joined, counts["items"], _TAUGHT))
        first, second = refine
        judges: Judges = {
            kind: (judge_named(first, sample, kind), judge_named(second, sample, kind)) for kind in TEXT_KINDS
        }
        refined, counts["edits"] = refine_file(joined, judges, setup.seed, keep_all=setup.keep_all)
        counts["items"] = refined["items_after"]
    if even:
        evened, counts["edits"] = even_file(joined, setup.seed, setup.keep_all)
        counts["items"] = evened["items"]
    if capped or refined or evened:
        counts["having"] = counts["added"] = having(sample_items(joined, counts["items"], counts["items"]))
    return joined, {
        **identity,
        "recipe": setup.joined_name,
        "notes": setup.notes(),
        **counts,
        "capped": capped,
        "refined": refined,
        "evened": evened,
        "separability": separability(list(sample_items(joined, counts["items"], _SAMPLE))),
        "sha256": sha256_file(joined),
    }


def _reasons(title: str, counts: dict[str, int]) -> str:
    return f"{title}: " + ", ".join(f"{reason} ({n:,})" for reason, n in list(counts.items())[:5]) if counts else ""


def sample_items(path: Path, count: int, most: int) -> Iterator[Item]:
    """At most `most` of a file's `count` items, evenly spaced, without reading the others into memory."""
    with path.open("rb") as handle:
        for number, line in enumerate(handle):
            if count <= most or (number + 1) * most // count > number * most // count:
                yield Item.model_validate_json(line)


# The same shards on Ray Data, for corpora that outgrow a machine (extra `scale`). The captions of every unfinished
# shard are first written next to the parts, so that a row of the dataset is only a file name and the driver's memory
# stays flat. All machines must see the output folder (NFS, Lustre, a mounted bucket).


def run_ray(
    setup: Setup, parts: Parts, shards: Iterator[Shard], workers: int, by_shard: CountsByShard, advance: Advance
) -> None:
    """Run shards as tasks of Ray Data; joins the cluster in RAY_ADDRESS, else starts one here with `workers` cores."""
    ray = import_ray()
    files = [{"file": str(write_captions(parts, shard))} for shard in shards]
    if not files:
        return
    started = not ray.is_initialized()
    if started:
        _start(ray, workers)
    try:
        ray.data.DataContext.get_current().enable_progress_bars = False  # we have our own
        logging.getLogger("ray.data").setLevel(logging.ERROR)
        # Enough blocks to keep all busy to the end, few enough for the driver to keep track of.
        rows = ray.data.from_items(files, override_num_blocks=min(len(files), 100 * workers))
        done = rows.map(_Work(setup, parts), num_cpus=1, concurrency=min(workers, len(files)))
        for row in done.iter_rows():
            if row["error"]:
                raise UserError(row["error"])
            counts = json.loads(row["counts"])
            by_shard[row["number"]] = counts
            advance(counts["captions"])
    finally:
        if started:
            ray.shutdown()


def import_ray() -> Any:
    try:
        import ray
    except ImportError:
        raise UserError("--engine ray needs Ray: pip install 'equipoise[scale]'") from None
    return ray


def _start(ray: Any, workers: int) -> None:
    local = {} if os.environ.get("RAY_ADDRESS") else {"num_cpus": workers, "include_dashboard": False}
    ray.init(log_to_driver=False, logging_level="ERROR", **local)


class _Work:
    """The task of one row: read its captions, run the shard, hand back the counts."""

    def __init__(self, setup: Setup, parts: Parts) -> None:
        self.setup, self.parts = setup, parts

    def __call__(self, row: dict[str, Any]) -> dict[str, object]:
        shard = read_captions_of(Path(row["file"]))
        try:
            counts = json.dumps(run_shard(self.setup, self.parts, shard))
        except UserError as error:  # Ray would bury it in an exception of its own
            return {"number": shard.number, "counts": "", "error": str(error)}
        return {"number": shard.number, "counts": counts, "error": ""}


def write_captions(parts: Parts, shard: Shard) -> Path:
    path = parts.folder / f"{shard.number:06d}.captions.json"
    with atomic_write(path) as handle:
        json.dump(shard, handle)
    return path


def read_captions_of(path: Path) -> Shard:
    number, groups = json.loads(path.read_text(encoding="utf-8"))
    return Shard(
        number,
        [
            Group(
                image,
                tuple(CaptionRecord(*record) for record in records),
                tuple((where, why) for where, why in refused),
            )
            for image, records, refused in groups
        ],
    )
