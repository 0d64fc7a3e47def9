"""The commands: each reads its arguments, calls the library and prints.

Heavy imports (torch, transformers) happen inside the commands, so that `--help` and `bench list` answer at once.
"""

from __future__ import annotations

import codecs
import io
import json
import logging
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from equipoise import __version__
from equipoise.cli.asking import Batches, announce, batches, print_plan
from equipoise.cli.audit import audit
from equipoise.cli.bench import app as bench_commands
from equipoise.cli.compare import compare
from equipoise.cli.metrics import metrics
from equipoise.cli.options import (
    App,
    AverageOption,
    FormatOption,
    Images,
    Limit,
    MetricOption,
    Seed,
    Splits,
    StoppedVerb,
    Verbs,
    form_name,
    offer_benchmarks,
    split_names,
)
from equipoise.cli.perturb import perturb
from equipoise.cli.report import report
from equipoise.cli.study import app as study_commands
from equipoise.cli.train import app as train_commands
from equipoise.cli.view import view
from equipoise.core.errors import UserError, printable, stopped_words
from equipoise.core.garbage import seldom_collected
from equipoise.core.progress import begin, fail, is_watched
from equipoise.report import fold

if TYPE_CHECKING:
    from equipoise.evaluation.record import Preflight
    from equipoise.models.base import Model

app = App(
    cls=Verbs,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    help="Does a vision-language model know when a change of words changes the meaning?",
)
ModelSpec = Annotated[
    str,
    typer.Argument(
        help="hf:NAME-or-folder, paper:negclip@FILE, checkpoint:FILE?act=..., served:MODEL@URL, blind:ngram, "
        "py:module:factory, world"
    ),
]

ASKING: Any = {"rich_help_panel": "Models that answer"}

app.add_typer(bench_commands, name="bench")
for verb in (audit, metrics, perturb, report, compare, view):
    app.command()(verb)
app.add_typer(train_commands, name="train")
app.add_typer(study_commands, name="study")


_LINES = str.maketrans("┃│┡┩├┤", "||++++") | str.maketrans("━─═", "---")


def _plain(error: UnicodeError) -> tuple[str, int]:
    """Characters that a console without UTF-8 lacks: lines of tables in ASCII, anything else as a question mark."""
    assert isinstance(error, UnicodeEncodeError)
    lost = error.object[error.start : error.end].translate(_LINES)
    corners = re.sub("[\u2500-\u257f]", "+", lost)
    return re.sub(r"[^\x00-\x7f]", "?", corners), error.end


def main() -> None:
    """Run a command; errors of the user end in one message and exit code 2, never in a traceback."""
    # Threads that wait should sleep: on a busy machine their spinning made small models several times slower.
    os.environ.setdefault("OMP_WAIT_POLICY", "passive")
    # pydantic would read the metadata of every installed package, looking for plug-ins: a tenth of `bench list`.
    os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "1")
    codecs.register_error("plain", _plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper) and stream.isatty():
            stream.reconfigure(errors="plain")
        elif isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(encoding="utf-8")  # a file or a pipe: nothing may be lost
    notes = logging.StreamHandler()  # what loaders left out, and why
    notes.setFormatter(_Printable("note: %(message)s"))
    logging.basicConfig(handlers=[notes], level=logging.WARNING)
    try:
        with seldom_collected():
            code = app(standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except UserError as error:
        _fail(str(error), 2)
    except (typer.Abort, KeyboardInterrupt, StoppedVerb) as stopped:
        _fail(str(stopped) or stopped_words(sys.argv[1:]), getattr(stopped, "code", 130))
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        _fail(f"{error.filename or 'a file'}: {error.strerror or error}", 2)
    except MemoryError:
        _fail("not enough memory for this; nothing that was finished is lost", 2)
    except Exception as error:
        if hasattr(error, "show"):  # a usage error; typer has its own copy of click, so it has no public class
            error.show()
            sys.exit(2)
        if os.environ.get("EQUIPOISE_TRACEBACK"):
            raise
        if isinstance(error, RuntimeError) and str(error).startswith("Symlink loop"):  # Path.resolve
            _fail(f"{error}: a link that leads to itself; name another path", 2)
        from equipoise.core.plugins import own_frame

        if "py:" in " ".join(sys.argv) and (line := own_frame(error)):  # their bug, not ours
            _fail(f"your own code failed ({type(error).__name__}: {error})\n  {line}", 2)
        _fail(
            f"a bug in equipoise, please report it: {type(error).__name__}: {error}\n"
            "(EQUIPOISE_TRACEBACK=1 shows where it happened)",
            3,
        )


class _Printable(logging.Formatter):
    def format(self, record: logging.LogRecord) -> str:
        return printable(super().format(record), lines=True)


def _fail(message: str, code: int) -> None:
    typer.echo(printable(f"error: {message}", lines=True), err=True)
    sys.exit(code)


@app.callback(invoke_without_command=True)
def root(version: bool = typer.Option(False, "--version", help="print the version")) -> None:
    if version:
        typer.echo(f"equipoise {__version__}")
        raise typer.Exit


@app.command("eval")
def evaluate(
    model: ModelSpec,
    bench: str = typer.Option(
        ...,
        help="benchmarks, items files or py:module:name, separated by commas; also coco-retrieval, "
        "NAME-zeroshot, zeroshot:DIR, retrieval:FILE, ratings:FILE",
        autocompletion=offer_benchmarks,
    ),
    source: Path | None = typer.Option(None, help="folder of the benchmark's annotation files"),
    data: Images = None,
    splits: Splits = "",
    out: Path | None = typer.Option(None, help="folder for the run: OUT/BENCHMARK/result.json"),
    limit: Limit = None,
    allow_missing: bool = typer.Option(False, "--allow-missing", help="skip items with missing or corrupt images"),
    device: str = typer.Option("auto", help="auto, cpu, cuda, mps"),
    dtype: str = typer.Option("float32", help="float32, tf32, bfloat16, float16"),
    batch_size: int | None = typer.Option(None, min=1, help="default: 16, on a GPU 256; smaller for pair scorers"),
    workers: int | None = typer.Option(None, min=1, help="processes that decode images; default: one per core"),
    cache: Path | None = typer.Option(None, help="folder of the embedding cache"),
    no_cache: bool = typer.Option(False, "--no-cache", help="do not read or write the embedding cache"),
    average: AverageOption = None,
    metric: MetricOption = None,
    templates: Path | None = typer.Option(None, help='for zero-shot classification: one per line, "a photo of a {}."'),
    skip_preflight: bool = typer.Option(
        False, "--skip-preflight", help="do not check the model first; tables will say so"
    ),
    ask: str | None = typer.Option(
        None, help="for a model that answers: wordings,orders,prompts:5,repeats:2; default wordings,orders", **ASKING
    ),
    until: str | None = typer.Option(
        None, help="stop when the interval is within so many points, e.g. brittleness:2", **ASKING
    ),
    dry_run: bool = typer.Option(False, "--dry-run", help="print requests, tokens and cost; ask nothing", **ASKING),
    price: str | None = typer.Option(None, help="dollars per million tokens, in and out, e.g. 2.5,10", **ASKING),
    batch_out: Path | None = typer.Option(None, help="write the requests as OpenAI batch files", **ASKING),
    batch_in: list[Path] | None = typer.Option(None, help="read the results of such batches", **ASKING),
    seed: Seed = 0,
    form: FormatOption = "text",
    verbose: bool = typer.Option(False, "--verbose", help="print all statistics; --json always has them"),
    as_json: bool = typer.Option(False, "--json", help="JSON, for programs"),
) -> None:
    """Score and measure a model. Run the same command again to resume a stopped run.

    With several GPUs: torchrun --nproc-per-node N -m equipoise eval ...
    """
    shown = form_name(form, as_json)
    passed = {name: str(value) if isinstance(value, Path) else value for name, value in locals().items()}
    del passed["shown"]
    passed["batch_in"] = [str(path) for path in batch_in or ()]
    names = split_names(bench)
    if not names:
        raise UserError(f"--bench {bench!r}: names no benchmark; `equipoise bench list` shows all")
    if no_cache and cache is not None:
        raise UserError("--cache and --no-cache exclude each other; give one of them")
    from equipoise.core.provenance import default_cache
    from equipoise.data.identity import steady
    from equipoise.embedding.cache import EmbeddingCache, joined
    from equipoise.evaluation.asking.until import parse_until
    from equipoise.evaluation.metrics import load_metrics
    from equipoise.evaluation.results import refuse_early
    from equipoise.evaluation.run import ask_of, evaluate_loaded, read_benchmarks
    from equipoise.models import OF_PHOTOS, kind_named, load_model
    from equipoise.models.base import device_named
    from equipoise.report.footnotes import eval_table
    from equipoise.report.tables import caveats, render, result_rows

    rows = []
    if until is not None:
        parse_until(until)
    device_named(device)
    kind, own = kind_named(model), load_metrics(metric or [])
    loaded = read_benchmarks(
        names, source=source, data=data, splits=split_names(splits), out=out, average=average, templates=templates
    )
    loaded = [task.limited(limit) for task in loaded]
    for task in loaded:
        if out is not None:
            refuse_early(out / task.name, model, task.about())
        if kind in OF_PHOTOS:
            task.check_photos(allow_missing)  # before torch, which takes seconds to load
    if dry_run and ask is None and kind not in ("served", "py"):
        raise UserError(f"--dry-run counts the requests of a model that answers; {kind}: gives scores. Give --ask too")
    if shown == "text" and is_watched():
        typer.echo(printable(f"loading {model.partition('?')[0]} ..."), err=True)  # options may hold a key by mistake
    if out is not None and not dry_run:
        begin("eval", out)
    with steady(), joined() as ranks:
        judged, store = load_model(model, device=device, dtype=dtype), None if no_cache else cache or default_cache()
        wanted = ask_of(judged, ask)
        if wanted is None and (until or dry_run or batch_out or batch_in):
            raise UserError(f"--until, --dry-run and batches are for a model that answers; {kind}: gives scores")
        if wanted is not None and dry_run:
            print_plan(loaded, wanted, price, not skip_preflight, as_json)
            return
        if wanted is not None and ranks.number == 0:
            files = Batches(batch_out, batch_in or ())
            if files and not batches(judged, loaded, wanted, store or default_cache(), files):
                return
            announce(loaded, wanted, price)
        checks = _preflight(judged, model, store, skip_preflight or bool(batch_in)) if ranks.number == 0 else None
        results = evaluate_loaded(
            judged,
            loaded,
            out=out,
            allow_missing=allow_missing,
            batch_size=batch_size,
            workers=workers,
            cache=None if store is None else EmbeddingCache(store),
            preflight=checks,
            seed=seed,
            metrics=own,
            ask=wanted,
            until=until,
            arguments=passed,
            ranks=ranks,
        )
        for result in results:
            record = result.record
            if result.read_from is not None:
                typer.echo(printable(f"{record.benchmark.name}: read from {result.read_from}, not computed"), err=True)
            if shown in {"text", "md"}:
                typer.echo(eval_table(record, shown, average, verbose))
            else:
                rows += result_rows(record, average)
                for caveat in caveats(record):  # a table for people has them below
                    typer.echo(printable(f"warning: {record.benchmark.name}: {caveat}"), err=True)
            tags = [tag for tag, values in record.metrics.by.items() if tag != "split" and len(values) > 1]
            if shown == "text" and out is not None and tags and is_watched():
                items_file = out / record.benchmark.name / "items.jsonl"
                typer.echo(printable(f"breakdowns by {', '.join(tags)}: equipoise metrics {items_file}"), err=True)
        if shown == "text" and out is not None and is_watched():
            typer.echo(f"saved in {out}; view it with: equipoise report {out} --out report.html", err=True)
    if rows:  # one document for all benchmarks, so that a program can read it
        typer.echo(render(rows, shown, "the model was not checked (--skip-preflight)" if skip_preflight else ""))


def _preflight(model: Model, spec: str, cache: Path | None, skip: bool) -> Preflight | None:
    """The checks before a run; ends the command where one is wrong, and says in a line what is suspicious."""
    from equipoise.evaluation.record import Preflight

    if skip:
        return Preflight(checks=[])
    from equipoise.evaluation.preflight.judging import checked

    preflight = checked(model, spec, cache)
    if preflight is not None and preflight.wrong:
        from equipoise.cli.machine import show_checks

        show_checks(preflight.wrong, err=True)
        message = f"error: {spec}: {preflight.words()}; nothing was scored. All checks: equipoise doctor {spec}. "
        typer.echo(printable(f"{message}To score it as it is: --skip-preflight"), err=True)
        fail(message)
        raise typer.Exit(1)
    if preflight is not None and any(check.verdict != "fine" for check in preflight.checks):
        typer.echo(printable(f"checked: {preflight.words()}; what it means: equipoise doctor {spec}"), err=True)
    return preflight


@app.command()
def demo(
    out: Path = typer.Option(Path("demo-out"), help="folder for the demo's files"),
    seeds: int = typer.Option(1, min=1, help="finetuning runs of each kind"),
    captions: Path | None = typer.Option(None, help="your captions, with the path of each photo"),
    images: str = typer.Option("", help="with --captions: folder, tar or Parquet shards of the photos"),
    model: str = typer.Option("", help="with --captions: a CLIP or SigLIP, as `train` takes it"),
    options: list[str] | None = typer.Option(
        None, "--set", help="with --captions: a training setting, e.g. --set lr=5e-5"
    ),
    device: str = typer.Option("auto", help="with --captions: auto, cpu, cuda or mps"),
    as_json: bool = typer.Option(False, "--json", help="the table as JSON"),
) -> None:
    """Show what hard-negative finetuning does, in minutes. Evaluate, finetune, compare, report; no GPU, no download.
    On drawn pictures, or with --captions, --images and --model on your own."""
    own = {"--captions": captions, "--images": images, "--model": model}
    if any(own.values()) and not all(own.values()):
        raise UserError(f"the demo on your own photos needs {', '.join(name for name in own if not own[name])} as well")
    if options and captions is None:
        raise UserError("--set is for the demo on your own photos: give --captions, --images and --model")
    from equipoise.core.run_folder import refuse_early
    from equipoise.models.base import device_named

    device_named(device)
    refuse_early(out, "demo", {}, writes=("report.html", "training", "runs"))  # before torch is loaded
    begin("demo", out)
    from equipoise.demo import in_lines, run_demo, table

    if captions is None:
        from equipoise.demo.stories import world_story

        story, lasts = world_story(), " About three minutes on two idle cores."
    else:
        from equipoise.cli.train import settings_of
        from equipoise.demo.photos import estimate, photo_story
        from equipoise.models.clip import pick_device

        story = photo_story(captions, images, model, out / "captions", settings_of(options or []), pick_device(device))
        lasts = f" About {max(1, round(seeds * estimate(story)))} minutes on this machine."
    models, page = run_demo(out, story, range(seeds), lasts)
    if as_json:
        typer.echo(json.dumps(table(story, models), indent=2))
        return
    typer.echo(in_lines(story, models))
    typer.echo(fold(page.lead[0]))
    typer.echo(f"open {out / 'report.html'}")


@app.command()
def doctor(
    model: str | None = typer.Argument(None, help="a model spec, as for `eval`; default: check this machine"),
    as_json: bool = typer.Option(False, "--json", help="a list of objects"),
) -> None:
    """Check this machine, or whether MODEL is loaded correctly. Prints what is wrong and its fix (exit code 1)."""
    from equipoise.cli.machine import OPTIONAL, broken, check_model
    from equipoise.cli.machine import report as found_here

    if model is not None:
        raise typer.Exit(check_model(model, as_json))
    rows = found_here()
    if as_json:
        typer.echo(json.dumps([dict(zip(("subject", "found", "fine"), row, strict=True)) for row in rows], indent=2))
    else:
        for name, found, fine in rows:
            mark = "ok  " if fine else "    " if name in OPTIONAL else "MISS"
            shown = found.replace("; run: ", f"\n{'':23}run: ")  # a command on a line of its own, to be copied
            typer.echo(fold(f"{mark}  {name:16} {shown}", hang=23))
    raise typer.Exit(1 if broken(rows) else 0)
