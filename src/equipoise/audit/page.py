"""An audit as Markdown: what is to be fixed, first; then the shortcuts; examples with their ids."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from equipoise.audit.record import Audit, Check, Example, Share

_SOLVED = 0.75  # of the pairs, by a judge that sees no image
_LONG = 160  # characters of an example


def markdown(audit: Audit, level: int = 1, ending: bool = True) -> str:
    """One page; `level` is that of its heading. It ends with the verdict."""
    title, below = "#" * level, "#" * (level + 1)
    name = _plain(audit.benchmark)
    parts = [f"{title} Audit of {name}", _opening(audit), f"{below} Texts", _checks_table(audit.checks)]
    parts += [_finding(check, below + "#") for check in audit.checks if check.count]
    if audit.reuse:
        reuse = audit.reuse
        parts += [
            f"{below} Images",
            f"{reuse.items:,} items of {reuse.images:,} images; one image has up to {reuse.most:,} items, one "
            f"caption of it up to {reuse.most_of_caption:,}. Effective sample size {reuse.effective:,.0f} (1 / sum of "
            f"squared shares of the images: its least, where all items of an image agree), design effect at most "
            f"{reuse.design_effect:.2f}.\n\n{_examples(reuse.examples)}Fix: {reuse.fix}.",
        ]
    if audit.shortcuts:
        parts += [f"{below} Shortcuts: answers without the image", _shortcuts(audit)]
    parts += [f"{below} Verdict", verdict(audit)] if ending else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


def verdict(audit: Audit) -> str:
    """Which defect to fix first, and how far the texts alone give the answers away."""
    found = sorted((check for check in audit.checks if check.count and check.share), key=lambda one: -(one.share or 0))
    if found:
        worst = found[0]
        texts = (
            f"Fix first: {worst.name.replace('_', ' ')} ({worst.count:,} of {worst.of:,} items, {percent(worst.share)})"
            + (f"; {len(found) - 1} more checks found something." if len(found) > 1 else ".")
        )
    else:
        texts = "No check of the texts found a defect."
    best = max(audit.shortcuts, key=lambda one: one.result.interval[0] - one.chance, default=None)
    if best is None:
        return texts
    name, result = best.name.replace("_", " "), f"{shown(best.result)} % of the pairs, chance {100 * best.chance:.0f}"
    if best.result.interval[0] <= best.chance:
        return f"{texts} No judge without the image is significantly better than chance."
    if best.result.share >= _SOLVED:
        return f'{texts} Most answers are given away: without the image, the shortcut "{name}" is right on {result}.'
    return f'{texts} Some answers are given away: without the image, the shortcut "{name}" is right on {result}.'


def _opening(audit: Audit) -> str:
    splits = ", ".join(f"{_plain(name)} {count:,}" for name, count in list(audit.splits.items())[:12])
    more = f" and {len(audit.splits) - 12} more" if len(audit.splits) > 12 else ""
    return (
        f"{audit.items:,} items, {audit.with_positives:,} with a hard positive, {audit.with_negatives:,} with a hard "
        f"negative ({splits}{more}). The checks read every text and no image; they find what rules can find, and a "
        "person should read what they list before anything is dropped."
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    lines = [header, [*["---"] * left, *["---:"] * (len(header) - left)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def _checks_table(checks: Sequence[Check]) -> str:
    rows = [
        (
            check.name.replace("_", " "),
            check.what,
            *((f"{check.count:,}", percent(check.share)) if check.of else ("-", "-")),
        )
        for check in checks
    ]
    return table(("check", "what", "count", "share"), rows, left=2)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %" if value >= 0.001 or value == 0 else f"{100 * value:.2f} %"


def _finding(check: Check, title: str) -> str:
    parts = []
    if len(check.by_split) > 1:
        most = sorted(check.by_split.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
        parts.append(", ".join(f"{_plain(name)} {count:,}" for name, count in most))
    if check.by_kind:
        parts.append("texts: " + ", ".join(f"{_plain(name)} {count:,}" for name, count in check.by_kind.items()))
    counted = f" ({'; '.join(parts)})" if parts else ""
    heading = f"{title} {check.name.replace('_', ' ')}: {check.count:,} of {check.of:,}"
    what = check.what[:1].upper() + check.what[1:]
    return f"{heading}\n\n{what}{counted}.\n\n{_examples(check.examples)}Fix: {check.fix}."


def _examples(examples: Sequence[Example]) -> str:
    """Texts are strangers': as code, on one line, not endless."""
    lines = [f"- `{_code(example.id)}`: `{_code(example.said)}`" for example in examples]
    return "\n".join(lines) + "\n\n" if lines else ""


def _plain(text: str) -> str:
    """A stranger's word in the text, which is neither HTML nor a link."""
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
        (
            one.name.replace("_", " "),
            one.what,
            f"{one.result.n:,}",
            shown(one.result),
            "-" if one.seen is None else percent(one.seen),
        )
        for one in audit.shortcuts
    ]
    header = ("judge", "what", "n", "right, percent [95 % interval]", "seen in the other half")
    asked = (
        f"On {of}; one pair of texts an item, chance is 50, a tie counts one half, images are resampled. (The "
        "blind judges of `eval` must put a caption above all negatives of its item, and a tie is no win: other shares.)"
    )
    lines = [asked, table(header, rows, left=2)]
    for one in audit.shortcuts:
        if one.result.interval[0] > one.chance or one.result.interval[1] < one.chance:
            lines.append(f"**{one.name.replace('_', ' ')}**\n\n{_examples(one.examples)}Fix: {one.fix}.")
    if audit.detector:
        found = audit.detector
        lines.append(
            "A detector taught on one half of the images to tell captions from negatives, asked on the other half, "
            f"calls wrong: {shown(found.captions)} % of the captions, {shown(found.negatives)} % of the negatives and "
            f"**{shown(found.positives)} % of the hard positives** (n = {found.positives.n:,}), which are right.\n\n"
            f"{_examples(found.examples)}Fix: {found.fix}."
        )
    return "\n\n".join(lines)
