"""All kinds of input by name."""

from __future__ import annotations

import io
import json

import damage
from folders import archive, benchmark, checkpoint, image, model, runs, shard
from PIL import Image
from texts import (
    SAMPLES,
    SHARED,
    Kind,
    captions,
    crlf,
    item_rows,
    items,
    items_parquet,
    own_table,
    packed,
    parquet,
    published,
    scores,
    winoground,
)


def picture(number: int) -> bytes:
    out = io.BytesIO()
    Image.new("RGB", (9, 9), (number, 9, 9)).save(out, "PNG")
    return out.getvalue()


def kinds() -> dict[str, Kind]:
    pictures = {f"{n}.png": picture(n) for n in range(8)}
    rows = [{"caption": f"a red dog near {n} trees", "image": f"{n}.jpg"} for n in range(4)]
    lines = b"".join(json.dumps(row).encode() + b"\n" for row in rows)
    coco = {
        "images": [{"id": 1, "file_name": "a.jpg"}],
        "annotations": [{"image_id": 1, "id": n, "caption": f"a dog {n}"} for n in range(3)],
    }
    table = "image,caption\n" + "".join(f"{n}.jpg,a red dog near {n} trees\n" for n in range(4))
    texts = {f"{n:03}.{end}": data for n in range(3) for end, data in (("jpg", b"x"), ("txt", b"a red dog %d" % n))}
    found = {
        "scores": scores(),
        "items": items(),
        "items parquet": items_parquet(),
        "csv": own_table(",", "csv"),
        "tsv": own_table("\t", "tsv"),
    }
    found |= {
        "captions txt": captions("x.txt", b"a red dog sits\na blue cat sleeps\n\nthe old man walks\n", same=crlf),
        "captions csv": captions("x.csv", table.encode(), damage.table(","), same=crlf),
        "captions tsv": captions("x.tsv", table.replace(",", "\t").encode(), damage.table("\t"), same=crlf),
        "captions json": captions("x.json", json.dumps(rows).encode(), damage.json_file),
        "captions coco": captions("x.json", json.dumps(coco).encode(), damage.json_file),
        "captions jsonl": captions("x.jsonl", lines, damage.json_lines, same=damage.same_lines),
        "captions items": captions(
            "x.jsonl", b"".join(json.dumps(r).encode() + b"\n" for r in item_rows()), damage.json_lines
        ),
        "captions parquet": captions("x.parquet", parquet({k: [r[k] for r in rows] for k in rows[0]})),
        "captions tar": captions("x.tar", packed(texts, "w")),
        "tar": archive("x.tar", "w"),
        "tar.gz": archive("x.tar.gz", "w:gz"),
        "zip": archive("x.zip", "zip"),
        "images tar": shard("x.tar", packed(pictures, "w"), 8),
        "images parquet": shard("x.parquet", parquet({"path": list(pictures), "image": list(pictures.values())}), 8),
        "checkpoint": checkpoint(),
        "runs": runs(),
    }
    found |= {kind.lower(): image(kind) for kind in ("PNG", "JPEG", "GIF", "TIFF", "WEBP", "BMP")}
    found |= {
        f"model {hit}": model(hit)
        for hit in ("config.json", "model.safetensors", "tokenizer.json", "preprocessor_config.json")
    }
    for name in ("sugarcrepe", "sugarcrepe_pp", "valse", "negclip"):
        found[f"bench {name}"] = benchmark(
            name.replace("_", "-"), [p for p in (SAMPLES / name).iterdir() if p.is_file()], SAMPLES / name
        )
    if SHARED.is_dir():
        found["published winoground"] = winoground()
        for name, file, change in (
            ("valse", "valse_scores/x-vlm_16m.jsonl", damage.json_lines),
            ("predicate-noun", "predicate_noun/scores/vilt.csv", damage.table(",")),
            ("bivlc", "bivlc/BiVLC_ViT-B-32.csv", damage.table(",")),
            ("sugarcrepe", "bivlc/SUGARCREPE_CORRECT_ViT-B-32.csv", damage.table(",")),
        ):
            found[f"published {name}"] = published(name, SHARED / file, change)
        for name in ("cola", "crepe", "fg_ovd", "negbench", "visla", "vsr", "vl_checklist"):
            root = SHARED / name
            files = [path for path in root.rglob("*") if path.suffix in {".json", ".jsonl", ".csv", ".tsv"}]
            found[f"bench {name}"] = benchmark(name.replace("_", "-"), files, root)
        found["bench bivlc"] = benchmark("bivlc", [SHARED / "bivlc" / "BiVLC_ViT-B-32.csv"], SHARED / "bivlc")
    return found
