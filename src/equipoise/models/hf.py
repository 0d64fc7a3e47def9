"""`hf:NAME-or-folder`: models of a known family (families.py) in transformers' format, from a folder or the hub.

Nothing a folder holds is executed: safetensors, or .bin files read with weights_only; no remote code.
"""

from __future__ import annotations

import os
import pickle
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.core.errors import Problems, UserError, did_you_mean, first_line
from equipoise.core.files import read_json
from equipoise.models import WORLD
from equipoise.models.clip import ClipModel, quiet_transformers
from equipoise.models.families import family_named
from equipoise.models.inputs import Preprocess, from_config

if TYPE_CHECKING:
    from transformers import PreTrainedModel, PreTrainedTokenizerBase

TOKENIZER_FILES = ("tokenizer.json", "vocab.json", "vocab.txt", "spiece.model", "tokenizer.model")
SMALL_FILES = ["*.json", "*.txt", "*.model", "*.jinja"]


def load_hf(name: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> ClipModel:
    folder, notes = find_folder(name, spec)
    return load_folder(folder, spec=spec, device=device, dtype=dtype, notes=notes)


def load_world(_rest: str, *, spec: str, device: str, dtype: str) -> ClipModel:
    if not (WORLD / "config.json").is_file():
        raise UserError("model 'world': the base model is not in this installation; reinstall equipoise")
    return load_folder(WORLD, spec=spec, device=device, dtype=dtype)


def find_folder(name: str, spec: str) -> tuple[Path, dict[str, str]]:
    """Resolve a folder or hub name to a local folder and card fields."""
    folder = Path(name).expanduser()
    if folder.is_dir():
        return folder, {}
    if name.startswith((".", "~", os.sep)) or name.endswith("/") or name.count("/") > 1 or not name:
        near = (str(path) for path in folder.parent.glob("*") if path.is_dir()) if folder.parent.is_dir() else ()
        raise UserError(f"{spec}: no folder {name!r}.{did_you_mean(str(folder), near)}")
    folder = _from_hub(name, spec.partition(":")[0])
    return folder, {"revision": folder.name}


def load_folder(
    folder: Path, *, spec: str, device: str = "auto", dtype: str = "float32", notes: dict[str, Any] | None = None
) -> ClipModel:
    """A model from a local folder; never looks at the network."""
    config = read_config(folder)
    family = family_named(config.get("model_type"), str(folder / "config.json"))
    check_folder(folder, config)
    _refuse_bare_weights(folder)
    preprocess = _preprocess(folder)
    tokenizer = load_tokenizer(folder)
    network = load_network(folder, family.network, family.attention)
    model = ClipModel(spec, network, tokenizer, preprocess, device=device, dtype=dtype, notes=notes)
    model.folder = folder
    return model


def read_config(folder: Path) -> dict[str, Any]:
    _refuse_adapter(folder)
    if not (folder / "config.json").is_file():
        raise UserError(f"{folder}: no config.json; a folder as transformers' save_pretrained writes it was expected")
    config = read_json(folder / "config.json")
    return config if isinstance(config, dict) else {}


def _refuse_adapter(folder: Path) -> None:
    """Refuse an adapter: transformers would merge it or not by what is installed, two models of one folder."""
    path = folder / "adapter_config.json"
    if not path.exists():
        return
    config = read_json(path)
    base = str(config.get("base_model_name_or_path") or "BASE") if isinstance(config, dict) else "BASE"
    raise UserError(
        f"{path}: an adapter (LoRA) of peft. Merge it into the model it was trained on, and name that folder:\n"
        "  from peft import PeftModel; from transformers import AutoModel, AutoProcessor\n"
        f"  PeftModel.from_pretrained(AutoModel.from_pretrained({base!r}), {str(folder)!r}).merge_and_unload()"
        f".save_pretrained('merged'); AutoProcessor.from_pretrained({base!r}).save_pretrained('merged')\n"
        "In Python, equipoise.evaluate((peft_model, processor), ...) takes the model as it is."
    )


def check_folder(folder: Path, config: dict[str, object], *, positions: bool = True) -> None:
    """Keep from transformers what it must not get: files outside the folder, and sizes that would fill the memory
    before anything is known to be wrong (also of `positions`, where each is a row)."""
    problems = Problems(str(folder))
    for index in sorted(folder.glob("*.index.json")):
        record = read_json(index)
        shards = record.get("weight_map") if isinstance(record, dict) else None
        names = set(shards.values()) if isinstance(shards, dict) else {None}
        for name in sorted(map(str, names)):
            if Path(name).name != name or not (folder / name).is_file():
                problems.add(index.name, f"expected the name of a file in this folder, found {name!r}")
    for tower in ("text_config", "vision_config"):
        part = config.get(tower)
        for name, value in part.items() if isinstance(part, dict) else ():
            highest = _HIGHEST.get(name) if positions or name != "max_position_embeddings" else None
            if highest is not None and isinstance(value, int) and value > highest:
                problems.add("config.json", f"{tower}.{name} is {value:,}; at most {highest:,} is accepted")
    problems.raise_if_any()


_HIGHEST = {  # far above any CLIP: a larger number is a mistake or an attack, and would take minutes or all memory
    "num_hidden_layers": 256,
    "hidden_size": 32_768,
    "intermediate_size": 262_144,
    "vocab_size": 10_000_000,
    "max_position_embeddings": 131_072,
    "image_size": 8_192,
    "projection_dim": 65_536,
}


def _refuse_bare_weights(folder: Path) -> None:
    """Refuse a model without its other files, as training scripts often save it; name them, and the command."""
    lacking = []
    if not any((folder / name).is_file() for name in ("preprocessor_config.json", "processor_config.json")):
        lacking.append("no preprocessor_config.json (how its images were scaled in training)")
    if not _has_tokenizer(folder):
        lacking.append(f"no tokenizer ({' or '.join(TOKENIZER_FILES)})")
    if lacking:
        raise UserError(
            f"{folder}: {' and '.join(lacking)}. Copy the files of the model it was finetuned from (BASE) into the "
            'folder; those of another one give wrong numbers: python -c "from transformers import AutoProcessor as P; '
            f"P.from_pretrained('BASE').save_pretrained('{folder}')\""
        )


def _preprocess(folder: Path) -> Preprocess:
    path = folder / "preprocessor_config.json"
    if path.is_file():
        return from_config(read_json(path), str(path))
    path = folder / "processor_config.json"  # where newer transformers keep it
    whole = read_json(path)
    nested = whole.get("image_processor") if isinstance(whole, dict) else None
    if nested is None:
        raise UserError(f"{path}: no image_processor, so how its images were scaled in training is unknown")
    return from_config(nested, str(path))


def load_tokenizer(folder: Path) -> PreTrainedTokenizerBase:
    if not _has_tokenizer(folder):
        raise UserError(
            f"{folder}: no tokenizer ({' or '.join(TOKENIZER_FILES)}); "
            "copy the tokenizer files of the model it was finetuned from into the folder"
        )
    from transformers import AutoTokenizer

    try:
        return AutoTokenizer.from_pretrained(str(folder), local_files_only=True, trust_remote_code=False)
    except Exception as error:  # a damaged tokenizer.json fails in Rust, with errors of its own
        hint = "; pip install sentencepiece protobuf" if "sentencepiece" in str(error).lower() else ""
        raise UserError(f"{folder}: the tokenizer could not be loaded ({first_line(error)}){hint}") from error


def load_network(
    folder: Path, network: str, attention: str | None, *, scores: bool = False, dtype: str = "float32"
) -> PreTrainedModel:
    """The network of a class of transformers, with all of its weights. A model that `scores` pairs is read from
    safetensors alone, and its file may hold more: it is often published with the heads of all its training."""
    import torch
    import transformers

    safe = any(folder.glob("*.safetensors"))
    pickled = any(folder.glob("pytorch_model*.bin"))
    if not safe and (scores or not pickled):
        hint = "; .bin files are not read here: save the model again with transformers" if pickled else ""
        raise UserError(f"{folder}: no weights (model.safetensors){hint}")
    try:
        with quiet_transformers():
            loaded, info = getattr(transformers, network).from_pretrained(
                str(folder),
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=safe,
                weights_only=True,
                dtype=getattr(torch, dtype),
                attn_implementation=attention,  # stated: a config may name a kernel of the hub, a program
                output_loading_info=True,
                ignore_mismatched_sizes=True,  # so that they come back in `info`, with all the others
            )
    except pickle.UnpicklingError:
        raise UserError(
            f"{folder}: refused. Its .bin weights hold more than tensors, and a pickle can run any program when it is "
            "opened. Nothing was run. Use a folder with model.safetensors."
        ) from None
    except Exception as error:  # a config may ask for anything: an unknown activation, no heads, a size in words
        raise UserError(
            f"{folder}: the model could not be loaded: config.json and weights do not make one ({first_line(error)})"
        ) from error
    problems = Problems(f"{folder}: the weights do not match config.json")
    for kind in ("missing_keys", "mismatched_keys", *(() if scores else ("unexpected_keys",))):
        for key in sorted(map(str, info.get(kind, ()))):
            if not key.endswith("position_ids"):
                problems.add(kind.split("_")[0], key)
    problems.raise_if_any()
    return loaded


def _from_hub(name: str, kind: str = "hf") -> Path:
    """The hub's files in its own cache; prints the size before it downloads."""
    from huggingface_hub import HfApi, constants, snapshot_download
    from huggingface_hub.errors import HFValidationError

    try:
        if (cached := local_folder(name)) is not None:
            return cached
    except HFValidationError as error:
        raise UserError(f"{kind}:{name}: neither a folder nor a name of the hub ({first_line(error)})") from None
    if constants.HF_HUB_OFFLINE:
        raise UserError(
            f"{kind}:{name}: no such folder, not whole in the hub's local cache, and HF_HUB_OFFLINE is set; "
            "unset it once to download, or give the folder of a downloaded model"
        )
    try:
        files = HfApi().model_info(name, files_metadata=True).siblings or []
        sizes = {file.rfilename: file.size or 0 for file in files if "/" not in file.rfilename}
        weights = [n for n in sizes if n.endswith(".safetensors")] or [
            n for n in sizes if n.startswith("pytorch_model") and n.endswith(".bin")
        ]
        total = sum(sizes[weight] for weight in weights) / 1e6
        print(f"downloading {name} from the Hugging Face hub: {total:,.0f} MB of weights", file=sys.stderr)
        return Path(snapshot_download(name, allow_patterns=[*SMALL_FILES, *weights]))
    except Exception as error:  # the hub's client (requests, httpx, ...) and so its errors differ by version
        raise UserError(
            f"{kind}:{name}: no such folder here, and {_hub_words(error)}; offline, give the folder of a downloaded "
            "model"
        ) from error


def local_folder(name: str) -> Path | None:
    """A folder, or the hub's files of that name if its cache has them all."""
    from huggingface_hub import snapshot_download
    from huggingface_hub.errors import LocalEntryNotFoundError

    folder = Path(name)
    if not folder.is_dir():
        try:
            folder = Path(snapshot_download(name, local_files_only=True))
        except LocalEntryNotFoundError:
            return None
    return folder if _complete(folder) else None


def _hub_words(error: Exception) -> str:
    if any(words in str(error) for words in ("Name or service not known", "ConnectError", "Temporary failure in name")):
        return "the Hugging Face hub cannot be reached (no network?)"
    return f"the hub did not give it ({first_line(error)})"


def _complete(folder: Path) -> bool:
    """Whether a cached download was not broken off: configuration, tokenizer and every part of the weights."""
    parts = ["model.safetensors", "pytorch_model.bin"]
    whole = any((folder / part).is_file() for part in parts)
    for index in (folder / f"{part}.index.json" for part in parts):
        if index.is_file():
            whole = whole or all((folder / shard).is_file() for shard in set(read_json(index)["weight_map"].values()))
    return whole and (folder / "config.json").is_file() and _has_tokenizer(folder)


def _has_tokenizer(folder: Path) -> bool:
    return any((folder / name).is_file() for name in TOKENIZER_FILES)
