"""What several papers' recipes share: the types of their options, and the kinds of hard texts they take."""

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

UNHELD = 10_000.0  # largest scale for papers without one: no model comes near it
