"""The matching of tolerations and taints, of nodes and of devices.

Upstream: api/core/v1/toleration.go, component-helpers/scheduling/corev1/helpers.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from ksched_cli.cluster.objects import Taint, Toleration
from ksched_cli.kube.int64 import parse_int64

COMPARISON_GATE = "TaintTolerationComparisonOperators"
COMPARISONS = ("Lt", "Gt")
# Upstream: apimachinery/pkg/api/validate/content (IsDecimalInteger).
_INTEGER = re.compile(r"0|-?[1-9][0-9]*")


def tolerates(toleration: Toleration, taint: Taint, compares: bool = False) -> bool:
    """Return whether a toleration tolerates a taint. compares: the operators Lt and Gt compare
    values as numbers; else they tolerate nothing.

    Upstream: Toleration.ToleratesTaint.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    if toleration.operator == "Exists":
        return True
    if not compares:
        return False
    # The taint's value is below (Lt) or above (Gt) the toleration's. Upstream:
    # compareNumericValues.
    number, bound = _integer(taint.value), _integer(toleration.value)
    if number is None or bound is None:
        return False
    if toleration.operator == "Lt":
        return number < bound
    return toleration.operator == "Gt" and number > bound


def tolerated(tolerations: Iterable[Toleration], taint: Taint, compares: bool = False) -> bool:
    """Return whether one of them tolerates it. Upstream: TolerationsTolerateTaint."""
    return any(tolerates(toleration, taint, compares) for toleration in tolerations)


def _integer(text: str) -> int | None:
    return parse_int64(text) if _INTEGER.fullmatch(text) else None
