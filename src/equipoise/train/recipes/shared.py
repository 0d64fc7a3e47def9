"""Types of options and kinds of hard texts that several recipes use."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from equipoise.train.recipe import Slot

Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Count = Annotated[int, Field(ge=1)]
Share = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]

ANY = Slot()
SWAP = Slot("swap", (("swap", None),))
REPLACE = Slot("replace", (("replace", None),))
SHUFFLE = Slot("shuffle", (("shuffle", None),))

UNHELD = 10_000.0  # max_scale for papers without a bound
