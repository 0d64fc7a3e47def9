"""`checkpoint:FILE?act=...` and `paper:NAME@FILE`: research checkpoints in open_clip's format, read and never run.

Training dicts, DDP and torch.compile prefixes and unmerged LoRA are undone here; what is left is a plain
state dict that `convert` turns into transformers' CLIP.
"""

from __future__ import annotations

import pickle
import re
import struct
import tomllib
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import torch

from equipoise.core.errors import UserError, did_you_mean, first_line
from equipoise.core.files import sha256_file
from equipoise.models.base import split_options
from equipoise.models.clip import ClipModel
from equipoise.models.convert import ACTIVATIONS, ARCHITECTURES, Heads, State, to_transformers
from equipoise.models.inputs import clip_preprocess, clip_tokenizer

OPTIONS = ("arch", "act", "context", "heads")
PREFIXES = ("module.", "_orig_mod.")


def load_checkpoint(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> ClipModel:
    """`rest` is FILE?act=quickgelu[&arch=ViT-B-32][&context=64][&heads=12,8]."""
    path, options = file_options(rest, spec)
    if "act" not in options:
        join = "&" if options else "?"
        raise UserError(
            f"{spec}: the activation is not written in a checkpoint, and the wrong one silently changes the scores.\n"
            f"  finetuned from OpenAI's CLIP, or trained with a -quickgelu config:  {spec}{join}act=quickgelu\n"
            f"  finetuned from LAION's, DataComp's or another open_clip model:      {spec}{join}act=gelu"
        )
    return load_file(path, options, spec=spec, device=device, dtype=dtype)


PAPERS: dict[str, dict[str, Any]] = tomllib.loads(
    (Path(__file__).with_name("data") / "papers.toml").read_text(encoding="utf-8")
)


def load_paper(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> ClipModel:
    """`rest` is NAME@FILE: a published checkpoint of an earlier paper, with the settings that load it correctly.

    The evaluation code of the hard-positive paper loads all the models finetuned from OpenAI's CLIP with GELU, though
    they were trained with QuickGELU; so do others (sugar-crepe#7, open_clip#771). PAPERS states what each was trained
    with. `?act=gelu` reproduces a published number that has the mistake, and the card says so.
    """
    name, at, file = rest.partition("@")
    if name not in PAPERS:
        raise UserError(f"{spec}: no paper {name!r} ({', '.join(PAPERS)}).{did_you_mean(name, PAPERS)}")
    paper = PAPERS[name]
    if not at or not file:
        raise UserError(f"{spec}: which file? paper:{name}@FILE, with the checkpoint from {paper['where']}")
    path, options = file_options(file, spec)
    quirks, trained = paper.get("quirks", ""), paper["activation"]
    if (activation := options.setdefault("act", trained)) != trained:
        quirks += f"; LOADED WITH {activation.upper()}, though trained with {trained}"
    if "context" in paper:
        options.setdefault("context", paper["context"])
    notes = {"paper": paper["title"], "base": paper["base"], "quirks": quirks}
    return load_file(path, options, spec=spec, device=device, dtype=dtype, notes=notes)


def load_file(
    path: Path,
    options: Mapping[str, str],
    *,
    spec: str,
    device: str = "auto",
    dtype: str = "float32",
    notes: dict[str, object] | None = None,
) -> ClipModel:
    """A checkpoint file with its activation known."""
    state, merged = merge_lora(unprefixed(read_state(path), str(path)), str(path))
    if "context" in options:
        state = cut_context(state, int(options["context"]), str(path))
    heads = tuple(map(int, options["heads"].split(","))) if "heads" in options else None
    network = to_transformers(
        state, activation=options["act"], arch=options.get("arch"), heads=cast(Heads | None, heads), where=str(path)
    )
    size = network.config.vision_config.image_size
    notes = {"file": path.name, "file_sha256": sha256_file(path), "lora_merged": merged} | (notes or {})
    return ClipModel(spec, network, clip_tokenizer(), clip_preprocess(size), device=device, dtype=dtype, notes=notes)


def file_options(rest: str, spec: str) -> tuple[Path, dict[str, str]]:
    """FILE?name=value&... -> the path and its options, each checked."""
    name, options = split_options(rest, spec, dict.fromkeys(OPTIONS, ()) | {"act": tuple(ACTIVATIONS)})
    if "arch" in options:
        base = options["arch"].removesuffix("-quickgelu")
        if base not in ARCHITECTURES:
            raise UserError(
                f"{spec}: arch={options['arch']} is not known ({', '.join(ARCHITECTURES)})."
                f"{did_you_mean(base, ARCHITECTURES)} Without arch= it is read from the shapes."
            )
        if base != options["arch"] and options.setdefault("act", "quickgelu") != "quickgelu":
            raise UserError(f"{spec}: arch={options['arch']} and act={options['act']} contradict each other")
        options["arch"] = base
    if "context" in options and not (options["context"].isdecimal() and int(options["context"]) >= 3):
        raise UserError(f"{spec}: context={options['context']} is not a number of tokens")
    if "heads" in options and ("arch" in options or not re.fullmatch(r"[1-9]\d{0,3},[1-9]\d{0,3}", options["heads"])):
        words = "expected two numbers, of the vision and of the text tower, and no arch: heads=12,8"
        raise UserError(f"{spec}: heads={options['heads']}: {words}")
    return Path(name).expanduser(), options


def read_state(path: Path) -> dict[str, object]:
    """The state dict of a file, read without running its code: safetensors, or torch with weights_only."""
    if not path.is_file():
        raise UserError(f"{path}: no such checkpoint file")
    if path.stat().st_size == 0:
        raise UserError(f"{path}: the file is empty")
    loaded: object = _read_safetensors(path) if path.suffix == ".safetensors" else _read_torch(path)
    for key in ("state_dict", "model", "model_state_dict"):
        if isinstance(loaded, dict) and isinstance(loaded.get(key), dict):
            loaded = loaded[key]
            break
    if not isinstance(loaded, dict) or not any(isinstance(value, torch.Tensor) for value in loaded.values()):
        content = f"a dict with {list(loaded)[:5]}" if isinstance(loaded, dict) else type(loaded).__name__
        raise UserError(f"{path}: no state dict in it (nor under state_dict or model); found {content}")
    return loaded


def _read_safetensors(path: Path) -> dict[str, torch.Tensor]:
    from safetensors import SafetensorError
    from safetensors.torch import load_file as load_safetensors

    try:
        return load_safetensors(path)
    except (SafetensorError, OSError) as error:
        raise UserError(f"{path}: not a whole safetensors file ({error})") from None


def _read_torch(path: Path) -> object:
    if _is_torchscript(path):
        raise UserError(
            f"{path}: a TorchScript archive (OpenAI's download), which is a program; it is not run here.\n"
            'If you trust it, convert it once:  python -c "import torch; '
            f"torch.save(torch.jit.load('{path}', map_location='cpu').state_dict(), '{path.stem}-state.pt')\"\n"
            f"and use checkpoint:{path.stem}-state.pt?act=quickgelu"
        )
    try:
        return torch.load(path, map_location="cpu", weights_only=True)
    except pickle.UnpicklingError as error:
        match = re.search(r"GLOBAL (\S+)", str(error))
        what = f"it asks to call {match.group(1)}" if match else "it is not a plain torch file"
        raise UserError(
            f"{path}: refused. A pickle can run any program when it is opened, and this one holds more than tensors: "
            f"{what}. Nothing was run.\n"
            'If you trust its source, keep the tensors alone:  python -c "import torch; '
            f"d = torch.load('{path}', map_location='cpu', weights_only=False); "
            f"torch.save(d.get('state_dict', d), '{path.stem}-state.pt')\""
        ) from None
    except Exception as error:  # whatever a damaged file does to torch: fuzzing finds a new kind each time
        why = f"{type(error).__name__}: {first_line(error)}"
        raise UserError(f"{path}: damaged or not a torch file ({why})") from None


def _is_torchscript(path: Path) -> bool:
    if not zipfile.is_zipfile(path):
        return False
    try:
        with zipfile.ZipFile(path) as archive:
            return any(name.endswith("/constants.pkl") for name in archive.namelist())
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError, struct.error):
        return False  # torch.load will say what is wrong with it


def unprefixed(state: Mapping[str, object], where: str) -> State:
    """The tensors, without the prefixes of DataParallel and torch.compile in their names, however often."""
    tensors: State = {
        name: value for name, value in state.items() if isinstance(name, str) and isinstance(value, torch.Tensor)
    }
    for name, value in tensors.items():
        if value.layout != torch.strided or value.is_meta or value.is_quantized or value.is_complex():
            raise UserError(
                f"{where}: {name} is not a plain tensor of numbers ({value.layout}, {value.dtype}, on {value.device}); "
                "save the checkpoint again as dense float tensors"
            )
    while (prefix := next((p for p in PREFIXES if any(name.startswith(p) for name in tensors)), None)) is not None:
        tensors = {name.removeprefix(prefix): value for name, value in tensors.items()}
    return tensors


def merge_lora(state: State, where: str) -> tuple[State, int]:
    """Add SVLC's, DAC's and FSC-CLIP's low-rank parts to their weights: W + (B @ A) / r (their alpha is 1).

    Names are X.lora_A next to X.weight, and attn.in_proj_weight_lora_A next to attn.in_proj_weight. The rank
    is the rows of A; for a convolution, whose A is (r*k, 3*k), the rows divided by k. Returns their number too.
    """
    downs = [name for name in state if name.endswith("lora_A")]
    lonely = [name for name in state if name.endswith("lora_B") and name.removesuffix("B") + "A" not in state]
    if lonely:
        raise UserError(f"{where}: {lonely[0]} has no {lonely[0].removesuffix('B')}A next to it ({len(lonely)} such)")
    merged = {name: tensor for name, tensor in state.items() if not name.endswith(("lora_A", "lora_B"))}
    for name in downs:
        target = name.removesuffix("_lora_A") if name.endswith("_lora_A") else name.removesuffix("lora_A") + "weight"
        up = name.removesuffix("A") + "B"
        if up not in state or target not in merged:
            raise UserError(f"{where}: {name} has no {up if up not in state else target} next to it")
        merged[target] = _with_adapter(merged[target].float(), state[name].float(), state[up].float(), f"{where}: {up}")
    return merged, len(downs)


def _with_adapter(weight: torch.Tensor, down: torch.Tensor, up: torch.Tensor, where: str) -> torch.Tensor:
    """W + (B @ A) / r, by exact shapes: a transposed pair has as many numbers, and would merge into nonsense."""
    kernel = weight.shape[2] if weight.dim() == 4 else 1
    rows, columns = weight.shape[0] * kernel, (weight.shape[1] * kernel if weight.dim() > 1 else 0)
    rank = len(down) // kernel if down.dim() == 2 else 0
    if rank < 1 or tuple(down.shape) != (rank * kernel, columns) or tuple(up.shape) != (rows, rank * kernel):
        raise UserError(
            f"{where} {tuple(up.shape)} @ its A {tuple(down.shape)} does not fit the weight {tuple(weight.shape)}"
        )
    return weight + (up @ down).reshape(weight.shape) / rank


def cut_context(state: State, context: int, where: str) -> State:
    """Use the first `context` positions, as models trained with shorter texts do (CLoVe: 64)."""
    positions = state.get("positional_embedding")
    if positions is None or len(positions) < context:
        have = "no" if positions is None else len(positions)
        raise UserError(f"{where}: context={context} was asked for, but the text tower has {have} positions")
    return state | {"positional_embedding": positions[:context]}
