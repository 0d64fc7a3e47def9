"""The record of a run, as result.json holds it, and of the difference of two runs: every field with its type.

docs/result.schema.json is these classes as a JSON Schema (studies/write_schemas.py writes it). The metrics themselves
are the rows of metrics.py. Nothing here computes, and nothing loads numpy.
"""

from __future__ import annotations

from typing import Annotated, Final, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue, computed_field

from equipoise.benchmarks.ceilings import Ceilings
from equipoise.core.provenance import Environment
from equipoise.evaluation.metrics import INFO, MetricInfo

Kind = Literal["items", "classification", "retrieval", "ratings", "aggregate"]  # of a run
SCHEMA: Final = 5


class Interval(NamedTuple):
    """The middle 95%; a list of two numbers in JSON."""

    low: float
    high: float


class _Part(BaseModel):
    """Frozen, and refused with a word on every field that is missing, unknown or of the wrong type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class Number(_Part):
    """One metric of some items. Its unit and meaning are in its row of metrics.py."""

    value: float
    interval: Interval | None  # images resampled
    n: int  # items that were asked, or pairs of texts
    chance: float | None = None  # the share of a model that orders an item's texts at random
    own: MetricInfo | None = None  # of a metric of the user's own: what it is


class Numbers(_Part):
    """The metrics of some items, by name; what was not measured is left out."""

    n: int
    ties: int | float | None  # a mean where several runs are averaged; None: unknown, only outcomes were published
    image_ties: int | float | None = None  # None: no item has a negative image
    metrics: dict[str, Number]

    def __getitem__(self, metric: str) -> float | None:
        """The value; None where it was not measured."""
        if metric not in self.metrics and metric not in INFO:
            raise KeyError(metric)
        return self.metrics[metric].value if metric in self.metrics else None

    def interval(self, metric: str) -> Interval | None:
        return self.metrics[metric].interval if metric in self.metrics else None

    def count(self, metric: str) -> int:
        """The items that the metric is of."""
        return self.metrics[metric].n if metric in self.metrics else 0

    @property
    def n_positives(self) -> int:
        """Items with a hard positive: Augmented, Brittleness and drop are of those."""
        return self.count("augmented")

    @property
    def chance(self) -> dict[str, float]:
        """The values of the metrics that have one."""
        return {name: number.chance for name, number in self.metrics.items() if number.chance is not None}


class ItemNumbers(Numbers):
    """A plain mean over items."""

    images: int


class MacroNumbers(Numbers):
    """An unweighted mean over groups, as the benchmark's paper has it."""

    rule: str  # what the benchmark calls it
    over: list[str]  # tags, outermost first
    least: int  # groups with fewer items are left out
    groups: int
    left_out: int


class Summary(_Part):
    """Numbers of all items, and of each value of each tag."""

    overall: ItemNumbers
    by: dict[str, dict[str, ItemNumbers]]


class Metrics(Summary):
    """Everything a run measured."""

    averages: dict[str, MacroNumbers] = Field(default_factory=dict)  # rule -> numbers; the plain mean is `overall`
    rule: str | None = None  # the headline's; None: the plain mean

    @property
    def headline(self) -> Numbers:
        """The numbers of a result's first line: the paper's average where it has one, else the plain mean."""
        return self.by_rule(None)

    def by_rule(self, rule: str | None) -> Numbers:
        """The numbers by a rule, the headline's without one; the plain mean where too few items leave it no group."""
        return self.averages.get(rule or self.rule or "") or self.overall

    def also(self, numbers: dict[str, Number]) -> Metrics:
        """With more numbers of all items."""
        overall = self.overall.model_copy(update={"metrics": self.overall.metrics | numbers})
        return self.model_copy(update={"overall": overall})


class Gain(_Part):
    """How much more the model gets than the best blind baseline; the interval is paired over images."""

    over: str  # that baseline
    difference: float
    interval: Interval


class BlindNumbers(_Part):
    """Text metrics of image-blind baselines on the same items."""

    baselines: dict[str, dict[str, Number]]  # baseline -> metric -> number
    gain: dict[str, Gain]  # metrics where more is better, each against the best baseline

    def best(self, metric: str = "original") -> tuple[str, Number] | None:
        """The baseline with the highest share, and the share."""
        known = {name: numbers[metric] for name, numbers in self.baselines.items() if metric in numbers}
        return max(known.items(), key=lambda pair: pair[1].value) if known else None


class Blind(_Part):
    """Blind baselines of a run's own items (evaluation/baselines.py): what can be had without looking."""

    overall: BlindNumbers
    averages: dict[str, BlindNumbers] = Field(default_factory=dict)  # rule -> numbers, as in `Metrics`
    splits: dict[str, BlindNumbers] = Field(default_factory=dict)  # where there are several
    headline: str | None = None  # the rule of the run's first line; None: `overall`

    def by_rule(self, rule: str | None) -> BlindNumbers:
        return self.averages.get(rule or self.headline or "", self.overall)


class AverageId(_Part):
    """A rule by which groups become one number."""

    over: list[str]  # tags, outermost first
    least: int
    cite: str  # the paper of the rule


class BenchmarkId(_Part):
    """Which items, and what their benchmark says of itself."""

    name: str
    items_sha256: str
    splits: list[str]  # those of the items
    limit: int | None = None  # only the first so many items, None for all
    chance: dict[str, float] = Field(default_factory=dict)
    macro: list[str] = Field(default_factory=list)  # the tags its headline is averaged over
    least: int = 1  # groups with fewer items are left out of that
    averages: dict[str, AverageId] = Field(default_factory=dict)  # every rule
    metrics: list[str] = Field(default_factory=list)  # of its paper
    ties: str | None = None  # how the paper's code counts a tie; ours is never a win. None, as below: the user's items
    citation: str | None = None
    notes: str | None = None
    counts: dict[str, int] = Field(default_factory=dict)  # of a set: classes, templates, captions


class ModelCard(_Part):
    """The card of a model. A model of a user's own may add fields, or give only its name."""

    model_config = ConfigDict(extra="allow")
    __pydantic_extra__: dict[str, JsonValue]
    spec: str
    device: str
    weight_sha256: str | None = None
    digest: str | None = None  # what tells it from another where there is no hash of weights
    architecture: JsonValue = None
    activation: JsonValue = None
    attention: JsonValue = None
    preprocessing: JsonValue = None
    tokenizer: JsonValue = None
    context_length: int | None = None
    dtype: str | None = None


class Settings(_Part):
    """The caller's choices that change numbers, and the version of the code that embeds."""

    seed: int
    allow_missing: bool
    batch_size: int | None  # None where it cannot be seen in a number
    embedding_code: int
    metrics: list[MetricInfo] = Field(default_factory=list)  # of the user's own
    ask: str | None = None  # of a model that answers: the variants of each question, as --ask takes them
    until: str | None = None  # as --until takes it


class ImagesId(_Part):
    """The photos of the items that could be read: sha256 of the JSON of their sorted [path, sha256 of the bytes]."""

    sha256: str
    count: int


class ItemCounts(_Part):
    items: int
    scored: int
    skipped: int


class Seconds(_Part):
    score: float
    measure: float
    parts: dict[str, float] = Field(default_factory=dict)  # of scoring: tokenize, texts, images, ...


class Published(_Part):
    """Where answers came from that were not scored here, and what is not known of them."""

    layout: str  # in words
    files: dict[str, str]  # name -> sha256
    source: str  # a repository or an address; "unknown" unless given, as below
    commit: str
    licence: str
    unknown: list[str]  # what the files do not say: texts, photos, scores, ties, ...
    outcomes_only: bool  # right or wrong was published and no score: ties and mean scores are unknown
    notes: list[str]


class Check(_Part):
    """One check of a model before its run (evaluation/preflight)."""

    name: str
    number: float | None  # None: the model gave no answer that has one
    found: str
    verdict: Literal["fine", "suspicious", "wrong"]
    why: str
    fix: str  # "" where there is nothing to fix


class Preflight(_Part):
    """Whether the model is loaded and called correctly."""

    checks: list[Check]  # none: --skip-preflight

    @property
    def wrong(self) -> list[Check]:
        return [check for check in self.checks if check.verdict == "wrong"]

    @property
    def fine(self) -> bool:
        return bool(self.checks) and all(check.verdict == "fine" for check in self.checks)

    def words(self) -> str:
        """'14 fine, 1 suspicious (exif rotation)'."""
        if not self.checks:
            return "skipped (--skip-preflight)"
        named = {verdict: [check.name for check in self.checks if check.verdict == verdict] for verdict in VERDICTS}
        return ", ".join(
            f"{len(names)} {verdict}" + (f" ({', '.join(names)})" if verdict != "fine" else "")
            for verdict, names in named.items()
            if names
        )


VERDICTS = ("fine", "suspicious", "wrong")


class RunRecord(_Part):
    """One finished run: result.json. A run that failed writes none, so there is no status."""

    model_config = ConfigDict(populate_by_name=True)
    schema_version: Literal[5] = Field(default=SCHEMA, alias="schema")
    date: AwareDatetime  # when it was finished, UTC
    kind: Kind = "items"
    benchmark: BenchmarkId
    images: ImagesId
    model: ModelCard
    preflight: Preflight | None = None  # None: not run (Python), or the model reads no images
    settings: Settings
    metrics: Metrics
    edits: dict[str, int] = Field(default_factory=dict)  # texts by what was changed in them: "negative swap object"
    ceilings: Ceilings | None = None  # what the texts alone decide; None: not of items
    blind: Blind | None = None  # None: no item has a hard negative
    n: ItemCounts
    skipped: dict[str, str]  # item id -> why; the first hundred
    read_alike: list[str] = Field(default_factory=list)  # items: a right text has the embedding of a negative; likewise
    counts: dict[str, int]
    # Of eval: as the user gave them, with images, out, cache, batch_size and workers filled in. Of metrics: out alone.
    arguments: dict[str, JsonValue]
    environment: Environment
    seconds: Seconds
    scores_sha256: str | None  # of items.jsonl; None: none was written, the run is in memory
    record_sha256: str | None  # of all the rest as JSON; likewise
    published: Published | None = None  # None: scored here

    @property
    def of_answers(self) -> bool:
        """Whether it has answers and no scores: of a model that answers, or a log."""
        numbers = self.metrics.overall.metrics
        return self.kind == "items" and "refusals" in numbers and "mean_score_caption" not in numbers

    @property
    def trained_on(self) -> str:
        """The warning about items that the model was trained on; "" where it is not known of any."""
        seen = self.counts.get("trained_on")
        return f"{seen:,} of {self.n.items:,} items were trained on: no test of this model" if seen else ""


class Column(NamedTuple):
    """How `compare` shows a field of `Change`: a column of its table of tests, and of --format csv, md and latex."""

    head: str
    form: Literal["points", "detectable", "p", "number"] = "points"
    about: str = ""  # for the caption
    always: bool = True  # False: left out where no change has a value
    exported: bool = True  # False: not in the other formats; --json has every field


class Change(_Part):
    """One metric of two runs: after minus before."""

    difference: float
    interval: Interval
    n: int | None = None  # items that the metric asks; None: all of them
    # of comparing.models: images' signs flipped; with several seeds Student's t
    p: Annotated[float | None, Column("p", "p")] = None
    # that p-value, corrected for all of its table
    adjusted: Annotated[float | None, Column("p (Holm)", "p", "corrected for all lines of this table")] = None
    # the smallest difference that would be found in 80 of 100 repetitions
    detectable: Annotated[
        float | None,
        Column(
            "smallest detectable",
            "detectable",
            "the true difference in points that is found in about 80 of 100 repetitions (none: fewer than eight items)",
        ),
    ] = None
    # standard errors: other images, these seeds; other seeds (None: each side is one run)
    image_error: Annotated[float | None, Column("error: images", exported=False)] = None
    seed_error: Annotated[float | None, Column("seeds", always=False, exported=False)] = None
    own: MetricInfo | None = None  # of a metric of the user's own: what it is

    @computed_field  # type: ignore[prop-decorator]
    @property
    def clear(self) -> bool:
        """Whether the interval excludes zero."""
        return self.interval.low > 0 or self.interval.high < 0

    @property
    def significant(self) -> bool:
        """Whether the interval excludes zero and the corrected p-value is below 0.05."""
        return self.clear and self.adjusted is not None and self.adjusted < 0.05


class Difference(_Part):
    """The changes between two models on the same items; metrics that were not measured are left out."""

    n: int
    n_positives: int  # of them with a hard positive
    runs: tuple[int, int]
    changes: dict[str, Change]  # by metric

    def __getitem__(self, metric: str) -> Change | None:
        """The change; None where it was not measured."""
        if metric not in self.changes and metric not in INFO:
            raise KeyError(metric)
        return self.changes.get(metric)


class Comparison(Difference):
    """The difference of two run folders on one benchmark."""

    benchmark: str
    average: str = "items"  # the rule
    before: str
    after: str
