"""The record of a run, as result.json holds it, and the difference of two runs: every field with its type.

docs/result.schema.json is these classes as a JSON Schema (runs/write_schemas.py writes it). The names of the metrics
are here and nowhere else. Nothing here computes, and nothing loads numpy.
"""

from __future__ import annotations

from typing import Final, Literal, NamedTuple

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field, JsonValue

from equipoise.benchmarks.ceilings import Ceilings
from equipoise.provenance import Environment

SCHEMA: Final = 2

Metric = Literal["original", "augmented", "brittleness", "drop"]
METRICS: dict[Metric, str] = {  # name: what people call it; in the order of every table
    "original": "Original accuracy",
    "augmented": "Augmented accuracy",
    "brittleness": "Brittleness",
    "drop": "drop",
}
SHARES: tuple[Metric, ...] = ("original", "augmented", "brittleness")  # those that are shares of items

ImageMetric = Literal["original", "augmented", "brittleness", "drop", "text", "image", "group"]
IMAGE_METRICS: dict[ImageMetric, str] = {  # of `image_side`; image_side.py defines them
    "original": "Image-Original accuracy",
    "augmented": "Image-Augmented accuracy",
    "brittleness": "Image-Brittleness",
    "drop": "image drop",
    "text": "text score",
    "image": "image score",
    "group": "group score",
}


class Interval(NamedTuple):
    """The middle 95%; a list of two numbers in JSON."""

    low: float
    high: float


class _Part(BaseModel):
    """Frozen, and refused with a word on every field that is missing, unknown or of the wrong type."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


# ---------------------------------------------------------------------------- numbers


class ImageNumbers(_Part):
    """The metrics of the image side of some items; None where nothing was measured."""

    n: int  # items with a negative image
    n_positives: int  # of them, those with a hard positive or a positive image
    n_groups: int  # of them, those whose negative images each have their own text: Winoground's scores are theirs
    ties: int | float
    original: float | None
    augmented: float | None
    brittleness: float | None
    drop: float | None
    text: float | None
    image: float | None
    group: float | None
    intervals: dict[ImageMetric, Interval]

    def __getitem__(self, metric: ImageMetric) -> float | None:
        if metric not in IMAGE_METRICS:
            raise KeyError(metric)
        value: float | None = getattr(self, metric)
        return value


class Numbers(_Part):
    """The metrics of some items; None where nothing was measured. `numbers["original"]` works as well."""

    n: int
    n_positives: int | None = None  # of them with a positive: Augmented, Brittleness and drop; None: not recorded
    ties: int | float | None  # a mean where several runs are averaged; None: unknown, only outcomes were published
    original: float | None
    augmented: float | None
    brittleness: float | None
    drop: float | None
    intervals: dict[Metric, Interval]
    chance: dict[Metric, float] = Field(default_factory=dict)  # of the shares, averaged alike; {}: not recorded
    image_side: ImageNumbers | None = None  # None: no item has a negative image

    def __getitem__(self, metric: Metric) -> float | None:
        if metric not in METRICS:
            raise KeyError(metric)
        value: float | None = getattr(self, metric)
        return value


class MeanScores(_Part):
    caption: float | None
    positive: float | None
    negative: float | None


class Graded(_Part):
    """How far, not only how often; evaluation/graded.py says what is whose. None where nothing was measured."""

    n_positives: int  # pairs of a caption and a hard positive
    n_negatives: int
    spread: float | None  # standard deviation of s(c) over all items of the run
    margin: float | None  # s(c) - s(n) in units of the spread; the mean over items
    margin_positive: float | None  # s(p) - s(n), likewise
    change: float | None  # |s(c) - s(p)|, likewise
    invariance_error: float | None  # LGIP: the mean of |s(c) - s(p)| over pairs, in units of the score
    sensitivity_gap: float | None  # LGIP: the mean of s(c) - s(n) over pairs
    positive_rate: float | None  # LGIP: the share of pairs with s(c) > s(n)
    intervals: dict[str, Interval]


class ItemNumbers(Numbers):
    """A plain mean over items."""

    n_positives: int
    images: int
    wilson: dict[Metric, Interval]  # for readers who do not bootstrap; it takes items for independent
    mean_scores: MeanScores
    graded: Graded | None = None  # None: not recorded (an older version)


class MacroNumbers(Numbers):
    """An unweighted mean over groups, as the benchmark's paper has it."""

    rule: str | None = None  # what the benchmark calls it; None: not recorded (an older version)
    over: list[str]  # tags, outermost first
    least: int  # groups with fewer items are left out
    groups: int
    left_out: int
    mean_scores: MeanScores | None = None  # by the same weights


class Summary(_Part):
    """Numbers of all items, and of each value of each tag."""

    overall: ItemNumbers
    by: dict[str, dict[str, ItemNumbers]]


PaperNumbers = dict[str, int | float | Interval | None]


class Metrics(Summary):
    """Everything a run measured."""

    macro: MacroNumbers | None  # of `averages`, the headline's
    averages: dict[str, MacroNumbers] = Field(default_factory=dict)  # rule -> numbers; the plain mean is `overall`
    paper: dict[str, PaperNumbers]  # metrics that single papers define; see paper_metrics

    @property
    def headline(self) -> Numbers:
        """The numbers of a result's first line: the paper's average where it has one, else the plain mean."""
        return self.macro or self.overall

    def by_rule(self, rule: str | None) -> Numbers:
        """The numbers by a rule, the headline's without one; the plain mean where too few items leave it no group."""
        return self.headline if rule is None else self.averages.get(rule) or self.overall


class BlindShare(_Part):
    """What one judge that never sees the image gets of the same items; None where nothing was measured."""

    original: float | None
    augmented: float | None
    brittleness: float | None
    intervals: dict[Metric, Interval]


class Gain(_Part):
    """How much more the model gets than the best blind judge; the interval is paired over images."""

    over: str  # that judge
    difference: float
    interval: Interval


class BlindNumbers(_Part):
    judges: dict[str, BlindShare]
    gain: dict[Metric, Gain]  # of original and augmented, each over the judge that is best at it

    def best(self, metric: Metric = "original") -> tuple[str, float] | None:
        """The judge with the highest share, and the share."""
        known = {name: value for name, one in self.judges.items() if (value := getattr(one, metric)) is not None}
        return max(known.items(), key=lambda pair: pair[1]) if known else None


class Blind(_Part):
    """Blind baselines of a run's own items (evaluation/blind): what can be had without looking."""

    overall: BlindNumbers
    averages: dict[str, BlindNumbers] = Field(default_factory=dict)  # rule -> numbers, as in `Metrics`
    splits: dict[str, BlindNumbers] = Field(default_factory=dict)  # where there are several
    headline: str | None = None  # the rule of the run's first line; None: `overall`

    def by_rule(self, rule: str | None) -> BlindNumbers:
        return self.averages.get(rule or self.headline or "", self.overall)


class Elsewhere(Metrics):
    """The numbers of scores that were made elsewhere, and what a reader of them must know."""

    layout: str  # whose; "equipoise" is ours
    outcomes_only: bool  # right or wrong was published and no score: ties and mean scores are unknown
    notes: list[str]


# ---------------------------------------------------------------------------- what was measured, with what


class AverageId(_Part):
    """A rule by which groups become one number."""

    over: list[str]  # tags, outermost first
    least: int
    cite: str  # whose rule it is


class BenchmarkId(_Part):
    """Which items, and what their benchmark says of itself."""

    name: str
    items_sha256: str
    splits: list[str] | None  # those of the items; None: not recorded (schema 1), here and below
    limit: int | None  # only the first so many items, None for all
    chance: dict[str, float]
    macro: list[str] | None  # the tags its headline is averaged over
    least: int | None  # groups with fewer items are left out of that
    averages: dict[str, AverageId] | None = None  # every rule; None: not recorded (an older version)
    metrics: list[str] | None  # of its paper
    ties: str | None  # how the paper's own code counts a tie; ours is never a win
    citation: str | None
    notes: str | None


class ModelCard(_Part):
    """What the model says of itself. A model of somebody's own may say more, or only its name."""

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
    """What the caller chose that numbers depend on, and the version of the code that embeds."""

    seed: int
    allow_missing: bool
    batch_size: int | None  # None where it cannot be seen in a number
    embedding_code: int | None


class ImagesId(_Part):
    """The photos of the items that could be read: sha256 of the JSON of their sorted [path, sha256 of the bytes]."""

    sha256: str
    count: int


class ItemCounts(_Part):
    items: int
    scored: int
    skipped: int


class FullArguments(_Part):
    """Every argument with its default filled in."""

    images: str | None
    out: str | None
    cache: str | None
    batch_size: int
    workers: int


class Arguments(_Part):
    passed: dict[str, JsonValue]  # as the user gave them
    in_full: FullArguments


class Seconds(_Part):
    score: float
    judge: float
    parts: dict[str, float] = Field(default_factory=dict)  # of scoring: tokenize, texts, images, ...


class RunRecord(_Part):
    """One finished run: result.json. A run that failed writes none, so there is no status."""

    model_config = ConfigDict(populate_by_name=True)
    schema_version: Literal[2] = Field(default=SCHEMA, alias="schema")
    date: AwareDatetime | None  # when it was finished, UTC; None: not recorded (schema 1)
    benchmark: BenchmarkId
    images: ImagesId | None
    model: ModelCard
    settings: Settings
    metrics: Metrics
    edits: dict[str, Graded] = Field(default_factory=dict)  # by what the items say was changed: "negative swap object"
    ceilings: Ceilings | None = None  # what the texts alone decide; None: not recorded (an older version)
    blind: Blind | None = None  # None: not recorded (an older version), or no item has a hard negative
    n: ItemCounts
    skipped: dict[str, str]  # item id -> why; the first hundred
    counts: dict[str, int]
    arguments: Arguments
    environment: Environment
    seconds: Seconds
    scores_sha256: str | None  # of items.jsonl; None: none was written


# ---------------------------------------------------------------------------- differences


class Change(_Part):
    """One metric of two runs: after minus before."""

    difference: float
    interval: Interval
    clear: bool  # the interval leaves zero out
    by_run: list[float]
    mcnemar: float | None = None  # p-value; one run a side, one item an image, all of the same weight
    p: float | None = None  # of comparing.models: images' signs flipped; with several seeds Student's t
    adjusted: float | None = None  # that p-value, corrected for all of its table
    detectable: float | None = None  # the smallest difference that would be found in 80 of 100 repetitions
    image_error: float | None = None  # standard errors: other images, these seeds
    seed_error: float | None = None  # other seeds; None: each side is one run

    @property
    def shown(self) -> bool:
        """Whether interval and corrected p-value both say that there is a difference: the rule of a verdict."""
        return self.clear and self.adjusted is not None and self.adjusted < 0.05


class Difference(_Part):
    """What changed between two models on the same items; None where nothing was measured."""

    n: int
    n_positives: int | None = None  # of them with a positive; None: not recorded (an older version)
    runs: tuple[int, int]
    original: Change | None = None
    augmented: Change | None = None
    brittleness: Change | None = None
    drop: Change | None = None
    image_side: dict[ImageMetric, Change] = Field(default_factory=dict)  # where items have negative images

    def __getitem__(self, metric: Metric) -> Change | None:
        if metric not in METRICS:
            raise KeyError(metric)
        value: Change | None = getattr(self, metric)
        return value


class Comparison(Difference):
    """The difference of two run folders on one benchmark."""

    benchmark: str
    average: str = "items"  # the rule
    before: str
    after: str
    notes: list[str] = []
