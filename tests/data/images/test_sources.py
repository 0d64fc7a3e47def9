"""Images from a folder, tar shards and Parquet files are the same bytes."""

from __future__ import annotations

import io
import pickle
import tarfile
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from PIL import Image

from equipoise.core.errors import UserError
from equipoise.data.images import FolderImages, ImageProblem, ParquetImages, TarImages, absent, in_order, open_source

FILES = {f"{number:04d}.jpg": bytes([number]) * (number + 1) for number in range(7)}


def _tar(path: Path, names: list[str]) -> Path:
    with tarfile.open(path, "w") as archive:
        for name in names:
            for member, data in ((name, FILES[name]), (name.replace(".jpg", ".txt"), b"a caption")):
                info = tarfile.TarInfo(member)
                info.size = len(data)
                archive.addfile(info, io.BytesIO(data))
    return path


def _parquet(path: Path, nested: bool) -> Path:
    rows = [{"bytes": data, "path": name} for name, data in FILES.items()]
    table = pyarrow.table({"image": rows} if nested else {"image": list(FILES.values()), "path": list(FILES)})
    pyarrow.parquet.write_table(table, path, row_group_size=3)
    return path


@pytest.fixture
def places(tmp_path: Path) -> dict[str, Path]:
    for name in ("folder", "tars", "parquets"):
        (tmp_path / name).mkdir()
    for name, data in FILES.items():
        (tmp_path / "folder" / name).write_bytes(data)
    names = list(FILES)
    _tar(tmp_path / "tars" / "a-00.tar", names[:4])
    _tar(tmp_path / "tars" / "a-01.tar", names[4:])
    return {
        "folder": tmp_path / "folder",
        "tars": tmp_path / "tars",
        "nested": _parquet(tmp_path / "parquets" / "nested.parquet", True),
        "flat": _parquet(tmp_path / "flat.parquet", False),
        "parquets": tmp_path / "parquets",
    }


@pytest.mark.parametrize("kind", ["folder", "tars", "nested", "flat", "parquets"])
def test_every_source_reads_the_same_bytes(places, kind):
    source = open_source(places[kind])
    assert type(source) is {"folder": FolderImages, "tars": TarImages}.get(kind, ParquetImages)
    for name in reversed(FILES):
        assert source.read(name) == FILES[name]
    again = pickle.loads(pickle.dumps(source))  # workers get a copy
    assert again.read("0003.jpg") == FILES["0003.jpg"]
    with pytest.raises(ImageProblem, match=r"9999\.jpg"):
        source.read("9999.jpg")


def test_a_single_shard(places):
    assert open_source(places["tars"] / "a-01.tar").read("0005.jpg") == FILES["0005.jpg"]


def test_the_same_name_in_two_shards_is_refused(places):
    _tar(places["tars"] / "b.tar", ["0000.jpg"])
    with pytest.raises(UserError, match=r"b\.tar: 0000\.jpg is also in .*a-00\.tar"):
        open_source(places["tars"])


@pytest.mark.parametrize("name", ["x.tar", "x.parquet"])
def test_files_that_are_something_else_are_refused(tmp_path, name):
    (tmp_path / name).write_bytes(b"something else entirely" * 100)
    with pytest.raises(UserError, match=r"x\.(tar|parquet): not a"):
        open_source(tmp_path / name)


def test_a_tar_that_ends_between_two_members_was_cut(tmp_path: Path) -> None:
    whole = _tar(tmp_path / "whole.tar", list(FILES)).read_bytes()
    for blocks in range(4, 28, 4):  # every member is a header and a block
        (tmp_path / "cut.tar").write_bytes(whole[: 512 * blocks])
        with pytest.raises(UserError, match="ends without its end mark"):
            TarImages([tmp_path / "cut.tar"])
    (tmp_path / "cut.tar").write_bytes(whole[: 512 * 29])
    assert len(TarImages([tmp_path / "cut.tar"]).members) == 14, "one block of zeros is an end"


@pytest.mark.parametrize("name", ["nowhere", "nowhere.tar", "nowhere.parquet"])
def test_what_is_not_there_is_said(tmp_path, name):
    with pytest.raises(UserError, match=f"{name}: no such"):
        open_source(tmp_path / name)


def test_parquet_without_names_or_images(tmp_path):
    pyarrow.parquet.write_table(pyarrow.table({"image": [b"x"]}), tmp_path / "a.parquet")
    pyarrow.parquet.write_table(pyarrow.table({"picture": [b"x"]}), tmp_path / "b.parquet")
    with pytest.raises(UserError, match="images have no names"):
        open_source(tmp_path / "a.parquet")
    with pytest.raises(UserError, match="expected a column named image, found picture"):
        open_source(tmp_path / "b.parquet")


def test_names_never_leave_the_folder(places):
    with pytest.raises(UserError, match="leaves its folder"):
        open_source(places["folder"]).read("../flat.parquet")


def test_real_shards(tmp_path, whole_data):
    photo = io.BytesIO()
    Image.new("RGB", (128, 96), "red").save(photo, "JPEG")
    with tarfile.open(tmp_path / "made.tar", "w") as archive:
        info = tarfile.TarInfo("1.jpg")
        info.size = len(photo.getvalue())
        archive.addfile(info, io.BytesIO(photo.getvalue()))
    shards = [tmp_path / "made.tar"]
    if whole_data is not None:
        shards.append(whole_data / "flickr8k" / "dev-00.tar")
    for shard in shards:
        source = TarImages([shard])
        name = next(iter(source.members))
        data = source.read(name)
        assert data[:2] == b"\xff\xd8" and len(data) == source.members[name][2]


def test_one_flipped_byte_in_a_header_is_an_error_and_not_a_shorter_shard(places):
    """Python's tarfile takes a broken header for the end: every member after it was lost and nobody knew."""
    shard = places["tars"] / "a-00.tar"
    whole = shard.read_bytes()
    names = set(TarImages([shard]).members)
    for place in range(0, 8 * 1024, 1024):  # members of less than a block: each second block is a header
        for byte in (0, 100, 130, 150):
            damaged = bytearray(whole)
            damaged[place + byte] ^= 1
            shard.write_bytes(damaged)
            with pytest.raises(UserError, match=r"a-00\.tar: not a plain tar file, or damaged"):
                open_source(shard)
    shard.write_bytes(whole[: 4 * 1024] + bytes(1024) + whole[5 * 1024 :])  # a header wiped out: looks like the end
    with pytest.raises(UserError, match="more data after the end"):
        open_source(shard)
    shard.write_bytes(whole[: 4 * 1024 + 100])
    with pytest.raises(UserError, match="damaged"):
        open_source(shard)
    shard.write_bytes(whole)
    assert set(TarImages([shard]).members) == names


def test_a_folder_with_more_than_shards_is_a_folder(places):
    (places["tars"] / "sizes.json").write_text("{}")
    assert type(open_source(places["tars"])) is TarImages
    (places["tars"] / "photo.jpg").write_bytes(b"")
    assert type(open_source(places["tars"])) is FolderImages


def test_a_name_twice_in_parquet_is_refused(tmp_path):
    rows = [{"bytes": b"1", "path": "a.jpg"}, {"bytes": b"2", "path": "a.jpg"}]
    pyarrow.parquet.write_table(pyarrow.table({"image": rows}), tmp_path / "x.parquet")
    with pytest.raises(UserError, match=r"a\.jpg is also in"):
        open_source(tmp_path / "x.parquet")


def test_sources_say_what_they_hold(places):
    for kind in ("folder", "tars", "nested"):
        source = open_source(places[kind])
        assert absent(source, ["0003.jpg", "none.jpg"]) == ["none.jpg"]
        assert sorted(in_order(source, list(FILES)[::-1])) == list(FILES)
    assert in_order(open_source(places["tars"]), list(FILES)[::-1]) == list(FILES)


@pytest.mark.slow
def test_a_damaged_parquet_page_is_a_problem_of_its_images(tmp_path: Path) -> None:
    """pyarrow's own errors are not for users, and a run with --allow-missing could not pass them over."""
    path, data = tmp_path / "x.parquet", bytes(range(256)) * 8
    names = ["a.jpg", "b.jpg"]
    pyarrow.parquet.write_table(
        pyarrow.table({"path": names, "image": [data, data[::-1]]}), path, compression="zstd", use_dictionary=False
    )
    whole, refused = path.read_bytes(), 0
    for place in range(4, len(whole), 3):
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 255]) + whole[place + 1 :])
        try:
            source = ParquetImages([path])
            [source.read(name) for name in names if name in source]
        except UserError as error:
            refused += "cannot be read" in str(error)
    assert refused
    pyarrow.parquet.write_table(pyarrow.table({"path": ["a.jpg", None], "image": [data, data]}), path)
    with pytest.raises(UserError, match="has no name"):
        ParquetImages([path])
