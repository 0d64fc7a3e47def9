"""Results of logs and of text-to-image scorers in which a model was asked twice; answers.py has the others.

Of several orders or angles the first is compared with each other one that is named here.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from equipoise.evaluation.answers import Answer
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.published.logs.groups import items_of
from equipoise.published.logs.reading import read_logs
from equipoise.published.reading import read_any
from studies.ledger.answers import Bench, Entry, Floats, Ledger
from studies.ledger.t2i import pairs

CHOSEN = "the right option is named"
JUDGES = {"BLIP": "blip1", "InstructBLIP": "instruct_blip", "LLaVA": "llava", "LLaVA, other prompt": "llava-alt"}


def read_all(shared: Path) -> Ledger:
    benches: dict[str, Bench] = {}
    entries: list[Entry] = []
    for bench, own_entries in (*_of_logs(shared), *_mirrored(shared), _winoground(shared), *_judges(shared)):
        benches[bench.name] = bench
        entries += own_entries
    return benches, entries


def _of_logs(shared: Path) -> Iterator[tuple[Bench, list[Entry]]]:
    logs = shared / "harness_logs"
    order = "the options moved on by one place"
    upload = logs / "llava/mmbench/answers_upload/mmbench_dev_20230712/llava-v1.5-13b.xlsx"
    yield _of_log("MMBench", "LLaVA-1.5-13B", "llava_logs", order, "order", [upload])
    vila = logs / "vlmevalkit/vila_8b/vila_8b_CCBench.xlsx"
    yield _of_log("CCBench", "VILA 8B", "vlmevalkit", order, "order", [vila])
    for angle in (90, 180, 270):
        files = [logs / f"vlmevalkit/gpt-4.1/gpt-4.1-2025-04-14_tdbench_rot{turn}.xlsx" for turn in (0, angle)]
        second = f"the photo turned by {angle} degrees"
        yield _of_log(f"TDBench, turned by {angle}°", "GPT-4.1", "tdbench", second, "picture", files)
    qwen = logs / "vlmevalkit/Qwen2.5-VL-7B-Instruct/Qwen2.5-VL-7B-Instruct_ScienceQA_TEST"
    files = [qwen.with_name(f"{qwen.name}{end}_openai_result.xlsx") for end in ("", "_QCME")]
    yield _of_log("ScienceQA", "Qwen2.5-VL-7B", "qwen_logs", "with the explanation in the prompt", "context", files)


def _of_log(
    name: str, model: str, source: str, second: str, variant: str, files: Sequence[Path]
) -> tuple[Bench, list[Entry]]:
    logs = read_logs(files)
    rows = items_of(logs[0][0]).rows if logs else []
    paired = [(row, _two(row.answers, variant)) for row in rows]
    kept = [(row, two) for row, two in paired if two is not None]
    right, again = (_array([bool(two[place].right) for _, two in kept]) for place in (0, 1))
    named = [(one.choice, other.choice) for _, (one, other) in kept]
    flips = _array([np.nan if None in two else two[0] != two[1] for two in named])
    texts = [
        f"{row.tags.get('question', row.id)}\nIt said {one.said!r}, then {other.said!r}." for row, (one, other) in kept
    ]
    cluster = [row.image or row.id for row, _ in kept]
    return Bench(name, CHOSEN, second, texts, cluster), [Entry(name, model, source, right, again, flips)]


def _two(answers: Sequence[Answer], variant: str) -> tuple[Answer, Answer] | None:
    """The first two answers that differ in the variant alone."""
    first = answers[0]
    second = next((answer for answer in answers if getattr(answer, variant) != getattr(first, variant)), None)
    return None if second is None else (first, second)


def _array(values: Sequence[float | bool]) -> Floats:
    return np.array(values, dtype=np.float64)


def _mirrored(shared: Path) -> Iterator[tuple[Bench, list[Entry]]]:
    """VSR's statements about the photo and about its mirror image, of relations that a mirror leaves as they are."""
    name, at = "VSR, photo mirrored", shared / "published_scores/vsr_vlm"
    entries, texts, photos = [], [], []
    for called, model in (("", "zero_shot"), (" + LoRA", "general_lora"), (" + hard-negative LoRA", "hardneg_lora")):
        on_photos, turned = (
            {row.id: row for row in read_any([at / file], "vsr").rows}
            for file in (f"full-{model}_normal.csv.gz", f"tierc_full-{model}_hflip_invariant.csv.gz")
        )
        ids = sorted(turned)
        (right, again), (said, said_again) = (
            [[getattr(rows[id_].answers[0], what) for id_ in ids] for rows in (on_photos, turned)]
            for what in ("right", "choice")
        )
        flips = [np.nan if None in pair else pair[0] != pair[1] for pair in zip(said, said_again, strict=True)]
        entries.append(Entry(name, f"Qwen2-VL-7B{called}", "qwen", _array(right), _array(again), _array(flips)))
        texts = [f"statement {id_} ({turned[id_].tags['relation']}; truth: {turned[id_].tags['label']})" for id_ in ids]
        photos = [turned[id_].image or id_ for id_ in ids]
    yield Bench(name, "True or False is answered rightly", "the photo mirrored", texts, photos), entries


def _winoground(shared: Path) -> tuple[Bench, list[Entry]]:
    at = shared / "harness_logs/gpt4v_repeats/Winoground"
    runs = [read_any([at / one / "score_results_log.json.gz"], "winoground").rows for one in ("VIEScore", "VIEScore-1")]
    ids = [row.id for row in runs[0] if row.id in {other.id for other in runs[1]}]
    right, again = (_text(rows, ids) for rows in runs)
    about = Bench(
        "Winoground, asked again", "text score: each photo scores higher with its own caption",
        "the same prompt again", ids, ids, "GPT-4V gives each photo and caption 1 to 10; a tie is wrong.",
    )  # fmt: skip
    return about, [Entry(about.name, "GPT-4V", "gpt4v_twice", right, again, (right != again).astype(np.float64))]


def _text(rows: Sequence[ItemScores], ids: Sequence[str]) -> Floats:
    won = dict(zip((row.id for row in rows), outcomes_of(rows).images.text, strict=True))
    return _array([won[id_] for id_ in ids])


def _judges(shared: Path) -> Iterator[tuple[Bench, list[Entry]]]:
    """Scorers of generated images: does the one with fewer errors score higher?"""
    rule = "of two images for a prompt, the one with fewer errors scores higher; a tie is wrong"
    note = "Two sets of questions are no pure rewording: they ask about other things too."
    models = {name: (f"{file}_dsg", f"{file}_tifa") for name, file in JUDGES.items()}
    yield _judged(shared, "T2I judges, DSG then TIFA", rule, "TIFA's questions in place of DSG's", models, note)
    for kind in ("dsg", "tifa"):
        names = {"LLaVA": (f"llava_{kind}", f"llava-alt_{kind}")}
        yield _judged(shared, f"T2I judges, {kind.upper()}", rule, "the same questions with another chat prompt", names)


def _judged(
    shared: Path, name: str, rule: str, second: str, models: dict[str, tuple[str, str]], note: str = ""
) -> tuple[Bench, list[Entry]]:
    by_model = {model: pairs(shared / "t2i_scores", *columns) for model, columns in models.items()}
    ids = sorted({id_ for rated in by_model.values() for id_ in rated.ids})
    place = {id_: number for number, id_ in enumerate(ids)}
    entries = []
    for model, rated in by_model.items():
        at = [place[id_] for id_ in rated.ids]
        right, again, flips = np.full((3, len(ids)), np.nan)
        for values, scores in ((right, rated.first), (again, rated.second)):
            values[at] = scores[:, 0] > scores[:, 1]
        flips[at] = right[at] != again[at]
        entries.append(Entry(name, model, "t2i", right, again, flips))
    texts = [id_.replace("/", ": ", 1).replace("/images/", " against images/") for id_ in ids]
    return Bench(name, rule, second, texts, [id_.partition("/")[0] for id_ in ids], note), entries
