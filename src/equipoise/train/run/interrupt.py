"""Ctrl-C and SIGTERM: the run saves what it has and says how to go on.

Outside of the loop they end the process at once: there is nothing to save. In the loop a step is finished first. A step
may take minutes (a large model on a CPU), an evaluation too, and whoever sends SIGTERM follows it with SIGKILL: so with
`within` seconds given, a thread saves the state after the last whole step while the step in flight goes on, and ends
the process. The lock `whole` is held wherever weights, optimizer and step number do not belong together.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType, TracebackType
from typing import Any

from equipoise.core.errors import Stopped, UserError
from equipoise.train.step import distributed

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """While open, the first SIGINT or SIGTERM stops the run; a second one ends the process as usual."""

    def __init__(self, within: float | None = None) -> None:
        self.within = within
        self.whole = threading.RLock()
        self._asked = False
        self.code = 130  # what shells expect of the signal that came
        self._called, self._over = threading.Event(), threading.Event()
        self._save: Callable[[], str] | None = None
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
        self._asked, self.code = True, 128 + number
        self._restore()
        if self._save is None:
            raise Stopped(self.code)
        self._called.set()

    @contextmanager
    def steps(self, save: Callable[[], str]) -> Iterator[None]:
        """Inside, a signal is only noted. `save` saves the last whole step and returns the message for the user."""
        self._save = save
        if self.within is not None:  # started here and not by the signal, which may come while a lock is held
            threading.Thread(target=self._wait, args=(self.within,), daemon=True).start()
        try:
            yield
        finally:
            self._save = None
            self._over.set()
            self._called.set()

    def _wait(self, within: float) -> None:
        self._called.wait()
        self._over.wait(within)
        with self.whole:
            save = self._save
            if save is None:  # the step was over in time
                return
            try:
                said, code = save(), self.code
            except UserError as error:
                said, code = str(error), 2
            print(f"error: {said}", file=sys.stderr, flush=True)
            for child in multiprocessing.active_children():  # they decode images; nothing of theirs is kept
                child.kill()
            os._exit(code)

    def asked(self) -> bool:
        """Whether to stop after this step; all processes answer alike."""
        if distributed.processes() == 1:
            return self._asked
        return any(flag for (flag,) in distributed.exchange([int(self._asked)]))


def worker_signals(_: int) -> None:
    """For processes that decode images: they ignore Ctrl-C, which the parent handles, and SIGTERM ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
