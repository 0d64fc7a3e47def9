"""Several processes of one torchrun that embed together: each its part, and then everybody has all of it.

The first process leads: it alone looks at the run's folder, judges, writes and prints. The others help with scoring
where it says so. A part is embedded in batches of the same shape as the whole would be, so the numbers are the same.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, TypeVar

from equipoise.core.errors import UserError

T = TypeVar("T")


@dataclass(frozen=True)
class Ranks:
    """Which of how many processes this is."""

    number: int = 0
    count: int = 1

    def share(self, values: Sequence[T]) -> list[T]:
        """The part of this process: neighbours stay together, as they lie on the disk."""
        first, last = (len(values) * edge // self.count for edge in (self.number, self.number + 1))
        return list(values[first:last])

    def exchange(self, part: T) -> list[T]:
        """What every process has for the others, in their order."""
        if self.count == 1:
            return [part]
        import torch.distributed as dist

        found: list[Any] = [None] * self.count
        try:
            dist.all_gather_object(found, part)
        except RuntimeError as error:
            raise UserError(f"another process of this torchrun has ended; its message says why ({error})") from None
        return found

    def lead(self, scores: bool) -> None:
        """The first process says whether there is anything to score."""
        self.exchange(scores)

    def follow(self) -> bool:
        """What the first process said, for the others."""
        return self.exchange(False)[0]


ALONE = Ranks()


@contextlib.contextmanager
def joined() -> Iterator[Ranks]:
    """The processes that torchrun started, each with its own GPU where there are any; else this one alone."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        yield ALONE
        return
    import torch
    import torch.distributed as dist

    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get("LOCAL_RANK", "0")))  # what "cuda" means from here on
    dist.init_process_group("gloo", timeout=timedelta(hours=6))  # vectors go by way of the processors
    try:
        yield Ranks(dist.get_rank(), dist.get_world_size())
    finally:
        dist.destroy_process_group()
