"""Whether tolerations tolerate a taint.

Upstream: api/core/v1/toleration.go, component-helpers/scheduling/corev1/helpers.go.
"""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.cluster.objects import Taint, Toleration


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Upstream: Toleration.ToleratesTaint."""
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"


def tolerated(tolerations: Iterable[Toleration], taint: Taint) -> bool:
    """Whether one of them tolerates it. Upstream: TolerationsTolerateTaint."""
    return any(tolerates(toleration, taint) for toleration in tolerations)
