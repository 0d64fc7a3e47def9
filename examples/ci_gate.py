"""The gate of a model team: a new checkpoint may not be clearly worse than the released one.

    python examples/ci_gate.py RELEASED CANDIDATE --bench ITEMS --images DIR --out FOLDER
    python examples/ci_gate.py world hf:training/model --bench other/test-0.jsonl --images other --out gate

Exit 0: it may be released. Exit 1: worse beyond doubt (the whole 95% interval of a loss lies above the limit). Exit 2:
bad input. RELEASED is read from FOLDER after the first time: only the candidate costs anything. The same from a shell:

    equipoise eval hf:candidate --bench items.jsonl --images photos --out gate/candidate
    equipoise compare gate/released gate/candidate --fail-if-worse augmented:1 --fail-if-worse brittleness:1
"""

import argparse
import sys
from pathlib import Path

from equipoise import UserError, evaluate, load_items, load_model
from equipoise.evaluation.comparing.folders import compare_folders
from equipoise.evaluation.comparing.gate import check_gates, read_gate
from equipoise.report.comparison import gate_line

LIMITS = ("augmented:1", "brittleness:1")  # percentage points


def main() -> int:
    parser = argparse.ArgumentParser(description="Is the candidate clearly worse?")
    parser.add_argument("released")
    parser.add_argument("candidate")
    parser.add_argument("--bench", required=True, type=Path)
    parser.add_argument("--images", required=True, type=Path)
    parser.add_argument("--out", required=True, type=Path)
    parser.add_argument("--limit", action="append", metavar="METRIC:POINTS")
    given = parser.parse_args()
    try:
        gates = [read_gate(text) for text in given.limit or LIMITS]  # a typing error costs no evaluation
        items = load_items(given.bench)
        for name, spec in (("released", given.released), ("candidate", given.candidate)):
            evaluate(load_model(spec), items, images=given.images, name=given.bench.stem, out=given.out / name)
        compared = compare_folders([str(given.out / "released"), str(given.out / "candidate")])
        judged = check_gates(gates, compared.differences)
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for gate in judged:
        print(gate_line(gate))
    return 1 if any(gate.failed for gate in judged) else 0


if __name__ == "__main__":
    sys.exit(main())
