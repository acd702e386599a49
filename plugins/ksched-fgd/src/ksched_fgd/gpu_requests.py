"""What a pod asks for of a node's GPUs, in its annotations.

Upstream: pkg/type/open-gpu-share/utils (const.go, pod.go).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

MILLI = 1000  # thousandths of a GPU in a whole one

GPU_MILLI = "alibabacloud.com/gpu-milli"
GPU_COUNT = "alibabacloud.com/gpu-count"
GPU_INDEX = "alibabacloud.com/gpu-index"
GPU_MODEL = "alibabacloud.com/gpu-card-model"


@dataclass(frozen=True, slots=True)
class GpuRequest:
    """count: of GPUs; milli: thousandths of each; models: allowed ones, "A|B", or "" for any."""

    count: int = 0
    milli: int = 0
    models: str = ""

    @property
    def total(self) -> int:
        """Return thousandths of all the GPUs together."""
        return self.count * self.milli

    @property
    def is_shared(self) -> bool:
        """Whether it is for a part of one GPU."""
        return self.count == 1 and self.milli < MILLI

    @property
    def kind(self) -> str:
        """What upstream calls the GPU affinity of a pod; "" for none."""
        if not self.count:
            return ""
        return "share-gpu" if self.is_shared else f"{self.count}-gpu"

    def allows(self, model: str) -> bool:
        """Whether GPUs of a model will do; model: "" where the node does not tell."""
        models = [name for name in self.models.split("|") if name]
        return not models or model in models


NO_GPUS = GpuRequest()


def gpu_request(annotations: Mapping[str, str]) -> GpuRequest:
    """Read what a pod wants of GPUs from its annotations. Raises ValueError for amounts that are no
    numbers, and for parts of several GPUs."""
    milli = _number(annotations, GPU_MILLI)
    if milli <= 0:
        return NO_GPUS
    count = _number(annotations, GPU_COUNT)
    if milli > MILLI or count < 1 or (count > 1 and milli < MILLI):
        raise ValueError(
            f"{GPU_MILLI}: {milli} with {GPU_COUNT}: {count} is neither a part of one GPU"
            f" nor whole GPUs, which are {MILLI} each"
        )
    return GpuRequest(count, milli, annotations.get(GPU_MODEL, ""))


def gpu_annotations(request: GpuRequest) -> dict[str, str]:
    """The reverse of `gpu_request`."""
    if not request.count:
        return {}
    annotations = {GPU_MILLI: str(request.milli), GPU_COUNT: str(request.count)}
    return annotations | ({GPU_MODEL: request.models} if request.models else {})


def gpu_indices(annotations: Mapping[str, str]) -> tuple[int, ...]:
    """The GPUs that a pod has, as "0-2"; () where it does not tell. Raises ValueError."""
    text = annotations.get(GPU_INDEX, "")
    try:
        return tuple(int(index) for index in text.split("-")) if text else ()
    except ValueError:
        raise ValueError(f"{GPU_INDEX}: {text} should be numbers as 0-2") from None


def _number(annotations: Mapping[str, str], name: str) -> int:
    text = annotations.get(name, "0")
    try:
        return int(text)
    except ValueError:
        raise ValueError(f"{name}: {text} is not a whole number") from None
