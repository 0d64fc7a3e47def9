"""Asks a model every question about some items, photo by photo, and keeps each answer at once.

An answer is kept by the model, the photos' bytes, the prompt and the number of the repeat, so a stopped run asks
nothing twice. Questions about one photo follow each other, so that a server's prefix cache serves them. A model with
`concurrency` is asked by so many threads; any other gets lists of `batch_size` questions.
"""

from __future__ import annotations

import hashlib
import json
import logging
import random
from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import groupby
from typing import TYPE_CHECKING, NamedTuple

from PIL import Image

from equipoise.core.answer_store import AnswerStore, KeptAnswer, from_cache
from equipoise.core.errors import UserError
from equipoise.core.progress import progress
from equipoise.data.identity import of_model
from equipoise.data.images import ImageProblem, ImageSource, decode_image
from equipoise.data.items import ImageRef, Item
from equipoise.embedding.cache import ScoringOptions, Work
from equipoise.evaluation.answers import Answer
from equipoise.evaluation.asking.shipped import option_of
from equipoise.evaluation.asking.until import Until
from equipoise.evaluation.asking.variants import Ask, Asked, questions
from equipoise.evaluation.scores import ItemScores
from equipoise.models.base import spec_of

if TYPE_CHECKING:
    from equipoise.models.base import Answerer

log = logging.getLogger(__name__)

ANSWER_CODE = 1  # raised when prompts or pictures are made in another way: older answers are not used
UNCLEAR = 20  # answers that name no option before any does: it is not the questions


@dataclass(kw_only=True)
class LiveAnswers(Work):
    """Questions and answers."""

    rows: list[ItemScores] = field(default_factory=list)
    stopped: bool = False


class Request(NamedTuple):
    photo: int  # the number of the photo, in the order in which they are asked
    item: Item
    asked: Asked
    key: str
    pictures: list[Image.Image]


def by_photo(items: Sequence[Item], seed: int | None = None) -> list[list[Item]]:
    """The items of each photo together; in random order with a seed, so that any beginning is a fair sample."""
    by_images: dict[tuple[ImageRef, ...], list[Item]] = {}
    for item in items:
        by_images.setdefault(item.shown(), []).append(item)
    groups = list(by_images.values())
    if seed is not None:
        random.Random(seed).shuffle(groups)
    return groups


class PhotoReader:
    """Reads, hashes and decodes the photos of a question."""

    def __init__(self, source: ImageSource) -> None:
        self._source = source
        self.digests: dict[str, bytes] = {}
        self.bad: dict[ImageRef, str] = {}

    def of(self, item: Item) -> tuple[list[str], list[Image.Image]] | None:
        """The identity of the photos, and their pictures; None if one cannot be used."""
        names, pictures = [], []
        for ref in item.shown():
            try:
                raw = self._source.read(ref.path)
                pictures.append(decode_image(raw, ref))
            except ImageProblem as problem:
                self.bad[ref] = str(problem)
                return None
            self.digests[ref.path] = hashlib.sha256(raw).digest()
            names.append(f"{self.digests[ref.path].hex()} {ref.box}")
        return names, pictures


def requests(
    items: Sequence[Item], photos: PhotoReader, ask: Ask, identity: str, seed: int | None
) -> Iterator[Request]:
    """All that is asked, photo by photo; photos that cannot be used are left out and noted in `photos`."""
    for number, group in enumerate(by_photo(items, seed)):
        if (known := photos.of(group[0])) is not None:
            for item in group:
                for asked in questions(item, ask):
                    key = json.dumps(["answer", ANSWER_CODE, identity, known[0], asked.prompt, asked.repeat])
                    yield Request(number, item, asked, key, known[1])


def ask_all(
    model: Answerer, items: Sequence[Item], source: ImageSource, ask: Ask, store: AnswerStore, identity: str,
    batch_size: int, until: Until | None = None, seed: int = 0,
) -> LiveAnswers:  # fmt: skip
    """Every answer about the items; with `until`, of as many photos as it takes."""
    found, photos = LiveAnswers(), PhotoReader(source)
    wanted = requests(items, photos, ask, identity, None if until is None else seed)
    total = sum(1 for item in items for _ in questions(item, ask))
    rows: dict[str, ItemScores] = {}
    done = named = kept = 0
    with progress(total, "questions", "questions") as advance, _Stream(model, store, batch_size) as stream:
        for _, about in groupby(stream(wanted), key=lambda answered: answered[0].photo):
            answers: dict[str, list[Answer]] = {}
            of_photo: dict[str, Item] = {}
            for request, said, was_kept in about:
                answer = read(request.asked, said)
                of_photo[request.item.id] = request.item
                answers.setdefault(request.item.id, []).append(answer)
                done, named, kept = done + 1, named + (answer.choice is not None), kept + was_kept
                if done == UNCLEAR and not named:
                    raise UserError(
                        f"{spec_of(model)} names no option: none of its first {UNCLEAR} answers does (the last: "
                        f"{(said or '')[:60]!r}). Ask in other words with ?template=..."
                    )
                advance(1)
            new = [_row(item, answers[id_]) for id_, item in of_photo.items()]
            rows |= {row.id: row for row in new}
            if until is not None and until.sees(new):
                found.stopped = done < total
                break
    found.rows = [rows[item.id] for item in items if item.id in rows]
    used = {ref.path for item in items if item.id in rows for ref in item.shown()}  # more were read ahead
    found.bad, found.digests = photos.bad, {path: digest for path, digest in photos.digests.items() if path in used}
    found.counts = {"answers": done, "answers_kept": kept, "images": len(used)}
    return found


def read(asked: Asked, said: str | None) -> Answer:
    """Reads an answer. None: the server refused the question."""
    place = None if said is None else option_of(said, asked.options, asked.lettered)
    choice = None if place is None else asked.names[place]
    return Answer(
        right=choice == asked.truth,
        choice=choice,
        place=place if asked.lettered else None,
        wording=asked.wording,
        order=asked.order,
        said=said or "",
        options=len(asked.options),
        question=asked.question,
        prompt=asked.variant,
        repeat=asked.repeat,
        truth=asked.truth,
    )


def _row(item: Item, answers: Sequence[Answer]) -> ItemScores:
    image = None if item.image is None else item.image.path
    return ItemScores(id=item.id, image=image, tags=item.tags, answers=tuple(answers))


Answered = tuple[Request, str | None, bool]  # with whether it was kept before


class _Stream:
    """Answers in the order of the requests. Each is kept at once; at an error those on their way are kept too."""

    def __init__(self, model: Answerer, store: AnswerStore, batch_size: int) -> None:
        self._model, self._store = model, store
        self._threads = int(getattr(model, "concurrency", 0))
        self._size = 1 if self._threads else batch_size
        self._pool = ThreadPoolExecutor(max(1, self._threads))

    def __enter__(self) -> _Stream:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def __call__(self, wanted: Iterator[Request]) -> Iterator[Answered]:
        waiting: deque[Future[list[Answered]]] = deque()
        window = 2 * self._threads or 1
        looked_up = ((request, self._store.get(request.key)) for request in wanted)
        for batch in _batches(looked_up, self._size):
            waiting.append(self._pool.submit(self._ask, batch))
            while len(waiting) >= window or (waiting and waiting[0].done()):
                yield from waiting.popleft().result()
        while waiting:
            yield from waiting.popleft().result()

    def _ask(self, batch: Sequence[tuple[Request, KeptAnswer | None]]) -> list[Answered]:
        new = [request for request, known in batch if known is None]
        said: dict[str, str | None] = {}
        if new:
            shown = [request.pictures[0] if len(request.pictures) == 1 else request.pictures for request in new]
            given = self._model.answer(shown, [request.asked.prompt for request in new])
            if not isinstance(given, Sequence) or isinstance(given, str) or len(given) != len(new):
                raise UserError(f"{spec_of(self._model)}: answer: expected a list of {len(new)} texts, found {given!r}")
            for request, text in zip(new, given, strict=True):
                said[request.key] = None if text is None else str(text)
                if text is not None:
                    self._store.put(request.key, KeptAnswer(str(text), "stop"))
        return [(request, known.text if known else said[request.key], known is not None) for request, known in batch]


def _batches(
    requests: Iterable[tuple[Request, KeptAnswer | None]], size: int
) -> Iterator[list[tuple[Request, KeptAnswer | None]]]:
    """Lists with at most `size` requests that have no answer yet."""
    batch: list[tuple[Request, KeptAnswer | None]] = []
    new = 0
    for request in requests:
        batch.append(request)
        new += request[1] is None
        if new >= size or len(batch) >= 1000:
            yield batch
            batch, new = [], 0
    if batch:
        yield batch


def answers_of(
    model: Answerer, items: Sequence[Item], source: ImageSource, how: ScoringOptions, ask: Ask, until: Until | None,
    seed: int,
) -> LiveAnswers:  # fmt: skip
    """The answers of a model; they are kept next to the embeddings, if the model can be identified."""
    if how.ranks.count > 1:
        raise UserError("questions are asked by one process; leave out torchrun")
    known = of_model(model, how.batch_size, ANSWER_CODE)
    folder = None if known is None or how.cache is None or how.cache.path is None else str(how.cache.path.parent)
    said = ask_all(model, items, source, ask, AnswerStore(folder), known or "", how.batch_size, until, seed)
    if kept := said.counts["answers_kept"]:
        log.warning("%s", from_cache(said.counts["answers"], kept))
    if said.stopped:
        said.counts["stopped_after"] = len(said.digests)
    return said
