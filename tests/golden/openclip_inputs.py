"""The inputs of the golden files of open_clip: drawn from seeds, the same in both environments."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from PIL import Image

CONFIG: dict[str, Any] = {
    "embed_dim": 32,
    "vision_cfg": {"image_size": 32, "layers": 2, "width": 128, "patch_size": 8, "head_width": 64},
    "text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 128, "heads": 2, "layers": 2},
}

SIZES = [(640, 480), (333, 500), (224, 224), (100, 37), (31, 300), (513, 770), (225, 226)]
MODES = ["RGB", "L", "RGBA", "P", "CMYK"]

LONG = "a very long caption about " + " and ".join(f"{n} red dogs" for n in range(60))

STRINGS = [
    "a dog",
    "walking elephant",
    "The red Cat sits ON a blue mat.",
    "a man's hat, isn't it? they'll see; I'd've",
    "3 dogs and 12 cats in 2017",
    "strolling elephant IN the background",
    "a",
    "white-and-black cat / dog (two of them)!",
    "",
    " ",
    "  leading and   inner\tspaces \n newline  ",
    "UPPER CASE SHOUTING",
    "e-mail: someone@example.com, http://example.com/a?b=c&d=e",
    "fish &amp; chips",
    "fish &amp;amp; chips",
    "fish &amp;amp;amp; chips",
    "&lt;b&gt;bold&lt;/b&gt; &quot;quoted&quot; &#39;single&#39;",
    "&nbsp;a&nbsp;b&hellip;",
    "<b>fish</b> &amp; chips &amp;lt; peas",
    "&ldquo;curly&rdquo; entities",
    "caf\u00e9 na\u00efve \u00fcber",
    "cafe\u0301 decomposed",
    "\u201ccurly quotes\u201d and \u2018single\u2019 ones",
    "it\u2019s a dog\u2019s life",
    "dash \u2013 en, \u2014 em, \u2026 ellipsis",
    "\u00e2\u20ac\u0153mojibake\u00e2\u20ac\ufffd",
    "schÃ¶n kaputt",
    "\uff26\uff35\uff2c\uff2c \uff37\uff29\uff24\uff34\uff28",
    "\ufb01sh and \ufb02ower ligatures",
    "\u732b\u3068\u72ac",
    "\u041a\u043e\u0448\u043a\u0430 \u0438 \u0441\u043e\u0431\u0430\u043a\u0430",
    "\u039f\u03b4\u03c5\u03c3\u03c3\u03b5\u03cd\u03a3 \u03a3\u0391\u03a3",
    "\u0130stanbul \u0131s\u0131",
    "Stra\u00dfe GRO\u1e9eE",
    "\U0001f436 dog emoji \U0001f469\u200d\U0001f4bb family",
    "\U0001d11e clef",
    "\u2460\u2461 circled \u00bd half \u00b2 squared \u0663 arabic digit",
    "zero\u200bwidth and soft\u00adhyphen",
    "non\u00a0breaking \u2003em space",
    "control \x07 bell \x00 null",
    "\x1b[31mred terminal\x1b[0m",
    "new\r\nline \u2028 separator",
    "!!!???...",
    "'s 't 're 've 'm 'll 'd",
    "''s !'s",
    "snake_case and camelCase",
    "100% of $5.50 #tag *star* ~tilde `tick`",
    "a+b=c<d>e",
    "\ufeffbyte order mark",
    "supercalifragilisticexpialidocious antidisestablishmentarianism",
    "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa",
    "1234567890",
    "<start_of_text",
    "within front of the wout ofdow",
    LONG,
]


def drawn_state() -> dict[str, np.ndarray]:
    """Random weights under open_clip's names, of CONFIG's architecture."""
    random = np.random.default_rng(20240601)
    state: dict[str, np.ndarray] = {}

    def draw(name: str, *shape: int, scale: float, around: float = 0.0) -> None:
        state[name] = (random.standard_normal(shape, dtype=np.float32) * np.float32(scale) + np.float32(around)).astype(
            np.float32
        )

    vision, text, embed = CONFIG["vision_cfg"], CONFIG["text_cfg"], CONFIG["embed_dim"]
    patches = (vision["image_size"] // vision["patch_size"]) ** 2
    draw("visual.class_embedding", vision["width"], scale=0.3)
    draw("visual.positional_embedding", patches + 1, vision["width"], scale=0.3)
    draw("visual.conv1.weight", vision["width"], 3, vision["patch_size"], vision["patch_size"], scale=0.1)
    draw("visual.proj", vision["width"], embed, scale=0.1)
    draw("positional_embedding", text["context_length"], text["width"], scale=0.3)
    draw("token_embedding.weight", text["vocab_size"], text["width"], scale=0.5)
    draw("text_projection", text["width"], embed, scale=0.1)
    state["logit_scale"] = np.asarray(np.log(1 / 0.07), np.float32)
    for name, width in (
        ("visual.ln_pre", vision["width"]),
        ("visual.ln_post", vision["width"]),
        ("ln_final", text["width"]),
    ):
        draw(f"{name}.weight", width, scale=0.2, around=1.0)
        draw(f"{name}.bias", width, scale=0.2)
    for tower, config in (("visual.transformer", vision), ("transformer", text)):
        width = config["width"]
        for layer in range(config["layers"]):
            block = f"{tower}.resblocks.{layer}."
            for name in ("ln_1", "ln_2"):
                draw(f"{block}{name}.weight", width, scale=0.2, around=1.0)
                draw(f"{block}{name}.bias", width, scale=0.2)
            for name, rows, columns in (
                ("attn.in_proj_", 3 * width, width),
                ("attn.out_proj.", width, width),
                ("mlp.c_fc.", 4 * width, width),
                ("mlp.c_proj.", width, 4 * width),
            ):
                draw(f"{block}{name}weight", rows, columns, scale=1.5 * columns**-0.5)
                draw(f"{block}{name}bias", rows, scale=0.3)
    return state


@functools.cache
def drawn_image(size: tuple[int, int], mode: str) -> Image.Image:
    """A smooth pattern with noise, so that a wrong filter, crop or order of steps shows."""
    image = _drawn_rgba(size)
    if mode == "RGBA":
        return image
    image = image.convert("RGB")
    return image.quantize(64) if mode == "P" else image.convert(mode)


@functools.cache
def _drawn_rgba(size: tuple[int, int]) -> Image.Image:
    width, height = size
    random = np.random.default_rng([width, height])
    rows, columns = np.mgrid[0:height, 0:width]
    waves = [128 + 90 * np.sin(rows / (5 + 3 * k) + columns / (7 + 2 * k)) for k in range(4)]
    pixels = np.stack(waves, axis=-1) + random.normal(0, 20, (height, width, 4))
    return Image.fromarray(pixels.clip(0, 255).astype(np.uint8), "RGBA")
