"""Writes docs/appendix/published_numbers.md: the numbers of real models, recomputed from the files that were published.

    python -m studies.published_numbers [DATA]

DATA holds the folders that others published (READ below). Nothing here runs a model: scores and outcomes are read as
`equipoise metrics` reads them. tests/test_published_numbers.py holds the numbers.
"""

from __future__ import annotations

import argparse
import csv
from collections.abc import Iterable, Sequence
from functools import cache
from pathlib import Path

from equipoise.benchmarks.valse import SPLITS as VALSE
from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.core.files import atomic_write
from equipoise.evaluation.record import Interval, ItemNumbers, Metrics, Numbers
from equipoise.published.measuring import published_run
from equipoise.report.tables import percent

ROOT = Path(__file__).resolve().parents[1]
DATA = ROOT.parent / "shared" / "data"
PAGE = ROOT / "docs" / "appendix" / "published_numbers.md"

# What was printed, and where. Winoground: Thrush et al. 2022, the table of all models.
WINOGROUND = {
    "clip": ("CLIP (ViT-B/32)", (30.75, 10.50, 8.00)),
    "vinvl": ("VinVL", (37.75, 17.75, 14.50)),
    "flava_itm": ("FLAVA, ITM head", (32.25, 20.50, 14.25)),
    "vilt": ("ViLT (ViT-B/32)", (34.75, 14.00, 9.25)),
}
# Bugliarello et al. 2023, as notebooks/VALSE.ipynb of e-bug/fine-grained-evals prints it: 11 instruments, then "Avg."
VALSE_PRINTED = {
    "x-vlm_16m": ("X-VLM 16M", (83.6, 78.7, 71.5, 72.0, 74.8, 73.1, 79.2, 64.6, 60.0, 49.0, 91.9), 74.5),
    "blip2_itm_pretrain": ("BLIP-2, ITM", (83.6, 79.6, 70.2, 68.7, 68.0, 65.6, 84.4, 63.2, 62.6, 58.7, 96.0), 74.0),
}
PREDICATE_NOUN = {"clip": "CLIP (ViT-B/32)", "vilt": "ViLT", "vilbert": "ViLBERT", "lxmert": "LXMERT"}
# Miranda et al. 2024, the table of their training strategies: I2T, T2I, group; then SugarCrepe.
BIVLC = {
    "BiVLC_ViT-B-32": ("CLIP (ViT-B/32)", (75.83, 52.40, 49.06)),
    "BiVLC_CLIP_TROHN-Text": ("CLIP TROHN-Text", (78.18, 62.19, 57.48)),
}
SUGARCREPE_BIVLC = 76.56
QWEN = {"zero_shot": "Qwen2-VL-7B", "general_lora": "LoRA", "hardneg_lora": "LoRA on hard negatives"}
REWORDED = {"sorev": "A touches B / B touches A", "continv": "inside / contains", "relcomp": "above / below, if true"}
VSR = "published_scores/vsr_vlm"
READ = (
    "predicate_noun",
    "winoground_scores",
    "valse_scores",
    "bivlc",
    "published/vl_compo_individual_results.csv",
    VSR,
)


# ---------------------------------------------------------------------------- what is measured


@cache
def measured(data: Path, bench: str, *files: str) -> Metrics:
    """As `equipoise metrics FILES --bench BENCH` (for predicate-noun with --source)."""
    source = data / "predicate_noun" if bench == "predicate-noun" else None
    return published_run([data / file for file in files], bench, source=source).record.metrics


def winoground(data: Path, name: str) -> Numbers:
    """With Wilson's intervals."""
    overall = measured(data, "winoground", f"winoground_scores/{name}.jsonl").overall
    metrics = dict(overall.metrics)
    for part in ("text", "image", "group"):
        number = metrics[part]
        interval = Interval(*stats.wilson(round(number.value * number.n), number.n))
        metrics[part] = number.model_copy(update={"interval": interval})
    return overall.model_copy(update={"metrics": metrics})


def valse(data: Path, name: str) -> Metrics:
    return measured(data, "valse", f"valse_scores/{name}.jsonl")


def predicate_noun(data: Path, name: str, cropped: bool) -> Metrics:
    stem = f"predicate_noun/scores/{name}" + ("_cropped_images" if cropped else "")
    return measured(data, "predicate-noun", f"{stem}.csv", f"{stem}_alt_sentences.csv")


def bivlc(data: Path, name: str) -> Metrics:
    return measured(data, "bivlc", f"bivlc/{name}.csv")


def sugarcrepe(data: Path) -> Metrics:
    return measured(data, "sugarcrepe", "bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv")


def vsr(data: Path, model: str, wording: str) -> ItemNumbers:
    files = (f"{VSR}/full-{model}_normal.csv.gz", f"{VSR}/tierb_full-{model}_{wording}.csv.gz")
    return measured(data, "vsr-pairs", *files).overall


def vl_compo(data: Path) -> dict[str, float]:
    """SugarCrepe of OpenAI's ViT-B/32 in vl_compo's table."""
    with (data / "published" / "vl_compo_individual_results.csv").open(encoding="utf-8", newline="") as handle:
        (row,) = [row for row in csv.DictReader(handle) if (row["arch"], row["pretrained"]) == ("ViT-B-32", "openai")]
    start = "sugarcrepe::"
    return {name.removeprefix(start): float(value) for name, value in row.items() if name.startswith(start)}


def within(data: Path, name: str, cropped: bool) -> Numbers:
    """Each wording against its own wrong sentence, and pairs."""
    return predicate_noun(data, name, cropped).overall


# ---------------------------------------------------------------------------- how it is shown


def share(numbers: Numbers, name: str, digits: int = 1, interval: bool = True) -> str:
    number = numbers.metrics[name]
    shown = f"{100 * number.value:.{digits}f}"
    if interval and number.interval is not None:
        low, high = number.interval
        shown += f" [{100 * low:.{digits}f}, {100 * high:.{digits}f}]"
    return shown


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [header, ["---", *["---:"] * (len(header) - 1)], *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def sentence(data: Path) -> str:
    flips = {name: share(within(data, name, False), "one_wording") for name in PREDICATE_NOUN}
    others = ", ".join(f"{PREDICATE_NOUN[name]} {found} %" for name, found in flips.items() if name != "clip")
    return (
        'Turn "a man is wearing glasses" into "the man wears glasses", reword the wrong sentence alike, and **models '
        f"change their answers** to 2,584 such questions: {others}. The photo is the same, and so is the meaning. For "
        f"CLIP it is {flips['clip']} %, which says little: its accuracy is near chance here "
        f"({percent(_split(predicate_noun(data, 'clip', False), 'first'), 'original')} %)."
    )


def _winoground(data: Path) -> str:
    rows = []
    for name, (title, printed) in WINOGROUND.items():
        found = winoground(data, name)
        shown = [share(found, part, 2) for part in ("text", "image", "group")]
        rows.append([title, *shown, " / ".join(f"{value:.2f}" for value in printed)])
    return table(("model", "text", "image", "group", "printed"), rows)


def _valse(data: Path) -> str:
    models = {name: valse(data, name) for name in VALSE_PRINTED}
    rows = []
    for place, split in enumerate(VALSE):
        row = [split, f"{VALSE[split]:,}"]
        for name, found in models.items():
            row += [percent(found.by["split"][split], "original"), f"{VALSE_PRINTED[name][1][place]:.1f}"]
        rows.append(row)
    for label, numbers in (("mean of the 11 (VALSE's rule)", "headline"), ("mean over items", "overall")):
        row = [label, "7,702"]
        for name, found in models.items():
            printed = f"{VALSE_PRINTED[name][2]:.1f}" if numbers == "overall" else ""
            row += [percent(getattr(found, numbers), "original"), printed]
        rows.append(row)
    titles = [title for title, _, _ in VALSE_PRINTED.values()]
    return table(("instrument", "n", titles[0], "printed", titles[1], "printed"), rows)


def _wordings(data: Path) -> str:
    """Each wording against its own wrong sentence: all four models can be compared."""
    rows = []
    for cropped in (False, True):
        for name, title in PREDICATE_NOUN.items():
            paper, first = within(data, name, cropped), _split(predicate_noun(data, name, cropped), "first")
            rows.append(
                [
                    f"{title}, {'cropped' if cropped else 'whole'}",
                    percent(first, "original"),
                    share(paper, "both_wordings"),
                    share(paper, "one_wording"),
                    share(paper, "pair_first"),
                    f"{share(paper, 'noun_first', interval=False)} / {share(paper, 'predicate_first', interval=False)}",
                    share(paper, "pair_alt"),
                ]
            )
    header = ("model, photos", "Orig.", "right in both", "right in one", "pair", "noun / predicate", "pair, alt")
    return table(header, rows)


def _against_first(data: Path) -> str:
    """Equipoise's own definition: both right sentences against the first wrong one."""
    rows = []
    for cropped in (False, True):
        for name, title in PREDICATE_NOUN.items():
            if name != "clip":
                first = _split(predicate_noun(data, name, cropped), "first")
                cells = [percent(first, metric) for metric in ("original", "augmented", "brittleness")]
                rows.append([f"{title}, {'cropped' if cropped else 'whole'}", *cells])
    return table(("model, photos", "Original", "Augmented", "Brittleness"), rows)


def _split(found: Metrics, split: str) -> ItemNumbers:
    return found.by["split"][split]


def _bivlc(data: Path) -> str:
    rows = []
    for name, (title, printed) in BIVLC.items():
        found, parts = bivlc(data, name), ("text", "image", "group")
        shown = [percent(found.overall, part, 2) for part in parts]
        rows.append([title, *shown, " / ".join(f"{value:.2f}" for value in printed)])
        for kind in ("replace", "swap", "add"):
            one = found.by["type"][kind]
            rows.append([f"{title}, {kind} ({one.n:,})", *(percent(one, part, 2) for part in parts), ""])
    return table(("model", "text (I2T)", "image (T2I)", "group", "printed"), rows)


def _sugarcrepe(data: Path) -> str:
    found, printed = sugarcrepe(data), vl_compo(data)
    rows = []
    for split, numbers in found.by["split"].items():
        theirs = next((value for name, value in printed.items() if name.replace("-", "_") == split), None)
        rows.append([split, f"{numbers.n:,}", percent(numbers, "original"), "" if theirs is None else f"{theirs:.2f}"])
    rows.append(["all pairs", f"{found.overall.n:,}", percent(found.overall, "original"), f"{SUGARCREPE_BIVLC:.2f}"])
    return table(("type", "n", "CLIP (ViT-B/32), outcomes only", "printed"), rows)


def _vsr(data: Path) -> str:
    rows = []
    for wording, title in REWORDED.items():
        for model, name in QWEN.items():
            found = vsr(data, model, wording)
            cells = [percent(found, metric) for metric in ("original", "augmented", "brittleness")]
            rows.append([f"{name}, {title}", f"{found.n:,}", *cells])
    return table(("model, wordings", "n", "right in the first", "right in both", "right in one"), rows)


HEAD = """
Made by `python -m studies.published_numbers` from the scores and outcomes that other people published; no model was run
here. Every table names the command that prints its numbers, files as they lie in `../shared/data`. Percent; in brackets
the 95% interval (images resampled; for text, image, group and pair Wilson's over examples). A tie is never a win.
"""
PREDICATE_NOUN_1 = """
2,584 rows, 1,673 photos (Nikolaus et al. 2022). Each row has a right and a wrong sentence in two wordings that differ
by article and verb form ("a girl is smiling", "the girl smiles"). *Orig.* is the accuracy per row in the first wording.
*right in both* and *right in one* set each wording against its own wrong sentence; *right in one* is Brittleness.
*pair* is the paper's accuracy: both mirrored rows right, chance 25.
"""
PREDICATE_NOUN_2 = """
CLIP's 52 percent of rows look like chance, and its pairs are below it: in 64 percent of the pairs exactly one row is
right, the same sentence preferred for both photos. Cut to the box of the right sentence, the paper's control, all
models get most pairs right and flip less often. The pair accuracies are what the authors' script prints from these
files (two digits: CLIP 0.20, LXMERT 0.57).

Both right sentences against the *first* wrong one, as Equipoise defines Augmented accuracy and Brittleness (split
`first`). CLIP is not in this table: its file holds a softmax over the two sentences of a wording, and 0.6 of one
softmax is not more than 0.5 of another. Read as if it were, CLIP would come out with a Brittleness of 8.9 in place of
19.4. `metrics` finds such files (all rows add up to 1) and judges each wording by itself. ViLBERT gives sentences of
the second wording higher scores, right and wrong alike (0.25 and 0.22 on average, after 0.17 and 0.14): hence 16.4 here
and 8.5 above.
"""
WINOGROUND_1 = """
Equal to the paper's table in every digit. vl_compo prints 31.25 / 11.00 / 8.75 for CLIP: its own run of the model, two
or three examples of 400 apart.
"""
VALSE_1 = """
All 22 accuracies are the printed ones (Bugliarello et al. 2023). Their average is not VALSE's: they print the mean over
all items, where VALSE's paper averages its 11 instruments, which gives 1.9 and 1.3 points less (coreference-hard is one
eleventh of that, but 104 of 7,702 items). By VALSE's rule BLIP-2 is ahead of X-VLM, by theirs behind; neither
difference is larger than the intervals. BLIP-2 has 11 ties, wrong here and there. Intervals resample items: without the
annotation files (`--source`) it is not known which items share a photo.
"""
BIVLC_1 = """
Equal to the paper's table. Its files hold right and wrong, no scores: a tie cannot be told from a wrong answer. All
rows are consistent, and none has outcomes that no four scores could give (both texts right and both images wrong); the
reader checks both. Finetuned with hard negative texts alone (TROHN-Text), CLIP gains 2.4 points on text and 9.8 on
image.
"""
SUGARCREPE_1 = """
*printed* is vl_compo's table by type, and for all pairs BiVLC's paper. The file has 7,512 rows, one of them the
swap_obj pair (image 000000310622) that SugarCrepe withdrew and CLIP gets right; it is left out, and `metrics` says so:
150 of 245 in place of 151 of 246 (61.38, as tables from before print it), and 5,750 of 7,511 in all. Six pairs of
sentences are asked in two types.
"""
VSR_1 = """
A generative model answers True or False to a statement of VSR's test split and to its rewording
(Khagendra01/vlm-spatial-reasoning, d872aa2). *right in one* is the wording flip: the truth of one statement follows
from the other, and the model gets only one of the two right. The first two rewordings keep the truth. The third turns
it (above / below, left / right, in front of / behind), and only true statements count there, because "not above" does
not entail "below". The rewordings are the source's: it also turns "against" and "at the side of" round, which
`vsr-pairs` leaves out.
"""


def page(data: Path = DATA) -> str:
    reason = "it needs the published files; `tests/test_published_numbers.py` runs it where they are"
    metrics = f"<!-- not run: {reason} -->\n\n```bash\nequipoise metrics"
    scores = "predicate_noun/scores/MODEL"
    parts = [
        "# Published numbers, recomputed",
        f"> {sentence(data)}",
        HEAD,
        "## Predicate-noun dependencies: the same sentence twice",
        f"{metrics} {scores}.csv {scores}_alt_sentences.csv --bench predicate-noun --source predicate_noun\n```",
        PREDICATE_NOUN_1,
        _wordings(data),
        PREDICATE_NOUN_2,
        _against_first(data),
        "## Winoground",
        f"{metrics} winoground_scores/FILE.jsonl --bench winoground\n```",
        _winoground(data),
        WINOGROUND_1,
        "## VALSE",
        f"{metrics} valse_scores/FILE.jsonl --bench valse\n```",
        _valse(data),
        VALSE_1,
        "## BiVLC (outcomes only)",
        f"{metrics} bivlc/FILE.csv --bench bivlc\n```",
        _bivlc(data),
        BIVLC_1,
        "## SugarCrepe (outcomes only)",
        f"{metrics} bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv --bench sugarcrepe\n```",
        _sugarcrepe(data),
        SUGARCREPE_1,
        "## VSR in two wordings (answers only)",
        f"{metrics} {VSR}/full-MODEL_normal.csv.gz {VSR}/tierb_full-MODEL_WORDING.csv.gz --bench vsr-pairs\n```",
        _vsr(data),
        VSR_1,
    ]
    return "\n\n".join(part.strip("\n") for part in parts) + "\n"


def main() -> None:
    from studies.needs import existing  # a test loads this file without its folder

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=existing(*READ), nargs="?", default=str(DATA), help="(default: %(default)s)")
    try:
        made = page(parser.parse_args().data)
    except UserError as error:
        parser.error(str(error))
    with atomic_write(PAGE) as handle:
        handle.write(made)
    print(f"wrote {PAGE}")


if __name__ == "__main__":
    main()
