"""Teaches a large encoder the readers' verdicts, and asks it about the whole pool.

    python -m studies.judge.teach ENCODER verdicts.jsonl pool.jsonl --out scores.npy

ENCODER is a folder of transformers (all-mpnet-base-v2 was used). It reads the edit, the caption and the other captions
as one text; the parts of the edit that changed are pooled apart. Writes for each candidate of the pool the chances of
pass, may be true, implausible, no good English: the mean of the seeds. Minutes on a GPU, days without.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from transformers import AutoModel, AutoTokenizer

from studies.harness import read_lines
from studies.harness.inputs import arguments, existing

EPOCHS, BATCH, RATE, HEAD_RATE, LONGEST, SMOOTHING, SEEDS = 3, 128, 8e-5, 5e-4, 128, 0.03, 3


class Teacher(nn.Module):
    def __init__(self, folder: str) -> None:
        super().__init__()
        self.encoder = AutoModel.from_pretrained(folder, local_files_only=True, use_safetensors=True)
        width = self.encoder.config.hidden_size
        self.head = nn.Sequential(
            nn.Dropout(0.1), nn.Linear(3 * width, width), nn.GELU(), nn.Dropout(0.1), nn.Linear(width, 4)
        )

    def forward(self, ids: Tensor, mask: Tensor, parts: Tensor) -> Tensor:
        states = self.encoder(input_ids=ids, attention_mask=mask).last_hidden_state
        pooled = [states[:, 0]]
        for part in (1, 2):  # the edit as it was, and what changed
            here = (parts == part).unsqueeze(-1).to(states.dtype)
            pooled.append((states * here).sum(1) / here.sum(1).clamp(min=1))
        verdicts: Tensor = self.head(torch.cat(pooled, -1))
        return verdicts


def changed(caption: str, text: str) -> tuple[int, int]:
    """Characters of the text that differ from the caption."""
    start, end, least = 0, 0, min(len(caption), len(text))
    while start < least and caption[start] == text[start]:
        start += 1
    while end < least - start and caption[-1 - end] == text[-1 - end]:
        end += 1
    return start, max(len(text) - end, start + 1)


def encoded(tokenizer: Any, rows: list[dict[str, Any]]) -> tuple[Tensor, Tensor, Tensor]:
    first, separator, pad = tokenizer.cls_token_id, tokenizer.sep_token_id, tokenizer.pad_token_id
    ids = torch.full((len(rows), LONGEST), pad)
    parts = torch.zeros((len(rows), LONGEST), dtype=torch.int8)
    for place, row in enumerate(rows):
        edit = tokenizer(row["text"], add_special_tokens=False, return_offsets_mapping=True)
        rest = tokenizer([row["caption"], " ".join(row["others"])], add_special_tokens=False)["input_ids"]
        listed = [first, *edit["input_ids"], separator, separator, *rest[0], separator, separator, *rest[1]]
        listed = [*listed[: LONGEST - 1], separator]
        ids[place, : len(listed)] = torch.tensor(listed)
        start, end = changed(row["caption"], row["text"])
        for token, (left, right) in enumerate(edit["offset_mapping"][: LONGEST - 1], 1):
            parts[place, token] = 2 if right > start and left < end else 1
    return ids, (ids != pad).long(), parts


def taught(folder: str, data: tuple[Tensor, Tensor, Tensor], labels: Tensor, seed: int, device: str) -> Teacher:
    torch.manual_seed(seed)
    teacher = Teacher(folder).to(device).train()
    groups = [
        {"params": teacher.encoder.parameters(), "lr": RATE},
        {"params": teacher.head.parameters(), "lr": HEAD_RATE},
    ]
    optimizer = torch.optim.AdamW(groups, weight_decay=0.01)
    total = EPOCHS * -(-len(labels) // BATCH)
    warm = max(1, total // 10)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda k: min(1, (k + 1) / warm) * (1 - k / total))
    for _ in range(EPOCHS):
        for batch in torch.split(torch.randperm(len(labels)), BATCH):
            with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
                answer = teacher(*(part[batch].to(device) for part in data))
            loss = nn.functional.cross_entropy(answer.float(), labels[batch].to(device), label_smoothing=SMOOTHING)
            optimizer.zero_grad()
            torch.autograd.backward(loss)
            nn.utils.clip_grad_norm_(teacher.parameters(), 1.0)
            optimizer.step()
            schedule.step()
    return teacher.eval()


@torch.no_grad()
def asked(teacher: Teacher, data: tuple[Tensor, Tensor, Tensor], device: str) -> np.ndarray:
    chances = []
    for batch in torch.split(torch.arange(len(data[0])), 1024):
        with torch.autocast(device, torch.bfloat16, enabled=device == "cuda"):
            chances.append(teacher(*(part[batch].to(device) for part in data)).float().softmax(-1).cpu())
    return torch.cat(chances).numpy()


def main() -> None:
    parser = arguments(__doc__)
    parser.add_argument("encoder", type=existing())
    parser.add_argument("verdicts", type=existing())
    parser.add_argument("pool", type=existing())
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    device = "cuda" if torch.cuda.is_available() else "cpu"
    tokenizer = AutoTokenizer.from_pretrained(options.encoder, local_files_only=True)
    read = read_lines(options.verdicts)
    rows = [{**block, **made} for block in read_lines(options.pool) for made in block["made"]]
    learning, pool = encoded(tokenizer, read), encoded(tokenizer, rows)
    labels = torch.tensor([row["verdict"] for row in read])
    total = np.zeros((len(rows), 4))
    for seed in range(SEEDS):
        total += asked(taught(options.encoder, learning, labels, seed, device), pool, device)
        print(f"seed {seed} done", flush=True)
    np.save(options.out, (total / SEEDS).astype(np.float16))


if __name__ == "__main__":
    main()
