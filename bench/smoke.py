"""Every script of this folder on its smallest input: it must end well and come to the right outcome.

    python bench/smoke.py

Each runs in a fork of one process that has loaded torch: loading it took longer than most scripts.
"""

from __future__ import annotations

import os
import runpy
import sys
import traceback
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")  # before torch; and a fork has no threads of its parent

import torch  # noqa: F401
from transformers import CLIPModel  # noqa: F401

SCRIPTS = sorted(path for path in Path(__file__).parent.glob("*.py") if path.stem not in ("made", "compare", "smoke"))


def run(script: Path) -> int:
    """Run a script in this process and return its exit code."""
    sys.argv = [str(script), "--tiny"]
    try:
        runpy.run_path(str(script), run_name="__main__")
    except SystemExit as ended:
        if isinstance(ended.code, str):
            print(ended.code, file=sys.stderr)
        return ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


def main() -> int:
    failed = []
    for script in SCRIPTS:
        print(f"{script.name} --tiny", flush=True)
        if not (child := os.fork()):
            code = run(script)
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)
        if os.waitpid(child, 0)[1]:
            failed.append(script.name)
    if failed:
        print(f"failed: {', '.join(failed)}", file=sys.stderr)
    return int(bool(failed))


if __name__ == "__main__":
    sys.exit(main())
