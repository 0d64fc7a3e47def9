"""The contact sheet: scenes with their captions, hard positives and hard negatives, for people to read."""

from __future__ import annotations

from pathlib import Path

from PIL import Image, ImageDraw, ImageFont, PngImagePlugin

from equipoise import run_folder
from equipoise.files import atomic_write, plain_target
from equipoise.items import Item
from equipoise.world.splits import TESTS, UNSEEN, picture, world_items

COLUMNS = 4
_MARK = "equipoise world show"
SIDE = 220  # pixels of a scene
SMALL = 96  # pixels at which the model's own picture is shown beside it
WIDTH, HEIGHT = 400, 330  # of a cell
INKS = {"caption": (30, 30, 34), "positive": (20, 110, 50), "negative": (170, 30, 40), "note": (120, 120, 126)}


def contact_sheet(n: int, seed: int, path: str | Path, split: str = "validation") -> Path:
    """Write a PNG with `n` items of all kinds; the picture the model sees is shown small beside the large one."""
    path = Path(path)
    if plain_target(path).exists() and not _is_sheet(path):
        run_folder.refuse_file(path, "already there, and no contact sheet of `equipoise world show`")
    items = list(world_items(split, n, seed, () if split.startswith("finetune") else (*TESTS, *UNSEEN)))
    rows = -(-len(items) // COLUMNS)
    sheet = Image.new("RGB", (min(n, COLUMNS) * WIDTH, rows * HEIGHT), "white")
    for number, item in enumerate(items):
        sheet.paste(_cell(item), (number % COLUMNS * WIDTH, number // COLUMNS * HEIGHT))
    mark = PngImagePlugin.PngInfo()
    mark.add_text("Software", _MARK)
    with atomic_write(path, "wb") as handle:
        sheet.save(handle, "PNG", pnginfo=mark)
    return path


def _is_sheet(path: Path) -> bool:
    """Whether this program drew it: an earlier sheet may be replaced, somebody's photo may not."""
    try:
        with Image.open(path, formats=("PNG",)) as image:
            return bool(image.info.get("Software") == _MARK)
    except (OSError, ValueError, SyntaxError):
        return False


def _cell(item: Item) -> Image.Image:
    assert item.image is not None
    cell = Image.new("RGB", (WIDTH, HEIGHT), "white")
    cell.paste(picture(item.image.path, SIDE, clean=True), (10, 10))
    seen = picture(item.image.path).resize((SMALL, SMALL), Image.Resampling.NEAREST)
    cell.paste(seen, (SIDE + 24, 10))
    brush = ImageDraw.Draw(cell)
    brush.text((SIDE + 24, SMALL + 14), "what the model sees", INKS["note"], ImageFont.load_default(11))
    tags = [f"{name}: {value}" for name, value in item.tags.items()]
    brush.text((SIDE + 24, SMALL + 40), "\n".join(tags), INKS["note"], ImageFont.load_default(11))
    lines = [("caption", item.caption)]
    lines += [("positive", f"= {positive.text}") for positive in item.positives]
    lines += [("negative", f"x {negative.text}") for negative in item.negatives]
    for number, (ink, line) in enumerate(lines):
        _fitting(brush, (10, SIDE + 20 + 24 * number), line, INKS[ink])
    return cell


def _fitting(brush: ImageDraw.ImageDraw, place: tuple[int, int], line: str, ink: tuple[int, int, int]) -> None:
    """One line, its letters small enough for the cell."""
    for size in range(15, 8, -1):
        font = ImageFont.load_default(size)
        if brush.textlength(line, font) <= WIDTH - 20:
            break
    brush.text(place, line, ink, font)
