"""Drawing against what would give an edit away: the weights are looked up rightly, used, and do what they are for."""

from __future__ import annotations

import gzip
import json
import random
import runpy
import shutil
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from equipoise.language.vocabulary import Section
from equipoise.perturb import Candidate, Caption, get_recipe, perturb_caption
from equipoise.perturb.bias import importance_weights
from equipoise.perturb.bias.importance_weights import gaps, names, window
from equipoise.perturb.dial import Dial
from equipoise.perturb.judge import reading_of
from equipoise.perturb.operations.replace import (
    plain_weights,
    replace_judged,
    replace_negative,
    replace_positive,
)
from equipoise.perturb.recipe import Proposal

STUDIES = Path(__file__).resolve().parents[3] / "studies"


@pytest.mark.parametrize(
    ("text", "old", "new", "before", "after"),
    [
        ("A cat on a mat.", "mat", "rug", "on a mat .", "on a rug ."),
        ("A cat on a mat", "mat", "armchair", "on a mat >", "on an armchair >"),
        ("An old dog", "old", "young", "< an old dog", "< a young dog"),
        ("Dogs in the house", "Dogs", "hot dogs", "< dogs in", "< hot dogs in"),
        ("a dog next to a car", "next to", "behind", "dog next to a", "dog behind a"),
    ],
)
def test_the_window_holds_what_changes_and_its_neighbours(
    text: str, old: str, new: str, before: str, after: str
) -> None:
    place = text.index(old), text.index(old) + len(old)
    assert window(text, *place) == before.split()
    assert window(text, *place, new) == after.split()


def test_names_are_words_and_pairs() -> None:
    assert Counter(names(["on", "a", "mat"])) == Counter(["on", "a", "mat", "on\ta", "a\tmat"])


@pytest.fixture(autouse=True)
def nothing_known(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here all words are as common as each other, and captions have said everything."""
    monkeypatch.setattr("equipoise.perturb.operations.replace.count", lambda text: 1)
    monkeypatch.setattr("equipoise.perturb.operations.replace.doubts", lambda *arguments: iter(()))


class Words:
    """A source that offers the same words for every "dog" and "mat"."""

    name = "words"

    def _proposals(self, caption: Caption, target: Section) -> Iterator[Proposal]:
        for old, listed in {"dog": ("cat", "cow"), "mat": ("rug",)}.items():
            if old in caption.text and target == "object":
                start = caption.text.index(old)
                for word in listed:
                    yield Proposal(start, start + len(old), word, target, self.name, 3.0 if word == "cat" else 1.0)

    synonyms = contrasts = _proposals


def drawn(op: Any, text: str, times: int = 4000, **options: Any) -> Counter[str]:
    """How often each replacement comes first; "" where there is none."""
    found: Counter[str] = Counter()
    caption = Caption(text)  # whose words are tagged once
    for seed in range(times):
        first = next(iter(op(caption, (Words(),), random.Random(seed), **options)), None)
        found[(first.edit.to or "") if isinstance(first, Candidate) else ""] += 1
    return Counter({word: round(100 * number / times) for word, number in found.items()})


@pytest.fixture
def weights(monkeypatch: pytest.MonkeyPatch) -> dict[str, dict[str, float]]:
    """Tables to fill in place of the learned ones."""
    tables: dict[str, dict[str, float]] = {"positive": {}, "negative": {}}
    monkeypatch.setattr(importance_weights, "_weights", lambda: tables)
    monkeypatch.setattr(importance_weights, "_inside", importance_weights._inside.__wrapped__)
    return tables


@pytest.mark.slow
def test_without_weights_places_are_drawn_evenly_and_words_as_they_are_common(
    weights: dict[str, dict[str, float]],
) -> None:
    found = drawn(replace_negative, "a dog on a mat", target="object")
    assert found == pytest.approx({"cat": 37.5, "cow": 12.5, "rug": 50}, abs=3)


def test_weights_of_words_and_pairs_tilt_the_draw(weights: dict[str, dict[str, float]]) -> None:
    weights["negative"] = {"cat": 1.0, "dog": -0.5, "a\tcow": -0.4, "mat": 0.3}
    text = "a dog on a mat"
    listed = list(Words().contrasts(Caption(text), "object"))
    assert gaps(text, "negative", listed) == pytest.approx([1.5, 0.1, -0.3])
    assert gaps(text, "positive", listed) == [0, 0, 0]
    odds = [0.375 * 2.718**-1.5, 0.125 * 2.718**-0.1, 0.5 * 2.718**0.3]
    expected = {word: 100 * odd / sum(odds) for word, odd in zip(("cat", "cow", "rug"), odds, strict=True)}
    assert drawn(replace_negative, text, target="object") == pytest.approx(expected, abs=3)


@pytest.mark.parametrize(
    ("text", "old", "new"),
    [
        ("A cat on a mat.", "mat", "armchair"),
        ("An old dog", "old", "young"),
        ("a lot of dogs", "a lot of", "many"),
        ("a dog on a couch", "on", "in front of"),
        ("Dogs", "Dogs", "hot dogs"),
        ("", "", "dog"),
    ],
)
def test_a_gap_is_the_difference_of_the_windows(
    weights: dict[str, dict[str, float]], text: str, old: str, new: str
) -> None:
    place = text.index(old), text.index(old) + len(old)
    here, there = list(names(window(text, *place))), list(names(window(text, *place, new)))
    rng = random.Random(0)
    table = weights["positive"] = {name: rng.random() for name in sorted({*here, *there})}
    expected = sum(table[name] for name in there) - sum(table[name] for name in here)
    assert gaps(text, "positive", [Proposal(*place, new, "object", "test", 1.0)]) == pytest.approx([expected])


@pytest.mark.slow
def test_a_strict_positive_stays_away_where_it_would_give_itself_away(weights: dict[str, dict[str, float]]) -> None:
    assert drawn(replace_positive, "a dog", targets=("object",), strict=True)[""] <= 10
    weights["positive"] = {"dog": -5.0}
    assert drawn(replace_positive, "a dog", targets=("object",), strict=True)[""] > 60
    assert drawn(replace_positive, "a dog", targets=("object",))[""] == 0
    assert drawn(replace_positive, "a dog")[""] == 0


def test_a_word_offered_twice_counts_once() -> None:
    class Twice(Words):
        def _proposals(self, caption: Caption, target: Section) -> Iterator[Proposal]:
            yield from super()._proposals(caption, target)
            yield from super()._proposals(caption, target)

        synonyms = contrasts = _proposals

    candidates = list(replace_negative(Caption("a dog on a mat"), (Twice(),), random.Random(0), "object"))
    assert sorted(each.edit.to or "" for each in candidates if isinstance(each, Candidate)) == ["cat", "cow", "rug"]


def test_plain_weights_sum_to_one() -> None:
    listed = list(Words().contrasts(Caption("a dog on a mat"), "object"))
    assert sum(plain_weights(listed)) == pytest.approx(1)


# ---------------------------------------------------------------------------- learning


@pytest.fixture(scope="module")
def learner() -> dict[str, Any]:
    return runpy.run_path(str(STUDIES / "make_giveaway.py"))


def test_learning_makes_what_comes_in_go_out(learner: dict[str, Any]) -> None:
    """A common and a rare word may replace each other; half of the captions offer a third, which is the way out."""
    slot, option = learner["Slot"], learner["Option"]
    common = [option(0.5, {"a": -1, "b": 1}), option(0.5, {"c": -1, "d": 1})]
    rare = [option(0.5, {"b": -1, "a": 1}), option(0.5, {"d": -1, "c": 1})]
    captions = [(1.0, [slot("negative", "always", common)])] * 300 + [(1.0, [slot("negative", "always", rare)])] * 100
    captions += [(1.0, [slot("negative", "always", [option(0.5, {"d": -1, "c": 1})])])] * 200
    flow = learner["Flow"](captions, "negative")
    share = flow.shares(0 * flow.fit())[flow.slot]
    plain, learned = (abs(flow.mean(flow.chances(weights) * share)).sum() for weights in (0 * flow.fit(), flow.fit()))
    assert plain > 300
    assert learned < 30


@pytest.mark.parametrize("text", ["A black dog sits on a white couch", "Fewer than ten dogs sit on a couch"])
def test_learning_lists_what_the_recipe_draws_from(learner: dict[str, Any], text: str) -> None:
    """Each first negative that the recipe may write, and no other; of a count with a bound there is none."""
    caption, recipe = Caption(text), learner["RECIPE"]
    tiers = list(learner["_tiers"](caption, "negative", "object"))
    listed = {proposal.to for tier in tiers for proposal in tier}
    made = list(replace_judged(caption, recipe.sources, random.Random(0), "object", Dial()))
    assert listed == {each.edit.to for each in made if isinstance(each, Candidate)}
    assert bool(listed) == (text == "A black dog sits on a white couch")
    weights = {proposal: worth for tier in tiers for proposal, worth in tier.items()}
    chances = dict(zip(weights, reading_of(caption).chances(list(weights))[:, 0], strict=True)) if weights else {}
    assert all(worth == pytest.approx(1 / (1 - min(0.995, float(chances[each])))) for each, worth in weights.items())


@pytest.fixture
def made_data(tmp_path: Path, samples: Path) -> Path:
    """The files that the tables are learned from, made up: 2,000 COCO images, two of Flickr8k; NegCLIP's layout."""
    (tmp_path / "coco").mkdir()
    records = [
        {"image": f"val2014/COCO_val2014_{number:012d}.jpg", "caption": [f"dog {number} on a mat", f"a mat {number}"]}
        for number in range(2_000)
    ]
    (tmp_path / "coco" / "karpathy_test_first_half.json").write_text(json.dumps(records))
    (tmp_path / "flickr8k").mkdir()
    (tmp_path / "flickr8k" / "Flickr_8k.testImages.txt").write_text("2.jpg\n")
    (tmp_path / "flickr8k" / "captions.tsv").write_text("1.jpg#0\ta boy runs\n2.jpg#0\ta girl runs\n")
    shutil.copytree(samples / "negclip", tmp_path / "negclip")
    return tmp_path


def test_what_the_tables_learn_from(made_data: Path) -> None:
    halves = runpy.run_path(str(STUDIES / "caption_halves.py"))
    learned = list(halves["learning"](made_data))
    assert ("flickr8k", ["a boy runs"]) in learned and ("flickr8k", ["a girl runs"]) not in learned
    assert ("coco", ["An old man sitting on a wooden bench."]) in learned


def test_learned_and_measured_images_never_meet(
    learner: dict[str, Any], made_data: Path, whole_data: Path | None
) -> None:
    for root in (made_data, whole_data):
        if root is not None:
            never_meet(root)


def never_meet(shared_data: Path) -> None:
    halves = runpy.run_path(str(STUDIES / "caption_halves.py"))
    path = shared_data / "coco" / "karpathy_test_first_half.json"
    learned, measured = (halves["coco"](path, learned=which) for which in (True, False))
    assert abs(len(learned) - len(measured)) < 0.1 * len(learned)
    assert not {record["image"] for record in learned} & {record["image"] for record in measured}
    texts = {text for _, listed in halves["learning"](shared_data) for text in listed}
    unseen = [text for record in measured for text in record["caption"]]
    assert sum(text in texts for text in unseen) < 0.01 * len(unseen)  # "A cat on a bed." is said of many


def test_the_learned_weights_bring_words_in_as_often_as_they_go_out(
    learner: dict[str, Any], shared_data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """On captions they were not learned from, against a plain draw."""
    is_learned = runpy.run_path(str(STUDIES / "caption_halves.py"))["is_learned"]
    records = json.loads((shared_data / "coco" / "karpathy_test_first_half.json").read_text(encoding="utf-8"))
    captions = [
        Caption(text, tuple(other for other in record["caption"] if other != text))
        for record in [record for record in records if not is_learned(record["image"])][:120]
        for text in record["caption"]
    ]
    learned = net_flow(captions)
    monkeypatch.setattr(importance_weights, "_weights", lambda: {"positive": {}, "negative": {}, "judged": {}})
    monkeypatch.setattr(importance_weights, "_inside", importance_weights._inside.__wrapped__)
    plain = net_flow(captions)
    # Of negatives little is left to choose: few words are sure enough in a place.
    assert learned["positive"] < 0.9 * plain["positive"]
    assert learned["negative"] < 0.98 * plain["negative"]


def net_flow(captions: list[Caption]) -> dict[str, float]:
    """How often words come in more than they go out, or less; per replacement."""
    flows: dict[str, Counter[str]] = {"positive": Counter(), "negative": Counter()}
    made: Counter[str] = Counter()
    for caption in captions:
        result = perturb_caption(get_recipe("balanced"), caption)
        for candidate in (*result.positives, *result.negatives):
            if candidate.edit.op == "replace":
                made[candidate.kind] += 1
                flows[candidate.kind].update(candidate.text.lower().split())
                flows[candidate.kind].subtract(caption.text.lower().split())
    return {kind: sum(map(abs, flow.values())) / made[kind] for kind, flow in flows.items()}


def test_photos_that_sheets_were_written_from_are_never_read_blind(tmp_path: Path) -> None:
    (tmp_path / "coco").mkdir()
    rows = [{"id": n, "use": "train", "benchmarks": [], "captions": ["A dog"]} for n in range(200)]
    rows += [{"id": 900, "use": "eval", "benchmarks": ["x"], "captions": ["A cat"]}]
    with gzip.open(tmp_path / "coco" / "captions_train2017_part.jsonl.gz", "wt", encoding="utf-8") as lines:
        lines.writelines(json.dumps(row) + "\n" for row in rows)
    train2017 = runpy.run_path(str(STUDIES / "caption_halves.py"))["train2017"]
    learned, read = (train2017(tmp_path, which) for which in (True, False))
    assert not learned.keys() & read.keys() and len(learned) + len(read) == 200
    assert 40 < len(learned) < 110
