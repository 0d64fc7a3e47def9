"""Reads score files in our layout or a published one; the first record says which.

A score file of another benchmark must not be measured as this one's. Scores of one's own are JSONL, or a table with the
columns of a table of items (data/readers/item_tables.py) and scores in place of texts.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from equipoise.benchmarks.predicate_noun import ROWS
from equipoise.core.errors import Problems, UserError, missing_columns
from equipoise.data.readers.item_tables import TABLES, read_table
from equipoise.data.readers.records import EMPTY, Row, rows, short, suffix_of
from equipoise.evaluation.scores import ItemScores, Scores, read_scores, require_finite
from equipoise.published import answers, scores, wordings
from equipoise.published.sheets import PublishedScores, ScoreTable, check_single


@dataclass(frozen=True)
class Layout:
    """A way in which scores, outcomes or answers are published."""

    benchmark: str
    columns: tuple[str, ...]  # that a record has, by which the layout is known
    read: Callable[[Sequence[ScoreTable]], PublishedScores]
    what: str  # the file is, in words
    label: str = ""  # a pattern of the first record's label
    files: int = 1  # at most
    several: str = ""  # the benchmark of several files, where it is another

    def known(self, record: Mapping[str, object]) -> bool:
        """Whether a file is of this layout, by its first record."""
        return set(self.columns) <= record.keys() and (
            not self.label or bool(re.fullmatch(self.label, str(record["label"])))
        )


class _Unknown(UserError):
    """A whole file, but of nothing that is known here."""


_MANY = 1000
_SCORES = f"the scores of Winoground's {scores.WINOGROUND} examples"
_BIVLC, _OUTCOMES = ("caption", "negative_caption", "type"), f"the outcomes of BiVLC's {answers.BIVLC:,} examples"
_SUGARCREPE = ("filename", "caption", "negative_caption", "type", "subtype", "correct")
LAYOUTS = (
    Layout("winoground", ("label", "score"), scores.winoground, _SCORES, r"\d+_c[01]_i[01]"),
    Layout("winoground", scores.RATED, scores.rated, "a judge's numbers for Winoground's images and captions"),
    Layout("valse", ("label", "score", "instrument"), scores.valse, "the scores of VALSE's valid items", r".+_[cf]"),
    Layout("predicate-noun", scores.PREDICATE_NOUN, scores.predicate_noun, f"the scores of {ROWS:,} rows", files=2),
    Layout("sugarcrepe-pp", scores.PP, scores.sugarcrepe_pp, "the cosines of SugarCrepe++'s items"),
    Layout("sugarcrepe", scores.SUGARCREPE, scores.sugarcrepe, "the scores of SugarCrepe's pairs"),
    Layout("bivlc", (*_BIVLC, *answers.OLD), answers.bivlc, _OUTCOMES),
    Layout("bivlc", (*_BIVLC, *answers.NEW), answers.bivlc, _OUTCOMES),
    Layout("sugarcrepe", _SUGARCREPE, answers.sugarcrepe_outcomes, "the outcomes of SugarCrepe's pairs"),
    Layout("sugarcrepe", answers.GPT4V, answers.sugarcrepe_answers, answers.ANSWERED, files=_MANY),
    Layout("vsr", ("label", "score", "relation", "id"), scores.vsr, "label and score of VSR's statements", "[01]"),
    Layout("whatsup", wordings.WHATSUP, wordings.whatsup, "answers to What's Up's photos, several prompts each"),
    Layout(
        "colorswap", answers.COLORSWAP, answers.colorswap, "answers to ColorSwap's examples, text or image", files=2
    ),
    Layout("vsr", wordings.VSR, wordings.vsr, "answers to VSR's statements", files=_MANY, several="vsr-pairs"),
    Layout("vsr-pairs", wordings.VSR_LINES, wordings.vsr_lines, "answers to VSR's statements in all conditions"),
)


def read_any(paths: Sequence[Path], benchmark: str | None) -> PublishedScores:
    """The scores of the named benchmark in `paths`, in our layout or a published one."""
    paths, known, passed = _known(paths)
    layout = known[0]
    if layout is None:
        if len(paths) > 1:
            raise UserError(f"{paths[1]}: scores are one file; a second is for another wording of the same items")
        return _own_table(paths[0]) if _is_table(paths[0]) else PublishedScores("equipoise", read_scores(paths[0]))
    if other := [path for path, its_layout in zip(paths, known, strict=True) if its_layout != layout]:
        raise UserError(f"{other[0]}: not of the same layout as {paths[0]}, {layout.what}")
    wanted = layout.several if layout.several and len(paths) > 1 else layout.benchmark
    if benchmark is None:
        raise UserError(f"{paths[0]}: {layout.what}: name the benchmark with --bench {wanted}")
    sheets = [_sheet(path, layout) for path in paths]
    if benchmark != wanted:
        raise UserError(
            f"{paths[0]}: {len(sheets[0].rows):,} records in the layout of {wanted}'s published scores, none of them "
            f"of {benchmark}. Name --bench {wanted}, or another file."
        )
    if len(paths) > layout.files:
        raise UserError(f"{paths[layout.files]}: {wanted} takes {layout.files} file(s), found {len(paths)}")
    read = layout.read(sheets)
    return replace(read, notes=[*read.notes, f"not read: {', '.join(passed)}"]) if passed else read


def _known(paths: Sequence[Path]) -> tuple[Sequence[Path], list[Layout | None], list[str]]:
    """The files with their layouts, and the names of those in none: a pattern such as *.csv takes some along. Where all
    files are in none, the first one's reader says why."""
    layouts: list[tuple[Path, Layout | None]] = []
    passed = []
    for path in paths:
        try:
            layouts.append((path, _layout(path)))
        except _Unknown:
            if path == paths[-1] and not layouts:
                raise
            passed.append(path.name)
    if not any(layout is not None and layout.files == _MANY for _, layout in layouts):
        layouts, passed = [(path, _layout(path)) for path in paths], []
    return [path for path, _ in layouts], [layout for _, layout in layouts], passed


def _is_table(path: Path) -> bool:
    return suffix_of(path) in TABLES


def _records(path: Path, head: dict[str, object]) -> Iterator[Row]:
    """The records of a file, whatever the layout. An object of objects is its records, each with its `key`; what else
    stands in the object is the head. So is {"subsets": {"swap_att": {"0": ...}}}."""
    for row in rows(path):
        if row.where or row.problem or not isinstance(row.value, dict):
            yield row
            continue
        parts = row.value.get("subsets", row.value)
        entries = list(parts.items()) if isinstance(parts, dict) else []
        if parts is not row.value:
            entries = [(f"{name} {key}", field) for name, part in entries for key, field in dict(part).items()]
        records = [Row(f"record {key!r}", {"key": key, **field}) for key, field in entries if isinstance(field, dict)]
        head |= {name: field for name, field in row.value.items() if not isinstance(field, dict)}
        yield from records or [row]


def _layout(path: Path) -> Layout | None:
    """None: our own layout, whose reader also says what is wrong with a file that is in none."""
    head: dict[str, object] = {}
    try:
        first = next((row.value for row in _records(path, head) if row.problem != EMPTY), None)
    except UserError as error:
        if "two columns are called" not in str(error):
            raise
        return None  # no published layout has them; a table of our own may
    layout = next((each for each in LAYOUTS if isinstance(first, dict) and each.known(first)), None)
    ours = isinstance(first, dict) and (
        {"id", "answers"} <= first.keys()  # a run of a model that answers
        or ("caption" in first and any(name.startswith("negative") for name in first))
    )
    if layout is None and isinstance(first, dict) and not ours:
        raise _Unknown(
            f"{path}: {missing_columns(first)} Found {', '.join(list(first)[:8])}. Expected "
            "the columns id, caption, positive, negative (several: negative_1, negative_2), or in a .jsonl file "
            '{"id": "...", "caption": 0.31, "positives": [0.30], "negatives": [0.28]} per item. Also known: the '
            f"published scores of {', '.join(dict.fromkeys(each.benchmark for each in LAYOUTS))}"
        )
    caption = first.get("caption") if layout is None and isinstance(first, dict) else None
    if isinstance(caption, str) and not _is_table(path) and not _number(caption):
        raise _texts(path, caption)
    return layout


def _texts(path: Path, caption: str) -> UserError:
    return UserError(
        f"{path}: holds texts where scores were expected (caption {short(caption)}). "
        f"To score them with a model: equipoise eval MODEL --bench {path} --images FOLDER"
    )


def _sheet(path: Path, layout: Layout) -> ScoreTable:
    """The rows of a file; each has the columns of its layout and all are of one model."""
    head: dict[str, object] = {}
    sheet = ScoreTable(path, [], [], Problems(f"{path}: not {layout.what}"), head)
    for where, value, problem in _records(path, head):
        if problem == EMPTY:
            continue
        lacking = set(layout.columns) - value.keys() if isinstance(value, dict) else ["a record"]
        if problem or lacking:
            sheet.problems.add(where, problem or f"{', '.join(sorted(lacking))}: missing")
        else:
            sheet.rows.append(value)
            sheet.places.append(where)
    sheet.problems.raise_if_any(f"Expected {', '.join(layout.columns)} in each row.")
    check_single(sheet.problems, "model", sheet.rows)
    return sheet


def _own_table(path: Path) -> PublishedScores:
    """The scores of a table; every problem of the file is raised at once."""
    captions: list[str] = []

    def build(fields: dict[str, Any]) -> ItemScores:
        captions.append(fields.get("caption", ""))
        for cell in (captions[-1], *fields["positives"], *fields["negatives"]):
            if "_" in cell and _number(cell):
                raise UserError(f"{path}: {cell!r} is no number; expected scores such as 0.31")  # Python's is 10
        return ItemScores.model_validate(fields, strict=False)  # cells are text: "0.31" is a number

    try:
        own_rows = read_table(path, build)
    except UserError:
        if captions and not any(map(_number, captions)):
            raise _texts(path, captions[0]) from None
        raise
    require_finite(own_rows, str(path))
    return PublishedScores("equipoise", Scores(own_rows))


def _number(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
