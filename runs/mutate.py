"""Change one constant or option at a time and ask whether a test notices (mutation testing).

    python runs/mutate.py                      # every target, at most 8 mutants per file
    python runs/mutate.py --most 0 --jobs 2    # all of them
    python runs/mutate.py --only losses        # targets whose path holds the word

A mutant that no test kills is a published number that somebody could change without being told. Each runs in a copy of
the package with the tests named beside its file in TARGETS; a syntax-breaking or import-breaking change does not count.
Not part of `make test`: half an hour on two cores. Docstrings, type annotations and messages are left alone.
"""

from __future__ import annotations

import argparse
import ast
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import SimpleQueue

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "src" / "equipoise"
RECIPE_TESTS = ("tests/test_paper_constants.py", "tests/train/test_recipes.py")
TARGETS: dict[str, tuple[str, ...]] = {  # glob below the package: the tests that must notice
    "train/recipe.py": RECIPE_TESTS,
    "train/recipes/*.py": RECIPE_TESTS,
    "train/losses/*.py": (*RECIPE_TESTS, "tests/train/losses"),
    "train/step/optim.py": ("tests/test_paper_constants.py", "tests/train/run/test_loop.py"),
    "perturb/llm/prompts.py": ("tests/test_paper_constants.py", "tests/perturb/llm"),
    "perturb/llm/recipes.py": ("tests/test_paper_constants.py", "tests/perturb/llm"),
    "perturb/run/evening.py": ("tests/perturb/run/test_evening.py",),
    "perturb/recipes.py": ("tests/test_paper_constants.py", "tests/perturb/test_recipes.py"),
    **{  # the readers of papers' files; how facts are shown and files are found is no number of a paper
        f"benchmarks/{name}.py": ("tests/test_paper_constants.py", "tests/benchmarks/test_{stem}.py")
        for name in "aro aro_order crepe negclip sugarcrepe sugarcrepe_pp swap valse vl_checklist winoground bivlc "
        "cola colorswap eqben vismin".split()
    },
    "benchmarks/replace/build.py": ("tests/test_paper_constants.py", "tests/benchmarks/replace"),
    "evaluation/paper_metrics.py": ("tests/evaluation/test_paper_metrics.py",),
    "evaluation/metrics.py": ("tests/evaluation/test_metrics.py",),
}
LIMIT = 300  # seconds; a mutant that hangs its tests was noticed


@dataclass(frozen=True)
class Mutant:
    path: Path  # below the package
    line: int
    what: str
    source: str


def mutants(path: Path) -> Iterator[Mutant]:
    """Every single change of a file: numbers, truth values, option strings, members of tuples, comparisons."""
    text = (PACKAGE / path).read_text()
    tree = ast.parse(text)
    skipped = _left_alone(tree)
    offsets = [0]
    for line in text.splitlines(keepends=True):
        offsets.append(offsets[-1] + len(line.encode()))
    raw = text.encode()

    def changed(node: ast.expr, new: str) -> Mutant:
        assert node.end_lineno is not None and node.end_col_offset is not None
        start = offsets[node.lineno - 1] + node.col_offset
        end = offsets[node.end_lineno - 1] + node.end_col_offset
        what = f"{raw[start:end].decode()!r} -> {new!r}"
        return Mutant(path, node.lineno, what, (raw[:start] + new.encode() + raw[end:]).decode())

    for node in ast.walk(tree):
        if id(node) in skipped:
            continue
        if isinstance(node, ast.Constant):
            if isinstance(node.value, bool):
                yield changed(node, str(not node.value))
            elif isinstance(node.value, (int, float)):
                yield changed(node, repr(node.value * 2 + 1))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _OTHER:
            parts = (ast.unparse(node.left), _OTHER[type(node.ops[0])], ast.unparse(node.comparators[0]))
            yield changed(node, "({} {} {})".format(*parts))
        elif isinstance(node, ast.Tuple) and len(node.elts) > 1 and isinstance(node.ctx, ast.Load):
            for index in range(len(node.elts)):
                rest = [ast.unparse(one) for place, one in enumerate(node.elts) if place != index]
                yield changed(node, "(" + ", ".join(rest) + ",)")


_OTHER = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}


def _left_alone(tree: ast.AST) -> set[int]:
    """Annotations, subscripts of types, f-strings, __all__ and what is raised: not what a number is made of."""
    found: set[int] = set()

    def skip(node: ast.AST | None) -> None:
        if node is not None:
            found.update(id(one) for one in ast.walk(node))

    for node in ast.walk(tree):
        if isinstance(node, (ast.Raise, ast.JoinedStr, ast.Import, ast.ImportFrom)):
            skip(node)
        elif isinstance(node, ast.AnnAssign):
            skip(node.annotation)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            skip(node.returns)
            for argument in (*node.args.args, *node.args.kwonlyargs, *node.args.posonlyargs):
                skip(argument.annotation)
            for decorator in node.decorator_list:
                skip(decorator)
        elif isinstance(node, ast.ClassDef):
            for decorator in node.decorator_list:
                skip(decorator)
        elif isinstance(node, ast.Assign) and ast.unparse(node.targets[0]) == "__all__":
            skip(node)
        elif isinstance(node, ast.Subscript):
            if isinstance(node.value, ast.Name) and node.value.id in _TYPES:
                skip(node)
            elif isinstance(node.slice, ast.Tuple):  # an index of a tensor: dropping a member is another shape
                found.add(id(node.slice))
    return found


_TYPES = {"Literal", "Annotated", "dict", "tuple", "list", "Callable", "Mapping", "Sequence", "Iterator"}


def killed(mutant: Mutant, tests: tuple[str, ...], copy: Path) -> bool:
    """Whether a test fails on the mutant, in a copy of the package that nobody else uses meanwhile."""
    target = copy / "equipoise" / mutant.path
    original = target.read_text()
    target.write_text(mutant.source)
    command = [sys.executable, "-m", "pytest", "-q", "-x", "-p", "no:cacheprovider", *tests]
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}
    try:
        done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, timeout=LIMIT, check=False)
        return done.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        target.write_text(original)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--most", type=int, default=8, help="mutants per file, drawn by seed; 0 for all")
    parser.add_argument("--jobs", type=int, default=2, help="mutants at a time")
    parser.add_argument("--only", default="", help="targets whose path holds this word")
    parser.add_argument("--seed", type=int, default=0)
    chosen = parser.parse_args()
    work: list[tuple[Mutant, tuple[str, ...]]] = []
    for pattern, tests in TARGETS.items():
        for file in sorted(PACKAGE.glob(pattern)):
            path = file.relative_to(PACKAGE)
            if chosen.only in str(path):
                found = list(mutants(path))
                if chosen.most and len(found) > chosen.most:
                    found = random.Random(f"{chosen.seed} {path}").sample(found, chosen.most)
                named = [test.format(stem=file.stem) for test in tests]
                there = tuple(test for test in named if (ROOT / test).exists())
                work += [(mutant, there) for mutant in found]
    survivors = []
    with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(chosen.jobs) as pool:
        copies: SimpleQueue[Path] = SimpleQueue()
        for number in range(chosen.jobs):
            copies.put(Path(shutil.copytree(ROOT / "src", Path(folder) / str(number))))

        def judge(job: tuple[Mutant, tuple[str, ...]]) -> bool:
            copy = copies.get()
            try:
                return killed(*job, copy)
            finally:
                copies.put(copy)

        for (mutant, _), noticed in zip(work, pool.map(judge, work), strict=True):
            print(f"{'killed  ' if noticed else 'SURVIVED'} {mutant.path}:{mutant.line} {mutant.what}", flush=True)
            survivors += [] if noticed else [mutant]
    print(f"{len(work)} mutants, {len(work) - len(survivors)} killed, {len(survivors)} survived")
    return 1 if survivors else 0


if __name__ == "__main__":
    raise SystemExit(main())
