"""A published loss in your own torch loop: hard positives and hard negatives for any two encoders.

python examples/loop_torch.py
"""

import torch
from PIL import Image

import equipoise as eq
from equipoise.extend import Features, get_train_recipe, make_world

loss_of = get_train_recipe("hard_positives_kamath_2024").loss()
model = eq.load_model("world")  # any module: it only has to give embeddings with gradients
items = [item for item in eq.load_items(make_world(64, 0, "example-world", "test")) if item.positives]
optimizer = torch.optim.AdamW(model.network.parameters(), lr=1e-4)


def unit(rows):
    return torch.nn.functional.normalize(rows, dim=-1)


def texts(strings):
    return unit(model.text_features(*model.pad([model.truncate(ids) for ids in model.tokenize(strings)])))


for step in range(5):
    batch = items[step * 8 : step * 8 + 8]
    pixels = torch.stack(
        [torch.from_numpy(model.preprocess(Image.open(f"example-world/{item.image.path}"))) for item in batch]
    )
    features = Features(
        image=unit(model.image_features(pixels)),
        caption=texts([item.caption for item in batch]),
        positive=texts([item.positives[0].text for item in batch]),
        negative=texts([item.negatives[0].text for item in batch])[:, None],  # (batch, negatives, dimensions)
        scale=model.network.logit_scale.exp(),
    )
    found = loss_of(features)
    optimizer.zero_grad()
    found.total.backward()
    optimizer.step()
    print(
        f"step {step}: loss {found.total.item():.3f}",
        {name: round(part.item(), 3) for name, part in found.parts.items()},
    )
