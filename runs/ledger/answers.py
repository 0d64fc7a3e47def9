"""Every published answer of a real model, as one table: benchmark, model, and for each item whether it was right.

Nothing is scored here: the files hold scores or answers, and a rule of one line says which answers are right.
"""

from __future__ import annotations

import csv
import gzip
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from courts import opened, result_sets

Floats = np.ndarray[Any, np.dtype[np.float64]]
E_BUG = ("e-bug/fine-grained-evals", "6cc5fc1", "MIT")
SOURCES = {  # repository, commit, licence
    "multilingual": ("Theparia/Multilingual-VLM-Compositionality", "d3101c1", "none stated"),
    "sugarcrepe": ("RAIVNLab/sugar-crepe", "0047054", "MIT"),
    "qwen": ("Khagendra01/vlm-spatial-reasoning", "d872aa2", "none stated"),
    "ebug": E_BUG,
    "juletx": ("juletx/spatial-reasoning", "85f6c2a", "none stated"),
    "llava": ("IamAdamm/VLM-Prompt-Sensitivity-on-Spatial-Reasoning-Eval", "9ac586e", "none stated"),
    "bivlc": ("IMirandaM/BiVLC", "84f0d17", "MIT"),
    "nouns": ("mitjanikolaus/multimodal-predicate-noun-dependencies", "", "none stated"),
    "mieb": ("embeddings-benchmark/tmp", "88c3fd0", "Apache-2.0"),
}
FAMILIES = (  # the first that a model's name holds
    ("TROHN", "CLIP, finetuned"), ("siglip", "SigLIP"), ("EVA", "EVA-CLIP"), ("VLM2Vec", "language model"),
    ("e5-v", "language model"), ("Qwen", "language model"), ("GPT", "language model"), ("LLaVA", "language model"),
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
    both: Floats | None = None  # right in both wordings or orders
    flips: Floats | None = None  # right in one of them, or another option chosen
    more: dict[str, float] = field(default_factory=dict)  # other numbers, in percent
    aggregate: float | None = None  # only a share was published, no answers

    @property
    def family(self) -> str:
        return next((name for part, name in FAMILIES if part.lower() in self.model.lower()), "other")


@dataclass(frozen=True)
class Bench:
    """What the entries of a benchmark share."""

    name: str
    rule: str  # when an answer is right
    second: str  # what `both` and `flips` are about; "" where there are none
    texts: list[str]  # of each item; its id where there are no texts
    cluster: list[str]  # its photo: items of one photo are not independent
    note: str = ""
    ids: list[str] = field(default_factory=list)


Ledger = tuple[dict[str, Bench], list[Entry]]


def _array(values: Any) -> Floats:
    return np.array(list(values), dtype=np.float64)


def _two(first: Floats, second: Floats) -> dict[str, Floats]:
    return {"right": first, "both": first * second, "flips": np.abs(first - second)}


def sugarcrepe_pp(shared: Path) -> Ledger:
    with opened(shared / "published_scores/sugarcrepe_pp/xlm-roberta-base-ViT-B-32.json.gz") as handle:
        rows = [row for subset in json.load(handle)["subsets"].values() for row in subset.values()]
    first, second = (_array(row[f"image_{side}"] - row["image_neg"] for row in rows) for side in ("p1", "p2"))
    found = _two(_array(first > 0), _array(second > 0)) | {"flips": _array(first * second < 0)}  # a tie is no flip
    texts = [f"✓ {row['caption']}\n✓ {row['caption2']}\n✗ {row['negative_caption']}" for row in rows]
    rule = "the photo's caption scores higher than the hard negative"
    about = Bench("SugarCrepe++", rule, "a second, reworded caption", texts, [row["filename"] for row in rows])
    return {about.name: about}, [Entry(about.name, "open_clip XLM-R ViT-B/32", "multilingual", **found)]


def sugarcrepe(shared: Path) -> Ledger:
    outcomes, items = result_sets(shared)
    columns = {name: _array(one.get(id_, np.nan) for id_ in items) for name, one in outcomes.items()}
    texts = [f"✓ {one['caption']}\n✗ {one['negative_caption']}" for one in items.values()]
    about = Bench(
        "SugarCrepe",
        "the photo's caption is chosen over the hard negative",
        "the options in the other order; refusals are no flips",
        texts,
        [one["filename"] for one in items.values()],
        "GPT-4V was asked six of the seven types.",
        list(items),
    )
    first, second = (columns[f"GPT-4V, {order} first"] for order in ("positive", "negative"))
    turned = np.where(answered(shared, list(items.values())), np.abs(first - second), np.nan)
    entries = [Entry(about.name, "GPT-4V", "sugarcrepe", first, first * second, turned)]
    for name, source in (
        ("open_clip XLM-R ViT-B/32", "multilingual"),
        ("CLIP ViT-B/32", "bivlc"),
        ("TROHN-Img", "bivlc"),
    ):
        entries.append(Entry(about.name, name, source, columns[name]))
    return {about.name: about}, entries


def answered(shared: Path, items: list[dict[str, Any]]) -> Floats:
    """Whether GPT-4V named one of the two captions in both orders."""
    refused = set()
    for path in sorted((shared / "published_scores" / "sugarcrepe_gpt4v").iterdir()):
        split = re.sub(r".*gpt4v-|\.json\.gz", "", path.name)
        with opened(path) as handle:
            for row in json.load(handle).values():
                if not row["answer"]["multiple_choice_answer"]:
                    refused.add((split, row["filename"], row["caption"], row["negative_caption"]))
    return np.array(
        [(one["split"], one["filename"], one["caption"], one["negative_caption"]) not in refused for one in items]
    )


def bivlc(shared: Path) -> Ledger:
    about, entries = None, []
    for model, path in (
        ("CLIP ViT-B/32", "bivlc/BiVLC_ViT-B-32.csv"),
        ("TROHN-Text", "bivlc/BiVLC_CLIP_TROHN-Text.csv"),
        ("TROHN-Img", "published_scores/bivlc/BiVLC_CLIP_TROHN-Img.csv.gz"),
    ):
        with opened(shared / path) as handle:
            rows = list(csv.DictReader(handle))
        wins = {part: _array(row[f"{part}_score"] == "True" for row in rows) for part in ("text", "image", "group")}
        more = {part: 100 * float(wins[part].mean()) for part in ("text", "image")}
        entries.append(Entry("BiVLC", model, "bivlc", wins["group"], more=more))
        texts = [f"✓ {row['caption']}\n✗ {row['negative_caption']}" for row in rows]
        rule = "group score: both captions and both pictures are matched"
        about = Bench("BiVLC", rule, "", texts, [str(place) for place in range(len(rows))])
    assert about is not None
    return {about.name: about}, entries


def winoground(shared: Path) -> Ledger:
    entries = []
    for path in sorted((shared / "published_scores/winoground").iterdir()):
        score = {row["label"]: row["score"] for row in lines(path)}
        four = np.array([[[score[f"{k}_c{c}_i{i}"] for i in (0, 1)] for c in (0, 1)] for k in range(400)])
        text = (four[:, 0, 0] > four[:, 1, 0]) & (four[:, 1, 1] > four[:, 0, 1])
        image = (four[:, 0, 0] > four[:, 0, 1]) & (four[:, 1, 1] > four[:, 1, 0])
        source, _, name = path.name.removesuffix(".jsonl.gz").partition("-")
        again = " (paper's scores)" if name.startswith("baseline") else ""
        name = re.sub(r"^(baseline_)?scores-", "", name) + again
        more = {"text": 100 * text.mean(), "image": 100 * image.mean()}
        entries.append(Entry("Winoground", name, source, _array(text & image), more=more))
    texts = [f"Winoground example {k} (texts and photos may not be redistributed)" for k in range(400)]
    rule = "group score: both captions and both photos are matched"
    return {"Winoground": Bench("Winoground", rule, "", texts, list(map(str, range(400))))}, entries


def valse(shared: Path) -> Ledger:
    entries, keys = [], []
    for path in sorted((shared / "published_scores/valse").iterdir()):
        score = {(row["instrument"], row["label"][:-2], row["label"][-1]): row["score"] for row in lines(path)}
        keys = sorted({key[:2] for key in score})
        right = _array(score[*key, "c"] > score[*key, "f"] for key in keys)
        entries.append(Entry("VALSE", path.name.removesuffix(".jsonl.gz"), "ebug", right))
    texts = [f"{instrument}, item {number}" for instrument, number in keys]
    rule = "the caption scores higher than the foil; all pairs count alike"
    return {"VALSE": Bench("VALSE", rule, "", texts, [" ".join(key) for key in keys])}, entries


def vsr(shared: Path) -> Ledger:
    """The older test of 2,024 statements: a score above one half says True."""
    entries, texts = [], []
    for path in sorted((shared / "published_scores/vsr").glob("*_test.jsonl.gz")):
        rows = list(lines(path))
        right = _array((row["score"] > 0.5) == (row["label"] == 1) for row in rows)
        texts = [f"statement {row['id']}: {row['relation']} is {row['label'] == 1}" for row in rows]
        entries.append(Entry("VSR", path.name.removesuffix("_test.jsonl.gz"), "ebug", right))
    rule = "the statement's score is above 0.5 exactly if it is true"
    return {"VSR": Bench("VSR", rule, "", texts, list(map(str, range(len(texts)))))}, entries


WORDINGS = {  # condition of the files: benchmark, what is reworded
    "sorev": ("VSR, symmetric", "the two nouns exchanged: A touches B, B touches A"),
    "continv": ("VSR, inverse", "the inverse relation: A is inside B, B contains A"),
}


def vsr_pairs(shared: Path) -> Ledger:
    folder, benches, entries = shared / "published_scores/vsr_vlm", {}, []
    for condition, (name, about) in WORDINGS.items():
        for model, file in (("", "zero_shot"), (" + LoRA", "general_lora"), (" + hard-negative LoRA", "hardneg_lora")):
            before = {row["example_id"]: row for row in table(folder / f"full-{file}_normal.csv.gz")}
            rows = list(table(folder / f"tierb_full-{file}_{condition}.csv.gz"))
            first = _array(
                before[row["example_id"]]["prediction"] == before[row["example_id"]]["ground_truth"] for row in rows
            )
            second = _array(row["prediction"] == row["expected_transformed_label"] for row in rows)
            entries.append(Entry(name, f"Qwen2-VL-7B{model}", "qwen", **_two(first, second)))
            texts = [
                "\n".join(f"{row[truth]}: {row[text]}" for truth, text in
                          (("ground_truth", "original_statement"), ("expected_transformed_label", "statement")))
                for row in rows
            ]  # fmt: skip
            photos = [row["source_image_id"] for row in rows]
        benches[name] = Bench(name, "True or False is answered rightly", about, texts, photos)
    return benches, entries


def whatsup(shared: Path) -> Ledger:
    with opened(shared / "published_scores/whatsup_llava/wordings.json.gz") as handle:
        rows = json.load(handle)
    asked = {label: {row["image"]: row for row in rows if row["prompt_label"] == label} for label in
             ("Multiple Choice", "Multiple Choice Vary Above")}  # fmt: skip
    truth = {"Left": "A", "Right": "B", "On top": "C", "Under": "D"}
    photos = list(asked["Multiple Choice"])
    said = [[one[photo]["answer"].strip()[:1] for photo in photos] for one in asked.values()]
    right = [
        _array(a == truth[asked["Multiple Choice"][p]["ground_truth"]] for a, p in zip(one, photos, strict=True))
        for one in said
    ]
    flips = _array(a != b for a, b in zip(*said, strict=True))
    texts = [f"{photo}: {a} with “On top”, {b} with “Above”" for photo, a, b in zip(photos, *said, strict=True)]
    about = Bench(
        "What's Up", "the right one of four options is named", "“Above” in place of the option “On top”", texts, photos
    )
    more = {"accuracy with “Above”": 100 * float(right[1].mean())}
    entry = Entry(about.name, "LLaVA", "llava", right[0], right[0] * right[1], flips, more)
    return {about.name: about}, [entry]


def nouns(shared: Path) -> Ledger:
    folder, entries = shared / "predicate_noun", []
    items = json.loads((folder / "eval_set.json").read_text(encoding="utf-8"))
    for model in ("CLIP", "LXMERT", "ViLBERT", "ViLT"):
        first, second = (
            {row["id"]: float(row["prob_target_match"]) > float(row["prob_distractor_match"]) for row in table(path)}
            for path in (folder / "scores" / f"{model.lower()}{end}.csv" for end in ("", "_alt_sentences"))
        )
        ids = sorted(first, key=int)
        entries.append(
            Entry(
                "Predicate-noun", model, "nouns", **_two(_array(first[i] for i in ids), _array(second[i] for i in ids))
            )
        )
    texts = [f"✓ {one['sentence_target']}\n✗ {one['sentence_distractor']}" for one in items]
    rule = "the true sentence scores higher than the false one"
    about = Bench(
        "Predicate-noun",
        rule,
        "both sentences with another article and tense",
        texts,
        [one["img_filename"] for one in items],
    )
    return {about.name: about}, entries


def mieb(shared: Path) -> Ledger:
    """Shares of 40 models on six tasks; nobody published their answers."""
    benches, entries = {}, []
    for row in lines(shared / "published_scores/mieb.jsonl.gz"):
        name = f"{row['task']} (mteb)"
        note = "mteb published totals without answers, so models are not compared here."
        rule = "group score" if row["task"] == "Winoground" else "the caption scores higher than every wrong one"
        benches[name] = Bench(name, rule, "", [], [], note)
        value = row["result"]["scores"]["test"][0]["main_score"]
        entries.append(Entry(name, row["model"], "mieb", np.zeros(0), aggregate=100 * value))
    return benches, entries


def lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as handle:
        yield from map(json.loads, handle)


def table(path: Path) -> Iterator[dict[str, str]]:
    with opened(path) as handle:
        yield from csv.DictReader(handle)


READERS = (sugarcrepe_pp, sugarcrepe, vsr_pairs, whatsup, nouns, bivlc, valse, vsr, winoground, mieb)


def read_all(shared: Path) -> Ledger:
    benches: dict[str, Bench] = {}
    entries: list[Entry] = []
    for reader in READERS:
        found, more = reader(shared)
        benches |= found
        entries += more
    return benches, entries
