"""Self-contained HTML pages: of a set of runs (the table, the figures, items to look at, provenance), of some items of
a benchmark, of an audit.

No request, no font, no framework: the page can be mailed, archived and opened in ten years. Its content security policy
forbids every request and every script but ours, whatever captions and tags hold.
"""

from __future__ import annotations

import base64
import json
import logging
import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from equipoise import __version__
from equipoise.core.errors import UserError, printable
from equipoise.core.run_folder import refuse_foreign, write_own
from equipoise.data.images import ImageSource, open_source
from equipoise.data.items import Item
from equipoise.evaluation.comparing.folders import rule_of
from equipoise.evaluation.comparing.inference import holm
from equipoise.evaluation.comparing.models import compare_models
from equipoise.evaluation.metrics import METRICS, MetricInfo, shown
from equipoise.evaluation.record import Comparison, Interval, Numbers, RunRecord
from equipoise.report.chapters import Chapter, Entry, floors
from equipoise.report.comparison import VERDICT, change_words, judged, p_words
from equipoise.report.figures import figures
from equipoise.report.gallery import Gallery, build_gallery, embedded, picture_of
from equipoise.report.html import page_part, policy, templates
from equipoise.report.orderings import CLASSES
from equipoise.report.tables import percent, share, signed, some_without_positive

if TYPE_CHECKING:
    from equipoise.audit.record import Audit

log = logging.getLogger(__name__)
MOST_BYTES = 4_800_000  # of a page, pictures included: it can be mailed, and opens on a phone
MARK = '<meta name="generator" content="equipoise report">'  # by which an earlier page of ours is known
MOST_BAD = 400  # items of an audit's page; the download has the ids of all
MOST_CLEANED = 4_000_000  # bytes of a cleaned file within the page; of a larger one it has the command
SAMPLES_MARK = '<meta name="generator" content="equipoise bench show">'
ITEMS = {"original": "original", "augmented": "right", "brittleness": "brittle"}  # what of the gallery a metric shows


@dataclass(frozen=True)
class Table:
    """Numbers next to the figures: groups of models, each under a heading."""

    heading: str
    note: str
    groups: Sequence[tuple[str, Sequence[tuple[str, Numbers]]]]


@dataclass(frozen=True)
class Page:
    """A report. Findings are sentences that follow from numbers; the page shows them first."""

    title: str
    lead: Sequence[str]  # paragraphs
    chapters: Sequence[Chapter]
    opening: Sequence[Markup] = ()  # in place of the example: what the page shows before all else
    story: Sequence[Sequence[str]] = ()  # a table, its heads first; the findings are folded below it
    findings: Sequence[str] = ()
    tables: Sequence[Table] = ()
    notes: Sequence[str] = ()
    provenance: Mapping[str, str] = field(default_factory=dict)
    images: ImageSource | str | Path | None = None  # in place of what the runs name
    size: int = MOST_BYTES  # it is filled with items up to this

    @cached_property
    def figures(self) -> list[list[Markup]]:
        """The figures of each chapter."""
        return [figures(chapter, number) for number, chapter in enumerate(self.chapters)]


def check_page(out: Path | None) -> Path:
    """The path of a page to write. Refused before anything is read: no name, another's ending, or a user's file."""
    if out is None:
        raise UserError("--out: name the page to write, for instance --out report.html")
    if out.suffix.lower() not in {".html", ".htm"}:
        raise UserError(f"--out {out}: the page is HTML; name a file that ends in .html, or a table with --format")
    refuse_foreign(out, MARK)
    return out


def report_page(
    chapters: Sequence[Chapter],
    images: ImageSource | str | Path | None = None,
    title: str | None = None,
    about: str | None = None,
) -> Page:
    """The page of `equipoise report`: what was measured, in words that follow from the numbers."""
    return Page(
        title=title or "Does the model know when a change of words changes the meaning?",
        lead=[
            *([about] if about else []),
            "Each test item is a picture with its caption, a reworded caption that is still right (a hard positive) "
            "and a caption with a small change that makes it wrong (a hard negative). The model gives each a score. It "
            "should put both right captions above the wrong one.",
        ],
        chapters=chapters,
        findings=[finding(chapter) for chapter in chapters],
        notes=[
            "Intervals hold 95 of 100 resamples of the images. Two overlapping intervals do not make two models equal: "
            f"`equipoise compare A B` pairs them item by item; a difference is significant if {VERDICT}.",
            "A tie is never a win and never brittle.",
        ],
        provenance={"made by": f"equipoise report, version {__version__}"},
        images=images,
    )


def finding(chapter: Chapter) -> str:
    """One sentence on a test set: the most accurate model, and what of it a rewording leaves."""
    known = [entry for entry in chapter.entries if entry.numbers["original"] is not None]
    if not known:
        return f"{chapter.title}: no wrong captions, so none of the three shares; what else was measured is below."
    best = max(known, key=lambda entry: entry.numbers["original"] or 0)
    text = (
        f"{chapter.title}: {best.label} puts the caption above the wrong one on {share(best.numbers, 'original')}% of "
        "items"
    )
    ahead = _ahead(chapter, best, [entry for entry in known if entry is not best])
    if best.numbers["augmented"] is None:
        return f"{text}{ahead}."
    text += (
        f", and on {share(best.numbers, 'augmented')}% the reworded caption as well; on "
        f"{share(best.numbers, 'brittleness')}% it accepts one right caption and rejects the other (brittle)"
    )
    chances = [entry.numbers.chance.get("original", chapter.chance.get("original")) for entry in known]
    guessed = [chance for chance in chances if chance is not None]
    if len(guessed) == len(known) and all(_low(entry) <= chance for entry, chance in zip(known, guessed, strict=True)):
        ahead += f". No model is significantly above chance ({100 * guessed[0]:.1f}%)"
    steady = min(known, key=_brittleness)
    if share(steady.numbers, "brittleness") != share(best.numbers, "brittleness"):
        text += f". {steady.label} is the least brittle: {share(steady.numbers, 'brittleness')}%"
    return f"{text}{ahead}."


def _brittleness(entry: Entry) -> float:
    value = entry.numbers["brittleness"]
    return 1.0 if value is None else value


def _low(entry: Entry) -> float:
    interval = entry.numbers.interval("original")
    return interval.low if interval else entry.numbers["original"] or 0.0


def _ahead(chapter: Chapter, best: Entry, others: Sequence[Entry]) -> str:
    """Which models the one with the highest Original accuracy is significantly ahead of, and which not."""
    if not others:
        return ""
    if chapter.change is not None:
        change = chapter.change.changes["original"]
        if best is chapter.entries[0]:
            turned = {
                "difference": -change.difference,
                "interval": Interval(*(-bound for bound in change.interval[::-1])),
            }
            change = change.model_copy(update=turned)
        word = "is" if change.significant else "is not"
        other = f"{others[0].label} ({change_words(change)})"
        return f". {best.label} {word} significantly ahead of {other} (Original accuracy, points, paired)"
    try:
        _, path, least = rule_of(best.run, None)
        changes = [compare_models([entry.run], [best.run], 0, path, least)["original"] for entry in others]
    except UserError:  # other items, photos or no record of a rule
        return f". These runs cannot be paired, so whether {best.label} is ahead is unknown"
    known = [(entry.label, change) for entry, change in zip(others, changes, strict=True) if change is not None]
    adjusted = holm([1.0 if change.p is None else change.p for _, change in known])
    behind: list[str] = []
    unclear: list[str] = []
    for (label, change), p_value in zip(known, adjusted, strict=True):
        tested = change.model_copy(update={"adjusted": p_value})
        (behind if tested.significant else unclear).append(f"{label} ({change_words(tested)})")
    parts = [f". {best.label} is significantly ahead of {', '.join(behind)}"] if behind else []
    if unclear:
        parts.append(f". {best.label} is not significantly ahead of {', '.join(unclear)}")
    return "".join(parts) + " (Original accuracy, points, paired)"


def write_page(path: str | Path, page: Page, seed: int = 0) -> None:
    """Write the page; it is larger than its `size` only where the figures alone are."""
    frame = rendered(page, Gallery({}, []))
    gallery = build_gallery(page.chapters, page.size - len(frame.encode()) - 20_000, page.images, seed)
    text = rendered(page, gallery)
    for note in gallery.notes:
        log.warning("%s", note)
    write_own(path, text, MARK)


def rendered(page: Page, gallery: Gallery, home: str = "") -> str:
    """The page with a gallery, an empty one for its size alone. With the address of a `home` it is a page of
    `equipoise view`, whose gallery asks for its items and pictures."""
    known: dict[str, object] = {
        "columns": _columns,
        "items": ITEMS,
        "judged": judged,
        "p_words": p_words,
        "signed": signed,
        "metrics": METRICS,
        "share": share,
        "spread": lambda numbers, name: percent(numbers, name).partition(" ")[2],
        "some_without_positive": some_without_positive,
        "printable": printable,
        "table_groups": _table_groups,
    }
    template = templates("equipoise.report").get_template("report.html", globals=known)
    script, style = page_part("report.js"), page_part("report.css") + _swatches()
    parts: dict[str, object] = {
        "page": page,
        "script": script,
        "style": style,
        "home": home,
        "policy": policy(script, remote=bool(home)),
        "drawn": page.figures,
        "headline": _headline(page.chapters),
        "several": any(len(chapter.entries) > 1 and not chapter.change for chapter in page.chapters),
        "changed": any(chapter.change for chapter in page.chapters),
        "lettered": any(entry.letters for chapter in page.chapters for entry in chapter.entries),
        "verdict": VERDICT,
        "records": _records(page),
        "example": _example(page.chapters, gallery) if gallery.data else None,
        "gallery_notes": gallery.notes,
        "data": embedded(gallery.data) if gallery.data else "",
    }
    return template.render(**parts)


def _swatches() -> str:
    """The colour of every class of items: of its group, the second of a group lighter."""
    seen: dict[str, int] = {}
    rules = []
    for number, kind in enumerate(CLASSES):
        tone = seen.setdefault(kind.group, 0)
        seen[kind.group] += 1
        rules.append(f".o{number}{{--tone:var(--{kind.group}{min(tone, 1)});--on:var(--on{min(tone, 1)})}}")
    return "".join(rules)


class TableRow(NamedTuple):
    """A row of a table; the gallery has the items of a run of a chapter."""

    label: str
    words: str
    numbers: Numbers
    chapter: int | None = None
    run: int | None = None
    letters: Mapping[str, str] = {}  # never written to


TableGroup = tuple[str, str, list[TableRow], Comparison | None]  # heading, a word on it, rows, and what changed


def _headline(chapters: Sequence[Chapter]) -> list[TableGroup]:
    """The groups of the first table."""
    groups = []
    for number, chapter in enumerate(chapters):
        rows: list[TableRow] = []
        for run, entry in enumerate(chapter.entries):
            rows.append(
                TableRow(printable(entry.label), printable(entry.about), entry.numbers, number, run, entry.letters)
            )
        for point in chapter.elsewhere:
            rows.append(TableRow(printable(point.label), f"reported: {printable(point.source)}", point.numbers))
        rows += [TableRow(*floor) for floor in floors(chapter)]
        groups.append((printable(chapter.title), chapter.average, rows, chapter.change))
    return groups


def _columns(groups: Sequence[TableGroup]) -> list[MetricInfo]:
    """The metrics of a table's heads; a difference (drop) stands behind the one it is of."""
    numbers = [row.numbers.metrics for _, _, rows, _ in groups for row in rows]
    return [metric for metric in shown(numbers, "texts", always=True) if metric.less is None]


def _table_groups(table: Table) -> list[TableGroup]:
    return [
        (title, "", [TableRow(label, "", numbers) for label, numbers in rows], None) for title, rows in table.groups
    ]


def _example(chapters: Sequence[Chapter], gallery: Gallery) -> dict[str, Any] | None:
    """The first chosen item, with a picture if one has it, that some model is brittle on: the page begins with it."""
    examples = [
        (chapter, run, item)
        for chapter, part in zip(chapters, gallery.data["chapters"], strict=True)
        for item in part["items"]
        for run, codes in enumerate(chapter.codes)
        if item["texts"] and CLASSES[codes[item["i"]]].group == "brittle"
    ]
    if not examples:
        return None
    chapter, run, item = next((example for example in examples if "picture" in example[2]), examples[0])
    caption, positives, negatives = item["texts"]
    row = list(chapter.rows(item["i"]))[run]
    assert row is not None  # it is brittle, so it was scored
    highest = max(row.negatives)
    deciding = min(row.positives) if row.caption > highest else max(row.positives)
    return {
        "picture": gallery.data["pictures"][item["picture"]] if "picture" in item else None,
        "caption": caption,
        "positive": positives[row.positives.index(deciding)],
        "negative": negatives[row.negatives.index(highest)],
        "label": printable(chapter.entries[run].label),
        "order": CLASSES[chapter.codes[run][item["i"]]].name,
    }


def _records(page: Page) -> list[tuple[str, Entry, RunRecord]]:
    """Every run of the page for its provenance, with the chapter's title."""
    return [
        (chapter.title, entry, record)
        for chapter in page.chapters
        for entry in chapter.entries
        for record in entry.run.records
    ]


def write_samples(path: Path, title: str, items: Sequence[Item], count: int, seed: int, images: Path | None) -> None:
    """A page of `count` random items with all texts, and their photos where `images` has them."""
    sources = [] if images is None else [open_source(images)]
    places = sorted(random.Random(seed).sample(range(len(items)), min(count, len(items))))
    drawn = [(items[place], picture_of(items[place], sources)) for place in places]
    page = templates("equipoise.report").get_template("samples.html")
    about = {"title": title, "drawn": drawn, "of": len(items), "seed": seed, "mark": SAMPLES_MARK}
    write_own(path, page.render(**about, style=page_part("report.css"), printable=printable), SAMPLES_MARK)


def audit_html(audit: Audit, items: Sequence[Item], images: Path | None = None) -> str:
    """The page of an audit: the bad items with their photos, files to download, then what to read. It has no script."""
    from markdown_it import MarkdownIt  # of rich

    from equipoise.audit.page import advice, headline, rest

    known = {item.id: item for item in items}
    bad = {case.id for case in audit.bad}
    sources = [] if images is None else [open_source(images)]
    good = "".join(f"{json.dumps(item.to_json(), ensure_ascii=False)}\n" for item in items if item.id not in bad)
    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(rest(audit))
    page = templates("equipoise.report").get_template("audit.html")
    return page.render(
        audit=audit,
        headline=headline(audit),
        advice=advice(audit),
        counts=[(check.title, len(check.found)) for check in audit.checks if check.bad and check.found],
        cases=[(case, known[case.id], picture_of(known[case.id], sources)) for case in audit.bad[:MOST_BAD]],
        ids=_file("".join(f"{case.id}\n" for case in audit.bad)),
        good=_file(good) if len(good) <= MOST_CLEANED else "",
        body=Markup(re.sub("<table>.*?</table>", _labelled, body, flags=re.DOTALL)),
        style=page_part("report.css"),
        printable=printable,
    )


def _file(text: str) -> str:
    return f"data:text/plain;base64,{base64.b64encode(text.encode()).decode()}"


def _labelled(match: re.Match[str]) -> str:
    """The table with the name of its column at each cell, which a phone shows above it."""
    names = cycle(re.findall("<th[^>]*>(.*?)</th>", match[0]))
    table = re.sub("<td", lambda _: f'<td data-name="{next(names)}"', match[0]).replace("<table>", "", 1)
    return f'<div class="scroll"><table class="stack">{table}</div>'
