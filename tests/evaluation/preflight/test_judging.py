"""Checks are made once, belong to a model's identity, stop `eval`, and are part of what it writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests.evaluation.preflight.planted import Loader
from tests.models.fake_vision import Vision, asked_about, says, share_of, yes_no
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import Unreachable
from equipoise.core.progress import STATUS
from equipoise.evaluation.preflight import judging
from equipoise.evaluation.preflight.judging import checked
from equipoise.evaluation.record import Check
from equipoise.models import load_model
from equipoise.world.splits import make_world

SOURCE = """
import numpy as np
from tests.evaluation.preflight.planted import Loader
from tests.models.fake_vision import Vision, asked_about, says, share_of, yes_no
from tests.evaluation.preflight.test_planted import IgnoresExif
class Right(Loader):
    card = {"digest": "right"}
class Suspicious(IgnoresExif):
    card = {"digest": "suspicious"}
class Down(Loader):
    def embed_images(self, images):
        try:
            raise ConnectionRefusedError(111, "Connection refused")
        except OSError as error:
            raise RuntimeError("my client gave up\\nafter 3 tries") from error
class Constant(Loader):
    card = {"digest": "constant"}
    def embed_images(self, images):
        return np.ones((len(images), 128))
"""


@pytest.fixture
def world(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    (tmp_path / "planted_models.py").write_text(SOURCE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("EQUIPOISE_CACHE", str(tmp_path / "cache"))
    file = make_world(6, 0, tmp_path / "world", "test")
    return ["--bench", str(file), "--images", str(tmp_path / "world")]


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.mark.slow
def test_the_second_time_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    made = judging.preflight
    monkeypatch.setattr(judging, "preflight", lambda *args: asked.append(1) or made(*args))
    model = Loader()
    # Without a digest it is known by all that its code reaches, also by what other tests change in libraries meanwhile.
    model.card = {"digest": "mine"}  # type: ignore[attr-defined]
    first = checked(model, "py:a:b", tmp_path)
    assert checked(model, "py:a:b", tmp_path) == first and len(asked) == 1
    assert checked(model, "py:a:b", None) == first and len(asked) == 2, "--no-cache keeps nothing"
    (file,) = (tmp_path / "preflight").iterdir()
    file.write_text("{")
    assert checked(model, "py:a:b", tmp_path) == first and len(asked) == 3, "a damaged file is made again"


@pytest.mark.slow
def test_the_twelfth_bug_embeddings_of_other_weights(tmp_path: Path) -> None:
    """A digest that somebody wrote by hand, and forgot when the weights changed."""

    class Finetuned(Loader):
        def __init__(self) -> None:
            super().__init__()
            self.card, self.turn = {"digest": "mine, version 1"}, np.eye(128, dtype=np.float32)

        def embed_texts(self, texts: Any) -> Any:
            return super().embed_texts(texts) @ self.turn

    model = Finetuned()
    assert not checked(model, "py:a:b", tmp_path).wrong  # type: ignore[union-attr]
    model.turn = np.roll(model.turn, 1, axis=0)
    found = checked(model, "py:a:b", tmp_path)
    assert [one.name for one in found.wrong] == ["identity"]  # type: ignore[union-attr]
    model.card = {"digest": "mine, version 2"}
    assert not checked(model, "py:a:b", tmp_path).wrong  # type: ignore[union-attr]


def test_a_model_with_nan_has_the_same_verdict_twice(tmp_path: Path) -> None:
    class Broken(Loader):
        card: Any = {"digest": "nan"}  # noqa: RUF012

        def embed_images(self, images: Any) -> Any:
            rows = super().embed_images(images)
            rows[:, 0] = np.nan
            return rows

    first = checked(Broken(), "py:a:b", tmp_path)
    assert [one.name for one in first.wrong] == ["finite"]  # type: ignore[union-attr]
    assert checked(Broken(), "py:a:b", tmp_path) == first


@pytest.mark.parametrize("command", ["doctor", "eval"])
def test_a_server_that_is_down_is_bad_input_and_no_verdict(command: str, world: list[str]) -> None:
    found = run(command, "py:planted_models:Down", *(world if command == "eval" else []))
    assert type(found.exception) is Unreachable and str(found.exception).count("\n") == 0
    assert "Connection refused" in str(found.exception)


def test_eval_stops_where_something_is_wrong(world: list[str], tmp_path: Path) -> None:
    found = run("eval", "py:planted_models:Constant", *world, "--out", "runs")
    assert found.exit_code == 1 and not found.stdout, "nothing was scored"
    assert "wrong       collapse" in found.stderr and "fix: " in found.stderr and "--skip-preflight" in found.stderr
    left = [path.name for path in (tmp_path / "runs").rglob("*") if path.is_file()]
    assert left == [STATUS], "the status says that it failed; there is no result"


def test_what_is_skipped_is_said_everywhere(world: list[str], tmp_path: Path) -> None:
    arguments = ["eval", "py:planted_models:Constant", *world, "--skip-preflight"]
    for form in ("--format=text", "--format=md", "--format=latex", "--format=csv", "--json"):
        found = run(*arguments, form, *(["--out", "runs"] if "text" in form else []))
        assert found.exit_code == 0 and "--skip-preflight" in found.stdout, form
    assert "--skip-preflight" in run("report", "runs", "--format", "csv").stdout
    run("report", "runs", "--out", "page.html")
    assert "--skip-preflight" in Path("page.html").read_text()
    run("report", "runs", "--to", "every-eval-ever", "--out", "exported")
    assert any("--skip-preflight" in path.read_text() for path in Path("exported").rglob("*.json"))


def test_what_is_suspicious_is_said_and_kept(world: list[str], tmp_path: Path) -> None:
    found = run("eval", "py:planted_models:Suspicious", *world, "--out", "runs")
    assert found.exit_code == 0 and "1 suspicious (exif rotation)" in found.stderr
    assert "fine, 1 suspicious (exif rotation)" in found.stdout
    (file,) = Path("runs").rglob("result.json")
    checks = json.loads(file.read_text())["preflight"]["checks"]
    assert {one["verdict"] for one in checks} == {"fine", "suspicious"}


def test_doctor(world: list[str]) -> None:
    good = run("doctor", "py:planted_models:Right", "--json")
    found = [Check(**one) for one in json.loads(good.stdout)]
    assert good.exit_code == 0 and all(one.why for one in found) and not any(one.fix for one in found)
    bad = run("doctor", "py:planted_models:Constant")
    assert bad.exit_code == 1 and "wrong       collapse" in bad.stdout and "fix:" in bad.stdout
    assert "1 wrong (collapse); the other checks come after this fix" in bad.stdout
    assert "texts alone" in run("doctor", "blind:length").exception.args[0]


def test_items_that_are_equal_after_the_cut_are_named(world: list[str], tmp_path: Path) -> None:
    file = Path(world[1])
    rows = [json.loads(line) for line in file.read_text().splitlines()]
    long = " and a red car" * 12
    rows[2] |= {
        "caption": f"a fish{long} and a house",
        "positives": [],
        "negatives": [{"text": f"a fish{long} and a key"}],
    }
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = run("eval", "world", *world)
    assert f"1 items tie: the model reads a right text and a negative as the same ({rows[2]['id']})" in found.stdout


@pytest.mark.parametrize(
    ("reply", "options", "wrong"),
    [
        (lambda prompt, _: (200, yes_no(share_of(asked_about(prompt)))), "?ask=yes", "blind"),  # looks at no picture
        (lambda *_: (200, says("I see")), "", "refusals"),
    ],
    ids=["blind", "no option"],
)
def test_a_server_is_asked_few_questions_and_once(
    reply: Any, options: str, wrong: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    server = Vision(reply)
    model: Any = load_model(f"served:toy@{server.url}{options}")
    found = checked(model, model.card["spec"], tmp_path)
    assert found is not None and [one.name for one in found.wrong] == [wrong] and server.requests <= 50
    asked = server.requests
    assert checked(model, model.card["spec"], tmp_path) == found and server.requests == asked
    server.close()
