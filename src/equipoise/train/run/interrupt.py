"""Ctrl-C between steps, never within one: the run saves what it has and says how to go on."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any

from equipoise.train.step import distributed

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While open, the first SIGINT or SIGTERM is noted; a second one ends the process as usual."""

    def __init__(self) -> None:
        self._asked = False
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._restore()

    def _restore(self) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)
        self._before = {}

    def _note(self, number: int, frame: FrameType | None) -> None:
        self._asked = True
        self._restore()

    def asked(self) -> bool:
        """Whether to stop after this step; all processes answer alike."""
        if distributed.processes() == 1:
            return self._asked
        return any(flag for (flag,) in distributed.exchange([int(self._asked)]))
