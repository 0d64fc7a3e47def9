"""equipoise perturb: captions -> Items with hard positives and hard negatives; more for the items of a file."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import typer

from equipoise.cli.options import offer_edits
from equipoise.core.errors import UserError, printable
from equipoise.core.progress import begin
from equipoise.report import fold


def perturb(
    ctx: typer.Context,
    captions: Path | None = typer.Argument(
        None,
        help="txt, csv, tsv, json, jsonl, parquet or webdataset tar; COCO annotations; an items file, which is "
        "added to; or a folder",
    ),
    recipe: str = typer.Option(
        "",
        help="one of `perturb --list`, or several joined by commas; py:module:name is your own; balanced if not "
        "given, with --add-positives hard_positives_rules",
        autocompletion=offer_edits,
    ),
    precision: float = typer.Option(
        0.92,
        help="for balanced: the share of its edits that a strict reader should accept, 0.8 to 0.99; a lower value "
        "gives more captions a negative",
    ),
    out: Path | None = typer.Option(None, help="the items file to write, .jsonl; NAME.items.jsonl here if not given"),
    workers: int = typer.Option(os.cpu_count() or 1, min=1, help="processes"),
    engine: str = typer.Option("local", help="local, or ray (the extra: scale)"),
    seed: int = typer.Option(0, min=0, help="seed of every draw; the same seed gives the same bytes"),
    limit: int | None = typer.Option(None, min=1, help="only the first N captions, for a first look"),
    keep_all: bool = typer.Option(False, "--keep-all", help="also write the captions that no edit applies to"),
    cap: int | None = typer.Option(
        None, min=1, help="at most N texts of each substitution, so that edits are harder to guess"
    ),
    refine: str = typer.Option("", help="balance edits against two blind judges: words, length, frequency, lm:FOLDER"),
    even_positives: bool = typer.Option(
        False,
        "--even-positives",
        help="draw as many positives about relations (verbs, prepositions) as about attributes",
    ),
    llm: str = typer.Option("", help="an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1"),
    llm_model: str = typer.Option("", help="the model's name on that server"),
    llm_key: str = typer.Option("OPENAI_API_KEY", help="environment variable that holds the server's key"),
    llm_max_tokens: int | None = typer.Option(
        None, min=1, help="tokens of an answer (default: 30 for replace, 20 for swap, 120 for balanced)"
    ),
    llm_temperature: float = typer.Option(0.0, min=0.0, help="0 decodes the likeliest answer"),
    llm_concurrency: int = typer.Option(16, min=1, help="requests at a time"),
    masked_lm: Path | None = typer.Option(None, help="folder of a masked language model as a word source"),
    cache: Path | None = typer.Option(None, help="folder of the language model's answers, or of embeddings"),
    dropped: Path | None = typer.Option(
        None, help="list every caption and candidate that gave no text, with the reason, in FILE"
    ),
    add_positives: bool = typer.Option(
        False,
        "--add-positives",
        help="CAPTIONS is a benchmark, or its items file, without hard positives: add them, under the name "
        "NAME-augmented, audited",
    ),
    source: Path | None = typer.Option(None, help="with --add-positives: folder of the benchmark's annotation files"),
    splits: str = typer.Option("", help="with --add-positives: only these splits, separated by commas"),
    hard_images: str = typer.Option(
        "",
        help="a model: write the most similar other images of each item, by its embeddings, into "
        'tags["hard_images"], for NegCLIP',
    ),
    images: str = typer.Option("", help="with --hard-images: folder, tar or Parquet shards of the images"),
    hard_count: int = typer.Option(3, min=1, help="with --hard-images: how many; the paper has 3"),
    list_recipes: bool = typer.Option(False, "--list", help="show the recipes"),
    as_json: bool = typer.Option(False, "--json", help="print the report as JSON; with --list, the recipes"),
) -> None:
    """Make hard positives and negatives. Run the same command again to resume."""
    from equipoise.perturb.recipes import QUESTIONS, Setup, recipe_names

    if list_recipes:
        if as_json:
            typer.echo(json.dumps(recipe_names(), indent=2, ensure_ascii=False))
            return
        for name, about in recipe_names().items():
            typer.echo(fold(f"{name}\n    {about}"))
        typer.echo("py:module:name\n    A recipe of your own (equipoise.perturb.Recipe), here or installed.")
        return
    if captions is None:
        raise UserError("perturb needs a file of captions, e.g. equipoise perturb captions.csv")
    from equipoise.cli.adding import add_hard_images, add_positives_to, reword_questions

    stem = Path(captions.resolve().name.removesuffix(".gz")).stem
    if add_positives:
        _refuse_others(ctx, "--add-positives", "recipe out seed limit source splits")
        target, chosen = out or Path(f"{stem}-augmented.jsonl"), recipe or "hard_positives_rules"
        add_positives_to(str(captions), target, source, splits, chosen, seed, limit)
        return
    if hard_images:
        _refuse_others(ctx, "--hard-images", "out hard_images images hard_count cache")
        add_hard_images(captions, out or Path(f"{stem}.mined.jsonl"), hard_images, images, hard_count, cache)
        return
    for name in ("source", "splits", "images", "hard_count"):
        if _is_given(ctx, name):
            form = "--add-positives" if name in {"source", "splits"} else "--hard-images MODEL"
            raise UserError(f"--{name.replace('_', '-')} goes with {form}")
    out, recipe = out or Path(f"{stem}.items.jsonl"), recipe or "balanced"
    if recipe == QUESTIONS:
        _refuse_others(ctx, f"--recipe {QUESTIONS}", "recipe out seed limit")
        reword_questions(captions, out, seed, limit)
        return
    from equipoise.core.plugins import is_named
    from equipoise.perturb.recipes import TAKE_LLM
    from equipoise.perturb.run.engine import perturb_file, report_path

    names = [name.strip() for name in recipe.split(",")]
    if _is_given(ctx, "precision") and "balanced" not in names:
        raise UserError(f"--precision: is a dial of balanced, and {recipe} has none")
    asking = [name for name in names if name in TAKE_LLM]
    if (llm or llm_model) and not asking and all(name in recipe_names() or is_named(name) for name in names):
        raise UserError(f"--llm: recipe {recipe} asks no language model; {', '.join(TAKE_LLM)} do")
    if masked_lm is not None and all(name in TAKE_LLM[1:] for name in names):
        raise UserError(f"--masked-lm: recipe {recipe} takes its words from --llm alone")
    server = None
    if llm or llm_model:
        from equipoise.core.llm_client import LlmSettings
        from equipoise.core.provenance import default_cache

        server = LlmSettings(
            llm,
            llm_model,
            cache=str(cache or default_cache()),
            key_variable=llm_key,
            concurrency=llm_concurrency,
            seed=seed,
            max_tokens=llm_max_tokens,
            temperature=llm_temperature,
        )
    masked = None if masked_lm is None else str(masked_lm)
    setup = Setup(recipe, seed, llm=server, masked_lm=masked, precision=precision, keep_all=keep_all)
    if asking and setup.llm is not None:
        often = " (balanced asks twice)" if "balanced" in asking else ""
        typer.echo(f"asking {llm_model} at {setup.llm.shown} for captions that are not in the cache{often}", err=True)
    begin("perturb", out.parent, out.name)
    report = perturb_file(
        captions,
        out,
        setup,
        workers=workers,
        engine=engine,  # type: ignore[arg-type]  # checked there
        limit=limit,
        cap=cap,
        refine=_two(refine),
        even=even_positives,
        dropped=dropped,
    )
    if as_json:
        typer.echo(json.dumps(report, indent=2))
        return
    text = f"{describe(report)}\n{_where_and_next(out, report_path(out), report, dropped)}"
    typer.echo(fold(printable(text, lines=True)))


def _is_given(ctx: typer.Context, name: str) -> bool:
    source = ctx.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _refuse_others(ctx: typer.Context, form: str, taken: str) -> None:
    """An option that would change nothing is refused."""
    known = {*taken.split(), "captions", "add_positives", "quiet"}
    if others := [name for name in ctx.params if name not in known and _is_given(ctx, name)]:
        raise UserError(f"--{others[0].replace('_', '-')} changes nothing with {form}")


def _two(names: str) -> tuple[str, str] | None:
    if not names:
        return None
    first, *rest = [name.strip() for name in names.split(",")]
    if len(rest) != 1:
        raise UserError(f"--refine {names}: expected two judges, e.g. --refine words,frequency")
    return first, rest[0]


Report = dict[str, Any]  # of perturb_file
_REASONS = 5
_WIDTH = 52  # of an example's caption


def describe(report: Report) -> str:
    """The report for people, in a quarter of a minute: what the captions got, why some got none, what words give away.

    All counts and reasons are in the report file, and `--json` prints it.
    """
    from equipoise.core.answer_store import from_cache
    from equipoise.perturb.run.counts import described

    captions, rate = report["captions"], report["captions"] / max(report["seconds"], 1e-9)
    lines = [
        f"{report['recipe']}: {report['items']:,} items from {captions:,} captions "
        f"({report['seconds']:,.1f} s, {rate:,.0f} captions/s)",
        *report["notes"],
        *([from_cache(report["answers"], report["answers_from_cache"])] if report.get("answers_from_cache") else []),
        "",
        *(line for kind in ("positive", "negative") for line in _got(report, kind)),
        f"  {report['added']['both']:>9,}  got both",
    ]
    there = any(report["had"].values())  # an items file was added to
    if report["nothing"]:
        kept = " (kept all the same: --keep-all)" if report["setup"].get("keep_all") else ""
        lines.append(f"  {report['nothing']:>9,}  got nothing{' new' if there else kept}")
    if there:
        lines.append(f"  {report['having']['both']:>9,}  have both now")
    lines += _left_out(report)
    lines += described(report["mix"], captions, _texts(report, "positive"))
    lines += _why_not(report)
    if capped := report.get("capped"):
        lost = capped["items_before"] - capped["items_after"]
        lines.append(
            f"\nno substitution more than {report['cap']:,} times: {_kept(capped)}; {lost:,} captions left without any"
        )
    if refined := report["refined"]:
        lines.append(f"\nrefined against {' and '.join(report['refine'])}: {_kept(refined)}")
    if evened := report.get("evened"):
        lines.append(
            f"\nevened: {evened['kept of each']:,} positives about relations (of {evened['relations']:,}) and as many "
            f"about attributes (of {evened['attributes']:,})"
        )
    return "\n".join([*lines, *_separability(report["separability"])])


def _kept(counts: dict[str, int]) -> str:
    positives = f"{counts['positives_after']:,} of {counts['positives_before']:,} positives"
    return f"{positives} and {counts['negatives_after']:,} of {counts['negatives_before']:,} negatives kept"


def _got(report: Report, kind: str) -> list[str]:
    """How many captions had a text of this kind before, how many got one, and how many texts that are."""
    had, got = report["had"][f"a {kind}"], report["added"][f"a {kind}"]
    texts = _texts(report, kind)
    before = [f"  {had:>9,}  had a hard {kind} already"] if had else []
    if not got and not any(name.startswith(kind) for name in report["lacking"]):
        return [*before, f"  {0:>9}  got a hard {kind}: this recipe writes none"]
    share = 100 * got / max(report["captions"], 1)
    return [*before, f"  {got:>9,}  got a hard {kind} ({share:.1f} % of the captions, {texts:,} texts)"]


def _texts(report: Report, kind: str) -> int:
    return sum(count for name, count in report["edits"].items() if name.startswith(kind))


def _left_out(report: Report) -> list[str]:
    """Captions of which nothing can be made, whatever the recipe, each reason with its first place."""
    first = {reason: where for where, reason in reversed(report["refused_at"])}
    shown = list(report["refused"].items())[:_REASONS]
    lines = [
        f"  {count:>9,}  left out: {reason}" + (f" (first: {first[reason]})" if reason in first else "")
        for reason, count in shown
    ]
    more = len(report["refused"]) - len(shown)
    return [*lines, f"             and {more:,} more reasons"] if more > 0 else lines


def _why_not(report: Report) -> list[str]:
    """The commonest reasons why a caption got no text of a kind, each with an example."""
    lacking = report["lacking"]
    if not lacking:
        return []
    shown = list(lacking.items())[:_REASONS]
    many = f"; the {_REASONS} commonest" if len(lacking) > _REASONS else ""
    new = " new" if any(report["had"].values()) else ""
    lines = [f"\nWhy some got {'no new text' if new else 'none'} (the first reason of each caption{many}):"]
    for name, count in shown:
        where, text, reason = report["lacking_at"][name]
        said = reason.partition(": ")[2]
        cut = text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."
        lines.append(f"  {count:>9,}  no{new} {name}")
        lines.append(f"             {where}: {cut}" + (f" ({said})" if said else ""))
    rest = sum(lacking.values()) - sum(count for _, count in shown)
    return [*lines, f"  {rest:>9,}  for {len(lacking) - len(shown):,} other reasons"] if rest else lines


def _separability(report: Report) -> list[str]:
    """One line: which of a caption and its edit is the caption, asked of a judge that never sees the image."""
    shares = []
    for kind in ("positive", "negative"):
        numbers = report[f"originals / {kind}s"]
        if numbers is not None:
            shares.append(f"{_percent(numbers['paired'])} against a {kind} (n = {numbers['n']:,})")
    if not shares:
        return [
            "\nToo few items to say how often words alone tell the caption from its edits (20 of a kind are needed)."
        ]
    return [
        "\nWords alone, without the image, say which of two texts is the caption (percent [95% interval], chance 50):",
        f"             {'; '.join(shares)}",
        "(One pair an item. The blind:ngram of `eval` must put a caption above all negatives of its item: another "
        "share.)",
    ]


def _percent(number: Report) -> str:
    low, high = number["interval"]
    return f"{100 * number['accuracy']:.1f} [{100 * low:.0f}, {100 * high:.0f}]"


def _where_and_next(out: Path, report: Path, counts: Report, dropped: Path | None) -> str:
    """Where everything is, and the next command that fits what these items have: images, positives, negatives."""
    items = shlex.quote(str(out))
    listed = f"every caption and candidate that was refused is in {dropped}"
    lines = [
        f"\nThe items are in {out}, all counts and reasons in {report} (--json prints them);",
        f"{listed if dropped else '--dropped FILE lists every caption and candidate that was refused'}.",
        f"Next: equipoise audit {items}",
    ]
    with out.open(encoding="utf-8") as handle:
        seen = bool(json.loads(handle.readline()).get("image"))
    if not seen:
        return "\n".join([*lines, *_NO_IMAGES])
    having = counts["having"]
    # The recipe of `train` that needs no more than these items have.
    recipe = "hard_positives_kamath_2024" if having["both"] else "hn_only" if having["a negative"] else "hp_only"
    judge = f"equipoise eval MODEL --bench {items} --images FOLDER"
    if not having["a negative"]:
        lines.append("      to judge a model they need negatives too, which another recipe adds:")
        both = shlex.quote(str(out.with_stem(out.stem + "-both")))
        judge = f"equipoise perturb {items} --recipe balanced --out {both}"
    train = f"equipoise train {recipe} --items {items} --images FOLDER --model MODEL --out RUN"
    return "\n".join([*lines, f"      {judge}", f"      {train}"])


_NO_IMAGES = (
    "      These captions name no images, so no model can be judged or trained on them (eval and train refuse).",
    "      For that give perturb a table with the columns image and caption, a row for each caption:",
    "          image,caption",
    "          photos/1.jpg,A dog on a couch",
)
