"""The command `equipoise`, `python -m equipoise`, and with it `torchrun -m equipoise train ...` on several GPUs.

Ctrl-C and SIGTERM are understood from the first moment: a short message, the right exit code, no traceback, within
seconds. SIGTERM acts as Ctrl-C, so that what a batch system stops is closed as well as what a person stops.
"""

import os
import signal
import sys
import threading
from types import FrameType

from equipoise.core.errors import Stopped, stopped_words

PATIENCE = 4.0  # seconds for closing; after that the process ends, wherever it hangs. Workers end with it


def main() -> None:
    """Signals first: the commands take a fifth of a second to load, and Ctrl-C may come before."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:  # nohup and background jobs stay as they are
            signal.signal(number, _stop)
    try:
        from equipoise.cli import main as commands

        commands()
    except Stopped as stopped:  # while the commands were loading, or before or after the one that was asked for
        _leave(stopped.code)


def _stop(number: int, frame: FrameType | None) -> None:
    # An interrupt that is raised inside a callback is lost, and a native call may hold it back: then this ends it.
    watch = threading.Timer(PATIENCE, _leave, [128 + number])
    watch.daemon = True
    watch.start()
    raise Stopped(128 + number)


def _leave(code: int) -> None:
    os.write(2, f"error: {stopped_words(sys.argv[1:])}\n".encode())
    os._exit(code)


if __name__ == "__main__":
    main()
