"""The needs of each table, from the code that asks for them: the two tables of docs/tasks/reproduce.md.

python -m studies.tables.lib.guide
"""

from __future__ import annotations

from pathlib import Path

from studies.harness import table
from studies.harness.inputs import arguments
from studies.tables.lib.pages import ALL
from studies.tables.lib.real import BASE, PHOTOS, Real
from studies.tables.lib.show import GONE
from studies.tables.lib.tables import Table
from studies.tables.lib.world import A_MODEL, World

CORES = 16
FILES = {  # below DATA: a letter, and GB unpacked
    f"{BASE}/": ("B", 0.6), "captions.jsonl": ("C", 1), "mined.jsonl": ("N", 1), "four-types.jsonl": ("F", 1),
    f"{PHOTOS}/train2017/": ("T", 19.3), f"{PHOTOS}/train2014/": ("U", 13.5), f"{PHOTOS}/val2014/": ("E", 6.6),
    "replace/": ("R", 15.2), "swap/": ("S", 1), "aro-vg-r/": ("X", 1), "aro-vg-a/": ("Y", 1), "valse/": ("V", 25),
    "vl-checklist/": ("L", 20), "sugarcrepe/": ("G", 0.8), "karpathy/dataset_coco.json": ("K", 0.2),
    "karpathy/dataset_flickr30k.json": ("P", 0.1), "flickr30k/": ("Q", 4.4), "imagenet/": ("I", 6.7),
}  # fmt: skip


def missing(form: Real, shown: Table) -> dict[str, str]:
    wanted = shown.wanted(form)
    tests = {test for column in wanted.columns if column in form.columns for test in form.columns[column].tests}
    return form.missing(wanted.jobs, tests, wanted.standards)


def guide() -> str:
    form, world = Real(Path("D")), World(Path("OUT"), 160, 150)
    rows: list[list[str]] = []
    get: dict[str, str] = {}
    for name, shown in ALL.items():
        files = missing(form, shown)
        get |= files
        trained = [job for job in shown.wanted(form).jobs if form.trains(job)]
        hours = sum(map(form.photos, trained)) / form.rates(CORES)[0] / 3600
        drawn = len({job for job in shown.wanted(world).jobs if world.can(job)})
        letters, sizes = zip(*(FILES[file] for file in files), strict=True)
        took = f"{hours:.1f}" if trained else GONE
        rows.append([name, "".join(sorted(letters)), f"{sum(sizes):.0f}", took, f"{drawn * A_MODEL}"])
    heads = ("NAME", "needs", "GB", "hours, H200", "world: minutes")
    how = [[FILES[name][0], f"`{name}`", f"{FILES[name][1]:g}", _short(text)] for name, text in sorted(get.items())]
    return f"{table(heads, rows)}\n\n{table(('', 'below D', 'GB', 'how'), how)}"


def _short(text: str) -> str:
    """The command alone, or the address."""
    command = text.partition("   (")[0].rpartition("images/: ")[2].removeprefix("unpack ").removesuffix(" there")
    if command.startswith("equipoise bench fetch"):
        return "`bench fetch`"
    return f"`{command}`" if command.startswith(("equipoise", "hf ")) else command


def main() -> None:
    arguments(__doc__).parse_args()
    print(guide())


if __name__ == "__main__":
    main()
