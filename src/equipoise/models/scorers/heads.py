"""The families of transformers with a matching head: one row each, and no other code names a family.

A family looks at images once (`look`: pixels -> features) and matches them with many texts (`match`: features, tokens,
mask -> one number each). Heads: "itm" is the log-odds that image and text belong together (the logit of a match minus
that of none, which orders pairs as its probability does and never saturates; ViLT has one logit), "itc" the cosine of
the contrastive embeddings.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import torch
from torch.nn.functional import normalize

from equipoise.core.errors import UserError

if TYPE_CHECKING:
    from transformers import (
        AlignModel,
        Blip2ForImageTextRetrieval,
        BlipForImageTextRetrieval,
        BridgeTowerForContrastiveLearning,
        BridgeTowerForImageAndTextRetrieval,
        FlavaForPreTraining,
        ViltForImageAndTextRetrieval,
    )

Tensor = torch.Tensor
Look = Callable[[Any, Tensor], Tensor]
MatchHead = Callable[[Any, Tensor, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Head:
    network: str  # the class of transformers
    look: Look
    match: MatchHead


@dataclass(frozen=True)
class Contrast:
    """The contrastive embeddings, not yet normalised: of the features that "itm" reads, and of a text alone."""

    image: Callable[[Any, Tensor], Tensor]
    text: Callable[[Any, Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class HeadFamily:
    name: str  # model_type of config.json
    heads: Mapping[str, Head]  # the first is the default
    text: str = "text_config"  # the text tower's part of its config; "": the config itself
    contrast: Contrast | None = None  # a family with it can be finetuned


def _blip_look(network: BlipForImageTextRetrieval | Blip2ForImageTextRetrieval, pixels: Tensor) -> Tensor:
    return network.vision_model(pixel_values=pixels).last_hidden_state


def _blip_itm(network: BlipForImageTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """The text begins with [CLS], as in BLIP's evaluation (blip_itm.py); its training code used [ENC]."""
    read = network.text_encoder(
        input_ids=ids, attention_mask=mask, encoder_hidden_states=seen, encoder_attention_mask=_ones(seen)
    )
    return _log_odds(network.itm_head(read.last_hidden_state[:, 0]))


def _blip_image(network: BlipForImageTextRetrieval, seen: Tensor) -> Tensor:
    return network.vision_proj(seen[:, 0])


def _blip_text(network: BlipForImageTextRetrieval, ids: Tensor, mask: Tensor) -> Tensor:
    read = network.text_encoder(input_ids=ids, attention_mask=mask).last_hidden_state[:, 0]
    return network.text_proj(read)


def _blip_itc(network: BlipForImageTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    return _cosine(_blip_image(network, seen), _blip_text(network, ids, mask))


def _blip2_queries(network: Blip2ForImageTextRetrieval, pixels: Tensor) -> Tensor:
    """The embeddings of the queries, which read an image without a text."""
    seen = network.vision_model(pixel_values=pixels).last_hidden_state
    queries = network.query_tokens.expand(len(seen), -1, -1)
    read = network.qformer(query_embeds=queries, encoder_hidden_states=seen, encoder_attention_mask=_ones(seen))
    return normalize(
        network.vision_projection(read.last_hidden_state.to(network.vision_projection.weight.dtype)), dim=-1
    )


def _blip2_itm(network: Blip2ForImageTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    queries = network.query_tokens.expand(len(seen), -1, -1)
    count = queries.shape[1]
    read = network.qformer(
        query_embeds=network.embeddings(input_ids=ids, query_embeds=queries),
        query_length=count,
        attention_mask=torch.cat([_ones(queries), mask], dim=1),
        encoder_hidden_states=seen,
        encoder_attention_mask=_ones(seen),
    ).last_hidden_state
    return _log_odds(network.itm_head(read[:, :count].to(network.itm_head.weight.dtype)).mean(dim=1))


def _blip2_itc(network: Blip2ForImageTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    """The cosine of the text and the query that is nearest to it."""
    embedded = network.embeddings(input_ids=ids)
    read = network.qformer(query_embeds=embedded, query_length=0, attention_mask=mask).last_hidden_state[:, 0]
    text = normalize(network.text_projection(read.to(network.text_projection.weight.dtype)), dim=-1)
    return (seen * text[:, None]).sum(dim=-1).max(dim=1).values


def _flava_look(network: FlavaForPreTraining, pixels: Tensor) -> Tensor:
    """The multimodal encoder reads the states before the last norm."""
    output = network.flava.image_model(pixel_values=pixels, output_hidden_states=True)
    return network.flava.image_to_mm_projection(output.hidden_states[-1])


def _flava_itm(network: FlavaForPreTraining, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    flava = network.flava
    output = flava.text_model(input_ids=ids, attention_mask=mask, output_hidden_states=True)
    states = torch.cat([seen, flava.text_to_mm_projection(output.hidden_states[-1])], dim=1)
    before = torch.ones(len(seen), seen.shape[1] + bool(flava.multimodal_model.use_cls_token), device=mask.device)
    read = flava.multimodal_model(states, attention_mask=torch.cat([before, mask.to(before)], dim=1))
    return _log_odds(network.itm_head(read.last_hidden_state))


def _flava_itc_look(network: FlavaForPreTraining, pixels: Tensor) -> Tensor:
    return network.flava.image_projection(network.flava.image_model(pixel_values=pixels).last_hidden_state[:, 0])


def _flava_itc(network: FlavaForPreTraining, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    read = network.flava.text_model(input_ids=ids, attention_mask=mask).last_hidden_state
    return _cosine(seen, network.flava.text_projection(read[:, 0]))


def _align_look(network: AlignModel, pixels: Tensor) -> Tensor:
    return network.get_image_features(pixel_values=pixels).pooler_output


def _align_itc(network: AlignModel, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    return _cosine(seen, network.get_text_features(input_ids=ids, attention_mask=mask).pooler_output)


def _vilt_look(network: ViltForImageAndTextRetrieval, pixels: Tensor) -> Tensor:
    """All patches with their places. transformers shuffles them and may drop some at random: here all stay (-1), and
    the shuffle, which changes only rounding, is always the same."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        whole = torch.ones(len(pixels), *pixels.shape[-2:], dtype=torch.long, device=pixels.device)
        return network.vilt.embeddings.visual_embed(pixels, whole, max_image_length=-1)[0]


def _vilt_itm(network: ViltForImageAndTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    return network(input_ids=ids, attention_mask=mask, image_embeds=seen, pixel_mask=_ones(seen)).logits[:, 0]


def _bridgetower_itm(network: BridgeTowerForImageAndTextRetrieval, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    return _log_odds(network(input_ids=ids, attention_mask=mask, pixel_values=seen).logits)


def _bridgetower_itc(network: BridgeTowerForContrastiveLearning, seen: Tensor, ids: Tensor, mask: Tensor) -> Tensor:
    output = network(input_ids=ids, attention_mask=mask, pixel_values=seen)
    return _cosine(output.image_embeds, output.text_embeds)


_BLIP, _BLIP2 = "BlipForImageTextRetrieval", "Blip2ForImageTextRetrieval"
_FLAVA, _VILT = "FlavaForPreTraining", "ViltForImageAndTextRetrieval"

FAMILIES = {
    family.name: family
    for family in (
        HeadFamily(
            "blip",
            {
                "itm": Head(_BLIP, _blip_look, _blip_itm),
                "itc": Head(_BLIP, _blip_look, _blip_itc),
            },
            contrast=Contrast(_blip_image, _blip_text),
        ),
        HeadFamily(
            "blip-2",
            {"itm": Head(_BLIP2, _blip_look, _blip2_itm), "itc": Head(_BLIP2, _blip2_queries, _blip2_itc)},
            text="qformer_config",
        ),
        HeadFamily(
            "flava", {"itm": Head(_FLAVA, _flava_look, _flava_itm), "itc": Head(_FLAVA, _flava_itc_look, _flava_itc)}
        ),
        HeadFamily("align", {"itc": Head("AlignModel", _align_look, _align_itc)}),
        HeadFamily("vilt", {"itm": Head(_VILT, _vilt_look, _vilt_itm)}, text=""),
        HeadFamily(
            "bridgetower",  # its towers are bridged layer by layer: nothing can be kept of an image alone
            {
                "itm": Head("BridgeTowerForImageAndTextRetrieval", lambda _, pixels: pixels, _bridgetower_itm),
                "itc": Head("BridgeTowerForContrastiveLearning", lambda _, pixels: pixels, _bridgetower_itc),
            },
        ),
    )
}


def family_named(name: object, where: str) -> HeadFamily:
    if name not in FAMILIES:
        raise UserError(
            f"{where}: model_type {name!r} has no matching head that itm: knows ({', '.join(FAMILIES)}); "
            "a generative model is vqa: or likelihood:, a dual encoder hf:, anything else py:module:factory"
        )
    return FAMILIES[name]


def _ones(states: Tensor) -> Tensor:
    return torch.ones(states.shape[:2], dtype=torch.long, device=states.device)


def _log_odds(logits: Tensor) -> Tensor:
    return logits[:, 1] - logits[:, 0]


def _cosine(left: Tensor, right: Tensor) -> Tensor:
    return (normalize(left.float(), dim=-1) * normalize(right.float(), dim=-1)).sum(dim=-1)
