"""CE-XVLM on COCO's photos: a small model with a matching head, finetuned with and without CE-CLIP's losses.

    python -m studies.coco.matching DATA --out OUT --device cuda --jobs 3    resumes
    python -m studies.coco.keep OUT/x --stages final --out studies/coco/results/x.jsonl

fused.py has the model: new layers and a matching head on a taught base of base.py. First the new layers learn from
captions alone, and the base stays as it is (`base`). Then everything but the image tower is finetuned, by every
recipe for the same number of steps:

control      captions alone: ITC + ITM
hn           negatives for the head: ITC + ITM(hn)
ce-xvlm      negatives for both parts: ITC(hn) + 0.2 IMC + 0.4 CMR + ITM(hn)
ce-xvlm-hp   hard positives too: they match for the head, and the contrastive part has the hard-positive paper's loss

`-swaps`: exchanged words are added to the texts of `balanced`. OUT/x/head has the new layers before finetuning,
OUT/x/final and OUT/x/scores what run.py writes of a model: NAME is its contrastive part, NAME-itm its head, whose
recalls are of the contrastive part's first ten, ordered again by the head.

Batches, pairs, losses, recipes and gradients are the package's. Its `train` reads photos, and here the frozen Lite2 has
seen them already (OUT/views), so the loop over the steps is here.
"""

from __future__ import annotations

import gc
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from equipoise.core.files import atomic_write
from equipoise.data.items import Item
from equipoise.models.clip import precision
from equipoise.train.data.batches import Part, TextChunks, TrainingData
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.itm import itm
from equipoise.train.losses.svlc import svlc_analogy
from equipoise.train.recipe import Recipe
from equipoise.train.recipes.ce_xvlm import ce_xvlm_zhang_2024, control_itm
from equipoise.train.recipes.shared import ANY
from equipoise.train.step.backward import backward
from equipoise.train.step.optim import adamw, clamp_scale, learning_rate, set_learning_rate
from studies.coco import judging
from studies.coco.bases import named
from studies.coco.fused import NEW, Fused, FusedTowers
from studies.coco.labels import METRICS
from studies.coco.retrieval import outcomes
from studies.coco.scores import in_short, read_scores, write_line, write_scores
from studies.coco.texts import training_texts
from studies.coco.trained import Trained, finished
from studies.coco.views import FIXED, grids
from studies.coco.views import photos_of as read_photos_of
from studies.harness import jobs
from studies.harness.inputs import arguments, existing, made_from
from studies.harness.jobs import Work

SEEDS = range(6)
BATCH = 256
HEAD_RATE, RATE = 4e-4, 1e-4
HEAD_PASSES, PASSES = 1.0, 0.5  # over the training captions
VIEWS = (0, FIXED)  # of a training photo: the whole and a part (views.py)
FIRST = 10  # photos or captions of a search that the head orders again
TESTED = ("test", "extra", "more")
CE = ce_xvlm_zhang_2024()
RECIPES = {
    "control": control_itm(),
    "hn": replace(CE, terms={"itc": (1, clip_loss), "itm": (1, itm)}),
    "ce-xvlm": CE,
    "ce-xvlm-hp": replace(CE, terms={**CE.terms, "positive": (1, svlc_analogy)}, needs=replace(CE.needs, positive=ANY)),
}
JOBS = ("control", "ce-xvlm-swaps", "hn-swaps", "ce-xvlm-hp-swaps", "ce-xvlm", "hn", "ce-xvlm-hp")  # in this order
TEXTS: dict[str, list[Item]] = {}
photos_of = cache(read_photos_of)


def settings(seed: int, rate: float, passes: float) -> dict[str, Any]:
    batch = min(BATCH, len({item.image for item in TEXTS["balanced"]}))
    steps = max(1, int(passes * len(TEXTS["balanced"])) // batch)
    more = {"weight_decay": 0.1, "warmup_steps": 50, "seed": seed}
    return {"batch_size": batch, "epochs": 1, "max_steps": steps, "lr": rate} | more


def fit(network: Fused, recipe: Recipe, items: Sequence[Item], trained: Trained, where: dict[str, str]) -> float:
    """Train what has gradients; the mean loss of the last steps."""
    recipe = replace(recipe, needs=replace(recipe.needs, distinct_images=True))
    judging.know(judging.tokens("x"))
    part = Part(items, judging.source(f"{where['data']}/photos"))
    data = TrainingData([part], recipe, trained.model.preprocess, TextChunks(trained.model))
    place = {name: np.array(number) for number, name in enumerate(photos_of(where["data"], "train"))}
    data._pooled = {key: place[key[1]] for key in data._keys if isinstance(key, tuple)}
    towers = FusedTowers(network, grids(where["out"], ("train",), where["device"], VIEWS), trained.model.pad_id)
    loss, optimizer, losses = recipe.loss(), adamw(network, recipe), []
    network.train()
    for step in range(len(data)):
        set_learning_rate(optimizer, learning_rate(recipe, step, len(data)))
        optimizer.zero_grad(set_to_none=True)
        batch = data[step].to(torch.device(where["device"]))
        losses.append(backward(towers, loss, batch, recipe.seed * 1_000_003 + step).total)
        optimizer.step()
        clamp_scale(network, recipe.max_scale)
        loss.step()
    network.eval()
    return float(torch.stack(losses[-20:]).mean())


class Matcher:
    """The head's scores of pairs of a test photo and a text."""

    @torch.inference_mode()
    def __init__(self, network: Fused, trained: Trained, where: dict[str, str]) -> None:
        self.network, self.model, self.device = network, trained.model, where["device"]
        names = [name for split in TESTED for name in photos_of(where["data"], split)]
        self.photo = {name: place for place, name in enumerate(names)}
        grid = grids(where["out"], TESTED, self.device, (0,))[0]
        with precision(self.device == "cuda"):
            self.states = torch.cat([network.look(part.float())[1] for part in torch.split(grid, 500)])

    @torch.inference_mode()
    def __call__(self, photos: Sequence[str], texts: Sequence[str], size: int = 1000) -> NDArray[np.float32]:
        ids = TextChunks(self.model)._ids(texts)  # which `judging.know` has shared
        order = sorted(range(len(ids)), key=lambda n: len(ids[n]))
        found = np.zeros(len(ids), np.float32)
        for rows in (order[start : start + size] for start in range(0, len(ids), size)):
            tokens = self.model.pad([ids[row] for row in rows])[0].to(self.device)
            mask = (tokens != self.model.pad_id).long()
            seen = self.states[[self.photo[photos[row]] for row in rows]]
            with precision(self.device == "cuda"):
                found[rows] = self.network.match(seen, self.network.read(tokens, mask)[1], mask).cpu().numpy()
        return found


def judge(matcher: Matcher, pooled: judging.Vectors, contrast: Path, scores: Path, data: str) -> dict[str, float]:
    """The head on all test items; `contrast` has the scores that judging.judge wrote of the contrastive part."""
    kept = {key: value for key, value in read_scores(contrast).items() if not key.startswith("experts")}
    found: dict[str, float] = {}
    for kind in judging.kinds(data, "test"):
        items = judging.items_of(f"{data}/test-{kind}.jsonl")
        photos = [item.image.path for item in items if item.image]
        texts = zip(*map(judging.three, items), strict=True)
        kept[f"{kind}/scores"] = np.stack([matcher(photos, own) for own in texts])
        for metric, outcome in zip(METRICS, outcomes(*kept[f"{kind}/scores"]), strict=True):
            found[f"{kind}/{metric}"] = 100 * float(outcome.mean())
    names = photos_of(data, "test")
    captions = [item.caption for item in judging.items_of(f"{data}/test-captions.jsonl")]
    images = judging.projected(matcher.model, pooled, names)
    cosines = judging.texts(matcher.model, captions, judging.tokens("x")) @ np.stack([images[name] for name in names]).T
    mine = kept["captions/photo"][:, None] == np.arange(len(names))

    def matched(caption: NDArray[Any], photo: NDArray[Any]) -> NDArray[Any]:
        return matcher([names[n] for n in photo], [captions[n] for n in caption])

    kept["t2i"] = again(cosines, mine, kept["t2i"], matched)
    kept["i2t"] = again(cosines.T, mine.T, kept["i2t"], lambda photo, caption: matched(caption, photo))
    write_scores(scores, kept)
    return found | {f"{way}@{k}": 100 * float((kept[way] < k).mean()) for way in ("t2i", "i2t") for k in (1, 5, 10)}


def again(cosines: Any, mine: Any, ranks: NDArray[Any], matched: Callable[..., NDArray[Any]]) -> NDArray[Any]:
    """The rank of each row's best own column after the head has ordered the first ten; a tie counts against it. Where
    none of the ten is its own, the rank stays."""
    first = np.argpartition(-cosines, min(FIRST, cosines.shape[1]) - 1, axis=1)[:, :FIRST]
    scores = matched(np.arange(len(first)).repeat(first.shape[1]), first.ravel()).reshape(first.shape)
    own = np.take_along_axis(mine, first, 1)
    best = np.where(own, scores, -np.inf).max(1, keepdims=True)
    return np.where(own.any(1), (~own & (scores >= best)).sum(1), ranks).astype(ranks.dtype)


def begin(network: Fused, trained: Trained, path: Path, seed: int, where: dict[str, str]) -> None:
    """The new layers before finetuning: read, or learnt from captions while the base stays as it is."""
    if path.exists():
        network.load_state_dict(torch.load(path, weights_only=True, map_location=where["device"]), strict=False)
        return
    learning = [value for value in trained.network.parameters() if value.requires_grad]
    trained.network.requires_grad_(False)
    recipe = replace(control_itm(), terms={"itm": (1, itm)}, **settings(seed, HEAD_RATE, HEAD_PASSES))
    loss = fit(network, recipe, TEXTS["balanced"], trained, where)
    for value in learning:
        value.requires_grad_(True)
    print(f"head {seed}: loss {loss:.3f}", flush=True)
    path.parent.mkdir(parents=True, exist_ok=True)
    with atomic_write(path, "wb") as handle:
        torch.save({name: value for name, value in network.state_dict().items() if name.startswith(NEW)}, handle)


def make(name: str, seed: int, where: dict[str, str]) -> str:
    """One model: trained, and both of its parts measured; their lines are written last."""
    out, data, base, started = Path(where["out"]) / "x", where["data"], named("t", seed), time.monotonic()
    row: dict[str, Any] = {"name": name, "train": "both" if name.endswith("-swaps") else "balanced", "base": base}
    trained = finished(Path(where["out"]), base, where["device"])
    torch.manual_seed(seed)
    network = Fused(trained).to(where["device"]).eval()
    begin(network, trained, out / "head" / f"{seed}.pt", seed, where)
    if name != "base":
        recipe = replace(RECIPES[name.removesuffix("-swaps")], **settings(seed, RATE, PASSES))
        row["loss"] = fit(network, recipe, TEXTS[row["train"]], trained, where)
    row |= {"seed": seed, "split": "test", "taught": round(time.monotonic() - started, 1)}
    pooled = judging.pooled(f"{where['out']}/pooled-{base}.npz")
    contrast, head = (out / "scores" / f"{name}{part}-{seed}.npz" for part in ("", "-itm"))
    found = [judging.judge(trained.model, data, f"{data}/photos", "test", pooled, judging.tokens("x"), contrast)]
    found += [judge(Matcher(network, trained, where), pooled, contrast, head, data)]
    row["seconds"] = round(time.monotonic() - started, 1)
    for path, own in zip(lines_of(out, name, seed), found, strict=True):
        write_line(path, row | {"name": path.stem.rpartition("-")[0], "found": own})
    return " / ".join(map(in_short, found))


def lines_of(out: Path, name: str, seed: int) -> tuple[Path, ...]:
    return tuple(out / "final" / f"{name}{part}-{seed}.json" for part in ("", "-itm"))


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("data", type=existing("train-balanced.jsonl", "train-swaps.jsonl", "test-captions.jsonl"))
    parser.add_argument("--out", type=existing("views", "base"), required=True, help="of base.py")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--jobs", type=int, default=1, help="models at a time")
    parser.add_argument("--only", nargs="*", default=JOBS, choices=JOBS)
    parser.add_argument("--seeds", type=int, nargs="*", default=SEEDS, choices=SEEDS)
    parser.add_argument("--seconds", type=float, default=math.inf, help="no model is begun later")
    options = parser.parse_args()
    began, data = time.time(), str(options.data)
    pooled = [options.out / f"pooled-{named('t', seed)}.npz" for seed in options.seeds]
    if missing := [str(path) for path in pooled if not path.exists()]:
        parser.error(f"missing: {', '.join(missing)}, which base.py writes")
    tests = [f"test-{kind}" for kind in ("captions", *judging.kinds(data, "test"))]
    files = [options.data / f"{name}.jsonl" for name in ("train-captions", "train-balanced", "train-swaps", *tests)]
    made_from(options.out / "x" / "texts.sha256", files)
    where = {"data": data, "out": str(options.out), "device": options.device}
    TEXTS.update(training_texts(options.data, {"both"}))
    for name in tests:
        judging.items_of(f"{data}/{name}.jsonl")
    for split in ("train", *TESTED):
        photos_of(data, split)
    gc.freeze()
    for names in (["base"], options.only):
        listed = [
            Work(f"{name}-{seed}", partial(make, name, seed, where), lines_of(options.out / "x", name, seed))
            for name in names for seed in options.seeds
        ]  # fmt: skip
        jobs.run(listed, options.jobs, "fork", began + options.seconds)  # the texts are read once for all


if __name__ == "__main__":
    main()
