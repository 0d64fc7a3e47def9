"""Two processes find the loss, the gradients and the model that one finds at the same global batch."""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import traceback
from collections.abc import Callable
from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from equipoise.data.images import FolderImages
from equipoise.train.data.batches import Part, TextChunks, TrainingData
from equipoise.train.losses.clip import clip_loss
from equipoise.train.losses.cmr import Cmr
from equipoise.train.losses.degla import DeglaText, degla_distillation
from equipoise.train.losses.fsc import FscLocal
from equipoise.train.losses.itc_hn import itc_hn
from equipoise.train.recipe import Needs, Recipe, Slot
from equipoise.train.run.loop import Evaluation, train
from equipoise.train.step import distributed
from equipoise.train.step.backward import backward
from equipoise.train.step.towers import Teacher, Towers

CASES = {
    "negatives": (
        {"itc": (1.0, itc_hn), "cmr": (0.4, Cmr(["a", "b"]))},
        Needs(positive=Slot(), negatives=(Slot(), Slot())),
    ),
    "tokens": (
        {"clip": (1.0, clip_loss), "local": (0.2, FscLocal())},
        Needs(negatives=(Slot(),), tokens=True),
    ),
    "teacher": (
        {"text": (1.0, DeglaText()), "dis": (0.005, degla_distillation), "itc": (1.0, itc_hn)},
        Needs(negatives=(Slot(),), teacher=0.9),
    ),
}


def in_two(work: Callable[[], None], folder: Path, seconds: int = 60) -> None:
    """Run `work` in two forked processes with the variables torchrun sets; fails with their traceback."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]

    def one(rank: int) -> None:
        code = 1
        try:
            torch.set_num_threads(1)
            os.environ |= {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": "2"}
            os.environ |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
            work()
            assert not dist.is_initialized()
            code = 0
        except BaseException:
            (folder / f"error-{rank}").write_text(traceback.format_exc())
        finally:
            os._exit(code)

    context = multiprocessing.get_context("fork")
    children = [context.Process(target=one, args=(rank,)) for rank in range(2)]
    for child in children:
        child.start()
    for child in children:
        child.join(seconds)
        if child.is_alive():
            os.kill(child.pid, signal.SIGKILL)
    errors = [path.read_text() for path in sorted(folder.glob("error-*"))]
    assert not errors and all(child.exitcode == 0 for child in children), "\n".join(errors)


def _gradients(model, items, folder: Path, case: str, chunk: int | None):
    terms, needs = CASES[case]
    recipe = Recipe(terms=terms, needs=needs, batch_size=11, epochs=1)
    network = model.network.double().train()
    data = TrainingData(
        [Part(items, FolderImages(folder))],
        recipe,
        model.preprocess,
        TextChunks(model),
        chunk=chunk,
        rank=distributed.rank(),
        processes=distributed.processes(),
    )
    batch = data[0]
    loss = recipe.loss()
    teacher = None
    if needs.teacher is not None:
        teacher = Teacher(network, model.preprocess, needs.teacher).towers
        with torch.no_grad():  # as after some steps: else the student is where its teacher is
            for parameter in network.parameters():
                parameter.mul_(1.1)
    parts = backward(Towers(network, model.preprocess, tokens=needs.tokens), loss, batch, teacher=teacher)
    distributed.sum_gradients(network.parameters())
    loss.step()
    gradients = {name: p.grad for name, p in network.named_parameters() if p.grad is not None}
    return {"loss": parts.total, **parts.parts, **gradients}, loss.state_dict(), batch


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("chunk", [None, 2])
def test_two_processes_find_what_one_finds(tiny_model, tiny_items, tmp_path, monkeypatch, case, chunk):
    monkeypatch.setattr(distributed, "BUCKET", 1000)  # several messages
    items = tiny_items(24)
    images = tmp_path / "images"
    plain = Recipe(terms={"clip": (1.0, clip_loss)}, batch_size=11, epochs=1)
    parts = [Part(items, FolderImages(images))]
    first = TrainingData(parts, plain, tiny_model().preprocess, TextChunks(tiny_model()))[0]
    bad = next(item for item in items if item.id == first.ids[2])
    (images / bad.image.path).write_bytes(b"not an image")  # 11 samples are 6 and 5; now 5 and 5 of 10
    wanted, state, _ = _gradients(tiny_model(), items, images, case, None)

    def work() -> None:
        with distributed.started(torch.device("cpu")):
            found, found_state, batch = _gradients(tiny_model(), items, images, case, chunk)
            torch.save((found, found_state, batch.ids), tmp_path / f"found-{distributed.rank()}.pt")

    in_two(work, tmp_path)
    ids = []
    for rank in range(2):
        found, found_state, names = torch.load(tmp_path / f"found-{rank}.pt")
        ids += names
        assert found.keys() == wanted.keys()
        for name, value in wanted.items():
            torch.testing.assert_close(found[name], value, rtol=1e-9, atol=1e-11, msg=lambda m, n=name: f"{n}: {m}")
        if case == "negatives":
            assert found_state["cmr"]["thresholds"] == pytest.approx(state["cmr"]["thresholds"])
    assert len(ids) == len(set(ids)) == 10


@pytest.mark.slow
def test_the_whole_loop_in_two_processes(tiny_model, tiny_items, tmp_path):
    items = tiny_items(24)
    terms, needs = CASES["negatives"]
    recipe = Recipe(terms=terms, needs=needs, batch_size=8, epochs=2, lr=1e-3, grad_clip=1.0)
    alone = train(recipe, items, tiny_model(), tmp_path / "one", images=tmp_path / "images", show=False)

    def work() -> None:
        train(
            recipe, items, tiny_model(), tmp_path / "two", images=tmp_path / "images", show=False,
            evaluation=Evaluation(lambda model: {"score": 1.0}, best="score"),
        )  # fmt: skip

    in_two(work, tmp_path)
    one, two = (load_file(folder / "model.safetensors") for folder in (alone, tmp_path / "two" / "model"))
    base = tiny_model().network.state_dict()
    for name, value in one.items():
        # The gradient of a key's bias is zero but for rounding, which Adam scales up: by how much depends on the CPU.
        far = 1e-3 if name.endswith("k_proj.bias") else 2e-5
        torch.testing.assert_close(two[name], value, rtol=0, atol=far, msg=lambda m, n=name: f"{n}: {m}")
    assert max((one[name] - base[name]).abs().max() for name in one) > 1e-3  # it did learn something
    assert len((tmp_path / "two" / "log.jsonl").read_text().splitlines()) == 6 + 3  # steps; the base, two epochs
