"""Ctrl-C and SIGTERM: the run saves its state and says how to resume.

Outside the loop a signal ends the process at once, since there is nothing to save. In the loop, the current step is
finished first. A step or an evaluation may take minutes, and SIGTERM is usually followed by SIGKILL. So with `within`
seconds given, a thread then saves the state after the last complete step, while the current step goes on, and ends the
process. The lock `whole` is held while weights, optimizer and step number do not match.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

from equipoise.core.errors import Stopped, UserError
from equipoise.train.step import distributed

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class Interrupt:
    """Inside, the first SIGINT or SIGTERM stops the run; a second one ends the process as usual."""

    def __init__(self, within: float | None = None) -> None:
        self.within = within
        self.whole = threading.RLock()
        self._asked = False
        self.code = 130  # exit code for the signal
        self._called, self._over = threading.Event(), threading.Event()
        self._save: Callable[[], str] | None = None
        self._before: dict[signal.Signals, Any] = {}

    def __enter__(self) -> Interrupt:
        if threading.current_thread() is threading.main_thread():
            self._before = {number: signal.signal(number, self._note) for number in SIGNALS}
        return self

    def __exit__(self, *_: object) -> None:
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
        """Inside, signals are only noted. `save` saves the last complete step and returns the message for the user."""
        self._save = save
        if self.within is not None:  # not started by the signal, which may come while a lock is held
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
            if save is None:  # the step ended in time
                return
            try:
                said, code = save(), self.code
            except UserError as error:
                said, code = str(error), 2
            print(f"error: {said}", file=sys.stderr, flush=True)
            for child in multiprocessing.active_children():  # they only decode images
                child.kill()
            os._exit(code)

    def asked(self) -> bool:
        """Whether to stop after this step; the same in all processes."""
        if distributed.processes() == 1:
            return self._asked
        return any(flag for (flag,) in distributed.exchange([int(self._asked)]))


def worker_signals(_: int) -> None:
    """Signals of processes that decode images: the parent handles Ctrl-C, and SIGTERM ends them."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
