"""Hashes of a network: its weights and its configuration."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import torch

from equipoise.core.files import sha256_json

if TYPE_CHECKING:
    from transformers import PretrainedConfig


def weight_sha256(network: torch.nn.Module, part: str = "") -> str:
    """Hash of the tensors as float32, by name: the same however a model was stored, named or converted. `part`: of
    those whose name begins so."""
    digest = hashlib.sha256()
    for name, tensor in sorted(network.state_dict().items()):
        if not name.startswith(part):
            continue
        values = tensor.detach().to("cpu", torch.float32).contiguous().numpy()
        digest.update(f"{name} {tuple(values.shape)}\n".encode())
        digest.update(values.reshape(-1))  # not a copy of it
    return digest.hexdigest()


def config_sha256(config: PretrainedConfig) -> str:
    """Hash of the configuration without the path and version it was saved with."""
    return sha256_json(_shaping(config.to_dict()))


def _shaping(value: object) -> object:
    if isinstance(value, dict):
        return {str(name): _shaping(one) for name, one in value.items() if name not in _SAVED}
    return value if isinstance(value, str | int | float | list | None) else str(value)


_SAVED = {"_name_or_path", "transformers_version", "architectures", "dtype", "torch_dtype"}
