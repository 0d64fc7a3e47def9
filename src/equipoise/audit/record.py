"""The record of an audit, as `equipoise audit --json` prints it."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

SCHEMA = 1


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid", strict=True)


class Example(_Record):
    id: str  # of the item
    said: str


class TextCheck(_Record):
    """One kind of defect. `count` counts items, or (image, text) pairs for contradictions."""

    name: str
    title: str  # for people
    what: str
    bad: bool  # no model can be judged by such an item: `--clean` drops it
    count: int
    of: int  # items that could have the defect; 0 where the check does not apply
    share: float | None  # count / of
    by_split: dict[str, int]
    by_kind: dict[str, int]  # caption, positives, negatives -> texts; empty for defects of a whole item
    examples: list[Example]  # different ones, for the page
    found: list[Example]  # all
    fix: str


class Reuse(_Record):
    """How often images are reused.

    With m items of an image and n in all, effective = n^2 / sum of m^2 (Kish): the effective sample size if all items
    of an image agree. design_effect = n / effective is then the factor on a variance; if items of an image correlate
    with r, the factor is 1 + (design_effect - 1) r.
    """

    items: int
    images: int
    most: int  # largest number of items of one image
    most_of_caption: int  # and of one caption of an image
    effective: float
    design_effect: float
    examples: list[Example]
    fix: str


class Share(_Record):
    """A share with its 95 % interval (images resampled)."""

    n: int
    share: float
    interval: tuple[float, float]


class Shortcut(_Record):
    """How often a rule or classifier is right without the image. A tie counts one half."""

    name: str
    what: str
    count: float  # right answers; count / n is the share
    result: Share
    chance: float
    seen: float | None = None  # for lookups: share of the substitutions that occur in the other half
    examples: list[Example]
    fix: str


class Detector(_Record):
    """Trained on one half of the images to tell captions from negatives; what it calls wrong in the other half."""

    captions: Share
    negatives: Share
    positives: Share
    examples: list[Example]
    fix: str


class Audit(_Record):
    made_by: str = "equipoise audit"
    schema_version: int = SCHEMA
    benchmark: str
    items: int
    with_positives: int
    with_negatives: int
    splits: dict[str, int]
    checks: list[TextCheck]
    bad: list[Example]  # each item once, with the reason; `--clean` drops them
    reuse: Reuse | None  # None where no item has an image
    sample: int  # items, drawn with `seed`, that the shortcuts were measured on
    seed: int
    shortcuts: list[Shortcut]
    detector: Detector | None  # None without positives


class LabelCase(_Record):
    id: str
    probability: float  # that its label is wrong
    failed: list[str]  # models that answer against the label
    asked: int  # models that answered


class Court(_Record):
    """The record of `equipoise audit --models`; `queue` has the most suspicious items first."""

    made_by: str = "equipoise audit"
    schema_version: int = SCHEMA
    benchmark: str
    items_sha256: str
    models: list[str]
    wrong_labels: float | None  # estimated share; None where the answers do not say
    failed_by_all: int  # items that all models answered and failed
    queue: list[LabelCase]
    notes: list[str]
