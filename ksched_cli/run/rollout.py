"""Rollouts step by step: pods of a changed template replace the others as the workload's controller
does it, and the scheduler places those of each step before the next.

A new pod is available once it has a node. Pods that are evicted meanwhile are made anew by their
controllers, and wait.

Upstream: pkg/controller/deployment (rolling.go, recreate.go), statefulset
(stateful_set_control.go) and daemon (update.go, rollingUpdate).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from typing import TYPE_CHECKING, Any

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import (
    DaemonSetSpec,
    DeploymentSpec,
    Pod,
    ReplicaSet,
    RollingUpdate,
    RollingUpdateStatefulSetStrategy,
    StatefulSetSpec,
)
from ksched_cli.cluster.objects.base import plain_fields
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.live_cluster import LiveCluster
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.scenario.apply import Apply, Patch
from ksched_cli.scenario.arguments import Workload
from ksched_cli.scenario.change import Change, Changed, Roll
from ksched_cli.scenario.disruption import scaled
from ksched_cli.scenario.drain import Delete
from ksched_cli.scenario.objects import Manifest, objects_of, patched_raw, plain_object, replaced
from ksched_cli.scenario.owned_pods import HASH_LABEL, OwnedPods, WorkloadKey, deployment_of
from ksched_cli.scenario.pod_claims import has_own_claims, make_claims
from ksched_cli.scenario.pods import names_in, newest_timestamp, recreated
from ksched_cli.scenario.scale import (
    RESTARTABLE,
    WITH_TEMPLATE,
    RolloutRestart,
    SetResources,
    removal_order,
)
from ksched_cli.scenario.workloads import replica_set_of, target_node, template_hash

if TYPE_CHECKING:
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.kube.versions import Release

_ROLLING = (RolloutRestart, Apply, Patch, SetResources)
STUCK = "rollout is stuck"
_RECREATE_GATE = "StatefulSetRecreateStrategy"
_REVISION_LABEL = "controller-revision-hash"

Open = Callable[[ClusterState], "Simulation"]


def rolls(change: Change) -> bool:
    """Whether workloads may replace their pods step by step because of the change."""
    return isinstance(change, _ROLLING) and not change.at_once


def rolling(open_simulation: Open, release: Release, most_steps: int = 0) -> Roll:
    """Return what makes a change that replaces pods at once one that replaces them step by step,
    for one list of changes.

    open_simulation: of the Run whose scheduler places them
    most_steps: after so many, a rollout does the rest at once; 0: it never does
    """

    # Workload → pods that stay as they are until they are deleted → those of the new template.
    retained: dict[WorkloadKey, dict[str, Pod]] = {}

    def roll_out(
        key: WorkloadKey,
        models: Mapping[str, Pod],
        state: ClusterState,
        former_sets: Mapping[tuple[str, str], ReplicaSet],
        fresh: Sequence[str] = (),
    ) -> Changed:
        after, effects = _rolled_workload(
            key, models, state, former_sets, open_simulation, release, most_steps, fresh
        )
        if key[1] != "Deployment":
            earlier = {pod.key: pod for pod in state.pods}
            remaining = [pod.key for pod in after.pods if earlier.get(pod.key) is pod]
            retained[key] = {each: models[each] for each in remaining if each in models}
        return after, effects

    def rolled(change: Change, before: ClusterState, changed: Changed) -> Changed:
        after, effects = changed
        if isinstance(change, Delete):
            # Pods that are deleted come back from new templates, and what waited for them goes on.
            there = {id(pod) for pod in before.pods}
            for key, models in tuple(retained.items()):
                own = [p for p in after.pods if p.key in models and id(p) not in there]
                fresh = {p.key: _recreated_from(models[p.key], p) for p in own}
                if fresh:
                    pods = tuple(fresh.get(pod.key, pod) for pod in after.pods)
                    rest = {name: each for name, each in models.items() if name not in fresh}
                    state = replace(after, pods=pods)
                    after, more = roll_out(key, rest, state, after.replica_sets, [*fresh])
                    effects = effects + more
            return after, effects
        if not rolls(change):
            return changed
        # 1. What the change did at once is taken back.
        renewed = _renewed(change, before, after)
        former = {
            pod.key: pod
            for key, models in renewed.items()
            for pod in OwnedPods.of(before.pods).active[key]
            if pod.key in models
        }
        if not former:
            return changed
        state = _taken_back(before, after, former)
        effects = [each for each in effects if each.subject not in former]
        # 2. One workload after the other replaces its pods.
        for key, models in renewed.items():
            state, more = roll_out(key, models, state, before.replica_sets)
            effects += more
        return state, effects

    return rolled


def _renewed(
    change: Change, before: ClusterState, after: ClusterState
) -> dict[WorkloadKey, dict[str, Pod]]:
    """Return the pods of new templates, by workload and key, where the change makes them."""
    old, new = OwnedPods.of(before.pods).active, OwnedPods.of(after.pods).active
    renewed = {}
    for key, pods in old.items():
        # The pods of a Deployment's ReplicaSet are the Deployment's.
        is_inner = key[1] == "ReplicaSet" and bool(deployment_of(pods[0]))
        if key[1] not in WITH_TEMPLATE or is_inner or new.get(key) == pods:
            continue
        # Pods may change otherwise, as where a node has a new taint, or by themselves.
        templates = [_template_of(state, key) for state in (before, after)]
        is_named = isinstance(change, RolloutRestart) or (
            isinstance(change, SetResources) and templates[0] is None
        )
        if is_named or templates[0] != templates[1]:
            keys = {pod.key for pod in pods}
            renewed[key] = {pod.key: pod for pod in new.get(key, ()) if pod.key in keys}
    return renewed


def _taken_back(
    before: ClusterState, after: ClusterState, former: Mapping[str, Pod]
) -> ClusterState:
    """Return the state after a change with pods as they were. Claims, volumes and budgets are as
    before any pod left. former: the pods, by key"""
    budgets = before.pod_disruption_budgets
    return replace(
        after,
        pods=tuple(former.get(pod.key, pod) for pod in after.pods),
        resource_claims={**after.resource_claims, **before.resource_claims},
        persistent_volume_claims={
            **after.persistent_volume_claims,
            **before.persistent_volume_claims,
        },
        persistent_volumes={**after.persistent_volumes, **before.persistent_volumes},
        volume_attachments={**after.volume_attachments, **before.volume_attachments},
        pod_disruption_budgets={
            key: budgets[key] if key in budgets and budgets[key].spec == each.spec else each
            for key, each in after.pod_disruption_budgets.items()
        },
    )


def _recreated_from(model: Pod, pod: Pod) -> Pod:
    """Return the pod of a new template at the place in the queue of one that was deleted."""
    created = pod.metadata.creation_timestamp
    metadata = structs.replace(model.metadata, creation_timestamp=created)
    return Pod(metadata, model.spec, PENDING_AGAIN, "", model.raw)


def _workload_of(state: ClusterState, key: WorkloadKey) -> Any:
    """Return the workload; None where the state does not have it."""
    namespace, kind, name = key
    return objects_of(state, KINDS[kind]).get((namespace, name))


def _template_of(state: ClusterState, key: WorkloadKey) -> Manifest | None:
    """Return the workload's template; None where the state does not have it."""
    raw = bytes(getattr(_workload_of(state, key), "raw", b""))
    template = (plain_json(raw).get("spec") or {}).get("template") if raw else None
    return template if isinstance(template, dict) else None


def _rolled_workload(
    key: WorkloadKey,
    models: Mapping[str, Pod],
    state: ClusterState,
    former_sets: Mapping[tuple[str, str], ReplicaSet],
    open_simulation: Open,
    release: Release,
    most_steps: int,
    fresh: Sequence[str],
) -> Changed:
    """models: of the new template, by the key of the pod that each replaces; state: with the pods
    as they were, and the new template; former_sets: ReplicaSets before the change; fresh: keys of
    pods that are of the new template, and wait"""
    namespace, kind, name = key
    text, workload = f"{kind} {namespace}/{name}", _workload_of(state, key)
    if kind not in RESTARTABLE:
        return state, [Effect(text, "rollout waits", "pods are replaced when deleted")]
    spec = _SPECS[kind]() if workload is None else workload.spec
    strategy = spec.strategy if kind == "Deployment" else spec.update_strategy
    how = strategy.type
    if how == "OnDelete":
        return state, [Effect(text, "rollout waits", "OnDelete: pods are replaced when deleted")]
    if how == "Recreate" and kind != "Deployment" and not release.enabled(_RECREATE_GATE):
        return state, [Effect(text, "rollout waits", f"Recreate: {_RECREATE_GATE} is off")]
    pods = tuple(pod for pod in state.pods if pod.key in models)
    order = removal_order(state, Workload(kind, namespace, name, None, pods, ()))
    renewal = _Renewal.of(key, models, state)
    others = list[Pod]()
    if kind == "Deployment":
        state = renewal.with_replica_set(former_sets, state)
        # The oldest ReplicaSet is scaled down first.
        ages = {n: former_sets[n].metadata.creation_timestamp for n in former_sets}
        order.sort(key=lambda pod: ages.get((namespace, pod.owner[1]), ""))
    elif kind == "StatefulSet":
        first = _first_ordinal(spec)
        others = [pod for pod in order if _ordinal(pod) < first]
        order = [pod for pod in order if _ordinal(pod) >= first]
    else:
        order.sort(key=lambda pod: (_is_available(pod), target_node(pod)))
    limits = _Limits.of(spec, len(order) + len(fresh), len(others), release)
    limits = replace(limits, recreates=how == "Recreate")
    renewal.renames = kind == "Deployment" or (kind == "DaemonSet" and bool(limits.surge))
    rollout = _ROLLOUTS[kind](state, order, others, renewal, limits, open_simulation)
    rollout.waiting |= {pod.key: pod for pod in state.pods if pod.key in set(fresh)}
    state = renewal.with_replicas(rollout.run(most_steps))
    return state, [Effect(text, *rollout.verdict), *rollout.effects]


def _first_ordinal(spec: StatefulSetSpec) -> int:
    """Return the first ordinal whose pod is replaced."""
    limits = spec.update_strategy.rolling_update or RollingUpdateStatefulSetStrategy()
    return spec.ordinals.start + (limits.partition or 0)


def _ordinal(pod: Pod) -> int:
    return parse_int64(pod.name.rpartition("-")[2]) or 0


def _is_available(pod: Pod) -> bool:
    """Whether the pod serves; one whose status has no conditions does on a node."""
    ready = [each.status for each in pod.status.conditions if each.type == "Ready"]
    return bool(pod.node_name) and not pod.deleting and ready in ([], ["True"])


def successors_of(before: ClusterState, after: ClusterState) -> dict[str, str]:
    """Return pods of workloads that are gone → those that have come, the ones that wait first on
    both sides."""
    there = {pod.key for pod in after.pods}
    existing = {pod.key for pod in before.pods}
    gone: dict[object, list[Pod]] = {}
    come: dict[object, list[Pod]] = {}
    for pods, others, groups in ((before.pods, there, gone), (after.pods, existing, come)):
        for pod in pods:
            if pod.key not in others and pod.owner[0]:
                owner = pod.namespace, deployment_of(pod) or pod.owner
                groups.setdefault(owner, []).append(pod)
    successors: dict[str, str] = {}
    for workload, old in gone.items():
        pairs = zip(
            *(
                sorted(pods, key=lambda pod: (bool(pod.node_name), pod.key))
                for pods in (old, come.get(workload, []))
            ),
            strict=False,
        )
        successors |= {first.key: second.key for first, second in pairs}
    return successors


@dataclass(slots=True)
class _Renewal:
    """Makes the pods of the new template, with the names and labels of their revision.

    models: see _rolled_workload
    revision: the template's hash
    owner: the name of a Deployment's new ReplicaSet, else ""; sets: of all its ReplicaSets
    renames: a new pod has a name of its own
    """

    key: WorkloadKey
    models: Mapping[str, Pod]
    revision: str
    owner: str
    renames: bool = False
    sets: tuple[str, ...] = ()

    @classmethod
    def of(cls, key: WorkloadKey, models: Mapping[str, Pod], state: ClusterState) -> _Renewal:
        """state: with the new template"""
        namespace, kind, name = key
        template = _template_of(state, key) or {"kind": kind}
        taken = {each for space, each in state.replica_sets if space == namespace}
        for pod in models.values():
            taken |= {pod.owner[1], pod.metadata.labels.get(_REVISION_LABEL, "")}
        # A template that is restarted stays as it is, but is another revision.
        hashes = (template_hash(template, collisions) for collisions in count())
        revision = next(each for each in hashes if not {each, f"{name}-{each}"} & taken)
        return cls(key, models, revision, f"{name}-{revision}" if kind == "Deployment" else "")

    def with_replica_set(
        self, former: Mapping[tuple[str, str], ReplicaSet], state: ClusterState
    ) -> ClusterState:
        """Return the state with the Deployment's new ReplicaSet beside its old ones, which are as
        before the change. A state without any stays without."""
        namespace, kind, name = self.key
        sets = [
            each
            for each in former.values()
            if (each.namespace, *each.owner) == (namespace, kind, name)
        ]
        deployment = state.deployments.get((namespace, name))
        if not sets or deployment is None:
            return state
        new = replica_set_of(plain_json(deployment.raw), deployment, self.revision)
        new["metadata"]["creationTimestamp"] = newest_timestamp(state.pods)
        self.sets = (*(each.name for each in sets), self.owner)
        old = (plain_object(KINDS["ReplicaSet"], each) for each in sets)
        return replaced(state, KINDS["ReplicaSet"], [*old, new])

    def with_replicas(self, state: ClusterState) -> ClusterState:
        """Return the state in which each ReplicaSet of the Deployment asks for the pods that it
        has."""
        if not self.sets:
            return state
        namespace, kind = self.key[0], KINDS["ReplicaSet"]
        active = OwnedPods.of(state.pods).active
        manifests = []
        for name in self.sets:
            replicas = len(active.get((namespace, kind.name, name), ()))
            each = state.replica_sets[namespace, name]
            manifests.append(plain_object(kind, each, replicas=replicas))
        return replaced(state, kind, manifests)

    def pod(self, replaced_pod: Pod, taken: set[str], created: str) -> Pod:
        """Return the pod that replaces another. taken: names of pods"""
        model = self.models[replaced_pod.key]
        namespace, kind, workload = self.key
        name, labels = model.name, dict(model.metadata.labels)
        owners = model.metadata.owner_references
        if self.renames:
            base = self.owner or name.rpartition("-")[0] or name
            name = next(generated_names(f"{base}-", taken))
        if _REVISION_LABEL in labels:
            prefix = f"{workload}-" if kind == "StatefulSet" else ""
            labels[_REVISION_LABEL] = f"{prefix}{self.revision}"
        if kind == "Deployment":
            labels[HASH_LABEL] = self.revision
            uid = f"{namespace}/{self.owner}"
            owners = tuple(
                structs.replace(each, name=self.owner, uid=uid) if each.controller else each
                for each in owners
            )
        key = f"{namespace}/{name}"
        metadata = structs.replace(
            model.metadata,
            name=name,
            uid=key,
            labels=labels,
            owner_references=owners,
            creation_timestamp=created,
        )
        patch: Manifest = {"name": name, "uid": key, "labels": labels}
        if kind == "Deployment":
            patch["ownerReferences"] = plain_fields(owners)
        raw = patched_raw(model.raw, {"metadata": patch})
        return Pod(metadata, model.spec, PENDING_AGAIN, "", raw)


@dataclass(frozen=True, slots=True)
class _Limits:
    """The limits of a workload's strategy.

    replicas: how many new pods there will be
    recreates: all old pods go first
    surge, unavailable: how many pods there may be beyond the replicas, and how many may be missing
    is_ordered, is_sequential, replaces_unavailable: of StatefulSets, see _StatefulSetRollout
    """

    replicas: int
    recreates: bool = False
    surge: int = 0
    unavailable: int = 0
    is_ordered: bool = False
    is_sequential: bool = False
    replaces_unavailable: bool = False

    @classmethod
    def of(cls, spec: Any, count: int, others: int, release: Release) -> _Limits:
        """Upstream: ResolveFenceposts, getStatefulSetMaxUnavailable, updatedDesiredNodeCounts.
        spec: of the workload; count: of the pods that are replaced; others: pods of a StatefulSet
        that are not"""
        if isinstance(spec, StatefulSetSpec):
            whole = count + (0 if release.rules.scales_updated_range else others)
            limits = spec.update_strategy.rolling_update or RollingUpdateStatefulSetStrategy()
            most = 1 if limits.max_unavailable is None else limits.max_unavailable
            share = scaled(most, whole, rounds=math.floor)
            return cls(
                count,
                unavailable=max(1, share or 0),
                is_ordered=spec.pod_management_policy != "Parallel",
                is_sequential=not release.enabled("MaxUnavailableStatefulSet"),
                replaces_unavailable=release.rules.updates_unavailable_first,
            )
        is_deployment = isinstance(spec, DeploymentSpec)
        strategy = spec.strategy if is_deployment else spec.update_strategy
        rolling_update = strategy.rolling_update or RollingUpdate()
        more, fewer = rolling_update.max_surge, rolling_update.max_unavailable
        if is_deployment:
            replicas = count if spec.replicas is None else spec.replicas
            surge = scaled("25%" if more is None else more, replicas) or 0
            fewer = "25%" if fewer is None else fewer
            unavailable = scaled(fewer, replicas, rounds=math.floor) or int(not surge)
            return cls(replicas, surge=surge, unavailable=unavailable)
        surge = scaled(more or 0, count) or 0
        fewer = int(not surge) if fewer is None else fewer
        return cls(count, surge=surge, unavailable=scaled(fewer, count) or 0)


class _Rollout:
    """One workload's rollout: its controller and the scheduler take turns until neither changes
    anything.

    pods: all as they are now, by key
    old: the keys of those still to be replaced, the first to go first
    others: the keys of pods of the workload that stay
    unmatched: the pods that no new one has replaced yet
    placed, waiting: keys of new pods → the pod that each replaces
    """

    def __init__(
        self,
        state: ClusterState,
        order: Sequence[Pod],
        others: Sequence[Pod],
        renewal: _Renewal,
        limits: _Limits,
        open_simulation: Open,
    ) -> None:
        """order: the pods to replace, the first to go first; others: that a StatefulSet keeps"""
        self._state, self._renewal, self.limits = state, renewal, limits
        self._live = LiveCluster(open_simulation(state), state)
        self._preempts = self._live.simulation.options.preempt
        self._created = newest_timestamp(state.pods)
        self._names = names_in(state.pods, renewal.key[0])
        self.pods = {pod.key: pod for pod in state.pods}
        self.old = [pod.key for pod in order]
        self.others = [pod.key for pod in others]
        self.unmatched = [*order]
        self.placed: dict[str, Pod] = {}
        self.waiting: dict[str, Pod] = {}
        self.effects: list[Effect] = []
        # Pods of others that were placed meanwhile, as they were.
        self._guests: dict[str, Pod] = {}
        self._steps, self._limit = 0, 3 * (len(order) + limits.replicas) + 1

    def sync(self) -> bool:
        """Create and remove pods as the controller does when it looks at the workload. Return
        whether it did anything."""
        raise NotImplementedError

    def run(self, most_steps: int) -> ClusterState:
        """Return the state after the rollout. most_steps: see rolling"""
        has_news = bool(self.waiting)
        while True:
            while self.sync():
                has_news = True
            if most_steps and self._steps == most_steps and self.old:
                self.remove([*self.old])
                self.create(max(0, self.limits.replicas - len(self.waiting) - len(self.placed)))
            if not has_news or not self.waiting or self._steps == self._limit:
                break
            self._steps += 1
            has_news = self._schedule()
        detail = "the scheduler finds no node"
        self.effects += [Effect(key, "pending", detail) for key in self.waiting]
        # What others do is another question: they are tried again.
        self._live.evict([self.pods[key] for key in self._guests])
        self.pods |= self._guests
        state = replace(
            self._live.state(),
            pods=tuple(self.pods.values()),
            pod_disruption_budgets=self._state.pod_disruption_budgets,
        )
        self._live.close()
        return state

    @property
    def verdict(self) -> tuple[str, str]:
        """How the rollout ends, and what there is to say of it."""
        done, count = len(self.placed), self.limits.replicas
        if done == count and not self.old:
            return "rollout finishes", f"steps: {self._steps}"
        updated = f"{done} of {count} pods updated"
        if self._steps == self._limit:
            return STUCK, f"{updated}; pods evict each other"
        return STUCK, f"{updated}; {self.why_stuck()}"

    def why_stuck(self) -> str:
        """Why nothing goes on."""
        if self.waiting:
            return "the next ones find no node"
        lacking = [key for key in self.others if not _is_available(self.pods[key])]
        for key in (*lacking, *self.by_health()[0]):
            waits = ", for which OrderedReady waits" if self.limits.is_ordered else ""
            return f"{self.pods[key].name} is not ready{waits}"
        return "no more pods may be missing"

    def by_health(self) -> tuple[list[str], list[str]]:
        """Return the keys of the old pods that do not serve, and of those that do."""
        keys: tuple[list[str], list[str]] = [], []
        for key in self.old:
            keys[_is_available(self.pods[key])].append(key)
        return keys

    # -- what a controller does -------------------------------------------------------------------

    def create(self, count: int) -> None:
        """Create pods of the new template."""
        for replaced_pod in self.unmatched[:count]:
            pod = self._renewal.pod(replaced_pod, self._names, self._created)
            self.pods[pod.key] = pod
            self.waiting[pod.key] = replaced_pod
            self._live.add((pod,))
            if has_own_claims(pod.spec):
                state, _ = make_claims(self._live.state())
                self._live.renew(state)
                self.pods[pod.key] = self._live.waiting[pod.key]
        del self.unmatched[:count]

    def remove(self, keys: Sequence[str]) -> None:
        """Remove old pods."""
        gone = set(keys)
        self.old = [key for key in self.old if key not in gone]
        self._live.remove([self.pods.pop(key) for key in keys])
        is_last = not self.unmatched and not self.waiting
        step = f"after step {self._steps}" if is_last else f"in step {self._steps + 1}"
        self.effects += [Effect(key, "removed", step) for key in keys]

    def replace(self, keys: Sequence[str]) -> None:
        """Remove old pods, and create those that have their places."""
        leaving = set(keys)
        first = [pod for pod in self.unmatched if pod.key in leaving]
        self.unmatched = [*first, *(pod for pod in self.unmatched if pod.key not in leaving)]
        self.remove(keys)
        self.create(len(first))

    # -- what the scheduler does ------------------------------------------------------------------

    def _schedule(self) -> bool:
        """Run the scheduler. Return whether a pod was placed."""
        with self._live.trial() as trial:
            # Where all find a node, none evicts others; that is found out at less cost, and no more
            # is to be found out where one finds none.
            self._live.run(stops_at=(lambda _: True) if self._preempts else None)
            if not (self._preempts and self._live.waiting):
                trial.keep()
        if not trial.stays:
            self._live.run(preempts=True)
        scheduler, step = self._live.simulation.scheduler, f"in step {self._steps}"
        for key, node in scheduler.placements.items():
            pod = self.pods[key]
            self.pods[key] = structs.replace(pod, node_name=node)
            if key in self.waiting:
                self.placed[key] = self.waiting.pop(key)
                self.effects.append(Effect(key, "placed", step))
            elif key not in self.old:
                self._guests[key] = pod
        for victim in {each.pod: None for each in scheduler.evicted}:
            pod = self.pods.pop(victim)
            self._guests.pop(victim, None)
            self.effects.append(Effect(victim, "evicted", step))
            if pod.metadata.controller is not None:
                self.pods[victim] = recreated(pod, self._created)
                self._live.add((self.pods[victim],))
            elif victim in self.old:
                self.old.remove(victim)
            if victim in self.placed:
                self.waiting[victim] = self.placed.pop(victim)
        return bool(scheduler.placements)


class _DeploymentRollout(_Rollout):
    """Upstream: rolloutRolling and rolloutRecreate."""

    def sync(self) -> bool:
        limits, new = self.limits, len(self.waiting) + len(self.placed)
        if limits.recreates:
            room = 0 if self.old else limits.replicas - new
        else:
            room = min(limits.replicas + limits.surge - len(self.old), limits.replicas) - new
        if room > 0:
            # There may be more replicas than there were: any pod is a model for those.
            model = next(iter(self._renewal.models.values()))
            self.unmatched += [model] * max(0, room - len(self.unmatched))
            self.create(room)
            return True
        if limits.recreates:
            leaving = [*self.old]
        else:
            # Unhealthy ones go first, as far as new ones do not lack already.
            least = limits.replicas - limits.unavailable
            surplus = len(self.old) + len(self.placed) - least
            if surplus <= 0:
                return False
            unhealthy, ready = self.by_health()
            spare = len(ready) + len(self.placed) - least
            leaving = [*unhealthy[:surplus], *ready[: max(0, spare)]]
        if leaving:
            self.remove(leaving)
        return bool(leaving)


class _StatefulSetRollout(_Rollout):
    """The highest ordinals go first. Upstream: updateStatefulSet and
    updateStatefulSetAfterInvariantEstablished.

    is_ordered: OrderedReady does nothing while any pod is not available
    is_sequential: one pod after the other
    replaces_unavailable: pods of the old template that are not available go at once
    """

    def sync(self) -> bool:
        unhealthy, ready = self.by_health()
        broken = [key for key in self.others if not _is_available(self.pods[key])]
        missing = len(unhealthy) + len(broken) + len(self.waiting)
        if self.limits.recreates:
            leaving = [*self.old]
        elif self.limits.is_ordered and missing:
            return False
        elif self.limits.is_sequential:
            # A pod is replaced once all above it are available.
            ordinals = [_ordinal(self.pods[key]) for key in (*self.old[:1], *self.waiting)]
            leaving = [] if ordinals[1:] and max(ordinals) > ordinals[0] else self.old[:1]
        else:
            spare = max(0, self.limits.unavailable - missing)
            leaving = self.old[:spare]
            if not self.limits.is_ordered and self.limits.replaces_unavailable:
                leaving = [*unhealthy, *ready[:spare]]
        if leaving:
            self.replace(leaving)
        return bool(leaving)


class _DaemonSetRollout(_Rollout):
    """Upstream: rollingUpdate."""

    def sync(self) -> bool:
        unhealthy, ready = self.by_health()
        if not self.limits.surge:
            spare = self.limits.unavailable - len(self.waiting) - len(unhealthy)
            leaving = [*unhealthy, *ready[: max(0, spare)]]
            if leaving:
                self.replace(leaving)
            return bool(leaving)
        # A new pod is made beside an old one, which goes once the new one is available.
        succeeded = {pod.key for pod in self.placed.values()}.intersection(self.old)
        if succeeded:
            self.remove([key for key in self.old if key in succeeded])
            return True
        unmatched = {pod.key: pod for pod in self.unmatched}
        first, rest = (
            [unmatched[k] for k in keys if k in unmatched] for keys in (unhealthy, ready)
        )
        room = max(0, self.limits.surge - len(self.waiting))
        self.unmatched = [*first, *rest]
        count = len(first) + min(room, len(rest))
        self.create(count)
        return bool(count)


_SPECS: Mapping[str, type[Any]] = {
    "Deployment": DeploymentSpec,
    "StatefulSet": StatefulSetSpec,
    "DaemonSet": DaemonSetSpec,
}
_ROLLOUTS: Mapping[str, type[_Rollout]] = {
    "Deployment": _DeploymentRollout,
    "StatefulSet": _StatefulSetRollout,
    "DaemonSet": _DaemonSetRollout,
}
