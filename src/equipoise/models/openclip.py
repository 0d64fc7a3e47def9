"""`openclip:ARCH/PRETRAINED` and `openclip:ARCH/FILE?act=...`: architectures that transformers lacks.

They run in open_clip itself (an extra). A file is a state dict of ARCH (ResNets, CoCa, RoBERTa texts), read as data
like any checkpoint.

A plain ViT CLIP is better converted (`checkpoint:`), which shares one forward pass with everything else.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from PIL import Image

from equipoise.core.errors import UserError, did_you_mean, first_line
from equipoise.core.files import sha256_file
from equipoise.data.identity import pictures
from equipoise.models.base import Floats
from equipoise.models.checkpoint import file_options, merge_lora, read_state, unprefixed
from equipoise.models.clip import TorchModel, in_batches, unit_rows
from equipoise.models.convert import BUFFERS

if TYPE_CHECKING:
    from types import ModuleType

    from open_clip import CLIP, CoCa, CustomTextCLIP
    from open_clip.tokenizer import HFTokenizer, SimpleTokenizer

    Transform = Callable[[Image.Image], torch.Tensor]

INSTALL = "pip install 'equipoise[openclip]' (in an environment of its own: it brings torchvision)"


class OpenClipModel(TorchModel):
    """open_clip's model, tokenizer and preprocessing as they are, behind the two methods of an Embedder."""

    def __init__(
        self,
        spec: str,
        network: CLIP | CoCa | CustomTextCLIP,
        tokenizer: HFTokenizer | SimpleTokenizer,
        preprocess: Transform,
        *,
        device: str,
        dtype: str,
        arch: str,
    ) -> None:
        card: dict[str, object] = {
            "architecture": {"class": f"open_clip {arch}"},
            "activation": _activations(network),
            "preprocessing": {"words": _words(preprocess), "sha256": _seen_sha256(preprocess)},
            "tokenizer": {"name": type(tokenizer).__name__, "sha256": _probe_sha256(tokenizer)},
            "context_length": int(getattr(tokenizer, "context_length", None) or network.context_length),
        }
        super().__init__(spec, network, tokenizer, card, device=device, dtype=dtype)
        self.preprocess = preprocess

    @torch.inference_mode()
    def embed_images(self, images: Sequence[Image.Image]) -> Floats:
        def encode(block: Sequence[Image.Image]) -> Floats:
            pixels = torch.stack([self.preprocess(image) for image in block])
            return unit_rows(self.network.encode_image(pixels.to(self.device, self.dtype)))

        return in_batches(encode, images)

    @torch.inference_mode()
    def embed_texts(self, texts: Sequence[str]) -> Floats:
        return in_batches(
            lambda block: unit_rows(self.network.encode_text(self.tokenizer(list(block)).to(self.device))), texts
        )


def load_openclip(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> OpenClipModel:
    open_clip = import_open_clip()
    arch, _, pretrained = rest.partition("/")
    if "?" in pretrained:
        file, options = file_options(pretrained, spec)
        return _from_file(open_clip, arch, file, options, spec, device=device, dtype=dtype)
    _refuse_unknown(open_clip, arch, spec)
    tags = open_clip.list_pretrained_tags_by_model(arch)
    if not pretrained:
        raise UserError(f"{spec}: which weights? openclip:{arch}/PRETRAINED, one of: {', '.join(tags)}")
    if pretrained not in tags:
        if Path(pretrained).exists():
            raise UserError(f"{spec}: a file's activation must be stated: {spec}?act=quickgelu (or gelu)")
        raise UserError(
            f"{spec}: {arch} has no weights {pretrained!r} ({', '.join(tags)}).{did_you_mean(pretrained, tags)}"
        )
    _refuse_wrong_activation(open_clip, arch, pretrained, spec)
    print(f"open_clip: loading {arch} {pretrained} (downloaded first where it is not cached)", file=sys.stderr)
    try:
        network, _, preprocess = open_clip.create_model_and_transforms(arch, pretrained=pretrained, device="cpu")
    except (OSError, RuntimeError) as error:
        raise UserError(f"{spec}: open_clip could not load it ({first_line(error)})") from error
    tokenizer = open_clip.get_tokenizer(arch)
    return OpenClipModel(spec, network, tokenizer, preprocess, device=device, dtype=dtype, arch=arch)


def _refuse_unknown(open_clip: ModuleType, arch: str, spec: str) -> None:
    if arch not in open_clip.list_models():
        raise UserError(f"{spec}: open_clip has no architecture {arch!r}.{did_you_mean(arch, open_clip.list_models())}")


def _from_file(
    open_clip: ModuleType, arch: str, file: Path, options: dict[str, str], spec: str, *, device: str, dtype: str
) -> OpenClipModel:
    """A state dict in open_clip's own model. Our code opens the file, never open_clip's: nothing in it is run."""
    _refuse_unknown(open_clip, arch, spec)
    if idle := sorted(options.keys() - {"act"}):
        raise UserError(f"{spec}: {idle[0]} has no meaning here; the architecture is {arch}")
    if "act" not in options:
        raise UserError(f"{spec}: a file's activation must be stated: ?act=quickgelu (or gelu)")
    quick = options["act"] == "quickgelu"
    if bool(open_clip.get_model_config(arch).get("quick_gelu", False)) and not quick:
        raise UserError(
            f"{spec}: {arch} has QuickGELU; for act=gelu use openclip:{arch.removesuffix('-quickgelu')}/..."
        )
    state, merged = merge_lora(unprefixed(read_state(file), str(file)), str(file))
    network, _, preprocess = open_clip.create_model_and_transforms(
        arch,
        pretrained=None,
        device="cpu",
        force_quick_gelu=quick,
        pretrained_hf=False,  # no download for weights that the file replaces
    )
    known = network.state_dict().keys()
    state = {name: tensor for name, tensor in state.items() if name in known or name not in _NOT_WEIGHTS}
    try:
        network.load_state_dict(state, strict=True)
    except RuntimeError as error:
        why = "\n".join(line.strip()[:300] for line in str(error).splitlines()[:4])
        raise UserError(f"{file}: not the state dict of open_clip's {arch}:\n{why}") from None
    tokenizer = open_clip.get_tokenizer(arch)
    model = OpenClipModel(spec, network, tokenizer, preprocess, device=device, dtype=dtype, arch=arch)
    model.card |= {"file": file.name, "file_sha256": sha256_file(file), "lora_merged": merged}
    return model


# Buffers that some files hold and some versions of open_clip do not.
_NOT_WEIGHTS = (*BUFFERS, "text.transformer.embeddings.position_ids")


def import_open_clip() -> ModuleType:
    try:
        return importlib.import_module("open_clip")
    except (ImportError, RuntimeError) as error:  # RuntimeError: a torchvision that was built for another torch
        raise UserError(f"open_clip cannot be used here ({error}): {INSTALL}; see equipoise doctor") from error


def _refuse_wrong_activation(open_clip: ModuleType, arch: str, pretrained: str, spec: str) -> None:
    """open_clip only warns when weights trained with QuickGELU meet a GELU config, or the other way round."""
    trained = bool(open_clip.get_pretrained_cfg(arch, pretrained).get("quick_gelu", False))
    configured = bool(open_clip.get_model_config(arch).get("quick_gelu", False))
    if trained == configured:
        return
    name, fitting = ("QuickGELU", f"{arch}-quickgelu") if trained else ("GELU", arch.removesuffix("-quickgelu"))
    raise UserError(f"{spec}: these weights were trained with {name}; use openclip:{fitting}/{pretrained}")


def _activations(network: torch.nn.Module) -> dict[str, str]:
    """The activation of each tower's first MLP, as far as it can be seen."""
    activations: dict[str, str] = {}
    for name, module in network.named_modules():
        kind = type(module).__name__
        if "GELU" in kind.upper():
            activations.setdefault("vision" if name.startswith("visual") else "text", kind)
    return activations


def _words(preprocess: Transform) -> str:
    return re.sub(" at 0x[0-9a-f]+", "", str(preprocess))  # an address is not an identity


def _seen_sha256(preprocess: Transform) -> str:
    """Hash of the preprocessing's results for pictures of several shapes; its code is in the model's state."""
    digest = hashlib.sha256()
    for picture in pictures():
        pixels = np.asarray(preprocess(picture), dtype="<f4")
        digest.update(f"{pixels.shape}\n".encode() + pixels.tobytes())
    return digest.hexdigest()


def _probe_sha256(tokenizer: HFTokenizer | SimpleTokenizer) -> str:
    """Hash of the tokenizer's tokens for a fixed text."""
    probe = tokenizer(["A photo of 2 dogs' bowls, isn't it? Café naïve über 𝄞"])
    return hashlib.sha256(np.asarray(probe).astype("<i8").tobytes()).hexdigest()
