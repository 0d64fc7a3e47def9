"""studies/coco: the paper's rule for REPLACE, how settings are chosen, and no test photo is in training."""

from __future__ import annotations

import importlib
import json
import random
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from equipoise.data.items import Edit, Item, texts

ROOT = Path(__file__).resolve().parents[2]


def load(name: str) -> Any:
    return importlib.import_module(f"studies.coco.{name}")


def test_an_averaged_model_may_lose_as_much_recall_as_the_limit_says() -> None:
    choice = load("choice")
    control = {f"{kind}/augmented": 50.0 for kind in choice.CHOSEN_ON}
    control |= {f"{way}@{top}": 40.0 for way in ("t2i", "i2t") for top in (1, 5, 10)}
    more = {key: value + 5 if key.endswith("/augmented") else value - 0.4 for key, value in control.items()}
    assert choice.worth(more, control, 0.5) > choice.worth(control, control, 0.5)
    assert choice.worth(more, control, 0.3) < choice.worth(control, control, 0.3)


def test_replace_is_the_mean_of_its_two_parts() -> None:
    """As in the paper: 572 attributes weigh as much as 986 relations, in levels and in differences."""
    kept = load("kept")
    parts = [kept.scores("m")[f"control-0/{part}"] for part in kept.JOINED["replace"]]
    assert [part.shape[1] for part in parts] == [986, 572]
    wanted = 100 * np.mean([((c > 0) & (p > 0)).mean() for c, p in parts])
    assert kept.level("m", "control", "replace", "augmented", [0]) == pytest.approx(wanted)
    pair = ("ours", "control")
    bases = kept.seeds("m", *pair)
    after, before = (kept.level("m", name, "replace", "augmented", bases) for name in pair)
    found = kept.compared(("m", *pair, "replace", "augmented"))
    assert 100 * found.difference == pytest.approx(after - before)


def test_the_wrong_human_caption_is_of_another_photo_and_shares_rare_words() -> None:
    data = load("data")
    texts = [["a cat on a sofa", "a cat sleeps"], ["a cat under a sofa", "one cat"], ["a boat", "a red boat at sea"]]
    rows = [{"id": n, "captions": own} for n, own in enumerate(texts)]
    found = {item.id: item for item in data.human_items(rows)}
    first = found["human/0"]
    assert (first.caption, first.positives[0].text) == ("a cat on a sofa", "a cat sleeps")
    assert first.negatives[0].text == "a cat under a sofa"
    assert all(item.negatives[0].text not in texts[int(item.id[-1])] for item in found.values())


def test_a_phrase_is_cut_out_of_its_caption_with_its_edits_and_its_converse() -> None:
    phrases = load("phrases").phrases
    item = Item(
        id="1",
        caption="A white cat on top of a car in a street.",
        negatives=texts(
            "A black cat on top of a car in a street.",
            "A white cat on top of a car in a field.",
            edit=Edit(op="replace", target="object"),
        ),
    )
    found = {phrase.caption.replace("a car", "car"): phrase for phrase in phrases(item, random.Random(0))}
    whole = found["white cat on top of car"]
    said = lambda own: [one.text.replace("a car", "car") for one in own]  # noqa: E731
    assert said(whole.positives) == ["car under white cat"]
    assert said(whole.negatives) == ["car on top of white cat", "black cat on top of car"]  # not the one cut elsewhere
    assert said(found["white cat"].negatives) == ["black cat"] and not found["white cat"].positives
    near = next(phrases(Item(id="2", caption="A cup next to a plate."), random.Random(1)))
    assert said(near.positives)[0].endswith("next to cup") and not near.negatives


def test_a_thesaurus_leaves_the_words_of_replace_to_the_test() -> None:
    thesaurus = load("thesaurus")
    item = Item(id="1", caption="A red bus in front of a white building.")
    written = {
        known: [one for seed in range(40) for one in thesaurus.reworded(item, random.Random(seed), known)]
        for known in (False, True)
    }
    said = {
        known: {text.text for one in own for text in (*one.positives, *one.negatives)} for known, own in written.items()
    }
    assert any("crimson" in text for text in said[True]) and any("ivory" in text for text in said[True])
    assert any("scarlet" in text for text in said[False]) and any("ahead of" in text for text in said[False])
    assert not any(word in text for text in said[False] for word in ("crimson", "ivory", "ebony", "sapphire"))
    for one in written[False]:
        pair, wrong = one.positives[0].edit, one.negatives[0].edit
        assert pair and wrong
        word = pair.source if pair.source in thesaurus.ENTRIES else pair.to
        assert wrong.to in thesaurus.ENTRIES[word].excluded and wrong.to not in one.caption
    test = {one.caption: one.positives[0].text for one in thesaurus.published(item, random.Random(0))}
    assert any("crimson bus" in text for text in test.values())


def test_rounded_scores_keep_their_sign() -> None:
    rounded = load("scores").rounded
    gaps = np.array([0.0, 1e-9, -1e-9, 0.1234, -0.1234])
    exact = np.stack([0.3 + gaps, 0.3 - gaps, np.full(5, 0.3)])
    c, p, n = rounded(exact).astype(int)
    assert (np.sign([c - n, p - n]) == np.sign([gaps, -gaps])).all() and (c - n)[3] == 12 and (n == 30).all()


def test_the_setting_that_loses_nothing_is_chosen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = load("run")
    monkeypatch.setattr(run, "SHARES", (1.0,))
    monkeypatch.setattr(run, "SEARCH", [None] * 5)
    (tmp_path / "search").mkdir()
    kinds = {f"{kind}/augmented": 50.0 for kind in load("choice").CHOSEN_ON} | {
        f"{way}@{top}": 40.0 for way in ("t2i", "i2t") for top in (1, 5, 10)
    }
    for name, changed in {
        "control": {},
        "x.all.1": {"negclip/augmented": 90.0, "vsr_symmetric/augmented": 30.0},  # breaks a kind
        "x.some.1": {"negclip/augmented": 55.0},
        "x.far.1": {"negclip/augmented": 70.0, "t2i@1": 30.0},  # loses recall
        "x.none.1": {},
    }.items():
        row = {"name": name, "train": name.split(".")[-2:][0], "speed": 1.0, "options": {}, "wise": 1.0}
        (tmp_path / "search" / f"{name}-0.json").write_text(json.dumps(row | {"found": kinds | changed}))
    assert run.chosen(tmp_path, "x")["train"] == "some"
    (tmp_path / "search" / "x.none.1-0.json").unlink()
    with pytest.raises(RuntimeError, match="not finished"):
        run.chosen(tmp_path, "x")


def test_no_photo_of_a_benchmark_is_trained_on(monkeypatch: pytest.MonkeyPatch) -> None:
    data = load("data")
    monkeypatch.setattr(data, "DEV", 6)
    rows = [
        {"id": n, "photo": True, "use": "eval" if n % 3 == 0 else "train",
         "benchmarks": ["karpathy_test"] * (n % 6 == 0), "captions": ["a", "b", "c", "d"]}
        for n in range(40)
    ]  # fmt: skip
    found = data.photos_of(rows)
    names = {split: {row["id"] for row in own} for split, own in found.items()}
    assert len(names["dev"]) == 6 and len(names["train"]) == 20 and not names["dev"] & names["train"]
    assert not any(number % 3 == 0 for split in ("train", "dev") for number in names[split])
    assert names["test"] == {number for number in range(40) if number % 6 == 0}


@pytest.mark.slow
def test_levels_of_every_recipe_are_what_the_kept_scores_give() -> None:
    """By a script that imports nothing of ours."""
    script = ROOT / "studies/recompute.py"
    assert not any(line.startswith(("from studies", "from equipoise")) for line in script.read_text().splitlines())
    command = [sys.executable, str(script), "coco", "--cells", "200", "--seed", "7"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0 and "200 of 200 cells" in done.stdout, done.stdout + done.stderr
