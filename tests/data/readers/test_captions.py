"""Readers: every format gives the same captions, grouped by image; nothing a file holds can crash them."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests import own_records

from equipoise.core.errors import UserError
from equipoise.data.items import load_items
from equipoise.data.readers.captions import groups as readers
from equipoise.data.readers.captions.groups import LONGEST, MOST_TOGETHER, Group, clean, read_captions
from equipoise.data.readers.records import Window, json_array, rows
from equipoise.perturb.recipes import Setup
from equipoise.perturb.run.engine import perturb_file

ROWS = [("a.jpg", "a cat on a mat"), ("a.jpg", "one black cat"), ("b.jpg", 'a "big" dog, asleep')]


def texts(groups: list[Group]) -> list[tuple[str | None, list[str]]]:
    return [(group.image, [record.text for record in group.records]) for group in groups]


def write_txt(path: Path) -> None:
    path.write_text("\n".join(text for _, text in ROWS) + "\n")


def write_csv(path: Path) -> None:
    path.write_text('image,caption\na.jpg,a cat on a mat\na.jpg,one black cat\nb.jpg,"a ""big"" dog, asleep"\n')


def write_tsv(path: Path) -> None:
    path.write_text('filepath\ttitle\na.jpg\ta cat on a mat\na.jpg\tone black cat\nb.jpg\t"a ""big"" dog, asleep"\n')


def write_flickr(path: Path) -> None:
    path.write_text("".join(f"{image}#{place}\t{text}\n" for place, (image, text) in enumerate(ROWS)))


def write_json(path: Path) -> None:
    path.write_text(json.dumps([{"image": image, "caption": text} for image, text in ROWS], indent=1))


def write_karpathy_records(path: Path) -> None:
    path.write_text(
        json.dumps(
            [{"image": "a.jpg", "caption": [ROWS[0][1], ROWS[1][1]]}, {"image": "b.jpg", "caption": [ROWS[2][1]]}]
        )
    )


def write_karpathy(path: Path) -> None:
    images = {}
    for image, text in ROWS:
        images.setdefault(image, []).append({"raw": text})
    path.write_text(json.dumps({"images": [{"filename": name, "sentences": found} for name, found in images.items()]}))


def write_coco(path: Path) -> None:
    """The annotations of an image do not stand together, as in the real files."""
    notes = [(7, 0), (9, 2), (7, 1)]
    path.write_text(
        json.dumps(
            {
                "images": [{"id": 7, "file_name": "a.jpg"}, {"id": 9, "file_name": "b.jpg"}],
                "annotations": [{"image_id": image, "id": 100 + row, "caption": ROWS[row][1]} for image, row in notes],
            }
        )
    )


def write_jsonl(path: Path) -> None:
    path.write_text("".join(json.dumps({"image": {"path": image}, "caption": text}) + "\n" for image, text in ROWS))


def write_parquet(path: Path) -> None:
    table = {"caption": [text for _, text in ROWS], "image": [{"path": image, "bytes": b"x"} for image, _ in ROWS]}
    pyarrow.parquet.write_table(pyarrow.table(table), path)


def write_tar(path: Path) -> None:
    with tarfile.open(path, "w") as archive:
        for image, text in ROWS:
            name = f"{image[0]}{text[0]}"
            for suffix, content in ((".jpg", b"picture"), (".txt", text.encode())):
                member = tarfile.TarInfo(name + suffix)
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))


GROUPED = [("a.jpg", [ROWS[0][1], ROWS[1][1]]), ("b.jpg", [ROWS[2][1]])]
FORMATS = {
    "c.csv": write_csv,
    "c.tsv": write_tsv,
    "flickr.tsv": write_flickr,
    "c.json": write_json,
    "karpathy.json": write_karpathy_records,
    "dataset_coco.json": write_karpathy,
    "coco.json": write_coco,
    "c.jsonl": write_jsonl,
    "c.parquet": write_parquet,
}


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_gives_the_same_groups(tmp_path: Path, name: str) -> None:
    FORMATS[name](tmp_path / name)
    assert texts(list(read_captions(tmp_path / name))) == GROUPED


def test_cc3m_has_urls_and_the_photos_names_of_img2dataset(tmp_path: Path) -> None:
    """As Google gives it: no header, bare quotes, a url in place of the image."""
    rows = ['a 12" pizza on a table\thttp://a.b/c.jpg?x=1', "a dog , asleep\thttps://a.b/c.jpg"]
    (tmp_path / "cc3m.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "header.tsv").write_text("\n".join(["caption\turl", *rows[1:]]) + "\n")
    expected = [("000000000.jpg", ['a 12" pizza on a table']), ("000000001.jpg", ["a dog , asleep"])]
    assert texts(list(read_captions(tmp_path / "cc3m.tsv"))) == expected
    assert texts(list(read_captions(tmp_path / "header.tsv"))) == [("000000000.jpg", ["a dog , asleep"])]


def test_captions_without_images_stand_alone(tmp_path: Path) -> None:
    write_txt(tmp_path / "c.txt")
    (tmp_path / "c.json").write_text(json.dumps([text for _, text in ROWS]))
    for name in ("c.txt", "c.json"):
        assert texts(list(read_captions(tmp_path / name))) == [(None, [text]) for _, text in ROWS]


def test_webdataset_names_the_image_beside_the_text(tmp_path: Path) -> None:
    write_tar(tmp_path / "0.tar")
    expected = [("aa.jpg", [ROWS[0][1]]), ("ao.jpg", [ROWS[1][1]]), ("ba.jpg", [ROWS[2][1]])]
    assert texts(list(read_captions(tmp_path / "0.tar"))) == expected


def test_a_folder_is_read_in_the_order_of_its_names(tmp_path: Path) -> None:
    (tmp_path / "2.txt").write_text("second\n")
    (tmp_path / "1.txt").write_text("first\n")
    (tmp_path / "note.md").write_text("not a caption\n")
    groups = list(read_captions(tmp_path))
    assert [record.text for group in groups for record in group.records] == ["first", "second"]
    assert [record.number for group in groups for record in group.records] == [0, 1]


def test_ids_of_the_source_are_kept(tmp_path: Path) -> None:
    write_coco(tmp_path / "c.json")
    found = [record.source_id for group in read_captions(tmp_path / "c.json") for record in group.records]
    assert found == ["100", "101", "102"]


def test_limit_counts_captions(tmp_path: Path) -> None:
    write_csv(tmp_path / "c.csv")
    assert texts(list(read_captions(tmp_path / "c.csv", 2))) == GROUPED[:1]


def test_one_image_on_every_line_does_not_fill_the_memory(tmp_path: Path) -> None:
    lines = "".join(f"a.jpg,caption {place}\n" for place in range(2 * MOST_TOGETHER + 1))
    (tmp_path / "c.csv").write_text("image,caption\n" + lines)
    sizes = [len(group.records) for group in read_captions(tmp_path / "c.csv")]
    assert sizes == [MOST_TOGETHER, MOST_TOGETHER, 1]


# ---------------------------------------------------------------------------- what cannot be used

BAD = {
    b"": "empty",
    b"   \t ": "empty",
    b"x" * 10_000_000: f"longer than {LONGEST:,} characters",
    b"a cat\x00 on a mat": "control characters",
    b"a \x1b[31mred\x1b[0m cat": "control characters",
    "a cat \u202eno a tam".encode(): "control characters",
    b"a caf\xe9 table": "not UTF-8",
    "قطة على حصيرة".encode(): "not in Latin letters",
    "חתול על מחצלת".encode(): "not in Latin letters",
    "🐈 🐈 🐈".encode(): "no words",
    b"... 12 !": "no words",
}
GOOD = ["a cat 🐈 on a mat", "an entrée and a café", "a cat\u00a0on a mat", "A dog ."]


def test_a_bad_caption_is_a_stated_reason_with_its_line(tmp_path: Path) -> None:
    lines = [b"a first caption", *BAD, *(text.encode() for text in GOOD)]
    (tmp_path / "c.txt").write_bytes(b"\n".join(lines) + b"\n")
    groups = list(read_captions(tmp_path / "c.txt"))
    refused = [pair for group in groups for pair in group.refused]
    assert refused == [(f"line {number}", reason) for number, reason in enumerate(BAD.values(), 2)]
    kept = [record.text for group in groups for record in group.records]
    assert kept == ["a first caption", GOOD[0], GOOD[1], "a cat on a mat", GOOD[3]]


@pytest.mark.parametrize("raw", [raw for raw in BAD if b"\n" not in raw], ids=lambda raw: repr(raw[:12]))
@pytest.mark.parametrize("name", ["c.jsonl", "c.json", "c.csv", "c.tsv", "c.tar"])
def test_no_format_falls_over_a_bad_caption(tmp_path: Path, name: str, raw: bytes) -> None:
    path = tmp_path / name
    if name == "c.tar":
        with tarfile.open(path, "w") as archive:
            for place, content in enumerate((b"a cat", raw, b"a dog")):
                member = tarfile.TarInfo(f"{place}.txt")
                member.size = len(content)
                archive.addfile(member, io.BytesIO(content))
    elif name.endswith("sv"):
        path.write_bytes(b"caption\na cat\n" + raw + b"\na dog\n")
    else:
        quoted = json.dumps(raw.decode("utf-8", "surrogateescape"), ensure_ascii=False)
        encoded = quoted.encode("utf-8", "surrogateescape")
        lines = [b'"a cat"', encoded, b'"a dog"']
        path.write_bytes(b"\n".join(lines) if name == "c.jsonl" else b"[" + b",\n".join(lines) + b"]")
    groups = list(read_captions(path))
    assert [record.text for group in groups for record in group.records] == ["a cat", "a dog"]
    assert sum(len(group.refused) for group in groups) == 1


def test_parquet_with_bytes_that_are_not_text(tmp_path: Path) -> None:
    column = pyarrow.array([b"a cat", b"caf\xe9", b"a dog"]).view(pyarrow.string())
    pyarrow.parquet.write_table(pyarrow.table({"caption": column}), tmp_path / "c.parquet")
    groups = list(read_captions(tmp_path / "c.parquet"))
    assert [pair for group in groups for pair in group.refused] == [("row 2", "not UTF-8")]


def test_records_of_the_wrong_shape(tmp_path: Path) -> None:
    lines = ['{"caption": 5}', '{"text": "a cat"}', "[1]", "{half", '{"other": 1}', "", "[" * 100_000]
    lines += ['{"caption": "a dog", "image": "../../etc/passwd"}', '{"caption": "a dog", "image": 5}']
    (tmp_path / "c.jsonl").write_text("\n".join(lines))
    groups = list(read_captions(tmp_path / "c.jsonl"))
    assert [record.text for group in groups for record in group.records] == ["a cat"]
    assert dict(pair for group in groups for pair in group.refused) == {
        "line 1": "the caption is not text",
        "line 3": "neither text nor an object",
        "line 4": "not JSON",
        "line 5": "no caption",
        "line 6": "empty",
        "line 7": "not JSON",
        "line 8": "the image's path leaves its folder",
        "line 9": "the image is not a path",
    }


def test_what_was_refused_does_not_part_the_captions_of_an_image(tmp_path: Path) -> None:
    (tmp_path / "c.csv").write_text("image,caption\na.jpg,a cat\n\na.jpg,one black cat\n")
    (group,) = read_captions(tmp_path / "c.csv")
    assert len(group.records) == 2 and len(group.refused) == 1


# ---------------------------------------------------------------------------- files that cannot be understood


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("c.txt", "", "holds no captions"),
        ("c.xlsx", "x", "unknown kind of file"),
        ("c.csv", "photo,words\n1,2\n", "'photo', 'words'"),
        ("c.json", '{"a": 1}', "expected a list of captions"),
        ("c.json", '["a cat",\n"a dog"\n', "line 3: not JSON"),
        ("c.json", '["a cat",\n"a dog" 5]', "line 2: not JSON"),
        ("c.json", '{"annotations": [}', "line 1, column 18"),
        ("c.parquet", "nope", "not a Parquet file"),
        ("c.tar", "nope" * 500, "cannot be read"),
    ],
)
def test_a_broken_file_is_an_error_for_people(tmp_path: Path, name: str, content: str, said: str) -> None:
    (tmp_path / name).write_text(content)
    with pytest.raises(UserError, match=said):
        list(read_captions(tmp_path / name))


def test_missing_files_and_empty_folders(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.txt"):
        with pytest.raises(UserError):
            list(read_captions(path))


@settings(max_examples=60, deadline=None)
@given(st.lists(st.recursive(st.text() | st.integers() | st.none(), lambda inner: st.lists(inner, max_size=3))))
def test_a_streamed_list_is_the_list(values: list[object]) -> None:
    text = json.dumps(values, indent=1)
    chunk, readers_chunk = 7, "equipoise.data.readers.records._CHUNK"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(readers_chunk, chunk)
        assert list(json_array(Window(io.StringIO(text)), "x")) == values


def test_a_list_is_not_held_whole(tmp_path: Path) -> None:
    """A .json.gz of 306 kB with 300 MB of blanks took 667 MB."""
    path = tmp_path / "blanks.json.gz"
    with gzip.open(path, "wt", compresslevel=1) as handle:
        handle.writelines(["[\n", *[" " * 2**20 + "\n"] * 30, '{"caption": "a cat"}\n]'])
    tracemalloc.start()
    try:
        assert [row.value for row in rows(path)] == [{"caption": "a cat"}]
        assert tracemalloc.get_traced_memory()[1] < 15 * 2**20
    finally:
        tracemalloc.stop()


@given(st.text())
def test_clean_never_fails(text: str) -> None:
    cleaned, reason = clean(text)
    assert bool(cleaned) != bool(reason)
    assert clean(cleaned)[0] == cleaned or reason


def test_real_captions_are_all_read(whole_data: Path | None, tmp_path: Path) -> None:
    sample = tmp_path / "captions.json"
    sample.write_text(json.dumps(own_records.captions()))
    groups = list(read_captions(sample))
    assert [[record.text for record in group.records] for group in groups] == [
        [clean(text)[0] for text in record["caption"]] for record in own_records.captions()
    ]
    if whole_data is not None:
        groups = list(read_captions(whole_data / "coco" / "karpathy_test_first_half.json"))
        assert len(groups) == 2_500
        assert sum(len(group.records) for group in groups) == 12_504
    assert readers.LONGEST > 400


def test_visual_genomes_regions_bring_their_boxes(tmp_path: Path) -> None:
    def region(number: int, phrase: str, **more: object) -> dict[str, object]:
        return {
            "region_id": number,
            "width": 82,
            "height": 139,
            "image_id": 1,
            "phrase": phrase,
            "y": 57,
            "x": 421,
        } | more

    images = [
        {
            "regions": [
                region(1382, "the clock is green in colour"),
                region(1383, "a man", width=0),
                region(1384, "a", x=1e999),
            ],
            "id": 1,
        },
        {"regions": [region(9, "a man is along the street", image_id=2), 3], "id": 2},
    ]
    (tmp_path / "VG_100K_2").mkdir()
    (tmp_path / "VG_100K_2" / "2.jpg").touch()
    (tmp_path / "region_descriptions.json").write_text(json.dumps(images))
    first, second = read_captions(tmp_path / "region_descriptions.json")
    assert (first.image, second.image) == ("1.jpg", "VG_100K_2/2.jpg")
    (record,) = first.records
    assert (record.text, record.source_id, record.box) == ("the clock is green in colour", "1382", (421, 57, 82, 139))
    assert first.refused == tuple((f"image 1, region {place}", "a region without an area") for place in (2, 3))
    assert [record.text for record in second.records] == ["a man is along the street"] and len(second.refused) == 1
    perturb_file(tmp_path / "region_descriptions.json", tmp_path / "out" / "items.jsonl", Setup("balanced"))
    items = load_items(tmp_path / "out" / "items.jsonl")
    assert [item.image.box for item in items if item.image] == [(421.0, 57.0, 82.0, 139.0)] * len(items) and items


def test_a_table_with_negatives_is_not_read_in_silence(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "t.tsv").write_text("\ttitle\tfilepath\tneg_caption\n0\ta cat\ta.jpg\t['a dog']\n")
    assert texts(list(read_captions(tmp_path / "t.tsv"))) == [("a.jpg", ["a cat"])]
    list(read_captions(tmp_path / "t.tsv"))
    (record,) = caplog.records
    assert "not neg_caption; make items of it first" in record.getMessage()
