"""Damaged and odd inputs for every reader: read, or refused with a message; what is read is checked by a slow reading.

    python runs/attack/inputs.py --inputs 20000 --seed 1
    python runs/attack/inputs.py --seed 1 --only scores --number 17      one case again; the file is kept and named

Allowed: success, or UserError (exit code 2; 1 of `bench check`). Failures: any other exception, a traceback, an escape
code in what is printed, 10 seconds of CPU or 60 of the clock, 2 GB of memory, another number than the slow reading's.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import logging
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parent))
import kinds
from texts import Kind

from equipoise.errors import UserError

MOST_MEMORY = 2 * 2**20  # kilobytes


class TooLong(BaseException):
    pass


def _too_long(number: int, frame: Any) -> None:
    raise TooLong(f"over the limit of {'the clock' if number == signal.SIGALRM else 'CPU time'}")


def command(*words: str) -> tuple[int, str, str]:
    """A command of the command line, in this process: exit code and what was printed."""
    from equipoise.cli import main

    logging.getLogger().handlers.clear()
    out, err = io.StringIO(), io.StringIO()
    sys.argv = ["equipoise", *words]
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        try:
            main()
            code: Any = 0
        except SystemExit as ended:
            code = ended.code or 0
    return code, out.getvalue(), err.getvalue()


def one(kind: Kind, draw: random.Random, folder: Path) -> tuple[str, str]:
    """The verdict on one damaged input, "read", "refused" or a failure, and more about it."""
    folder.mkdir(parents=True)
    wanted = kind.prepare(folder, draw)
    signal.setitimer(signal.ITIMER_PROF, 10)
    signal.alarm(60)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return kind.judge(folder, wanted, command)
    except UserError as error:
        return ("refused", "") if str(error).strip() else ("FAILURE: an empty message", "")
    except (SystemExit, KeyboardInterrupt):
        raise
    except TooLong as error:
        return f"FAILURE: {error}", traceback.format_exc(limit=-4)
    except AssertionError as error:
        return "FAILURE: wrong", str(error)[:700]
    except BaseException as error:
        return f"FAILURE: {type(error).__name__}", "".join(traceback.format_exc(limit=-6))[-1500:]
    finally:
        signal.alarm(0)
        signal.setitimer(signal.ITIMER_PROF, 0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--inputs", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", default="", help="one kind; with --number one case of it")
    parser.add_argument("--number", type=int)
    parser.add_argument("--kept", type=Path, default=Path(tempfile.gettempdir()) / "attack-kept")
    asked = parser.parse_args()
    signal.signal(signal.SIGALRM, _too_long)
    signal.signal(signal.SIGPROF, _too_long)
    found = kinds.kinds()
    shares = sum(kind.share for kind in found.values())
    todo = []
    for name, kind in found.items():
        if asked.only in ("", name):
            count = max(1, round(asked.inputs * kind.share / shares)) if not asked.only else asked.inputs
            todo += [(name, number) for number in ([asked.number] if asked.number is not None else range(count))]
    random.Random(asked.seed).shuffle(todo)  # so that a run that is stopped early has tried something of everything
    counts: collections.Counter[tuple[str, str]] = collections.Counter()
    told: collections.Counter[str] = collections.Counter()
    spent: collections.Counter[str] = collections.Counter()
    stopped: list[int] = []
    signal.signal(signal.SIGTERM, lambda number, frame: stopped.append(number))  # ends with the counts so far
    with tempfile.TemporaryDirectory() as temporary:
        for done, (name, number) in enumerate(todo, 1):
            if stopped:
                break
            folder = Path(temporary) / name / "case"
            before, begin = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.process_time()
            verdict, more = one(found[name], random.Random(f"{asked.seed}/{name}/{number}"), folder)
            spent[name] += round(1000 * (time.process_time() - begin))
            after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
            if after > MOST_MEMORY and after > before:
                verdict, more = "FAILURE: memory", f"{before / 1024:.0f} -> {after / 1024:.0f} MB"
            counts[name, verdict] += 1
            if verdict.startswith("FAILURE"):
                told[name + verdict] += 1
                if told[name + verdict] <= 5:
                    shutil.copytree(folder, asked.kept / f"{name}-{asked.seed}-{number}", dirs_exist_ok=True)
                    print(f"{name} --number {number}: {verdict}\n    {more.strip()}", flush=True)
            if asked.number is not None:
                print(verdict, more, "\n", asked.kept)
            shutil.rmtree(folder, ignore_errors=True)
            if done % 1000 == 0:
                print(f"-- {done:,} of {len(todo):,}", flush=True)
    for name in found:
        rows = {verdict: count for (kind, verdict), count in counts.items() if kind == name}
        if rows:
            print(f"{name:22} {sum(rows.values()):6,}  {spent[name] / sum(rows.values()):6.1f} ms  {rows}")
    bad = sum(count for (_, verdict), count in counts.items() if verdict.startswith("FAILURE"))
    print(f"{sum(counts.values()):,} inputs, {bad:,} failures")
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
