"""studies/ledger: the scripts behind the ledger page, on the shared files."""

from __future__ import annotations

import functools
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import browsing
from tests.evaluation.comparing import exact

from equipoise.evaluation.outcomes import Outcomes, outcomes_of
from equipoise.evaluation.scores import ItemScores
from equipoise.published import measuring
from equipoise.published.logs.reading import read_logs
from equipoise.published.measuring import log_runs
from equipoise.published.reading import read_any
from studies.ledger import answers, courts, make, printed, twice

SHARED = Path(os.environ["EQUIPOISE_TEST_DATA"])
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not (SHARED / "published_scores").is_dir(), reason="needs ../shared/data"),
]


browser = browsing.browser


@functools.cache
def _log(*paths: Path) -> Any:
    return read_logs(paths)


def read_log(paths: Sequence[Path]) -> Any:
    return _log(*paths)


@pytest.fixture(scope="module", autouse=True)
def read_once() -> Iterator[None]:
    """Several modules read and judge the same files, which takes most of the time: each does so once."""
    kept: dict[Any, Any] = {}
    judged: dict[int, Any] = {}

    def read(paths: Sequence[Path], bench: str) -> Any:
        key = (*paths, bench)
        if key not in kept:
            kept[key] = read_any(paths, bench)
        return kept[key]

    def judge(rows: Sequence[ItemScores]) -> Outcomes:
        if id(rows) not in judged:
            judged[id(rows)] = rows, outcomes_of(rows)  # the rows too: their id could become another's
        outcomes: Outcomes = judged[id(rows)][1]
        return outcomes

    with pytest.MonkeyPatch.context() as patch:
        for module in (answers, courts, printed, twice):
            patch.setattr(module, "read_any", read)
            patch.setattr(module, "outcomes_of", judge)
        patch.setattr(measuring, "read_any", read)
        patch.setattr(twice, "read_logs", read_log)
        yield


def test_mcnemar_against_the_binomial_sum() -> None:
    mcnemar = make.mcnemar
    assert mcnemar(2, 8) == pytest.approx(exact.mcnemar(2, 8))
    assert mcnemar(5, 5) == 1 and mcnemar(0, 0) == 1
    assert 0 < mcnemar(30_000, 31_000) < 1e-4


def test_courts_find_planted_labels_sooner_than_counting() -> None:
    outcomes, items = courts.result_sets(SHARED)
    counts = {name: len(one) for name, one in outcomes.items()}
    assert len(items) == 7511 and list(counts.values()) == [7511, 7511, 7511, 7266, 7266, 2931, 2931, 2931]
    answers, raw, notes = courts.tables(outcomes, items)
    assert len(answers.models) == 6 and len(notes) == 2
    by_model, by_count, by_all = courts.trial(answers, raw, 0).values()
    assert by_model > 0.8 and by_model > by_count > by_all
    failed = np.flatnonzero((raw.right == 0).all(1))
    assert len(failed) == 9


@pytest.fixture(scope="module")
def answered() -> Any:
    return make.everything(SHARED)


@pytest.fixture(scope="module")
def rows(answered: Any) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = make.measured(*answered)
    return found


@pytest.mark.parametrize(
    ("bench", "model", "values", "n"),
    [
        ("SugarCrepe++", "XLM-R ViT-B/32", [79.7, 75.3, 69.6, 15.9], 4757),
        ("SugarCrepe", "GPT-4V", [91.1, 93.8, 88.0, 7.5], 7064),
        ("VSR, symmetric", "Qwen2-VL-7B", [76.8, 77.3, 68.0, 18.1], 603),
        ("VSR, symmetric", "Qwen2-VL-7B + hard-negative LoRA", [83.3, 84.7, 76.6, 14.8], 603),
        ("VSR, inverse", "Qwen2-VL-7B", [87.6, 85.8, 81.7, 10.1], 169),
        ("What's Up", "LLaVA", [58.4, 55.3, 33.5, 54.1], 418),
        ("Predicate-noun", "CLIP", [52.1, 52.7, 42.7, 19.4], 2584),
        ("TDBench, turned by 90°", "GPT-4.1", [75.0, 73.4, 66.8, 18.5], 1152),
        ("T2I judges, DSG then TIFA", "InstructBLIP", [81.4, 81.3, 73.7, 15.4], 23437),
    ],
)
def test_the_numbers_are_those_of_the_sources(
    rows: list[dict[str, Any]], bench: str, model: str, values: list[float], n: int
) -> None:
    row = make.pick(rows, bench, model)
    assert [round(row[name].value, 1) for name in ("right", "again", "both", "flips")] == values
    assert row["flips"].n == n and row["flips"].low < values[-1] < row["flips"].high


def test_items_are_shown_with_their_texts(rows: list[dict[str, Any]]) -> None:
    for bench, sign in (("SugarCrepe++", "\n✗ "), ("VSR, symmetric", "(truth: True)\n"), ("Predicate-noun", "\n✗ ")):
        row = make.pick(rows, bench)
        assert all(sign in row["bench"].texts[item] for item in row["right"].items) or bench == "VSR, symmetric"
        assert any(sign in text for text in row["bench"].texts) and len(row["right"].items) == 6


def test_an_item_says_its_type_and_what_was_answered(rows: list[dict[str, Any]]) -> None:
    gpt, llava = make.pick(rows, "SugarCrepe", "GPT-4V"), make.pick(rows, "What's Up")
    assert all(make.text(gpt["bench"], item).startswith("Type: ") for item in gpt["flips"].items)
    for item in gpt["flips"].items:
        words = ["right", "wrong"] if gpt["entry"].right[item] else ["wrong", "right"]
        assert make.said(gpt, item) == f"Its answers: {words[0]} on the original, {words[1]} on the changed version."
    refused = int(np.flatnonzero(np.isnan(gpt["entry"].flips) & ~np.isnan(gpt["entry"].right))[0])
    assert make.said(gpt, refused).endswith("At least once it chose neither.")
    photos = llava["bench"].cluster
    place = photos.index("bottle_on_table.jpeg")
    assert llava["bench"].texts[place] == (
        "bottle_on_table.jpeg (truth: On top)\nIt answered “On top” when the options held “On top”, “Left” when they "
        "held “Above” instead."
    )


def test_the_findings_claim_no_more_than_the_numbers(rows: list[dict[str, Any]]) -> None:
    first, _, third, _ = make.findings(rows, SHARED)
    assert "right on 79.7 % of items, its rewording on 75.3 %, both on only 69.6 %" in first["words"]
    assert "is not significant: p = 0.32 and 0.08" in third["words"]
    base, *tuned = (make.pick(rows, "VSR, symmetric", end) for end in ("-7B", "-7B + LoRA", "-negative LoRA"))
    assert min(make.differ(base["entry"].flips, one["entry"].flips, one["cluster"]) for one in tuned) > make.LEVEL


def test_a_tie_is_neither_right_nor_a_change() -> None:
    _, (entry,) = answers.carried_out(next(answers.plans(SHARED)), SHARED)
    counts = [int(one.sum()) for one in (entry.right, entry.both, entry.flips)]
    assert counts == [3790, 3309, 754]


def test_groups_are_corrected_for_the_number_of_pairs() -> None:
    """Nine wins to one: p = 0.02 alone, which two models part; of three models, three tests do not."""
    better, worse = np.ones(40), np.r_[np.zeros(9), np.ones(31)]
    better[9] = 0
    two, three = (
        [answers.Entry("b", "m", "ebug", right) for right in some] for some in ([better, worse], [better, worse, worse])
    )
    assert make.tiers(two, np.arange(40)) == [1, 2] and make.tiers(three, np.arange(40)) == [1, 1, 1]
    photos = np.arange(40) // 10  # nine of the wins are on one photo
    assert make.tiers(two, photos) == [1, 1]


def test_groups_hold_what_cannot_be_told_apart(rows: list[dict[str, Any]]) -> None:
    by_name = {row["entry"].model: row for row in rows if row["bench"].name == "SugarCrepe"}
    assert [row["group"] for row in by_name.values()] == [1, 2, 3, 4]
    same = [row["group"] for row in rows if row["bench"].name == "VSR, inverse"]
    assert same == [1, 1, 1], "169 statements do not part 88.8 from 87.6"
    wino = [row for row in rows if row["bench"].name == "Winoground"]
    assert len(wino) == 75 and wino[0]["group"] == 1 and wino[-1]["group"] == max(row["group"] for row in wino)
    tests = {row["bench"].name: row["test"] for row in rows}
    assert (tests["Winoground"], tests["SugarCrepe"]) == ("Groups: McNemar’s exact test.", "Groups: test over photos.")
    assert tests["What's Up"] == "No group: only one model." and tests["Winoground (mteb)"] == ""
    assert [row["group"] for row in rows if row["entry"].aggregate is not None] == [0] * 240


@pytest.mark.slow
@pytest.mark.skipif(browsing.CHROMIUM is None, reason="needs a browser: apt-get install chromium")
@pytest.mark.parametrize("width", [390, 1280])
def test_the_page_in_a_browser(browser: Any, page: str, tmp_path: Path, width: int) -> None:
    (tmp_path / "ledger.html").write_text(page, encoding="utf-8")
    with browsing.visiting(browser) as visit:
        shown = visit((tmp_path / "ledger.html").as_uri(), width)
        assert shown.evaluate("document.documentElement.scrollWidth") == width
        assert shown.locator("figure").count() == 4
        assert shown.locator("#count").inner_text() == "29 of 367 results"
        assert "3 more are hidden" in shown.locator('tbody[data-bench="SugarCrepe"] .rest').inner_text()
        shown.select_option("#f-bench", "")
        longest = "Math.max(...[...document.querySelectorAll('#table tbody')].map((body) => "
        assert shown.evaluate(longest + "body.querySelectorAll('tr[data-family]:not([hidden])').length))") == 5
        shown.select_option("#f-family", "SigLIP")
        shown.select_option("#f-bench", "Winoground")
        assert shown.locator("#count").inner_text() == "75 of 367 results", "another benchmark shows every family"
        shown.select_option("#f-family", "SigLIP")
        assert shown.locator("#count").inner_text().startswith("0 of 367 results: no model of this family")
        shown.select_option("#f-family", "OFA")
        assert shown.locator("#count").inner_text() == "4 of 367 results"
        assert shown.locator("#table tbody tr[data-family]:visible").count() == 4
        shown.locator("figure button.to").nth(1).click()
        dialog = shown.locator("dialog")
        assert "GPT-4V changes its answer on 531 of 7,064 items" in dialog.inner_text()
        assert dialog.locator("li").count() == 6 and "✗" in dialog.locator("li").nth(0).inner_text()
        assert all("Its answers: " in one for one in dialog.locator("li").all_inner_texts())
        address = dialog.locator("a").get_attribute("href")
        assert address == "https://github.com/RAIVNLab/sugar-crepe/tree/0047054"


@pytest.fixture(scope="module")
def page(answered: Any, rows: list[dict[str, Any]]) -> str:
    """The page of the rows above: to measure them again takes 20 seconds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(make, "everything", {SHARED: answered}.__getitem__)
        patch.setattr(make, "measured", lambda *given: [dict(row) for row in rows] if given == answered else None)
        return str(make.page(SHARED))


def test_the_page_says_how_few_were_asked_in_two_ways(page: str) -> None:
    assert "29 published results, of 16 models, ask in two ways" in page
    assert "The table has 367 results on 27 benchmarks. 127 of them, on 21 benchmarks" in page
    assert "The other 240 are mteb’s totals on 6 benchmarks, published without answers" in page


def test_the_page_names_no_path_of_this_machine(page: str) -> None:
    assert str(SHARED.resolve()) not in page and "/work/" not in page and "/root/" not in page
    assert "<script src" not in page and "@import" not in page and len(page) < 1_000_000


# ---------------------------------------------------------------------------- every number that the sources print


def test_every_printed_number_is_met() -> None:
    found = list(printed.numbers(SHARED))
    assert [(one.source, one.model) for one in found if not one.met] == [("colorswap", "llava")]
    assert sum(len(one.printed) for one in found) == 338 and not printed.siglip(SHARED)
    assert all(one.met or one.why != "NOT EXPLAINED" for one in found)
    wrong = found[0]._replace(printed=("0.00", *found[0].printed[1:]))
    assert not wrong.met and wrong.why == "NOT EXPLAINED"


VILA, QWEN = "vlmevalkit/vila_8b/vila_8b_", "vlmevalkit/Qwen2.5-VL-7B-Instruct/Qwen2.5-VL-7B-Instruct_ScienceQA_TEST"
TURNED = " ".join(f"vlmevalkit/gpt-4.1/gpt-4.1-2025-04-14_tdbench_rot{angle}.xlsx" for angle in (0, 90, 180, 270))
LLAVA = "llava/vsr/llava-v1.5-{}/zeroshot_predictions.jsonl.gz llava/vsr/VSR_test_TF.json.gz"
LOGS = {  # files of a log: what the notes next to them state, in percent
    "llava/mmbench/answers_upload/mmbench_dev_20230712/llava-v1.5-13b.xlsx": {
        "the first rotation": 75.4, "right_every_time": 67.7, "order_flips": 19.9,
    },
    f"{VILA}HallusionBench.xlsx {VILA}HallusionBench_auxmatch.xlsx": {
        "aAcc": 52.26, "fAcc": 22.25, "qAcc": 20.66, "constant_answers": 81.6,
    },
    f"{VILA}POPE.xlsx {VILA}POPE_auxmatch.xlsx": {"acc": 85.03, "accuracy": 89.25},
    # Of all 510 questions; the notes leave out seven, of which an answer does not begin with a letter.
    f"{VILA}CCBench.xlsx": {"the first rotation": 49.8, "right_every_time": 33.9, "order_flips": 49.8},
    TURNED: {"original": 75.0, "right_every_time": 61.1, "picture_flips": 28.9},
    LLAVA.format("7b"): {"accuracy": 51.5},
    LLAVA.format("13b"): {"accuracy": 72.0},
    f"{QWEN}_openai_result.xlsx": {"accuracy": 88.9},
    f"{QWEN}_QCME_openai_result.xlsx": {"accuracy": 96.5},
    f"{QWEN}_openai_result.xlsx {QWEN}_QCME_openai_result.xlsx": {"context_flips": 8.3},
}  # fmt: skip


@pytest.mark.parametrize("files", LOGS, ids=lambda files: files.split()[0].rpartition("/")[2])
def test_every_stated_number_of_the_logs_is_found(files: str) -> None:
    read = read_log([SHARED / "harness_logs" / file for file in files.split()])
    assert read is not None
    ((log,), _) = read
    found = log_runs([log])[0].record.metrics.overall
    for name, stated in LOGS[files].items():
        value = log.scores[name] if name in log.scores else 100 * (found[name] or 0)
        digits = len(str(stated).partition(".")[2])
        assert round(value, digits) == stated, name
