"""The prompts with which Kamath et al. 2024 (Appendix C.1) had Llama-2-70B-chat write hard positives.

REPLACE and SWAP are the published texts, since they are the method. The two prompts for relations are only described
there; ours follow the description, with one example each. The paper sampled without a seed and checked nothing; we
decode deterministically and check every answer (`answers.py`). The tokens an answer may have are the paper's (C.2): 20
for SWAP, whose captions are short, and 30 for REPLACE; the public code has 20 for both.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from equipoise.items import Operation

PromptName = Literal["REPLACE", "SWAP", "REPLACE_VERB", "REPLACE_SPATIAL"]


class Prompt(NamedTuple):
    name: PromptName
    op: Operation
    template: str
    max_tokens: int = 30

    def about(self, caption: str) -> str:
        return self.template.replace("{example}", caption)


_SHOTS = (
    ("three giraffes and two antelope", "two antelopes and three giraffes"),
    (
        "a blue and white stained glass clock shows the time",
        "a white and blue stained glass clock shows the time",
    ),
    ("a mixture of rice and broccoli are put together", "a mixture of broccoli and rice are put together"),
    ("a bathroom with a sink, toilet and shower", "a bathroom with a sink, shower and toilet"),
    (
        "there is a man wearing glasses and holding a wine bottle",
        "there is a man holding a wine bottle and wearing glasses",
    ),
)


def _with_shots(instruction: str, *shots: tuple[str, str]) -> str:
    lines = [instruction]
    for given, wanted in shots:
        lines += [f"Input: {given}", f"Output: {wanted}"]
    return "\n".join([*lines, "Input: {example}", "Output:"])


PROMPTS: dict[PromptName, Prompt] = {
    prompt.name: prompt
    for prompt in (
        Prompt(
            "REPLACE",
            "replace",
            "Replace one word in this sentence with a synonym, without changing the meaning of the sentence. "
            "Only output the changed sentence.\n\n{example}",
        ),
        Prompt(
            "SWAP",
            "swap",
            _with_shots(
                'Swap the words around the word "and" in a sentence without changing the meaning. '
                "Only respond with the changed sentence.",
                *_SHOTS,
            ),
            max_tokens=20,
        ),
        Prompt(
            "REPLACE_VERB",
            "replace",
            _with_shots(
                "Replace one verb in this sentence with a synonym, without changing the meaning of the sentence. "
                "Only output the changed sentence.",
                ("a woman wearing a long coat", "a woman clothed in a long coat"),
            ),
        ),
        Prompt(
            "REPLACE_SPATIAL",
            "replace",
            _with_shots(
                "Replace a spatial preposition in this sentence with a synonym, without changing the meaning of the "
                "sentence. Only output the changed sentence.",
                ("a cat asleep under a chair", "a cat asleep beneath a chair"),
            ),
        ),
    )
}
