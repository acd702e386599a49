"""The points of a scoring function, as args name them.

Upstream: apis/config/types_pluginargs.go, validation/validation_pluginargs.go.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from ksched_cli.config.go_types import INT32, field
from ksched_cli.kube.field_errors import FieldError, invalid, required

MAX_UTILIZATION = 100
MAX_SCORE = 10


@dataclass(frozen=True, slots=True)
class UtilizationShapePoint:
    GO: ClassVar[str] = "v1.UtilizationShapePoint"
    utilization: int = field("utilization", INT32, omit=False, minimum=0, maximum=100)
    score: int = field("score", INT32, omit=False, minimum=0, maximum=10)


def shape_errors(shape: Sequence[UtilizationShapePoint], path: str) -> list[FieldError]:
    """validateFunctionShape."""
    if not shape:
        return [required(path, "at least one point must be specified")]
    errors: list[FieldError] = []
    for index in range(1, len(shape)):
        if shape[index - 1].utilization >= shape[index].utilization:
            where, value = f"{path}[{index}].utilization", shape[index].utilization
            errors.append(invalid(where, value, "values must be sorted in increasing order"))
            break
    for index, point in enumerate(shape):
        if not 0 <= point.utilization <= MAX_UTILIZATION:
            where = f"{path}[{index}].utilization"
            errors.append(invalid(where, point.utilization, "not in valid range [0, 100]"))
        if not 0 <= point.score <= MAX_SCORE:
            where = f"{path}[{index}].score"
            errors.append(invalid(where, point.score, "not in valid range [0, 10]"))
    return errors
