"""An evaluator for sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from equipoise.api.inputs import Images
from equipoise.data.items import Item
from equipoise.integrations.watched import Watched

if TYPE_CHECKING:
    from PIL import Image
    from sentence_transformers import SentenceTransformer

try:  # its place since version 6
    from sentence_transformers.sentence_transformer.evaluation import SentenceEvaluator
except ModuleNotFoundError:
    from sentence_transformers.evaluation import SentenceEvaluator


class EquipoiseEvaluator(SentenceEvaluator):  # type: ignore[misc]
    """Measures items each time the trainer evaluates (`eval_strategy`, `eval_steps`), for about `seconds`.

    The trainer logs eval_equipoise_original, _augmented, _brittleness, _drop and _n. With load_best_model_at_end=True
    and metric_for_best_model="eval_equipoise_augmented" it keeps the best checkpoint.
    """

    def __init__(
        self,
        items: str | Path | Sequence[Item],
        images: Images | None = None,
        *,
        seconds: float = 20.0,
        name: str = "equipoise",
    ) -> None:
        super().__init__()
        self.watched, self.name = Watched(items, images, seconds), name
        self.primary_metric = self.watched.metric

    def __call__(
        self, model: SentenceTransformer, output_path: str | None = None, epoch: float = -1, steps: int = -1
    ) -> dict[str, float]:
        numbers = self.watched.measure(_Embedder(model), model)
        logged: dict[str, float] = self.prefix_name_to_metrics(self.watched.logged(numbers), self.name)
        self.store_metrics_in_model_card_data(model, logged, epoch, steps)
        return logged


class _Embedder:
    """A SentenceTransformer under the names that scoring asks for."""

    def __init__(self, model: SentenceTransformer) -> None:
        self.model, self.device = model, model.device

    def embed_images(self, images: Sequence[Image.Image | str]) -> Any:
        return self.model.encode(list(images), batch_size=len(images), show_progress_bar=False)

    embed_texts = embed_images  # `encode` takes both
