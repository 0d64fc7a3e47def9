"""`vqa:` and `likelihood:`: generative models as pair scorers, through transformers' image-text-to-text interface.

vqa (VQAScore, Lin et al. 2024): the probability that the model answers yes when asked whether the image shows the text.
Yes and no are summed over the ways a vocabulary writes them and normalised to each other, where the paper takes the
probability of "Yes" alone among all tokens: a model that likes long answers keeps little for either.

likelihood (VisualGPTScore, Lin et al. 2023): the log-probability of the text as the model's description of the image,
summed over its tokens; with prior=blank minus the same for a grey image, which removes the part of the words alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.models.base import QUESTION, split_options
from equipoise.models.hf import find_folder
from equipoise.models.scorers.chat import ChatModel, Inputs, load_chat

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase, ProcessorMixin

DESCRIBE = "Describe the image."
BLANK = (128, 448)  # of the prior's image: its grey, and width and height


class YesNo(ChatModel):
    """P(yes) / (P(yes) + P(no)) at the first token of the answer."""

    def __init__(
        self, spec: str, network: PreTrainedModel, processor: ProcessorMixin, template: str, **rest: Any
    ) -> None:
        tokens_of = {answer: answers(processor.tokenizer, answer) for answer in ("yes", "no")}
        for answer, tokens in tokens_of.items():
            if not tokens:
                raise UserError(
                    f"{spec}: no token of its vocabulary is the word {answer!r}, so its probability cannot be read; "
                    "use likelihood: with this model"
                )
        self._yes, self._no = sorted(tokens_of["yes"].values()), sorted(tokens_of["no"].values())
        notes = {
            "score": "P(yes) / (P(yes) + P(no))",
            "answers": {answer: sorted(tokens) for answer, tokens in tokens_of.items()},
        }
        super().__init__(spec, network, processor, template, notes=notes | rest.pop("notes"), **rest)

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        return super().tokenize([self.question(text) for text in texts])

    @torch.inference_mode()
    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.float64]:
        pairs = {(id(image), text): image for image, text in zip(images, texts, strict=True)}
        inputs = {pair: self.inputs(image, self.question(pair[1])) for pair, image in pairs.items()}
        prompts = [inputs[id(image), text] for image, text in zip(images, texts, strict=True)]
        last = [prompt["input_ids"].shape[1] - 1 for prompt in prompts]
        odds = [_odds(logits[0], self._yes, self._no) for logits in self.logits(prompts, last)]
        return 1 / (1 + np.exp(-np.array(odds, dtype=np.float64)))


class Likelihood(ChatModel):
    """The log-probability of the text as the answer, with or without the blank image's subtracted."""

    def __init__(
        self, spec: str, network: PreTrainedModel, processor: ProcessorMixin, template: str, blank: bool, **rest: Any
    ) -> None:
        grey, side = BLANK
        self._blank = Image.new("RGB", (side, side), (grey,) * 3) if blank else None
        self._prior: dict[str, float] = {}
        score = "log p(text | image)" + (f" - log p(text | {side} x {side} image of grey {grey})" if blank else "")
        super().__init__(spec, network, processor, template, notes={"score": score} | rest.pop("notes"), **rest)

    def _forget(self) -> None:
        self._prior.clear()

    def tokenize(self, texts: Sequence[str]) -> list[list[int]]:
        ids_of = self.tokenizer(list(texts), add_special_tokens=False, verbose=False)["input_ids"] if texts else []
        return [list(ids) for ids in ids_of]

    @torch.inference_mode()
    def score_pairs(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.float64]:
        scores = self._likelihood(images, texts)
        if self._blank is None:
            return scores
        new = [text for text in dict.fromkeys(texts) if text not in self._prior]
        if new:
            self._prior |= zip(new, self._likelihood([self._blank] * len(new), new).tolist(), strict=True)
        return scores - np.array([self._prior[text] for text in texts])

    def _likelihood(self, images: Sequence[Image.Image], texts: Sequence[str]) -> NDArray[np.float64]:
        inputs = {
            id(image): self.inputs(image, self.template) for image in {id(image): image for image in images}.values()
        }
        tokens = self.tokenize(texts)
        if empty := [text for text, ids in zip(texts, tokens, strict=True) if not ids]:
            raise UserError(f"{self.spec}: the text {empty[0]!r} has no token, and so no likelihood")
        prompts = [_answered(inputs[id(image)], ids) for image, ids in zip(images, tokens, strict=True)]
        before = [prompt["input_ids"].shape[1] - len(ids) - 1 for prompt, ids in zip(prompts, tokens, strict=True)]
        sums = [
            logits[:-1].log_softmax(dim=-1)[range(len(ids)), ids].double().sum().item()
            for logits, ids in zip(self.logits(prompts, before), tokens, strict=True)
        ]
        return np.array(sums, dtype=np.float64)


def answers(tokenizer: PreTrainedTokenizerBase, answer: str) -> dict[str, int]:
    """The tokens of this word, however the vocabulary writes its blanks and capitals."""
    marks = "\u2581\u0120 "  # the blank before a word in SentencePiece and byte-level BPE
    return {
        token: number
        for token, number in tokenizer.get_vocab().items()
        if token.lstrip(marks).removesuffix("</w>").casefold() == answer
    }


def _odds(logits: torch.Tensor, yes: list[int], no: list[int]) -> float:
    precise = logits.double()
    return float(precise[yes].logsumexp(0) - precise[no].logsumexp(0))


def _answered(prompt: Inputs, ids: list[int]) -> Inputs:
    """The prompt with its answer: tokens, ones in the mask, zeros in other tensors of ids."""
    length = prompt["input_ids"].shape[1]
    added = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    answered = dict(prompt)
    for name, value in prompt.items():
        if name in added:
            answered[name] = torch.cat([value, added[name].to(value.dtype)], dim=1)
        elif "ids" in name and tuple(value.shape) == (1, length):
            answered[name] = torch.cat([value, value.new_zeros(1, len(ids))], dim=1)
    return answered


def load_vqa(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> YesNo:
    name, options = split_options(rest, spec, {"template": ()})
    template = options.get("template", QUESTION)
    asks = "{options}" in template or "{question}" in template  # of --ask, see evaluation/asking
    if not asks and template.count("{}") != 1:
        raise UserError(f"{spec}: template={template!r}: expected one {{}} for the caption")
    folder, notes = find_folder(name, spec)
    yes = QUESTION if asks else template
    model = YesNo(spec, *load_chat(folder, spec, dtype), yes, device=device, dtype=dtype, notes=notes)
    model.ask_template = template if asks else None
    return model


def load_likelihood(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> Likelihood:
    name, options = split_options(rest, spec, {"template": (), "prior": ("blank", "none")})
    folder, notes = find_folder(name, spec)
    template = options.get("template", DESCRIBE)
    blank = options.get("prior", "none") == "blank"
    return Likelihood(spec, *load_chat(folder, spec, dtype), template, blank, device=device, dtype=dtype, notes=notes)
