"""A language model that proposes words for `balanced`."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.perturb.llm.test_llm import Server, chat, server, settings

from equipoise.core.answer_store import KeptAnswer
from equipoise.core.llm_client import Llm, LlmSettings
from equipoise.data.items import load_items
from equipoise.perturb import Caption, Setup, perturb_file
from equipoise.perturb.llm.recipes import LlmWriter
from equipoise.perturb.operations.replace import Judged, judged_of
from equipoise.perturb.recipes import balanced

__all__ = ["server"]
CAPTION = "A brown dog sleeps on a couch near a window."


class Scripted(Llm):
    """Gives one answer to CONTRADICT and one to REWORD."""

    def __init__(self, wrong: str, same: str = "", finish: str = "stop") -> None:
        super().__init__(LlmSettings("http://127.0.0.1:9/v1", "scripted"))
        self.script, self.finish = (wrong, same), finish

    def ask(self, prompt: str, *_: object, **__: object) -> KeptAnswer:
        return KeptAnswer(self.script["mean the same" in prompt], self.finish)


@pytest.mark.parametrize(
    ("line", "wanted"),
    [
        ("A black dog sleeps on a couch near a window.", ("attribute", "brown", "black")),
        ("2. A brown dog sleeps on an armchair near a window.", ("object", "couch", "armchair")),
        ('- "a brown dog plays on a couch near a window"', ("action", "sleeps", "plays")),
        ("A brown dog sleeps on a garden bench near a window.", ("object", "couch", "garden bench")),
        ("A brown dog sleeps under a couch near a window.", ("relation", "on", "under")),
        ("A brown cat sleeps on a chair near a window.", None),  # two words
        ("A big brown dog sleeps on a couch near a window.", None),  # one more
        ("A brown dog sleeps on a couch near the window.", None),  # an article
        ("A brown dog sleeps on a <b>chair</b> near a window.", None),
        ("The photo shows no dog at all.", None),
        (CAPTION, None),
    ],
)
def test_an_answer_must_exchange_one_word(line: str, wanted: tuple[str, str, str] | None) -> None:
    writer, caption = LlmWriter(Scripted(f"Sure! Here are four:\n{line}\n")), Caption(CAPTION)
    found = [
        (target, CAPTION[each.start : each.end], each.to)
        for target in ("object", "attribute", "action", "relation")
        for each in writer.contrasts(caption, target)  # type: ignore[arg-type]
    ]
    assert found == ([wanted] if wanted else [])


def test_the_last_line_of_an_answer_that_was_cut_is_left_out() -> None:
    lines = "A black dog sleeps on a couch near a window.\nA white dog sleeps on a couch near a window."
    found = LlmWriter(Scripted(lines, finish="length")).contrasts(Caption(CAPTION), "attribute")
    assert [each.to for each in found] == ["black"]


def test_a_rewording_must_be_a_synonym() -> None:
    same = "A brown dog sleeps on a sofa near a window.\nA brown cat sleeps on a couch near a window."
    writer = LlmWriter(Scripted("", same))
    assert [each.to for each in writer.synonyms(Caption(CAPTION), "object")] == ["sofa"]


def test_the_judge_tells_a_likely_negative_from_an_absurd_one() -> None:
    lines = "A brown dog sleeps on a bench near a window.\nA brown dog sleeps on a giraffe near a window."
    caption = Caption(CAPTION)
    judged = judged_of(caption, balanced(writer=LlmWriter(Scripted(lines))).sources)["object"]
    chance = {each.to: row[0] for tier in judged for each, row in tier if each.by == "llm:scripted"}
    assert chance["bench"] > chance["giraffe"] and chance["giraffe"] < 0.5


def test_two_recipes_may_share_a_caption() -> None:
    caption, writer = Caption(CAPTION), LlmWriter(Scripted("A brown dog sleeps on a bench near a window."))

    def sources(found: Judged) -> set[str]:
        return {each.by for tier in found["object"] for each, _ in tier}

    assert writer.name not in sources(judged_of(caption, balanced().sources))
    assert writer.name in sources(judged_of(caption, balanced(writer=writer).sources))


def test_balanced_asks_twice_a_caption_and_once_for_all(server: Server, tmp_path: Path) -> None:
    wrong = "A brown dog sleeps on a pier near a window."
    server.reply = lambda prompt, before: chat("" if "mean the same" in prompt else wrong)
    captions = tmp_path / "captions.txt"
    captions.write_text(f"{CAPTION}\n")
    setup = Setup("balanced", llm=settings(server, cache=str(tmp_path)), precision=0.8)
    report = perturb_file(captions, tmp_path / "items.jsonl", setup)
    assert len(server.asked) == 2 and report["answers"] == 2 and "llm" in report["setup"]
    assert load_items(tmp_path / "items.jsonl")[0].negatives
    perturb_file(captions, tmp_path / "again.jsonl", setup)
    assert len(server.asked) == 3, "an empty answer is asked for again, the other is kept"
