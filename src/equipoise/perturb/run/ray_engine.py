"""The same shards on Ray Data, for corpora that outgrow a machine (extra `scale`).

The captions of every unfinished shard are first written beside the parts, so that a row of the dataset is only a file
name and the driver's memory stays flat. All machines must see the output folder (NFS, Lustre, a mounted bucket).
"""

from __future__ import annotations

import json
import logging
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write
from equipoise.data.readers.captions.groups import Group, Record
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.shards import Advance, Found, Parts, Shard, run_shard


def run_ray(setup: Setup, parts: Parts, shards: Iterator[Shard], workers: int, found: Found, advance: Advance) -> None:
    """Shards as tasks of Ray Data; joins the cluster in RAY_ADDRESS, else starts a local one with `workers` cores."""
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
            found[row["number"]] = counts
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
            Group(image, tuple(Record(*record) for record in records), tuple((where, why) for where, why in refused))
            for image, records, refused in groups
        ],
    )
