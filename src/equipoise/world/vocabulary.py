"""The world's vocabulary: every value has one common word and rarer synonyms.

The first word of a value is the common one, the only one that clean captions use. The rarer ones are split
for good: all but the last may be used by finetuning positives ("seen"), the last never is ("unseen"), so that
a test can tell a learned word from a learned rule. A synonym here is what a person would accept for this
world's pictures (every crimson thing of the world is red).
"""

from __future__ import annotations

from typing import NamedTuple

Values = dict[str, tuple[str, ...]]

KINDS: Values = {
    "cat": ("cat", "feline", "kitty"),
    "house": ("house", "cottage", "dwelling"),
    "tree": ("tree", "pine", "fir"),
    "car": ("car", "automobile", "sedan"),
    "fish": ("fish", "trout", "carp"),
    "cup": ("cup", "mug", "teacup"),
    "star": ("star", "pentagram", "pentacle"),
    "flower": ("flower", "blossom", "bloom"),
    "box": ("box", "crate", "carton"),
    "boat": ("boat", "sailboat", "dinghy"),
    "book": ("book", "tome", "volume"),
    "hat": ("hat", "topper", "headgear"),
    "key": ("key", "latchkey", "passkey"),
    "heart": ("heart", "valentine", "sweetheart"),
    "ring": ("ring", "hoop", "circle"),
    "moon": ("moon", "crescent", "sickle"),
    "rabbit": ("rabbit", "bunny", "hare"),
    "rocket": ("rocket", "spaceship", "spacecraft"),
    "umbrella": ("umbrella", "parasol", "brolly"),
    "bottle": ("bottle", "flask", "carafe"),
    "mushroom": ("mushroom", "toadstool", "fungus"),
    "ghost": ("ghost", "phantom", "spectre"),
    "crown": ("crown", "diadem", "coronet"),
    "bell": ("bell", "chime", "handbell"),
    "arrow": ("arrow", "pointer", "dart"),
    "flag": ("flag", "banner", "pennant"),
    "gift": ("gift", "present", "parcel"),
}

COLOURS: Values = {
    "red": ("red", "crimson", "scarlet", "ruby"),
    "orange": ("orange", "tangerine", "apricot", "marigold"),
    "yellow": ("yellow", "lemon", "canary", "saffron"),
    "green": ("green", "emerald", "verdant", "jade"),
    "blue": ("blue", "azure", "cobalt", "sapphire"),
    "purple": ("purple", "violet", "plum", "mauve"),
    "pink": ("pink", "rosy", "fuchsia", "blush"),
    "brown": ("brown", "chestnut", "chocolate", "umber"),
    "black": ("black", "ebony", "inky", "sable"),
    "white": ("white", "snowy", "ivory", "alabaster"),
}

SIZES: Values = {
    "small": ("small", "little", "petite", "compact"),
    "big": ("big", "large", "sizeable", "hefty"),
}

TEXTURES: Values = {
    "plain": ("plain", "solid", "uniform", "unpatterned"),
    "striped": ("striped", "banded", "streaked", "lined"),
    "dotted": ("dotted", "spotted", "speckled", "flecked"),
    "checked": ("checked", "chequered", "plaid", "gingham"),
}

RELATIONS: Values = {
    "left": ("left of", "west of", "leftward of", "leftwards from"),
    "right": ("right of", "east of", "rightward of", "rightwards from"),
    "above": ("above", "over", "higher than", "north of"),
    "below": ("below", "beneath", "underneath", "south of"),
    "on": ("on", "upon", "atop", "perched on"),
    "in": ("in", "inside", "within", "enclosed by"),
}

# Only pretraining captions say where on the picture a thing is.
PLACES: Values = {
    "top": ("at the top", "up high", "topmost"),
    "bottom": ("at the bottom", "down low", "lowermost"),
    "left": ("on the left", "leftmost", "westernmost"),
    "right": ("on the right", "rightmost", "easternmost"),
}

# Numbers and absence are kept out of finetuning altogether: they make the unseen perturbation type.
NUMBERS: Values = {
    "1": ("one", "a single", "a lone"),
    "2": ("two", "a pair of", "a couple of"),
    "3": ("three", "a trio of", "a triplet of"),
}
ABSENCE: Values = {"no": ("no", "not any", "not a single")}

# What a thing does, shown by marks around it, so any kind can do it. Only `finetune-actions` speaks of it: the base
# model was pretrained without verbs, and its tokenizer spells them in pieces.
ACTIONS: Values = {
    "sleeping": ("sleeping", "dozing", "napping", "slumbering"),
    "jumping": ("jumping", "leaping", "hopping", "bouncing"),
    "shaking": ("shaking", "trembling", "quivering", "shivering"),
    "glowing": ("glowing", "shining", "beaming", "gleaming"),
}

FAMILIES: dict[str, Values] = {
    "kind": KINDS,
    "colour": COLOURS,
    "size": SIZES,
    "texture": TEXTURES,
    "relation": RELATIONS,
    "place": PLACES,
    "number": NUMBERS,
    "absence": ABSENCE,
    "action": ACTIONS,
}
ATTRIBUTES = ("size", "texture", "colour")  # in the order in which they stand before a noun

# What the web writes around a picture and what no picture answers to.
FILLERS = ("photo", "stock", "image", "hd", "wallpaper", "free", "cute", "nice", "new", "art", "print", "vector")


class Word(NamedTuple):
    """A value and the word chosen to say it: truth looks at the value, text at the word."""

    family: str
    value: str
    text: str


def common(family: str, value: str) -> Word:
    return Word(family, value, FAMILIES[family][value][0])


def seen(family: str, value: str) -> tuple[str, ...]:
    """The rarer synonyms that finetuning positives may use."""
    return FAMILIES[family][value][1:-1]


def unseen(family: str, value: str) -> tuple[str, ...]:
    """The rarer synonyms that finetuning positives never use."""
    return FAMILIES[family][value][-1:]


def plural(noun: str) -> str:
    if noun.endswith(("sh", "x", "s", "ch")):
        return noun + "es"
    return noun if noun == "headgear" else noun + "s"


def article(following: str) -> str:
    return "an" if following[0] in "aeiou" and not following.startswith("uni") else "a"
