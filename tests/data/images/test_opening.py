"""Other people's images: which kinds are opened, what is refused at once, and how much memory they may take."""

from __future__ import annotations

import io
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from equipoise.data import images
from equipoise.data.images import ImageProblem, decode_image, read_image_bytes, use_image
from equipoise.data.items import ImageRef

REF = ImageRef(path="photo.jpg")


def encoded(image: Image.Image, kind: str) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, kind)
    return buffer.getvalue()


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP", "BMP", "GIF", "TIFF", "PPM"])
def test_the_usual_kinds_are_read(kind: str) -> None:
    image = decode_image(encoded(Image.new("RGB", (20, 10), (200, 100, 50)), kind), REF)
    assert (image.mode, image.size) == ("RGB", (20, 10))


def test_eps_in_a_jpg_starts_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """Pillow would hand it to Ghostscript, a program that runs what it is given."""
    from PIL import EpsImagePlugin

    def ghostscript(*_: object, **__: object) -> None:
        raise AssertionError("Ghostscript was started")

    monkeypatch.setattr(EpsImagePlugin, "Ghostscript", ghostscript)
    data = encoded(Image.new("RGB", (20, 10)), "EPS")
    with pytest.raises(ImageProblem, match=r"photo\.jpg: not an image of a kind that is read here \(JPEG, PNG"):
        decode_image(data, REF)


@pytest.mark.parametrize("kind", ["PNG", "TIFF", "PPM"])
def test_sixteen_bit_grey_keeps_its_shades(kind: str) -> None:
    """Pillow cuts off at 255, which made 95% of such pictures white."""
    shades = np.linspace(0, 65535, 256).astype(np.uint16).reshape(16, 16)
    found = np.asarray(decode_image(encoded(Image.fromarray(shades), kind), REF))
    assert (found == (shades >> 8)[..., None]).all()


@pytest.mark.parametrize(("mode", "kind"), [("L", "PNG"), ("P", "PNG"), ("CMYK", "TIFF"), ("RGBA", "PNG")])
def test_a_photo_in_another_mode_looks_as_its_rgb_copy(mode: str, kind: str) -> None:
    y, x = np.indices((30, 40))
    plain = Image.fromarray(np.stack([6 * x, 8 * y, 255 - 6 * x], axis=2).astype(np.uint8))
    saved = plain.quantize(64) if mode == "P" else plain.convert(mode)
    same = saved.convert("RGB") if mode in "LP" else plain
    found = decode_image(encoded(saved, kind), REF)
    assert np.abs(np.asarray(found, np.int16) - np.asarray(same, np.int16)).max() <= 4


def test_grey_of_32_bits_is_refused() -> None:
    data = encoded(Image.fromarray(np.linspace(0, 1e6, 256).astype(np.float32).reshape(16, 16)), "TIFF")
    with pytest.raises(ImageProblem, match="32-bit grey"):
        decode_image(data, REF)


def test_a_pipe_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "photo.jpg")
    started = time.monotonic()
    with pytest.raises(ImageProblem, match=r"photo\.jpg: not a regular file"):
        decode_image(read_image_bytes(tmp_path, REF.path), REF)
    assert time.monotonic() - started < 5


def test_an_endless_or_giant_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "photo.jpg").symlink_to("/dev/zero")
    with pytest.raises(ImageProblem, match="not a regular file"):
        read_image_bytes(tmp_path, "photo.jpg")
    with (tmp_path / "giant.jpg").open("wb") as file:
        file.truncate(10**12)
    with pytest.raises(ImageProblem, match=r"giant\.jpg: 1,000,000,000,000 bytes; images over"):
        read_image_bytes(tmp_path, "giant.jpg")


def test_large_images_wait_for_each_other(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight PNGs of 0.3 MB took 6 GB when they were decoded side by side."""
    monkeypatch.setattr(images, "LARGE", 1_000_000)
    data = encoded(Image.new("L", (1200, 1000)), "PNG")
    lock, inside, most = threading.Lock(), 0, 0

    def use(_: Image.Image) -> None:
        nonlocal inside, most
        with lock:
            inside += 1
            most = max(most, inside)
        time.sleep(0.02)
        with lock:
            inside -= 1

    threads = [threading.Thread(target=use_image, args=(data, REF, use)) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert most == 1
