"""A published loss in a loop around a sentence-transformers model that embeds pictures and texts.

python examples/loop_sentence_transformers.py [MODEL]
"""

import sys

import torch
from PIL import Image
from sentence_transformers import SentenceTransformer

import equipoise as eq
from equipoise.extend import WORLD, Features, get_train_recipe, make_world

loss_of = get_train_recipe("hard_positives_kamath_2024").loss()
model = SentenceTransformer(sys.argv[1] if len(sys.argv) > 1 else str(WORLD))
items = [item for item in eq.load_items(make_world(64, 0, "example-world", "test")) if item.positives]
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)


def embed(inputs):
    return torch.nn.functional.normalize(model(model.preprocess(inputs))["sentence_embedding"], dim=-1)


for step in range(5):
    batch = items[step * 8 : step * 8 + 8]
    features = Features(
        image=embed([Image.open(f"example-world/{item.image.path}") for item in batch]),
        caption=embed([item.caption for item in batch]),
        positive=embed([item.positives[0].text for item in batch]),
        negative=embed([item.negatives[0].text for item in batch])[:, None],  # (batch, negatives, dimensions)
        scale=torch.tensor(100.0),
    )
    found = loss_of(features)
    optimizer.zero_grad()
    found.total.backward()
    optimizer.step()
    print(f"step {step}: loss {found.total.item():.3f}")
