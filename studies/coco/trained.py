"""Train one base on what the frozen Lite2 saw of the photos (views.py), and judge it on dev.

Not `equipoise train`: a base is not a finetuning. Lite2's own weights stay as they are; what is trained is a block and
a head on its 9 x 9 positions, the projections and the text tower, at their own rates.
"""

from __future__ import annotations

import contextlib
import copy
import dataclasses
import json
import math
import time
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, normalize

from equipoise.core.files import atomic_write
from equipoise.data.items import load_items
from equipoise.models import load_model
from equipoise.models.clip import ClipModel
from equipoise.models.families import read_texts
from studies.coco.bases import Base, score
from studies.coco.parts import dual_encoder
from studies.coco.retrieval import recalls
from studies.coco.scores import write_line
from studies.coco.views import FIXED, grids

FIVE = 5  # captions of a photo


@cache
def texts(data: str, split: str) -> tuple[str, ...]:
    """Five captions of each photo, photo after photo, as `views.photos_of` has them."""
    found: dict[str, list[str]] = {}
    for item in load_items(f"{data}/{split}-captions.jsonl"):
        if item.image:
            found.setdefault(item.image.path, []).append(item.caption)
    return tuple((own * FIVE)[n] for own in found.values() for n in range(FIVE))


class Trained:
    """A dual encoder whose image side begins where Lite2's last block ends."""

    def __init__(self, base: Base, model: ClipModel, device: str) -> None:
        self.base, self.model, self.device = base, model, device
        self.network = model.network.to(device)
        encoder = self.network.vision_model.encoder
        self.network.vision_model.requires_grad_(False)
        self.block, self.top = encoder.blocks[-1], encoder
        for module in (encoder.top_conv, encoder.top_bn, self.block):
            module.requires_grad_(True)
        if not base.begin:
            with torch.no_grad():
                self.network.logit_scale.fill_(math.log(base.scale))
        self.tables: dict[str, Tensor] = {}

    def table(self, data: str, split: str) -> Tensor:
        """The tokens of a split's captions, made once."""
        if split not in self.tables:
            model = self.model
            ids = [model.truncate(row) for row in model.tokenize(list(texts(data, split)))]
            self.tables[split] = model.pad(ids)[0].to(self.device)
        return self.tables[split]

    def images(self, grid: Tensor) -> Tensor:
        return normalize(self.network.visual_projection(self.pooled(grid)).float(), dim=-1)

    def pooled(self, grid: Tensor) -> Tensor:
        """What the image tower says before the projection."""
        states: Tensor = self.top.top_activation(self.top.top_bn(self.top.top_conv(self.block(grid))))
        return states.mean((2, 3))

    def texts(self, ids: Tensor) -> Tensor:
        return normalize(read_texts(self.network, ids).float(), dim=-1)

    def parameters(self) -> list[tuple[str, Tensor]]:
        return [(name, value) for name, value in self.network.named_parameters() if value.requires_grad]

    def rate(self, name: str) -> float:
        """The lower a layer of the text tower, the lower its rate; our own averaging layer counts as the highest."""
        if not name.startswith("text_model."):
            return self.base.head_rate * (10 if name == "logit_scale" else 1)
        layers = len(self.network.text_model.encoder.layer)
        level = layers if ".pooler." in name else -1
        if ".encoder.layer." in name:
            level = int(name.split(".encoder.layer.")[1].split(".")[0])
        return self.base.text_rate * self.base.layer_decay ** (layers - 1 - min(level, layers - 1))


def trimmed(ids: Tensor, pad: int) -> Tensor:
    return ids[:, : int((ids != pad).sum(1).max())]


def contrast(images: Tensor, captions: Tensor, owner: Tensor, scale: Tensor, smoothing: float) -> Tensor:
    """Each caption finds its photo, each photo all of its captions alike."""
    logits = scale * captions @ images.T
    mine = (owner[:, None] == torch.arange(len(images), device=owner.device)).float()
    to_text = cross_entropy(logits.T, mine.T / mine.T.sum(1, keepdim=True), label_smoothing=smoothing)
    return (cross_entropy(logits, owner, label_smoothing=smoothing) + to_text) / 2


def softly(logits: Tensor, wanted: Tensor) -> Tensor:
    """Each caption prefers photos, and each photo captions, as the teachers do; captions are rows."""
    return (cross_entropy(logits, wanted.softmax(1)) + cross_entropy(logits.T, wanted.T.softmax(1))) / 2


def fit(trained: Trained, data: str, out: str, teachers: Sequence[Teacher] = ()) -> tuple[dict[str, float], int]:
    """Train, and leave the averaged weights of the best epoch on dev in the network; its recalls, and its number."""
    base, device, network = trained.base, trained.device, trained.network
    grid = grids(out, ("train",), device)
    table = trained.table(data, "train").view(grid.shape[1], FIVE, -1)
    pad, first, end = trained.model.pad_id, int(table[0, 0, 0]), trained.model.end_id
    mask = int(trained.model.tokenizer.mask_token_id)
    photos = min(base.photos, grid.shape[1])
    views = torch.tensor([0, *range(FIXED, FIXED + base.parts)], device=device)
    epoch = math.ceil(grid.shape[1] * FIVE / (photos * base.captions))
    steps = base.epochs * epoch
    parameters = trained.parameters()
    groups = [
        {"params": [p], "top": trained.rate(n), "weight_decay": base.weight_decay if p.ndim >= 2 else 0.0}
        for n, p in parameters
    ]
    optimizer = torch.optim.AdamW(_joined(groups), betas=(0.9, 0.98), eps=1e-6, fused=device == "cuda")
    average = [value.detach().clone() for _, value in parameters]
    best: tuple[float, list[Tensor], dict[str, float], int] | None = None
    rng = torch.Generator(device).manual_seed(base.seed)
    torch.manual_seed(base.seed)
    order = torch.empty(0, dtype=torch.int64, device=device)
    network.text_model.train()
    for step in range(steps):
        if len(order) < photos:
            order = torch.randperm(grid.shape[1], generator=rng, device=device)
        chosen, order = order[:photos], order[photos:]
        which = torch.rand((photos, FIVE), generator=rng, device=device).argsort(1)[:, : base.captions]
        ids = trimmed(table[chosen[:, None], which].flatten(0, 1), pad)
        hide = torch.rand(ids.shape, generator=rng, device=device) < base.hidden
        ids = torch.where(hide & (ids != pad) & (ids != first) & (ids != end), mask, ids)
        shown = views[torch.randint(len(views), (photos,), generator=rng, device=device)]
        for group in optimizer.param_groups:
            group["lr"] = group["top"] * _rate(step, steps)
        shows = grid[shown, chosen].float()
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            seen, read = trained.images(shows), trained.texts(ids)
        owner = torch.arange(photos, device=device).repeat_interleave(base.captions)
        loss = contrast(seen, read, owner, network.logit_scale.exp(), base.smoothing)
        if teachers:
            wanted = [t.logits(shown, chosen, which) for t in teachers]
            soft = softly(network.logit_scale.exp() * read @ seen.T, torch.stack(wanted).mean(0))
            loss = (1 - base.taught) * loss + base.taught * soft
        optimizer.zero_grad(set_to_none=True)
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        with torch.no_grad():
            network.logit_scale.clamp_(0, math.log(100))
            share = 1 - min(base.average, (1 + step) / (10 + step))
            torch._foreach_lerp_(average, [value.detach() for _, value in parameters], share)
        if (step + 1) % epoch == 0 and (step + 1) * 3 > steps:
            with _weights(parameters, average):
                found = judged(trained, data, out, "dev")
            if best is None or score(found) > best[0]:
                best = score(found), [value.clone() for value in average], found, (step + 1) // epoch
    assert best is not None
    with torch.no_grad():
        for (_, value), kept in zip(parameters, best[1], strict=True):
            value.copy_(kept)
    network.eval()
    return best[2], best[3]


def _joined(groups: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Parameters of one rate and decay as one group."""
    found: dict[tuple[float, float], dict[str, Any]] = {}
    for group in groups:
        same = found.setdefault((group["top"], group["weight_decay"]), group | {"params": []})
        same["params"] += group["params"]
    return list(found.values())


def _rate(step: int, steps: int) -> float:
    """Up within the first tenth, then half a cosine down."""
    warm = max(1, steps // 10)
    return (step + 1) / warm if step < warm else 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))


@contextlib.contextmanager
def _weights(parameters: list[tuple[str, Tensor]], others: list[Tensor]) -> Iterator[None]:
    """The network with other weights for a while."""
    own = [value.detach().clone() for _, value in parameters]
    with torch.no_grad():
        for (_, value), other in zip(parameters, others, strict=True):
            value.copy_(other)
    yield
    with torch.no_grad():
        for (_, value), other in zip(parameters, own, strict=True):
            value.copy_(other)


class Teacher:
    """What a finished base says of all training captions and views, out of the file that `teach` wrote."""

    def __init__(self, path: Path, device: str) -> None:
        held = torch.load(path, weights_only=True, map_location=device)
        self.images, self.texts, self.scale = held["images"].float(), held["texts"].float(), held["scale"]

    def logits(self, views: Tensor, photos: Tensor, captions: Tensor) -> Tensor:
        logits: Tensor = self.scale * self.texts[photos[:, None], captions].flatten(0, 1) @ self.images[views, photos].T
        return logits


@torch.no_grad()
def teach(trained: Trained, data: str, out: str) -> None:
    """Write what a base says of all training captions and views: three students share it, and only look it up."""
    path = taught_by(out, trained.base.begin)
    if path.exists():
        return
    grid, table = grids(out, ("train",), trained.device), trained.table(data, "train")
    trained.network.eval()
    with torch.autocast(trained.device, torch.bfloat16, enabled=trained.device == "cuda"):
        photos = [trained.images(part.float()) for view in grid for part in torch.split(view, 500)]
        read = [trained.texts(trimmed(part, trained.model.pad_id)) for part in torch.split(table, 1000)]
    images = torch.cat(photos).view(*grid.shape[:2], -1)
    texts = torch.cat(read).view(grid.shape[1], FIVE, -1)
    scale = trained.network.logit_scale.detach().exp()
    path.parent.mkdir(exist_ok=True)
    with atomic_write(path, "wb", flush=False) as handle:
        torch.save({"images": images.half(), "texts": texts.half(), "scale": scale}, handle)


def taught_by(out: str, name: str) -> Path:
    return Path(out) / "taught" / f"{name}.pt"


@torch.inference_mode()
def judged(trained: Trained, data: str, out: str, split: str) -> dict[str, float]:
    network, device = trained.network, trained.device
    training = network.text_model.training
    network.text_model.eval()
    grid = grids(out, (split,), device)[0]
    table = trained.table(data, split)
    with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
        images = torch.cat([trained.images(part.float()) for part in torch.split(grid, 500)])
        read = torch.cat([trained.texts(trimmed(part, trained.model.pad_id)) for part in torch.split(table, 1000)])
    network.text_model.train(training)
    order = torch.arange(len(images)).repeat_interleave(FIVE).numpy()
    return recalls(images.cpu().numpy(), read.cpu().numpy(), order)


def make(base: Base, data: Path, out: Path, wheel: Path, minilm: Path, device: str) -> str:
    """One base: trained, judged on dev, saved; its line says that it is done."""
    folder, started = out / "base" / f"{base.name}-0", time.monotonic()
    words, own = folder.with_name(folder.name + "-words"), texts(str(data), "train")
    text = minilm if base.tower == "minilm" else None
    new = dual_encoder(wheel, own, words, base.seed, text, base.dropout, base.embedding)
    trained = Trained(base, new, device)
    teachers = [Teacher(taught_by(str(out), name), device) for name in base.teachers]
    found, epoch = fit(trained, str(data), str(out), teachers)
    model = copy.copy(trained.model)
    model.network = copy.deepcopy(trained.network).cpu()
    model.save(folder / "model")
    row = {"name": base.name, "base": dataclasses.asdict(base), "found": found, "epoch": epoch}
    write_line(line_of(out, base.name), row | {"seconds": round(time.monotonic() - started, 1)})
    return f"epoch {epoch} mean={score(found):.2f} " + " ".join(f"{name}={value:.1f}" for name, value in found.items())


def line_of(out: Path, name: str) -> Path:
    return out / "base" / f"{name}-0.json"


def finished(out: Path, name: str, device: str) -> Trained:
    """A base that was saved."""
    model = load_model(f"hf:{out}/base/{name}-0/model", device=device)
    assert isinstance(model, ClipModel)
    row = json.loads(line_of(out, name).read_text())["base"]
    row["teachers"] = tuple(row.get("teachers", ()))
    return Trained(dataclasses.replace(Base(**row), begin=name), model, device)
