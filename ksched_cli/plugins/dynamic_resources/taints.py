"""Taints of devices, which bar the requests that do not tolerate them.

Upstream: dynamic-resource-allocation/resourceclaim/devicetoleration.go (ToleratesTaint);
structured/internal/incubating/allocator_incubating.go (taintPreventsAllocation).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ksched_cli.cluster.objects import DeviceTaint, DeviceToleration

# The others, None among them, say something and bar nothing.
BARRING_EFFECTS = ("NoSchedule", "NoExecute")


def untolerated_taint(
    taints: Iterable[DeviceTaint], tolerations: Sequence[DeviceToleration]
) -> DeviceTaint | None:
    """The first taint that bars a request with these tolerations."""
    for taint in taints:
        if taint.effect in BARRING_EFFECTS and not any(
            _tolerates(toleration, taint) for toleration in tolerations
        ):
            return taint
    return None


def _tolerates(toleration: DeviceToleration, taint: DeviceTaint) -> bool:
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    if toleration.operator in ("", "Equal"):
        return toleration.value == taint.value
    return toleration.operator == "Exists"
