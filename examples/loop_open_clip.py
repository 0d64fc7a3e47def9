"""A published loss in a loop around an open_clip model.

python examples/loop_open_clip.py
"""

import torch
from PIL import Image

import equipoise as eq
from equipoise.extend import Features, get_train_recipe, import_open_clip, make_world

open_clip = import_open_clip()  # `import open_clip`, which also works with a CPU build of torch
towers = {"vision_cfg": {"image_size": 48, "layers": 2, "width": 64, "patch_size": 16}}
towers |= {"text_cfg": {"context_length": 77, "vocab_size": 49408, "width": 64, "heads": 2, "layers": 2}}
model = open_clip.model.CLIP(embed_dim=64, **towers)  # yours: open_clip.create_model_and_transforms(...)
preprocess, tokenizer = open_clip.transform.image_transform(48, is_train=False), open_clip.SimpleTokenizer()
loss_of = get_train_recipe("hard_positives_kamath_2024").loss()
items = [item for item in eq.load_items(make_world(64, 0, "example-world", "test")) if item.positives]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def texts(strings):
    return model.encode_text(tokenizer(strings), normalize=True)


for step in range(5):
    batch = items[step * 8 : step * 8 + 8]
    pixels = torch.stack([preprocess(Image.open(f"example-world/{item.image.path}")) for item in batch])
    features = Features(
        image=model.encode_image(pixels, normalize=True),
        caption=texts([item.caption for item in batch]),
        positive=texts([item.positives[0].text for item in batch]),
        negative=texts([item.negatives[0].text for item in batch])[:, None],  # (batch, negatives, dimensions)
        scale=model.logit_scale.exp(),
    )
    found = loss_of(features)
    optimizer.zero_grad()
    found.total.backward()
    optimizer.step()
    print(f"step {step}: loss {found.total.item():.3f}")

print(eq.evaluate((model, preprocess, tokenizer), items, images="example-world"))
