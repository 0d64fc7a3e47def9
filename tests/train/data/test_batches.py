"""Batches: the same for any number of workers and processes, each text and image once, bad images left out."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.images import FolderImages
from equipoise.data.items import Edit, ImageRef, Item, texts
from equipoise.train.data.batches import MISSING, Batch, Part, TextChunks, TrainingData
from equipoise.train.data.draws import Draw
from equipoise.train.recipe import Needs, Recipe, Slot
from equipoise.train.step.towers import PackedTexts, Towers

NEEDS = Needs(positive=Slot(), negatives=(Slot("a", (("replace", None),)), Slot("o", ((None, "object"),))))


def _data(items, model, folder: Path, **options) -> TrainingData:
    names = {"batch": "batch_size", "steps": "max_steps", "epochs": "epochs", "needs": "needs", "crop": "crop"}
    asked = {names[name]: options.pop(name) for name in list(options) if name in names}
    recipe = Recipe(terms={}, **{"needs": NEEDS, "batch_size": 8, "epochs": 2, **asked})
    return TrainingData([Part(items, FolderImages(folder))], recipe, model.preprocess, TextChunks(model), **options)


def _texts(batch: Batch) -> list[tuple[int, ...]]:
    """The distinct texts' tokens, in order."""
    found = []
    for chunk in batch.texts:
        assert isinstance(chunk, PackedTexts)
        flat = chunk.tokens.flatten()
        for start, length in zip(chunk.starts.tolist(), chunk.lengths.tolist(), strict=True):
            found.append(tuple(flat[start : start + length].tolist()))
    return found


def _content(batch: Batch) -> list[object]:
    """The content of each sample, whatever the rows are called."""
    words, pixels = _texts(batch), torch.cat(batch.pixels)
    shown = []
    for number, name in enumerate(batch.ids):
        fields = {}
        for field, rows in batch.fields.items():
            value = rows[number]
            if field == "image":
                fields[field] = pixels[value].numpy().tobytes()
            else:
                fields[field] = [None if row == MISSING else words[row] for row in value.flatten().tolist()]
        shown.append((name, fields))
    return shown


def test_fields_name_the_right_texts(tiny_model, tiny_items, tmp_path):
    items, model = tiny_items(), tiny_model()
    data = _data(items, model, tmp_path / "images")
    by_id = {item.id: item for item in items}
    for step in range(len(data)):
        batch = data[step]
        words = _texts(batch)
        assert len(set(words)) == len(words)  # each distinct text once
        for number, name in enumerate(batch.ids):
            item = by_id[name]
            expected = {text: tuple(ids) for text, ids in zip(_all(item), model.tokenize(_all(item)), strict=True)}
            assert words[batch.fields["caption"][number]] == expected[item.caption]
            positive = int(batch.fields["positive"][number])
            assert (positive == MISSING) == (not item.positives)
            if item.positives:
                assert words[positive] == expected[item.positives[0].text]
            for slot, row in enumerate(batch.fields["negative"][number].tolist()):
                fitting = [expected[t.text] for t in item.negatives if NEEDS.negatives[slot].accepts(t.edit)]
                assert (row == MISSING) if not fitting else words[row] in fitting


def _all(item: Item) -> list[str]:
    return [item.caption, *(text.text for text in (*item.positives, *item.negatives))]


@pytest.mark.parametrize("workers", [0, 2])
def test_batches_do_not_depend_on_workers(tiny_model, tiny_items, tmp_path, workers):
    items, model = tiny_items(), tiny_model()
    crop = (0.5, 1.0)
    alone = [_content(batch) for batch in _loaded(_data(items, model, tmp_path / "images", crop=crop), 0)]
    other = [_content(batch) for batch in _loaded(_data(items, model, tmp_path / "images", crop=crop), workers)]
    assert other == alone
    assert len({json.dumps(c, default=str) for c in alone}) == len(alone)


def _loaded(data: TrainingData, workers: int) -> list[Batch]:
    return list(torch.utils.data.DataLoader(data, batch_size=None, num_workers=workers))


@pytest.mark.parametrize("crop", [None, (0.5, 1.0)])
def test_processes_share_a_batch_in_order(tiny_model, tiny_items, tmp_path, crop):
    items, model = tiny_items(per_image=6), tiny_model()
    options = {"batch": 7, "crop": crop}
    whole = _data(items, model, tmp_path / "images", **options)
    halves = [_data(items, model, tmp_path / "images", rank=rank, processes=2, **options) for rank in range(2)]
    assert (len(whole[0].pixels[0]) < 7) == (crop is None)  # one image, one row, unless crops differ
    for step in range(len(whole)):
        assert _content(halves[0][step]) + _content(halves[1][step]) == _content(whole[step])


def test_chunks_hold_the_same_texts_and_images(tiny_model, tiny_items, tmp_path):
    items, model = tiny_items(), tiny_model()
    whole, cut = (_data(items, model, tmp_path / "images", chunk=chunk) for chunk in (None, 3))
    assert len(cut[0].pixels) == 3 and len(cut[0].texts) == 3
    assert _content(cut[0]) == _content(whole[0])


def test_crops_change_with_the_epoch_and_not_with_the_call(tiny_model, tiny_items, tmp_path):
    data = _data(tiny_items(8), tiny_model(), tmp_path / "images", crop=(0.5, 0.9))
    first, again, later = (dict(zip(b.ids, b.pixels[0], strict=True)) for b in (data[0], data[0], data[1]))
    for name in first:
        assert torch.equal(first[name], again[name])
        assert not torch.equal(first[name], later[name])


def test_unreadable_images_are_left_out_and_named(tiny_model, tiny_items, tmp_path):
    items = tiny_items()
    (tmp_path / "images" / "003.png").write_bytes(b"no image")
    (tmp_path / "images" / "005.png").unlink()
    data = _data(items, tiny_model(), tmp_path / "images", epochs=1)
    seen = [data[step] for step in range(3)]
    skipped = [line for batch in seen for line in batch.skipped]
    assert sorted(line.split(":")[0] for line in skipped) == ["item-3", "item-5"]
    names = [name for batch in seen for name in batch.ids]
    assert sorted(names) == sorted(item.id for item in items if item.id not in {"item-3", "item-5"})
    for batch in seen:
        assert all(len(rows) == len(batch.ids) for rows in batch.fields.values())


def test_a_wrong_image_folder_is_said(tiny_model, tiny_items, tmp_path):
    items = tiny_items()
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="is the image folder the right one"):
        _data(items, tiny_model(), tmp_path / "empty")[0]


def test_images_of_any_size_and_mode_become_one_batch(tiny_model, tmp_path):
    for number, (size, mode) in enumerate([((16, 16), "RGB"), ((40, 9), "L"), ((5, 70), "RGBA"), ((300, 200), "P")]):
        Image.new(mode, size, 3).save(tmp_path / f"{number}.png")
    items = [Item(id=str(n), image=ImageRef(path=f"{n}.png"), caption="a cat") for n in range(4)]
    batch = _data(items, tiny_model(), tmp_path, batch=4, needs=Needs())[0]
    assert batch.pixels[0].shape == (4, 16, 16, 3)
    assert len(_texts(batch)) == 1  # four equal captions are one text


def test_bytes_become_the_floats_of_the_models_preprocessing(tiny_model, tiny_items, tmp_path):
    items, model = tiny_items(4), tiny_model()
    batch = _data(items, model, tmp_path / "images", batch=4, needs=Needs())[0]
    towers = Towers(model.network, model.preprocess)
    expected = [model.preprocess(Image.open(tmp_path / "images" / f"00{name[-1]}.png")) for name in batch.ids]
    assert batch.pixels[0].dtype == torch.uint8
    assert torch.equal(towers.normalized(batch.pixels[0]).permute(0, 3, 1, 2), torch.from_numpy(np.stack(expected)))


def test_too_few_items_name_a_batch_that_would_do(tiny_model, tiny_items, tmp_path):
    """The largest that fills: half of it would give every caption half as many others to be told from."""
    items = tiny_items(10)
    with pytest.raises(UserError, match=r"10 items make no batch of 16; choose at most 10 \(--set batch_size=10\)"):
        _data(items, tiny_model(), tmp_path / "images", batch=16)
    assert len(_data(items, tiny_model(), tmp_path / "images", batch=10)) == 2  # one an epoch
    doubled = [item.model_copy(update={"image": items[index // 2].image}) for index, item in enumerate(items)]
    apart = replace(NEEDS, distinct_images=True)
    with pytest.raises(UserError, match=r"without two captions of one image; .*--set batch_size=5\)"):
        _data(doubled, tiny_model(), tmp_path / "images", batch=6, needs=apart)
    assert len(_data(doubled, tiny_model(), tmp_path / "images", batch=5, needs=apart)) == 4
    with pytest.raises(UserError, match="1 items make no batch of 2; it needs two or more: add items"):
        _data(items[:1], tiny_model(), tmp_path / "images", batch=2)


def test_place_counts_steps_through_epochs(tiny_model, tiny_items, tmp_path):
    data = _data(tiny_items(24), tiny_model(), tmp_path / "images", batch=5, epochs=3)
    assert len(data) == 12
    assert [data.place(step) for step in (0, 3, 4, 11)] == [(0, 0), (0, 3), (1, 0), (2, 3)]
    assert len(_data(tiny_items(24), tiny_model(), tmp_path / "images", batch=5, steps=7)) == 7
    assert len(_data(tiny_items(24), tiny_model(), tmp_path / "images", batch=5, steps=70, epochs=3)) == 12


def test_long_texts_are_cut_and_keep_their_end(tiny_model, tmp_path):
    Image.new("RGB", (16, 16)).save(tmp_path / "x.png")
    model = tiny_model()
    items = [Item(id="x", image=ImageRef(path="x.png"), caption="cat " * 50)]
    (text,) = _texts(_data(items, model, tmp_path, batch=1, needs=Needs())[0])
    assert len(text) == model.context_length and text[-1] == model.end_id


# ---------------------------------------------------------------------------- draws


def _drawable() -> list[Item]:
    edits = [Edit(op="swap", target="object"), Edit(op="replace", target="object"), None]
    return [
        Item(
            id=f"i{n}",
            image=ImageRef(path=f"{n // 2}.png"),
            caption=f"caption {n}",
            positives=texts(*(f"positive {n}-{k}" for k in range(4))),
            negatives=tuple(t for k, e in enumerate(edits) for t in texts(f"negative {n}-{k}", edit=e)),
            tags={"hard_images": json.dumps([f"i{(n + 1) % 6}", f"i{(n + 2) % 6}"])},
        )
        for n in range(6)
    ]


def test_draws_change_with_the_epoch_and_reach_every_text():
    draw = Draw(_drawable(), Needs(positive=Slot(), negatives=(Slot(),)), 0)
    shown = [draw(epoch, 0).texts for epoch in range(60)]
    assert {one["positive"] for one in shown} == {f"positive 0-{k}" for k in range(4)}
    assert {one["negative"][0] for one in shown} == {f"negative 0-{k}" for k in range(3)}
    assert draw(7, 3) == Draw(_drawable(), Needs(positive=Slot(), negatives=(Slot(),)), 0)(7, 3)
    assert shown != [Draw(_drawable(), Needs(positive=Slot(), negatives=(Slot(),)), 1)(e, 0).texts for e in range(60)]


def test_a_text_fills_one_slot_only():
    draw = Draw(_drawable(), Needs(negatives=(Slot(), Slot(), Slot(), Slot())), 0)
    for epoch in range(20):
        found = draw(epoch, 1).texts["negative"]
        assert sorted(found[:3]) == [f"negative 1-{k}" for k in range(3)] and found[3] is None


def test_slots_take_only_their_kind():
    needs = Needs(negatives=(Slot("swap", (("swap", None),)), Slot("negate", (("negate", None),))))
    for epoch in range(10):
        assert Draw(_drawable(), needs, 0)(epoch, 2).texts["negative"] == ["negative 2-0", None]


def test_hard_images_bring_their_caption_and_negatives():
    draw = Draw(_drawable(), Needs(negatives=(Slot(),), hard_images=True), 0)
    for epoch in range(10):
        sample = draw(epoch, 0)
        assert sample.hard_image in (1, 2)
        assert sample.texts["hard_caption"] == f"caption {sample.hard_image}"
        assert sample.texts["hard_negative"][0].startswith(f"negative {sample.hard_image}-")


def test_hard_images_that_do_not_exist_are_all_named():
    items = [
        item.model_copy(update={"tags": {"hard_images": bad}})
        for item, bad in zip(_drawable()[:3], ['["nobody"]', "no json", '["i0"]'], strict=True)
    ]
    with pytest.raises(UserError, match=r"2 problems(.|\n)*i0.*nobody(.|\n)*i1.*JSON list"):
        Draw(items, Needs(hard_images=True), 0)


def test_dense_captions_come_from_all_items_of_the_image():
    draw = Draw(_drawable(), Needs(dense=5, dense_negatives=True), 0)
    seen = set()
    for epoch in range(40):
        sample = draw(epoch, 0).texts
        assert len(sample["dense"]) == len(sample["dense_negative"]) == 5
        for text, negative in zip(sample["dense"], sample["dense_negative"], strict=True):
            owner = text.split()[1].split("-")[0]
            assert negative.startswith(f"negative {owner}-")
        seen |= set(sample["dense"])
    assert {text.split()[1].split("-")[0] for text in seen} == {"0", "1"}
    assert len(seen) == 10


def test_the_cache_holds_what_fits_and_no_more(tiny_model, tiny_items, tmp_path, monkeypatch):
    items, model = tiny_items(8), tiny_model()
    one = 3 * 16 * 16
    monkeypatch.setattr("equipoise.train.data.batches.CACHE_BYTES", 3 * one)
    data = _data(items, model, tmp_path / "images")
    first = data[0].pixels[0].clone()
    assert len(data._images) == 3
    np.testing.assert_array_equal(data[0].pixels[0], first)


@pytest.mark.parametrize(("crop", "size"), [(None, 16 * 16 * 3), ((0.5, 1.0), 18 * 20 * 3)])
def test_whether_all_images_fit_is_judged_by_what_is_kept(tiny_model, tmp_path, monkeypatch, crop, size):
    for number in range(8):
        Image.new("RGB", (20, 18)).save(tmp_path / f"{number}.png")
    items = [Item(id=str(n), image=ImageRef(path=f"{n}.png"), caption="a cat") for n in range(8)]
    for room, fits in ((8 * size, True), (8 * size - 1, False), (1, False)):
        monkeypatch.setattr("equipoise.train.data.batches.CACHE_BYTES", room)
        assert _data(items, tiny_model(), tmp_path, needs=Needs(), crop=crop).fits_in_memory() == fits


def test_a_full_memory_of_tokens_is_used_and_not_copied(tiny_model, monkeypatch):
    monkeypatch.setattr("equipoise.train.data.batches.KEPT_TEXTS", 2)
    model, batches = tiny_model(), (["a cat", "a dog", "a car"], ["a cup", "a cat", "a cup"], ["a tree", "a dog"])
    texts, asked = TextChunks(model), []
    wanted = [[model.tokenize([text])[0] for text in batch] for batch in batches]
    plain = model.tokenize
    monkeypatch.setattr(model, "tokenize", lambda new: asked.append(list(new)) or plain(new))
    memory = texts._known
    assert [texts._ids(batch) for batch in batches] == wanted
    assert asked == [["a cat", "a dog", "a car"], ["a cup", "a cup"], ["a tree"]]
    assert texts._known is memory and set(memory) == {"a cat", "a dog", "a car"}


def test_parts_may_share_paths_and_ids(tiny_model, tiny_items, tmp_path):
    """Two sources each have a 000.png and an item-0: neither takes the other's photo or hard image."""
    items = [item.model_copy(update={"tags": {"hard_images": '["item-0"]'}}) for item in tiny_items(6)]
    other = tmp_path / "other"
    other.mkdir()
    for item in items:
        Image.new("RGB", (16, 16), "red").save(other / item.image.path)
    parts = [Part(items, FolderImages(tmp_path / "images")), Part(items, FolderImages(other))]
    model, needs = tiny_model(), Needs(hard_images=True, distinct_images=True)
    recipe = Recipe(terms={}, needs=needs, batch_size=12, epochs=1)
    data = TrainingData(parts, recipe, model.preprocess, TextChunks(model))
    batch = data[0]
    assert len(batch.ids) == 12 and len(batch.pixels[0]) == 12, "none of them is the same photo"
    red = [bool((pixels == batch.pixels[0].new_tensor([255, 0, 0])).all()) for pixels in batch.pixels[0]]
    assert sum(red) == 6
    for image, hard in zip(batch.fields["image"].tolist(), batch.fields["hard_image"].tolist(), strict=True):
        assert red[image] == red[hard], "a hard image is one of the same part"
