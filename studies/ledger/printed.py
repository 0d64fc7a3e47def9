"""Every number that the sources of published answers print, next to ours: met to the digit, or why not.

    python -m studies.ledger.printed [DATA]

Prints a table and ends with 1 where a number is neither met nor explained. tests/studies/test_printed.py runs it where
the files are. `WHERE` says where each source prints its numbers.
The 15 checkpoints of one ALBEF training (Winoground) are
only plotted, and nobody prints numbers of VSR's answers by Qwen2-VL or What's Up's by LLaVA that could be found.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from equipoise.benchmarks.valse import SPLITS as VALSE
from equipoise.evaluation.averages import summarise
from equipoise.evaluation.metrics import METRICS
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.record import Summary
from equipoise.published.measuring import published_run
from equipoise.published.reading import read_any
from studies.harness import SHARED

PARTS = ("text", "image", "group")

WHERE = {
    "winoground, paper": "Thrush et al. 2022, Table 3; juletx/spatial-reasoning, winoground_statistics.ipynb",
    "winoground, juletx": "juletx/spatial-reasoning, winoground_statistics.ipynb",
    "winoground, ebug": "e-bug/fine-grained-evals, notebooks/Winoground.ipynb",
    "valse": "e-bug/fine-grained-evals, notebooks/VALSE.ipynb: 11 instruments, mean over items",
    "vsr, dev/test": "e-bug/fine-grained-evals, notebooks/VSR.ipynb: accuracy at 0.5",
    "sugarcrepe": "Theparia/Multilingual-VLM-Compositionality, output/sc/.../en",
    "sugarcrepe++, ITT and TOT": "Theparia/Multilingual-VLM-Compositionality, output/scpp/.../en",
    "gpt-4v, caption first / negative first": "RAIVNLab/sugar-crepe, gpt-4v-results/readme.md",
    "bivlc": "Miranda et al. 2024, the table of training strategies",
    "colorswap": "what Top34051/colorswap's vlm_eval.py prints",
}
WHY = {
    "colorswap llava": "two answers repeat an option with other articles; the authors' rule reads them as no answer",
}

WINOGROUND_PAPER = """vinvl 37.75 17.75 14.50|uniter_base 32.25 13.25 10.00|villa_large 37.00 13.25 11.00|
villa_base 30.00 12.00 8.00|visualbert 15.50 2.50 1.50|vilt 34.75 14.00 9.25|vilbert 23.75 7.25 4.75|
unit 19.50 6.25 4.00|flava_itm 32.25 20.50 14.25|flava_zero_shot 25.25 13.50 9.00|clip 30.75 10.50 8.00|
vse_coco_resnet_ft 22.75 8.00 4.00|vse_coco_vgg_ft 18.75 5.50 3.50|vse_f30k_resnet_ft 20.00 5.00 2.75|
vse_f30k_vgg_ft 19.75 6.25 4.50|vsrn_coco 17.50 7.00 3.75|vsrn_flickr 20.00 5.00 3.50"""
WINOGROUND_JULETX = """vilt 27.50 8.75 6.00|vilt_coco 32.75 13.50 11.25|vilt_flickr30k 35.00 11.50 9.75|
vilt_vsr_random 30.50 14.50 8.00|vilt_vsr_zeroshot 29.50 14.00 9.25|flava_itm 32.25 20.50 14.25|
clip_b32 30.75 10.25 8.25|clip_b16 25.00 10.25 7.00|clip_l14 28.50 11.00 8.00|clip_l14-336 27.50 12.00 8.00|
clip_b32_laion 35.00 11.50 8.25|clip_l14_laion 30.25 11.75 9.00|ofa_tiny 20.50 8.00 3.75|ofa_base 26.50 10.50 7.00|
ofa_medium 22.75 9.00 5.50|ofa_large 26.00 8.75 5.75|blip_itm_b16_14m 39.25 19.00 15.00|
blip_itc_b16_14m 32.25 13.75 10.50|blip_itm_b16 40.50 20.50 16.50|blip_itc_b16 29.75 14.50 9.50|
blip_itm_b16_capfilt 37.50 18.50 14.00|blip_itc_b16_capfilt 31.50 10.50 8.50|blip_itm_l16 42.50 18.25 15.50|
blip_itc_l16 33.25 12.00 9.00|blip_itm_b16_coco 48.00 24.50 20.00|blip_itc_b16_coco 37.75 15.75 12.75|
blip_itm_b16_flickr30k 46.25 24.25 21.25|blip_itc_b16_flickr30k 38.25 15.00 12.25|blip_itc_l16_coco 37.75 13.75 10.50|
blip_itm_l16_flickr30k 45.00 24.75 20.50|blip_itc_l16_flickr30k 36.00 16.25 13.50|blip_b16_nlvr2 40.25 25.00 18.50"""
WINOGROUND_EBUG = """albef_4m 29.25 15.50 11.00|albef_14m 32.75 16.50 12.50|blip_14m 36.50 18.50 14.50|
blip_129m 35.50 15.00 11.75|blip_capfiltl_129m 34.75 15.25 12.25|pevl_pretraining 33.25 15.75 12.25|
pevl_vrd 31.25 12.00 7.50|x-vlm_16m 46.75 24.50 21.25|clipcap_cc 12.25 14.75 5.50|clipcap_coco 13.50 14.00 5.50|
blip2_itm_pretrain 43.00 22.00 18.25"""
VALSE_EBUG = """albef_14m 69.5 76.0 61.5 61.0 64.5 70.7 77.6 60.5 55.9 61.5 96.1 69.4|
blip_129m 78.2 75.9 63.4 63.4 58.5 66.2 75.2 59.0 56.4 52.9 93.2 68.8|
blip_capfiltl_129m 75.4 75.0 64.7 68.8 53.0 66.7 73.0 60.6 48.2 51.0 93.8 68.2|
pevl_pretraining 89.7 65.5 66.0 66.2 57.3 67.9 73.5 59.4 58.2 56.7 90.9 68.9|
pevl_vrd 83.8 61.8 62.8 70.3 40.4 64.5 68.1 53.2 47.7 42.3 94.1 64.5|
x-vlm_16m 83.6 78.7 71.5 72.0 74.8 73.1 79.2 64.6 60.0 49.0 91.9 74.5|
clipcap_cc 66.3 54.8 49.4 50.1 51.5 83.2 75.5 87.9 45.1 45.2 94.7 65.7|
blip2_itm_pretrain 83.6 79.6 70.2 68.7 68.0 65.6 84.4 63.2 62.6 58.7 96.0 74.0"""
VSR_EBUG = """albef_14m 60.2 58.3|blip_14m 47.4 49.7|blip_129m 50.5 46.9|blip_capfiltl_129m 47.7 48.7|
pevl_pretraining 59.3 57.5|pevl_grounding 61.1 57.7|pevl_vrd 60.7 59.5|x-vlm_16m 67.9 64.3|
blip2_itm_pretrain 61.2 61.5"""
SPLITS = ("swap_obj", "swap_att", "replace_obj", "replace_att", "replace_rel", "add_obj", "add_att")
SUGARCREPE = "xlm-roberta-base-ViT-B-32 63.27 67.57 93.16 84.01 69.20 87.78 81.07"
ITT = "ITT 44.08 55.26 89.41 73.10 55.48"
TOT = "TOT 28.57 55.26 95.34 81.09 57.82"
GPT4V = """swap_att 91.14 89.04|add_att 87.28 96.24|add_obj 90.16 93.02|replace_att 93.15 93.91|
replace_obj 95.52 97.09|replace_rel 88.19 92.32"""
BIVLC = "ViT-B-32 75.83 52.40 49.06|CLIP_TROHN-Text 78.18 62.19 57.48|CLIP_TROHN-Img 88.54 71.84 69.25"
COLORSWAP = "llava 69.67 54.33 42.00|llavar 27.67 25.67 8.33"


class Number(NamedTuple):
    source: str  # of WHERE
    model: str
    printed: tuple[str, ...]
    ours: tuple[str, ...]

    @property
    def met(self) -> bool:
        return self.printed == self.ours

    @property
    def why(self) -> str:
        return "" if self.met else WHY.get(f"{self.source} {self.model}", "NOT EXPLAINED")


def _rows(text: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    for line in text.replace("\n", "").split("|"):
        model, *printed = line.split()
        yield model, tuple(printed)


def _digits(values: list[float | None], printed: tuple[str, ...]) -> tuple[str, ...]:
    places = [len(one.partition(".")[2]) for one in printed]
    return tuple(f"{100 * (value or 0):.{place}f}" for value, place in zip(values, places, strict=True))


def summary(bench: str, *paths: Path) -> Summary:
    """The shares as `equipoise metrics PATHS --bench BENCH` gives them, without intervals, which take most time."""
    return summarise(outcomes_of(read_any(paths, bench).rows), resamples=0, metrics=list(METRICS.values()))


def numbers(data: Path) -> Iterator[Number]:
    scores = data / "published_scores"

    def each(source: str, text: str, ask: Callable[[str], list[float | None]]) -> Iterator[Number]:
        for model, printed in _rows(text):
            yield Number(source, model, printed, _digits(ask(model), printed))

    def winoground(start: str) -> Callable[[str], list[float | None]]:
        def ask(model: str) -> list[float | None]:
            found = summary("winoground", scores / "winoground" / f"{start}{model}.jsonl.gz").overall
            return [found[part] for part in PARTS]

        return ask

    yield from each("winoground, paper", WINOGROUND_PAPER, winoground("juletx-baseline_scores-"))
    yield from each("winoground, juletx", WINOGROUND_JULETX, winoground("juletx-scores-"))
    yield from each("winoground, ebug", WINOGROUND_EBUG, winoground("ebug-"))

    def valse(model: str) -> list[float | None]:
        found = summary("valse", scores / "valse" / f"{model}.jsonl.gz")
        return [*(found.by["split"][split]["original"] for split in VALSE), found.overall["original"]]

    yield from each("valse", VALSE_EBUG, valse)

    def vsr(model: str) -> list[float | None]:
        files = (scores / "vsr" / f"{model}_{part}.jsonl.gz" for part in ("dev", "test"))
        return [summary("vsr", path).overall["original"] for path in files]

    yield from each("vsr, dev/test", VSR_EBUG, vsr)

    def sugarcrepe(model: str) -> list[float | None]:
        found = summary("sugarcrepe", scores / "sugarcrepe" / f"{model}.json.gz").by["split"]
        return [found[split]["original"] for split in SPLITS]

    yield from each("sugarcrepe", SUGARCREPE, sugarcrepe)
    path = scores / "sugarcrepe_pp" / "xlm-roberta-base-ViT-B-32.json.gz"

    def plus(metric: str) -> list[float | None]:
        if metric == "ITT":
            found = summary("sugarcrepe-pp", path).by["split"]
            return [found[split]["augmented"] for split in SPLITS[:5]]
        each_split = (published_run([path], "sugarcrepe-pp", splits=[split]).record for split in SPLITS[:5])
        return [one.metrics.overall["tot"] for one in each_split]

    yield from each("sugarcrepe++, ITT and TOT", f"{ITT}|{TOT}", plus)

    def gpt4v(split: str) -> list[float | None]:
        names = [f"{first}-first-gpt4v-{split}.json.gz" for first in ("positive", "negative")]
        return [summary("sugarcrepe", scores / "sugarcrepe_gpt4v" / name).overall["accuracy"] for name in names]

    yield from each("gpt-4v, caption first / negative first", GPT4V, gpt4v)

    def bivlc(model: str) -> list[float | None]:
        name = f"BiVLC_{model}.csv"
        path = data / "bivlc" / name if (data / "bivlc" / name).exists() else scores / "bivlc" / f"{name}.gz"
        found = summary("bivlc", path).overall
        return [found[part] for part in PARTS]

    yield from each("bivlc", BIVLC, bivlc)

    def colorswap(model: str) -> list[float | None]:
        files = [scores / "colorswap_vlm" / f"{side}-{model}-colorswap.json.gz" for side in ("text", "image")]
        found = published_run(files, "colorswap").record.metrics.overall
        return [found[f"{part}_score"] for part in PARTS]

    yield from each("colorswap", COLORSWAP, colorswap)


def siglip(data: Path) -> list[str]:
    """mteb's newest results against its history: the same numbers in two files."""
    from equipoise.published.aggregates import read_tables

    folder = data / "published_scores"
    newest = {(row.model, row.task): row.shares for row in read_tables([folder / "mieb.jsonl.gz"], None)}
    last = {(row.model, row.task): row for row in read_tables([folder / "mieb_siglip_history.csv"], None)}
    return [
        f"{model}, {task}: {name} {100 * share:.1f} in the history, {100 * newest[model, task][name]:.1f} in results"
        for (model, task), row in last.items()
        for name, share in row.shares.items()
        if (model, task) in newest and f"{100 * share:.1f}" != f"{100 * newest[model, task][name]:.1f}"
    ]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=SHARED, help="(default: %(default)s)")
    data = parser.parse_args().data
    if not (data / "published_scores").is_dir():
        parser.error(f"{data}: no folder published_scores in it")
    found = list(numbers(data))
    print("| source | model | printed | ours | |\n| --- | --- | --- | --- | --- |")
    for one in found:
        shown = "met" if one.met else one.why
        print(f"| {one.source} | {one.model} | {' / '.join(one.printed)} | {' / '.join(one.ours)} | {shown} |")
    for source, where in WHERE.items():
        print(f"\n{source}: {where}", end="")
    count, met = sum(len(one.printed) for one in found), sum(len(one.printed) for one in found if one.met)
    differ = siglip(data)
    print(f"\n\n{met:,} of {count:,} printed numbers are in a row that is met to the digit.", *differ, sep="\n")
    return int(any(one.why == "NOT EXPLAINED" for one in found))


if __name__ == "__main__":
    sys.exit(main())
