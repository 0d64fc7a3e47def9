"""Official addresses of benchmark files; a benchmark that is not here has steps for people instead."""

from equipoise.benchmarks.base import Download

ADDRESSES: dict[str, tuple[Download, ...]] = {}
BY_HAND: dict[str, str] = {}
