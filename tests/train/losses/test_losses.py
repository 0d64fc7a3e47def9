"""Each loss equals its formula, written out once more in slow loops, in value and in gradients.

Rows that do not exist hold random vectors, not zeros, so that a loss which looks at them fails.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import fields, replace
from typing import Literal

import pytest
import torch
from torch import Tensor

from equipoise.core.errors import UserError
from equipoise.train.losses.agreement import agreement
from equipoise.train.losses.base import Features, Sum
from equipoise.train.losses.clic import clic_uni
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.cs_clip import cs_unit
from equipoise.train.losses.dac import dac_mil, dac_negative
from equipoise.train.losses.degla import DeglaText, degla_distillation
from equipoise.train.losses.fsc import FscGlobal, FscLocal
from equipoise.train.losses.imc import Imc
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.keep import keep
from equipoise.train.losses.negclip import negclip_loss
from equipoise.train.losses.rank_each import RankEach
from equipoise.train.losses.read import read_alignment
from equipoise.train.losses.siglip import siglip_loss
from equipoise.train.losses.svlc import svlc_analogy, svlc_negative
from equipoise.train.losses.text_contrast import text_contrast
from equipoise.train.losses.two_captions import two_captions

torch.set_num_threads(1)
Term = Callable[[Features], Tensor]


def make(samples: int, share: float | None, *, negatives: int = 3, seed: int = 0, dtype=torch.float64) -> Features:
    """A random batch with everything in it; `share` of the optional rows exist (None: no masks at all)."""
    draw = torch.Generator().manual_seed(seed)
    dimensions, dense, patches, tokens = 4, 3, 5, 4

    def vectors(*shape: int, unit: bool = True) -> Tensor:
        x = torch.randn(*shape, dimensions, generator=draw, dtype=torch.float64)
        x = torch.nn.functional.normalize(x, dim=-1) if unit else x
        return x.to(dtype).requires_grad_()

    def mask(*shape: int) -> Tensor | None:
        return None if share is None else torch.rand(*shape, generator=draw) < share

    b, k = samples, negatives
    negative_mask = mask(b, k)
    negative_tokens_mask = mask(b, k, tokens)
    caption_tokens_mask = mask(b, tokens)
    if caption_tokens_mask is not None:
        caption_tokens_mask[:, 0] = True  # a caption always has a word
    return Features(
        image=vectors(b),
        caption=vectors(b),
        scale=torch.tensor(3.7, dtype=dtype, requires_grad=True),
        bias=torch.tensor(-1.3, dtype=dtype, requires_grad=True),
        positive=vectors(b),
        positive_mask=mask(b),
        negative=vectors(b, k),
        negative_mask=negative_mask,
        hard_image=vectors(b),
        hard_caption=vectors(b),
        hard_image_mask=mask(b),
        hard_negative=vectors(b, k),
        hard_negative_mask=mask(b, k),
        dense=vectors(b, dense),
        dense_mask=mask(b, dense),
        dense_negative=vectors(b, dense),
        dense_negative_mask=mask(b, dense),
        patches=vectors(b, patches, unit=False),
        caption_tokens=vectors(b, tokens, unit=False),
        caption_tokens_mask=caption_tokens_mask,
        negative_tokens=vectors(b, k, tokens, unit=False),
        negative_tokens_mask=negative_tokens_mask,
        teacher_image=vectors(b),
        teacher_caption=vectors(b),
        teacher_negative=vectors(b, k),
    )


BATCHES = {
    "whole": lambda: make(4, None),
    "masked": lambda: make(5, 0.5, seed=1),
    "sparse": lambda: make(4, 0.2, seed=2),
    "no extras at all": lambda: make(3, 0.0),
    "one sample": lambda: make(1, None),
    "one sample, masked": lambda: make(1, 0.5, seed=3),
    "one sample, no extras": lambda: make(1, 0.0),
    "one negative each": lambda: make(3, 0.6, negatives=1, seed=4),
}

# ---------------------------------------------------------------- the formulas, slowly


def dot(a: Tensor, b: Tensor) -> Tensor:
    return sum(x * y for x, y in zip(a, b, strict=True))


def there(mask: Tensor | None, *index: int) -> bool:
    return True if mask is None else bool(mask[index])


def average(values: list[Tensor], f: Features) -> Tensor:
    return sum(values) / len(values) if values else 0 * f.scale


def choose(right: Tensor, all_of_them: list[Tensor]) -> Tensor:
    """-log of the share of `right` in the sum of exponentials."""
    return -torch.log(torch.exp(right) / sum(torch.exp(x) for x in all_of_them))


def size(f: Features) -> range:
    return range(len(f.image))


def slots(f: Features) -> range:
    return range(f.negative.shape[1])


def s(f: Features, a: Tensor, b: Tensor) -> Tensor:
    return f.scale * dot(a, b)


def all_negatives(f: Features, with_: Tensor) -> list[Tensor]:
    return [s(f, with_, f.negative[j, k]) for j in size(f) for k in slots(f) if there(f.negative_mask, j, k)]


def own_negatives(f: Features, with_: Tensor, i: int) -> list[Tensor]:
    return [s(f, with_, f.negative[i, k]) for k in slots(f) if there(f.negative_mask, i, k)]


def slow_clip(f: Features) -> Tensor:
    total = 0
    for i in size(f):
        right = s(f, f.image[i], f.caption[i])
        total = total + choose(right, [s(f, f.image[i], f.caption[j]) for j in size(f)])
        total = total + choose(right, [s(f, f.image[j], f.caption[i]) for j in size(f)])
    return total / len(f.image) / 2


def slow_itc_hn(f: Features) -> Tensor:
    total = 0
    for i in size(f):
        right = s(f, f.image[i], f.caption[i])
        texts = [s(f, f.image[i], f.caption[j]) for j in size(f)] + all_negatives(f, f.image[i])
        total = total + choose(right, texts)
        total = total + choose(right, [s(f, f.image[j], f.caption[i]) for j in size(f)])
    return total / len(f.image) / 2


def slow_svlc_negative(f: Features) -> Tensor:
    losses = []
    for i in size(f):
        right, wrong = s(f, f.image[i], f.caption[i]), own_negatives(f, f.image[i], i)
        if wrong:
            losses.append(choose(right, [right, *wrong]))
    return average(losses, f)


def slow_svlc_analogy(f: Features) -> Tensor:
    have = [i for i in size(f) if there(f.positive_mask, i)]
    losses = []
    for i in have:
        for anchor in (f.image[i], f.caption[i]):
            losses.append(choose(s(f, anchor, f.positive[i]), [s(f, anchor, f.positive[j]) for j in have]))
    return average(losses, f)


def slow_imc(form: str) -> Term:
    def loss(f: Features) -> Tensor:
        losses = []
        for i in size(f):
            aligned = s(f, f.image[i], f.caption[i])
            wrong = all_negatives(f, f.caption[i]) if form == "all" else own_negatives(f, f.caption[i], i)
            if wrong:
                losses.append(choose(aligned, wrong if form == "paper" else [aligned, *wrong]))
        return average(losses, f)

    return loss


def slow_cmr(thresholds: list[float], mean: str = "paper") -> Term:
    def loss(f: Features) -> Tensor:
        total, count = 0 * f.scale, 0
        for i in size(f):
            for k in slots(f):
                margin = s(f, f.image[i], f.negative[i, k]) - s(f, f.image[i], f.caption[i]) + thresholds[k]
                count += mean == "code" or there(f.negative_mask, i, k)
                if there(f.negative_mask, i, k) and margin > 0:
                    total = total + margin
        return total / max(count, 1)

    return loss


def slow_negclip(f: Features) -> Tensor:
    pairs = [(f.image[i], f.caption[i]) for i in size(f)]
    pairs += [(f.hard_image[i], f.hard_caption[i]) for i in size(f) if there(f.hard_image_mask, i)]
    wrong = [f.negative[i, k] for i in size(f) for k in slots(f) if there(f.negative_mask, i, k)]
    wrong += [f.hard_negative[i, k] for i in size(f) for k in slots(f) if there(f.hard_negative_mask, i, k)]
    losses = []
    for image, caption in pairs:
        right = s(f, image, caption)
        losses.append(choose(right, [s(f, image, text) for text in [c for _, c in pairs] + wrong]))
        losses.append(choose(right, [s(f, other, caption) for other, _ in pairs]))
    return average(losses, f)


def slow_dac_mil(f: Features) -> Tensor:
    def captions(j: int) -> list[Tensor]:
        return [f.dense[j, m] for m in range(f.dense.shape[1]) if there(f.dense_mask, j, m)]

    losses = []
    for i in size(f):
        own = [s(f, f.image[i], text) for text in captions(i)]
        if not own:
            continue
        other_captions = [s(f, f.image[i], text) for j in size(f) if j != i for text in captions(j)]
        other_images = [s(f, f.image[j], text) for j in size(f) if j != i for text in captions(i)]
        losses.append(choose(torch.log(sum(map(torch.exp, own))), own + other_captions + other_images))
    return average(losses, f)


def slow_dac_negative(f: Features) -> Tensor:
    losses = []
    for i in size(f):
        m_all = range(f.dense.shape[1])
        right = [s(f, f.image[i], f.dense[i, m]) for m in m_all if there(f.dense_mask, i, m)]
        wrong = [s(f, f.image[i], f.dense_negative[i, m]) for m in m_all if there(f.dense_negative_mask, i, m)]
        if right and wrong:
            losses.append(choose(torch.log(sum(map(torch.exp, right))), right + wrong))
    return average(losses, f)


def slow_calibrated(right: Tensor, wrong: list[Tensor]) -> Tensor:
    scores, n, total = [right, *wrong], 1 + len(wrong), 0
    for k, score in enumerate(scores):
        p = torch.exp(score) / sum(torch.exp(x) for x in scores)
        label = 0.02 / n + (0.98 if k == 0 else 0.0)
        total = total + label * (1 - p) ** 2 * -torch.log(p)
    return total


def slow_fsc_global(f: Features) -> Tensor:
    rows = [(s(f, f.image[i], f.caption[i]), own_negatives(f, f.image[i], i)) for i in size(f)]
    return average([slow_calibrated(right, wrong) for right, wrong in rows if wrong], f)


def slow_fsc_local(f: Features) -> Tensor:
    def score(i: int, tokens: Tensor, keep: list[bool]) -> Tensor:
        found = []
        for token, kept in zip(tokens, keep, strict=True):
            if not kept:
                continue
            alike = [float(dot(token, patch).detach()) for patch in f.patches[i]]
            spread = [(a - min(alike)) / (max(alike) - min(alike)) for a in alike]
            gathered = sum(w / sum(spread) * patch for w, patch in zip(spread, f.patches[i], strict=True))
            lengths = torch.sqrt(dot(gathered, gathered)) * torch.sqrt(dot(token, token))
            found.append(f.scale * dot(gathered, token) / lengths)
        return torch.log(sum(map(torch.exp, found)))

    losses = []
    for i in size(f):
        length = range(f.caption_tokens.shape[1])
        right = score(i, f.caption_tokens[i], [there(f.caption_tokens_mask, i, t) for t in length])
        wrong = []
        for k in slots(f):
            keep = [there(f.negative_tokens_mask, i, k, t) for t in length]
            if there(f.negative_mask, i, k) and any(keep):
                wrong.append(score(i, f.negative_tokens[i, k], keep))
        if wrong:
            losses.append(slow_calibrated(right, wrong))
    return average(losses, f)


def slow_siglip(f: Features) -> Tensor:
    total = 0
    for i in size(f):
        for j in size(f):
            z = 1 if i == j else -1
            total = total - torch.log(1 / (1 + torch.exp(-z * (s(f, f.image[i], f.caption[j]) + f.bias))))
    return total / len(f.image)


THRESHOLDS = [0.5, 0.0, 2.5]


def slow_two_captions(f: Features) -> Tensor:
    total = 0
    reworded = [f.positive[i] if there(f.positive_mask, i) else f.caption[i] for i in size(f)]
    for texts in (list(f.caption), reworded):
        for i in size(f):
            right = s(f, f.image[i], texts[i])
            total = total + choose(right, [s(f, f.image[i], texts[j]) for j in size(f)])
            total = total + choose(right, [s(f, f.image[j], texts[i]) for j in size(f)])
    return total / len(f.image) / 4


def slow_rank(gamma: float, margin: float) -> Term:
    def slow(f: Features) -> Tensor:
        found = []
        for i in size(f):
            rights = [f.caption[i]] + ([f.positive[i]] if there(f.positive_mask, i) else [])
            for right in rights:
                for k in slots(f):
                    if there(f.negative_mask, i, k):
                        d = s(f, f.image[i], right) - s(f, f.image[i], f.negative[i, k]) - margin
                        p = 1 / (1 + torch.exp(-d))
                        found.append((1 - p) ** gamma * -torch.log(p))
        return average(found, f)

    return slow


def slow_text(f: Features) -> Tensor:
    halves = []
    for a, b in ((f.caption, f.positive), (f.positive, f.caption)):
        found = []
        for i in size(f):
            if there(f.positive_mask, i):
                texts = [10 * dot(a[i], b[j]) for j in size(f) if there(f.positive_mask, j)]
                texts += [10 * x / f.scale for x in own_negatives(f, a[i], i)]
                found.append(choose(10 * dot(a[i], b[i]), texts))
        halves.append(average(found, f))
    return sum(halves) / 2


def slow_agreement(f: Features) -> Tensor:
    apart = [
        (s(f, f.image[i], f.caption[i]) - s(f, f.image[i], f.positive[i])) ** 2
        for i in size(f)
        if there(f.positive_mask, i)
    ]
    return average(apart, f)


def slow_keep(f: Features) -> Tensor:
    t, total = f.scale.detach(), 0
    for i in size(f):
        for one in (
            [(dot(f.image[i], f.caption[j]), dot(f.teacher_image[i], f.teacher_caption[j])) for j in size(f)],
            [(dot(f.image[j], f.caption[i]), dot(f.teacher_image[j], f.teacher_caption[i])) for j in size(f)],
        ):
            ours, before = (torch.stack(part).mul(t).softmax(0) for part in zip(*one, strict=True))
            total = total + (before * (before.log() - ours.log())).sum()
    return total / 2 / len(f.image)


def slow_read(f: Features) -> Tensor:
    losses = []
    for i in size(f):
        if there(f.positive_mask, i):
            captions = [s(f, f.positive[i], f.caption[j]) for j in size(f)]
            losses.append(choose(captions[i], captions))
    return average(losses, f)


def slow_clic_negative(f: Features) -> Tensor:
    """CLIC's L_sneg for one negative each, by its own formula: a softmax over the right text and the negative."""
    losses = []
    for i in size(f):
        if there(f.negative_mask, i, 0):
            wrong = s(f, f.image[i], f.negative[i, 0])
            for text in [f.caption[i]] + ([f.positive[i]] if there(f.positive_mask, i) else []):
                losses.append(choose(s(f, f.image[i], text), [s(f, f.image[i], text), wrong]))
    return average(losses, f)


def one_negative(loss: Term) -> Term:
    def with_one(f: Features) -> Tensor:
        mask = None if f.negative_mask is None else f.negative_mask[:, :1]
        return loss(replace(f, negative=f.negative[:, :1], negative_mask=mask))

    return with_one


def slow_clic_uni(f: Features) -> Tensor:
    pairs = [(f.caption[i], f.positive[i]) for i in size(f) if there(f.positive_mask, i)]
    return average([dot(a, a) + dot(b, b) - 2 * dot(a, b) for a, b in pairs], f)


def slow_cs_unit(f: Features) -> Tensor:
    units = []
    for m in range(f.dense.shape[1]):
        have = [i for i in size(f) if there(f.dense_mask, i, m)]
        losses = []
        for i in have:
            right = s(f, f.image[i], f.dense[i, m])
            texts = [s(f, f.image[i], f.dense[j, m]) for j in have]
            foil = [s(f, f.image[i], f.dense_negative[i, m])] if there(f.dense_negative_mask, i, m) else []
            losses.append(choose(right, texts + foil))
            losses.append(choose(right, [s(f, f.image[j], f.dense[i, m]) for j in have]))
        if losses:
            units.append(average(losses, f))
    return average(units, f)


def slow_degla_text(f: Features) -> Tensor:
    losses = []
    for i in size(f):
        right = 10 * dot(f.caption[i], f.teacher_caption[i])
        wrong = [10 * dot(f.caption[i], f.negative[i, k]) for k in slots(f) if there(f.negative_mask, i, k)]
        if wrong:
            losses.append(choose(right, [right, *wrong]))
    return average(losses, f)


def slow_degla_distillation(f: Features) -> Tensor:
    total = 0
    for i in size(f):
        pairs = [(f.image[i], f.teacher_image[i]), (f.caption[i], f.teacher_caption[i])]
        pairs += [(f.negative[i, k], f.teacher_negative[i, k]) for k in slots(f) if there(f.negative_mask, i, k)]
        total = total + sum(dot(a - b, a - b) for a, b in pairs)
    return total * 256 / len(f.image)


def cmr(f: Features, mean: Literal["paper", "code"] = "paper") -> Tensor:
    loss = Cmr([f"type {k}" for k in slots(f)], mean=mean)
    loss.thresholds = torch.tensor(THRESHOLDS[: len(slots(f))], dtype=torch.float64)
    return loss(f)


LOSSES: dict[str, tuple[Term, Term]] = {
    "clip": (clip_loss, slow_clip),
    "itc_hn": (itc_hn, slow_itc_hn),
    "svlc_negative": (svlc_negative, slow_svlc_negative),
    "svlc_analogy": (svlc_analogy, slow_svlc_analogy),
    "imc all": (Imc("all"), slow_imc("all")),
    "imc own": (Imc("own"), slow_imc("own")),
    "imc paper": (Imc("paper"), slow_imc("paper")),
    "cmr": (cmr, slow_cmr(THRESHOLDS)),
    "cmr code": (lambda f: cmr(f, "code"), slow_cmr(THRESHOLDS, "code")),
    "negclip": (negclip_loss, slow_negclip),
    "dac_mil": (dac_mil, slow_dac_mil),
    "dac_negative": (dac_negative, slow_dac_negative),
    "fsc_global": (FscGlobal(), slow_fsc_global),
    "fsc_local": (FscLocal(), slow_fsc_local),
    "siglip": (siglip_loss, slow_siglip),
    "two_captions": (two_captions, slow_two_captions),
    "rank": (RankEach(), slow_rank(0, 0)),
    "rank margin": (RankEach(margin=3.0), slow_rank(0, 3.0)),
    "rank focal": (RankEach(gamma=2.0, margin=1.0), slow_rank(2.0, 1.0)),
    "text_contrast": (text_contrast, slow_text),
    "agreement": (agreement, slow_agreement),
    "keep": (keep, slow_keep),
    "read_alignment": (read_alignment, slow_read),
    "clic_negative": (one_negative(RankEach()), slow_clic_negative),
    "clic_uni": (clic_uni, slow_clic_uni),
    "cs_unit": (cs_unit, slow_cs_unit),
    "degla_text": (DeglaText(), slow_degla_text),
    "degla_distillation": (degla_distillation, slow_degla_distillation),
}


def leaves(f: Features) -> dict[str, Tensor]:
    return {name: tensor for name, tensor in vars(f).items() if tensor is not None and tensor.is_floating_point()}


def gradients(loss: Tensor, f: Features) -> dict[str, Tensor]:
    names = leaves(f)
    found = torch.autograd.grad(loss, list(names.values()), allow_unused=True)
    return {
        name: torch.zeros_like(leaf) if grad is None else grad
        for (name, leaf), grad in zip(names.items(), found, strict=True)
    }


@pytest.mark.parametrize("name", LOSSES)
def test_value_and_gradients_equal_the_formula(name: str) -> None:
    fast, slow = LOSSES[name]
    for batch, made in BATCHES.items():
        features = made()
        loss, expected = fast(features), slow(features)
        pairs = {"loss": (loss, expected)}
        found, wanted = gradients(loss, features), gradients(expected, features)
        pairs |= {leaf: (found[leaf], wanted[leaf]) for leaf in found}
        for part, (one, other) in pairs.items():
            about = f"{batch}, {part}"
            torch.testing.assert_close(one, other, rtol=0, atol=1e-9, msg=lambda m, about=about: f"{about}: {m}")


@pytest.mark.parametrize("name", [name for name in LOSSES if name != "fsc_local"])
def test_gradients_equal_finite_differences(name: str) -> None:
    features = make(3, 0.6, negatives=2, seed=5)
    names = leaves(features)
    if name == "keep":  # its scale is a constant to the gradient
        names["scale"] = names["scale"].detach()
    masks = {name: mask for name, mask in vars(features).items() if mask is not None and name not in names}

    def value(*tensors: Tensor) -> Tensor:
        return LOSSES[name][0](Features(**dict(zip(names, tensors, strict=True)), **masks))

    assert torch.autograd.gradcheck(value, list(names.values()), fast_mode=True)


def test_the_local_loss_gradient_equals_finite_differences_with_the_weights_held() -> None:
    """The patches' weights are constants to the gradient, so the patches are moved where weights cannot
    change: with two patches the min-max weights are 0 and 1, whatever the similarities."""
    features = make(2, None, negatives=1, seed=6)
    features.patches = features.patches.detach()[:, :2].clone().requires_grad_()

    def value(patches: Tensor, tokens: Tensor, wrong: Tensor, scale: Tensor) -> Tensor:
        return FscLocal()(
            Features(
                features.image, features.caption, scale, patches=patches, caption_tokens=tokens, negative_tokens=wrong
            )
        )

    inputs = (features.patches, features.caption_tokens, features.negative_tokens, features.scale)
    assert torch.autograd.gradcheck(value, inputs)


@pytest.mark.parametrize("share", [None, 0.3, 0.0])
def test_finite_at_the_largest_scale_in_float32(share: float | None) -> None:
    features = make(4, share, seed=7, dtype=torch.float32)
    features.scale = torch.tensor(100.0, requires_grad=True)
    for name, (fast, _) in LOSSES.items():
        loss = fast(features)
        assert loss.isfinite(), name
        assert all(grad.isfinite().all() for grad in gradients(loss, features).values()), name


# ---------------------------------------------------------------- what a formula does not say


def test_order_of_samples_changes_nothing() -> None:
    features = make(5, 0.5, seed=8)
    order = torch.tensor([3, 0, 4, 1, 2])
    moved = Features(
        **{
            one.name: value[order] if isinstance(value := getattr(features, one.name), Tensor) and value.ndim else value
            for one in fields(features)
        }
    )
    for name, (fast, _) in LOSSES.items():
        torch.testing.assert_close(
            fast(moved), fast(features), rtol=0, atol=1e-9, msg=lambda m, name=name: f"{name}: {m}"
        )


def test_equal_patches_are_weighed_evenly() -> None:
    features = make(2, None)
    features.patches = features.patches.detach()[:, :1].expand(-1, 5, -1).clone().requires_grad_()
    loss = FscLocal()(features)
    assert loss.isfinite()
    assert all(grad.isfinite().all() for grad in gradients(loss, features).values())


def test_a_loss_says_what_it_misses() -> None:
    features = make(2, None)
    features.negative = None
    with pytest.raises(UserError, match=r"Features\.negative"):
        itc_hn(features)


@pytest.mark.parametrize(
    ("value", "found"), [(lambda f: (f.image * f.caption).sum(-1), r"shape \(2,\)"), (lambda f: 0.5, "float")]
)
def test_a_loss_is_one_number(value: Term, found: str) -> None:
    with pytest.raises(UserError, match=rf"loss mine: expected one number for the batch.*{found}"):
        Sum({"clip": (1, clip_loss), "mine": (0.5, value)})(make(2, None))


# ---------------------------------------------------------------- thresholds and sums


def gap(f: Features, k: int) -> list[float]:
    return [
        float((s(f, f.image[i], f.caption[i]) - s(f, f.image[i], f.negative[i, k])).detach())
        for i in size(f)
        if there(f.negative_mask, i, k)
    ]


def test_thresholds_are_the_bounded_gap_of_the_batch_before() -> None:
    loss = Cmr(("relation", "attribute", "object"), upper=1.5)
    first, second = make(5, 0.5, seed=1), make(5, 0.5, seed=9)
    first.negative_mask[:, 2] = False  # a type nobody has keeps its threshold
    assert loss.thresholds.tolist() == [0, 0, 0]
    torch.testing.assert_close(loss(first), slow_cmr([0, 0, 0])(first))
    loss(first)
    assert loss.thresholds.tolist() == [0, 0, 0], "calling twice moves nothing"
    loss.step()
    expected = [min(1.5, max(0.0, sum(gap(first, k)) / len(gap(first, k)))) for k in range(2)] + [0.0]
    assert loss.thresholds.tolist() == pytest.approx(expected, abs=1e-12)
    assert len(set(expected)) > 1
    torch.testing.assert_close(loss(second), slow_cmr(expected)(second))
    second.negative_mask[:, :2] = False
    loss(second)
    loss.step()
    assert loss.thresholds.tolist()[:2] == pytest.approx(expected[:2], abs=1e-12), "nobody had these types"
    expected[2] = float(loss.thresholds[2])
    watched = loss.watched()
    assert {name: float(value) for name, value in watched.items()} == pytest.approx(
        dict(zip(["threshold_relation", "threshold_attribute", "threshold_object"], expected, strict=True))
    )


def test_cmr_means_the_same_for_captions_with_few_types() -> None:
    full, sparse = make(6, None, dtype=torch.float32), make(6, None, dtype=torch.float32)
    assert cmr(full) == cmr(full, "code"), "where nothing is missing, to the bit"
    sparse.negative = full.negative[:, :1].expand(-1, 3, -1).clone()
    one = Features(sparse.image, sparse.caption, sparse.scale, negative=sparse.negative[:, :1])
    sparse.negative_mask = torch.tensor([[True, False, False]] * 6)
    torch.testing.assert_close(cmr(sparse), cmr(one))
    torch.testing.assert_close(cmr(sparse, "code"), cmr(one) / 3)


def test_thresholds_are_bounded_on_both_sides() -> None:
    loss = Cmr(("far", "near", "wrong"), upper=2.0)
    features = make(2, None)
    image = torch.tensor([[1.0, 0, 0, 0]] * 2, dtype=torch.float64)
    opposite, close, better = -image, 0.9 * image, 1.5 * image
    features.image, features.caption = image, image
    features.negative = torch.stack([opposite, close, better], 1)
    loss(features)
    loss.step()
    assert loss.thresholds.tolist() == pytest.approx([2.0, 0.37, 0.0])  # gaps 7.4, 0.37, -1.85


def test_fixed_thresholds_stay() -> None:
    loss = Cmr(("a", "b", "c"), upper=1.0, fixed=2.0)
    features = make(3, None)
    torch.testing.assert_close(loss(features), slow_cmr([2.0] * 3)(features))
    loss.step()
    assert loss.thresholds.tolist() == [2.0] * 3


def test_resumed_thresholds_are_the_same_to_the_bit() -> None:
    def recipe() -> Sum:
        return Sum({"itc": (1.0, itc_hn), "cmr": (0.4, Cmr(("a", "b", "c")))})

    batches = [make(4, 0.7, seed=seed, dtype=torch.float32) for seed in range(4)]
    for batch in batches:
        batch.caption = batch.image  # a gap worth a threshold
    straight, before, after = recipe(), recipe(), recipe()
    for batch in batches:
        straight(batch)
        straight.step()
    for batch in batches[:2]:
        before(batch)
        before.step()
    after.load_state_dict(before.state_dict())
    for batch in batches[2:]:
        after(batch)
        after.step()
    assert after.state_dict() == straight.state_dict()
    assert all(0 < threshold < 10 for threshold in after.state_dict()["cmr"]["thresholds"])


def test_sum_weighs_and_leaves_out() -> None:
    features = make(3, 0.5)

    def never(features: Features) -> Tensor:
        raise AssertionError("a term of weight 0 was computed")

    result = Sum({"clip": (1.0, clip_loss), "neg": (0.25, svlc_negative), "off": (0, never)})(features)
    torch.testing.assert_close(result.total, clip_loss(features) + 0.25 * svlc_negative(features))
    assert set(result.parts) == {"clip", "neg"}
    torch.testing.assert_close(result.parts["neg"], svlc_negative(features).detach())
    assert not any(part.requires_grad for part in result.parts.values())
    with pytest.raises(UserError, match="every loss is switched off"):
        Sum({"clip": (0, clip_loss)})


def test_state_of_another_recipe_is_refused() -> None:
    with pytest.raises(UserError, match="another recipe"):
        Sum({"clip": (1.0, clip_loss)}).load_state_dict({"cmr": {}})
    with pytest.raises(UserError, match="saved thresholds"):
        Cmr(("a",)).load_state_dict({"types": ["b"], "thresholds": [0.0]})


def test_clip_loss_of_a_known_batch() -> None:
    """Two pairs at right angles, scale ln 3: each choice is 3 to 1."""
    eye = torch.eye(2, dtype=torch.float64)
    loss = clip_loss(Features(eye, eye, torch.tensor(math.log(3.0), dtype=torch.float64)))
    assert float(loss) == pytest.approx(math.log(4 / 3))


@pytest.mark.parametrize("name", LOSSES)
def test_scale_and_bias_may_be_vectors_of_one(name: str) -> None:
    """transformers' SigLIP keeps both with a shape of (1,), its CLIP the scale with ()."""
    features = make(3, 0.5)
    expected = LOSSES[name][0](features)
    features.scale, features.bias = features.scale[None], features.bias[None]
    loss = Sum({name: (1.0, LOSSES[name][0])})(features).total
    assert loss.shape == ()
    torch.testing.assert_close(loss, expected)
