"""Rollouts step by step: pods of a changed template replace the others as the workload's controller
does it, and the scheduler places those of each step before the next.

Upstream: pkg/controller/deployment (rolling.go), statefulset (stateful_set_control.go,
updateStatefulSetAfterInvariantEstablished) and daemon (update.go, rollingUpdate).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.apply import Apply
from ksched_cli.scenario.arguments import Workload
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.objects import objects_of, patched_raw
from ksched_cli.scenario.owned_pods import OwnedPods, WorkloadKey
from ksched_cli.scenario.pod_claims import make_claims
from ksched_cli.scenario.pods import names_in, newest_timestamp, without_pods
from ksched_cli.scenario.scale import (
    RESTARTABLE,
    RolloutRestart,
    removal_order,
)
from ksched_cli.scenario.workloads import target_node

if TYPE_CHECKING:
    from ksched_cli.engine.simulation import Simulation

# So many steps of a rollout are run one by one; the rest is one step.
MAX_STEPS = 40
_ROLLING = (RolloutRestart, Apply)

Open = Callable[[ClusterState], "Simulation"]


def rolls(change: Change) -> bool:
    """Whether workloads may replace their pods step by step because of the change."""
    return isinstance(change, _ROLLING) and not change.at_once


def rolled(
    change: Change,
    before: ClusterState,
    changed: Changed,
    open_simulation: Open,
    enabled: Callable[[str], bool],
) -> Changed:
    """Return the state after a change whose workloads replace their pods step by step. before: the
    state that was changed; changed: it with all of these pods pending at once; enabled: whether a
    feature gate is"""
    after, effects = changed
    if not rolls(change):
        return changed
    old, new = OwnedPods.of(before.pods).active, OwnedPods.of(after.pods).active
    state = after
    for key in old:
        nodes = {pod.key: pod.node_name for pod in old[key]}
        replaced = {pod.key for pod in new.get(key, ()) if nodes.get(pod.key) and not pod.node_name}
        if key[1] not in RESTARTABLE or not replaced:
            continue
        if state is after:
            # Claims, volumes and budgets are as they were before any pod left.
            claims = {**after.persistent_volume_claims, **before.persistent_volume_claims}
            state = replace(
                after,
                resource_claims=before.resource_claims,
                persistent_volume_claims=claims,
                persistent_volumes=before.persistent_volumes,
                volume_attachments=before.volume_attachments,
                pod_disruption_budgets=before.pod_disruption_budgets,
            )
        state, more = _rolled_workload(key, old[key], state, open_simulation, enabled)
        effects = [effect for effect in effects if effect.subject not in replaced] + more
    return state, effects


def _rolled_workload(
    key: WorkloadKey,
    pods: Sequence[Pod],
    state: ClusterState,
    open_simulation: Open,
    enabled: Callable[[str], bool],
) -> Changed:
    """pods: the workload's, before any is replaced; state: with all of them pending"""
    namespace, kind, name = key
    text = f"{kind} {namespace}/{name}"
    raw = bytes(getattr(objects_of(state, KINDS[kind]).get((namespace, name)), "raw", b""))
    spec = _mapping(plain_json(raw).get("spec")) if raw else {}
    strategy = _mapping(spec.get("strategy" if kind == "Deployment" else "updateStrategy"))
    models = {pod.key: pod for pod in OwnedPods.of(state.pods).active[key]}
    old = {pod.key: pod for pod in pods if pod.key in models}
    start = replace(state, pods=tuple(old.get(pod.key, pod) for pod in state.pods))
    if strategy.get("type") == "OnDelete":
        return start, [Effect(text, "rollout waits", "OnDelete: pods are replaced when deleted")]
    order = removal_order(start, Workload(kind, namespace, name, None, tuple(old.values()), ()))
    replicas = len(order)
    if kind == "Deployment" and isinstance(spec.get("replicas"), int):
        replicas = min(replicas, spec["replicas"])
    elif kind == "StatefulSet":
        partition = _mapping(strategy.get("rollingUpdate")).get("partition")
        ordinals = _mapping(spec.get("ordinals")).get("start"), partition
        first = sum(number for number in ordinals if isinstance(number, int))
        order = [pod for pod in order if (parse_int64(pod.name.rpartition("-")[2]) or 0) >= first]
        replicas = len(order)
    elif kind == "DaemonSet":
        order = sorted(order, key=lambda pod: (_is_available(pod), target_node(pod)))
    surge, unavailable = _limits(kind, strategy, replicas, enabled)
    rollout = _Rollout(
        start,
        order,
        replicas,
        models,
        surge,
        unavailable,
        renames=kind == "Deployment" or bool(surge),
        is_paired=kind == "DaemonSet" and bool(surge),
        open_simulation=open_simulation,
    )
    rollout.run()
    return rollout.state, [Effect(text, *rollout.verdict), *rollout.effects]


def _mapping(value: Any) -> dict[str, Any]:
    return value if isinstance(value, dict) else {}


def _limits(
    kind: str, strategy: dict[str, Any], replicas: int, enabled: Callable[[str], bool]
) -> tuple[int, int]:
    """Return how many pods there may be beyond the replicas, and how many may be missing. Upstream:
    ResolveFenceposts, getStatefulSetMaxUnavailable, updatedDesiredNodeCounts."""
    rolling = _mapping(strategy.get("rollingUpdate"))
    if strategy.get("type") == "Recreate":
        return 0, replicas
    if kind == "Deployment":
        surge = _scaled(rolling.get("maxSurge", "25%"), replicas, math.ceil)
        unavailable = _scaled(rolling.get("maxUnavailable", "25%"), replicas, math.floor)
        return surge, unavailable or int(not surge)
    if kind == "StatefulSet":
        share = rolling.get("maxUnavailable", 1) if enabled("MaxUnavailableStatefulSet") else 1
        return 0, max(1, _scaled(share, replicas, math.floor))
    surge = _scaled(rolling.get("maxSurge", 0), replicas, math.ceil)
    missing = rolling.get("maxUnavailable", 0 if surge else 1)
    return surge, _scaled(missing, replicas, math.ceil)


def _scaled(value: int | str, total: int, rounded: Callable[[float], int]) -> int:
    """Upstream: intstr.GetScaledValueFromIntOrPercent."""
    if isinstance(value, int):
        return max(0, value)
    share = parse_int64(str(value).removesuffix("%"))
    return rounded(max(0, share or 0) * total / 100)


@dataclass(slots=True)
class _Rollout:
    """One workload's rollout.

    order: the pods to replace, the first to go first; replicas: how many new ones there will be
    models: key of such a pod → the pod of the new template
    placed, waiting: key of a new pod → the pod that it replaces
    """

    state: ClusterState
    order: Sequence[Pod]
    replicas: int
    models: dict[str, Pod]
    surge: int
    unavailable: int
    renames: bool
    is_paired: bool
    open_simulation: Open
    steps: int = 0
    is_shortened: bool = False
    placed: dict[str, Pod] = field(default_factory=dict)
    waiting: dict[str, Pod] = field(default_factory=dict)
    effects: list[Effect] = field(default_factory=list)
    _has_news: bool = False
    _remaining: list[Pod] = field(default_factory=list)
    _unmatched: list[Pod] = field(default_factory=list)

    def run(self) -> None:
        """Alternate between the controller and the scheduler until neither changes anything."""
        self._remaining, self._unmatched = list(self.order), list(self.order)
        while self._scale() and self.waiting:
            if self.steps == MAX_STEPS:
                self.is_shortened, self.unavailable = True, self.replicas
                self._scale()
            self.steps += 1
            self._schedule()
        detail = "the scheduler finds no node"
        self.effects += [Effect(key, "pending", detail) for key in self.waiting]

    @property
    def verdict(self) -> tuple[str, str]:
        """How the rollout ends, and what there is to say of it."""
        done = len(self.placed)
        end = f"; from step {MAX_STEPS} on all at once" if self.is_shortened else ""
        if done == self.replicas:
            return "rollout finishes", f"steps: {self.steps}{end}"
        updated = f"{done} of {self.replicas} pods updated"
        return "rollout is stuck", f"{updated}; the next ones find no node{end}"

    def _scale(self) -> bool:
        """Create and remove pods until the limits of the strategy are reached. Return whether
        anything was done, or pods have been placed since."""
        is_changed, self._has_news = self._has_news, False
        while True:
            total = len(self._remaining) + len(self.waiting) + len(self.placed)
            room = self.replicas + self.surge - total
            if self.is_paired:
                room = self.surge - len(self.waiting)
            room = min(room, self.replicas - len(self.waiting) - len(self.placed))
            arriving = self._unmatched[: max(0, room)]
            leaving = self._removable()
            if not arriving and not leaving:
                return is_changed
            is_changed = True
            if arriving:
                del self._unmatched[: len(arriving)]
                self._create(arriving)
            else:
                gone = set(map(id, leaving))
                self._remaining = [pod for pod in self._remaining if id(pod) not in gone]
                current = {pod.key: pod for pod in self.state.pods}
                self.state = without_pods(self.state, [current[pod.key] for pod in leaving])
                is_last = not self._unmatched and not self.waiting
                step = f"after step {self.steps}" if is_last else f"in step {self.steps + 1}"
                self.effects += [Effect(pod.key, "removed", step) for pod in leaving]

    def _removable(self) -> list[Pod]:
        """The pods that may go now. Upstream: reconcileOldReplicaSets; for daemon pods that have a
        successor on their node, rollingUpdate."""
        if self.is_paired and self.surge and not self.is_shortened:
            replaced = {pod.key for pod in self.placed.values()}
            return [pod for pod in self._remaining if pod.key in replaced]
        least = self.replicas - self.unavailable
        total = len(self._remaining) + len(self.placed)
        ready = [pod for pod in self._remaining if _is_available(pod)]
        unhealthy = [pod for pod in self._remaining if not _is_available(pod)]
        leaving = unhealthy[: max(0, total - least)]
        spare = len(ready) + len(self.placed) - least
        return leaving + ready[: max(0, spare)]

    def _create(self, replaced: Iterable[Pod]) -> None:
        created = newest_timestamp(self.state.pods)
        new: list[Pod] = []
        for pod in replaced:
            model, name = self.models[pod.key], pod.name
            if self.renames:
                base = f"{name.rpartition('-')[0] or name}-"
                taken = names_in((*self.state.pods, *new), pod.namespace)
                name = next(generated_names(base, taken))
            key = f"{pod.namespace}/{name}"
            metadata = structs.replace(
                model.metadata, name=name, uid=key, creation_timestamp=created
            )
            raw = patched_raw(model.raw, {"metadata": {"name": name, "uid": key}})
            new.append(Pod(metadata, model.spec, PENDING_AGAIN, "", raw))
            self.waiting[key] = pod
        state = replace(self.state, pods=(*self.state.pods, *new))
        self.state = make_claims(state)[0]

    def _schedule(self) -> None:
        """Run the scheduler, and bind the new pods that it places; other pods wait on."""
        simulation = self.open_simulation(self.state)
        run = simulation.run()
        claims = simulation.resource_claims
        simulation.close()
        nodes = {key: run.placements[key] for key in self.waiting if key in run.placements}
        evicted = {each.pod for each in run.evicted if each.preemptor in nodes}
        uids = set()
        pods = []
        for pod in self.state.pods:
            if pod.key in nodes:
                uids.add(pod.uid)
                pod = structs.replace(pod, node_name=nodes[pod.key])
            pods.append(pod)
        allocated = {
            key: claim
            for key, claim in claims.items()
            if any(user.uid in uids for user in claim.status.reserved_for)
        }
        self.state = replace(
            self.state,
            pods=tuple(pods),
            resource_claims={**self.state.resource_claims, **allocated},
        )
        victims = [pod for pod in self.state.pods if pod.key in evicted]
        self.state = without_pods(self.state, victims)
        self._has_news = bool(nodes)
        for key in nodes:
            self.placed[key] = self.waiting.pop(key)
            self.effects.append(Effect(key, "placed", f"in step {self.steps}"))
        self.effects += [Effect(pod.key, "evicted", f"in step {self.steps}") for pod in victims]


def _is_available(pod: Pod) -> bool:
    """Whether the pod serves; one whose status has no conditions does on a node."""
    ready = [each.status for each in pod.status.conditions if each.type == "Ready"]
    return bool(pod.node_name) and not pod.deleting and ready in ([], ["True"])
