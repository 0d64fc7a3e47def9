"""Command lines that are refused with exit code 2 and without a traceback."""

from __future__ import annotations

import os
import pickle
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.cli.commands import EVAL, Run, refused


def test_broken_json_in_line_7(run: Run, photos: Path, tmp_path: Path) -> None:
    lines = (tmp_path / "items.jsonl").read_text().splitlines()
    lines[6] = lines[6][:40]
    lines[8] = lines[8].replace('"caption": "a cat 8"', '"caption": 8')
    (tmp_path / "items.jsonl").write_text("\n".join(lines))
    refused(run(*EVAL), "items.jsonl: 2 problems", "line 7: not JSON", "line 9: caption:", "found 8")


def test_unknown_benchmark(run: Run, photos: Path) -> None:
    refused(run("eval", "py:mine:Model", "--bench", "sugarcrep", "--images", "photos"), "Did you mean sugarcrepe")


def test_missing_images(run: Run, photos: Path) -> None:
    for index in range(6):
        (photos / f"{index}.png").unlink()
    refused(run(*EVAL), "6 of 6 images are missing", "0.png", "4.png", "and 1 more", "--allow-missing")


def test_a_truncated_jpeg(run: Run, photos: Path) -> None:
    Image.open(photos / "0.png").resize((200, 200)).save(photos / "whole.jpg")
    (photos / "0.png").write_bytes((photos / "whole.jpg").read_bytes()[:-600])
    refused(run(*EVAL), "0.png: corrupt", "--allow-missing")
    code, out, _ = run(*EVAL, "--allow-missing")
    assert code == 0 and out.count("warning: 2 of 12 items were NOT scored") == 1


def test_a_huge_header(run: Run, photos: Path) -> None:
    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    header = struct.pack(">IIBBBBB", 20_000, 20_000, 8, 2, 0, 0, 0)
    data = b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(b"\0" * 100))
    (photos / "0.png").write_bytes(data)
    refused(run(*EVAL), "0.png:", "pixels are refused")


def test_a_path_that_leaves(run: Run, photos: Path, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    path.write_text(path.read_text().replace('"0.png"', '"../items.jsonl"'))
    refused(run(*EVAL), "line 1: image.path: expected a path below the image folder", "line 7: image.path")


def test_a_pickle_that_would_run_code(run: Run, photos: Path, tmp_path: Path) -> None:
    canary = tmp_path / "canary"

    class Attack:
        def __reduce__(self) -> Any:
            return Path.touch, (canary,)

    (tmp_path / "bad.pt").write_bytes(pickle.dumps({"state_dict": Attack()}))
    for spec in ("checkpoint:bad.pt?act=gelu", "paper:negclip@bad.pt"):
        refused(run("eval", spec, *EVAL[2:]), "bad.pt")
        assert not canary.exists()


def test_a_checkpoint_without_activation(run: Run, photos: Path, tmp_path: Path) -> None:
    import torch

    torch.save({"state_dict": {"visual.conv1.weight": torch.zeros(64, 3, 16, 16)}}, tmp_path / "plain.pt")
    refused(run("eval", "checkpoint:plain.pt", *EVAL[2:]), "act=quickgelu", "act=gelu")


def test_an_empty_file(run: Run, photos: Path, tmp_path: Path) -> None:
    (tmp_path / "items.jsonl").write_text("")
    refused(run(*EVAL), "holds no items")
    (tmp_path / "scores.jsonl").write_text("")
    refused(run("metrics", "scores.jsonl"), "holds no scores")


def test_a_result_from_the_future(run: Run, photos: Path, tmp_path: Path) -> None:
    run(*EVAL, "--out", "run")
    path = tmp_path / "run" / "items" / "result.json"
    path.write_text(path.read_text().replace('"schema": 5', '"schema": 7'))
    refused(run("compare", "run", "run"), "schema 7", "another version of equipoise", "Upgrade")
    refused(run(*EVAL, "--out", "run"), "schema 7")


def test_another_run_is_not_overwritten(run: Run, photos: Path) -> None:
    run(*EVAL, "--out", "run")
    refused(run(*EVAL, "--limit", "3", "--out", "run"), "holds another run")


@pytest.mark.slow
def test_a_tokenizer_that_does_not_fit(run: Run, photos: Path, tmp_path: Path) -> None:
    import torch
    from transformers import CLIPConfig, CLIPModel

    from equipoise.models.clip import ClipModel
    from equipoise.models.inputs import clip_preprocess, clip_tokenizer

    small = {"hidden_size": 64, "intermediate_size": 64, "num_attention_heads": 1, "num_hidden_layers": 1}
    vision = {**small, "image_size": 32, "patch_size": 16}
    torch.manual_seed(0)

    def network(words: int) -> Any:
        return CLIPModel(CLIPConfig(text_config={**small, "vocab_size": words}, vision_config=vision, projection_dim=8))

    model = ClipModel("test", network(49408), clip_tokenizer(), clip_preprocess(32), device="cpu")
    model.save(tmp_path / "model")
    code, out, _ = run("eval", "hf:model", *EVAL[2:])
    assert code == 0 and "hf:model" in out
    network(1000).save_pretrained(tmp_path / "model")
    refused(run("eval", "hf:model", *EVAL[2:]), "tokenizer")


def test_a_full_disk(run: Run, photos: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    monkeypatch.setattr("tempfile.mkstemp", lambda **_: (os.open("/dev/full", os.O_WRONLY), str(tmp_path / "part")))
    refused(run(*EVAL, "--out", "run"), "No space left on device", "nothing was changed")
    assert not (tmp_path / "run" / "items" / "result.json").exists()


def test_bench_build_overwrites_no_other_file(run: Run, photos: Path, tmp_path: Path) -> None:
    build = ("bench", "build", "items.jsonl", "--out")
    for name in ("thesis.jsonl", "thesis.parquet"):
        (tmp_path / name).write_text("mine\n")
        refused(run(*build, name), f"{name}: it is already there", "Choose another --out, or delete this file")
        assert (tmp_path / name).read_text() == "mine\n"
    for name in ("new.jsonl", "new.parquet"):
        assert "wrote 12 items" in run(*build, name)[1]
        assert "already holds these 12 items" in run(*build, name)[1]
    (tmp_path / "short.csv").write_text("id,caption,negative\n1,a cat,a dog\n")
    refused(run("bench", "build", "short.csv", "--out", "new.jsonl"), "nothing is overwritten")
    os.mkfifo(tmp_path / "pipe.jsonl")
    refused(run(*build, "pipe.jsonl"), "a pipe, not a plain file")


def test_metrics_of_a_run_folder_names_its_scores(run: Run, photos: Path) -> None:
    assert run(*EVAL, "--out", "run")[0] == 0
    refused(run("metrics", "run"), "a run folder; its scores: equipoise metrics run/items/items.jsonl")


def test_two_evaluations_at_once(run: Run, photos: Path, tmp_path: Path) -> None:
    from equipoise.core.run_folder import locked

    with locked(tmp_path / "run" / "items"):
        refused(run(*EVAL, "--out", "run", "--seed", "3"), "another run is writing here")


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("eval", "nonsense", *EVAL[2:]), "not a model spec"),
        (("eval", "py:mine:Nothing", *EVAL[2:]), "Nothing"),
        (("eval", "hf:absent-folder/x", *EVAL[2:]), "absent-folder/x"),
        (("eval", "py:mine:Model", "--bench", "items.jsonl"), "--images"),
        (("eval", "py:mine:Model", "--bench", "items.jsonl", "--images", "absent"), "absent"),
        (("eval", "py:mine:Model", "--bench", "absent.jsonl", "--images", "photos"), "absent.jsonl"),
        ((*EVAL, "--format", "pdf"), "expected one of text"),
        ((*EVAL, "--batch-size", "0"), "batch-size"),
        ((*EVAL, "--limit", "0"), "--limit"),
        ((*EVAL, "--cache", "x", "--no-cache"), "exclude each other"),
        ((*EVAL, "--limit", "-1"), "--limit"),
        ((*EVAL, "--seed", "-1"), "--seed"),
        (("metrics", "absent.jsonl", "--seed", "-1"), "--seed"),
        (("compare", "one", "two", "--seed", "-1"), "--seed"),
        (("perturb", "captions.txt", "--seed", "-1"), "--seed"),
        (("eval", "py:mine:Model", "--bench", "", "--images", "photos"), "names no benchmark"),
        (("eval", "py:mine:Model", "--bench", " , ", "--images", "photos"), "names no benchmark"),
        (("metrics", "absent.jsonl"), "no such file"),
        (("compare", "one"), "two runs"),
        (("bench", "build", "replace", "--out", "x.jsonl"), "--source"),
        (("bench", "build", "replace-clean", "--out", "x.jsonl"), "--source"),
        (("bench", "build", "items.jsonl", "--out", "x.csv"), ".jsonl or .parquet"),
        (("train", "hn_only"), "--items"),
        (("train", "hn_onl"), "Did you mean hn_only"),
        (("perturb", "itmes.jsonl", "--out", "o.jsonl"), "Did you mean items.jsonl?"),
        (("train", "balanced"), "balanced is a recipe of `equipoise perturb`"),
        (("perturb", "items.jsonl", "--recipe", "balancd", "--out", "o.jsonl"), "'balancd'. Did you mean balanced?"),
        (("eval", "items.jsonl", "--bench", "world"), "not a model: equipoise eval MODEL --bench items.jsonl"),
        (("eval", "photos/0.png", *EVAL[2:]), "checkpoint:photos/0.png?act="),
        (("eval", "py:mine:Model", "--bench", "itmes.jsonl", "--images", "photos"), "Did you mean items.jsonl?"),
        (("eval", "py:mine:Model", "--bench", "sugarcrepe", "--images", "photos"), "with --source. `equipoise bench"),
        (("eval", "py:mine:Model", "--bench", "winoground", "--images", "photos"), "--source"),
        (("train", "--quick"), "train needs a recipe"),
        (("train", "py:absent:recipe"), "absent"),
        (("evaluate",), "No such command"),
    ],
)
def test_other_slips(
    arguments: tuple[str, ...], part: str, run: Run, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    refused(run(*arguments), part)
