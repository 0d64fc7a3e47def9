"""Kill commands at random moments, run them again, and compare what they wrote with undisturbed runs.

    python runs/attack/kills.py --kills 1000 --seed 1

One warm process imports everything and forks a child for each command, so that a kill costs less than a second. Of each
chain one to four commands are stopped (SIGKILL to the process, SIGKILL to it and its workers, SIGTERM or SIGINT to the
process), the last runs to its end. Then: exit code 0, the files of two undisturbed runs, the same bytes (of JSON files
the same values, without those in which the two undisturbed runs differ: dates and seconds). Do not edit or commit
meanwhile: results name the revision.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import hashlib
import importlib
import json
import multiprocessing.util
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
WORLD = "--items {inputs}/world/items.jsonl --images {inputs}/world --model world --quick --device cpu"
TRAIN = f"train hard_positives_kamath_2024 {WORLD} --set batch_size=4 --checkpoint-every 1"
VERBS = {  # name: the command, and how many of 100 kills it gets
    "eval": (
        "eval world --bench {inputs}/world/items.jsonl --images {inputs}/world --out {out}/r --no-cache --workers 1",
        12,
    ),
    "eval, cache": (
        "eval world --bench {inputs}/world/items.jsonl --images {inputs}/world --out {out}/r --cache {out}/c "
        "--workers 2",
        8,
    ),
    "eval, 2 benchmarks": (
        "eval world --bench {inputs}/world/items.jsonl,{inputs}/table.csv --images {inputs}/world --out {out}/r "
        "--no-cache",
        4,
    ),
    "perturb": ("perturb {inputs}/captions.txt --out {out}/x.jsonl --workers 1", 14),
    "perturb, 2 workers": ("perturb {inputs}/captions.txt --out {out}/x.jsonl --workers 2 --keep-all", 11),
    "train": (f"{TRAIN} --set max_steps=4 --workers 0 --out {{out}}/t", 6),
    "train, watch": (
        f"{TRAIN} --set max_steps=4 --workers 1 --out {{out}}/t --watch {{inputs}}/world/items.jsonl "
        "--watch-images {inputs}/world --openclip {out}/o.safetensors",
        3,
    ),
    "world make": ("world make --n 6 --out {out}/w", 16),
    "world show": ("world show --n 4 --out {out}/w.png", 3),
    "bench build": ("bench build {inputs}/many.csv --out {out}/x.jsonl", 12),
    "bench build, parquet": ("bench build {inputs}/many.csv --out {out}/x.parquet", 7),
    "mine": (
        "mine {inputs}/world/items.jsonl --images {inputs}/world --model world --out {out}/m.jsonl --cache {out}/c",
        2,
    ),
    "demo": ("demo --out {out}/d", 2),
}
STOPS = {signal.SIGINT, signal.SIGTERM}
PATIENCE = 5.0  # seconds from SIGTERM to the end, as promised


def make_inputs(folder: Path) -> None:
    from equipoise.world.splits import make_world

    make_world(8, 0, folder / "world").rename(folder / "world" / "items.jsonl")
    images = [json.loads(line)["image"]["path"] for line in (folder / "world" / "items.jsonl").read_text().splitlines()]
    lines = ["a red dog sits on the green grass", "a man holds a large blue ball", "two small cats sleep under a table"]
    (folder / "captions.txt").write_text("".join(f"{lines[n % 3]} near {n} trees\n" for n in range(150)))
    rows = [f"{image},a red circle {n},a blue circle {n},a crimson circle {n}" for n, image in enumerate(images)]
    (folder / "table.csv").write_text("\n".join(["image,caption,negative,positive", *rows]) + "\n")
    (folder / "many.csv").write_text("\n".join(["image,caption,negative,positive", *rows * 200]) + "\n")


def small_demo() -> None:
    """The demo with few items and steps: its order and its files are what is tested, not its numbers."""
    from equipoise import demo, registry
    from equipoise.train import recipes
    from equipoise.world import splits

    items, load, get = splits.finetuning_items, registry.load, recipes.get_recipe
    demo.finetuning_items = lambda *a, **k: list(items(*a, **k))[:8]  # type: ignore[assignment]
    recipes.get_recipe = lambda *a, **k: get(*a, **k, max_steps=2, batch_size=4)  # type: ignore[assignment]

    def few(*arguments: Any, **options: Any) -> Any:
        found, benchmark = load(*arguments, **options)
        return found[:8], benchmark

    demo.registry.load = few  # type: ignore[assignment]


def start(line: str, out: Path, inputs: Path, log: Path) -> int:
    """A child, leader of its own group, that runs the command from a warm start."""
    signal.pthread_sigmask(signal.SIG_BLOCK, STOPS)
    if pid := os.fork():
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        return pid
    code: Any = 70
    try:  # nothing may leave this: above is the parent's own `with`, which would remove its folder
        os.setsid()
        said = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
        os.dup2(said, 1)
        os.dup2(said, 2)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, STOPS)
        if line.startswith("demo"):
            small_demo()
        sys.argv = ["equipoise", *(word.format(out=out, inputs=inputs) for word in line.split())]
        from equipoise.__main__ import main

        main()
        code = 0
    except SystemExit as ended:
        code = ended.code or 0
    except BaseException:
        traceback.print_exc()
    try:
        sys.stdout.flush()
        sys.stderr.flush()
        log.with_name("modules").write_text("\n".join(sys.modules))
        multiprocessing.util._exit_function()
    finally:
        os._exit(code if isinstance(code, int) else 71)


def warm(names: list[str]) -> None:
    """What a child had to import, so that the next need not: a kill should hit our code, not the imports."""
    for name in names:
        if name not in sys.modules and not name.startswith(("py", "_")):
            with contextlib.suppress(Exception):
                importlib.import_module(name)


def ended(pid: int, within: float) -> int | None:
    """The exit code, negative for a signal; None when it still runs."""
    until = time.monotonic() + within
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() > until:
            return None
        time.sleep(0.002)


def left_over(pid: int) -> bool:
    """Whether anybody of the group still runs, some seconds later; they are ended."""
    for _ in range(100):
        try:
            os.killpg(pid, 0)
        except ProcessLookupError:
            return False
        time.sleep(0.1)
    os.killpg(pid, signal.SIGKILL)
    return True


def snapshot(out: Path) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for path in sorted(out.rglob("*")):
        if path.is_file():
            data = path.read_bytes()
            name = str(path.relative_to(out))
            if path.suffix == ".json":
                found.update({f"{name} {key}": value for key, value in flat(json.loads(data)).items()})
            elif path.suffix == ".jsonl":
                for n, line in enumerate(data.splitlines()):
                    found.update({f"{name}:{n} {key}": value for key, value in flat(json.loads(line)).items()})
                found[f"{name} bytes"] = data
            elif path.suffix == ".pt":  # a zip, whose padding varies: its tensors are compared
                import torch

                found[name] = hashlib.sha256(repr(plain(torch.load(path, weights_only=True))).encode()).hexdigest()
            else:
                found[name] = data
    return found


def plain(value: Any) -> Any:
    """Tensors as their bytes."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value.numpy().tobytes() if hasattr(value, "numpy") else value


def flat(value: Any, path: str = "") -> dict[str, Any]:
    if isinstance(value, dict) and value:
        return {k: v for key, one in value.items() for k, v in flat(one, f"{path}/{key}").items()}
    if isinstance(value, list) and value:
        return {k: v for key, one in enumerate(value) for k, v in flat(one, f"{path}/{key}").items()}
    return {path: value}


def words(log: Path) -> str:
    """What a command printed; nothing where it was killed before it could."""
    return log.read_text(errors="replace") if log.exists() else ""


class Attack:
    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.inputs, self.draw = folder, folder / "inputs", random.Random(seed)
        self.counts: collections.Counter[str] = collections.Counter()
        self.failures: list[str] = []
        self.slowest = 0.0

    def fail(self, verb: str, chain: list[str], what: str, log: Path) -> None:
        said = words(log)[-600:]
        self.failures.append(f"{verb}: {what}; after {chain}\n    {said}")
        print("FAILURE", self.failures[-1], flush=True)

    def whole(self, verb: str, out: Path, log: Path) -> tuple[int | None, float]:
        begin = time.monotonic()
        pid = start(VERBS[verb][0], out, self.inputs, log)
        code = ended(pid, 120)
        if code is None:
            os.killpg(pid, signal.SIGKILL)
            ended(pid, 5)
        return code, time.monotonic() - begin

    def verb(self, verb: str, kills: int) -> None:
        place = self.folder / verb.replace(" ", "-").replace(",", "")
        out, log = place / "out", place / "log"
        expected: dict[str, Any] = {}
        dropped: set[str] = set()
        took = 0.0
        for turn in range(2):
            shutil.rmtree(place, ignore_errors=True)
            out.mkdir(parents=True)
            code, took = self.whole(verb, out, log)
            if code != 0:
                return self.fail(verb, [], f"undisturbed run: exit {code}", log)
            warm(log.with_name("modules").read_text().splitlines())
            found = snapshot(out)
            if turn:
                dropped = {key for key in expected.keys() & found.keys() if expected[key] != found[key]}
                varies = ("/seconds", "per_s", "_encoded", "/date")  # also where a fast machine ends both in one second
                dropped |= {key for key in found if any(part in key for part in varies)}
                if expected.keys() != found.keys():
                    print(verb, "undisturbed runs have other files:", sorted(expected.keys() ^ found.keys())[:5])
            expected = found
        print(f"{verb}: {took:.2f} s, {len(expected)} values; not compared: {sorted(dropped)[:12]}", flush=True)
        while kills > 0:
            shutil.rmtree(place)
            out.mkdir(parents=True)
            chain: list[str] = []
            for _ in range(min(kills, self.draw.choice((1, 1, 2, 3, 4)))):
                chain.append(self.kill(verb, out, log, took, chain))
                kills -= chain[-1].startswith("SIG")
                if not chain[-1].startswith("SIG"):
                    break
            code, _ = self.whole(verb, out, log)
            self.counts["chains"] += 1
            said = words(log)
            if code != 0 or "Traceback" in said:
                self.fail(verb, chain, f"the run after the kills: exit {code}", log)
                continue
            try:
                found = snapshot(out)
            except ValueError as error:
                self.fail(verb, chain, f"left a file that is no JSON: {error}", log)
                continue
            if missing := sorted(expected.keys() - found.keys()):
                self.fail(verb, chain, f"missing {missing[:4]}", log)
            if more := sorted({key.split(" ")[0].split(":")[0] for key in found.keys() - expected.keys()}):
                self.counts[f"litter or more values: {verb}: {', '.join(more)[:90]}"] += 1
            wrong = [k for k in expected.keys() & found.keys() if k not in dropped and expected[k] != found[k]]
            if wrong:
                shown = [(k, str(expected[k])[:60], str(found[k])[:60]) for k in sorted(wrong)[:4]]
                files = sorted({k.split(" ")[0].split(":")[0] for k in wrong})
                self.fail(verb, chain, f"other values in {files}: {shown}", log)

    def kill(self, verb: str, out: Path, log: Path, took: float, chain: list[str]) -> str:
        how = self.draw.choice(("SIGKILL", "SIGKILL", "SIGKILL all", "SIGTERM", "SIGTERM", "SIGINT"))
        moment = self.draw.uniform(0, took)
        pid = start(VERBS[verb][0], out, self.inputs, log)
        code = ended(pid, moment)
        if code is not None:
            self.counts["ended before the kill"] += 1
            if code != 0:
                self.fail(verb, chain, f"a run that was not yet killed: exit {code}", log)
            return f"ended in {moment:.2f}"
        number = getattr(signal, how.split()[0])
        try:
            (os.killpg if how.endswith("all") else os.kill)(pid, number)
        except ProcessLookupError:  # it is not yet the leader of a group
            os.kill(pid, number)
        begin = time.monotonic()
        code = ended(pid, 30)
        late = time.monotonic() - begin
        told = f"{how} at {moment:.2f} s"
        self.counts[how] += 1
        self.counts[f"of {verb}"] += 1
        if code is None:
            os.killpg(pid, signal.SIGKILL)
            ended(pid, 5)
            self.fail(verb, [*chain, told], "hangs after the signal", log)
        elif how in ("SIGTERM", "SIGINT"):
            self.slowest = max(self.slowest, late)
            said = words(log)
            early = code == -number or (
                code == 70 and said.rstrip().endswith("KeyboardInterrupt")
            )  # before main() began
            self.counts[f"{how}: exit {code}"] += 1
            if not early and (code not in (0, 128 + number) or "Traceback" in said):
                self.fail(verb, [*chain, told], f"exit {code} after {late:.1f} s", log)
            if late > PATIENCE:
                self.counts[f"{how} took over 5 s: {verb}"] += 1
        if left_over(pid):
            self.fail(verb, [*chain, told], "a process of it still runs 10 s later", log)
        return told


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="verbs of VERBS, separated by ;")
    asked = parser.parse_args()
    import torch

    torch.set_num_threads(1)
    from equipoise import cli, demo, models  # noqa: F401  warm: children pay for none of this
    from equipoise.evaluation import comparison, run  # noqa: F401
    from equipoise.models import clip, hf  # noqa: F401
    from equipoise.perturb.run import engine  # noqa: F401
    from equipoise.train.run import loop, mining  # noqa: F401
    from equipoise.world import sheet  # noqa: F401

    models.load_model("world", device="cpu")  # transformers imports its parts late

    signal.signal(signal.SIGTERM, signal.default_int_handler)  # ends with the counts so far
    with tempfile.TemporaryDirectory() as name, contextlib.suppress(KeyboardInterrupt):
        attack = Attack(Path(name), asked.seed)
        attack.inputs.mkdir()
        make_inputs(attack.inputs)
        for verb, (_, share) in VERBS.items():
            if not asked.only or verb in asked.only.split(";"):
                attack.verb(verb, max(1, round(asked.kills * share / 100)))
                print(f"    so far {sum(v for k, v in attack.counts.items() if k.startswith('of '))} kills", flush=True)
    for what, count in sorted(attack.counts.items()):
        print(f"{count:6}  {what}")
    print(f"slowest end after SIGTERM or SIGINT: {attack.slowest:.1f} s; failures: {len(attack.failures)}")
    sys.exit(1 if attack.failures else 0)


if __name__ == "__main__":
    main()
