"""Arguments of scripts. What one reads must be there before it writes anything: `type=existing(...)`.

A missing file ends the script with exit code 2 and a sentence that names the file and where it comes from.
"""

from __future__ import annotations

import argparse
import subprocess
from collections.abc import Callable
from datetime import date
from pathlib import Path

from studies.harness import SHARED

FROM = {  # a folder of DATA: where its files come from
    "bivlc": "github.com/IMirandaM/BiVLC",
    "coco": "COCO's captions, Karpathy's test split",
    "flickr8k": "Flickr8k (Hodosh et al. 2013): captions.tsv with NAME#K<tab>CAPTION, its split files, photos as tars",
    "negclip": "github.com/mertyg/vision-language-models-are-bows",
    "predicate_noun": "github.com/mitjanikolaus/multimodal-predicate-noun-dependencies",
    "published": "results of github.com/ytaek-oh/vl_compo",
    "valse_scores": "github.com/e-bug/fine-grained-evals",
    "vl_checklist": "github.com/om-ai-lab/VL-CheckList, folder data/",
    "winoground_scores": "github.com/e-bug/fine-grained-evals",
}
FLICKR8K = ("captions.tsv", *(f"Flickr_8k.{split}Images.txt" for split in ("train", "dev", "test")))
COCO = "coco/karpathy_test_first_half.json"
HALVES = (COCO, "flickr8k/captions.tsv", "flickr8k/Flickr_8k.testImages.txt", "negclip/valid_neg_clip.tsv")


def arguments(about: str | None, *shared: str) -> argparse.ArgumentParser:
    """--help is the script's docstring as it stands; with `shared`, --shared is a folder that holds these files."""
    parser = argparse.ArgumentParser(description=about, formatter_class=argparse.RawDescriptionHelpFormatter)
    if shared:
        parser.add_argument("--shared", type=existing(*shared), default=str(SHARED), help="(default: %(default)s)")
    return parser


def existing(*files: str) -> Callable[[str], Path]:
    """A path that is there; with `files`, a folder that holds all of them."""

    def path(text: str) -> Path:
        missing = [Path(text) / file for file in files or ("",) if not (Path(text) / file).exists()]
        if missing:
            raise argparse.ArgumentTypeError(needed(missing))
        return Path(text)

    return path


def needed(missing: list[Path]) -> str:
    """All that is missing, in a sentence."""
    known = {part: FROM[part] for path in missing for part in path.parts if part in FROM}
    origins = "".join(f"; {name}: {origin}" for name, origin in known.items())
    return f"no such file or folder: {', '.join(map(str, missing))}{origins}"


def today() -> str:
    """The day and the commit of numbers that cannot be computed in CI."""
    command = ["git", "-C", str(Path(__file__).parent), "rev-parse", "--short=8", "HEAD"]
    commit = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    return f"{date.today():%d %B %Y} at commit {commit}"
