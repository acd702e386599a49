"""Random cases by family, from a seed."""

import json
from collections.abc import Callable
from dataclasses import dataclass

from generate import (
    batching,
    claims,
    composites,
    configs,
    corners,
    declared_features,
    device_pools,
    devices,
    everything,
    extended_resources,
    extenders,
    gated,
    gates,
    group_claims,
    inter_pod,
    node_affinity,
    node_allocatable,
    podgroups,
    ports_images,
    preempt,
    profiles,
    replay,
    resizes,
    resources,
    spread,
    taints,
    volumes,
    workloads,
)
from generate.world import Draft, Draw, Object

FAMILIES: dict[str, Callable[[Draw], Draft]] = {
    "resources": resources.generate,
    "taints": taints.generate,
    "node_affinity": node_affinity.generate,
    "inter_pod": inter_pod.generate,
    "spread": spread.generate,
    "spread_defaults": spread.generate_defaults,
    "ports_images": ports_images.generate,
    "volumes": volumes.generate,
    "claims": claims.generate,
    "preempt": preempt.generate,
    "nominated": preempt.generate_nominated,
    "gates_and_profiles": profiles.generate,
    "sampling": profiles.generate_sampling,
    "retries": preempt.generate_retries,
    "extenders": extenders.generate,
    "everything": everything.generate,
    "configs": configs.generate,
    "batching": batching.generate,
    "corners": corners.generate,
    "device_gates": corners.generate_devices,
    "device_lists": corners.generate_lists,
    "node_allocatable": node_allocatable.generate,
    "resizes": resizes.generate,
    "declared_features": declared_features.generate,
    "devices": devices.generate,
    "device_pools": device_pools.generate,
    "extended_resources": extended_resources.generate,
    "gated": gated.generate,
    "gates": gates.generate,
    "podgroups": podgroups.generate,
    "workloads": workloads.generate,
    "composites": composites.generate,
    "podgroup_claims": group_claims.generate,
    "workload_claims": group_claims.generate_workloads,
    "allocatable_claims": node_allocatable.generate_groups,
    "replay": replay.generate,
    "replay_groups": replay.generate_groups,
    "replay_workloads": replay.generate_workloads,
    "replay_composites": replay.generate_composites,
    "replay_workload_claims": replay.generate_workload_claims,
    "replay_allocatable": node_allocatable.generate_replay,
    "replay_resizes": resizes.generate_replay,
    "replay_extenders": extenders.generate_replay,
}
# Families whose cases call tests/conformance/extender.py.
WITH_EXTENDERS = frozenset(("extenders", "replay_extenders"))
DEFAULT_FAMILIES = tuple(family for family in FAMILIES if family not in WITH_EXTENDERS)
# Those that earlier minors than this one refuse.
_OF_QUEUED_GROUPS = ("workloads", "composites", "workload_claims")
SINCE = {
    "device_gates": "1.37",
    "device_lists": "1.36",
    "node_allocatable": "1.36",
    "replay_allocatable": "1.36",
    "allocatable_claims": "1.37",
    "resizes": "1.37",
    "replay_resizes": "1.37",
    **dict.fromkeys(_OF_QUEUED_GROUPS, "1.37"),
    **dict.fromkeys([f"replay_{family}" for family in _OF_QUEUED_GROUPS], "1.37"),
}


@dataclass(frozen=True)
class Case:
    """A random case as text, as the programs read it.

    gates: a value of --feature-gates; of the family `gates`, all that there is
    header, events: of a timeline, where there is one
    """

    family: str
    objects: list[Object]
    config: str | None
    gates: str = ""
    header: Object | None = None
    events: tuple[Object, ...] = ()

    @property
    def is_gates(self) -> bool:
        return self.family == "gates"

    @property
    def is_config(self) -> bool:
        return self.family == "configs"

    @property
    def timeline(self) -> str:
        """As JSON lines; "" where there is none."""
        if self.header is None:
            return ""
        lines = ({"apiVersion": "ksched/v1", "kind": "Timeline", **self.header}, *self.events)
        return "".join(json.dumps(line) + "\n" for line in lines)

    @property
    def state(self) -> str:
        items = "".join(f"- {json.dumps(obj)}\n" for obj in self.objects)
        return f"apiVersion: v1\nkind: List\nitems:\n{items}" if items else ""


def case(family: str, seed: int) -> Case:
    draft = FAMILIES[family](Draw(f"{family} {seed}"))
    config = draft.config
    text = json.dumps(config, indent=1) if isinstance(config, dict) else config
    header = dict(draft.timeline or {})
    events = tuple(header.pop("events", ()))
    return Case(family, draft.objects, text, draft.gates, header or None, events)
