"""What people look at: tables and the HTML page. Sees results, never models or torch."""

import shutil
import sys
from collections.abc import Sequence
from typing import Literal, get_args

Format = Literal["text", "md", "latex", "csv", "json"]  # of a table
FORMATS: tuple[str, ...] = get_args(Format)


def columns_shown(widths: Sequence[int], least: int) -> int:
    """How many columns of a table fit a person's screen: the last ones go first, never the first `least`.

    A file or a pipe gets all, and so do the other formats.
    """
    count = len(widths)
    if sys.stdout.isatty():
        room = shutil.get_terminal_size().columns
        while count > least and sum(widths[:count]) + 1 > room:
            count -= 1
    return count
