"""The tables of docs/appendix/published_numbers.md: numbers of real models, recomputed from published files.

    python -m studies.published_numbers [--shared DATA]

DATA holds the folders that others published (READ below). Nothing here runs a model: scores and outcomes are read as
`equipoise metrics` reads them. tests/test_published_numbers.py holds the numbers.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from equipoise.benchmarks.valse import SPLITS as VALSE
from equipoise.core import stats
from equipoise.core.errors import UserError
from equipoise.evaluation.record import Interval, ItemNumbers, Metrics, Numbers
from equipoise.published.measuring import published_run
from equipoise.report.tables import percent
from studies.harness import SHARED, read_rows, table
from studies.harness.inputs import arguments
from studies.ledger.printed import PRINTED

# Names here; what was printed, and where, is in ledger/printed.py.
WINOGROUND = {"clip": "CLIP (ViT-B/32)", "vinvl": "VinVL", "flava_itm": "FLAVA, ITM head", "vilt": "ViLT (ViT-B/32)"}
VALSE_MODELS = {"x-vlm_16m": "X-VLM 16M", "blip2_itm_pretrain": "BLIP-2, ITM"}
PREDICATE_NOUN = {"clip": "CLIP (ViT-B/32)", "vilt": "ViLT", "vilbert": "ViLBERT", "lxmert": "LXMERT"}
BIVLC = {"ViT-B-32": "CLIP (ViT-B/32)", "CLIP_TROHN-Text": "CLIP TROHN-Text"}
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
    return measured(data, "bivlc", f"bivlc/BiVLC_{name}.csv")


def sugarcrepe(data: Path) -> Metrics:
    return measured(data, "sugarcrepe", "bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv")


def vsr(data: Path, model: str, wording: str) -> ItemNumbers:
    files = (f"{VSR}/full-{model}_normal.csv.gz", f"{VSR}/tierb_full-{model}_{wording}.csv.gz")
    return measured(data, "vsr-pairs", *files).overall


def vl_compo(data: Path) -> dict[str, float]:
    """SugarCrepe of OpenAI's ViT-B/32 in vl_compo's table."""
    rows = read_rows(data / "published" / "vl_compo_individual_results.csv")
    (row,) = [row for row in rows if (row["arch"], row["pretrained"]) == ("ViT-B-32", "openai")]
    start = "sugarcrepe::"
    return {name.removeprefix(start): float(value) for name, value in row.items() if name.startswith(start)}


# ---------------------------------------------------------------------------- how it is shown


def _winoground(data: Path) -> str:
    rows = []
    for name, title in WINOGROUND.items():
        result = winoground(data, name)
        shown = [percent(result, part, 2) for part in ("text", "image", "group")]
        rows.append([title, *shown, " / ".join(PRINTED["winoground, paper"][name])])
    return table(("model", "text", "image", "group", "printed"), rows)


def _valse(data: Path) -> str:
    models = {name: valse(data, name) for name in VALSE_MODELS}
    rows = []
    for place, split in enumerate(VALSE):
        row = [split, f"{VALSE[split]:,}"]
        for name, result in models.items():
            row += [percent(result.by["split"][split], "original"), PRINTED["valse"][name][place]]
        rows.append(row)
    for label, numbers in (("mean of the 11 (VALSE's rule)", "headline"), ("mean over items", "overall")):
        row = [label, "7,702"]
        for name, result in models.items():
            mean = PRINTED["valse"][name][-1] if numbers == "overall" else ""
            row += [percent(getattr(result, numbers), "original"), mean]
        rows.append(row)
    first, second = VALSE_MODELS.values()
    return table(("instrument", "n", first, "printed", second, "printed"), rows)


def _wordings(data: Path) -> str:
    """Each wording against its own wrong sentence: all four models can be compared."""
    rows = []
    for cropped in (False, True):
        for name, title in PREDICATE_NOUN.items():
            result = predicate_noun(data, name, cropped)
            paper, first = result.overall, result.by["split"]["first"]
            rows.append(
                [
                    f"{title}, {'cropped' if cropped else 'whole'}",
                    percent(first, "original"),
                    percent(paper, "both_wordings"),
                    percent(paper, "one_wording"),
                    percent(paper, "pair_first"),
                    " / ".join(f"{100 * paper.metrics[f'{word}_first'].value:.1f}" for word in ("noun", "predicate")),
                    percent(paper, "pair_alt"),
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
                first = predicate_noun(data, name, cropped).by["split"]["first"]
                cells = [percent(first, metric) for metric in ("original", "augmented", "brittleness")]
                rows.append([f"{title}, {'cropped' if cropped else 'whole'}", *cells])
    return table(("model, photos", "Original", "Augmented", "Brittleness"), rows)


def _bivlc(data: Path) -> str:
    rows = []
    for name, title in BIVLC.items():
        result, parts = bivlc(data, name), ("text", "image", "group")
        shown = [percent(result.overall, part, 2) for part in parts]
        rows.append([title, *shown, " / ".join(PRINTED["bivlc"][name])])
        for kind in ("replace", "swap", "add"):
            numbers = result.by["type"][kind]
            rows.append([f"{title}, {kind} ({numbers.n:,})", *(percent(numbers, part, 2) for part in parts), ""])
    return table(("model", "text (I2T)", "image (T2I)", "group", "printed"), rows)


def _sugarcrepe(data: Path) -> str:
    result, printed = sugarcrepe(data), vl_compo(data)
    rows = []
    for split, numbers in result.by["split"].items():
        theirs = next((value for name, value in printed.items() if name.replace("-", "_") == split), None)
        rows.append([split, f"{numbers.n:,}", percent(numbers, "original"), "" if theirs is None else f"{theirs:.2f}"])
    rows.append(["all pairs", f"{result.overall.n:,}", percent(result.overall, "original"), f"{SUGARCREPE_BIVLC:.2f}"])
    return table(("type", "n", "CLIP (ViT-B/32), outcomes only", "printed"), rows)


def _vsr(data: Path) -> str:
    rows = []
    for wording, title in REWORDED.items():
        for model, name in QWEN.items():
            result = vsr(data, model, wording)
            cells = [percent(result, metric) for metric in ("original", "augmented", "brittleness")]
            rows.append([f"{name}, {title}", f"{result.n:,}", *cells])
    return table(("model, wordings", "n", "right in the first", "right in both", "right in one"), rows)


def tables(data: Path = SHARED) -> list[str]:
    """All tables, in the order of the page."""
    parts = (_wordings, _against_first, _winoground, _valse, _bivlc, _sugarcrepe, _vsr)
    return [part(data) for part in parts]


def main() -> None:
    parser = arguments(__doc__, *READ)
    try:
        print("\n\n".join(tables(parser.parse_args().shared)))
    except UserError as error:
        parser.error(str(error))


if __name__ == "__main__":
    main()
