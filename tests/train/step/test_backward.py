"""GradCache: chunks of any size give the loss and the gradients of one pass."""

from __future__ import annotations

import pytest
import torch

from equipoise.data.images import FolderImages
from equipoise.train.data.batches import Part, TextChunks, TrainingData
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.dac import dac_mil
from equipoise.train.losses.degla import DeglaText, degla_distillation
from equipoise.train.losses.fsc import FscLocal
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.losses.negclip import negclip_loss
from equipoise.train.losses.siglip import siglip_loss
from equipoise.train.losses.svlc import svlc_analogy
from equipoise.train.recipe import Needs, Recipe, Slot
from equipoise.train.step.backward import backward
from equipoise.train.step.towers import Teacher, Towers

ANY = (Slot(), Slot())
CASES = {
    "hard negatives and positives": (
        {"itc": (1.0, itc_hn), "analogy": (1.0, svlc_analogy), "cmr": (0.4, Cmr(["a", "b"]))},
        Needs(positive=Slot(), negatives=ANY),
    ),
    "hard images": ({"negclip": (1.0, negclip_loss)}, Needs(negatives=(Slot(),), hard_images=True)),
    "tokens": ({"clip": (1.0, clip_loss), "local": (0.2, FscLocal())}, Needs(negatives=ANY, tokens=True)),
    "sigmoid": ({"siglip": (1.0, siglip_loss)}, Needs()),
    "teacher": (
        {"text": (1.0, DeglaText()), "dis": (0.005, degla_distillation), "itc": (1.0, itc_hn)},
        Needs(negatives=ANY, teacher=0.9),
    ),
    "dense": ({"mil": (1.0, dac_mil)}, Needs(dense=3, dense_negatives=True)),
}


def _gradients(model, items, folder, case, chunk):
    terms, needs = CASES[case]
    recipe = Recipe(terms=terms, needs=needs, batch_size=11, epochs=1)
    network = model.network.double().train()
    data = TrainingData(
        [Part(items, FolderImages(folder))],
        recipe,
        model.preprocess,
        TextChunks(model),
        chunk=chunk,
    )
    batch = data[0]
    if chunk is not None:
        assert len(batch.pixels) > 1
    teacher = None
    if needs.teacher is not None:
        teacher = Teacher(network, model.preprocess, needs.teacher).towers
        with torch.no_grad():  # as after some steps: else the student is where its teacher is
            for parameter in network.parameters():
                parameter.mul_(1.1)
    parts = backward(Towers(network, model.preprocess, tokens=needs.tokens), recipe.loss(), batch, teacher=teacher)
    return parts, {name: parameter.grad for name, parameter in network.named_parameters()}


@pytest.mark.parametrize("case", CASES)
def test_chunks_give_the_gradients_of_one_pass(tiny_model, tiny_siglip, tiny_items, tmp_path, case):
    items = tiny_items(24)
    make = tiny_siglip if case == "sigmoid" else tiny_model
    if case == "hard images":
        items = [item.model_copy(update={"tags": {"hard_images": '["item-1", "item-7"]'}}) for item in items]
    plain, wanted = _gradients(make(), items, tmp_path / "images", case, None)
    assert wanted["logit_scale"].abs() > 0
    for chunk in (1, 4, 10):
        cached, found = _gradients(make(), items, tmp_path / "images", case, chunk)
        torch.testing.assert_close(cached.total, plain.total, rtol=1e-12, atol=1e-12)
        assert plain.parts.keys() == cached.parts.keys()
        for name, gradient in wanted.items():
            if gradient is None:
                assert found[name] is None or not found[name].any(), (chunk, name)
            else:
                said = f"chunks of {chunk}, {name}: {{}}".format
                torch.testing.assert_close(found[name], gradient, rtol=1e-9, atol=1e-12, msg=said)
