"""An audit as Markdown: the checks, the images, the shortcuts, each with examples and their ids."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from equipoise.audit.record import Audit, Example, Share, TextCheck

_SOLVED = 0.75  # share of pairs at which "most" answers are given away
_LONG = 160  # characters of an example


_CALLED = {  # shortcuts, for people
    "words": "a classifier of words",
    "length": "the shorter text",
    "frequency": "the more common words",
    "direction": "the changed words",
    "substitution": "the old and the new word",
}


def markdown(audit: Audit) -> str:
    serious = [check for check in audit.checks if check.bad and check.count]
    parts = [f"# Audit of {_plain(audit.benchmark)}", f"**{headline(audit)}.** {_opening(audit)}"]
    parts += ["## Bad items", *map(_finding, serious)] if serious else []
    return "\n\n".join([*parts, rest(audit), "## Verdict", verdict(audit)]) + "\n"


def rest(audit: Audit) -> str:
    """Everything but the bad items: what to read, the images, the answers without them."""
    others = [check for check in audit.checks if check.count and not check.bad]
    parts = ["## To read: these may be fine", *map(_finding, others)] if others else []
    if nothing := ", ".join(check.title for check in audit.checks if not check.count):
        parts.append(f"Looked for and not found: {nothing}.")
    if reuse := audit.reuse:
        parts += [
            "## Images",
            f"{reuse.items:,} items of {reuse.images:,} images; an image has up to {reuse.most:,} items, one of "
            f"its captions up to {reuse.most_of_caption:,}. Effective sample size {reuse.effective:,.0f} (1 / sum of "
            f"squared shares of the images: the worst case, in which all items of an image agree), design effect at "
            f"most {reuse.design_effect:.2f}.\n\n{_examples(reuse.examples)}Fix: {reuse.fix}.",
        ]
    if audit.shortcuts:
        parts += ["## Answers without the image", _shortcuts(audit)]
    return "\n\n".join(part.strip() for part in parts)


def headline(audit: Audit) -> str:
    count = f"{len(audit.bad):,}" if audit.bad else "None"
    return f"{count} of {audit.items:,} items {'are' if len(audit.bad) > 1 else 'is'} bad"


def called(name: str) -> str:
    """'words_negatives' -> 'a classifier of words, against negatives'."""
    rule, _, kind = name.partition("_")
    return f"{_CALLED[rule]}, against {kind}" if kind else _CALLED[rule]


def verdict(audit: Audit) -> str:
    return f"{headline(audit)}. {advice(audit)}".strip()


def advice(audit: Audit) -> str:
    """The next check to read, and the strongest shortcut."""
    others = [check for check in audit.checks if check.count and not check.bad]
    texts = ""
    if others:
        worst = max(others, key=lambda check: check.share or 0)
        more = f"; {len(others) - 1} more checks found something" if len(others) > 1 else ""
        texts = f"Read next: {worst.title} ({worst.count:,} of {worst.of:,} items, {percent(worst.share)}){more}."
    best = max(audit.shortcuts, key=lambda shortcut: shortcut.result.interval[0] - shortcut.chance, default=None)
    if best is None:
        return texts
    if best.result.interval[0] <= best.chance:
        return f"{texts} Without the image, no shortcut is significantly better than chance.".strip()
    some = "Most" if best.result.share >= _SOLVED else "Some"
    return (
        f"{texts} {some} answers are given away: without the image, a rule ({called(best.name)}) finds the caption "
        f"in {shown(best.result)} % of the pairs, chance {100 * best.chance:.0f}."
    ).strip()


def _opening(audit: Audit) -> str:
    splits = ", ".join(f"{_plain(name)} {count:,}" for name, count in list(audit.splits.items())[:12])
    more = f" and {len(audit.splits) - 12} more" if len(audit.splits) > 12 else ""
    trained = "Training data, a" if audit.checks[0].name.startswith("train_") else "A"
    return (
        f"{audit.items:,} items, {audit.with_positives:,} with a hard positive, {audit.with_negatives:,} with a hard "
        f"negative ({splits}{more}). Rules read every text and no image. {trained} copy, or an item whose texts "
        "contradict each other or another item, is bad: no model can be judged by it."
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    lines = [header, [*["---"] * left, *["---:"] * (len(header) - left)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %" if value >= 0.001 or value == 0 else f"{100 * value:.2f} %"


def _finding(check: TextCheck) -> str:
    parts = []
    if len(check.by_split) > 1:
        most = sorted(check.by_split.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
        parts.append(", ".join(f"{_plain(name)} {count:,}" for name, count in most))
    if check.by_kind:
        parts.append("texts: " + ", ".join(f"{_plain(name)} {count:,}" for name, count in check.by_kind.items()))
    counted = f" ({'; '.join(parts)})" if parts else ""
    title = check.title[:1].upper() + check.title[1:]
    heading = f"### {title}: {check.count:,} of {check.of:,} ({percent(check.share)})"
    what = check.what[:1].upper() + check.what[1:]
    return f"{heading}\n\n{what}{counted}.\n\n{_examples(check.examples)}{_more(check)}Fix: {check.fix}."


def _more(check: TextCheck) -> str:
    return "" if len(check.found) <= len(check.examples) else "All of them: `--out FILE.csv`, or `--json`.\n\n"


def _examples(examples: Sequence[Example]) -> str:
    """The texts are untrusted: shown as code, on one line, and cut."""
    lines = [f"- `{_code(example.id)}`: `{_code(example.said)}`" for example in examples]
    return "\n".join(lines) + "\n\n" if lines else ""


def _plain(text: str) -> str:
    """Untrusted words within the text, escaped so that they are neither HTML nor links."""
    return re.sub(r"([\\`*\[])", r"\\\1", html.escape(" ".join(text.split()), quote=False))


def _code(text: str) -> str:
    plain = " ".join(text.replace("`", "'").split())
    return plain if len(plain) <= _LONG else plain[: _LONG - 4] + " ..."


def shown(share: Share) -> str:
    low, high = share.interval
    return f"{100 * share.share:.1f} [{100 * low:.1f}, {100 * high:.1f}]"


def _shortcuts(audit: Audit) -> str:
    of = "all items" if audit.sample == audit.items else f"{audit.sample:,} items drawn with seed {audit.seed}"
    rows = [
        (called(shortcut.name), shortcut.what, f"{shortcut.result.n:,}", shown(shortcut.result), percent(shortcut.seen))
        for shortcut in audit.shortcuts
    ]
    header = ("shortcut", "what", "n", "right, percent [95 % interval]", "seen in the other half")
    asked = (
        f"On {of}, one pair of texts per item. Chance is 50, a tie counts one half, and images are resampled. (The "
        "blind models of `eval` must rank a caption above all negatives of its item, and a tie is no win, so their "
        "numbers differ.)"
    )
    lines = [asked, table(header, rows, left=2)]
    for shortcut in audit.shortcuts:
        if shortcut.result.interval[0] > shortcut.chance or shortcut.result.interval[1] < shortcut.chance:
            lines.append(f"**{called(shortcut.name)}**\n\n{_examples(shortcut.examples)}Fix: {shortcut.fix}.")
    if detector := audit.detector:
        lines.append(
            "A detector trained to tell captions from negatives on one half of the images calls these wrong in the "
            f"other half: {shown(detector.captions)} % of the captions, {shown(detector.negatives)} % of the negatives "
            f"and **{shown(detector.positives)} % of the hard positives** (n = {detector.positives.n:,}), which are "
            "right.\n\n"
            f"{_examples(detector.examples)}Fix: {detector.fix}."
        )
    return "\n\n".join(lines)
