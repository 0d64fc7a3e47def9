"""All that is finetuned for the last tables, of both text towers, in one queue: what matters most is begun first.

    python runs/flickr8k/both.py DATA --photos PHOTOS --out OUT --jobs 16 --seconds 600
    python runs/flickr8k/both.py DATA ... --stages final styles         without the search: the recipe as it is

OUT is what `base.py --tails` wrote; OUT/s and OUT/m get what `run.py` writes for a base. The fifth round comes first,
on dev; beside it the rivals, on test; once its form is chosen (choose.py), ours on test. A model that has its line is
not trained again, so the same call goes on after a stop. Weights are dropped once a model is judged, unless --keep.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import replace
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from choose import UNCHANGED, choose
from jobs import FIFTH, FINAL, OURS, SEEDS, STYLES, Job
from needs import existing
from run import prepare, work

TOWERS = {"s": "scratch", "m": "minilm"}
RATES = {"s": {"lr": "2e-4", "epochs": "5", "batch": "256"}, "m": {"lr": "5e-5", "epochs": "3", "batch": "256"}}
FIFTH_SEEDS = {"s": [0], "m": [0, 1]}
DEMANDED = ("base", "control", "hn", "hp-hn", "ours")
LATER = ("ce-clip", "clic", "cs", "read", "degla", "fsc", "negclip")  # CE-CLIP, the strongest rival, first
Task = tuple[str, str, Job, int]  # tower, stage, job, seed


def planned() -> list[Task]:
    """In the order of what matters: the choice, what the issue asks of each tower, whose negatives, all the others."""
    jobs = {job.name: job for job in FINAL}
    found: list[Task] = []
    for seed in SEEDS:
        found += [(t, "fifth", job, seed) for t in ("m", "s") if seed in FIFTH_SEEDS[t] for job in FIFTH]
    for tower in TOWERS:
        found += [(tower, "final", jobs[name], seed) for seed in SEEDS for name in DEMANDED]
    found += [("s", "styles", job, seed) for seed in SEEDS for job in STYLES]
    found += [(tower, "final", jobs[name], seed) for seed in SEEDS for name in LATER for tower in TOWERS]
    return [task for task in found if task[2].recipe or task[3] == 0]  # a base has no seeds


def with_choice(task: Task, kept: dict[str, Any]) -> Task:
    """Ours in the form that was chosen."""
    tower, stage, job, seed = task
    if stage == "fifth" or job.recipe != OURS:
        return task
    return tower, stage, replace(job, options=tuple(kept["options"].items()), speed=kept["speed"]), seed


class Queue:
    """Tasks in their order, except those that must wait for the choice of the fifth round or for mined images."""

    def __init__(self, tasks: Sequence[Task], out: Path, choice: Callable[[], dict[str, Any]]) -> None:
        self.tasks, self.out, self.choice = list(tasks), out, choice
        self.kept: dict[str, Any] | None = None
        self.open = {(*task[:2], task[2].name, task[3]) for task in tasks if task[1] == "fifth"}

    def next(self) -> Task | None:
        for number, task in enumerate(self.tasks):
            if self._ready(task):
                del self.tasks[number]
                return task if self.kept is None else with_choice(task, self.kept)
        return None

    def ended(self, task: Task) -> None:
        self.open.discard((*task[:2], task[2].name, task[3]))
        if not self.open and self.kept is None:
            self.kept = self.choice()

    def _ready(self, task: Task) -> bool:
        tower, stage, job, _ = task
        if stage != "fifth" and job.recipe == OURS and self.kept is None:
            return False
        return job.train != "mined" or (self.out / tower / "mined.jsonl").exists()


def run_all(
    queue: Queue,
    submit: Callable[[Task], Future[None]],
    jobs: int,
    until: float = math.inf,
    mining: Callable[[], bool] = lambda: False,
) -> Iterator[Task]:
    """At most `jobs` at a time; none is begun after `until`. Yields what ended; what died with its process is tried
    once more."""
    running: dict[Future[None], Task] = {}
    again: set[tuple[Any, ...]] = set()
    while True:
        more = mining()  # asked before the queue: what it waits for may have come just now
        while len(running) < jobs and time.time() < until and (task := queue.next()):
            running[submit(task)] = task
        if not running and (not more or time.time() >= until):
            return
        for future in wait(running, timeout=1, return_when=FIRST_COMPLETED).done:
            task = running.pop(future)
            if isinstance(future.exception(), BrokenProcessPool) and task not in again:
                again.add(task)
                queue.tasks.insert(0, task)
                continue
            if future.exception():
                print(f"{task[0]} {task[2].name}-{task[3]}: {future.exception()!r}", flush=True)
            queue.ended(task)
            yield task
        if not running:
            time.sleep(0.1)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("data", type=existing("train.jsonl"))
    parser.add_argument("--photos", type=existing(), required=True)
    parser.add_argument("--out", type=existing("chosen.json"), required=True, help="what base.py wrote")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--jobs", type=int, default=2, help="models at a time")
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    parser.add_argument("--keep", action="store_true", help="the weights of every model")
    parser.add_argument("--stages", nargs="*", default=["fifth", "final", "styles"])
    parser.add_argument("--only", nargs="*", help="names of jobs")
    options = parser.parse_args()
    out, began = options.out, time.time()
    names = json.loads((out / "chosen.json").read_text())
    until = began + options.seconds
    where: dict[str, dict[str, str]] = {}
    for tower, kind in TOWERS.items():
        (out / tower).mkdir(exist_ok=True)
        if not (out / tower / "base").exists():
            (out / tower / "base").symlink_to("../base")
        where[tower] = {"data": str(options.data), "photos": str(options.photos), "device": options.device}
        where[tower] |= RATES[tower]
        where[tower] |= {"out": str(out / tower), "base": names[kind], "weights": "keep" if options.keep else "drop"}
        where[tower] |= {"until": str(until)}
    tasks = [task for task in planned() if task[1] in options.stages]
    tasks = [task for task in tasks if not options.only or task[2].name in options.only]
    queue = Queue(tasks, out, lambda: choose([out / tower for tower in TOWERS]))
    if not queue.open:
        earlier = out / "s" / "ours.json"
        queue.kept = json.loads(earlier.read_text()) if earlier.exists() else UNCHANGED
    spawn = multiprocessing.get_context("spawn")
    pool = ProcessPoolExecutor(options.jobs, mp_context=spawn)
    list(pool.map(prepare, where.values()))
    print(f"photos seen by both bases after {time.time() - began:.0f} s", flush=True)
    towers = {task[0] for task in tasks if task[2].train == "mined"}
    mining = [_mine(options, tower, where[tower]) for tower in sorted(towers)]

    def submit(task: Task) -> Future[None]:
        nonlocal pool
        tower, stage, job, seed = task
        try:
            return pool.submit(work, (stage, job, seed, where[tower]))
        except BrokenProcessPool:  # a process was killed, for memory say: the others begin anew
            pool = ProcessPoolExecutor(options.jobs, mp_context=spawn)
            return pool.submit(work, (stage, job, seed, where[tower]))

    for task in run_all(queue, submit, options.jobs, until, lambda: any(one.poll() is None for one in mining)):
        print(f"{time.time() - began:.0f} s: {' '.join(task[:2])} {task[2].name}-{task[3]} ended", flush=True)
    for one in mining:
        one.wait()
    pool.shutdown()


def _mine(options: argparse.Namespace, tower: str, where: dict[str, str]) -> subprocess.Popen[bytes]:
    """NegCLIP's hard images, found beside the others."""
    out = options.out / tower
    command = [
        sys.executable,
        "-m",
        "equipoise",
        "mine",
        f"{options.data}/train.jsonl",
        "--images",
        str(options.photos),
    ]
    command += ["--model", f"hf:{out}/base/{where['base']}-0/model", "--out", str(out / "mined.jsonl"), "--quiet"]
    if (out / "mined.jsonl").exists():
        command = [sys.executable, "-c", ""]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL)


if __name__ == "__main__":
    main()
