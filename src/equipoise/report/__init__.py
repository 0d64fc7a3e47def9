"""What people look at: tables and the HTML page. Sees results, never models or torch."""

from typing import Literal, get_args

Format = Literal["text", "md", "latex", "csv", "json"]  # of a table
FORMATS: tuple[str, ...] = get_args(Format)
