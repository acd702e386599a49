"""Data that the plugins of one pod's attempt pass to each other.

Upstream: pkg/scheduler/framework/cycle_state.go.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.status import PluginError

# What JSON can say.
Note: TypeAlias = "str | int | float | bool | Sequence[Note] | Mapping[str, Note] | None"


class CycleState:
    """Data by key, and the plugins that asked to be left out of Filter or Score.

    notes:     by name, what plugins noted of the placement; None where nobody noted anything
    activated: the keys of pods that plugins asked to be tried again
    trial_group: namespace and name of the group that a pod is assumed with in a trial; else None
    on_node: returns the pod as it is on the node of a row; None where it is there as it was tried

    A value that AddPod and RemovePod change has a method `clone`; the others are shared by copies.
    """

    __slots__ = (
        "activated",
        "data",
        "notes",
        "on_node",
        "skip_filter",
        "skip_score",
        "trial_group",
    )

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.notes: dict[str, Note] | None = None
        self.activated: tuple[str, ...] = ()
        self.trial_group: tuple[str, str] | None = None
        self.on_node: Callable[[PodInfo, int], PodInfo] | None = None

    def read(self, key: str, doing: str = "reading") -> Any:
        """Raises PluginError where nothing was written, as when PreFilter is switched off.

        doing: how its message begins"""
        try:
            return self.data[key]
        except KeyError:
            raise PluginError(f'{doing} "{key}" from cycleState: not found') from None

    def write(self, key: str, value: Any) -> None:
        self.data[key] = value

    def note(self, name: str, value: Note) -> None:
        """Notes something of the placement: the results have it beside the pod's node. For Reserve
        and what comes after it. A name that was noted before gets the new value.

        value: what JSON can say; lists and mappings are not copied
        """
        if self.notes is None:
            self.notes = {}
        self.notes[name] = value

    def activate(self, key: str) -> None:
        """Ask that a pod without a node be tried again, once this one has passed Permit.

        key: namespace/name; for another than a pending pod it has no effect

        Upstream: PodsToActivate under the key kubernetes.io/pods-to-activate.
        """
        self.activated = (*self.activated, key)

    def take_activated(self) -> tuple[str, ...]:
        """The keys asked for since the last time."""
        taken, self.activated = self.activated, ()
        return taken

    def clone(self) -> CycleState:
        """Return a copy whose data may be changed without changing the original."""
        twin = CycleState()
        twin.skip_filter, twin.skip_score = self.skip_filter, self.skip_score
        twin.notes, twin.activated = self.notes, self.activated
        twin.trial_group, twin.on_node = self.trial_group, self.on_node
        twin.data = {
            key: value.clone() if hasattr(value, "clone") else value
            for key, value in self.data.items()
        }
        return twin
