"""`paper:NAME@FILE`: the published checkpoints of earlier papers, and what one must know to load each rightly.

The evaluation code of the hard-positive paper loads all the models finetuned from OpenAI's CLIP with GELU,
though they were trained with QuickGELU; so do others (sugar-crepe#7, open_clip#771). Each row states what the
model was trained with. A published number that rests on the mistake is had with `?act=gelu`, and the card says so.
"""

from __future__ import annotations

from dataclasses import dataclass

from equipoise.core.errors import UserError, did_you_mean
from equipoise.models.checkpoint import file_options, load_file
from equipoise.models.clip import ClipModel


@dataclass(frozen=True)
class Paper:
    """One family of published checkpoint files."""

    title: str
    base: str
    activation: str
    where: str
    quirks: str = ""
    context: int | None = None


_OPENAI = "OpenAI ViT-B-32"

PAPERS: dict[str, Paper] = {
    "negclip": Paper(
        "When and Why Vision-Language Models Behave like Bags-of-Words (Yuksekgonul et al., ICLR 2023)",
        _OPENAI, "quickgelu", "github.com/mertyg/vision-language-models-are-bows",
        "plain open_clip names in a training dict",
    ),
    "ce-clip": Paper(
        "Contrasting Intra-Modal and Ranking Cross-Modal Hard Negatives (Zhang et al., CVPR 2024)",
        _OPENAI, "quickgelu", "github.com/lezhang7/Enhance-FineGrained",
        "module. before every name (DDP)",
    ),
    "svlc": Paper(
        "Teaching Structured Vision & Language Concepts (Doveh et al., CVPR 2023)",
        _OPENAI, "quickgelu", "github.com/SivanDoveh/TSVLC",
        "module. before every name; LoRA of rank 4, unmerged; the same for pos, rb_neg, llm_and_rb_negs",
    ),
    "dac": Paper(
        "Dense and Aligned Captions Promote Compositional Reasoning (Doveh et al., NeurIPS 2023)",
        _OPENAI, "quickgelu", "github.com/SivanDoveh/DAC",
        "module. before every name; LoRA of rank 4, unmerged (a variant has it in attention alone); dac_llm, dac_sam",
    ),
    "crepe-ft": Paper(
        "CREPE finetunes in The Hard Positive Truth about Vision-Language Compositionality (Kamath et al., ECCV 2024)",
        _OPENAI, "quickgelu", "published with SugarCrepe's models",
        "swap, replace, negate, all",
    ),
    "clove": Paper(
        "CLoVe: Encoding Compositional Language in Contrastive Vision-Language Models (Castro et al., 2024)",
        _OPENAI, "quickgelu", "github.com/Netflix/clove",
        "context of 64; the published numbers patch this file into OpenAI's weights (0.6 of it), the file alone is not "
        "that model",
        context=64,
    ),
    "fsc-clip": Paper(
        "Preserving Multi-Modal Capabilities of Pre-trained VLMs (FSC-CLIP; Oh et al., EMNLP 2024)",
        "OpenAI ViT-B-32, B-16 or L-14", "quickgelu", "huggingface.co/ytaek-oh/fsc-clip",
        "coco_, cc3m_ and laioncoco_ files; the lora ones are unmerged",
    ),
    "fsc-clip-dcxl": Paper(
        "FSC-CLIP from DataComp-XL (Oh et al., EMNLP 2024)",
        "open_clip ViT-B-32 datacomp_xl_s13b_b90k", "gelu", "huggingface.co/ytaek-oh/fsc-clip",
        "dcxl_ files; GELU, unlike all the others; the lora one is unmerged",
    ),
    "hard-positives": Paper(
        "The Hard Positive Truth about Vision-Language Compositionality (Kamath et al., ECCV 2024)",
        _OPENAI, "quickgelu", "not linked in the paper's repository",
        "coco_control, coco_crepe_negs, coco_crepe_negs_hard_pos (and _swap_only, _replace_only, _25, _50, _75), "
        "coco_crepe_pos; the paper's own tables load them with GELU",
    ),
}  # fmt: skip


def load_paper(rest: str, *, spec: str, device: str = "auto", dtype: str = "float32") -> ClipModel:
    """`rest` is NAME@FILE, with ?act= to repeat a published mistake."""
    name, at, file = rest.partition("@")
    if name not in PAPERS:
        raise UserError(f"{spec}: no paper {name!r} ({', '.join(PAPERS)}).{did_you_mean(name, PAPERS)}")
    paper = PAPERS[name]
    if not at or not file:
        raise UserError(f"{spec}: which file? paper:{name}@FILE, with the checkpoint from {paper.where}")
    path, options = file_options(file, spec)
    activation = options.get("act", paper.activation)
    quirks = paper.quirks
    if activation != paper.activation:
        quirks += f"; LOADED WITH {activation.upper()}, though trained with {paper.activation}"
    context = int(options["context"]) if "context" in options else paper.context
    notes = {"paper": paper.title, "base": paper.base, "quirks": quirks}
    return load_file(
        path,
        spec=spec,
        activation=activation,
        arch=options.get("arch"),
        context=context,
        device=device,
        dtype=dtype,
        notes=notes,
    )
