"""A model spec becomes something that embeds or scores. Importing this package loads no torch."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from equipoise.errors import UserError, did_you_mean
from equipoise.models.base import Embedder, Model, PairScorer, TokenEmbedder, kind_of

__all__ = ["Embedder", "Model", "PairScorer", "TokenEmbedder", "kind_of", "load_model"]

FORMS = {
    "world": "world",
    "hf": "hf:NAME-or-folder",
    "openclip": "openclip:ARCH/PRETRAINED",
    "checkpoint": "checkpoint:FILE?act=quickgelu",
    "paper": "paper:negclip@FILE",
    "itm": "itm:NAME-or-folder?head=itc",
    "vqa": "vqa:NAME-or-folder",
    "likelihood": "likelihood:NAME-or-folder?prior=blank",
    "py": "py:module:factory",
    "served": "served:MODEL@URL",
    "blind": "blind:length, blind:ngram, blind:lm:FOLDER or blind:classifier:FOLDER",
}


OF_PHOTOS = FORMS.keys() - {"py", "served", "blind"}  # certain to need torch and photos; of a user's own nobody knows


def kind_named(spec: str) -> str:
    """The word before the colon, one of FORMS; costs nothing."""
    kind, _, rest = spec.partition(":")
    if kind not in FORMS or (kind == "world") == bool(rest):
        forms = ", ".join(FORMS.values())
        meant = f" Did you mean hf:{spec}?" if Path(spec).is_dir() else did_you_mean(kind, FORMS)
        raise UserError(f"model {spec!r}: not a model spec ({forms}).{meant}")
    return kind


def load_model(spec: str, *, device: str = "auto", dtype: str = "float32") -> Model:
    """Load the model a spec names; see FORMS for what a spec looks like."""
    kind, rest = kind_named(spec), spec.partition(":")[2]
    if kind == "py":
        from equipoise.models.own import load_own

        return load_own(rest, spec=spec)
    if kind == "blind":
        from equipoise.blind.load import load_blind

        return cast(Model, load_blind(rest, spec=spec, device=device))
    if kind == "served":
        from equipoise.models.served import load_served

        return cast(Model, load_served(rest, spec=spec))
    from equipoise.models.clip import pick_device, pick_dtype

    pick_device(device), pick_dtype(dtype)  # refused before gigabytes are read
    spec = plain_spec(spec)
    rest = spec.partition(":")[2]
    if kind == "world":
        return _world(device, dtype)
    if kind == "hf":
        from equipoise.models.hf import load_hf

        return load_hf(rest, spec=spec, device=device, dtype=dtype)
    if kind == "checkpoint":
        from equipoise.models.checkpoint import load_checkpoint

        return load_checkpoint(rest, spec=spec, device=device, dtype=dtype)
    if kind == "paper":
        from equipoise.models.papers import load_paper

        return load_paper(rest, spec=spec, device=device, dtype=dtype)
    if kind == "itm":
        from equipoise.models.scorers.itm import load_itm

        return load_itm(rest, spec=spec, device=device, dtype=dtype)
    if kind in {"vqa", "likelihood"}:
        from equipoise.models.scorers.generative import load_likelihood, load_vqa

        load = load_vqa if kind == "vqa" else load_likelihood
        return load(rest, spec=spec, device=device, dtype=dtype)
    from equipoise.models.openclip import load_openclip

    return load_openclip(rest, spec=spec, device=device, dtype=dtype)


_OF_FOLDERS = ("hf", "itm", "vqa", "likelihood")


def plain_spec(spec: str) -> str:
    """The spec with its folder written one way: hf:./mine// is hf:mine, and not another run's model."""
    kind, _, rest = spec.partition(":")
    name, mark, options = rest.partition("?")
    if kind not in _OF_FOLDERS or not name or not Path(name).expanduser().is_dir():
        return spec
    return f"{kind}:{Path(name)}{mark}{options}"


def _world(device: str, dtype: str) -> Model:
    from importlib import resources
    from pathlib import Path

    folder = Path(str(resources.files("equipoise.world").joinpath("base")))
    if not (folder / "config.json").is_file():
        raise UserError("model 'world': the base model is not in this installation; reinstall equipoise")
    from equipoise.models.hf import load_folder

    return load_folder(folder, spec="world", device=device, dtype=dtype)
