"""Classification sets: a folder for each class, webdataset shards in CLIP_benchmark's layout.

    DIR/CLASS/*.jpg                       torchvision's ImageFolder; classes in the order of their sorted folders
    DIR/classnames.txt                    there: one name per line in that order, or FOLDER<TAB>NAME (ImageNet)
    DIR/{classnames.txt, zeroshot_classification_templates.txt}, DIR/SPLIT/{nshards.txt, 0.tar, 1.tar, ...}
                                          CLIP_benchmark's: members KEY.{webp,png,jpg,jpeg} and KEY.cls (a number)

CLIP's paper averages 80 templates on ImageNet; without a file of templates there is one, "a photo of a {}.".
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from equipoise.core.errors import Problems, UserError
from equipoise.core.files import read_text
from equipoise.data.images import FolderImages, ImageSource, TarImages
from equipoise.data.readers.sets.kinds import ClassSet

DEFAULT_TEMPLATES = ("a photo of a {}.",)
TEMPLATES = "zeroshot_classification_templates.txt"
NAMES = "classnames.txt"
PHOTOS = {".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".tif", ".tiff", ".ppm", ".avif"}
_CODE = re.compile(r"n\d{8}|\d+")  # a folder that is called by a number says nothing to a text encoder


def is_class_folder(folder: Path) -> bool:
    """Whether this looks like a set that `read_classes` reads."""
    return bool(is_shards(folder) or _class_folders(folder))


def is_shards(folder: Path) -> bool:
    return any(path.is_file() for path in folder.glob("*/nshards.txt"))


def read_classes(folder: Path, split: str, templates: Path | None = None) -> ClassSet:
    """The photos of a split with the numbers of their classes."""
    if is_shards(folder):
        tars = shards(folder, split)
        classes = _lines(folder / NAMES)
        return _set(folder, split, tars, classes, templates, labelled(folder, tars, len(classes)))
    below = folder / split if not _class_folders(folder) or _class_folders(folder / split) else folder
    folders = _class_folders(below)
    if not folders:
        raise UserError(
            f"{folder}: no folder for each class with photos in it, and no {split}/nshards.txt (CLIP_benchmark's "
            "shards); see --help"
        )
    photos = [
        (f"{class_folder.name}/{path.name}", number)
        for number, class_folder in enumerate(folders)
        for path in sorted(class_folder.iterdir())
        if path.suffix.lower() in PHOTOS
    ]
    classes = _folder_names(folder, below, [class_folder.name for class_folder in folders])
    return _set(folder, split if below != folder else None, FolderImages(below), classes, templates, photos)


def _set(
    folder: Path,
    split: str | None,
    source: ImageSource,
    classes: Sequence[str],
    templates: Path | None,
    photos: Sequence[tuple[str, int]],
) -> ClassSet:
    if len(classes) < 2 or not photos:
        raise UserError(f"{folder}: {len(classes)} classes and {len(photos):,} photos; nothing to tell apart")
    return ClassSet(folder.name, split, source, tuple(classes), _templates(folder, templates), tuple(photos))


def _class_folders(folder: Path) -> list[Path]:
    """The folders that hold photos, sorted by name."""
    if not folder.is_dir():
        return []
    below = sorted(path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return [path for path in below if any(photo.suffix.lower() in PHOTOS for photo in path.iterdir())]


def _folder_names(folder: Path, below: Path, folders: Sequence[str]) -> list[str]:
    path = next((place / NAMES for place in (below, folder) if (place / NAMES).is_file()), None)
    if path is None:
        codes = [name for name in folders if _CODE.fullmatch(name)]
        if codes:
            raise UserError(
                f"{below}: {len(codes):,} of {len(folders):,} folders are called by a code ({codes[0]}), which no text "
                f"encoder knows. Write {folder / NAMES}: one name per line in the order of the folders, or "
                f"{codes[0]}<TAB>name."
            )
        return [name.replace("_", " ") for name in folders]
    lines = _lines(path)
    if all("\t" in line for line in lines):
        named = dict(line.split("\t", 1) for line in lines)
        if lacking := [name for name in folders if name not in named]:
            raise UserError(f"{path}: {len(lacking):,} folders have no name, for instance {lacking[0]!r}")
        return [named[name].strip() for name in folders]
    if len(lines) != len(folders):
        raise UserError(f"{path}: {len(lines):,} names, where {below} has {len(folders):,} folders of classes")
    return lines


def shards(folder: Path, split: str) -> TarImages:
    """The shards of a split; as many as its nshards.txt says."""
    path = folder / split / "nshards.txt"
    if not path.is_file():
        there = sorted(count_file.parent.name for count_file in folder.glob("*/nshards.txt"))
        raise UserError(f"{path}: no such file; the splits here are {', '.join(there)} (--splits)")
    text = read_text(path).strip()
    if not text.isdecimal() or int(text) < 1:
        raise UserError(f"{path}: expected the number of shards, found {text[:40]!r}")
    tars = [folder / split / f"{number}.tar" for number in range(int(text))]
    if gone := [tar for tar in tars if not tar.is_file()]:
        raise UserError(f"{path}: says {len(tars)} shards, but {len(gone)} are missing, for instance {gone[0]}")
    return TarImages(tars)


def labelled(folder: Path, tars: TarImages, classes: int) -> list[tuple[str, int]]:
    """(photo, number of its class)."""
    problems = Problems(f"{folder}: labels of the shards")
    photos: list[tuple[str, int]] = []
    for photo in [name for name in tars.members if Path(name).suffix.lower() in PHOTOS]:
        label = f"{photo.rpartition('.')[0]}.cls"
        if label not in tars:
            problems.add(photo, f"no {label} next to it (a multi-label set, .npy, is not read)")
            continue
        text = tars.read(label).decode("utf-8", "replace").strip()
        if not text.isdecimal() or int(text) >= classes:
            problems.add(label, f"expected the number of a class, 0 to {classes - 1}, found {text[:40]!r}")
            continue
        photos.append((photo, int(text)))
    problems.raise_if_any(f"Expected KEY.jpg and KEY.cls in each shard, and {classes} names in {NAMES}.")
    return photos


def _lines(path: Path) -> list[str]:
    return [line.strip() for line in read_text(path).splitlines() if line.strip()]


def _templates(folder: Path, given: Path | None) -> tuple[str, ...]:
    """The templates of a file, or of the set itself; CLIP_benchmark writes {c}, CLIP {}: both are read."""
    path = given or (folder / TEMPLATES)
    if given is None and not path.is_file():
        return DEFAULT_TEMPLATES
    problems = Problems(str(path))
    templates = []
    for number, line in enumerate(_lines(path), 1):
        template = line.replace("{c}", "{}")
        if template.count("{}") != 1:
            problems.add(f"template {number}", f"expected one {{}} (or {{c}}) for the class, found {line[:60]!r}")
        templates.append(template)
    problems.raise_if_any('Expected one template per line, for instance "a photo of a {}."')
    if not templates:
        raise UserError(f"{path}: holds no template")
    return tuple(dict.fromkeys(templates))
