"""equipoise perturb: captions -> Items with hard positives and hard negatives."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise.cli.options import offer_edits
from equipoise.errors import UserError, printable

if TYPE_CHECKING:
    from equipoise.served.client import LlmSettings


def perturb(
    captions: Annotated[
        Path | None,
        typer.Argument(
            help="txt, csv, tsv, json, jsonl, parquet or webdataset tar; COCO annotations; an items file, which is "
            "added to; or a folder"
        ),
    ] = None,
    recipe: Annotated[
        str,
        typer.Option(
            help="one of `perturb --list`, or several joined by commas; py:module:name is your own",
            autocompletion=offer_edits,
        ),
    ] = "hard_positives_rules",
    out: Annotated[Path | None, typer.Option(help="the items file to write, .jsonl")] = None,
    workers: Annotated[int, typer.Option(min=1, help="processes")] = os.cpu_count() or 1,
    engine: Annotated[str, typer.Option(help="local, or ray (the extra: scale)")] = "local",
    seed: Annotated[int, typer.Option(min=0, help="of every draw; the same seed gives the same bytes")] = 0,
    limit: Annotated[int | None, typer.Option(min=1, help="only the first N captions, for a first look")] = None,
    keep_all: Annotated[
        bool, typer.Option("--keep-all", help="also write the captions that no edit applies to")
    ] = False,
    refine: Annotated[
        str, typer.Option(help="balance edits against two blind judges: words, length, frequency, lm:FOLDER")
    ] = "",
    even_positives: Annotated[
        bool,
        typer.Option(
            "--even-positives", help="draw as many positives about relations (verbs, prepositions) as about attributes"
        ),
    ] = False,
    llm: Annotated[str, typer.Option(help="an OpenAI-compatible server, e.g. http://127.0.0.1:8000/v1")] = "",
    llm_model: Annotated[str, typer.Option(help="the model's name on that server")] = "",
    llm_key: Annotated[str, typer.Option(help="environment variable that holds the server's key")] = "OPENAI_API_KEY",
    llm_max_tokens: Annotated[
        int | None,
        typer.Option(min=1, help="tokens of an answer; the paper's 30 for replace, 20 for swap if not given"),
    ] = None,
    llm_temperature: Annotated[float, typer.Option(min=0.0, help="0 decodes the likeliest answer")] = 0.0,
    llm_concurrency: Annotated[int, typer.Option(min=1, help="requests at a time")] = 16,
    masked_lm: Annotated[Path | None, typer.Option(help="folder of a masked language model as a word source")] = None,
    tagger: Annotated[str, typer.Option(help="parts of speech: brill, or spacy:MODEL (the extra: spacy)")] = "brill",
    checks: Annotated[
        str, typer.Option(help="checks beside the recipe's own: link-grammar, embedding:FOLDER, lm:FOLDER")
    ] = "",
    cache: Annotated[Path | None, typer.Option(help="folder of the language model's answers")] = None,
    dropped: Annotated[
        Path | None, typer.Option(help="list every caption and candidate that gave no text, with the reason, in FILE")
    ] = None,
    list_recipes: Annotated[bool, typer.Option("--list", help="show the recipes")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="print the report as JSON; with --list, the recipes")] = False,
) -> None:
    """Make hard positives and negatives. The same command goes on with a run that was stopped."""
    from equipoise.perturb.run.setup import Setup, recipe_names

    if list_recipes:
        if as_json:
            typer.echo(json.dumps(recipe_names(), indent=2, ensure_ascii=False))
            return
        for name, about in recipe_names().items():
            typer.echo(f"{name}\n    {about}")
        typer.echo("py:module:name\n    A recipe of your own (equipoise.perturb.Recipe), here or installed.")
        return
    if captions is None or out is None:
        raise UserError(f"perturb needs captions and --out: equipoise perturb CAPTIONS --recipe {recipe} --out F.jsonl")
    from equipoise.perturb.llm.recipes import LLM_RECIPES
    from equipoise.perturb.run.engine import perturb_file, report_path
    from equipoise.plugins import is_named

    names = [name.strip() for name in recipe.split(",")]
    asking = [name for name in names if name in LLM_RECIPES]
    if (llm or llm_model) and not asking and all(name in recipe_names() or is_named(name) for name in names):
        raise UserError(f"--llm: recipe {recipe} asks no language model; {', '.join(LLM_RECIPES)} do")
    if masked_lm is not None and len(asking) == len(names):
        raise UserError(f"--masked-lm: recipe {recipe} takes its words from --llm alone")
    setup = Setup(
        recipe,
        seed,
        llm=_llm(
            llm,
            llm_model,
            cache,
            key_variable=llm_key,
            concurrency=llm_concurrency,
            seed=seed,
            max_tokens=llm_max_tokens,
            temperature=llm_temperature,
        )
        if llm or llm_model
        else None,
        masked_lm=None if masked_lm is None else str(masked_lm),
        tagger=tagger,
        checks=tuple(name for part in checks.split(",") if (name := part.strip())),
        keep_all=keep_all,
    )
    if asking and setup.llm is not None:
        typer.echo(f"asking {llm_model} at {setup.llm.shown} for every caption that is not in the cache", err=True)
    report = perturb_file(
        captions,
        out,
        setup,
        workers=workers,
        engine=engine,  # type: ignore[arg-type]  # checked there
        limit=limit,
        refine=_two(refine),
        even=even_positives,
        dropped=dropped,
    )
    typer.echo(json.dumps(report, indent=2) if as_json else printable(describe(report), lines=True))
    if not as_json:
        listed = "" if dropped is None else f", {dropped}"
        typer.echo(f"\n{out}{listed} and {report_path(out)} are written")


def _llm(url: str, model: str, cache: Path | None, **settings: Any) -> LlmSettings:
    from equipoise.evaluation.embedding.cache import default_cache
    from equipoise.served.client import LlmSettings

    return LlmSettings(url, model, cache=str(cache or default_cache()), **settings)


def _two(names: str) -> tuple[str, str] | None:
    if not names:
        return None
    first, *rest = [name.strip() for name in names.split(",")]
    if len(rest) != 1:
        raise UserError(f"--refine {names}: expected two judges, e.g. --refine words,frequency")
    return first, rest[0]


# ---------------------------------------------------------------------------- the printed report


def describe(report: dict[str, Any]) -> str:
    """The report for people: what was made, what was dropped and why, what the words give away."""
    captions, rate = report["captions"], report["captions"] / max(report["seconds"], 1e-9)
    lines = [
        f"{report['recipe']}: {report['items']:,} items from {captions:,} captions "
        f"({report['seconds']:,.1f} s, {rate:,.0f} captions/s)",
        *report["notes"],
        *_table("texts (share of the captions)", report["edits"], captions),
        *_table("items with (share of the items)", report["having"], report["items"]),
    ]
    if report["nothing"]:
        kept = " (all kept: --keep-all)" if report["setup"].get("keep_all") else ""
        lines.append(f"\n{report['nothing']:,} captions gave nothing: no edit of this recipe applies{kept}")
        lines += _places(report["nothing_at"], report["nothing"])
    lines += _table("captions left out", report["refused"])
    lines += _places(report["refused_at"], sum(report["refused"].values()))
    lines += _first(_table("candidates dropped", report["dropped"]))
    lines += _first(_table("captions without a text, by kind and reason", report["empty"]))
    if refined := report["refined"]:
        lines.append(
            f"\nrefined against {' and '.join(report['refine'])}: {refined['positives_after']:,} of "
            f"{refined['positives_before']:,} positives and {refined['negatives_after']:,} of "
            f"{refined['negatives_before']:,} negatives kept"
        )
    if evened := report.get("evened"):
        lines.append(
            f"\nevened: {evened['kept of each']:,} positives about relations (of {evened['relations']:,}) and as many "
            f"about attributes (of {evened['attributes']:,})"
        )
    return "\n".join([*lines, *_separability(report["separability"])])


def _places(listed: list[list[str]], total: int) -> list[str]:
    """The first places with their reasons, and how many more there are."""
    lines = [f"    {where}: {reason}" for where, reason in listed[:_SHOWN]]
    more = total - len(lines)
    return [*lines, f"    and {more:,} more (--dropped FILE lists them all)"] if more > 0 else lines


def _first(table: list[str]) -> list[str]:
    more = len(table) - _ROWS - 1
    return table if more <= 0 else [*table[: _ROWS + 1], f"    and {more:,} more reasons (in the report)"]


_SHOWN, _ROWS = 5, 20


def _table(title: str, rows: dict[str, int], whole: int = 0) -> list[str]:
    share = {name: f" {100 * count / whole:5.1f} %" if whole else "" for name, count in rows.items()}
    return [f"\n{title}", *(f"  {count:>9,}{share[name]}  {name}" for name, count in rows.items())] if rows else []


def _separability(found: dict[str, Any]) -> list[str]:
    lines = [
        f"\n{'told apart by words alone: accuracy [95 % interval], chance 50':<62}{'one text':>16}{'which of two':>18}"
    ]
    for pair, numbers in found.items():
        if numbers is None:
            lines.append(f"  {pair:<26} too few to say")
        else:
            unpaired, paired = (_percent(numbers[name]) for name in ("unpaired", "paired"))
            lines.append(f"  {pair:<26} n = {numbers['n']:<6,}{unpaired:>39}{paired:>18}")
    return lines


def _percent(number: dict[str, Any]) -> str:
    low, high = (100 * bound for bound in number["interval"])
    return f"{100 * number['accuracy']:.1f} [{low:.0f}, {high:.0f}]"
