"""Make the golden files from open_clip itself: what its forward pass, tokenizer and preprocessing give.

open_clip brings torchvision, which does not import beside the CPU build of torch that the core uses, so this
runs in an environment of its own and the tests read what it wrote:

    python3 -m venv .venv-openclip
    .venv-openclip/bin/pip install torch==2.13.0
    .venv-openclip/bin/pip install open_clip_torch==3.3.0 torchvision==0.28.0
    .venv-openclip/bin/python tests/golden/make_openclip.py

Weights and images are drawn from numpy seeds (openclip_inputs.py), so that the files hold only the answers.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import torch

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parents[1] / "src")]

from openclip_inputs import CONFIG, LONG, MODES, SIZES, STRINGS, drawn_image, drawn_state  # noqa: E402

from equipoise.models.openclip import OpenClipModel, import_open_clip  # noqa: E402


def main() -> None:
    open_clip = import_open_clip()
    torch.set_num_threads(1)
    tokenizer = open_clip.tokenizer.SimpleTokenizer()
    tokens = {text: [49406, *tokenizer.encode(text), 49407] for text in STRINGS}
    lines = [f"{json.dumps(text)}: {json.dumps(ids)}" for text, ids in tokens.items()]
    joined = ",\n".join(lines)
    truncated = json.dumps(tokenizer([LONG])[0].tolist())
    (HERE / "openclip_tokens.json").write_text(f'{{"tokens": {{\n{joined}\n}},\n"truncated": {truncated}}}\n')

    arrays: dict[str, np.ndarray] = {}
    for mode in ("shortest", "squash"):
        transform = open_clip.transform.image_transform(224, is_train=False, resize_mode=mode)
        geometry = transform.transforms[:-2]  # without ToTensor and Normalize
        for size in SIZES:
            for image_mode in MODES:
                image = drawn_image(size, image_mode)
                for step in geometry:
                    image = step(image)
                # every 16th pixel tells a shift, a wrong filter or a wrong crop, and keeps the file small
                arrays[f"pixels/{mode}/{size[0]}x{size[1]}/{image_mode}"] = np.asarray(image)[::16, ::16].copy()
    small = open_clip.transform.image_transform(CONFIG["vision_cfg"]["image_size"], is_train=False)
    pixels = torch.stack([small(drawn_image(size, "RGB")) for size in SIZES])
    arrays["normalised"] = pixels[:1, :, ::4, ::4].numpy()

    texts = STRINGS[:8]
    for activation in ("gelu", "quickgelu"):
        network = open_clip.model.CLIP(**CONFIG, quick_gelu=activation == "quickgelu").eval()
        state = {name: torch.from_numpy(values) for name, values in drawn_state().items()}
        network.load_state_dict(state, strict=True)
        with torch.inference_mode():
            arrays[f"{activation}/images"] = network.encode_image(pixels).numpy()
            arrays[f"{activation}/texts"] = network.encode_text(tokenizer(texts)).numpy()
        adapter = OpenClipModel("golden", network, tokenizer, small, device="cpu", dtype="float32", arch="tiny")
        assert set(adapter.card["activation"].values()) == {"QuickGELU" if activation == "quickgelu" else "GELU"}
        embedded = adapter.embed_texts(texts), adapter.embed_images([drawn_image(size, "RGB") for size in SIZES])
        for rows, kind in zip(embedded, ("texts", "images"), strict=True):
            expected = arrays[f"{activation}/{kind}"]
            expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
            assert np.abs(rows - expected).max() < 1e-5, "the adapter of openclip: changed something"
    np.savez_compressed(HERE / "openclip_arrays.npz", **arrays)
    for path in sorted(HERE.glob("openclip_*.*")):
        print(f"{path.name}: {path.stat().st_size / 1000:.0f} kB")


if __name__ == "__main__":
    main()
