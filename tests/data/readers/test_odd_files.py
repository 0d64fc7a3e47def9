"""Files as other programs really write them: no name, mark or damage may cost captions in silence."""

from __future__ import annotations

import gzip
import io
import json
import os
import tarfile
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest

from equipoise.core.errors import UserError
from equipoise.data.readers.captions.groups import Group, read_captions

ROWS = [("a.jpg", "a cat on a mat"), ("a.jpg", "one black cat"), ("b.jpg", "a dog")]
GROUPED = [("a.jpg", ["a cat on a mat", "one black cat"]), ("b.jpg", ["a dog"])]


def table(names: str, mark: str) -> str:
    return "".join(mark.join(row) + "\n" for row in (names.split(), *ROWS))


def texts(groups: list[Group]) -> list[tuple[str | None, list[str]]]:
    return [(group.image, [record.text for record in group.records]) for group in groups]


def refused(groups: list[Group]) -> list[tuple[str, str]]:
    return [pair for group in groups for pair in group.refused]


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("excel.csv", table("image caption", ";")),
        ("open_clip.csv", table("filepath title", "\t")),
        ("comma.tsv", table("image caption", ",")),
        ("flickr30k.csv", "image_name| comment_number| comment\n" + "".join(f"{i}| 0| {t}\n" for i, t in ROWS)),
        ("windows.csv", "\ufeff" + table("image caption", ",").replace("\n", "\r\n")),
        ("quoted.csv", '"image","caption"\n' + "".join(f'"{i}","{t}"\n'.replace(" ", "\n") for i, t in ROWS)),
        ("kaggle_flickr8k.txt", table("image caption", ",")),
        ("Flickr8k.token.txt", "".join(f"{image}#{place}\t{text}\n" for place, (image, text) in enumerate(ROWS))),
        ("datasets.json", "".join(json.dumps({"image": image, "caption": text}) + "\n" for image, text in ROWS)),
    ],
    ids=lambda value: value if len(value) < 20 else "",
)
def test_tables_by_any_name(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_bytes(content.encode())
    assert texts(list(read_captions(tmp_path / name))) == GROUPED


def test_a_text_file_is_only_a_table_where_its_first_line_says_so(tmp_path: Path) -> None:
    lines = ["title, text and image of a dog", "a caption, an image", "a dog"]
    (tmp_path / "c.txt").write_text("\n".join(lines))
    assert [group.records[0].text for group in read_captions(tmp_path / "c.txt")] == lines


def test_a_caption_is_never_cut_at_its_comma(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("image,caption\na.jpg,a cat, asleep\nb.jpg,a dog,,\n")
    (tmp_path / "one.csv").write_text("a dog\na cat, asleep\n")
    for name, line in (("c.csv", 2), ("one.csv", 2)):
        groups = list(read_captions(tmp_path / name))
        assert [record.text for group in groups for record in group.records] == ["a dog"]
        assert refused(groups) == [(f"line {line}", "too many columns: quotes are missing around a caption")]


def test_a_quote_that_swallows_the_rest_of_the_table_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text('caption\na cat\n"a dog\na bird\na cow\n')
    with pytest.raises(UserError, match="line 3: a quote"):
        list(read_captions(tmp_path / "c.csv"))
    (tmp_path / "c.csv").write_text('caption\n"a cat\non a mat"\na "big" dog\n')
    assert len(list(read_captions(tmp_path / "c.csv"))) == 2


@pytest.mark.parametrize("name", ["c.txt", "c.csv", "c.json"])
def test_utf_16_is_named(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes("caption\na cat\n".encode("utf-16"))
    with pytest.raises(UserError, match="UTF-16"):
        list(read_captions(tmp_path / name))


@pytest.mark.parametrize("content", ['["a cat", %s]', '{"annotations": [%s]}'])
def test_a_number_of_5000_digits_is_an_error_for_people(tmp_path: Path, content: str) -> None:
    (tmp_path / "c.json").write_text(content % ("1" * 5_000))
    with pytest.raises(UserError, match="cannot be read"):
        list(read_captions(tmp_path / "c.json"))


def test_an_unknown_object_is_named_by_its_keys(tmp_path: Path) -> None:
    (tmp_path / "c.json").write_text('{"data": []}')
    with pytest.raises(UserError, match="an object with 'data'"):
        list(read_captions(tmp_path / "c.json"))


# ---------------------------------------------------------------------------- which captions are of one image


def test_captions_of_one_image_are_together_without_its_path(tmp_path: Path) -> None:
    notes = [{"image_id": image, "caption": text} for image, text in ROWS]
    (tmp_path / "coco.json").write_text(json.dumps({"annotations": [notes[0], notes[2], notes[1]]}))
    (tmp_path / "results.json").write_text(json.dumps(notes))
    (tmp_path / "c.csv").write_text(table("image_id caption", ","))
    (tmp_path / "lists.jsonl").write_text('{"caption": ["a cat on a mat", "one black cat"]}\n{"caption": ["a dog"]}\n')
    pyarrow.parquet.write_table(pyarrow.Table.from_pylist(notes), tmp_path / "c.parquet")
    for path in sorted(tmp_path.iterdir()):
        assert texts(list(read_captions(path))) == [(None, found) for _, found in GROUPED], path


def test_records_of_two_files_are_never_of_one_image(tmp_path: Path) -> None:
    for name in ("1.jsonl", "2.jsonl"):
        (tmp_path / name).write_text('{"caption": ["a cat", "a dog"]}\n')
    assert [len(group.records) for group in read_captions(tmp_path)] == [2, 2]


def test_coco_ids_as_text_and_as_numbers(tmp_path: Path) -> None:
    notes = [{"image_id": 1, "caption": "a cat"}]
    (tmp_path / "c.json").write_text(json.dumps({"images": [{"id": "1", "file_name": "a.jpg"}], "annotations": notes}))
    assert texts(list(read_captions(tmp_path / "c.json"))) == [("a.jpg", ["a cat"])]


# ---------------------------------------------------------------------------- Parquet


def test_paths_in_any_kind_of_column(tmp_path: Path) -> None:
    images, captions = (list(column) for column in zip(*ROWS, strict=True))
    columns = {
        "categories": {"image": pyarrow.array(images).dictionary_encode()},
        "large": {"image": pyarrow.array(images, pyarrow.large_string())},
        "bytes_first": {"image": [b"x"] * 3, "filepath": images},
        "struct_first": {"image": [{"bytes": b"x"}] * 3, "file_name": images},
    }
    for name, found in columns.items():
        pyarrow.parquet.write_table(pyarrow.table({**found, "caption": captions}), tmp_path / f"{name}.parquet")
        assert texts(list(read_captions(tmp_path / f"{name}.parquet"))) == GROUPED, name


def test_a_damaged_parquet_file_is_named(tmp_path: Path) -> None:
    path = tmp_path / "c.parquet"
    pyarrow.parquet.write_table(pyarrow.table({"caption": [f"a cat {n}" for n in range(9_000)]}), path)
    raw = bytearray(path.read_bytes())
    raw[1_000:3_000] = bytes(255 - byte for byte in raw[1_000:3_000])
    path.write_bytes(raw)
    with pytest.raises(UserError, match=r"c\.parquet: damaged after row 0"):
        list(read_captions(path))


def test_two_columns_of_one_name(tmp_path: Path) -> None:
    both = pyarrow.table([pyarrow.array(["a cat"]), pyarrow.array(["a dog"])], names=["caption", "caption"])
    pyarrow.parquet.write_table(both, tmp_path / "c.parquet")
    with pytest.raises(UserError, match="two columns are called 'caption'"):
        list(read_captions(tmp_path / "c.parquet"))


# ---------------------------------------------------------------------------- archives, folders, odd paths


def write_tar(path: Path, names: list[str]) -> None:
    with tarfile.open(path, "w") as archive:
        for name in names:
            member = tarfile.TarInfo(name)
            member.size = 5
            archive.addfile(member, io.BytesIO(b"a cat"))


def test_a_broken_archive_does_not_end_early_in_silence(tmp_path: Path) -> None:
    write_tar(tmp_path / "whole.tar", [f"{number}.txt" for number in range(9)])
    raw = (tmp_path / "whole.tar").read_bytes()
    (tmp_path / "cut.tar").write_bytes(raw[: 4 * 1024 + 100])  # within the header of the fifth
    (tmp_path / "broken.tar").write_bytes(raw[: 4 * 1024] + b"nonsense" * 64 + raw[4 * 1024 + 512 :])
    for name in ("cut.tar", "broken.tar"):
        with pytest.raises(UserError, match="cannot be read to its end"):
            list(read_captions(tmp_path / name))


def test_an_archive_without_text(tmp_path: Path) -> None:
    write_tar(tmp_path / "c.tar", ["1.jpg", "1.json"])
    with pytest.raises(UserError, match=r"end in \.txt"):
        list(read_captions(tmp_path / "c.tar"))


def test_what_a_report_shows_cannot_steer_a_terminal(tmp_path: Path) -> None:
    write_tar(tmp_path / "c.tar", ["../\x1b[31mred\n.txt", "../\x1b[31mred\n.jpg"])
    ((where, reason),) = refused(list(read_captions(tmp_path / "c.tar")))
    assert where.isprintable() and "red" in where
    assert reason == "the image's path leaves its folder"


def test_a_folder_says_of_which_file_it_speaks_and_leaves_hidden_files_alone(tmp_path: Path) -> None:
    for name in ("1.txt", "2.txt", "._1.txt"):
        (tmp_path / name).write_text("a cat\n\n")
    groups = list(read_captions(tmp_path))
    assert refused(groups) == [("1.txt, line 2", "empty"), ("2.txt, line 2", "empty")]


def test_a_pipe_is_no_missing_file() -> None:
    with pytest.raises(UserError, match="not a plain file"):
        list(read_captions("/dev/null"))


def test_a_pipe_among_the_captions_is_refused_not_waited_for(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a cat\n")
    os.mkfifo(tmp_path / "b.txt")
    with pytest.raises(UserError, match=r"b\.txt: not a plain file"):
        list(read_captions(tmp_path))


@pytest.mark.parametrize("bomb", ["header", "text"])
def test_a_small_archive_does_not_fill_the_memory(tmp_path: Path, bomb: str) -> None:
    path = tmp_path / "c.tar"
    with gzip.open(path, "wb", compresslevel=1) as file:
        member = tarfile.TarInfo("1.txt")
        member.type, member.size = (tarfile.XHDTYPE if bomb == "header" else tarfile.REGTYPE), 80 * 2**20
        file.write(member.tobuf())
        for _ in range(80):
            file.write(b"a" * 2**20)
        file.write(bytes(1024))
    tracemalloc.start()
    try:
        assert sum(len(group.refused) for group in read_captions(path)) == 1 and bomb == "text"
    except UserError as error:
        assert bomb == "header" and "a header of 83,886,080 bytes" in str(error)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert path.stat().st_size < 2e6 and peak < 20e6


def test_the_members_of_an_archive_are_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """2.4 million empty ones, a file of 4.7 MB, took 2.2 GB."""
    write_tar(tmp_path / "c.tar", [f"{number}.txt" for number in range(50)])
    opened, plain = [], tarfile.open
    monkeypatch.setattr(tarfile, "open", lambda *args, **options: opened.append(plain(*args, **options)) or opened[-1])
    assert sum(len(group.records) for group in read_captions(tmp_path / "c.tar")) == 50
    assert [len(archive.members) for archive in opened] == [0]
