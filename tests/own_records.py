"""Annotation files of our own in the layouts of SugarCrepe, SugarCrepe++, VALSE and NegCLIP.

Every sentence is ours. The traps are those of the published files: captions with blanks at their ends, keys with gaps,
a second caption that equals the first, items that the annotators refused, fields that nobody reads, Python lists with
apostrophes in a table.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple


class Scene(NamedTuple):
    looks: str  # of the first thing
    thing: str
    verb: str
    where: str
    place_looks: str
    place: str
    other_looks: str  # what is not there
    other_thing: str
    other_verb: str
    other_where: str


SCENES = tuple(
    Scene(*line.split(","))
    for line in """
old,man,sitting,on,wooden,bench,young,woman,standing,behind
brown,dog,sleeping,under,round,table,white,cat,eating,on
young,girl,walking,near,stone,bridge,old,boy,running,on
red,kite,flying,above,sandy,beach,blue,balloon,lying,on
small,bird,resting,on,iron,fence,large,squirrel,climbing,beside
green,bottle,standing,behind,glass,bowl,yellow,cup,lying,in
tall,woman,waiting,beside,yellow,bus,short,child,jumping,behind
black,horse,grazing,near,white,barn,brown,cow,drinking,inside
young,boy,climbing,over,low,wall,old,girl,sitting,on
wet,umbrella,leaning,against,open,door,dry,broom,hanging,behind
large,truck,driving,past,empty,shop,small,car,parking,outside
striped,cat,hiding,behind,grey,sofa,black,dog,lying,on
old,clock,hanging,above,brick,fireplace,new,mirror,standing,beside
white,plate,lying,beside,silver,spoon,red,bowl,standing,under
happy,couple,dancing,in,quiet,street,sad,crowd,sitting,near
blue,bicycle,leaning,against,thick,tree,red,scooter,lying,under
busy,cook,standing,at,hot,stove,tired,waiter,sitting,beside
tired,farmer,resting,beside,rusty,tractor,angry,mechanic,working,under
yellow,lamp,glowing,over,narrow,desk,white,candle,standing,on
little,lamb,running,across,muddy,field,big,goat,lying,beside
plastic,chair,standing,outside,dark,tent,metal,stool,lying,inside
heavy,suitcase,lying,on,clean,bed,light,backpack,hanging,beside
cheerful,nurse,walking,through,long,hallway,serious,doctor,running,along
fluffy,rabbit,sitting,inside,paper,box,spotted,mouse,jumping,beside
sleepy,student,reading,in,sunny,park,busy,teacher,writing,beside
broken,guitar,lying,under,dusty,shelf,shiny,violin,hanging,over
fresh,apple,lying,in,woven,basket,green,pear,standing,beside
quiet,surfer,kneeling,on,long,board,loud,swimmer,lying,beside
thin,waiter,carrying,past,crowded,counter,thick,guest,waiting,behind
wild,duck,swimming,across,frozen,pond,tame,goose,standing,beside
""".split()
)


def article(words: str) -> str:
    return f"{'an' if words[0] in 'aeiou' else 'a'} {words}"


def sentence(scene: Scene, **other: str) -> str:
    one = scene._replace(**other)
    start = article(f"{one.looks} {one.thing}")
    return f"{start[0].upper()}{start[1:]} {one.verb} {one.where} {article(f'{one.place_looks} {one.place}')}."


def reworded(scene: Scene) -> str:
    return f"There is {article(f'{scene.looks} {scene.thing}')} {sentence(scene).split(scene.thing, 1)[1].strip()}"


def wrong(scene: Scene) -> dict[str, str]:
    """The hard negatives of a scene, by SugarCrepe's names."""
    plain = sentence(scene)
    return {
        "add_att": sentence(scene, thing=f"{scene.other_looks} {scene.thing}"),
        "add_obj": f"{plain[:-1]} and {article(scene.other_thing)}.",
        "replace_att": sentence(scene, looks=scene.other_looks),
        "replace_obj": sentence(scene, thing=scene.other_thing),
        "replace_rel": sentence(scene, where=scene.other_where),
        "swap_att": sentence(scene, looks=scene.place_looks, place_looks=scene.looks),
    }


def photo(number: int) -> str:
    return f"{7_000 + 31 * number:012d}.jpg"


def captions() -> list[dict[str, Any]]:
    """{"image": ..., "caption": [...]} of each scene, a few captions each, as COCO's lists have them."""
    return [
        {
            "image": f"val2014/COCO_val2014_{photo(number)}",
            "caption": [
                sentence(one),
                reworded(one),
                sentence(one)[:-1].lower(),
                f"{article(one.place).capitalize()} and {article(one.thing)} in the sun",
                f"{article(one.place).capitalize()} with {article(f'{one.looks} {one.thing}')} {one.verb} nearby .",
            ],
        }
        for number, one in enumerate(SCENES)
    ]


def write(folder: Path) -> None:
    """All files below `folder`, in one folder for each benchmark."""
    for make in (_sugarcrepe, _sugarcrepe_pp, _valse):
        name, files = make()
        (folder / name).mkdir(parents=True)
        for file, records in files.items():
            text = json.dumps(records, indent=1, ensure_ascii=False)
            (folder / name / f"{file}.json").write_text(text, encoding="utf-8")
    (folder / "negclip").mkdir()
    (folder / "negclip" / "valid_neg_clip.tsv").write_text(_negclip(), encoding="utf-8")


def _sugarcrepe() -> tuple[str, dict[str, Any]]:
    files: dict[str, Any] = {name: {} for name in wrong(SCENES[0])}
    for number, scene in enumerate(SCENES):
        blank = " " if number % 7 == 3 else ""
        for name, text in wrong(scene).items():
            record = {"filename": photo(number), "caption": sentence(scene) + blank, "negative_caption": text}
            files[name][str(3 * number)] = record  # keys have gaps
    return "sugarcrepe", files


def _sugarcrepe_pp() -> tuple[str, dict[str, Any]]:
    files: dict[str, list[Any]] = {name: [] for name in wrong(SCENES[0]) if not name.startswith("add")}
    for number, scene in enumerate(SCENES):
        for name, listed in files.items():
            about = {"id": 4 * number, "filename": photo(number), "caption": sentence(scene)}
            listed.append({**about, "caption2": reworded(scene), "negative_caption": wrong(scene)[name]})
    same = dict(files["replace_att"][3])
    files["replace_att"].insert(4, {**same, "id": 14, "caption2": same["caption"]})
    return "sugarcrepe_pp", files


_NUMBERS = ("two", "three", "four", "five")


def _valse() -> tuple[str, dict[str, Any]]:
    files: dict[str, dict[str, Any]] = {}

    def add(file: str, dataset: str, image: str, key: str, texts: tuple[str, str], **more: Any) -> None:
        place = len(files.setdefault(file, {}))
        votes = {6: 0, 11: 1}.get(place, 2 + place % 2)  # fewer than two of three: refused by the annotators
        caption, foil = texts
        about = {"dataset": dataset, "image_file": image, "linguistic_phenomena": file, "original_split": "test"}
        scores = {"grammaticality_scores": [0.5, place], "mturk": {"foil": 0, "caption": votes, "other": 3 - votes}}
        files[file][key] = about | scores | more | {"caption": caption, "foil": foil}

    for number, one in enumerate(SCENES[:20]):
        plain, bad = sentence(one), wrong(one)
        seen, coco, swig = f"v7w_{900 + number}.jpg", photo(number), f"{one.verb}_{number}.jpg"
        there = (f"There is no {one.other_thing} here.", f"There is one {one.other_thing} here.")
        add("existence", "visual7w", seen, f"existence_{number}", there, classes=0, classes_foil=[2, 1])
        counts = (_NUMBERS[number % 4], _NUMBERS[(number + 1) % 4])
        for file in ("counting-hard", "counting-small-quant"):
            many = tuple(f"There are exactly {count} {one.thing}s near the {one.place}." for count in counts)
            add(file, "visual7w", seen, f"{file}_{number}", many, classes=number % 4 + 2)  # type: ignore[arg-type]
        plural = (plain, plain.replace(f"{one.place}.", f"{one.place}s."))
        add("plurals", "coco2017", coco, f"plurals:coco2017:{number}", plural, classes=one.place)
        relation = (plain, bad["replace_rel"])
        add("relations", "coco_2017", coco, f"relations:coco_2017:{number}", relation, classes=one.where)
        action = (plain, sentence(one, verb=one.other_verb))
        add("action-replacement", "SWiG", swig, f"actions_test_{number}", action, classes=one.verb)
        add("actant-swap", "SWiG", swig, f"actions_test_{number}", (plain, bad["swap_att"]), classes=one.thing)
        asked = tuple(f"{plain} is it outdoors? {answer}." for answer in ("yes", "no"))
        past = "train" if number % 3 else "val"
        image = f"COCO_{past}2014_{coco}"
        add("coreference-standard", "VisDial_v1.0", image, f"coref_{number}", asked, classes="yes")  # type: ignore[arg-type]
        image = f"COCO_val2014_{coco}"
        add("foil-it", "FOIL dataset", image, str(1_000_000 + number), (plain, bad["replace_obj"]), classes=one.thing)
    return "valse", files


def _negclip() -> str:
    """A row's place is its id, and its hard images are rows that need not be there."""
    lines = ["\ttitle\tfilepath\tneg_caption\tneg_image"]
    for number, scene in enumerate(SCENES):
        title = sentence(scene) if number != 12 else "A cook's spoon lying near the waiter's cup."
        spaced = wrong(scene)["swap_att"].replace(".", " .")
        swapped = [spaced] if number != 12 else ["A waiter 's spoon lying near the cook 's cup ."]
        if number % 3 == 0 and number != 12:
            swapped.append(sentence(scene, thing=scene.place, place=scene.thing).replace(".", " ."))
        hard = [number + 1, number + 2, 4_000 + number]
        lines.append(f"{number}\t{title}\tcoco/val2014/COCO_val2014_{photo(number)}\t{swapped!r}\t{hard}")
    return "\n".join(lines) + "\n"
