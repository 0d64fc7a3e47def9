"""Prints the numbers of published logs and of text-to-image scorers next to those that their notes state.

python -m studies.ledger.logs [--shared DATA]

Exit code 1 where a number differs that no reason is given for.
"""

from __future__ import annotations

import csv
import gzip
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import replace
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

from equipoise.evaluation.comparing.same_model import same_model
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ImageScores, ItemScores
from equipoise.published.logs import vlmevalkit
from equipoise.published.logs.reading import read_logs
from equipoise.published.logs.said import Log
from equipoise.published.measuring import log_runs, published_run
from studies.harness.inputs import arguments

STATED = {
    "blip1": (81.1, 80.9, 74.2, 13.7),
    "instruct_blip": (81.4, 81.3, 73.7, 15.4),
    "llava": (78.0, 82.5, 71.1, 18.2),
}
OTHERS = {"clipscore": (87.8, 1.4), "alignscore": (88.5, 1.2), "viescore": (51.9, 34.3)}  # docs/appendix/t2i.md


class Number(NamedTuple):
    source: str
    what: str
    stated: float
    found: float
    why: str = ""  # the two differ

    @property
    def same(self) -> bool:
        digits = len(str(self.stated).partition(".")[2])
        return abs(round(self.found, digits) - self.stated) < 1e-9


def log_of(*paths: Path) -> Log:
    found = read_logs(list(paths))
    assert found is not None
    ((log,), _) = found
    return log


def numbers(*paths: Path) -> tuple[Any, Log]:
    log = log_of(*paths)
    return log_runs([log])[0].record.metrics.overall, log


def logs(at: Path) -> Iterator[Number]:
    """In the order of the notes."""
    upload = at / "llava/mmbench/answers_upload/mmbench_dev_20230712/llava-v1.5-13b.xlsx"
    found, log = numbers(upload)
    yield Number("LLaVA-1.5-13B, MMBench", "plain accuracy", 75.4, log.scores["the first rotation"])
    yield Number("LLaVA-1.5-13B, MMBench", "right in all rotations", 67.7, 100 * found["right_every_time"])
    yield Number("LLaVA-1.5-13B, MMBench", "the text changes", 19.9, 100 * found["order_flips"])
    vila = at / "vlmevalkit/vila_8b"
    found, log = numbers(vila / "vila_8b_HallusionBench.xlsx", vila / "vila_8b_HallusionBench_auxmatch.xlsx")
    for name, stated in (("aAcc", 52.26), ("fAcc", 22.25), ("qAcc", 20.66)):
        yield Number("VILA 8B, HallusionBench", name, stated, log.scores[name])
    yield Number("VILA 8B, HallusionBench", "questions with other truths", 343, found.count("constant_answers"))
    yield Number("VILA 8B, HallusionBench", "the answer never changes", 81.6, 100 * found["constant_answers"])
    found, log = numbers(vila / "vila_8b_POPE.xlsx", vila / "vila_8b_POPE_auxmatch.xlsx")
    yield Number("VILA 8B, POPE", "as the harness prints", 85.03, log.scores["acc"])
    yield Number("VILA 8B, POPE", "plain rows", 89.25, 100 * found["accuracy"])
    yield from _ccbench(vila / "vila_8b_CCBench.xlsx")
    turned = [at / f"vlmevalkit/gpt-4.1/gpt-4.1-2025-04-14_tdbench_rot{angle}.xlsx" for angle in (0, 90, 180, 270)]
    found, _ = numbers(*turned)
    yield Number("GPT-4.1, TDBench", "items at all angles", 1152, found.n)
    yield Number("GPT-4.1, TDBench", "the choice changes", 28.9, 100 * found["picture_flips"])
    yield Number("GPT-4.1, TDBench", "right at 0 degrees", 75.0, 100 * found["original"])
    yield Number("GPT-4.1, TDBench", "right at all four", 61.1, 100 * found["right_every_time"])
    yield from _winoground(at / "gpt4v_repeats/Winoground")
    questions = at / "llava/vsr/VSR_test_TF.json.gz"
    for size, stated in (("7b", 51.5), ("13b", 72.0)):
        path = at / f"llava/vsr/llava-v1.5-{size}/zeroshot_predictions.jsonl.gz"
        found, log = numbers(path, questions)
        yield Number(f"LLaVA-1.5-{size}, VSR", "accuracy", stated, 100 * found["accuracy"])
        if size == "7b":
            said = sum(row.said == "True" for row in log.rows)
            yield Number(f"LLaVA-1.5-{size}, VSR", "times True", 1222, said)
    qwen = at / "vlmevalkit/Qwen2.5-VL-7B-Instruct"
    name = "Qwen2.5-VL-7B-Instruct_ScienceQA_TEST"
    plain, _ = numbers(qwen / f"{name}_openai_result.xlsx")
    more, _ = numbers(qwen / f"{name}_QCME_openai_result.xlsx")
    both, _ = numbers(qwen / f"{name}_openai_result.xlsx", qwen / f"{name}_QCME_openai_result.xlsx")
    yield Number("Qwen2.5-VL-7B, ScienceQA", "plain", 88.9, 100 * plain["accuracy"])
    yield Number("Qwen2.5-VL-7B, ScienceQA", "with the explanation", 96.5, 100 * more["accuracy"])
    yield Number("Qwen2.5-VL-7B, ScienceQA", "hits differ", 8.3, 100 * both["context_flips"])


def _ccbench(path: Path) -> Iterator[Number]:
    """The notes leave out 7 of 510 questions, where an answer does not begin with a letter; we read names too."""
    found, log = numbers(path)
    why = "of all 510 questions; below of the 503 whose every answer begins with a letter"
    yield Number("VILA 8B, CCBench", "the text changes", 50.1, 100 * found["order_flips"], why)
    yield Number("VILA 8B, CCBench", "plain", 49.3, log.scores["the first rotation"], why)
    yield Number("VILA 8B, CCBench", "all rotations", 33.6, 100 * found["right_every_time"], why)
    yield Number("VILA 8B, CCBench", "the harness prints", 33.9, log.printed["Overall"])
    letters = [(row, re.match(r"[A-D](?![A-Za-z])", row.said)) for row in log.rows]
    without = {row.key for row, letter in letters if letter is None}
    log.rows = [replace(row, said=letter[0]) for row, letter in letters if letter and row.key not in without]
    found, first = log_runs([log])[0].record.metrics.overall, vlmevalkit.scores(log)["the first rotation"]
    yield Number("VILA 8B, CCBench, of 503", "questions", 503, found.n)
    yield Number("VILA 8B, CCBench, of 503", "the text changes", 50.1, 100 * (found["order_flips"] or 0))
    yield Number("VILA 8B, CCBench, of 503", "plain", 49.3, first)
    yield Number("VILA 8B, CCBench, of 503", "all rotations", 33.6, 100 * (found["right_every_time"] or 0))


def _winoground(at: Path) -> Iterator[Number]:
    runs = [
        published_run([at / name / "score_results_log.json.gz"], "winoground") for name in ("VIEScore", "VIEScore-1")
    ]
    found = same_model(runs[0].rows, runs[1].rows)
    apart = found.where["scores apart, in tenths of the largest"]
    yield Number("GPT-4V twice, Winoground", "scores", 904, found.pairs)
    yield Number("GPT-4V twice, Winoground", "identical", 51.4, 100 * (1 - found.changed))
    yield Number("GPT-4V twice, Winoground", "2 or more of 10 apart", 24.0, 100 * apart["2 or more"][1])
    yield Number("GPT-4V twice, Winoground", "r", 0.844, found.correlation or 0)
    whole = runs[0].record.metrics.overall
    for name, stated in (("text", 40.9), ("image", 39.3), ("group", 34.6)):
        yield Number("GPT-4V, Winoground", name, stated, 100 * (whole[name] or 0))
    tied = sum(any(one.caption == one.negatives[0] for one in row.images()) for row in runs[0].rows)
    yield Number("GPT-4V, Winoground", "a tie of the texts of an image", 40.1, 100 * tied / len(runs[0].rows))


def scorers(at: Path) -> Iterator[Number]:
    """Does the image with fewer errors score higher, by two sets of questions? An item is a pair of images of a prompt;
    the other set stands as a positive, which is no pure rewording: it asks other things."""
    for name, stated in (("dsg", (9.2, 17114)), ("tifa", (10.2, 21466))):
        first, second = (list(_table(at / f"{model}_{name}.csv.gz")) for model in ("llava", "llava-alt"))
        changed = sum(one["correct"] != other["correct"] for one, other in zip(first, second, strict=True))
        yield Number("LLaVA, two chat prompts", f"{name} answers", stated[1], len(first))
        yield Number("LLaVA, two chat prompts", f"{name} changes", stated[0], 100 * changed / len(first))
    for model, values in STATED.items():
        dsg, tifa = pairs(at, f"{model}_dsg", f"{model}_tifa"), pairs(at, f"{model}_tifa", f"{model}_dsg")
        by = [outcomes_of(rows).images for rows in (dsg, tifa)]
        changes = 100 * float((by[0].original != by[1].original).mean())
        found = (*(100 * float(one.original.mean()) for one in by), 100 * float(by[0].augmented.mean()), changes)
        for what, number, value in zip(("by DSG", "by TIFA", "by both", "changes"), values, found, strict=True):
            yield Number(f"{model}, {len(dsg):,} pairs of images", what, number, value)

    for scorer, (right, ties) in OTHERS.items():
        scores = [(row.caption, row.negative_images[0].caption) for row in pairs(at, scorer, scorer)]
        won, tied = (100 * sum(one) / len(scores) for one in ([a > b for a, b in scores], [a == b for a, b in scores]))
        yield Number(f"{scorer}, {len(scores):,} pairs of images", "right", right, won)
        yield Number(f"{scorer}, {len(scores):,} pairs of images", "ties", ties, tied)


def pairs(at: Path, first: str, second: str) -> list[ItemScores]:
    by_prompt: dict[str, list[tuple[int, dict[str, str]]]] = defaultdict(list)
    for about, scores in zip(_table(at / "metadata.csv"), _table(at / "scores_per_image.csv"), strict=True):
        errors = re.match(r"\d+", about["rank"])
        if errors and scores[first] and scores[second]:
            by_prompt[about["id"]].append((int(errors[0]), scores | {"image": about["file_name"]}))
    rows = []
    for prompt, images in by_prompt.items():
        for one, other in combinations(images, 2):
            if one[0] != other[0]:
                (_, good), (_, bad) = sorted((one, other), key=lambda image: image[0])
                wrong = ImageScores(image=bad["image"], caption=float(bad[first]), positives=[float(bad[second])])
                id_, own = f"{prompt}/{good['image']}/{bad['image']}", [float(good[second])]
                image = good["image"]
                rows.append(
                    ItemScores(id=id_, image=image, caption=float(good[first]), positives=own, negative_images=(wrong,))
                )
    return rows


def _table(path: Path) -> Iterator[dict[str, str]]:
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as handle:
        yield from csv.DictReader(handle)


def main() -> int:
    data = arguments(__doc__, "harness_logs", "t2i_scores").parse_args().shared
    wrong = 0
    print("| source | number | stated | found | |\n| --- | --- | --- | --- | --- |")
    for one in (*logs(data / "harness_logs"), *scorers(data / "t2i_scores")):
        wrong += not one.same and not one.why
        remark = "" if one.same else one.why or "differs"
        print(f"| {one.source} | {one.what} | {one.stated:g} | {one.found:.2f} | {remark} |")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
