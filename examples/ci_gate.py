"""A release gate: a new checkpoint must not be clearly worse than the released one.

    python examples/ci_gate.py RELEASED CANDIDATE ITEMS IMAGES OUT
    python examples/ci_gate.py world hf:training/model other/test-0.jsonl other gate

Exit 0: release it. Exit 1: worse (the whole 95% interval of a loss lies above one point). Exit 2: bad input. RELEASED
is evaluated once and read from OUT afterwards. examples/weekly_gate.yml does the same with the command line.
"""

import sys
from pathlib import Path

import equipoise as eq


def main(released: str, candidate: str, items: str, images: str, out: str) -> int:
    runs = [
        eq.evaluate(spec, items, images=images, out=Path(out) / name, label=name)
        for name, spec in (("released", released), ("candidate", candidate))
    ]
    diff = eq.compare(*runs)
    print(diff)
    return int(diff.worse("augmented", by=1.0) or diff.worse("brittleness", by=1.0))


if __name__ == "__main__":
    try:
        sys.exit(main(*sys.argv[1:]))
    except (eq.UserError, TypeError) as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
