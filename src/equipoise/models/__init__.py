"""A model spec becomes something that embeds or scores. Importing this package loads no torch."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import cast

from equipoise.core.errors import UserError, did_you_mean
from equipoise.core.plugins import load_named, source_sha256
from equipoise.data.identity import loaded, steady
from equipoise.models.base import Answerer, Embedder, Model, PairScorer, TokenEmbedder, kind_of

__all__ = ["Embedder", "Model", "PairScorer", "TokenEmbedder", "kind_of", "load_model"]

FORMS = {  # a spec of each kind; its module below this room and its function, imported when the kind is asked for
    "world": ("world", "hf:load_world"),
    "hf": ("hf:NAME-or-folder", "hf:load_hf"),
    "openclip": ("openclip:ARCH/PRETRAINED", "openclip:load_openclip"),
    "checkpoint": ("checkpoint:FILE?act=quickgelu", "checkpoint:load_checkpoint"),
    "paper": ("paper:negclip@FILE", "checkpoint:load_paper"),
    "itm": ("itm:NAME-or-folder?head=itc", "scorers.itm:load_itm"),
    "vqa": ("vqa:NAME-or-folder", "scorers.generative:load_vqa"),
    "likelihood": ("likelihood:NAME-or-folder?prior=blank", "scorers.generative:load_likelihood"),
    "py": ("py:module:factory", ""),
    "served": ("served:MODEL@URL", "served:load_served"),
    "blind": ("blind:length, blind:ngram or blind:lm:FOLDER", "blind:load_blind"),
}
OF_PHOTOS = FORMS.keys() - {"py", "served", "blind"}  # these always need torch and photos


def kind_named(spec: str) -> str:
    """The word before the colon, one of FORMS; loads nothing."""
    kind, _, rest = spec.partition(":")
    if kind not in FORMS or (kind == "world") == bool(rest):
        if Path(spec).is_file():
            raise UserError(f"model {spec!r}: {_of_file(Path(spec))}")
        meant = f" Did you mean hf:{spec}?" if Path(spec).is_dir() else did_you_mean(kind, FORMS)
        raise UserError(
            f"model {spec!r}: not a model spec.{meant}\nThere are: {', '.join(form for form, _ in FORMS.values())}"
        )
    return kind


def _of_file(path: Path) -> str:
    """The likely mistake behind a file in the place of a model."""
    if path.suffix in {".jsonl", ".json", ".csv", ".tsv", ".parquet"}:
        return f"a file of items, not a model: equipoise eval MODEL --bench {path} --images FOLDER"
    return f"a file. Name a checkpoint with its activation: checkpoint:{path}?act=quickgelu (or act=gelu)"


WHAT = (
    "a model, which has the methods embed_images and embed_texts (rows of numbers), or score_pairs (one number for "
    "each image and text), or answer (one text for each image and prompt)"
)


def load_model(spec: str, *, device: str = "auto", dtype: str = "float32") -> Model:
    """Load the model that a spec names; FORMS has a spec of each kind."""
    kind = kind_named(spec)
    if kind == "py":
        with steady(on=False):  # the user's code may change a model that it loads
            return _own(spec.partition(":")[2], spec)
    if kind in OF_PHOTOS:
        from equipoise.models.clip import pick_device, pick_dtype

        pick_device(device), pick_dtype(dtype)  # refuse wrong ones before gigabytes are read
    spec = plain_spec(spec)
    module, _, function = FORMS[kind][1].partition(":")
    load = getattr(importlib.import_module(f"equipoise.models.{module}"), function)
    model = cast(Model, load(spec.partition(":")[2], spec=spec, device=device, dtype=dtype))
    loaded(model)
    return model


def _own(rest: str, spec: str) -> Model:
    """`py:module:factory`: a model of the user's own, from a function that takes no arguments."""
    if ":" not in rest:
        raise UserError(f"{spec}: expected py:module:factory, for instance py:my_models:make")
    model = load_named(spec, WHAT, _is_model)
    # Another factory, or another version of its file, is another model, whatever its card says.
    source = {"factory": rest, "sha256": source_sha256(spec)}
    try:
        setattr(model, "card", {"spec": spec, **(getattr(model, "card", None) or {}), "source": source})  # noqa: B010
    except (AttributeError, TypeError) as error:
        why = f"the attribute `card` of your model cannot be set ({error}); make it a plain dict"
        raise UserError(f"{spec}: {why}") from None
    return cast(Model, model)


def _is_model(value: object) -> bool:
    """Whether it is a model; a class has the methods too, but is none."""
    return isinstance(value, Embedder | PairScorer | Answerer) and not isinstance(value, type)


_OF_FOLDERS = ("hf", "itm", "vqa", "likelihood")


def plain_spec(spec: str) -> str:
    """The spec with its folder written one way: hf:./mine// is hf:mine, and not another run's model."""
    kind, _, rest = spec.partition(":")
    name, mark, options = rest.partition("?")
    if kind not in _OF_FOLDERS or not name or not Path(name).expanduser().is_dir():
        return spec
    return f"{kind}:{Path(name)}{mark}{options}"


WORLD = Path(__file__).parents[1] / "world" / "base"
