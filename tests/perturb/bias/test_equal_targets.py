"""The verb/spatial mix of Kamath et al. 2024, Appendix C.3: as many positives about relations as about attributes."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import pytest
import typer
from typer.testing import CliRunner

from equipoise.cli.perturb import perturb
from equipoise.core.answer_store import KeptAnswer
from equipoise.core.errors import UserError
from equipoise.core.llm_client import LlmSettings
from equipoise.data.items import Edit, Item, Operation, Target, Text, load_items, write_items
from equipoise.perturb.bias.thinning import even_file, side
from equipoise.perturb.llm import LLM_RECIPES
from equipoise.perturb.recipes import Setup, _build
from equipoise.perturb.run.engine import perturb_file

SUBJECTS = ("a small man", "a woman", "a big dog", "a large cat", "a little boy", "two horses")
PLACES = ("sitting near a house", "standing beneath a tree", "next to a large car", "holding a small cup")
CAPTIONS = [" ".join(parts) for parts in product(SUBJECTS, PLACES)]


def positive(target: Target | None, op: Operation = "replace", text: str = "x") -> Text:
    return Text(text=text, edit=Edit(op=op, target=target, by="test"))


def sides(items: list[Item]) -> dict[str, int]:
    found = [side(text) for item in items for text in item.positives]
    return {name: found.count(name) for name in ("relations", "attributes")}  # type: ignore[arg-type]


def test_verbs_and_prepositions_are_relations_and_swaps_and_objects_are_left_alone() -> None:
    assert [side(positive(target)) for target in ("relation", "action", "attribute", "object", "order")] == [
        "relations", "relations", "attributes", None, None,
    ]  # fmt: skip
    assert side(positive("attribute", "swap")) is None and side(Text(text="x")) is None and side(positive(None)) is None


def items_of(*targets: tuple[Target | None, ...]) -> list[Item]:
    return [
        Item(id=f"{number}", caption="c", positives=tuple(positive(one, text=f"{number} {one}") for one in each))
        for number, each in enumerate(targets)
    ]


def test_the_larger_side_is_drawn_from_by_seed_and_the_rest_stays(tmp_path: Path) -> None:
    made = items_of(
        *[("attribute", "object")] * 30, *[("relation", None)] * 4, *[("action",)] * 3, *[("attribute",)] * 9
    )
    kept = {}
    for seed in (0, 1):
        path = tmp_path / f"{seed}.jsonl"
        write_items(path, made)
        counts, edits = even_file(path, seed, keep_all=False)
        left = load_items(path)
        assert sides(left) == {"relations": 7, "attributes": 7}
        assert counts == {"relations": 7, "attributes": 39, "kept of each": 7, "items": len(left)}
        assert sum(edits.values()) == sum(len(item.positives) for item in left) == 7 + 7 + 30 + 4
        assert all(item.positives for item in left) and len(left) < len(made)
        assert {item.id for item in left} >= {f"{number}" for number in range(37)}  # an object or a relation each
        kept[seed] = path.read_bytes()
        write_items(path, made)
        even_file(path, seed, keep_all=False)
        assert path.read_bytes() == kept[seed]
    assert kept[0] != kept[1]
    write_items(tmp_path / "all.jsonl", made)
    even_file(tmp_path / "all.jsonl", 0, keep_all=True)
    assert len(load_items(tmp_path / "all.jsonl")) == len(made)


def test_nothing_is_drawn_where_one_side_is_empty(tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    write_items(path, items_of(("attribute",), ("object",)))
    before = path.read_bytes()
    with pytest.raises(
        UserError, match=r"0 positives about relations and 1 about attributes.*_relations writes the first"
    ):
        even_file(path, 0, keep_all=False)
    assert path.read_bytes() == before


ANSWERS = {"sitting": "seated", "standing": "waiting", "holding": "grasping", "beneath": "under", "near": "by"}
PLAIN = {"small": "tiny", "big": "huge", "large": "huge", "little": "tiny", "woman": "lady"}


class Answering:
    """A language model that follows the prompt: any word, a verb, or a preposition."""

    def __init__(self, settings: LlmSettings) -> None:
        self.settings = settings

    def answered(self) -> tuple[int, int]:
        return 0, 0

    def ask(self, prompt: str, max_tokens: int, keep: Any) -> KeptAnswer:
        caption = prompt.rstrip().removesuffix("Output:").rstrip().splitlines()[-1].removeprefix("Input: ")
        if "one verb" in prompt:
            known = {word: new for word, new in ANSWERS.items() if word.endswith("ing")}
        else:
            known = {"beneath": "under", "near": "by"} if "preposition" in prompt else PLAIN
        words = caption.split()
        place = next((place for place, word in enumerate(words) if word in known), None)
        return KeptAnswer(
            caption if place is None else " ".join([*words[:place], known[words[place]], *words[place + 1 :]]), "stop"
        )


def test_the_papers_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """REPLACE, SWAP, and the two prompts for relations in one run, evened; the file without the draw is another run."""
    monkeypatch.setattr("equipoise.core.llm_client.llm_for", Answering)
    captions, out = tmp_path / "captions.txt", tmp_path / "items.jsonl"
    captions.write_text("\n".join(CAPTIONS))
    names = ",".join(LLM_RECIPES)
    app = typer.Typer(pretty_exceptions_enable=False)
    app.command()(perturb)
    llm = ["--llm", "http://127.0.0.1:9/v1", "--llm-model", "even", "--cache", str(tmp_path / "cache")]
    arguments = [str(captions), "--recipe", names, "--out", str(out), "--workers", "1", *llm]
    _build.cache_clear()
    told = CliRunner().invoke(app, [*arguments, "--even-positives"], catch_exceptions=False).output
    found = sides(load_items(out))
    assert found["relations"] == found["attributes"] > 5
    assert f"evened: {found['relations']} positives about relations (of " in told
    with pytest.raises(UserError, match="even positives: there yes, here nothing"):
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    plain = [*arguments[:4], str(tmp_path / "plain.jsonl"), *arguments[5:]]
    assert "evened" not in CliRunner().invoke(app, plain, catch_exceptions=False).output
    uneven = sides(load_items(tmp_path / "plain.jsonl"))
    assert uneven["relations"] > uneven["attributes"] == found["attributes"]
    _build.cache_clear()


def test_texts_that_were_there_before_are_never_dropped(tmp_path: Path) -> None:
    write_items(tmp_path / "items.jsonl", [Item(id=str(n), caption=text) for n, text in enumerate(CAPTIONS)])
    with pytest.raises(UserError, match="--even-positives: would drop texts"):
        perturb_file(tmp_path / "items.jsonl", tmp_path / "x.jsonl", Setup("hard_positives_rules"), even=True)
