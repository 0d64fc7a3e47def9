"""A training step of ViT-B/32 on a GPU: ours against the same work done the ordinary way, in one run.

    python bench/train_step.py --captions karpathy_test_first_half.json

Ordinary: transformers' CLIP in bf16 autocast, every caption padded to 77 tokens, torch's default AdamW, no
compile. Ours: what `equipoise.train` does on a GPU (packed captions, compiled layers, CUDA graphs, fused AdamW),
through the same functions. Both compute the same loss of the same random weights, images (noise) and captions (real,
several of one image standing for its positive and its negatives); data loading is left out on both sides,
see input_pipeline.py. The share of the peak counts only the work that has to be done: real tokens, no padding.
`--profile` runs our step alone and prints where the GPU's time goes.
"""

from __future__ import annotations

import argparse
import copy
import json
import os
import statistics
import sys
import time
import warnings
from pathlib import Path
from typing import Any

os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")  # as equipoise.train sets it

import made
import torch
from torch import Tensor
from torch.nn.functional import normalize

from equipoise.models.clip import ClipModel
from equipoise.models.inputs import clip_preprocess
from equipoise.train.data.batches import Batch, TextChunks
from equipoise.train.recipe import Recipe
from equipoise.train.recipes import get_recipe
from equipoise.train.step.backward import Embeddings, adamw, assemble, backward
from equipoise.train.step.towers import PackedTexts, Towers

RECIPES = {  # recipe -> texts per sample: the caption, then its positive and negatives
    "hard_positives_kamath_2024": ("caption", "positive", "negative"),
    "ce_clip_zhang_2024": ("caption", "negative", "negative", "negative", "negative"),
}


def captions_by_image(path: Path) -> list[list[str]]:
    """Lists of five captions of one image, from [{"image": ..., "caption": [...]}, ...]; plain ASCII needs no ftfy."""
    rows = json.loads(path.read_text(encoding="utf-8"))
    groups = [[text for text in row["caption"] if text.isascii() and text.isprintable()] for row in rows]
    return [texts[:5] for texts in groups if len(texts) >= 5]


def made_captions() -> list[list[str]]:
    texts = [item.caption for item in made.items(80, 1)]
    return [texts[start : start + 5] for start in range(0, 80, 5)]


def make_batches(model: ClipModel, images: list[list[str]], roles: tuple[str, ...], size: int, count: int) -> list[Any]:
    """(our batch, padded ids, float images) each; the padded ids hold every text, sample by sample, role by role."""
    device, side = model.device, model.preprocess.image_size[0]
    generator = torch.Generator(device=device).manual_seed(0)
    batches = []
    for number in range(count):
        samples = [images[(number * size + offset) % len(images)][: len(roles)] for offset in range(size)]
        rows: dict[str, int] = {}
        places = [[rows.setdefault(text, len(rows)) for text in sample] for sample in samples]
        distinct = list(rows)
        index = torch.tensor(places)
        fields = {"image": torch.arange(size), "caption": index[:, 0]}
        for role in dict.fromkeys(roles[1:]):
            columns = [column for column, name in enumerate(roles) if name == role]
            fields[role] = index[:, columns] if role == "negative" else index[:, columns[0]]
        pixels = torch.randint(256, (size, side, side, 3), generator=generator, device=device, dtype=torch.uint8)
        batch = Batch(
            number, [str(n) for n in range(size)], [pixels], TextChunks(model)(distinct, len(distinct)), fields
        )
        ids = [model.truncate(row) for row in model.tokenize([text for sample in samples for text in sample])]
        padded = model.pad(ids, model.context_length)[0].to(device)
        floats = Towers(model.network, model.preprocess).normalized(pixels).permute(0, 3, 1, 2).contiguous()
        batches.append((batch.to(device), padded, floats))
    return batches


class Ordinary:
    """A step as most scripts do it."""

    def __init__(self, start: Any) -> None:
        self.start, self.network = start, copy.deepcopy(start)

    def begin(self, recipe: Recipe) -> None:
        """The weights of the start, and a fresh optimizer."""
        self.network.load_state_dict(self.start.state_dict())
        self.loss, self.optimizer = recipe.loss(), self.make_optimizer(recipe)

    def make_optimizer(self, recipe: Recipe) -> torch.optim.Optimizer:
        return torch.optim.AdamW(self.network.parameters(), lr=recipe.lr)

    def __call__(self, batch: Batch, padded: Tensor, floats: Tensor) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=padded.is_cuda):
            images = self.network.get_image_features(pixel_values=floats).pooler_output
            texts = self.network.get_text_features(input_ids=padded).pooler_output
        embeddings = Embeddings(normalize(images.float(), dim=-1), normalize(texts.float(), dim=-1))
        rows = torch.arange(len(padded), device=padded.device).view(len(batch.ids), -1)
        fields = {"image": batch.fields["image"], "caption": rows[:, 0], "negative": rows[:, 1:]}
        if "positive" in batch.fields:
            fields |= {"positive": rows[:, 1], "negative": rows[:, 2:]}
        parts = self.loss(assemble(embeddings, fields, self.network.logit_scale.exp(), None))
        torch.autograd.backward(parts.total)
        self.optimizer.step()
        self.loss.step()
        return parts.total.detach()


class Ours(Ordinary):
    """The step of equipoise.train."""

    def __init__(self, start: Any, compiled: bool) -> None:
        super().__init__(start)
        self.towers = Towers(self.network, clip_preprocess(224), compiled=compiled, graphed=compiled)

    def make_optimizer(self, recipe: Recipe) -> torch.optim.Optimizer:
        return adamw(self.network, recipe)

    def __call__(self, batch: Batch, padded: Tensor, floats: Tensor) -> Tensor:
        self.optimizer.zero_grad(set_to_none=True)
        parts = backward(self.towers, self.loss, batch)
        self.optimizer.step()
        self.loss.step()
        return parts.total


def timed(step: Any, batches: list[Any], warm: int, steps: int) -> float:
    """Median seconds a step over three rounds."""
    for number in range(warm):
        step(*batches[number % len(batches)])
    _synchronize()
    rounds = []
    for _ in range(3):
        start = time.perf_counter()
        for number in range(steps):
            step(*batches[number % len(batches)])
        _synchronize()
        rounds.append((time.perf_counter() - start) / steps)
    return statistics.median(rounds)


def _synchronize() -> None:
    if torch.cuda.is_available():
        torch.cuda.synchronize()


def needed_flops(config: Any, batch: Batch) -> float:
    """Forward and backward (twice the forward) of real tokens: matrix products and attention."""

    def tower(part: Any, lengths: list[int]) -> float:
        width, wide, layers = map(int, (part.hidden_size, part.intermediate_size, part.num_hidden_layers))
        tokens = sum(lengths)
        return layers * (tokens * (8 * width**2 + 4 * width * wide) + 4 * width * sum(n * n for n in lengths))

    vision = config.vision_config
    patches = int(vision.image_size // vision.patch_size) ** 2
    images = len(batch.pixels[0])
    forward = tower(vision, [patches + 1] * images)
    forward += float(images * patches * 2 * 3 * vision.patch_size**2 * vision.hidden_size)
    for chunk in batch.texts:
        assert isinstance(chunk, PackedTexts)
        forward += tower(config.text_config, chunk.lengths.tolist())
    return 3 * forward


def measured_peak() -> float:
    """bf16 matrix product of 8192 x 8192 random numbers, FLOP/s."""
    a, b = (torch.randn(8192, 8192, device="cuda", dtype=torch.bfloat16) for _ in range(2))
    return 2 * 8192**3 / timed(lambda: a @ b, [()], 200, 100)


def same_bytes(step: Ordinary, recipe: Recipe, batches: list[Any]) -> bool:
    """Whether two runs of four steps end with the same weights to the bit."""
    ends = []
    for _ in range(2):
        step.begin(recipe)
        for number in range(4):
            step(*batches[number % len(batches)])
        ends.append([parameter.detach().clone() for parameter in step.network.parameters()])
    return all(torch.equal(a, b) for a, b in zip(*ends, strict=True))


def measure(
    ways: dict[str, Ordinary], recipe: Recipe, batches: list[Any], rounds: int, peak: float
) -> dict[str, dict[str, float]]:
    """Time every way of doing the step, and print the times."""
    config = ways["ordinary"].network.config
    flops = statistics.mean(needed_flops(config, batch) for batch, *_ in batches)
    chunks = [chunk for batch, *_ in batches for chunk in batch.texts]
    texts, tokens, places = (
        sum(count) / len(batches)
        for count in (
            [len(chunk.lengths) for chunk in chunks],
            [int(chunk.lengths.sum()) for chunk in chunks],
            [chunk.tokens.numel() for chunk in chunks],
        )
    )
    size, padded = len(batches[0][0].ids), batches[0][1].numel()
    print(
        f"\n{recipe.name}: {size} images, {texts:.0f} distinct texts of {tokens:.0f} tokens, packed {places:.0f}, "
        f"padded {padded}; {flops / 1e12:.2f} TFLOP needed",
        flush=True,
    )
    figures = {"work": {"needed_tflop": flops / 1e12, "tokens": tokens, "packed": places, "padded": padded}}
    for name, step in ways.items():
        step.begin(recipe)
        torch.use_deterministic_algorithms(name != "ordinary", warn_only=True)  # as equipoise.train sets it
        begin = time.perf_counter()
        loss = float(step(*batches[0]))
        first = time.perf_counter() - begin
        seconds = timed(step, batches, len(batches), rounds)
        figures[name] = {"ms": seconds * 1e3, "pairs_per_s": size / seconds, "first_loss": loss, "first_step_s": first}
        times = figures["ordinary"]["ms"] / figures[name]["ms"]
        share = f"{flops / seconds / peak:.1%} of peak, " if peak else ""
        print(
            f"  {name:20s} {seconds * 1e3:7.2f} ms, {size / seconds:7.0f} pairs/s, {times:5.2f} x, {share}"
            f"loss {loss:.5f}, first step {first:.0f} s",
            flush=True,
        )
    return figures


KINDS = {  # part of a kernel's name -> what it is; the first that fits
    "Memcpy": "copies", "Memset": "copies", "adam": "optimizer", "fmha": "attention", "flash": "attention",
    "sdpa": "attention", "mem_eff": "attention", "cudnn_generated": "attention", "nvjet": "matrix products",
    "gemm": "matrix products", "cutlass": "matrix products", "cublas": "matrix products", "triton": "compiled, fused",
    "reduce": "sums (torch)", "elementwise": "elementwise (torch)", "indexing": "gather and scatter",
    "embedding": "gather and scatter",
}  # fmt: skip


def profiled(step: Any, batches: list[Any], steps: int, flops: float, peak: float) -> None:
    """Where the GPU's time goes in `steps` steps: by kind of kernel, the longest kernels, and time without any."""
    from torch._C._autograd import DeviceType
    from torch.profiler import ProfilerActivity, profile

    seconds = timed(step, batches, len(batches), steps)
    with profile(activities=[ProfilerActivity.CUDA]) as profiler:
        for number in range(steps):
            step(*batches[number % len(batches)])
        _synchronize()
    kernels = [event for event in profiler.events() if event.device_type == DeviceType.CUDA]
    spans = sorted((event.time_range.start, event.time_range.end) for event in kernels)
    busy, end = 0.0, spans[0][0]
    for start, stop in spans:
        busy += max(0.0, stop - max(start, end))
        end = max(end, stop)
    by_kind: dict[str, float] = {}
    by_name: dict[str, list[float]] = {}
    for event in kernels:
        took = event.time_range.end - event.time_range.start
        kind = next((kind for part, kind in KINDS.items() if part.lower() in event.name.lower()), "other")
        by_kind[kind] = by_kind.get(kind, 0.0) + took
        by_name.setdefault(event.name, []).append(took)
    print(
        f"  {seconds * 1e3:.2f} ms a step without the profiler, {flops / seconds / peak:.1%} of peak; under it "
        f"{(spans[-1][1] - spans[0][0]) / steps / 1e3:.2f} ms, the GPU busy for {busy / steps / 1e3:.2f}, "
        f"{len(kernels) / steps:.0f} kernels"
    )
    for kind, took in sorted(by_kind.items(), key=lambda pair: -pair[1]):
        print(f"    {took / steps / 1e3:7.3f} ms {took / busy:6.1%}  {kind}")
    for name, times in sorted(by_name.items(), key=lambda pair: -sum(pair[1]))[:25]:
        print(f"    {sum(times) / steps / 1e3:7.3f} ms {len(times) / steps:6.1f} x  {name[:110]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--captions", type=Path, help="JSON of COCO captions, several of each image")
    parser.add_argument("--batch", type=int, default=256)
    parser.add_argument("--batches", type=int, default=8, help="different batches to go through")
    parser.add_argument("--steps", type=int, default=24)
    parser.add_argument("--out", type=Path, help="write the numbers as JSON here")
    parser.add_argument("--profile", action="store_true", help="our step alone, and where the GPU's time goes")
    parser.add_argument("--tiny", action="store_true", help="a tiny model on the CPU: to see whether the script runs")
    options = parser.parse_args()
    if options.tiny:
        options.batch, options.batches, options.steps = 4, 2, 2
    elif not options.captions:
        parser.error("--captions is missing: JSON of COCO captions (or --tiny)")
    device = "cpu" if options.tiny else "cuda"
    warnings.filterwarnings("ignore", message=".*deterministic")
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]
    torch.manual_seed(0)
    model = made.clip(device, tiny=options.tiny)
    config = model.network.config
    images = captions_by_image(options.captions) if options.captions else made_captions()
    start = model.network.train()
    peak = 0.0 if options.tiny else measured_peak()
    name = "CPU" if options.tiny else torch.cuda.get_device_name()
    print(f"{name}, torch {torch.__version__}; bf16 matrix peak {peak / 1e12:.0f} TFLOP/s", flush=True)
    if options.profile:
        ours = Ours(start, compiled=True)
        torch.use_deterministic_algorithms(True, warn_only=True)
        for recipe_name, roles in RECIPES.items():
            print(f"\n{recipe_name}:", flush=True)
            batches = make_batches(model, images, roles, options.batch, options.batches)
            ours.begin(get_recipe(recipe_name))
            flops = statistics.mean(needed_flops(config, batch) for batch, *_ in batches)
            profiled(ours, batches, options.steps, flops, peak)
        return
    ways = {"ordinary": Ordinary(start), "ours, not compiled": Ours(start, compiled=False)}
    if peak:
        ways["ours"] = Ours(start, compiled=True)
    results: dict[str, Any] = {"device": name, "torch": torch.__version__, "peak_tflops": peak / 1e12}
    for recipe_name, roles in RECIPES.items():
        recipe = get_recipe(recipe_name)
        batches = make_batches(model, images, roles, options.batch, options.batches)
        results[recipe_name] = measure(ways, recipe, batches, options.steps, peak)
        if options.out:
            options.out.write_text(json.dumps(results, indent=2) + "\n")
    same = {way: same_bytes(step, recipe, batches) for way, step in ways.items()}  # deterministic mode is on here
    for way, equal in same.items():
        print(f"{way}: four steps, twice, end with the same bytes: {equal}", flush=True)
    if not all(equal for way, equal in same.items() if way.startswith("ours")):
        sys.exit("our step is not deterministic")


if __name__ == "__main__":
    main()
