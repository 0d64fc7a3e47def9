"""Makes the data of language.forms from lemminflect (pip install lemminflect==0.2.3).

    python -m studies.make_forms_table

Writes src/equipoise/language/data/forms.npz (the weights of lemminflect's two nets) and forms.json.gz (the words of its
dictionary for which the nets and our endings do not give what it gives).
"""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

from equipoise.language import forms
from studies.harness import LANGUAGE, write_packed
from studies.harness.inputs import arguments

TAGS = ("NNS", "VBZ", "VBD", "VBN", "VBG")


def write_table(table: dict[str, Any]) -> int:
    forms._table.cache_clear()
    return write_packed(LANGUAGE / "forms.json.gz", table, ensure_ascii=False, sort_keys=True)


def ending(rule: str) -> tuple[int, str, bool]:
    """lemminflect's "ies,y,False": cut three letters, add y, do not take away a doubled letter."""
    cut, add, undouble = rule.split(",")
    return len(cut), add, undouble == "True"


def main() -> None:
    parser = arguments(__doc__)
    parser.parse_args()
    if find_spec("lemminflect") is None:
        parser.error("needs lemminflect: pip install lemminflect==0.2.3")
    import lemminflect
    from lemminflect.core.Inflections import Inflections
    from lemminflect.core.Lemmatizer import Lemmatizer

    lemmas, forms = Lemmatizer(), Inflections()
    rules, styles = lemmas._getOOVLemmatizer(), forms._getInflStyleModel()
    assert styles.output_classes == ["reg", "regd", "glreg"], "the order that forms._regular knows"
    nets = {"lemma": rules.kinfer.weights, "form": styles.kinfer.weights}
    arrays = {f"{net}_{index}": array for net, weights in nets.items() for index, array in enumerate(weights)}
    np.savez_compressed(LANGUAGE / "forms.npz", **arrays)

    table: dict[str, Any] = {name: {} for name in ("NOUN", "VERB", *TAGS)}
    table["endings"] = [ending(rule) for rule in rules.rules]
    write_table(table)  # empty as yet, so that the endings alone answer below
    words = {*lemmas._getLemmaDict(), *lemmas._getOverridesDict()}
    bases = {*forms._getInflDict(), *forms._getOverridesDict()}
    for word in sorted(word for word in words if word == word.lower()):  # others are never looked up
        for pos in ("NOUN", "VERB"):
            right = lemminflect.getLemma(word, pos)[0]
            if forms.lemma(word, pos) != right:
                table[pos][word] = right
    for word in sorted(word for word in bases if word == word.lower()):
        for tag in TAGS:
            right = lemminflect.getInflection(word, tag)
            if forms.inflections(word, tag) != right:
                table[tag][word] = right
    packed, weights = write_table(table), (LANGUAGE / "forms.npz").stat().st_size
    print({name: len(rows) for name, rows in table.items()}, f"{packed} bytes, nets {weights}")


if __name__ == "__main__":
    main()
