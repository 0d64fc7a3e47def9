"""The task files of inspect_ai, of lm-evaluation-harness, and of lmms-eval, which grew out of it and takes nearly the
same. Their text is in templates/.

The scorer of inspect_ai reads answers as `eval` does; the metrics are ours everywhere. The latter two look for the data
from the folder in which they are started, so the command begins with `cd`.
"""

from __future__ import annotations

from importlib import resources

from equipoise.evaluation.asking.shipped import SHARES

RUN_INSPECT = "inspect eval task.py --model MODEL"
_OPTIONS = "--tasks {name} --include_path . --log_samples --output_path OUT"
RUN_LM = f"lm_eval --model hf-multimodal --model_args pretrained=MODEL {_OPTIONS}"
RUN_LMMS = f"python -m lmms_eval --model MODEL {_OPTIONS}"
_METRIC = """\
  - metric: {name}
    aggregation: !function utils.{name}
    higher_is_better: {high}
"""


def _template(name: str) -> str:
    return resources.files(__package__).joinpath("templates", name).read_text(encoding="utf-8")


def inspect_files(name: str) -> dict[str, str]:
    return {"task.py": _template("inspect_task.py.txt").replace("{name!r}", repr(name))}


def _files(name: str, placeholder: str, own: str) -> dict[str, str]:
    metrics = "".join(
        _METRIC.format(name=share, high=str(share not in ("brittleness", "order_flips")).lower()) for share in SHARES
    )
    functions = "".join(f'{share} = of("{share}")\n' for share in SHARES)
    return {
        f"{name}.yaml": _template("lm_task.yaml.txt").format(name=name, own=own, metrics=metrics),
        "utils.py": _template("lm_utils.py.txt").replace("{placeholder}", placeholder) + functions,
    }


def lm_files(name: str) -> dict[str, str]:
    return _files(name, '"<image>" * len(doc["images"]) + ', "doc_to_image: !function utils.doc_to_visual\n")


def lmms_files(name: str) -> dict[str, str]:
    return _files(name, "", "doc_to_visual: !function utils.doc_to_visual\n")
