"""The everyday commands of two commits, in alternation on this machine: processor seconds, and their ratios.

    python bench/compare.py BASE [--turns 3] [--items 2000] [--only eval,perturb]

BASE is checked out into a folder of its own and runs with the same Python and packages. Every command must end well and
print something. Exits with 1 where the median ratio of the turns is above 1.25, and still is with three times as many.
Processor seconds are compared, as other work disturbs them less than the clock.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import made

ROOT = Path(__file__).resolve().parents[1]
MOST = 1.25
STAND = """
import hashlib
import numpy as np

class Stand:
    def __init__(self, number=0):
        self.number = number
        self.card = {"spec": f"stand-in {number}", "weight_sha256": f"{number:064d}"}
    def _vectors(self, inputs):
        seeds = [int.from_bytes(hashlib.sha256(value).digest()[:8], "little") for value in inputs]
        return np.stack([np.random.default_rng([seed, self.number]).normal(size=64) for seed in seeds])
    def embed_images(self, images):
        return self._vectors([image.tobytes() for image in images])
    def embed_texts(self, texts):
        return self._vectors([text.encode() for text in texts])

def make():
    return Stand()
"""
READ = "import sys, equipoise as eq; print(len(eq.load_items(sys.argv[1])))"
BOARD = 40  # runs
MAKE_BOARD = f"""
import equipoise as eq, stand
items = eq.load_items("items.jsonl")
for number in range({BOARD}):
    eq.evaluate(stand.Stand(number), items, images=".", out=f"board/{{number}}")
print("made")
"""
EVAL = ["eval", "py:stand:make", "--bench", "items.jsonl", "--images", ".", "--cache", "cache", "--skip-preflight"]
CASES: dict[str, list[str]] = {  # {} is a name that no earlier turn used
    "start-up": ["bench", "list"],
    "perturb --list": ["perturb", "--list"],
    "metrics": ["metrics", "scores.jsonl"],
    "reading JSONL": ["-c", READ, "many.jsonl"],
    "reading Parquet": ["-c", READ, "many.parquet"],
    "eval from cache": [*EVAL, "--out", "{}"],
    "compare": ["compare", "a/items", "b/items"],
    "report": ["report", "a", "b", "--out", "{}.html"],
    "leaderboard": ["report", *(f"board/{number}" for number in range(BOARD)), "--out", "{}.html"],
    "perturb": ["perturb", "captions.txt", "--recipe", "balanced", "--workers", "1", "--out", "{}.jsonl"],
    "doctor": ["doctor", "world"],
}
_names = count()


@dataclass(frozen=True)
class Tree:
    """A commit's package, and a folder where its commands run."""

    name: str
    root: Path
    folder: Path

    def run(self, arguments: Sequence[str]) -> float:
        """The processor seconds of a command, with those of its workers."""
        name = f"out-{next(_names)}"
        command = [sys.executable, *([] if arguments[0] == "-c" else ["-m", "equipoise"])]
        command += [argument.replace("{}", name) for argument in self._known(arguments)]
        environment = os.environ | {"PYTHONPATH": f"{self.root / 'src'}:.", "EQUIPOISE_CACHE": str(self.folder / "c")}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        done = subprocess.run(command, cwd=self.folder, env=environment, capture_output=True, text=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        if done.returncode != 0 or not done.stdout.strip():
            raise SystemExit(f"{self.name}: {' '.join(command)}\nexit status {done.returncode}: {done.stderr[-2000:]}")
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def _known(self, arguments: Sequence[str]) -> list[str]:
        """The command without an option that an old commit does not have."""
        old = "skip-preflight" not in (self.root / "src/equipoise/cli/__init__.py").read_text(encoding="utf-8")
        return [argument for argument in arguments if not (old and argument == "--skip-preflight")]

    def prepare(self, items: int, board: bool) -> None:
        """Make the same files for every commit; each commit makes its own runs for `compare`, `report` and, where
        `board` asks for them, the leaderboard."""
        self.folder.mkdir()
        (self.folder / "stand.py").write_text(STAND)
        sample = list(made.items(items, max(1, items // 5)))
        made.draw_some(self.folder, sorted({item.image.path for item in sample}))
        lines = [json.dumps(item.to_json()) for item in made.items(10 * items, items)]
        (self.folder / "many.jsonl").write_text("\n".join(lines))
        (self.folder / "items.jsonl").write_text("\n".join(json.dumps(item.to_json()) for item in sample))
        (self.folder / "captions.txt").write_text("\n".join(item.caption for item in sample[: items // 10]))
        write = "import equipoise as eq; eq.write_items('many.parquet', eq.load_items('many.jsonl')); print('written')"
        self.run(["-c", write])
        for out in ("a", "b"):
            self.run([*EVAL, "--out", out])
        keys = ("id", "image", "caption", "positives", "negatives", "tags")
        rows = [json.loads(line) for line in (self.folder / "a/items/items.jsonl").read_text().splitlines()]
        scores = [json.dumps({key: row[key] for key in keys if key in row}) for row in rows[:50]]
        (self.folder / "scores.jsonl").write_text("\n".join(scores))
        if board:
            self.run(["-c", MAKE_BOARD])

    def has_doctor(self) -> bool:
        """Whether an old commit has a doctor for models; the first time the doctor also draws its pictures."""
        try:
            self.run(CASES["doctor"])
        except SystemExit as error:
            if "exit status 2" not in str(error):
                raise
            return False
        return True


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("base", metavar="BASE", help="a commit")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--items", type=int, default=2000)
    parser.add_argument("--only", default=",".join(CASES), help="cases, with commas")
    options = parser.parse_args()
    cases = {name: CASES[name] for name in options.only.split(",")}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        checkout = ["git", "worktree", "add", "--quiet", "--detach", str(folder / "base"), options.base]
        subprocess.run(checkout, cwd=ROOT, check=True)
        try:
            base = Tree(options.base, folder / "base", folder / "base-files")
            here = Tree("here", ROOT, folder / "here-files")
            for tree in (base, here):
                tree.prepare(options.items, board="leaderboard" in cases)
            if "doctor" in cases:
                here.run(cases["doctor"])
                if not base.has_doctor():
                    del cases["doctor"]
                    print(f"without doctor, which {options.base} does not have for models")
            if not cases:
                return 1
            print(f"{processor()}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}; CPU seconds")
            print(f"{'case':<18}{base.name[:9]:>10}{'here':>8}{'ratio':>8}   turn by turn")
            slow = [name for name, command in cases.items() if not keeps(name, command, base, here, options.turns)]
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(folder / "base")], cwd=ROOT, check=True)
    if slow:
        print(f"slower than {options.base} by more than a quarter, also with more turns: {', '.join(slow)}")
    return int(bool(slow))


def processor() -> str:
    """Its name where Linux tells it, else its kind."""
    about = Path("/proc/cpuinfo")
    lines = about.read_text().splitlines() if about.exists() else []
    return next((line.partition(": ")[2] for line in lines if line.startswith("model name")), platform.machine())


def keeps(name: str, command: list[str], base: Tree, here: Tree, turns: int) -> bool:
    """Measure a case, print its row, and return whether it is fast enough, if need be with more turns."""
    old: list[float] = []
    new: list[float] = []
    for _ in range(3):
        for turn in range(turns):
            pair = (base, old), (here, new)
            for tree, seconds in pair if turn % 2 else pair[::-1]:
                seconds.append(tree.run(command))
        ratio = statistics.median(ours / theirs for ours, theirs in zip(new, old, strict=True))
        if ratio <= MOST:
            break
    each = " ".join(f"{ours / theirs:.2f}" for ours, theirs in zip(new, old, strict=True))
    print(f"{name:<18}{min(old):>10.2f}{min(new):>8.2f}{ratio:>8.2f}   {each}", flush=True)
    return ratio <= MOST


if __name__ == "__main__":
    sys.exit(main())
