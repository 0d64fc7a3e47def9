"""CUDA graphs without a GPU: shapes are rounded, and static memory is read before it is overwritten."""

from __future__ import annotations

import pytest
import torch

from equipoise.data.images import FolderImages
from equipoise.train.data.batches import Part, TextChunks, TrainingData
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import Needs, Recipe, Slot
from equipoise.train.step.backward import adamw, backward
from equipoise.train.step.towers import MOST, Graphed, Towers


def recorded_like_torch(module, samples, allow_unused_input):
    """make_graphed_callables without the recording: one memory for inputs, outputs and gradients."""
    parameters = tuple(module.parameters())
    surface = (*samples, *parameters)
    static: dict[str, list] = {}

    def put(name: str, values) -> list:
        if name not in static:
            static[name] = [None if value is None else value.detach().clone() for value in values]
        for mine, value in zip(static[name], values, strict=True):
            if mine is not None:
                mine.copy_(value)
        return [None if value is None else value.detach() for value in static[name]]

    class Replay(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            for mine, value in zip(samples, inputs, strict=False):
                mine.data.copy_(value)
            with torch.enable_grad():
                static["graph"] = module.run(*samples)
            return put("outputs", [static["graph"]])[0]

        @staticmethod
        def backward(ctx, gradient):
            wanted = [value for value in surface if value.requires_grad]
            found = torch.autograd.grad(static["graph"], wanted, gradient, allow_unused=allow_unused_input)
            given = iter(put("gradients", found))
            return tuple(next(given) if value.requires_grad else None for value in surface)

    return lambda *inputs: Replay.apply(*inputs, *parameters)


@pytest.mark.parametrize("lora", [False, True])
def test_training_with_static_memory_is_training(tiny_model, tiny_items, tmp_path, monkeypatch, lora):
    from equipoise.train.recipe import Lora
    from equipoise.train.step.lora import add_lora

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", recorded_like_torch)
    items = tiny_items(24)
    recipe = Recipe(terms={"itc": (1.0, itc_hn)}, needs=Needs(negatives=(Slot(),)), batch_size=11, epochs=3, lr=1e-2)
    ends = []
    for graphed in (False, True):
        model = tiny_model()
        network = model.network.double().train()
        if lora:
            add_lora(network, Lora(rank=2), 0)
            network.double()
        data = TrainingData(
            [Part(items, FolderImages(tmp_path / "images"))],
            recipe,
            model.preprocess,
            TextChunks(model),
        )
        towers, optimizer, loss = (
            Towers(network, model.preprocess, graphed=graphed),
            adamw(network, recipe),
            recipe.loss(),
        )
        for step in range(len(data)):
            optimizer.zero_grad(set_to_none=True)
            backward(towers, loss, data[step])
            optimizer.step()
        ends.append(dict(network.named_parameters()))
    for name, value in ends[0].items():
        torch.testing.assert_close(ends[1][name], value, rtol=0, atol=1e-9, msg=lambda m, n=name: f"{n}: {m}")


def test_sizes_share_a_recording_and_there_are_not_too_many(monkeypatch):
    sizes = []

    def record(module, samples, allow_unused_input):
        sizes.append(len(samples[0]))
        return module

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", record)
    graphed = Graphed(torch.nn.Linear(2, 2), lambda value: value * 2)
    for count in (3, 16, 17, 1, *range(33, 33 + 16 * MOST, 16)):
        assert torch.equal(graphed(torch.ones(count, 2)), torch.full((count, 2), 2.0))
    assert sizes[:2] == [16, 32] and len(sizes) == MOST


def test_a_failed_recording_is_said_and_training_goes_on(monkeypatch):
    def fails(*arguments, **options):
        raise RuntimeError("operation not permitted when stream is capturing")

    monkeypatch.setattr(torch.cuda, "make_graphed_callables", fails)
    graphed = Graphed(torch.nn.Linear(2, 2), lambda value: value + 1)
    with pytest.warns(UserWarning, match="training goes on without: operation not permitted"):
        assert torch.equal(graphed(torch.ones(3, 2)), torch.full((3, 2), 2.0))
