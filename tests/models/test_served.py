"""`served:MODEL@URL` against a server that gets wrong what real ones do."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from PIL import Image
from tests.models.fake_vision import Reply, Vision, asked_about, captions_of, says, share_of, yes_no
from typer.testing import CliRunner

from equipoise.cli import app
from equipoise.core.errors import UserError
from equipoise.data.items import ImageRef, Item, texts, write_items
from equipoise.embedding.cache import EmbeddingCache
from equipoise.evaluation.run import evaluate
from equipoise.models import load_model, served

Make = Callable[[Callable[[str, dict[str, Any]], Reply | None]], Vision]


@pytest.fixture
def serve(monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.setenv("OPENAI_API_KEY", "secret-key")
    begun: list[Vision] = []

    def make(reply: Callable[[str, dict[str, Any]], Reply | None]) -> Vision:
        begun.append(Vision(reply))
        return begun[-1]

    yield make
    for one in begun:
        one.close()


def _yes(prompt: str, body: dict[str, Any]) -> Reply:
    return 200, yes_no(share_of(asked_about(prompt)))


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    folder = tmp_path / "photos"
    folder.mkdir()
    for number in range(20):
        Image.new("RGB", (8, 8), (10 * number, 0, 50)).save(folder / f"{number}.png")
    return folder


def _items(count: int, negatives: int = 3) -> list[Item]:
    return [
        Item(
            id=str(number),
            image=ImageRef(path=f"{number % 20}.png"),
            caption=f"caption {number}",
            negatives=texts(*(f"negative {number} {place}" for place in range(negatives))),
            tags={},
        )
        for number in range(count)
    ]


def _spec(server: Vision, *options: str) -> str:
    return f"served:tiny@{server.url}" + (f"?{'&'.join(options)}" if options else "")


def _scores(server: Vision, *options: str) -> str:
    return _spec(server, "ask=yes", *options)


# ---------------------------------------------------------------------------- yes


def test_yes_is_summed_over_spellings_and_normalised(serve: Make, photos: Path) -> None:
    server = serve(_yes)
    model = load_model(_scores(server))
    found = evaluate(model, _items(10), images=photos)
    for row in found.rows:
        wanted = share_of(f"caption {row.id}")
        assert row.caption == pytest.approx(wanted, abs=1e-9)
    assert found.record.counts["pairs"] == 40 and server.requests == 41  # one to see what the server can do
    assert server.keys == {"Bearer secret-key"}
    assert found.record.model.model_extra is not None and found.record.model.model_extra["ask"] == "yes"


@pytest.mark.parametrize("ask", ["yes", "answers"])
def test_a_photo_is_encoded_once_for_all_its_texts(
    ask: str, serve: Make, photos: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = load_model(_spec(serve(_yes if ask == "yes" else _likes("caption")), f"ask={ask}"))
    encoded, plain = [], served._encoded
    monkeypatch.setattr(served, "_encoded", lambda image: encoded.append(image) or plain(image))
    evaluate(model, _items(10), images=photos)
    assert len(encoded) == 10


def test_a_second_run_asks_nothing(serve: Make, photos: Path, tmp_path: Path) -> None:
    server = serve(_yes)
    first = evaluate(load_model(_scores(server)), _items(10), images=photos, cache=EmbeddingCache(tmp_path / "cache"))
    before = server.requests
    (tmp_path / "cache" / "embeddings.sqlite").unlink()  # what the server said is kept by itself
    again = evaluate(load_model(_scores(server)), _items(10), images=photos, cache=EmbeddingCache(tmp_path / "cache"))
    assert server.requests == before + 1
    assert again.rows == first.rows


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["yes", "answers"])
def test_another_server_under_the_same_name_is_another_model(
    ask: str, serve: Make, photos: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A base and its finetuned child behind two servers, both called tiny."""

    def asked(server: Vision, out: str | None = None) -> Any:
        caplog.clear()
        cache = EmbeddingCache(tmp_path / "cache")
        where = tmp_path / out if out else None
        return evaluate(load_model(_spec(server, f"ask={ask}")), _items(10), images=photos, cache=cache, out=where)

    if ask == "yes":
        base, child = serve(_yes), serve(lambda prompt, body: (200, yes_no(1 - share_of(asked_about(prompt)))))
    else:
        base, child = serve(_likes("caption")), serve(_likes("negative"))
    first = asked(base, "run")
    assert "read from cache" not in caplog.text
    with pytest.raises(UserError, match="model digest: there"):
        asked(child, "run")
    assert asked(child).rows != first.rows and "read from cache" not in caplog.text
    again = asked(base)
    wanted = 40 if ask == "yes" else 60  # every pair, or both orders of every duel
    assert again.rows == first.rows and f"{wanted} of {wanted} answers read from cache" in caplog.text


def test_neither_yes_nor_no(serve: Make, photos: Path) -> None:
    top = [{"token": "Perhaps", "logprob": -0.1}]
    answer = says("Perhaps")
    answer["choices"][0]["logprobs"] = {"content": [{"token": "Perhaps", "logprob": -0.1, "top_logprobs": top}]}
    server = serve(lambda prompt, body: (200, answer))
    with pytest.raises(UserError, match=r"answers neither yes nor no.*'Perhaps'.*Leave out .ask=yes"):
        evaluate(load_model(_scores(server)), _items(10), images=photos)


# ---------------------------------------------------------------------------- answers


def _likes(good: str) -> Callable[[str, dict[str, Any]], Reply]:
    """Chooses the text that begins with `good`; without one among two, whatever came first."""

    def reply(prompt: str, body: dict[str, Any]) -> Reply:
        first, second = captions_of(prompt)
        chosen = "B" if second.startswith(good) and not first.startswith(good) else "A"
        return 200, says(f"Answer: {chosen}" if chosen == "A" else "B.")

    return reply


def test_answers_in_both_orders_word_for_word(serve: Make, photos: Path) -> None:
    server = serve(_likes("caption"))
    found = evaluate(load_model(_spec(server)), _items(5), images=photos)
    assert found.numbers["original"] == 1.0 and found.numbers["order_flips"] == 0.0
    assert server.requests == 5 * 3 * 2  # and none to see what the server can do
    assert {answer.said for row in found.rows for answer in row.answers} == {"Answer: A", "B."}
    assert found.numbers["first_option"] == 0.5 and found.record.settings.ask == "wordings,orders"


@pytest.mark.slow
def test_position_bias_is_order_flips(serve: Make, photos: Path, tmp_path: Path) -> None:
    server = serve(_likes("nothing"))  # always the first
    write_items(tmp_path / "own.jsonl", _items(5))
    arguments = ["eval", "--skip-preflight", _spec(server), "--bench", str(tmp_path / "own.jsonl"), "--images"]
    found = CliRunner().invoke(app, [*arguments, str(photos), "--cache", str(tmp_path / "c"), "--json"])
    assert found.exit_code == 0, found.output
    scored = evaluate(load_model(_spec(server)), _items(5), images=photos)
    assert scored.numbers["original"] == 0.0 and scored.numbers["order_flips"] == 1.0
    assert scored.numbers["accuracy"] == 0.5


def test_brittleness_by_answers(serve: Make, photos: Path) -> None:
    """A model that likes the captions and dislikes the hard positives."""

    def reply(prompt: str, body: dict[str, Any]) -> Reply:
        first, second = captions_of(prompt)
        rank = {"caption": 2, "negative": 1, "positive": 0}
        return 200, says("A" if rank[first.split()[0]] > rank[second.split()[0]] else "B")

    items = [item.model_copy(update={"positives": texts(f"positive {item.id}")}) for item in _items(5)]
    numbers = evaluate(load_model(_spec(serve(reply))), items, images=photos).numbers
    assert (numbers["original"], numbers["augmented"], numbers["brittleness"]) == (1.0, 0.0, 1.0)
    assert numbers["wording_flips"] == 1.0


def test_names_no_option(serve: Make, photos: Path) -> None:
    server = serve(lambda prompt, body: (200, says("It depends.")))
    with pytest.raises(UserError, match=r"names no option: none of its first 20 answers .*'It depends.'"):
        evaluate(load_model(_spec(server)), _items(5), images=photos)
    few = evaluate(load_model(_spec(server)), _items(2), images=photos)
    assert few.numbers["refusals"] == 1.0 and few.numbers["original"] == 0.0


def test_a_dry_run_names_the_number_of_requests_and_a_batch_brings_the_answers(
    serve: Make, photos: Path, tmp_path: Path
) -> None:
    server = serve(_likes("caption"))
    items = [item.model_copy(update={"positives": texts(f"caption {item.id} again")}) for item in _items(6, 1)]
    write_items(tmp_path / "own.jsonl", items)
    arguments = ["eval", _spec(server), "--bench", str(tmp_path / "own.jsonl"), "--images", str(photos)]
    arguments += ["--cache", str(tmp_path / "c"), "--ask", "wordings,orders,prompts:3,repeats:2"]
    plan = CliRunner().invoke(app, [*arguments, "--dry-run", "--json", "--price", "2.5,10"])
    wanted = json.loads(plan.output)
    assert server.requests == 0 and wanted["total"] == 12 + 6 * (4 + 2 + 1) and wanted["dollars"] > 0
    batch = CliRunner().invoke(app, [*arguments, "--batch-out", str(tmp_path / "batch")])
    assert batch.exit_code == 0 and server.requests == 0
    lines = [json.loads(line) for line in (tmp_path / "batch" / "batch-000.jsonl").read_text().splitlines()]
    assert len(lines) == 6 * 7
    reply = _likes("caption")
    done = [
        {
            "custom_id": line["custom_id"],
            "response": {"status_code": 200, "body": reply(line["body"]["messages"][0]["content"][-1]["text"], {})[1]},
        }
        for line in lines
    ]
    (tmp_path / "half.jsonl").write_text("".join(json.dumps(line) + "\n" for line in done[:20]))
    half = CliRunner().invoke(app, [*arguments, "--batch-in", str(tmp_path / "half.jsonl")])
    assert isinstance(half.exception, UserError) and "22 questions have no answer yet" in str(half.exception)
    rest = CliRunner().invoke(app, [*arguments, "--batch-out", str(tmp_path / "rest")])
    assert rest.exit_code == 0 and len((tmp_path / "rest" / "batch-000.jsonl").read_text().splitlines()) == 22
    (tmp_path / "all.jsonl").write_text("".join(json.dumps(line) + "\n" for line in done))
    whole = CliRunner().invoke(app, [*arguments, "--batch-in", str(tmp_path / "all.jsonl")])
    assert whole.exit_code == 0 and server.requests == 0
    live = CliRunner().invoke(app, [*arguments[:-3], str(tmp_path / "other"), *arguments[-2:], "--out", str(tmp_path)])
    assert live.exit_code == 0 and server.requests == wanted["total"]


# ---------------------------------------------------------------------------- what goes wrong


def test_a_server_that_is_down_and_a_wrong_key_end_in_a_sentence(
    serve: Make, photos: Path, tmp_path: Path, command_line: Callable[..., tuple[int, str, str]]
) -> None:
    write_items(tmp_path / "own.jsonl", _items(3))

    def asked(spec: str) -> tuple[int, str, str]:
        files = ("--bench", str(tmp_path / "own.jsonl"), "--images", str(photos), "--cache", str(tmp_path / "c"))
        return command_line("eval", spec, "--skip-preflight", *files)

    code, _, error = asked("served:tiny@http://127.0.0.1:9/v1?tries=1")
    assert code == 2 and "1 tries failed" in error
    server = serve(lambda prompt, body: (401, {"error": {"message": "wrong key secret-key"}}))
    code, _, error = asked(_spec(server))
    assert code == 2 and "Put the server's key into $OPENAI_API_KEY" in " ".join(error.split())
    assert "secret-key" not in error


def test_an_endpoint_that_dies_keeps_what_was_answered(serve: Make, photos: Path, tmp_path: Path) -> None:
    alive = {"count": 60}

    def reply(prompt: str, body: dict[str, Any]) -> Reply:
        alive["count"] -= 1
        return _yes(prompt, body) if alive["count"] > 0 else (500, b"gone")

    server = serve(reply)
    cache = EmbeddingCache(tmp_path / "cache")
    with pytest.raises(UserError, match="The answers so far are kept"):
        evaluate(load_model(_scores(server, "tries=1", "concurrency=4")), _items(30), images=photos, cache=cache)
    answered = len(server.answered)
    alive["count"] = 10_000
    evaluate(load_model(_scores(server, "tries=1", "concurrency=4")), _items(30), images=photos, cache=cache)
    assert len(server.answered) == 121 and answered >= 55
    assert [count for name, count in server.answered.items() if "red square" not in name[0]] == [1] * 120


def test_the_budget_holds_over_runs(serve: Make, photos: Path, tmp_path: Path) -> None:
    server = serve(_yes)
    for _ in range(2):
        with pytest.raises(UserError, match="the budget of 50 requests to tiny is spent"):
            model = load_model(_scores(server, "budget=50"))
            evaluate(model, _items(30), images=photos, cache=EmbeddingCache(tmp_path / "cache"))
    assert server.requests <= 51  # the second run's greeting is sent before it knows where the count is kept
    model = load_model(_scores(server, "budget=200"))
    evaluate(model, _items(30), images=photos, cache=EmbeddingCache(tmp_path / "cache"))
    assert max(server.answered.values()) <= 3 and len(server.answered) == 121


@pytest.mark.parametrize(
    ("spec", "said"),
    [
        ("served:gpt", "served:MODEL@URL"),
        ("served:m@http://u:p@host/v1", "a password in the address"),
        ("served:m@http://host/v1?retries=3", "no option 'retries'"),
        ("served:m@http://host/v1?budget=many", "budget: expected a number above 0"),
        ("served:m@http://host/v1?ask=loud", "ask=loud is not known; use yes or answers"),
    ],
)
def test_a_spec_that_is_none(spec: str, said: str) -> None:
    with pytest.raises(UserError) as caught:
        load_model(spec)
    assert said in str(caught.value)


@pytest.mark.parametrize(
    "option",
    ["key=sk-PASTED99", "api_key=sk-PASTED99", "key=PASTED99", "key=sk-PASTED99&budget=x", "budget=sk-PASTED99"],
)
def test_a_key_in_the_spec_is_neither_kept_nor_shown(serve: Make, photos: Path, tmp_path: Path, option: str) -> None:
    server = serve(_yes)
    write_items(tmp_path / "own.jsonl", _items(3))
    arguments = ["eval", _spec(server, option), "--bench", str(tmp_path / "own.jsonl"), "--images", str(photos)]
    done = CliRunner().invoke(app, [*arguments, "--out", str(tmp_path / "run"), "--cache", str(tmp_path / "c")])
    assert isinstance(done.exception, UserError) and not server.requests
    assert "PASTED99" not in f"{done.output}{done.exception}"
    assert not any(b"PASTED99" in path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())


def _storm(serve: Make, photos: Path, tmp_path: Path, count: int, budget: int, ask: str) -> None:
    """5% errors, 2% time-outs, a kill in the middle: every request once, none lost, the budget kept."""
    rng = random.Random(0)
    failed: Counter[str] = Counter()
    errors = [(500, b"oops"), (429, b"slow down"), (503, b""), (200, b'{"choices": [{"mess')]
    answer = _yes if ask == "yes" else _likes("caption")

    def reply(prompt: str, body: dict[str, Any]) -> Reply | None:
        drawn = rng.random()
        if drawn < 0.05:
            error = rng.choice(errors)
            failed[str(error[0])] += 1
            return error
        if drawn < 0.07:
            failed["time-out"] += 1
            return None
        return answer(prompt, body)

    server = serve(reply)
    server.hang = 2.5
    items = _items(count // 4, 3 if ask == "yes" else 2)  # four pairs, or two duels in two orders
    write_items(tmp_path / "own.jsonl", items)
    options = ["timeout=2", f"budget={budget}", "concurrency=16", "tries=12"]
    arguments = [
        "eval",
        "--skip-preflight",
        _spec(server, f"ask={ask}", *options),
        "--bench",
        str(tmp_path / "own.jsonl"),
        "--images",
        str(photos),
    ]
    arguments += ["--cache", str(tmp_path / "cache"), "--out", str(tmp_path / "out")]
    code = f"import sys; sys.argv = ['equipoise', *{arguments!r}]; from equipoise.cli import main; main()"
    killed = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
    while len(server.answered) < count // 2:
        assert killed.poll() is None, "ended before it could be killed"
        time.sleep(0.01)
    os.kill(killed.pid, signal.SIGKILL)
    killed.wait()
    time.sleep(0.2)
    at_kill = len(server.answered)
    assert at_kill < count
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=1500)
    assert done.returncode == 0, done.stderr
    rows = [json.loads(line) for line in (tmp_path / "out" / "own" / "items.jsonl").read_text().splitlines()]
    assert len(rows) == len(items)
    for row, item in zip(rows, items, strict=True):
        if ask == "yes":
            scores = [row["caption"], *row["negatives"]]
            assert scores == pytest.approx([share_of(text) for text in item.texts()], abs=1e-9)
        else:
            assert [answer["right"] for answer in row["answers"]] == [True] * 4
    pairs = {name: times for name, times in server.answered.items() if "red square" not in name[0]}
    assert len(pairs) == count
    # An answer that was on its way to the killed process is the one thing that must be asked for again.
    twice = sum(times > 1 for times in pairs.values())
    assert twice <= 16 and max(pairs.values()) <= 2
    assert server.requests <= budget
    print(f"{count} questions, {server.requests} requests (budget {budget}), {twice} asked twice, {failed} failed")


@pytest.mark.slow
@pytest.mark.parametrize("ask", ["yes", "answers"])
def test_a_storm_and_a_kill(serve: Make, photos: Path, tmp_path: Path, ask: str) -> None:
    _storm(serve, photos, tmp_path, 200, 300, ask)


@pytest.mark.slow
@pytest.mark.faults  # minutes
def test_ten_thousand_questions_in_a_storm(serve: Make, photos: Path, tmp_path: Path) -> None:
    _storm(serve, photos, tmp_path, 10_000, 12_000, "answers")
