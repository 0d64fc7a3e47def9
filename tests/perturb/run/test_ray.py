"""--engine ray: the same bytes from a local Ray of two workers; skips where Ray is not installed."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from equipoise.core.errors import UserError
from equipoise.core.llm_client import LlmSettings
from equipoise.data.readers.captions.groups import read_captions
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file, read_captions_of, write_captions
from equipoise.perturb.run.shards import Parts, shards_of

HAS_RAY = importlib.util.find_spec("ray") is not None
SETUP = Setup("hard_positives_rules", seed=1)


@pytest.fixture
def captions(tmp_path: Path) -> Path:
    lines = [f"{place // 2}.jpg,a man and a dog number {place} on a big couch" for place in range(60)]
    (tmp_path / "captions.csv").write_text("image,caption\n" + "\n".join([*lines, "9.jpg,"]))
    return tmp_path / "captions.csv"


def test_shards_travel_whole(captions: Path, tmp_path: Path) -> None:
    parts = Parts(tmp_path / "x.jsonl")
    for shard in shards_of(read_captions(captions), 20):
        assert read_captions_of(write_captions(parts, shard)) == shard


@pytest.mark.skipif(HAS_RAY, reason="Ray is installed")
def test_without_ray_the_extra_is_named(captions: Path, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"equipoise\[scale\]"):
        perturb_file(captions, tmp_path / "items.jsonl", SETUP, engine="ray")


@pytest.mark.skipif(not HAS_RAY, reason="needs the extra `scale` (ray)")
def test_two_ray_workers_give_the_same_bytes_and_resume(captions: Path, tmp_path: Path) -> None:
    local, scaled = tmp_path / "local.jsonl", tmp_path / "ray.jsonl"
    perturb_file(captions, local, SETUP, shard=10)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Parts, "join", lambda self, count: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            perturb_file(captions, scaled, SETUP, shard=10, engine="ray", workers=2)
    Parts(scaled)._paths(2)[1].unlink()
    report = perturb_file(captions, scaled, SETUP, shard=10, engine="ray", workers=2)
    assert scaled.read_bytes() == local.read_bytes()
    assert report["captions"] == 61 and report["refused"] == {"empty": 1}
    assert not Parts(scaled).folder.exists()


@pytest.mark.skipif(not HAS_RAY, reason="needs the extra `scale` (ray)")
def test_errors_for_people_come_through_ray(captions: Path, tmp_path: Path) -> None:
    dead = LlmSettings("http://127.0.0.1:9/v1", "tiny", tries=1, concurrency=2)
    with pytest.raises(UserError, match="1 tries failed"):
        perturb_file(
            captions, tmp_path / "x.jsonl", Setup("hard_positives_kamath_2024", llm=dead), engine="ray", workers=2
        )
