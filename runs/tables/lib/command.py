"""What every script of this folder does when it is run: `python runs/tables/NAME.py [--quick | --real --data DIR]`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path

from equipoise.errors import UserError
from equipoise.files import atomic_write
from lib.form import Form
from lib.study import Study, Wanted

ROOT = Path(__file__).resolve().parents[3]
OUT = ROOT / "build" / "tables"


def options(about: str) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    form = parser.add_mutually_exclusive_group()
    form.add_argument("--quick", action="store_true", help="on the built-in world (what happens without an option)")
    form.add_argument("--real", action="store_true", help="on COCO and Visual Genome with ViT-B/32; needs --data")
    parser.add_argument("--data", type=Path, help="folder of the real form's data; what is missing is said")
    parser.add_argument("--out", type=Path, default=OUT, help="where models, runs and tables are kept and reused")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--seeds", type=int, default=1, help="finetunings of each model")
    parser.add_argument("--steps", type=int, default=160, help="of a finetuning, in the quick form")
    parser.add_argument(
        "--pretraining-steps", type=int, help="of the other base models (default: 150 on a cpu, 1,500 on a GPU)"
    )
    parser.add_argument("--share", type=float, default=1.0, help="of the world's items: to try whether it runs")
    return parser


def study_of(asked: argparse.Namespace) -> Study:
    form: Form
    if asked.real:
        from lib.real import Real

        if asked.data is None:
            raise UserError("--real: name the folder of its data with --data DIR; the script says what belongs there")
        form = Real(asked.data)
    else:
        from lib.world import World

        pretraining = asked.pretraining_steps or (150 if asked.device == "cpu" else 1500)
        form = World(asked.out, asked.steps, pretraining, asked.share)
    return Study(form, asked.out / form.name, asked.device, tuple(range(asked.seeds)))


def main(name: str, about: str, wanted: Callable[[Form], Wanted], page: Callable[[Study], str]) -> None:
    """Parse the command line, make what is missing, write OUT/FORM/NAME.md and print it."""
    asked = options(about).parse_args()
    try:
        study = study_of(asked)
        failed = study.prepare([wanted(study.form)], asked.jobs)
        text = page(study)
    except UserError as error:
        print(error, file=sys.stderr)
        sys.exit(2)
    path = study.out / f"{name}.md"
    with atomic_write(path) as handle:
        handle.write(text + "\n")
    print(f"\n{text}\n\nwrote {path}")
    sys.exit(1 if failed else 0)
