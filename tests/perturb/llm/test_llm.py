"""The LLM source against a server on 127.0.0.1 that gets wrong what real ones do."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from equipoise.cli.perturb import describe
from equipoise.core import posting
from equipoise.core.answer_store import KeptAnswer
from equipoise.core.errors import UserError
from equipoise.core.llm_client import Llm, LlmSettings, _retry_after, llm_for
from equipoise.data.items import load_items
from equipoise.language.caption import Caption
from equipoise.perturb.llm.answers import edit_between, tidy, valid
from equipoise.perturb.llm.meaning import keeps_meaning
from equipoise.perturb.llm.recipes import PROMPTS, llm_recipe
from equipoise.perturb.recipe import Candidate, perturb_caption
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file

Reply = tuple[int, bytes, dict[str, str]]


def chat(text: str | None, finish: str = "stop") -> Reply:
    body = {"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": finish}]}
    return 200, json.dumps(body).encode(), {}


class Server:
    """Answers each request with `reply(prompt, how many times this prompt was asked before)`."""

    def __init__(self) -> None:
        self.reply: Callable[[str, int], Reply] = lambda prompt, before: chat("x")
        self.asked: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.now = self.most = 0
        self.pause = 0.0  # after each byte of an answer
        self.lock = threading.Lock()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                prompt = body["messages"][0]["content"]
                with server.lock:
                    before = sum(old["messages"][0]["content"] == prompt for old in server.asked)
                    server.asked.append({**body, "path": self.path})
                    server.headers.append(dict(self.headers))
                    server.now += 1
                    server.most = max(server.most, server.now)
                try:
                    code, raw, headers = server.reply(prompt, before)
                    self.send_response(code)
                    for name, value in {"Content-Length": str(len(raw)), **headers}.items():
                        self.send_header(name, value)
                    self.end_headers()
                    for part in [raw[n : n + 1] for n in range(len(raw))] if server.pause else [raw]:
                        self.wfile.write(part)
                        time.sleep(server.pause)
                except OSError:
                    pass  # the client gave up waiting
                finally:
                    with server.lock:
                        server.now -= 1

            def do_GET(self) -> None:  # where urllib would follow a redirect
                server.asked.append({"messages": [{"content": "redirected"}]})
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_: object) -> None:
                pass

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}/v1"
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    found = Server()
    yield found
    found.http.shutdown()
    found.http.server_close()
    llm_for.cache_clear()


def settings(server: Server, **more: Any) -> LlmSettings:
    return LlmSettings(server.url, "tiny", **{"timeout": 5.0, "tries": 3, "pause": 0.01, **more})


# ---------------------------------------------------------------------------- asking


def test_decoding_is_deterministic_and_the_key_comes_from_the_environment(
    server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_KEY", "secret")
    Llm(settings(server, key_variable="MY_KEY", seed=7)).ask("hello")
    (asked,) = server.asked
    assert asked["temperature"] == 0 and asked["seed"] == 7 and asked["model"] == "tiny"
    assert asked["path"] == "/v1/chat/completions"
    assert server.headers[0]["Authorization"] == "Bearer secret"


def test_nothing_is_contacted_before_the_first_question(server: Server) -> None:
    Setup("hard_positives_kamath_2024", llm=settings(server)).recipe()
    assert not server.asked


@pytest.mark.parametrize(
    "failure",
    [
        (429, b"slow down", {"Retry-After": "0.01"}),
        (500, b"oops", {}),
        (503, b"", {}),
        (200, b'{"choices": [{"message": {"cont', {}),
        (200, b"<html>gateway</html>", {}),
        (200, b'{"error": {"message": "overloaded"}}', {}),
        (200, b'{"choices": [{"message": {"content": [1]}}]}', {}),
        (200, b"short", {"Content-Length": "500"}),
    ],
    ids=["429", "500", "503", "half JSON", "HTML", "error body", "not text", "cut off"],
)
def test_what_fails_for_a_moment_is_tried_again(server: Server, failure: Reply) -> None:
    server.reply = lambda prompt, before: failure if before < 2 else chat("fine")
    if "Content-Length" in failure[2]:
        llm = Llm(settings(server, timeout=0.3))
    else:
        llm = Llm(settings(server))
    assert llm.ask("hello") == KeptAnswer("fine", "stop")
    assert len(server.asked) == 3


def test_a_time_out_is_tried_again(server: Server) -> None:
    def slow_once(prompt: str, before: int) -> Reply:
        time.sleep(0.6 if before == 0 else 0)
        return chat("fine")

    server.reply = slow_once
    assert Llm(settings(server, timeout=0.2)).ask("hello").text == "fine"


def test_retry_after_is_obeyed(server: Server) -> None:
    server.reply = lambda prompt, before: (429, b"", {"Retry-After": "0.3"}) if before == 0 else chat("fine")
    started = time.monotonic()
    Llm(settings(server)).ask("hello")
    assert time.monotonic() - started >= 0.3


def test_retry_after_may_be_nonsense() -> None:
    assert _retry_after("999999") == 60
    assert [_retry_after(text) for text in (None, "", "soon", "-5", "0", "Mon, 05 Jan 2026 10:00:00 GMT")] == [None] * 6


def test_an_answer_that_drips_for_ever_is_a_time_out(server: Server) -> None:
    """Every single byte comes in time."""

    def drip(prompt: str, before: int) -> Reply:
        return 200, b" " * 200, {}

    server.reply, server.pause = drip, 0.05
    begin = time.monotonic()
    with pytest.raises(UserError, match=r"did not end within 0\.3 s"):
        Llm(settings(server, timeout=0.3, tries=2)).ask("hello")
    assert time.monotonic() - begin < 5


@pytest.mark.parametrize(
    "sent",
    [b"HTTP/1.1 200 OK\r\nX-Slow: ", b"HTTP/1.1 400 Bad\r\nContent-Length: 9000\r\n\r\n"],
    ids=["headers", "the body of an error"],
)
def test_the_deadline_holds_for_the_whole_request(sent: bytes) -> None:
    """Every single byte comes in time, and the last never."""
    with socket.create_server(("127.0.0.1", 0)) as listening:

        def drip() -> None:
            with listening.accept()[0] as client, contextlib.suppress(OSError):
                client.sendall(sent)
                for _ in range(60):
                    time.sleep(0.05)
                    client.sendall(b"x")

        threading.Thread(target=drip, daemon=True).start()
        slow = LlmSettings(f"http://127.0.0.1:{listening.getsockname()[1]}/v1", "tiny", timeout=0.2, tries=1)
        begin = time.monotonic()
        with pytest.raises(UserError, match=r"did not end within 0\.2 s"):
            Llm(slow).ask("hello")
        assert time.monotonic() - begin < 1.5


def test_a_server_on_this_machine_is_asked_without_a_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    posting.opener.cache_clear()  # it reads the variables once
    assert Llm(settings(server, tries=1)).ask("hello").text == "x"


@pytest.mark.parametrize(
    ("url", "warned"),
    [("http://host.example/v1", True), ("https://host.example/v1", False), ("http://[::1]/v1", False)],
)
def test_a_key_over_plain_http_is_warned_of(
    url: str, warned: bool, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    Llm(LlmSettings(url, "tiny"))
    assert "unencrypted" not in caplog.text
    monkeypatch.setenv("OPENAI_API_KEY", "sk-12345678")
    Llm(LlmSettings(url, "tiny"))
    assert ("unencrypted" in caplog.text) == warned and "sk-12345678" not in caplog.text


@pytest.mark.parametrize("name", ["sk-PASTED99", "PASTED99", "", "MY KEY"])
def test_a_key_in_place_of_its_variables_name_is_refused_and_not_shown(name: str) -> None:
    with pytest.raises(UserError, match="name of an environment variable") as wrong:
        LlmSettings("http://127.0.0.1:8000/v1", "tiny", key_variable=name)
    assert "PASTED99" not in str(wrong.value)


@pytest.mark.parametrize(
    "url", ["http://user:pa/ssw@127.0.0.1:8901/v1", "http://user:123/ssw@host/v1", "http://u:p#ssw@h"]
)
def test_a_password_in_a_wrong_address_is_not_shown(url: str) -> None:
    with pytest.raises(UserError) as wrong:
        LlmSettings(url, "tiny")
    assert "ssw" not in str(wrong.value).replace("password", "")


@pytest.mark.parametrize("code", [200, 500])
def test_a_key_at_the_cut_of_a_message_is_not_shown(server: Server, code: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-SECRETSECRET")
    for letters in (190, 250, 270, 290):
        server.reply = lambda prompt, before: (code, b"x" * letters + b"sk-SECRETSECRET", {})  # noqa: B023
        with pytest.raises(UserError) as raised:
            Llm(settings(server, tries=1)).ask("hello")
        assert "sk-S" not in str(raised.value)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        (b"<html>gateway</html>", "not JSON: <html>gateway"),
        (b"[" * 200_000, "not JSON"),
        (b"x" * (1 << 21), "more than 1,048,576 bytes"),
    ],
    ids=["HTML", "nested", "endless"],
)
def test_what_came_back_is_shown(server: Server, body: bytes, said: str) -> None:
    server.reply = lambda prompt, before: (200, body, {})
    with pytest.raises(UserError, match=said):
        Llm(settings(server)).ask("hello")


def test_a_key_is_never_shown(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", "secret\n")
    Llm(settings(server, key_variable="MY_KEY")).ask("hello")
    assert server.headers[0]["Authorization"] == "Bearer secret"
    monkeypatch.setenv("MY_KEY", "sec\nret")
    with pytest.raises(UserError) as raised:
        Llm(settings(server, key_variable="MY_KEY")).ask("hello")
    assert "$MY_KEY" in str(raised.value) and "ret" not in str(raised.value).replace("characters", "")


def test_an_error_waits_for_no_other_caption(server: Server, tmp_path: Path) -> None:
    """Nor does Ctrl-C: a server that hangs must not hold the command."""

    def hangs(prompt: str, before: int) -> Reply:
        if "cat" in prompt:
            return 401, b"", {}
        time.sleep(20)
        return chat("x")

    server.reply = hangs
    (tmp_path / "c.txt").write_text("a dog on a couch\na cat on a couch\n")
    begin = time.monotonic()
    with pytest.raises(UserError, match="key"):
        perturb_file(
            tmp_path / "c.txt", tmp_path / "i.jsonl", Setup("hard_positives_kamath_2024", llm=settings(server))
        )
    assert time.monotonic() - begin < 10


def test_a_refused_request_is_the_reason(server: Server, tmp_path: Path) -> None:
    server.reply = lambda prompt, before: (400, b'{"error": "no such model"}', {})
    (tmp_path / "c.txt").write_text("a dog on a couch\n")
    with pytest.raises(UserError, match="the server refused the request \\(1\\)"):
        perturb_file(
            tmp_path / "c.txt", tmp_path / "i.jsonl", Setup("hard_positives_kamath_2024", llm=settings(server))
        )


def test_a_long_answer_costs_no_time() -> None:
    begin = time.process_time()
    text = tidy(KeptAnswer("\n " * 200_000 + "a dog " * 100_000, "stop"), "a dog")
    edit_between(Caption("a dog"), text, "replace", "x")
    assert time.process_time() - begin < 1


def test_a_server_that_stays_broken_is_an_error_for_people(server: Server) -> None:
    server.reply = lambda prompt, before: (500, b'{"error": {"message": "out of memory"}}', {})
    with pytest.raises(UserError, match=r"3 tries failed \(last: 500.*out of memory.*the same command resumes"):
        Llm(settings(server)).ask("hello")
    server.http.shutdown()
    server.http.server_close()
    with pytest.raises(UserError, match="3 tries failed"):
        Llm(settings(server)).ask("hello")


@pytest.mark.parametrize(("code", "said"), [(401, "OPENAI_API_KEY"), (404, "Is the address right")])
def test_what_is_wrong_for_good_is_not_tried_again(server: Server, code: int, said: str) -> None:
    server.reply = lambda prompt, before: (code, b'{"error": {"message": "no"}}', {})
    with pytest.raises(UserError, match=said):
        Llm(settings(server)).ask("hello")
    assert len(server.asked) == 1


def test_a_redirect_does_not_take_the_key_elsewhere(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "secret")
    server.reply = lambda prompt, before: (302, b"", {"Location": server.url + "/elsewhere"})
    with pytest.raises(UserError, match="302"):
        Llm(settings(server)).ask("hello")
    assert len(server.asked) == 1


def test_a_refused_caption_is_a_reason_but_wrong_settings_are_an_error(server: Server) -> None:
    server.reply = lambda prompt, before: (400, b'{"error": {"message": "unknown field seed"}}', {})
    llm = Llm(settings(server))
    assert llm.ask("one").finish == "refused"
    with pytest.raises(UserError, match="unknown field seed"):
        for number in range(30):
            llm.ask(f"prompt {number}")


@pytest.mark.parametrize(
    ("url", "model"), [("file:///etc/passwd", "m"), ("127.0.0.1:8000", "m"), ("http://x/v1", ""), ("http://[::1", "m")]
)
def test_wrong_settings(url: str, model: str) -> None:
    with pytest.raises(UserError):
        LlmSettings(url, model)


# ---------------------------------------------------------------------------- the cache


def test_nothing_is_asked_twice_even_after_a_restart(server: Server, tmp_path: Path) -> None:
    server.reply = lambda prompt, before: chat(prompt.upper())
    with_cache = settings(server, cache=str(tmp_path))
    assert Llm(with_cache).ask("hello").text == "HELLO"
    assert Llm(with_cache).ask("hello").text == "HELLO"
    assert len(server.asked) == 1
    Llm(settings(server, cache=str(tmp_path), seed=1)).ask("hello")
    Llm(LlmSettings(server.url, "other", cache=str(tmp_path))).ask("hello")
    assert len(server.asked) == 3, "another seed or model is another question"


def test_another_server_under_the_same_name_is_asked_itself(server: Server, tmp_path: Path) -> None:
    server.reply = lambda prompt, before: chat("I am A")
    other = Server()
    other.reply = lambda prompt, before: chat("I am B")
    asked = [Llm(settings(one, cache=str(tmp_path))) for one in (server, other, server)]
    assert [llm.ask("who?").text for llm in asked] == ["I am A", "I am B", "I am A"]
    assert [llm.answered() for llm in asked] == [(1, 0), (1, 0), (1, 1)]
    other.http.shutdown()
    other.http.server_close()


def test_a_cache_that_is_no_database(server: Server, tmp_path: Path) -> None:
    (tmp_path / "llm.sqlite").write_text("not a database, and long enough to be looked at as one" * 50)
    with pytest.raises(UserError, match="cache of the model's answers"):
        Llm(settings(server, cache=str(tmp_path)))


# ---------------------------------------------------------------------------- what comes back

CAPTION = "A man riding a bike down the street."
FINE = "A man riding a bicycle down the street."


@pytest.mark.parametrize(
    "answer",
    [
        FINE,
        f"  {FINE}\n",
        f'"{FINE}"',
        f"“{FINE}”",
        f"Sure! Here is the changed sentence:\n\n{FINE}",
        f"<think>\nOne word, then.\n</think>\n\n{FINE}",
        f"Sure, here's the sentence with one word replaced by a synonym: {FINE}",
        f"Output: {FINE}",
        f"Changed sentence: {FINE}",
        f"{FINE}\n\nNote: I replaced 'bike' with 'bicycle'.",
        f"{FINE}\nInput: a dog on a mat\nOutput: a hound on a mat",
        f"```\n{FINE}\n```",
        json.dumps({"output": FINE}),
        "a man riding a bicycle down the street",
        f"Of course! Output: '{FINE}'",
    ],
)
def test_what_models_put_around_an_answer_is_taken_away(answer: str) -> None:
    assert tidy(KeptAnswer(answer, "stop"), CAPTION) == FINE


@pytest.mark.parametrize(
    "text", ["Here lies a man on a street.", "Sure-footed men, riding bicycles.", "Output of a mine."]
)
def test_a_caption_is_not_taken_for_a_preamble(text: str) -> None:
    assert tidy(KeptAnswer(text, "stop"), CAPTION) == text


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        (KeptAnswer("", "stop"), "no answer"),
        (KeptAnswer("", "refused"), "the server refused the request"),
        (KeptAnswer("A man riding a bicycle down the", "length"), "the answer was cut off"),
        (KeptAnswer(CAPTION, "stop"), "the edit changes nothing"),
        (KeptAnswer("a man riding a bike down the street", "stop"), "the edit changes nothing"),
        (KeptAnswer("A man riding a bicycle. It goes down the street.", "stop"), "more than one sentence"),
        (KeptAnswer("A man riding a bicycle\ndown the street", "stop"), "more than one line"),
        (KeptAnswer("Un homme à vélo dans la rue.", "stop"), "another language or a rewrite"),
        (KeptAnswer("一个男人骑着自行车", "stop"), "the answer is not in Latin letters"),
        (KeptAnswer('{"output": "A man rid', "stop"), "JSON instead of a sentence"),
        (KeptAnswer("I'm sorry, I cannot help with that.", "stop"), "the model declined"),
        (KeptAnswer(CAPTION[:-1] + " " + "and more of it " * 10, "stop"), "the answer is too long"),
        (
            KeptAnswer("Synonym used: bicycle, a man riding a bicycle down the street", "stop"),
            "a preamble in the answer",
        ),
        (KeptAnswer("A man riding a bicycle\x07 down the street.", "stop"), "the answer: control characters"),
        (KeptAnswer("A man riding a bike down the street. (No change needed)", "stop"), "a remark in brackets"),
        (KeptAnswer("A man riding a bicycle [bike] down the street.", "stop"), "a remark in brackets"),
        (KeptAnswer("A man riding a <script>bike</script> down the street.", "stop"), "markup in the answer"),
        (
            KeptAnswer("A man riding a <img src=x onerror=alert(1) bike down the road.", "stop"),
            "markup in the answer",
        ),
    ],
)
def test_what_cannot_be_used_is_refused_with_a_reason(answer: KeptAnswer, reason: str) -> None:
    caption = Caption(CAPTION)
    text = tidy(answer, CAPTION)
    found = valid(caption, Candidate(text, "positive", edit_between(caption, text, "replace", "llm:tiny")))
    assert found is not None and found.startswith(reason)


@pytest.mark.parametrize(
    ("caption", "text"),
    [
        ("an apple near a lamp", "a fruit near a lamp"),  # the article follows
        ("a woman wearing a coat", "a woman clothed in a coat"),
        ("a man talking to a boy", "a man conversing with a boy"),
        ("a cat in front of a tv", "a cat before a tv"),
        ("a dog (left) on a mat", "a hound (left) on a mat"),
        ("a dog < 3 years old", "a hound < 3 years old"),
    ],
)
def test_one_word_may_take_its_small_words_along(caption: str, text: str) -> None:
    found = Caption(caption)
    assert valid(found, Candidate(text, "positive", edit_between(found, text, "replace", "x"))) is None


@pytest.mark.parametrize("spoilt", ["", "A man (same) on a bike", "a <b>man</b> on a bike"])
def test_what_is_refused_for_its_form_is_not_kept_as_an_answer(server: Server, tmp_path: Path, spoilt: str) -> None:
    """The next run asks again; but what the model left unchanged is its answer."""
    recipe = llm_recipe("hard_positives_kamath_2024", Llm(settings(server, cache=str(tmp_path))))
    for said, asked in ((spoilt, 1), (spoilt, 2), ("a man on a bike", 3), ("never asked for", 3)):
        server.reply = lambda prompt, before, said=said: chat(said)  # type: ignore[misc]
        assert not perturb_caption(recipe, Caption("a man on a bike")).positives
        assert len(server.asked) == asked


def test_tokens_are_the_papers_unless_the_user_says(server: Server) -> None:
    server.reply = helpful
    for given, wanted in ((None, {30, 20}), (7, {7})):
        server.asked.clear()
        llm = Llm(settings(server, max_tokens=given, temperature=0.5))
        perturb_caption(llm_recipe("hard_positives_kamath_2024", llm), Caption("a dog and a cat"))
        assert {ask["max_tokens"] for ask in server.asked} == wanted
        assert {ask["temperature"] for ask in server.asked} == {0.5}
    assert (PROMPTS["REPLACE"].max_tokens, PROMPTS["SWAP"].max_tokens) == (30, 20)
    identities = [Setup("hard_positives_kamath_2024", llm=settings(server, max_tokens=n)).identity() for n in (None, 7)]
    assert identities[0] != identities[1]


@pytest.mark.parametrize("date", ["Mon, 32 Jan 2026 25:61:61 GMT", "Mon, 01 Jan 99999 00:00:00 GMT", "nan", "1e400"])
def test_a_malformed_date_costs_no_caption(server: Server, tmp_path: Path, date: str) -> None:
    server.reply = lambda prompt, before: (
        (429, b"", {"Retry-After": date}) if before == 0 and date != "1e400" else helpful(prompt, before)
    )
    _retry_after(date)
    (tmp_path / "c.txt").write_text("\n".join(f"a cat on mat {number}" for number in range(8)))
    setup = Setup("hard_positives_kamath_2024", llm=settings(server))
    report = perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", setup)
    assert report["items"] == 8 and not report["refused"]


def test_neither_password_nor_key_nor_escape_codes_reach_the_terminal(
    server: Server, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    url = server.url.replace("://", "://user:pa55word@")
    login = LlmSettings(url, "tiny", tries=1)
    assert login.shown == server.url
    server.reply = lambda prompt, before: chat("fine")
    assert Llm(login).ask("hello").text == "fine"
    assert server.headers[-1]["Authorization"] == "Basic dXNlcjpwYTU1d29yZA=="

    def echo(prompt: str, before: int) -> Reply:
        return code, f"\x1b[31mred\x1b[0m \x1b]0;title\x07 {server.headers[-1]['Authorization']}".encode(), {}

    server.reply = echo
    told = []
    for settings_, code in ((login, 400), (login, 401), (login, 500)):
        try:
            Llm(settings_).ask(f"hello {code}")
        except UserError as error:
            told.append(str(error))
    monkeypatch.setenv("MY_KEY", "sk-12345678")
    with pytest.raises(UserError) as raised:
        Llm(settings(server, key_variable="MY_KEY", tries=1)).ask("with a key")
    shown = "\n".join([*told, str(raised.value), caplog.text])
    assert "red" in shown and "(secret)" in shown and server.url in shown
    for hidden in ("pa55word", "dXNlcjpwYTU1d29yZA", "sk-12345678", "\x1b", "\x07"):
        assert hidden not in shown
    with pytest.raises(UserError) as wrong:
        LlmSettings("ftp://user:pa55word@host/v1", "tiny")
    assert "pa55word" not in str(wrong.value)


def test_a_swap_must_keep_the_words() -> None:
    caption = Caption("three giraffes and two antelope")
    answers = {"two antelopes and three giraffes": None, "two deer and three giraffes": "the swap changed other words"}
    for text, reason in answers.items():
        assert valid(caption, Candidate(text, "positive", edit_between(caption, text, "swap", "x"))) == reason


@pytest.mark.parametrize(
    ("old", "new", "apart"),
    [
        ("red", "blue", True),
        ("dog", "cat", True),
        ("dogs", "cats", True),
        ("bike", "bicycle", False),
        ("xyz", "abc", True),  # not known to be one
    ],
)
def test_a_neighbour_is_no_synonym(old: str, new: str, apart: bool) -> None:
    caption = Caption(f"some {old} things" if old == "red" else f"some {old}")
    text = caption.text.replace(old, new)
    found = keeps_meaning(caption, Candidate(text, "positive", edit_between(caption, text, "replace", "x")))
    assert (found is not None) == apart


def test_the_edit_says_what_was_changed() -> None:
    edit = edit_between(Caption(CAPTION), FINE, "replace", "llm:tiny")
    assert (edit.source, edit.to, edit.target, edit.span) == ("bike", "bicycle", "object", (15, 19))
    edit = edit_between(Caption("a cat under a car"), "a cat beneath a car", "replace", "x")
    assert (edit.source, edit.to, edit.target) == ("under", "beneath", "relation")


# ---------------------------------------------------------------------------- the recipe

SYNONYMS = {"bike": "bicycle", "couch": "sofa", "cat": "kitty", "street": "road", "big": "large"}


def helpful(prompt: str, before: int) -> Reply:
    """A model that does what the prompt asks, after a random-looking fault of a real server."""
    if before == 0 and len(prompt) % 3 == 0:
        return 429, b"", {"Retry-After": "0.001"}
    caption = prompt.splitlines()[-1] if not prompt.endswith("Output:") else prompt.splitlines()[-2].split(": ", 1)[1]
    if prompt.startswith("Swap"):
        first, second = caption.split(" and ", 1)
        return chat(f"{second} and {first}")
    words = caption.split()
    known = next((place for place, word in enumerate(words) if word in SYNONYMS), None)
    if known is not None:  # one word, as the prompt asks
        words[known] = SYNONYMS[words[known]]
    return chat("Sure! Here is the changed sentence:\n" + " ".join(words))


CAPTIONS = [
    "a boy on a bike",
    "a dog and a cat",
    "a dog on a big couch",
    "a green field",
    "a street and a tree " + "x " * 12,
]


def test_recipe_replaces_everywhere_and_swaps_where_the_paper_does(server: Server) -> None:
    server.reply = helpful
    recipe = llm_recipe("hard_positives_kamath_2024", Llm(settings(server)))
    found = [perturb_caption(recipe, Caption(text), 0) for text in CAPTIONS]
    assert [[positive.text for positive in one.positives] for one in found] == [
        ["a boy on a bicycle"],
        ["a dog and a kitty", "a cat and a dog"],
        ["a dog on a large couch"],
        [],
        ["a road and a tree" + " x" * 12],
    ]
    assert [reason for _, reason in found[3].dropped] == ["the edit changes nothing"]
    assert not any(one.negatives for one in found)


def test_the_faithful_recipe_keeps_every_answer(server: Server) -> None:
    """As the paper did: swaps that break the meaning, answers that were cut off, captions that came back unchanged."""
    answers = {"a dog and a cat": "a cat a and dog", "a red car": "a blue car", "a boy on a bike": "a boy on a bike"}

    def reply(prompt: str, before: int) -> Reply:
        caption = next(text for text in answers if text in prompt.splitlines()[-1] + prompt.splitlines()[-2])
        return chat(answers[caption])

    server.reply = reply
    kept, checked = (
        [[p.text for p in perturb_caption(recipe, Caption(text), 0).positives] for text in answers]
        for recipe in (
            llm_recipe(f"hard_positives_kamath_2024{form}", Llm(settings(server))) for form in ("_faithful", "")
        )
    )
    assert kept == [["a cat a and dog"], ["a blue car"], ["a boy on a bike"]] and checked == [[], [], []]


def test_relation_prompts_exist_and_take_the_caption_verbatim() -> None:
    for prompt in PROMPTS.values():
        assert "{x} \\1 %s {example" in prompt.about("{x} \\1 %s {example")
    assert PROMPTS["SWAP"].template.count("Input:") == 6
    assert "clothed in" in PROMPTS["REPLACE_VERB"].template
    assert "beneath" in PROMPTS["REPLACE_SPATIAL"].template


def test_a_whole_file_is_the_same_for_any_concurrency_and_is_not_asked_again(server: Server, tmp_path: Path) -> None:
    server.reply = helpful
    (tmp_path / "c.txt").write_text("\n".join(f"{text} {number}" for number in range(6) for text in CAPTIONS[:3]))
    made = []
    for name, concurrency in (("one", 1), ("many", 8)):
        llm = settings(server, concurrency=concurrency, cache=str(tmp_path / name))
        setup = Setup("hard_positives_kamath_2024", llm=llm)
        perturb_file(tmp_path / "c.txt", tmp_path / f"{name}.jsonl", setup, shard=6)
        made.append((tmp_path / f"{name}.jsonl").read_bytes())
    assert made[0] == made[1]
    assert len(load_items(tmp_path / "many.jsonl")) == 18
    assert server.most > 1
    asked = len(server.asked)
    (tmp_path / "many.jsonl").unlink()
    report = perturb_file(tmp_path / "c.txt", tmp_path / "many.jsonl", setup, shard=6)
    assert (tmp_path / "many.jsonl").read_bytes() == made[0]
    assert len(server.asked) == asked
    assert report["answers_from_cache"] == report["answers"] >= 18
    assert f"{report['answers']} of {report['answers']} answers read from cache" in describe(report)


def test_a_run_goes_on_after_the_server_died(server: Server, tmp_path: Path) -> None:
    server.reply = lambda prompt, before: (
        helpful(prompt, before) if len(server.asked) < 15 else (500, b"", {"Retry-After": "0.001"})
    )
    (tmp_path / "c.txt").write_text("\n".join(f"{text} {number}" for number in range(6) for text in CAPTIONS[:3]))
    llm = settings(server, concurrency=4, cache=str(tmp_path / "cache"))
    setup, out = Setup("hard_positives_kamath_2024", llm=llm), tmp_path / "items.jsonl"
    with pytest.raises(UserError, match="tries failed"):
        perturb_file(tmp_path / "c.txt", out, setup, shard=6)
    assert not out.exists()
    died = len(server.asked)
    server.reply = helpful
    perturb_file(tmp_path / "c.txt", out, setup, shard=6)
    assert len(load_items(out)) == 18
    asked_again = [ask["messages"][0]["content"] for ask in server.asked[died:]]
    assert len(asked_again) < 40


def test_the_papers_training_set_in_one_command(server: Server, tmp_path: Path) -> None:
    """Positives from the model, negatives from CREPE's rules, every caption kept."""
    server.reply = helpful
    (tmp_path / "c.txt").write_text("a dog on a big couch\na boy on a bike and a cat\nabc\n")
    setup = Setup("hard_positives_kamath_2024,crepe_ma_2023", llm=settings(server), keep_all=True)
    report = perturb_file(tmp_path / "c.txt", tmp_path / "items.jsonl", setup)
    items = load_items(tmp_path / "items.jsonl")
    assert [item.caption for item in items] == ["a dog on a big couch", "a boy on a bike and a cat", "abc"]
    for item in items[:2]:
        assert {text.edit.by for text in item.positives if text.edit} == {"llm:tiny"}
        assert {text.edit.by for text in item.negatives if text.edit} <= {"lexicon", "wordnet", "rules"}
        assert item.positives and item.negatives
    assert report["having"]["both"] == 2 and report["having"]["neither"] == 1
    assert report["setup"]["recipe"] == "hard_positives_kamath_2024,crepe_ma_2023" and "llm" in report["setup"]
