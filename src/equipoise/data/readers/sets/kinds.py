"""The sets of runs without items: photos with a class, with captions, or with rated captions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar, Literal, TypeAlias

from equipoise.core.files import sha256_json
from equipoise.data.images import ImageSource
from equipoise.data.items import ImageRef

Kind = Literal["classification", "retrieval", "ratings"]


@dataclass(frozen=True)
class _Set:
    name: str
    split: str | None
    source: ImageSource


@dataclass(frozen=True)
class ClassSet(_Set):
    """Photos that each show one of `classes`. A template has `{}` where the name of a class goes."""

    kind: ClassVar[Kind] = "classification"
    classes: tuple[str, ...]
    templates: tuple[str, ...]
    photos: tuple[tuple[str, int], ...]  # path, number of its class

    def refs(self) -> list[ImageRef]:
        return [ImageRef.model_construct(path=path, box=None) for path, _ in self.photos]

    def content(self) -> object:
        return [self.classes, self.templates, self.photos]

    def counts(self) -> dict[str, int]:
        return {"classes": len(self.classes), "templates": len(self.templates), "photos": len(self.photos)}


@dataclass(frozen=True)
class Caption:
    id: str
    photo: int  # its place in `CaptionSet.photos`
    text: str


@dataclass(frozen=True)
class CaptionSet(_Set):
    """Photos, each with the captions that people wrote for it."""

    kind: ClassVar[Kind] = "retrieval"
    photos: tuple[ImageRef, ...]
    captions: tuple[Caption, ...]
    left_out: dict[str, str] = field(default_factory=dict)  # where -> why a caption could not be read

    def refs(self) -> list[ImageRef]:
        return list(self.photos)

    def content(self) -> object:
        photos = [[photo.path, photo.box] for photo in self.photos]
        return [photos, [[caption.id, caption.photo, caption.text] for caption in self.captions]]

    def counts(self) -> dict[str, int]:
        return {"photos": len(self.photos), "captions": len(self.captions), "captions_left_out": len(self.left_out)}


@dataclass(frozen=True)
class Rated:
    id: str
    photo: ImageRef
    text: str
    rating: float  # the mean of what people gave


@dataclass(frozen=True)
class RatingSet(_Set):
    """Captions and photos, and people's ratings of how well they match."""

    kind: ClassVar[Kind] = "ratings"
    pairs: tuple[Rated, ...]

    def refs(self) -> list[ImageRef]:
        return list({(pair.photo.path, pair.photo.box): pair.photo for pair in self.pairs}.values())

    def content(self) -> object:
        return [[pair.id, pair.photo.path, pair.photo.box, pair.text, pair.rating] for pair in self.pairs]

    def counts(self) -> dict[str, int]:
        return {"photos": len(self.refs()), "pairs": len(self.pairs)}


AnySet: TypeAlias = ClassSet | CaptionSet | RatingSet


def content_hash(data: AnySet) -> str:
    """Hash of the names, texts and labels, without the photos."""
    return sha256_json([data.kind, data.content()])
