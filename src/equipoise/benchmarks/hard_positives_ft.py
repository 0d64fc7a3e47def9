"""The released training positives of Kamath et al. 2024: hard_positives_ft/replace_hp.jsonl and swap_hp.jsonl.

Each line is a bare JSON string, what Llama-2 answered about the COCO caption of that line; "None" where the swap file
has no answer because the caption has no "and". The captions themselves are COCO's, so its annotations must lie beside
the files. Nothing says which line belongs to which caption but its number, so the counts must agree, and so must the
words: an answer shares most of them with its caption, and a shifted file would teach nonsense in silence. Answers are
kept as published, which was unchecked: some are cut off, some reworded (`equipoise perturb` checks what it asks for).

Items have positives alone; CREPE's negatives are added with `equipoise perturb ITEMS --recipe crepe_ma_2023`.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path

from equipoise.benchmarks.base import check_splits, splits_of, stored
from equipoise.benchmarks.reading import Raw
from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_json
from equipoise.data.items import Edit, ImageRef, Item, Operation, Text
from equipoise.data.readers.records import jsonl_lines, short, validated

NAME = "hard-positives-ft"
_FILES: dict[Operation, str] = {"replace": "replace_hp.jsonl", "swap": "swap_hp.jsonl"}
_CAPTIONS = "captions_train2017.json"
_BY = "llm:meta-llama/Llama-2-70b-chat-hf"
_LOOKED_AT = 2_000  # lines, spread over a file, by which it is seen whether lines and captions belong together
_SHARED = 0.5  # of the words of an answer that its caption has too; captions of other photos share about a fifth


class _Annotation(Raw):
    id: int
    image_id: int
    caption: str


def load(source: Path, splits: Sequence[str]) -> list[Item]:
    check_splits(NAME, splits, splits_of(NAME))
    notes = _find(source, _CAPTIONS, "annotations")
    paths = {op: path for op, name in _FILES.items() if (path := _find(source, name, "hard_positives_ft"))}
    if notes is None or not paths:
        lacking = _CAPTIONS if notes is None else " or ".join(_FILES.values())
        raise UserError(f"{source}: expected {lacking} there. To get it: {stored(NAME)['get']}")
    captions = _captions(notes)
    answers = {op: _answers(path, captions) for op, path in paths.items()}
    items = []
    for place, note in enumerate(captions):
        given = {op: texts[place] for op, texts in answers.items() if texts[place]}
        positives = tuple(Text(text=text, edit=Edit(op=op, by=_BY)) for op, text in given.items())
        image = ImageRef(path=f"train2017/{note.image_id:012d}.jpg")
        name, tags = f"{NAME}-train/{note.id}", {"split": "train"}
        items.append(Item(id=name, image=image, caption=note.caption, positives=positives, tags=tags))
    return items


def _find(source: Path, name: str, folder: str) -> Path | None:
    return next((path for path in (source / name, source / folder / name) if path.is_file()), None)


def _captions(path: Path) -> list[_Annotation]:
    value = read_json(path)
    notes = value.get("annotations") if isinstance(value, dict) else None
    if not isinstance(notes, list) or not notes:
        raise UserError(f"{path}: expected COCO's object with annotations, found {short(value)}")
    return validated(list[_Annotation], notes, str(path), "Get the file again.", "annotation")


def _answers(path: Path, captions: Sequence[_Annotation]) -> list[str]:
    """The answer to each caption, empty where there is none."""
    problems, answers = Problems(str(path)), []
    for where, text in jsonl_lines(path, problems):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            value = text
            problems.add(where, "not JSON; expected one string per line")
        if value is not None and not isinstance(value, str):
            problems.add(where, f"expected a string, found {short(value)}")
        answer = value.strip() if isinstance(value, str) else ""
        answers.append("" if answer == "None" else answer)
    problems.raise_if_any()
    if len(answers) != len(captions):
        raise UserError(
            f"{path}: {len(answers):,} lines, but COCO's annotations hold {len(captions):,} captions; line k is the "
            "answer to caption k, so both must be of the same files"
        )
    _check_order(path, answers, captions)
    return answers


def _check_order(path: Path, answers: Sequence[str], captions: Sequence[_Annotation]) -> None:
    pairs = [(place, answer) for place, answer in enumerate(answers) if answer]
    pairs = pairs[:: max(1, len(pairs) // _LOOKED_AT)]
    shares = [_shared(answer, captions[place].caption) for place, answer in pairs]
    if shares and sum(shares) / len(shares) < _SHARED:
        raise UserError(
            f"{path}: the lines do not belong to the captions of the same number (they share "
            f"{100 * sum(shares) / len(shares):.0f} % of their words); is this another order, or another year, of COCO?"
        )


def _shared(answer: str, caption: str) -> float:
    words, others = re.findall(r"\w+", answer.lower()), re.findall(r"\w+", caption.lower())
    return sum(word in others for word in words) / max(1, len(words))
