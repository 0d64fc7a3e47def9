"""`served:` against a real server, `transformers serve`, with a tiny random vision-language model.

What a random model answers is nothing, which is the point: the pictures arrive, and the server says what the same
model says in process, word for word.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from PIL import Image
from tests.models.scorers.conftest import chat_tokenizer, write_chat

from equipoise.data.items import ImageRef, Item, texts
from equipoise.evaluation.asking.variants import Ask
from equipoise.evaluation.run import evaluate
from equipoise.models import load_model


@pytest.mark.slow
def test_transformers_serve(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from transformers.utils.import_utils import is_serve_available

    if not is_serve_available():
        pytest.skip("needs transformers' server: pip install fastapi uvicorn openai")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    folder = write_chat(tmp_path / "tiny", chat_tokenizer())
    port = 20_000 + os.getpid() % 20_000
    command = [sys.executable, "-m", "transformers.cli.transformers", "serve", str(folder)]
    command += ["--host", "127.0.0.1", "--port", str(port), "--device", "cpu", "--dtype", "float32"]
    with (tmp_path / "server.log").open("w") as said:
        server = subprocess.Popen(command, stdout=said, stderr=said, env=os.environ | {"HF_HUB_OFFLINE": "1"})
    try:
        until = time.monotonic() + 300
        while not _up(f"http://127.0.0.1:{port}/health") and time.monotonic() < until:
            assert server.poll() is None, (tmp_path / "server.log").read_text()
            time.sleep(1)
        items = []
        for number in range(3):
            Image.new("RGB", (40, 40), (60 * number, 0, 99)).save(tmp_path / f"{number}.jpg", quality=95)
            image = ImageRef(path=f"{number}.jpg")  # as the server gets it
            items.append(Item(id=str(number), image=image, caption="a red dog", negatives=texts("a blue dog"), tags={}))
        model = load_model(f"served:{folder}@http://127.0.0.1:{port}/v1?concurrency=2")
        found = evaluate(model, items, images=tmp_path)
        local = evaluate(load_model(f"vqa:{folder}"), items, images=tmp_path, ask=Ask())
    finally:
        server.terminate()
        server.wait(30)
    assert found.record.n.scored == 3 and sum(len(row.answers) for row in found.rows) == 6
    assert [row.answers for row in found.rows] == [row.answers for row in local.rows]
    assert {name: one.value for name, one in found.numbers.metrics.items()} == {
        name: one.value for name, one in local.numbers.metrics.items()
    }


def _up(url: str) -> bool:
    try:
        with urllib.request.urlopen(url, timeout=5):
            return True
    except urllib.error.HTTPError:
        return True  # it answers
    except OSError:
        return False
