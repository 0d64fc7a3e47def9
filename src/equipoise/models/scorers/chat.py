"""Ask a generative model about images through its chat template and processor.

Every prompt is made by itself, as a direct call would make it, so the tokenizer's padding side cannot matter; prompts
whose images have the same shape are then padded on the right and put together. Padding is masked and comes last.
"""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from PIL import Image

from equipoise.core.errors import UserError, first_line
from equipoise.models.base import MOST_TOKENS
from equipoise.models.clip import precision, quiet_transformers
from equipoise.models.hf import check_folder, load_network, read_config
from equipoise.models.scorers.shared import LENGTH_STEP, Scorer

if TYPE_CHECKING:
    from transformers import PreTrainedModel, ProcessorMixin

DATE = "26 Jul 2024"  # some templates contain the date; a score must not depend on it

Inputs = dict[str, torch.Tensor]


class ChatModel(Scorer):
    """A network that is asked in its own chat template; subclasses turn its logits into scores."""

    def __init__(
        self, spec: str, network: PreTrainedModel, processor: ProcessorMixin, template: str, **rest: Any
    ) -> None:
        self.processor, self.template = processor, template
        self._keeps = "logits_to_keep" in inspect.signature(network.forward).parameters
        example = self.rendered(self.question("a photo of a dog"))
        notes = {"template": template, "prompt": example, **rest.pop("notes")}
        super().__init__(
            spec,
            network,
            processor.tokenizer,
            processor.image_processor,
            context_length=int(network.config.get_text_config().max_position_embeddings),
            notes=notes,
            **rest,
        )
        token = getattr(processor, "image_token", None)
        self._image_token: str | None = None if token is None else str(token)
        if self._image_token is not None and self._image_token not in example:
            raise UserError(
                f"{spec}: its chat template leaves the image out (no {self._image_token} in {example!r}), so the model "
                "would answer without it; put the template of the published model into the folder"
            )

    @property
    def default_batch(self) -> int:
        return 8 if self.device.type == "cuda" else 4

    def question(self, caption: str) -> str:
        """The user's words next to the image."""
        return self.template.replace("{}", caption)

    def rendered(self, question: str, images: int = 1) -> str:
        """The whole prompt, up to the model's answer; each image is a placeholder in it."""
        message = {"role": "user", "content": [{"type": "image"}] * images + [{"type": "text", "text": question}]}
        template = _template(self.processor)
        dated = {"date_string": DATE} if "date_string" in template else {}
        return self.processor.apply_chat_template(
            [message], chat_template=template, add_generation_prompt=True, tokenize=False, **dated
        )

    ask_template: str | None = None  # of a question with options, see evaluation/asking

    @torch.inference_mode()
    def answer(self, images: Sequence[Image.Image | list[Image.Image]], prompts: Sequence[str]) -> list[str]:
        """The likeliest answer to each prompt, token by token; one at a time, so that no other prompt changes it."""
        answers = []
        for shown, prompt in zip(images, prompts, strict=True):
            inputs = self.inputs(shown, prompt)
            moved = {
                name: value.to(self.device, self.dtype) if value.is_floating_point() else value.to(self.device)
                for name, value in inputs.items()
            }
            with precision(self.tf32):
                tokens = self.network.generate(**moved, do_sample=False, max_new_tokens=MOST_TOKENS)
            answers.append(self.tokenizer.decode(tokens[0, inputs["input_ids"].shape[1] :], skip_special_tokens=True))
        return answers

    def inputs(self, image: Image.Image | list[Image.Image], question: str) -> Inputs:
        """The inputs of one prompt, unpadded and independent of other pairs."""
        if self._image_token is not None and self._image_token in question:
            raise UserError(f"the text {question!r} holds {self._image_token}, which this model reads as an image")
        shown = image if isinstance(image, list) else [image]
        prompt = self.rendered(question, len(shown))
        begin = self.tokenizer.bos_token
        doubled = bool(begin) and prompt.startswith(begin)  # the template already has it
        options = {"return_tensors": "pt"} | ({"add_special_tokens": False} if doubled else {})
        try:
            with quiet_transformers():
                processed = self.processor(text=[prompt], images=shown, **options)
        except Exception as error:  # each processor has its own: a text that looks like a mark of its own, an odd image
            raise UserError(f"{self.spec}: its processor refused {question!r} ({first_line(error)})") from error
        kept = {
            name: value for name, value in processed.items() if isinstance(value, torch.Tensor) and name != "labels"
        }
        if not any(value.is_floating_point() for value in kept.values()):
            raise UserError(f"{self.spec}: its processor made nothing of the image ({', '.join(kept)})")
        return kept

    def truncate(self, ids: Sequence[int]) -> list[int]:
        """A question is never cut: half of it would be another question."""
        return list(ids)

    def logits(self, prompts: Sequence[Inputs], first: Sequence[int]) -> list[torch.Tensor]:
        """The logits of each prompt from position `first` on; images may have any shape."""
        longest = max(prompt["input_ids"].shape[1] for prompt in prompts)
        if longest > self.context_length:
            raise UserError(
                f"{self.spec}: an image and its text are {longest:,} tokens, more than the {self.context_length:,} it "
                "reads"
            )
        by_prompt: list[Any] = [None] * len(prompts)
        by_shape: dict[tuple[tuple[str, tuple[int, ...]], ...], list[int]] = {}
        for row, prompt in enumerate(prompts):
            shapes = tuple((name, tuple(prompt[name].shape)) for name in sorted(prompt) if not _runs(prompt, name))
            by_shape.setdefault(shapes, []).append(row)
        for rows in by_shape.values():
            together = self._together([prompts[row] for row in rows])
            start = min(first[row] for row in rows)
            kept = {"logits_to_keep": together["input_ids"].shape[1] - start} if self._keeps else {}
            with precision(self.tf32):
                logits = self.network(**together, **kept).logits
            logits = logits if self._keeps else logits[:, start:]
            for place, row in enumerate(rows):
                end = prompts[row]["input_ids"].shape[1]
                by_prompt[row] = logits[place, first[row] - start : end - start].float()
        return by_prompt

    def _together(self, prompts: Sequence[Inputs]) -> Inputs:
        longest = max(prompt["input_ids"].shape[1] for prompt in prompts)
        width = min(-(-longest // LENGTH_STEP) * LENGTH_STEP, self.context_length)
        pads = {"input_ids": self.tokenizer.pad_token_id or 0}
        batch: Inputs = {}
        for name in prompts[0]:
            values = [prompt[name] for prompt in prompts]
            if _runs(prompts[0], name):
                values = [_longer(value, width, pads.get(name, 0)) for value in values]
            joined = torch.cat(values).to(self.device)
            batch[name] = joined.to(self.dtype) if joined.is_floating_point() else joined
        return batch


def _runs(prompt: Inputs, name: str) -> bool:
    """Whether a tensor has a place for each token, and so has to be padded with them."""
    value, length = prompt[name], prompt["input_ids"].shape[1]
    tokens = ("ids" in name or "mask" in name) and "pixel" not in name
    return tokens and value.dim() >= 2 and tuple(value.shape[:2]) == (1, length)


def _longer(value: torch.Tensor, width: int, pad: int) -> torch.Tensor:
    padding = value.new_full((1, width - value.shape[1], *value.shape[2:]), pad)
    return torch.cat([value, padding], dim=1)


def _template(processor: ProcessorMixin) -> str:
    template = getattr(processor, "chat_template", None) or getattr(processor.tokenizer, "chat_template", None)
    return template.get("default", "") if isinstance(template, dict) else template or ""


def load_chat(folder: Path, spec: str, dtype: str) -> tuple[PreTrainedModel, ProcessorMixin]:
    """The network and processor of a folder, without the internet and without its code.

    Loaded in the precision that is asked for: in float32, as elsewhere, 7 billion weights would be 28 GB on the way.
    """
    config = read_config(folder)
    check_folder(folder, config, positions=False)
    name, attention = _class(folder, config, spec)
    processor = _processor(folder, config["model_type"], spec)
    if not _template(processor):
        raise UserError(
            f"{spec}: {folder} has no chat template (chat_template.jinja), so how this model is asked is unknown, and "
            "a guess would change its answers; copy the file of the published model"
        )
    network = load_network(folder, name, attention, scores=True, dtype="float32" if dtype == "tf32" else dtype)
    if network.config.is_encoder_decoder:
        raise UserError(f"{spec}: {type(network).__name__} has an encoder for its text; only decoders are asked here")
    return network, processor


def _processor(folder: Path, named: str, spec: str) -> ProcessorMixin:
    """The processor with Pillow, without its video part, which needs torchvision."""
    import transformers
    from transformers.models.auto.processing_auto import PROCESSOR_MAPPING_NAMES as NAMES

    try:
        with quiet_transformers():
            base: type[ProcessorMixin] = getattr(transformers, NAMES[named])
            attributes = [name for name in base.get_attributes() if name != "video_processor"]
            still: Any = type(base.__name__, (base,), {"get_attributes": classmethod(lambda _: attributes)})
            processor = still.from_pretrained(
                str(folder), local_files_only=True, trust_remote_code=False, backend="pil"
            )
    except Exception as error:  # a folder may hold anything, a class may need missing packages
        raise UserError(f"{spec}: {folder}: its processor could not be loaded ({first_line(error)})") from error
    if not (hasattr(processor, "image_processor") and hasattr(processor, "tokenizer")):
        raise UserError(f"{spec}: {folder} has no processor of images and texts (preprocessor_config.json, tokenizer)")
    return processor


def _class(folder: Path, config: dict[str, object], spec: str) -> tuple[str, str]:
    """The class of transformers, and the attention it supports."""
    import transformers
    from transformers.models.auto.modeling_auto import MODEL_FOR_IMAGE_TEXT_TO_TEXT_MAPPING_NAMES as NAMES

    named = config.get("model_type")
    if named not in NAMES:
        raise UserError(
            f"{spec}: model_type {named!r} of {folder / 'config.json'} does not answer questions about images"
        )
    name = NAMES[named]
    name = name if isinstance(name, str) else name[0]
    return name, "sdpa" if getattr(transformers, name)._supports_sdpa else "eager"
