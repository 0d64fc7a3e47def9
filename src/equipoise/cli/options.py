"""What several commands read in the same way, and what every command understands."""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
from collections.abc import Callable, Iterable, Iterator
from typing import Annotated, Any, TypeVar, cast

import typer
import typer.core

from equipoise import progress
from equipoise.errors import Stopped, UserError, did_you_mean
from equipoise.report import FORMATS, Format

OLD_NAMES = {"--data": "--images"}  # what an option was called once -> what it is called; not shown, still understood
_Function = TypeVar("_Function", bound=Callable[..., Any])
QUIET = Annotated[bool, typer.Option("--quiet", help="no progress bars and no notes; results, warnings, errors stay")]


class Verb(typer.core.TyperCommand):
    """A command that still understands the old names of its options."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        known = {name for param in self.params for name in param.opts}
        return super().parse_args(ctx, [_today(word, known) for word in args])


def _today(word: str, known: set[str]) -> str:
    name, equals, value = word.partition("=")
    new = OLD_NAMES.get(name, name)
    return f"{new}{equals}{value}" if new in known and name not in known else word


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
ORDER = (
    *("demo", "doctor", "eval", "metrics", "compare", "report", "board", "export", "perturb", "mine", "train"),
    *("bench", "audit", "standard", "analyse", "study"),
)


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

    def invoke(self, ctx: Any) -> Any:
        with _unseen_by_typer():
            return super().invoke(ctx)


class App(typer.Typer):
    """Commands that all know --quiet and the old names.

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


def _hushed(function: Callable[..., Any]) -> Callable[..., Any]:
    """The command with the option --quiet, which it need not know of itself."""

    @functools.wraps(function)
    def command(*arguments: Any, quiet: bool, **options: Any) -> Any:
        progress.be_quiet(quiet)
        logging.getLogger().setLevel(logging.ERROR if quiet else logging.WARNING)
        return function(*arguments, **options)

    signature = inspect.signature(function, eval_str=True)
    option = inspect.Parameter("quiet", inspect.Parameter.KEYWORD_ONLY, default=False, annotation=QUIET)
    command.__signature__ = signature.replace(  # type: ignore[attr-defined]
        parameters=[*signature.parameters.values(), option]
    )
    command.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()} | {"quiet": QUIET}
    return command


# ---------------------------------------------------------------------------- values


def form_name(name: str, *others: str) -> Format:
    """The format of a table; `others` are what else the command takes, for the error."""
    if name not in FORMATS:
        raise UserError(f"--format {name}: expected one of {', '.join([*others, *FORMATS])}")
    return cast(Format, name)


def split_names(names: str) -> list[str]:
    """'a, b' -> ['a', 'b']"""
    return [name.strip() for name in names.split(",") if name.strip()]


# ---------------------------------------------------------------------------- what a shell offers after TAB


def offer_benchmarks(incomplete: str) -> list[str]:
    """Names of benchmarks; after a comma the next one."""
    from equipoise import registry

    return _offer(incomplete, registry.names())


def offer_formats(incomplete: str) -> list[str]:
    return _offer(incomplete, FORMATS)


def offer_edits(incomplete: str) -> list[str]:
    """Names of perturbation recipes."""
    from equipoise.perturb.run.setup import recipe_names

    return _offer(incomplete, recipe_names())


def _offer(incomplete: str, names: Iterable[str]) -> list[str]:
    done, comma, begun = incomplete.rpartition(",")
    return [f"{done}{comma}{name}" for name in names if name.startswith(begun)]
