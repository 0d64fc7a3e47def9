"""Options that several commands share, and the behaviour of every command: --quiet, help, interrupts."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Annotated, Any, TypeVar, cast

import typer
import typer.core

from equipoise.core import progress
from equipoise.core.errors import Stopped, UserError, did_you_mean
from equipoise.report import FORMATS, Format

_Function = TypeVar("_Function", bound=Callable[..., object])
T = TypeVar("T")
QUIET = Annotated[bool, typer.Option("--quiet", help="no progress bars and no notes; results, warnings, errors stay")]

# What few people need: --help shows these below the others.
ADVANCED = frozenset(
    """
    --allow-missing --average --batch-size --by --cache --cap --checkpoint-every --chunk
    --dataset --device --dropped --dtype --engine --even-positives --flips --hard-count --keep-all --layout
    --llm-concurrency --llm-key --llm-max-tokens --llm-temperature --masked-lm --max-skipped --no-cache
    --quiet --refine --seed --templates --weight --workers
    """.split()
)


class Verb(typer.core.TyperCommand):
    """A command whose help has the options that few people need under a heading of their own."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        shown: dict[str, list[tuple[str, str]]] = {"Arguments": [], "Options": [], "Advanced": []}
        for param in self.get_params(ctx):
            if (record := param.get_help_record(ctx)) is not None:
                plain = "Arguments" if param.param_type_name == "argument" else "Options"
                shown["Advanced" if ADVANCED & set(param.opts) else plain].append(record)
        for heading, records in shown.items():
            if records:
                with formatter.section(heading):
                    formatter.write_dl(records)


class StoppedVerb(Exception):
    """Ctrl-C or SIGTERM. Typer would end with 130 and say nothing, so it must not see it."""

    code = 130


@contextlib.contextmanager
def _unseen_by_typer() -> Iterator[None]:
    try:
        yield
    except KeyboardInterrupt as stopped:
        ended = StoppedVerb(str(stopped))
        ended.code = stopped.code if isinstance(stopped, Stopped) else 130
        raise ended from None


# As a newcomer needs them; typer would show them as they were registered.
ORDER = tuple("demo doctor eval metrics compare report view perturb train bench audit study".split())


class Verbs(typer.core.TyperGroup):
    def list_commands(self, ctx: Any) -> list[str]:
        names = super().list_commands(ctx)
        return [name for name in ORDER if name in names] + [name for name in names if name not in ORDER]

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        if args and args[0][:1] != "-" and self.get_command(ctx, args[0]) is None:
            ctx.fail(f"No such command {args[0]!r}.{did_you_mean(args[0], self.list_commands(ctx))}")
        return super().resolve_command(ctx, args)

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        with _unseen_by_typer():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> object:
        with _unseen_by_typer():
            return super().invoke(ctx)


class App(typer.Typer):
    """Commands that all know --quiet.

    Their help is plain text: typer's boxes need rich and its Markdown, a third of the time of `--help`.
    """

    def __init__(self, **options: Any) -> None:
        wide = {"max_content_width": 100}
        super().__init__(rich_markup_mode=None, context_settings=wide, **options)

    def command(self, *names: Any, **options: Any) -> Callable[[_Function], _Function]:
        register = super().command(*names, cls=Verb, **options)

        def registered(function: _Function) -> _Function:
            register(_hushed(function))
            return function

        return registered


def _hushed(function: Callable[..., T]) -> Callable[..., T]:
    """The command with --quiet and with an end to its status file, which it need not know of itself."""

    @functools.wraps(function)
    def command(*arguments: object, quiet: bool, **options: object) -> T:
        progress.be_quiet(quiet)
        logging.getLogger().setLevel(logging.ERROR if quiet else logging.WARNING)
        with progress.recorded():
            return function(*arguments, **options)

    signature = inspect.signature(function, eval_str=True)
    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=QUIET)
    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    command.__annotations__ = {name: parameter.annotation for name, parameter in signature.parameters.items()} | {
        "quiet": QUIET
    }
    return command


TABLES = tuple(name for name in FORMATS if name != "json")  # --json is for programs, --format for people


def form_name(name: str, as_json: bool, *others: str) -> Format:
    """The format of a table; `others` are what else the command takes, for the error."""
    if name == "json" or name not in (*others, *TABLES):
        hint = " (for programs: --json)" if name == "json" else ""
        raise UserError(f"--format {name}: expected one of {', '.join([*others, *TABLES])}{hint}")
    return "json" if as_json else cast(Format, name)


def check_items_file(out: Path) -> None:
    if out.suffix not in {".jsonl", ".parquet"}:
        raise UserError(f"--out {out}: items are written as .jsonl or .parquet")


def split_names(names: str) -> list[str]:
    """'a, b' -> ['a', 'b']"""
    return [name.strip() for name in names.split(",") if name.strip()]


def offer_benchmarks(incomplete: str) -> list[str]:
    """Names of benchmarks; after a comma the next one."""
    from equipoise.benchmarks import registry

    return _offer(incomplete, registry.names())


def offer_formats(incomplete: str) -> list[str]:
    return _offer(incomplete, TABLES)


def offer_edits(incomplete: str) -> list[str]:
    from equipoise.perturb.recipes import recipe_names

    return _offer(incomplete, recipe_names())


def _offer(incomplete: str, names: Iterable[str]) -> list[str]:
    done, comma, begun = incomplete.rpartition(",")
    return [f"{done}{comma}{name}" for name in names if name.startswith(begun)]


# Arguments and options of several commands.
Bench = Annotated[
    str,
    typer.Argument(
        help="a benchmark of `bench list`, an items file, a file of facts (.toml) or py:module:name",
        autocompletion=offer_benchmarks,
    ),
]
Source = Annotated[Path | None, typer.Option(help="folder of the annotation files")]
Splits = Annotated[str, typer.Option(help="only these splits, separated by commas")]
Images = Annotated[Path | None, typer.Option("--images", help="a folder, tar or Parquet shards")]
Limit = Annotated[int | None, typer.Option(min=1, help="only the first N items")]
Seed = Annotated[int, typer.Option(min=0, help="seed of the bootstrap")]
AverageOption = Annotated[
    str | None, typer.Option("--average", help="averaging rule of the headline (see `bench show`); --json has all")
]
MetricOption = Annotated[
    list[str] | None, typer.Option("--metric", help="add your own metric, py:module:name; may be repeated")
]
FormatOption = Annotated[
    str, typer.Option("--format", help=f"one of {', '.join(TABLES)}", autocompletion=offer_formats)
]
