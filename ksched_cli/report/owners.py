"""The owners of pods, as tables name them."""

from __future__ import annotations

from collections.abc import Sequence

from ksched_cli.analysis.diagnosis import POD

NO_CONTROLLER = "no controller"


def shared_owner(owner: str) -> str:
    """The owner; pods without a controller share a name by namespace.

    owner: namespace/Kind/name
    """
    namespace, kind, _ = owner.split("/", 2)
    return f"{NO_CONTROLLER} in {namespace}" if kind == POD else owner


def group_name(owner: str, pods: Sequence[str]) -> str:
    """The shared owner of the pods; a single pod without a controller goes by its own name."""
    return pods[0] if len(pods) == 1 and owner.startswith(NO_CONTROLLER) else owner
