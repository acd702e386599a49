"""A point of a scoring function, as args name it.

Upstream: apis/config/types_pluginargs.go.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from ksched_cli.config.go_types import INT32, field


@dataclass(frozen=True, slots=True)
class UtilizationShapePoint:
    GO: ClassVar[str] = "v1.UtilizationShapePoint"
    utilization: int = field("utilization", INT32, omit=False, minimum=0, maximum=100)
    score: int = field("score", INT32, omit=False, minimum=0, maximum=10)
