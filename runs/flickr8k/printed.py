"""The tables of docs/flickr8k.md on the better bases, from what `run.py final` printed (printed.log): no intervals.

python runs/flickr8k/printed.py
"""

from __future__ import annotations

from pathlib import Path

KINDS = ("seen", "unseen", "swap")


def main() -> None:
    models: dict[str, list[dict[str, float]]] = {}
    for line in [*(Path(__file__).parent / "printed.log").read_text().splitlines()[1:], "# end"]:
        if line.startswith("# "):
            for name, runs in models.items():
                mean = {key: sum(run[key] for run in runs) / len(runs) for key in runs[0]}
                cells = [f"{mean[f'{kind}/augmented']:.1f} / {mean[f'{kind}/brittleness']:.1f}" for kind in KINDS]
                cells += [f"{mean['type/augmented']:.1f}", f"{mean['t2i@1']:.1f} / {mean['i2t@1']:.1f}"]
                print("|", " | ".join([name, *cells, f"{mean['experts']:.1f}", str(len(runs))]), "|")
            models = {}
            print(line)
            continue
        name, _, *values = line.split()
        pairs = (value.split("=") for value in values)
        models.setdefault(name.rpartition("-")[0], []).append({key: float(value) for key, value in pairs})


if __name__ == "__main__":
    main()
