"""Every published answer of a real model, as one table: benchmark, model, and for each item whether it was right.

Files are read by the readers of `equipoise metrics`, but for LLaVA's answers, of which two wordings are compared here,
and mteb's totals.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from equipoise.benchmarks import predicate_noun
from equipoise.data.items import Item
from equipoise.evaluation.answers import flips
from equipoise.evaluation.outcomes import outcomes_of
from equipoise.published.reading import read_any
from studies.harness import opened, read_lines, read_rows

Floats = np.ndarray[Any, np.dtype[np.float64]]
SOURCES = {  # repository, commit, licence
    "multilingual": ("Theparia/Multilingual-VLM-Compositionality", "d3101c1", "none stated"),
    "sugarcrepe": ("RAIVNLab/sugar-crepe", "0047054", "MIT"),
    "qwen": ("Khagendra01/vlm-spatial-reasoning", "d872aa2", "none stated"),
    "ebug": ("e-bug/fine-grained-evals", "6cc5fc1", "MIT"),
    "juletx": ("juletx/spatial-reasoning", "85f6c2a", "none stated"),
    "llava": ("IamAdamm/VLM-Prompt-Sensitivity-on-Spatial-Reasoning-Eval", "9ac586e", "none stated"),
    "bivlc": ("IMirandaM/BiVLC", "84f0d17", "MIT"),
    "nouns": ("mitjanikolaus/multimodal-predicate-noun-dependencies", "d2bb433", "none stated"),
    "llava_logs": ("haotian-liu/LLaVA", "32cebc38", "Apache-2.0"),
    "vlmevalkit": ("open-compass/VLMEvalKit", "c03bc048", "Apache-2.0"),
    "tdbench": ("timothycdc/VLMEvalKit", "2a1b2b5c", "Apache-2.0"),
    "qwen_logs": ("chengyuehuang511/VLMEvalKit", "HEAD", "Apache-2.0"),
    "gpt4v_twice": ("emilyjiayaoli/gpt4v-t2i-evals", "0fd5f988", "none stated"),
    "t2i": ("michaelsaxon/T2IScoreScore", "93ebf89", "MIT"),
    "mieb": ("embeddings-benchmark/tmp", "88c3fd0", "Apache-2.0"),
}
FAMILIES = (  # the first that a model's name holds
    ("TROHN", "CLIP, finetuned"), ("siglip", "SigLIP"), ("EVA", "EVA-CLIP"), ("VLM2Vec", "language model"),
    ("e5-v", "language model"), ("Qwen", "language model"), ("GPT", "language model"), ("LLaVA", "language model"),
    ("VILA", "language model"),
    ("flava", "FLAVA"), ("clipcap", "captioner"), ("clip", "CLIP"), ("blip", "BLIP"), ("albef", "ALBEF"),
    ("pevl", "ALBEF"), ("x-vlm", "ALBEF"), ("ofa", "OFA"), ("vil", "ViLT, ViLBERT, VILLA"), ("vs", "VSE, VSRN"),
)  # fmt: skip


@dataclass(frozen=True)
class Entry:
    """One model on one benchmark. Arrays have one value an item: 1 or 0, NaN where it was not asked."""

    benchmark: str
    model: str
    source: str
    right: Floats  # by the benchmark's own rule
    again: Floats | None = None  # the same, of the changed version alone: reworded, or in the other order
    flips: Floats | None = None  # right in one of them, or another option chosen
    more: dict[str, float] = field(default_factory=dict)  # other numbers, in percent
    aggregate: float | None = None  # only a share was published, no answers

    @property
    def both(self) -> Floats | None:
        return None if self.again is None else self.right * self.again

    @property
    def family(self) -> str:
        return next((name for part, name in FAMILIES if part.lower() in self.model.lower()), "other")


@dataclass(frozen=True)
class Bench:
    """The facts that all entries of a benchmark share."""

    name: str
    rule: str  # when an answer is right
    second: str  # the changed version; "" where there is none
    texts: list[str]  # of each item; its id where there are no texts
    cluster: list[str]  # its photo: items of one photo are not independent
    note: str = ""
    types: list[str] = field(default_factory=list)  # of each item, where the benchmark has types


Ledger = tuple[dict[str, Bench], list[Entry]]


def _array(values: Any) -> Floats:
    return np.array(list(values), dtype=np.float64)


@dataclass(frozen=True)
class Plan:
    """A benchmark whose files `equipoise metrics` reads: model and source of each group of files."""

    name: str
    bench: str  # in the registry
    rule: str
    second: str
    files: list[tuple[str, str, list[Path]]]
    note: str = ""
    group: bool = False  # right is the group score: both texts and both images


def plans(shared: Path) -> Iterator[Plan]:
    published = shared / "published_scores"
    xlm, clip, trohn = "open_clip XLM-R ViT-B/32", "CLIP ViT-B/32", "TROHN-Img"
    yield Plan(
        "SugarCrepe++",
        "sugarcrepe-pp",
        "the photo's caption scores higher than the hard negative",
        "a second, reworded caption",
        [(xlm, "multilingual", [published / "sugarcrepe_pp/xlm-roberta-base-ViT-B-32.json.gz"])],
    )
    yield Plan(
        "SugarCrepe",
        "sugarcrepe",
        "the photo's caption is chosen over the hard negative",
        "the hard negative is the first option, where it was the second",
        [
            (xlm, "multilingual", [published / "sugarcrepe/xlm-roberta-base-ViT-B-32.json.gz"]),
            (clip, "bivlc", [shared / "bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv"]),
            (trohn, "bivlc", [published / "bivlc/SUGARCREPE_CORRECT_CLIP_TROHN-Img.csv.gz"]),
            ("GPT-4V", "sugarcrepe", sorted((published / "sugarcrepe_gpt4v").iterdir())),
        ],
        "Only GPT-4V was asked in two orders, about six of the seven types.",
    )
    qwen = {"": "zero_shot", " + LoRA": "general_lora", " + hard-negative LoRA": "hardneg_lora"}
    for condition, name, second in (
        ("sorev", "VSR, symmetric", "the two nouns exchanged: A touches B, B touches A"),
        ("continv", "VSR, inverse", "the inverse relation: A is inside B, B contains A"),
    ):
        pairs = [(f"full-{name}_normal.csv.gz", f"tierb_full-{name}_{condition}.csv.gz") for name in qwen.values()]
        models = [f"Qwen2-VL-7B{model}" for model in qwen]
        files = [
            (model, "qwen", [published / "vsr_vlm" / file for file in pair])
            for model, pair in zip(models, pairs, strict=True)
        ]
        yield Plan(name, "vsr-pairs", "True or False is answered rightly", second, files)
    scores = shared / "predicate_noun" / "scores"
    yield Plan(
        "Predicate-noun",
        "predicate-noun",
        "the true sentence scores higher than the false one",
        "both sentences with another article and tense",
        [
            (model, "nouns", [scores / f"{model.lower()}{end}.csv" for end in ("", "_alt_sentences")])
            for model in ("CLIP", "LXMERT", "ViLBERT", "ViLT")
        ],
        "Chance is 50 %: changes of a model near it say little.",
    )
    yield Plan(
        "BiVLC",
        "bivlc",
        "group score: both captions and both pictures are matched",
        "",
        [
            (clip, "bivlc", [shared / "bivlc/BiVLC_ViT-B-32.csv"]),
            ("TROHN-Text", "bivlc", [shared / "bivlc/BiVLC_CLIP_TROHN-Text.csv"]),
            (trohn, "bivlc", [published / "bivlc/BiVLC_CLIP_TROHN-Img.csv.gz"]),
        ],
        group=True,
    )
    yield Plan(
        "VALSE",
        "valse",
        "the caption scores higher than the foil; all pairs count alike",
        "",
        [(stem(path), "ebug", [path]) for path in sorted((published / "valse").iterdir())],
    )
    yield Plan(
        "Winoground",
        "winoground",
        "group score: both captions and both photos are matched",
        "",
        [
            (stem(path).partition("-")[2].replace("scores-", "").replace("baseline_", "paper: "), source, [path])
            for path in sorted((published / "winoground").iterdir())
            for source in [path.name.partition("-")[0]]
        ],
        "Its texts and photos may not be redistributed. “paper:” marks the scores that its authors published.",
        group=True,
    )
    older = sorted((published / "vsr").glob("*_test.jsonl.gz"))
    rule = "the statement's score is above 0.5 exactly if it is true"
    yield Plan("VSR", "vsr", rule, "", [(path.name.removesuffix("_test.jsonl.gz"), "ebug", [path]) for path in older])


def stem(path: Path) -> str:
    return path.name.removesuffix(".gz").removesuffix(".jsonl")


def carried_out(plan: Plan, shared: Path) -> Ledger:
    """The files of a plan, each read and laid over the same items."""
    columns: list[tuple[str, str, list[str], dict[str, Floats]]] = []
    items: dict[str, Item] = {}
    photos: dict[str, str] = {}
    extra: list[dict[str, float]] = []
    if plan.bench == "predicate-noun":
        items = {item.id: item for item in predicate_noun.load(shared / "predicate_noun", [])}
    for model, source, paths in plan.files:
        foreign = read_any(paths, plan.bench)
        rows, second = foreign.rows, []
        if plan.bench == "predicate-noun":  # its second wording has a wrong sentence of its own
            rows, second = ([row for row in foreign.rows if row.tags["split"] == split] for split in ("first", "alt"))
        outcomes = outcomes_of(rows)
        arrays: dict[str, Any] = {"right": outcomes.original}
        extra.append({})
        if plan.group:
            arrays = {"right": outcomes.images.group}
            extra[-1] = {side: 100 * float(getattr(outcomes.images, side).mean()) for side in ("text", "image")}
        elif second:
            also = outcomes_of(second).original
            arrays |= {"again": also, "flips": outcomes.original ^ also}
        elif outcomes.has_positive.any():
            again = [min(row.positives) > max(row.negatives) for row in rows]
            arrays |= {"again": again, "flips": outcomes.brittle}
        elif rows[0].answers:  # in two orders of the options
            for name, order in (("right", "caption first"), ("again", "negative first")):
                arrays[name] = [answer.right for row in rows for answer in row.answers if answer.order == order]
            arrays["flips"] = outcomes.of_answers(lambda answers: flips(answers, "order"))
        ids, images = outcomes.rows.ids, outcomes.rows.images
        items |= {item.id: item for item in foreign.items}
        for id_, own in zip(ids, images, strict=True):
            image = items[id_].image if id_ in items else None
            photos.setdefault(id_, image.path if image else own or id_)
        columns.append((model, source, ids, {name: _array(values) for name, values in arrays.items()}))
    place = {id_: number for number, id_ in enumerate(photos)}
    entries = []
    for (model, source, ids, arrays), numbers in zip(columns, extra, strict=True):
        laid = {}
        for name, values in arrays.items():
            laid[name] = np.full(len(place), np.nan)
            laid[name][[place[id_] for id_ in ids]] = values
        answered = laid["right"], laid.get("again"), laid.get("flips")
        entries.append(Entry(plan.name, model, source, *answered, more=numbers))
    said = statements(plan.files[0][2][-1]) if plan.bench == "vsr-pairs" else {}
    if plan.bench == "vsr":
        said = {row.id: f"{row.id} about “{row.tags['relation']}” (truth: {row.tags['label']})" for row in rows}
    texts = [words(items[id_]) if id_ in items else said.get(id_, id_) for id_ in place]
    types = [type_of(items[id_]) if id_ in items else "" for id_ in place]
    about = Bench(plan.name, plan.rule, plan.second, texts, list(photos.values()), plan.note, types)
    return {plan.name: about}, entries


def type_of(item: Item) -> str:
    """SugarCrepe's names, written out: swap_att is "swap attribute"."""
    name = item.tags.get("subtype", item.tags["split"])
    whole = {"att": "attribute", "obj": "object", "rel": "relation"}
    return " ".join(whole.get(part, part) for part in name.split("_")) if "_" in name else ""


def words(item: Item) -> str:
    lines = [("✓", item.caption), *(("✓ reworded:", wording.text) for wording in item.positives)]
    lines += [("✗", wording.text) for wording in item.negatives]
    return "\n".join(f"{mark} {' '.join(text.split())}" for mark, text in lines)


def statements(path: Path) -> dict[str, str]:
    """Both wordings of VSR's statements with their truth, by the ids of the reader."""
    return {
        f"{row['example_id']}/{row['condition']}": f"{row['original_statement']} (truth: {row['ground_truth']})\n"
        f"reworded: {row['statement']} (truth: {row['expected_transformed_label']})"
        for row in read_rows(path)
    }


# ---------------------------------------------------------------------------- files that are read here


def whatsup(shared: Path) -> Ledger:
    with opened(shared / "published_scores/whatsup_llava/wordings.json.gz") as handle:
        rows = json.load(handle)
    prompts = {label: {row["image"]: row for row in rows if row["prompt_label"] == label} for label in
             ("Multiple Choice", "Multiple Choice Vary Above")}  # fmt: skip
    truth = {"Left": "A", "Right": "B", "On top": "C", "Under": "D"}
    photos = list(prompts["Multiple Choice"])
    said = [[by_photo[photo]["answer"].strip()[:1] for photo in photos] for by_photo in prompts.values()]
    right, again = (
        _array(a == truth[prompts["Multiple Choice"][p]["ground_truth"]] for a, p in zip(row, photos, strict=True))
        for row in said
    )
    flips = _array(a != b for a, b in zip(*said, strict=True))
    option = {letter: name for name, letter in truth.items()}
    texts = [
        f"{photo} (truth: {prompts['Multiple Choice'][photo]['ground_truth']})\nIt answered “{option.get(a, a)}” when "
        f"the options held “On top”, “{'Above' if b == 'C' else option.get(b, b)}” when they held “Above” instead."
        for photo, a, b in zip(photos, *said, strict=True)
    ]
    about = Bench(
        "What's Up", "the right one of four options is named", "“Above” in place of the option “On top”", texts, photos
    )
    return {about.name: about}, [Entry(about.name, "LLaVA", "llava", right, again, flips)]


def mieb(shared: Path) -> Ledger:
    """Shares of 40 models on six tasks; nobody published their answers."""
    benches, entries = {}, []
    for row in read_lines(shared / "published_scores/mieb.jsonl.gz"):
        name = f"{row['task']} (mteb)"
        note = "mteb published totals without answers, so models are not compared here."
        rule = "group score" if row["task"] == "Winoground" else "the caption scores higher than every wrong one"
        benches[name] = Bench(name, rule, "", [], [], note)
        value = row["result"]["scores"]["test"][0]["main_score"]
        entries.append(Entry(name, row["model"], "mieb", np.zeros(0), aggregate=100 * value))
    return benches, entries


def read_all(shared: Path, only_twice: bool = False) -> Ledger:
    """With `only_twice`, the benchmarks that ask in two ways: a fraction of the files."""
    benches: dict[str, Bench] = {}
    entries: list[Entry] = []
    ledgers = [carried_out(plan, shared) for plan in plans(shared) if plan.second or not only_twice]
    for own, added in (*ledgers[:4], whatsup(shared), *ledgers[4:], *([] if only_twice else [mieb(shared)])):
        benches |= own
        entries += added
    return benches, entries
