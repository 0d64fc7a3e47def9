"""spaCy's tagger behind our interface: a tiny one, taught here, since no English model is on PyPI."""

from __future__ import annotations

from pathlib import Path

import pytest

from equipoise.errors import UserError
from equipoise.perturb.run.engine import perturb_file
from equipoise.perturb.run.setup import Setup
from equipoise.words.spacy_tagging import identity_of, tagger_named
from equipoise.words.tagging import tag

spacy = pytest.importorskip("spacy", reason="needs the extra `spacy`")

TAUGHT = [
    ("a dog runs on the mat .", "DT NN VBZ IN DT NN ."),
    ("two dogs and a black cat", "CD NNS CC DT JJ NN"),
    ("a man in a t-shirt runs", "DT NN IN DT NN VBZ"),
    ("the black dog 's mat", "DT JJ NN POS NN"),
]


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A pipeline with a tagger that knows a few sentences by heart."""
    from spacy.tokens import Doc
    from spacy.training import Example

    nlp = spacy.blank("en")
    nlp.add_pipe("tagger")
    examples = []
    for text, tags in TAUGHT:
        words = text.split()
        told = {"words": words, "tags": tags.split()}
        examples.append(Example.from_dict(Doc(nlp.vocab, words=words), told))
    spacy.util.fix_random_seed(0)
    optimizer = nlp.initialize(lambda: examples)
    for _ in range(40):
        nlp.update(examples, sgd=optimizer)
    folder = tmp_path_factory.mktemp("spacy") / "model"
    nlp.to_disk(folder)
    return f"spacy:{folder}"


def test_the_tokens_are_ours_and_the_tags_are_the_models(model: str) -> None:
    text = "A man in a t-shirt runs"
    found, ours = tagger_named(model)(text), tag(text)
    assert [token[:3] for token in found] == [token[:3] for token in ours]
    assert [token.pos for token in found][2:] == ["IN", "DT", "NN", "VBZ"]
    assert tagger_named(model)("") == []


@pytest.mark.slow
def test_a_run_with_it_says_so(model: str, tmp_path: Path) -> None:
    """The model's name and bytes are part of the run, and two workers write what one does."""
    captions = tmp_path / "captions.txt"
    captions.write_text("a dog and a black cat on the mat\ntwo dogs and a man\n")
    setup = Setup("hard_positives_rules", tagger=model)
    report = perturb_file(captions, tmp_path / "one.jsonl", setup, shard=1)
    perturb_file(captions, tmp_path / "two.jsonl", setup, workers=2, shard=1)
    assert (tmp_path / "one.jsonl").read_bytes() == (tmp_path / "two.jsonl").read_bytes()
    assert report["setup"]["tagger"] == identity_of(model)
    assert identity_of(model).startswith(f"spacy {spacy.__version__}, en_pipeline 0.0.0, ")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("treetagger", "there are brill and spacy:MODEL"),
        ("spacy:", "there are brill and spacy:MODEL"),
        ("spacy:en_no_such_model", "spacy download en_core_web_sm"),
    ],
)
def test_what_is_not_there(name: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        tagger_named(name)


def test_a_pipeline_without_a_tagger_is_refused(tmp_path: Path) -> None:
    spacy.blank("en").to_disk(tmp_path / "blank")
    with pytest.raises(UserError, match="has no tagger, only a tokenizer"):
        tagger_named(f"spacy:{tmp_path / 'blank'}")
