"""An audit as Markdown: the checks, the images, the shortcuts, each with examples and their ids."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence

from equipoise.audit.record import Audit, Check, Example, Share

_SOLVED = 0.75  # share of pairs at which "most" answers are given away
_LONG = 160  # characters of an example


def markdown(audit: Audit, ending: bool = True) -> str:
    rows = [
        (check.name.replace("_", " "), check.what, f"{check.count:,}" if check.of else "-", percent(check.share))
        for check in audit.checks
    ]
    texts = table(("check", "what", "count", "share"), rows, left=2)
    parts = [f"# Audit of {_plain(audit.benchmark)}", _opening(audit), "## Texts", texts]
    parts += [_finding(check) for check in audit.checks if check.count]
    if reuse := audit.reuse:
        parts += [
            "## Images",
            f"{reuse.items:,} items of {reuse.images:,} images; an image has up to {reuse.most:,} items, one of "
            f"its captions up to {reuse.most_of_caption:,}. Effective sample size {reuse.effective:,.0f} (1 / sum of "
            f"squared shares of the images: the worst case, in which all items of an image agree), design effect at "
            f"most {reuse.design_effect:.2f}.\n\n{_examples(reuse.examples)}Fix: {reuse.fix}.",
        ]
    if audit.shortcuts:
        parts += ["## Shortcuts: answers without the image", _shortcuts(audit)]
    parts += ["## Verdict", verdict(audit)] if ending else []
    return "\n\n".join(part.strip() for part in parts) + "\n"


def verdict(audit: Audit) -> str:
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
        return f"{texts} Without the image, no shortcut is significantly better than chance."
    some = "Most" if best.result.share >= _SOLVED else "Some"
    return f'{texts} {some} answers are given away: without the image, the shortcut "{name}" is right on {result}.'


def _opening(audit: Audit) -> str:
    splits = ", ".join(f"{_plain(name)} {count:,}" for name, count in list(audit.splits.items())[:12])
    more = f" and {len(audit.splits) - 12} more" if len(audit.splits) > 12 else ""
    return (
        f"{audit.items:,} items, {audit.with_positives:,} with a hard positive, {audit.with_negatives:,} with a hard "
        f"negative ({splits}{more}). The checks are rules that read every text and no image: read what they list "
        "before you drop anything."
    )


def table(header: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    lines = [header, [*["---"] * left, *["---:"] * (len(header) - left)], *rows]
    return "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in line) + " |" for line in lines)


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.1f} %" if value >= 0.001 or value == 0 else f"{100 * value:.2f} %"


def _finding(check: Check) -> str:
    parts = []
    if len(check.by_split) > 1:
        most = sorted(check.by_split.items(), key=lambda pair: (-pair[1], pair[0]))[:10]
        parts.append(", ".join(f"{_plain(name)} {count:,}" for name, count in most))
    if check.by_kind:
        parts.append("texts: " + ", ".join(f"{_plain(name)} {count:,}" for name, count in check.by_kind.items()))
    counted = f" ({'; '.join(parts)})" if parts else ""
    heading = f"### {check.name.replace('_', ' ')}: {check.count:,} of {check.of:,}"
    what = check.what[:1].upper() + check.what[1:]
    return f"{heading}\n\n{what}{counted}.\n\n{_examples(check.examples)}{_more(check)}Fix: {check.fix}."


def _more(check: Check) -> str:
    return "" if len(check.found) <= len(check.examples) else "All: `--out FILE.csv`, or `--json`.\n\n"


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
        (one.name.replace("_", " "), one.what, f"{one.result.n:,}", shown(one.result), percent(one.seen))
        for one in audit.shortcuts
    ]
    header = ("shortcut", "what", "n", "right, percent [95 % interval]", "seen in the other half")
    asked = (
        f"On {of}, one pair of texts per item. Chance is 50, a tie counts one half, and images are resampled. (The "
        "blind models of `eval` must rank a caption above all negatives of its item, and a tie is no win, so their "
        "numbers differ.)"
    )
    lines = [asked, table(header, rows, left=2)]
    for one in audit.shortcuts:
        if one.result.interval[0] > one.chance or one.result.interval[1] < one.chance:
            lines.append(f"**{one.name.replace('_', ' ')}**\n\n{_examples(one.examples)}Fix: {one.fix}.")
    if found := audit.detector:
        lines.append(
            "A detector trained to tell captions from negatives on one half of the images calls these wrong in the "
            f"other half: {shown(found.captions)} % of the captions, {shown(found.negatives)} % of the negatives and "
            f"**{shown(found.positives)} % of the hard positives** (n = {found.positives.n:,}), which are right.\n\n"
            f"{_examples(found.examples)}Fix: {found.fix}."
        )
    return "\n\n".join(lines)
