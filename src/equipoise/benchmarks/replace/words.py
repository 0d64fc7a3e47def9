"""The words that `replace_clean` judges by, gathered from the records of REPLACE themselves."""

from __future__ import annotations

import re


def words(text: str) -> frozenset[str]:
    return frozenset(text.split())


COLOURS = words("black blue brown gray green grey orange pink purple red tan white yellow dark light bright")
GARMENTS = words(
    "apron aprons attire beanie bikini blazer blouse boots cap camouflage clothes clothing coat coats costume "
    "dress dresses gear glasses goggles gown hat hats helmet helmets hoodie hooded jacket jackets jean jeans jersey "
    "jumpsuit khakis leather outfit outfits overalls pant pants plaid polo raincoat robe sandals sari scarf shirt "
    "shirts shirt. shoes shorts skirt sneakers snowsuit socks suit suits sunglasses sweater sweatshirt swimsuit "
    "t-shirt tank tanktop tee tie tights top trousers trunks tshirt tux tuxedo uniform uniforms vest vests visor "
    "wetsuit wetsuits armor bandana caps earphones harness hoody lace stripes"
)
# What follows "in" when it names a side or a manner, not something that holds.
SIDES = words(
    "back background bottom center centre distance distant foreground forefront front horizon "
    "left middle rear right side top"
)
MANNERS = words(
    "action bloom braid braids circle class color countries flight formation half language line motion "
    "open pairs pieces pigtails pony ponytail process profile row slices"
)
IN_COMPOUND = words("and between each from in into next on out various")
WORN_NOT_IN = words(
    "12 693 and backpack badge bag bananas bands bat beads bell braclet bracelet bracelets buckle child earring "
    "earrings face fashion flower flowers hair jewelry lanyard leash lipstick makeup man medal mustache nametag "
    "necklace necklaces pack patch polish ponytail purse reflector ring rings rosary sadlle saddle seatbelt signs "
    "ski skis snowboard something tag talkie towel watch wristband wristwatch"
)
WITH_HANDS = words(
    "adult angel animal arm arms audience baby batter bear bears bird birds boarder boy boys bull cat cats catcher "
    "child children coach competitor conductor couple cow cowgirl cows dog dogs doll elephant elephants family "
    "figure finger fingers frog giraffe giraffes girl girls gorilla group guard guy guys hand hands he horse horses "
    "human jockey kid kids lady lamb male man men monkey obama officer owl panda parrot paw people performer person "
    "pig pitcher player players police policeman rider sheep she skateboarder skater skier skiers snowboarder soldier "
    "someone spectator spectators statue student students surfer teddy they thumb toddler tourist umpire woman women "
    "worker zebra zebras"
)
FLAT_ON_WALL = words(
    "art artwork board certificate clock cloud clouds collage frame frames mirror painting paintings photo photos "
    "picture pictures poster posters sun tapestry urinal oven microwave cupboard window"
)
WEARS_NOTHING = words("booth face foot head orange pizza sidewalk sleeve")
PEOPLE = words("boy boys child girl girls guy hair kid lady male man men people person player wine woman women")

# The negative is (nearly) a synonym of the caption's word or of its hard positive: chestnut is next to maroon,
# ivory to cream, ebony to dark brown, emerald to teal, and bronze is metallic.
NEAR = {
    "white": words("cream beige"),
    "black": {"dark blue", "dark brown"},
    "red": words("maroon"),
    "blue": words("teal"),
    "green": words("teal"),
    "brown": words("tan bronze beige maroon"),
    "silver": words("gray grey bronze"),
    "small": words("little tiny"),
    "big": words("huge giant large"),
    "large": words("huge giant big"),
    "huge": words("giant big large"),
    "clear": words("sunny cloudless"),
}
POSTURE = words("pointing posing resting waiting looking talking playing eating drinking reading cooking")
TOUCH = words("touching using moving adjusting")
LOOK = words("facing watching observing looking")
# What can be true at the same time. Sizes and states are listed the other way round: by what excludes them.
COMPATIBLE = {
    "standing": POSTURE | {"sleeping"},
    "sitting": POSTURE | TOUCH | LOOK | words("driving riding sleeping covering decorating surrounding"),
    "walking": POSTURE
    | TOUCH
    | LOOK
    | words("approaching chasing climbing crossing entering exiting following guiding herding leading leaving pulling"),
    "eating": words("resting talking posing waiting lying looking standing sitting playing"),
    "looking": words("posing resting waiting pointing talking playing"),
    "hanging": TOUCH | LOOK | words("resting waiting decorating covering enclosing surrounding posing"),
    "holding": TOUCH | LOOK | words("carrying catching contain enclosing grabbing hugging pulling surrounding"),
    "wearing": TOUCH,
    "wears": TOUCH,
    "riding": TOUCH | words("boarding crossing driving facing guiding leading"),
    "riding on": TOUCH | words("boarding crossing driving facing guiding leading"),
}
SMALL, LARGE = (
    words("little narrow short small thin tiny"),
    words("big giant heavy huge large long tall thick wide"),
)
WEATHER = words("cloudy foggy overcast partly rainy stormy")
EXCLUDES = {
    "big": SMALL,
    "large": SMALL,
    "huge": SMALL,
    "small": LARGE,
    "long": words("little short small tiny"),
    "wet": words("dry"),
    "old": words("young new"),
    "young": words("old"),
    "smiling": words("angry sad unhappy"),
    "clear": WEATHER,
}
# One holds it while doing the other: the object decides.
WHILE_HOLDING = re.compile(
    r"swinging .*(racket|racquet|bat|club)|reading .*(book|paper|newspaper|magazine|menu|phone|card)"
    r"|(eating|biting|chewing) .*(food|pizza|sandwich|hot ?dog|donut|doughnut|banana|apple|cake|carrot|fruit|cookie)"
    r"|smoking .*(cigarette|cigar|pipe)|flying .*kite|drinking .*(cup|glass|bottle|beer|wine|drink|mug|can|soda)"
    r"|(throwing|tossing) .*(frisbee|ball|baseball|disc)|playing .*(game|controller|remote|guitar|wii|racket)"
    r"|opening .*umbrella|(cutting|slicing) .*(knife|scissors)|brushing .*toothbrush|driving .*wheel"
)
OPPOSITE = {
    "in": "out of",
    "behind": "in front of",
    "on top of": "below",
    "near": "far from",
    "next to": "far from",
    "by": "far from",
    "under": "above",
    "above": "below",
}
ARTICLES = ("a", "an", "the")
PARTICLES = words(
    "above across against along among around at behind below beneath beside by down from in inside into near next "
    "of off on onto out outside over past through to top toward towards under up upon with"
)
