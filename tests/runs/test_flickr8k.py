"""runs/flickr8k: what is new in a base begins as nothing, rules choose as they are written, intervals are paired."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.runs.conftest import modules_of


@pytest.fixture(scope="module")
def flickr8k() -> Iterator[Any]:
    yield from modules_of("flickr8k")


# ---------------------------------------------------------------------------- parts


@torch.no_grad()
def test_the_averaging_layer_reads_the_mean_of_the_tokens(flickr8k: Any) -> None:
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=50, hidden_size=32, num_hidden_layers=2, num_attention_heads=2, intermediate_size=64,
        max_position_embeddings=16,
    )  # fmt: skip
    config._attn_implementation = "eager"
    tower = BertModel(config).eval()
    ids = torch.tensor([[2, 7, 9, 11, 3], [2, 8, 3, 0, 0]])
    mask = (ids != 0).long()
    states = tower(input_ids=ids, attention_mask=mask).last_hidden_state
    mean = (states * mask[..., None]).sum(1) / mask.sum(1, keepdim=True)
    normed = torch.nn.functional.layer_norm(8 * mean + states[:, 0], (32,))
    whole = flickr8k("parts").averaging(tower).eval()
    read = whole(input_ids=ids, attention_mask=mask).pooler_output
    assert torch.allclose(read, torch.tanh(0.3 * normed), atol=1e-4)
    assert len(tower.encoder.layer) == 2  # the tower that was given stays as it was


@torch.no_grad()
def test_our_block_changes_nothing_before_it_is_trained(flickr8k: Any) -> None:
    from transformers import EfficientNetModel

    parts = flickr8k("parts")
    network = EfficientNetModel(parts.lite2_config(extra=True)).eval()
    parts.begin_block(network, -1)
    assert len(network.encoder.blocks) == sum(parts.REPEATS) + 1
    grid = torch.randn(2, 352, 9, 9)
    assert torch.equal(network.encoder.blocks[-1](grid), grid)
    network.encoder.blocks[-1].projection.project_bn.weight.fill_(1.0)
    assert not torch.equal(network.encoder.blocks[-1](grid), grid)  # there is something inside to be trained


def test_the_whole_photo_is_squeezed_and_a_part_is_drawn_by_name(flickr8k: Any) -> None:
    from PIL import Image

    views = flickr8k("views")
    photo = Image.fromarray(np.random.default_rng(0).integers(0, 255, (128, 192, 3), dtype=np.uint8))
    shown = [np.asarray(views.view(photo, "a.jpg", number)) for number in range(4)]
    assert {one.shape for one in shown} == {(260, 260, 3)}
    assert not np.array_equal(shown[0], shown[1]) and not np.array_equal(shown[2], shown[3])
    assert np.array_equal(shown[2], np.asarray(views.view(photo, "a.jpg", 2)))
    assert not np.array_equal(shown[2], np.asarray(views.view(photo, "b.jpg", 2)))


# ---------------------------------------------------------------------------- bases


def test_every_caption_of_a_photo_is_right_for_it(flickr8k: Any) -> None:
    contrast = flickr8k("base").contrast
    images = torch.eye(3)
    owner = torch.tensor([0, 0, 1, 1, 2, 2])
    right = contrast(images, images[owner], owner, torch.tensor(50.0), 0.0)
    assert right == pytest.approx(np.log(2) / 2, abs=1e-4)  # a photo shares its choice among two captions
    wrong = contrast(images, images[owner.roll(1)], owner, torch.tensor(50.0), 0.0)
    assert wrong > 5


def test_the_second_round_adds_up_what_helped(flickr8k: Any) -> None:
    bases = flickr8k("bases")

    def recalls(value: float) -> dict[str, float]:
        return dict.fromkeys(bases.RECALLS, value)

    found = {"m": recalls(20), "s": recalls(10)}
    found |= {f"m+{name}": recalls(19) for name in bases.CHANGES["minilm"]}
    found |= {"m+wide": recalls(23), "m+text-6e4": recalls(22), "m+text-15e5": recalls(21)}
    more = bases.second_round(found)
    assert [base.name for base in more] == ["m+wide+text-6e4"]  # the other rate would undo the better one
    assert (more[0].embedding, more[0].text_rate) == (512, 6e-4)


# ---------------------------------------------------------------------------- numbers


def test_a_tie_counts_against_the_model(flickr8k: Any) -> None:
    images = np.eye(2)
    captions = np.array([[1.0, 0.0], [0.5, 0.5]])
    to_image, to_text = flickr8k("retrieval").ranks(images, captions, np.array([0, 1]))
    assert to_image.tolist() == [0, 1]
    assert to_text.tolist() == [0, 0]


def test_ours_must_lose_nothing_to_be_chosen(flickr8k: Any) -> None:
    choose = flickr8k("choose")

    def one(recall: float, augmented: float, brittleness: float) -> dict[str, float]:
        kinds = {f"{k}/augmented": augmented for k in choose.KINDS} | {
            f"{k}/brittleness": brittleness for k in choose.KINDS
        }
        return choose.summed([{"found": kinds | dict.fromkeys(choose.RECALLS, recall)}])

    found = {"hp-hn": one(20, 60, 10), "as-is": one(19, 70, 5), "keep": one(19.95, 63, 7), "weak": one(21, 61, 9.5)}
    assert choose.chosen(found, ["as-is", "keep", "weak"]) == "keep"
    del found["keep"]
    assert choose.chosen(found, ["as-is", "weak"]) == "as-is"


def test_one_form_is_chosen_for_both_towers(flickr8k: Any) -> None:
    choose = flickr8k("choose")

    def one(recall: float, composition: float) -> dict[str, float]:
        return {"recall": recall, "composition": composition}

    towers = [
        {"control": one(30, 10), "as-is": one(30, 50), "more": one(29.8, 60), "most": one(29.9, 80)},
        {"control": one(40, 10), "as-is": one(40, 55), "more": one(39.8, 60), "most": one(39.6, 80)},
    ]
    assert choose.chosen_for_both(towers, ["as-is", "more", "most"]) == "more"  # the last loses 0.4 with one tower
    del towers[1]["more"]
    assert choose.chosen_for_both(towers, ["as-is", "more", "most"]) == "as-is"
    del towers[0]["control"]
    assert choose.chosen_for_both(towers, ["most"]) == "as-is"


def test_outcomes_are_those_of_the_package(flickr8k: Any) -> None:
    from equipoise.evaluation.outcomes import outcomes_of
    from equipoise.evaluation.scores import ItemScores

    c, p, n = np.random.default_rng(0).integers(0, 3, (3, 200)).astype(float)  # many ties
    rows = [
        ItemScores(id=str(i), image="a", caption=x, positives=[y], negatives=[z], tags={})
        for i, (x, y, z) in enumerate(zip(c.tolist(), p.tolist(), n.tolist(), strict=True))
    ]
    theirs = outcomes_of(rows)
    for mine, other in zip(
        flickr8k("retrieval").outcomes(c, p, n), (theirs.original, theirs.augmented, theirs.brittle), strict=True
    ):
        assert np.array_equal(mine, other)


# ---------------------------------------------------------------------------- tails


def test_tails_begin_with_the_best_seed_and_learn_from_all(flickr8k: Any) -> None:
    bases = flickr8k("bases")
    own = [base for base in bases.seeds_round() if base.tower == "minilm"]
    assert [base.seed for base in own] == [0, 1, 2, 3, 0] and own[-1].mixed > 0
    assert len({base.name for base in own}) == len(own)
    found = {base.name: dict.fromkeys(bases.RECALLS, float(n == 2)) for n, base in enumerate(own)}
    tails = {base.name.split("+")[-1]: base for base in bases.tails_round(found)}
    assert {base.begin for name, base in tails.items() if name != "again"} == {own[2].name}
    assert tails["low"].text_rate == pytest.approx(0.1 * own[2].text_rate) and tails["control"].text_rate == 5e-5
    assert tails["taught"].teachers == tuple(base.name for base in own)
    assert tails["again"].begin == "" and tails["again"].epochs == own[2].epochs and not tails["low"].teachers


def test_a_teacher_that_agrees_asks_for_nothing(flickr8k: Any) -> None:
    softly = flickr8k("base").softly
    logits = torch.randn(6, 4, requires_grad=True)
    softly(logits, logits.detach()).backward()
    assert logits.grad is not None and torch.allclose(logits.grad, torch.zeros(6, 4), atol=1e-6)
    logits.grad = None
    softly(logits, -logits.detach()).backward()
    assert logits.grad.abs().max() > 0.01


# ---------------------------------------------------------------------------- the queue


def test_ours_waits_for_the_choice_and_negclip_for_its_images(flickr8k: Any, tmp_path: Path) -> None:
    from concurrent.futures import Future

    both = flickr8k("both")
    order: list[Any] = []

    def submit(task: Any) -> Any:
        order.append(task)
        future: Any = Future()
        future.set_result(None)
        return future

    kept = {"options": {"margin": 5.0}, "speed": 1.0}
    chosen_after: list[int] = []
    tasks = both.planned()
    queue = both.Queue(tasks, tmp_path, lambda: chosen_after.append(len(order)) or kept)
    assert len(list(both.run_all(queue, submit, jobs=4))) == len(order) == len(tasks) - 6  # no images were mined
    ours = [(number, task) for number, task in enumerate(order) if task[1] != "fifth" and task[2].recipe == both.OURS]
    assert len(chosen_after) == 1 and all(number >= chosen_after[0] for number, _ in ours)
    assert {task[2].options for _, task in ours} == {(("margin", 5.0),)}
    assert [t[1] for t in order[:4]] == ["fifth"] * 4
    seeds = {(t[0], t[2].name): 0 for t in tasks if t[1] == "final"}
    for task in tasks:
        if task[1] == "final":
            seeds[task[0], task[2].name] += 1
    assert set(seeds.values()) == {1, 3} and seeds["m", "base"] == 1 and len(seeds) == 24
    for tower in "sm":
        (tmp_path / tower).mkdir()
        (tmp_path / tower / "mined.jsonl").touch()
    assert len(list(both.run_all(queue, submit, jobs=4))) == 6


def test_what_dies_with_its_process_is_tried_once_more(flickr8k: Any, tmp_path: Path) -> None:
    from concurrent.futures import Future
    from concurrent.futures.process import BrokenProcessPool

    both = flickr8k("both")
    tried: list[Any] = []

    def submit(task: Any) -> Any:
        tried.append(task)
        future: Any = Future()
        future.set_exception(BrokenProcessPool("killed"))
        return future

    task = next(task for task in both.planned() if task[2].name == "hn")
    assert list(both.run_all(both.Queue([task], tmp_path, dict), submit, jobs=2)) == [task]
    assert tried == [task, task]


# ---------------------------------------------------------------------------- intervals


def kept_scores(rng: Any, right: dict[str, float], photos: int = 100) -> dict[str, Any]:
    """What run.py keeps of a model, drawn; `right`: the share of captions above their negative, of each kind."""
    held: dict[str, Any] = {}
    for kind in ("seen", "unseen", "swap", "type"):
        held[f"{kind}/photo"] = np.repeat(np.arange(photos), 2).astype(np.int16)
        above = np.where(rng.random(2 * photos) < right.get(kind, 0.5), 0.1, -0.1)
        held[f"{kind}/scores"] = np.stack([above, above + 0.01, 0 * above]).astype(np.float32)
    held["captions/photo"] = np.repeat(np.arange(photos), 5).astype(np.int16)
    held |= {"t2i": rng.integers(0, 300, 5 * photos), "i2t": rng.integers(0, 30, photos)}
    ratings = np.arange(3 * photos) % 4 + 1.0
    held |= {"experts/photo": np.repeat(np.arange(photos), 3).astype(np.int16), "experts/ratings": ratings}
    held["experts/scores"] = (ratings + rng.normal(size=len(ratings))).astype(np.float32)
    return held


def results_of(flickr8k: Any, folder: Path) -> Path:
    """A base, control and ours, three seeds: ours is far ahead on seen synonyms, level on all others."""
    write, rng = flickr8k("scores").write_scores, np.random.default_rng(0)
    (folder / "out" / "final").mkdir(parents=True)
    found = {
        f"{kind}/{what}": 1.0 for kind in flickr8k("scores").KINDS for what in ("augmented", "brittleness", "apart")
    }
    found |= {f"{way}@{top}": 1.0 for way in ("t2i", "i2t") for top in (1, 5, 10)} | {"experts": 1.0}
    for name, seeds, right in (("base", 1, {}), ("control", 3, {}), ("ours", 3, {"seen": 0.95})):
        for seed in range(seeds):
            row = {"name": name, "seed": seed, "found": found}
            (folder / "out" / "final" / f"{name}-{seed}.json").write_text(json.dumps(row))
            write(folder / "out" / "scores" / f"{name}-{seed}.npz", kept_scores(rng, right))
    return folder / "out"


def test_the_table_is_what_compare_says_and_bold_is_shown(
    flickr8k: Any, tmp_path: Path, capsys: Any, monkeypatch: Any
) -> None:
    out, kept = results_of(flickr8k, tmp_path), tmp_path / "s.jsonl"
    monkeypatch.setattr("sys.argv", ["keep.py", str(out), "--out", str(kept)])
    flickr8k("keep").main()
    table = flickr8k("table")
    monkeypatch.setattr("sys.argv", ["table.py", str(kept)])
    table.main()
    said = capsys.readouterr().out
    ours = next(line for line in said.splitlines() if line.startswith("| `equipoise_2026` |")).split(" | ")
    assert ours[1] == "**1.0** / 1.0" and ours[2] == ours[3] == "1.0 / 1.0"  # ahead on seen synonyms, level elsewhere
    differences = [line for line in said.splitlines() if line.startswith("| ours - control |")]
    assert "\\*" in differences[0] and not any("\\*" in line for line in differences[1:])
    assert "for all 39 comparisons" in said  # three pairs, thirteen lines each

    tower = table.Tower("s", kept)
    change = table.compare_models(tower.runs("control", "seen"), tower.runs("ours", "seen"))["augmented"]
    assert f"{table.interval(change.model_copy(update={'adjusted': 0.0}))}" in differences[0]
    assert change.seed_error is not None  # seeds are a sample, as photos are
    drawn = [np.load(path)["seen/scores"] for path in sorted((out / "scores").glob("*.npz"))]
    right = [float(((c > n) & (p > n)).mean()) for c, p, n in drawn]  # base, control x 3, ours x 3
    assert change.difference == pytest.approx(np.mean(right[4:]) - np.mean(right[1:4]))

    kept.with_suffix(".npz").unlink()
    table.main()
    said = capsys.readouterr().out
    assert "no item scores, so no intervals" in said and "**" not in said


def test_packed_scores_keep_every_outcome(flickr8k: Any, tmp_path: Path) -> None:
    scores, rng = flickr8k("scores"), np.random.default_rng(1)
    held = kept_scores(rng, {})
    held["seen/scores"] = rng.normal(0.3, 1e-4, held["seen/scores"].shape).astype(np.float32)  # nearly ties
    held["seen/scores"][:, :5] = 0.25  # and ties
    scores.write_scores(tmp_path / "in" / "ours-0.npz", held)
    scores.pack(tmp_path / "in", tmp_path / "s.npz")
    above, rewording = scores.read_scores(tmp_path / "s.npz")["ours-0/seen"].astype(float)
    expected = flickr8k("retrieval").outcomes(*held["seen/scores"])
    found = flickr8k("retrieval").outcomes(above, rewording, np.zeros(len(above)))
    assert all(np.array_equal(one, other) for one, other in zip(found, expected, strict=True))
    other = dict(held) | {"seen/photo": held["seen/photo"][::-1]}
    scores.write_scores(tmp_path / "in" / "ours-1.npz", other)
    with pytest.raises(SystemExit, match="judged on other items"):
        scores.pack(tmp_path / "in", tmp_path / "s.npz")


def test_the_kept_numbers_print_the_tables_again(flickr8k: Any, capsys: Any, monkeypatch: Any) -> None:
    results = Path(__file__).parents[2] / "runs" / "flickr8k" / "results"
    choose, table = flickr8k("choose"), flickr8k("table")
    before = sorted(results.iterdir())
    assert choose.choose([results / "s.jsonl", results / "m.jsonl"])["name"] == "as-is"
    assert sorted(results.iterdir()) == before  # nothing is written beside them
    monkeypatch.setattr("sys.argv", ["table.py", str(results / "s.jsonl")])
    monkeypatch.setattr(table.Tower, "kept", False)  # means alone: all intervals take two minutes
    table.main()
    ours = next(line for line in capsys.readouterr().out.splitlines() if line.startswith("| `equipoise_2026` |"))
    page = (results.parents[2] / "docs" / "appendix" / "flickr8k.md").read_text(encoding="utf-8")
    cells = ours.split(" | ")[1:5]
    row = next(line for line in page.splitlines() if line.startswith("| `equipoise_2026` |"))
    assert cells == row.replace("*", "").split(" | ")[1:5]
