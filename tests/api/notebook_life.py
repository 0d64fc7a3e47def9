"""A notebook's life: each case makes something, changes one part of it in place, and evaluates or trains again.

`python -m tests.api.notebook_life FOLDER` is the fresh process: it makes each thing as it is after its change, with an
empty cache, and prints the numbers as JSON. `test_notebook_life.py` lives through the change and compares.
"""

from __future__ import annotations

import functools
import json
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from PIL import Image

import equipoise as eq
from equipoise.data.items import ImageRef, Item, texts
from equipoise.models.clip import ClipModel
from equipoise.train.losses.clip import clip_loss
from equipoise.train.recipe import Recipe

N = 4
Case = Callable[[Path], Iterator[Any]]  # yields (verb, arguments) before the change, and after it
CASES: dict[str, Case] = {}


def case(name: str) -> Callable[[Case], Case]:
    def kept(function: Case) -> Case:
        CASES[name] = function
        return function

    return kept


def picture(number: int) -> Image.Image:
    """Twice as wide as high, another colour in each third."""
    values = np.zeros((40, 80, 3), np.uint8)
    for third in range(3):
        values[:, 27 * third : 27 * (third + 1)] = np.random.default_rng(10 * number + third).integers(0, 255, 3)
    return Image.fromarray(values)


def items() -> list[Item]:
    words = ("a red Car", "a blue house", "a green fish", "a tree and a small yellow umbrella")
    return [
        Item(id=str(n), image=ImageRef(path=str(n)), caption=words[n], negatives=texts(words[n - 1].upper()))
        for n in range(N)
    ]


def pictures() -> dict[str, Image.Image]:
    return {str(n): picture(n) for n in range(N)}


def evaluated(model: Any, some: Any = None, shown: Any = None) -> Any:
    return eq.evaluate, (model, some or items()), {"images": shown or pictures()}


def trained(recipe: Recipe | str, model: Any = "world", some: Any = None, shown: Any = None) -> Any:
    return eq.train, (recipe, some or items(), model), {"images": shown or pictures(), "device": "cpu"}


def number(found: Any) -> Any:
    """Every score, or the sum of all weights."""
    if isinstance(found, ClipModel):
        return round(sum(float(one.detach().abs().double().sum()) for one in found.network.parameters()), 6)
    return [round(float(value), 6) for row in found.rows for value in (row.caption, *row.negatives)]


# ---------------------------------------------------------------------------- a model of load_model


def change_weights(model: Any, name: str) -> None:
    weight = dict(model.named_parameters())[name]
    weight.data.copy_(torch.randn(weight.shape, generator=torch.Generator().manual_seed(1)))


def hook(module: Any, arguments: Any, found: Any) -> Any:
    found.pooler_output = found.pooler_output.flip(-1)
    return found


def patched(forward: Any) -> Any:
    def other(*arguments: Any, **options: Any) -> Any:
        return hook(None, None, forward(*arguments, **options))

    return other


def replace_forward(module: Any) -> None:
    module.forward = patched(module.forward)


def loaded(name: str, change: Callable[[Any], Any]) -> None:
    @case(f"load_model: {name}")
    def run(folder: Path) -> Iterator[Any]:
        model = eq.load_model("world", device="cpu")
        yield evaluated(model)
        change(model)
        yield evaluated(model)


loaded("text weights", lambda model: change_weights(model.network, "text_projection.weight"))
loaded("image weights", lambda model: change_weights(model.network, "visual_projection.weight"))
loaded("a forward hook", lambda model: model.network.vision_model.register_forward_hook(hook))
loaded(
    "forward replaced", lambda model: setattr(vision := model.network.vision_model, "forward", patched(vision.forward))
)
loaded("a buffer that is not saved", lambda model: positions(model).copy_(positions(model).flip(-1)))
loaded("preprocessing", lambda model: setattr(model, "preprocess", type(model.preprocess)((48, 48), None, (0.1,) * 3)))
loaded("tokenizer", lambda model: setattr(model.tokenizer.backend_tokenizer, "normalizer", upside_down()))


def positions(model: Any) -> torch.Tensor:
    found: torch.Tensor = model.network.text_model.embeddings.position_ids
    return found


def upside_down() -> Any:
    from tokenizers import normalizers

    return normalizers.Replace("a", "e")


# ---------------------------------------------------------------------------- (model, processor)


def both() -> Any:
    import transformers

    base = Path(eq.__file__).parent / "world" / "base"
    model = transformers.CLIPModel.from_pretrained(base)
    shown = transformers.CLIPImageProcessorPil.from_pretrained(base)
    return model, transformers.CLIPProcessor(shown, transformers.AutoTokenizer.from_pretrained(base))


def given(name: str, change: Callable[[Any, Any], Any]) -> None:
    @case(f"(model, processor): {name}")
    def run(folder: Path) -> Iterator[Any]:
        model, processor = both()
        yield evaluated((model, processor))
        change(model, processor)
        yield evaluated((model, processor))


given("weights", lambda model, processor: change_weights(model, "text_projection.weight"))
given("a forward hook", lambda model, processor: model.vision_model.register_forward_hook(hook))
given("preprocessing", lambda model, processor: setattr(processor.image_processor, "image_mean", [0.1] * 3))


# ---------------------------------------------------------------------------- (model, preprocess, tokenizer)


class Net(torch.nn.Module):
    """open_clip's methods."""

    context_length = 8

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.image, self.text = torch.nn.Linear(192, 16), torch.nn.Embedding(512, 16)

    def encode_image(self, pixels: Any) -> Any:
        return self.image(pixels.flatten(1))

    def encode_text(self, ids: Any) -> Any:
        return self.text(ids).mean(1)


def tokens(strings: list[str], shift: int = 0, end: int = 8) -> torch.Tensor:
    rows = [[(ord(letter) + shift) % 512 for letter in string[:end].ljust(8)] for string in strings]
    return torch.tensor(rows)


def pixels(image: Image.Image, left: int) -> torch.Tensor:
    small = image.convert("RGB").crop((left, 0, left + 40, 40)).resize((8, 8))
    return torch.from_numpy(np.asarray(small, np.float32) / 255)


LEFT = 0


def crop(image: Image.Image) -> torch.Tensor:
    return pixels(image, LEFT)


class Crop:
    """torchvision's transforms.Lambda prints no parameters either."""

    def __init__(self, left: int) -> None:
        self.left = left

    def __repr__(self) -> str:
        return "Crop()"

    def __call__(self, image: Image.Image) -> torch.Tensor:
        return pixels(image, self.left)


@case("(model, preprocess, tokenizer): a lambda in its place")
def _(folder: Path) -> Iterator[Any]:
    net = Net()
    yield evaluated((net, lambda image: pixels(image, 0), tokens))
    yield evaluated((net, lambda image: pixels(image, 20), tokens))


@case("(model, preprocess, tokenizer): a global that preprocessing reads")
def _(folder: Path) -> Iterator[Any]:
    global LEFT
    net, LEFT = Net(), 0
    yield evaluated((net, lambda image: crop(image), tokens))
    LEFT = 20
    yield evaluated((net, lambda image: crop(image), tokens))


@case("(model, preprocess, tokenizer): an object without parameters in its repr")
def _(folder: Path) -> Iterator[Any]:
    net, made = Net(), Crop(0)
    yield evaluated((net, made, tokens))
    made.left = 20
    yield evaluated((net, made, tokens))


@case("(model, preprocess, tokenizer): an array in a closure")
def _(folder: Path) -> Iterator[Any]:
    net, scale = Net(), np.ones(5000, np.float32)
    made = lambda image: pixels(image, 0) * float(scale[2500])  # noqa: E731
    yield evaluated((net, made, tokens))
    scale[2500] = -1
    yield evaluated((net, made, tokens))


@case("(model, preprocess, tokenizer): the tokenizer")
def _(folder: Path) -> Iterator[Any]:
    net, made = Net(), functools.partial(pixels, left=0)
    yield evaluated((net, made, functools.partial(tokens, end=8)))
    yield evaluated((net, made, functools.partial(tokens, end=7)))


@case("(model, preprocess, tokenizer): an open file in preprocessing")
def _(folder: Path) -> Iterator[Any]:
    net, place = Net(), folder / "left.txt"
    place.write_text("0 ")
    with place.open() as handle:

        def made(image: Image.Image) -> torch.Tensor:
            handle.seek(0)
            return pixels(image, int(handle.read()))

        yield evaluated((net, made, tokens))
        place.write_text("20")
        yield evaluated((net, made, tokens))


# ---------------------------------------------------------------------------- an object of the user's own


class Own:
    def __init__(self) -> None:
        self.left, self.lower, self.weights = 0, True, np.random.default_rng(0).normal(size=(192, 16))

    def embed_images(self, images: Any) -> Any:
        return np.stack([pixels(image, self.left).numpy().ravel() @ self.weights for image in images])

    def embed_texts(self, strings: Any) -> Any:
        given = [string.lower() if self.lower else string for string in strings]
        return np.stack([np.bincount([ord(letter) % 15 for letter in string], minlength=16) for string in given])


def own(name: str, change: Callable[[Any], Any]) -> None:
    @case(f"own object: {name}")
    def run(folder: Path) -> Iterator[Any]:
        model = Own()
        yield evaluated(model)
        change(model)
        yield evaluated(model)


def from_the_end(self: Any, strings: Any) -> Any:
    return np.stack([np.bincount([ord(letter) % 13 for letter in string], minlength=16) for string in strings])


own("its crop", lambda model: setattr(model, "left", 20))
own("lower case", lambda model: setattr(model, "lower", False))
own("its weights", lambda model: model.weights.__setitem__(0, 5.0))
own("a method", lambda model: setattr(model, "embed_texts", functools.partial(from_the_end, model)))


@case("py: model: a module that its file imports")
def _(folder: Path) -> Iterator[Any]:
    (folder / "life_model.py").write_text(
        "from life_helper import LEFT\nfrom tests.api.notebook_life import Own\n\n"
        "def make():\n    model = Own()\n    model.left = LEFT\n    return model\n"
    )
    (folder / "life_helper.py").write_text("LEFT = 0\n")
    yield evaluated("py:life_model:make")
    (folder / "life_helper.py").write_text("LEFT = 20\n")
    yield evaluated("py:life_model:make")


# ---------------------------------------------------------------------------- items, pictures


@case("items: a caption")
def _(folder: Path) -> Iterator[Any]:
    some = items()
    yield evaluated("world", some)
    some[1] = some[1].model_copy(update={"caption": "a yellow house"})
    yield evaluated("world", some)


@case("pictures: one of a dict")
def _(folder: Path) -> Iterator[Any]:
    shown = pictures()
    yield evaluated("world", shown=shown)
    shown["1"].paste((255, 0, 255), (20, 0, 60, 40))
    yield evaluated("world", shown=shown)


# ---------------------------------------------------------------------------- training


def recipe(loss: Any) -> Recipe:
    return Recipe(name="mine", terms={"mine": (1.0, loss)}, batch_size=4, epochs=1, lr=1e-3, warmup_steps=0)


@case("train: a loss of the same name")
def _(folder: Path) -> Iterator[Any]:
    def mine(features: Any) -> Any:
        return clip_loss(features)

    yield trained(recipe(mine))

    def mine(features: Any) -> Any:  # type: ignore[no-redef]
        return -clip_loss(features)

    yield trained(recipe(mine))


@case("train: one of 5,000 numbers in a loss")
def _(folder: Path) -> Iterator[Any]:
    weights = np.ones(5000)
    mine = lambda features: float(weights[2500]) * clip_loss(features)  # noqa: E731
    yield trained(recipe(mine))
    weights[2500] = -1
    yield trained(recipe(mine))


@case("train: a module that a py: recipe imports")
def _(folder: Path) -> Iterator[Any]:
    (folder / "life_recipe.py").write_text(
        "from life_sign import SIGN\nfrom equipoise.train.losses.clip import clip_loss\n"
        "from tests.api.notebook_life import recipe\n\n"
        "def make():\n    return recipe(lambda features: SIGN * clip_loss(features))\n"
    )
    (folder / "life_sign.py").write_text("SIGN = 1\n")
    yield trained("py:life_recipe:make")
    (folder / "life_sign.py").write_text("SIGN = -1\n")
    yield trained("py:life_recipe:make")


@case("train: the base's weights")
def _(folder: Path) -> Iterator[Any]:
    model = eq.load_model("world", device="cpu")
    yield trained(recipe(clip_loss), model)
    change_weights(model.network, "text_projection.weight")
    yield trained(recipe(clip_loss), model)


@case("train: one of the pictures")
def _(folder: Path) -> Iterator[Any]:
    shown = pictures()
    yield trained(recipe(clip_loss), shown=shown)
    shown["1"].paste((255, 0, 255), (20, 0, 60, 40))
    yield trained(recipe(clip_loss), shown=shown)


@case("train: a caption")
def _(folder: Path) -> Iterator[Any]:
    some = items()
    yield trained(recipe(clip_loss), some=some)
    some[1] = some[1].model_copy(update={"caption": "a yellow house"})
    yield trained(recipe(clip_loss), some=some)


def call(asked: Any, out: Path | None) -> Any:
    verb, arguments, options = asked
    return number(verb(*arguments, **options, **({} if out is None else {"out": out})))


def fresh(folder: Path) -> dict[str, Any]:
    """The numbers after each change, where nothing was computed before."""
    found = {}
    for place, (name, steps) in enumerate(CASES.items()):
        here = folder / str(place)
        here.mkdir(parents=True)
        os.environ["EQUIPOISE_CACHE"] = str(here / "cache")
        life = steps(folder)
        next(life)
        found[name] = call(next(life), here / "out")
    return found


if __name__ == "__main__":
    # The names of this file are those of the module, as in the notebook.
    from tests.api import notebook_life

    print(json.dumps(notebook_life.fresh(Path(sys.argv[1]))))
