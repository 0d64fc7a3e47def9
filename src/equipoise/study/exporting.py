"""A study for other annotation tools: Label Studio's tasks and configuration, Potato's data and configuration.

Roles stay out of these files too: texts are numbered in the study's order, which was drawn by seed. `question` leads
back to study.json. Label Studio's also hold the answers that stand, as annotations; Potato keeps answers in folders of
its users' accounts, which nobody else should write.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.sax.saxutils import quoteattr

from equipoise.errors import UserError
from equipoise.files import atomic_write, json_line, make_folder, write_json
from equipoise.run_folder import locked, take
from equipoise.study.questions import IMAGES, SAID, Study, Value, drawn, picture_name

TOOLS = ("label-studio", "potato")
PAIR_ROWS = {
    "same": "Do both texts say the same?",
    "grammatical_1": "Is text 1 good English?",
    "grammatical_2": "Is text 2 good English?",
    "plausible_1": "Is text 1 plausible?",
    "plausible_2": "Is text 2 plausible?",
}
Answers = Mapping[str, Mapping[int, Value]]


def export_study(folder: Path, study: Study, answers: Answers, to: str, out: Path) -> list[str]:
    """Write the study for a tool into the folder `out`; returns what to do with it, line by line."""
    if to not in TOOLS:
        raise UserError(f"--to {to}: expected {' or '.join(TOOLS)}")
    with locked(out):
        take(out, "study export", {"to": to, "study": study.digest}, writes=None)
        _copy_pictures(folder, study, out)
        return (_label_studio if to == "label-studio" else _potato)(study, answers, out)


def _copy_pictures(folder: Path, study: Study, out: Path) -> None:
    if study.pictures:
        make_folder(out / IMAGES)
    for number, picture in enumerate(study.pictures):
        path = folder / IMAGES / picture_name(number)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).hexdigest() != picture.sha256:
            raise UserError(f"{path}: missing, or not the picture this study was made with; make the study again")
        shutil.copyfile(path, out / IMAGES / path.name)


# ---------------------------------------------------------------------------- Label Studio


def _label_studio(study: Study, answers: Answers, out: Path) -> list[str]:
    with atomic_write(out / "config.xml") as handle:
        handle.write(label_studio_config(study))
    write_json(out / "tasks.json", label_studio_tasks(study, answers))
    return [
        f"Label Studio: make a project, paste {out / 'config.xml'} as its labelling interface, then import "
        f"{out / 'tasks.json'}",
        f"its server must show local files: LOCAL_FILES_SERVING_ENABLED=true LOCAL_FILES_DOCUMENT_ROOT={out.resolve()}",
    ]


def label_studio_config(study: Study) -> str:
    if study.ask == "rank":
        most = max(len(question.texts) for question in study.questions)
        buckets = "".join(
            f"\n    <Bucket name={quoteattr(str(n))} title={quoteattr(f'rank {n}')}/>" for n in range(1, most + 1)
        )
        body = (
            '  <Header value="Put each caption into a rank; captions that fit equally well share one."/>\n'
            '  <Image name="image" value="$image"/>\n'
            '  <List name="captions" value="$captions" title="Captions"/>\n'
            f'  <Ranker name="rank" toName="captions">{buckets}\n  </Ranker>'
        )
    else:
        parts = ['  <Text name="text_1" value="$text_1"/>', '  <Text name="text_2" value="$text_2"/>']
        choices = "".join(f"<Choice value={quoteattr(word)}/>" for word in SAID)
        for name, words in PAIR_ROWS.items():
            parts.append(f"  <Header value={quoteattr(words)}/>")
            parts.append(
                f'  <Choices name="{name}" toName="{_of(name)}" choice="single" required="true">{choices}</Choices>'
            )
        body = "\n".join(parts)
    return f"<View>\n{body}\n</View>\n"


def label_studio_tasks(study: Study, answers: Answers) -> list[dict[str, Any]]:
    tasks = []
    for question in study.questions:
        texts = [text.text for text in question.texts]
        if study.ask == "rank":
            data: dict[str, Any] = {
                "image": f"/data/local-files/?d={IMAGES}/{picture_name(question.image or 0)}",
                "captions": [{"id": str(n), "title": str(n), "body": text} for n, text in enumerate(texts, 1)],
            }
        else:
            data = {"text_1": texts[0], "text_2": texts[1]}
        given = {name: one[question.number] for name, one in sorted(answers.items()) if question.number in one}
        tasks.append(
            {
                "data": data | {"study": study.digest, "question": question.number},
                "annotations": [
                    {"result": _results(study, question.number, value, name), "was_cancelled": False}
                    for name, value in given.items()
                ],
            }
        )
    return tasks


def _results(study: Study, number: int, value: Value, annotator: str) -> list[dict[str, Any]]:
    """An answer as Label Studio keeps it; who gave it is a note, as accounts there are others than here."""

    def result(name: str, of: str, kind: str, said: Any) -> dict[str, Any]:
        return {
            "id": drawn(study.digest, number, annotator, name)[:10],
            "from_name": name,
            "to_name": of,
            "type": kind,
            "value": {kind: said},
            "meta": {"text": [annotator]},
        }

    if study.ask == "rank":
        ranker = {
            str(rank): [str(n) for n, given in enumerate(value, 1) if given == rank] for rank in sorted(set(value))
        }
        return [result("rank", "captions", "ranker", ranker)]
    said = {"same": value["same"]}
    for name in ("grammatical", "plausible"):
        said |= {f"{name}_{n}": word for n, word in enumerate(value[name], 1)}
    return [result(name, _of(name), "choices", [word]) for name, word in said.items()]


def _of(name: str) -> str:
    return "text_2" if name.endswith("2") else "text_1"


# ---------------------------------------------------------------------------- Potato


def _potato(study: Study, answers: Answers, out: Path) -> list[str]:
    """One project for each number of captions: Potato's questions have a fixed set of answers."""
    sizes = sorted({len(question.texts) for question in study.questions})
    told = []
    for size in sizes:
        project = out / f"texts-{size}"
        with atomic_write(project / "data" / "questions.jsonl") as handle:
            handle.writelines(json_line(record) + "\n" for record in potato_data(study, size))
        with atomic_write(project / "config.yaml") as handle:  # JSON is YAML
            handle.write(json.dumps(potato_config(study, size), indent=2, ensure_ascii=False) + "\n")
        if study.pictures and not (project / "media").exists():
            shutil.copytree(out / IMAGES, project / "media")
        told.append(f"Potato: potato start {project / 'config.yaml'} -p 8000")
    shutil.rmtree(out / IMAGES, ignore_errors=True)
    return told


def potato_data(study: Study, size: int) -> list[dict[str, Any]]:
    records = []
    for question in study.questions:
        if len(question.texts) == size:
            words = "\n".join(f"{n}. {text.text}" for n, text in enumerate(question.texts, 1))
            image = {} if question.image is None else {"image": f"/media/{picture_name(question.image)}"}
            records.append({"id": f"q{question.number:05}", "text": words, **image})
    return records


def potato_config(study: Study, size: int) -> dict[str, Any]:
    numbers = [str(n) for n in range(1, size + 1)]
    if study.ask == "rank":
        schemes: list[dict[str, Any]] = [
            {
                "annotation_type": "multirate",
                "name": "rank",
                "description": "The rank of each caption, 1 for the one that fits best; equal ones share a rank.",
                "options": [f"caption {n}" for n in numbers],
                "labels": numbers,
                "label_requirement": {"required": True},
            }
        ]
    else:
        schemes = [
            {
                "annotation_type": "radio",
                "name": name,
                "description": words,
                "labels": list(SAID),
                "label_requirement": {"required": True},
            }
            for name, words in PAIR_ROWS.items()
        ]
    text = {"key": "text", "type": "text", "display_options": {"preserve_whitespace": True}}
    image = {"key": "image", "type": "image", "display_options": {"max_width": 800}}
    return {
        "annotation_task_name": "Which caption fits?" if study.ask == "rank" else "Two texts",
        "task_dir": ".",
        "output_annotation_dir": "annotation_output",
        "output_annotation_format": "json",
        "data_files": ["data/questions.jsonl"],
        "item_properties": {"id_key": "id", "text_key": "text"},
        "user_config": {"allow_all_users": True, "users": []},
        **({"media_directory": "media"} if study.pictures else {}),
        "instance_display": {"fields": [*([image] if study.pictures else []), text]},
        "annotation_schemes": schemes,
    }
