"""Data parallelism over the processes of a torchrun.

Not DistributedDataParallel, which averages gradients: a contrastive loss is not the average of its parts' losses. Here
every process gets all embeddings and computes the whole loss, and gradients are summed once per step.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor

BUCKET = 32 << 20  # numbers summed in one message


def processes() -> int:
    return dist.get_world_size() if dist.is_initialized() else 1


def rank() -> int:
    return dist.get_rank() if dist.is_initialized() else 0


@contextmanager
def started(device: torch.device) -> Iterator[None]:
    """Join the processes of a torchrun, if there is one."""
    if dist.is_initialized() or int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield
        return
    if device.type == "cuda":
        torch.cuda.set_device(device)
    backend = "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo"
    dist.init_process_group(backend, timeout=timedelta(hours=6))  # the others wait while the first evaluates
    try:
        yield
    finally:
        dist.destroy_process_group()


def local_device(device: torch.device) -> torch.device:
    """Each process uses its own GPU."""
    if str(device) == "cuda" and "LOCAL_RANK" in os.environ:
        return torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    return device


def exchange(numbers: list[int]) -> list[list[int]]:
    """A few integers of each process, over the CPU, so that no GPU has to finish its work first."""
    local = torch.tensor(numbers, dtype=torch.int64)
    gathered = [torch.empty_like(local) for _ in range(processes())]
    dist.all_gather(gathered, local)
    return [row.tolist() for row in gathered]


class _Gather(torch.autograd.Function):
    """Rows of all processes; backward returns the gradient of the process's own rows."""

    @staticmethod
    def forward(ctx: Any, local: Tensor, sizes: list[int]) -> Tensor:
        ctx.start, ctx.count = sum(sizes[: rank()]), len(local)
        flat = local.contiguous()
        widest = max(sizes)  # collectives need the same number of rows everywhere
        padded = flat.new_zeros((widest, *flat.shape[1:]))
        padded[: len(flat)] = flat
        gathered = [torch.empty_like(padded) for _ in sizes]
        dist.all_gather(gathered, padded)
        return torch.cat([rows[:size] for rows, size in zip(gathered, sizes, strict=True)])

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor, None]:
        return gradients[0][ctx.start : ctx.start + ctx.count], None


def gather(local: Tensor, sizes: list[int]) -> Tensor:
    """(n, ...) of this process -> (sum of n, ...) of all, in order; differentiable. `sizes` are the n of all."""
    if local.dtype == torch.bool:
        return gather(local.to(torch.uint8), sizes).bool()
    gathered: Tensor = _Gather.apply(local, sizes)  # type: ignore[no-untyped-call]
    return gathered


class _Shared(torch.autograd.Function):
    @staticmethod
    def forward(ctx: object, value: Tensor) -> Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: object, *gradients: Tensor) -> Tensor:
        return gradients[0] / processes()


def shared(parameter: Tensor) -> Tensor:
    """A parameter that the loss uses directly: every process computes its whole gradient, so it is divided."""
    shared_: Tensor = _Shared.apply(parameter)  # type: ignore[no-untyped-call]
    return shared_


def sum_gradients(parameters: Iterable[torch.nn.Parameter]) -> None:
    """Sum the gradients of all processes, in a few large messages."""
    if processes() == 1:
        return
    bucket: list[Tensor] = []
    for parameter in parameters:
        if not parameter.requires_grad:
            continue
        if parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
        bucket.append(parameter.grad)
        if sum(gradient.numel() for gradient in bucket) >= BUCKET:
            _sum(bucket)
            bucket = []
    if bucket:
        _sum(bucket)


def _sum(gradients: list[Tensor]) -> None:
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    dist.all_reduce(flat)
    start = 0
    for gradient in gradients:
        gradient.copy_(flat[start : start + gradient.numel()].view_as(gradient))
        start += gradient.numel()


def barrier() -> None:
    if processes() > 1:
        exchange([0])
