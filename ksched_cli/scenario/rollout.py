"""Rollouts step by step: pods of a changed template replace the others as the workload's controller
does it. Whoever performs a rollout places the pods of each step before the next: at one instant
(run/rollout.py), or over time (engine/replay/rollouts.py).

Upstream: pkg/controller/deployment (rolling.go, recreate.go), statefulset
(stateful_set_control.go) and daemon (update.go, rollingUpdate).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import count
from typing import Any, Protocol

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
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.versions import Release
from ksched_cli.scenario.apply import Apply, ManifestPatch
from ksched_cli.scenario.arguments import NamedWorkload
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.disruption import scaled
from ksched_cli.scenario.drain import Delete
from ksched_cli.scenario.objects import Manifest, edited, objects_of, plain_object, replaced
from ksched_cli.scenario.owned_pods import HASH_LABEL, OwnedPods, WorkloadKey, deployment_of
from ksched_cli.scenario.pods import names_in, newest_timestamp
from ksched_cli.scenario.scale import (
    RESTARTABLE,
    WITH_TEMPLATE,
    RolloutRestart,
    SetResources,
    removal_order,
)
from ksched_cli.scenario.workloads import replica_set_of, target_node, template_hash

_ROLLING = (RolloutRestart, Apply, ManifestPatch, SetResources)
STUCK = "rollout is stuck"
_RECREATE_GATE = "StatefulSetRecreateStrategy"
_REVISION_LABEL = "controller-revision-hash"

Perform = Callable[["Rollout", ClusterState], ClusterState]
"""Performs a rollout, or begins it: the state after, given the one with pods as they were."""


def rolls(change: Change) -> bool:
    """Return whether workloads may replace their pods step by step because of the change."""
    return isinstance(change, _ROLLING) and not change.at_once


@dataclass(slots=True)
class Rolling:
    """Makes a change that replaces pods at once one that replaces them step by step, for one list
    of changes.

    perform: each rollout, in turn
    """

    perform: Perform
    release: Release
    # Workload → the pods of the new template by the pod that each replaces, and the rollout; None
    # where all pods stay as they are until they are deleted.
    _begun: dict[WorkloadKey, tuple[Mapping[str, Pod], Rollout | None]] = field(
        default_factory=dict
    )

    def __call__(self, change: Change, before: ClusterState, changed: Changed) -> Changed:
        """Return what the change does step by step. changed: what it did at once"""
        state, effects = changed
        if isinstance(change, Delete):
            for key in tuple(self._begun):
                state, more = self._continue(key, before, state)
                effects = effects + more
            return state, effects
        if not rolls(change):
            return changed
        # 1. What the change did at once is taken back.
        renewed = _renewed(change, before, state)
        former = {
            pod.key: pod
            for key, models in renewed.items()
            for pod in OwnedPods.of(before.pods).active[key]
            if pod.key in models
        }
        if not former:
            return changed
        # Pods become as they were; claims, volumes and budgets are as before any pod left.
        budgets = before.pod_disruption_budgets
        state = replace(
            state,
            pods=tuple(former.get(pod.key, pod) for pod in state.pods),
            resource_claims={**state.resource_claims, **before.resource_claims},
            persistent_volume_claims={
                **state.persistent_volume_claims,
                **before.persistent_volume_claims,
            },
            persistent_volumes={**state.persistent_volumes, **before.persistent_volumes},
            volume_attachments={**state.volume_attachments, **before.volume_attachments},
            pod_disruption_budgets={
                key: budgets[key] if key in budgets and budgets[key].spec == each.spec else each
                for key, each in state.pod_disruption_budgets.items()
            },
        )
        effects = [each for each in effects if each.subject not in former]
        # 2. One workload after the other replaces its pods.
        for key, models in renewed.items():
            state, more = self._roll_out(key, models, state, before.replica_sets)
            effects += more
        return state, effects

    def _continue(self, key: WorkloadKey, before: ClusterState, state: ClusterState) -> Changed:
        """Make deleted pods anew from new templates, and continue with what waited for them."""
        models, rollout = self._begun[key]
        waiting: Container[str] = ()
        if rollout is not None:
            models, waiting = {each: models[each] for each in rollout.old}, rollout.waiting
        there = {id(pod) for pod in before.pods}
        own = [pod for pod in state.pods if pod.key in models and id(pod) not in there]
        fresh = {}
        for pod in own:
            # It has the place in the queue of the one that was deleted.
            model, created = models[pod.key], pod.metadata.creation_timestamp
            metadata = structs.replace(model.metadata, creation_timestamp=created)
            fresh[pod.key] = Pod(metadata, model.spec, PENDING_AGAIN, "", model.raw)
        if not fresh:
            return state, []
        state = replace(state, pods=tuple(fresh.get(pod.key, pod) for pod in state.pods))
        rest = {name: each for name, each in models.items() if name not in fresh}
        # Those of the new template that waited before wait still.
        pods = [pod.key for pod in state.pods if pod.key in fresh or pod.key in waiting]
        return self._roll_out(key, rest, state, state.replica_sets, pods)

    def _roll_out(
        self,
        key: WorkloadKey,
        models: Mapping[str, Pod],
        state: ClusterState,
        former_sets: Mapping[tuple[str, str], ReplicaSet],
        fresh: Sequence[str] = (),
    ) -> Changed:
        """See _prepared."""
        rollout, state, why = _prepared(key, models, state, former_sets, self.release, fresh)
        if key[1] != "Deployment":
            self._begun[key] = models, rollout
        if rollout is None:
            return state, [Effect("{1} {0}/{2}".format(*key), "rollout waits", why)]
        state = self.perform(rollout, state)
        return state, rollout.effects


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


def _workload_of(state: ClusterState, key: WorkloadKey) -> Any:
    """Return the workload; None if the state does not have it."""
    namespace, kind, name = key
    return objects_of(state, KINDS[kind]).get((namespace, name))


def _template_of(state: ClusterState, key: WorkloadKey) -> Manifest | None:
    """Return the workload's template; None if the state does not have it."""
    raw = bytes(getattr(_workload_of(state, key), "raw", b""))
    template = (plain_json(raw).get("spec") or {}).get("template") if raw else None
    return template if isinstance(template, dict) else None


def _prepared(
    key: WorkloadKey,
    models: Mapping[str, Pod],
    state: ClusterState,
    former_sets: Mapping[tuple[str, str], ReplicaSet],
    release: Release,
    fresh: Sequence[str],
) -> tuple[Rollout | None, ClusterState, str]:
    """Return the workload's rollout, not begun yet, and the state with its objects; None in its
    place, and why, where all pods stay until they are deleted.

    models: of the new template, by the key of the pod that each replaces; state: with the pods
    as they were, and the new template; former_sets: ReplicaSets before the change; fresh: keys of
    pods that are of the new template, and wait
    """
    namespace, kind, name = key
    if kind not in RESTARTABLE:
        return None, state, "pods are replaced when deleted"
    workload = _workload_of(state, key)
    spec = _SPECS[kind]() if workload is None else workload.spec
    how = (spec.strategy if kind == "Deployment" else spec.update_strategy).type
    if how == "OnDelete":
        return None, state, "OnDelete: pods are replaced when deleted"
    if how == "Recreate" and kind != "Deployment" and not release.enabled(_RECREATE_GATE):
        return None, state, f"Recreate: {_RECREATE_GATE} is off"
    pods = tuple(pod for pod in state.pods if pod.key in models)
    order = removal_order(state, NamedWorkload(kind, namespace, name, None, pods, ()))
    renewal = _Renewal.of(key, models, state)
    others = list[Pod]()
    if kind == "Deployment":
        state = renewal.with_replica_set(former_sets, state)
        # The oldest ReplicaSet is scaled down first.
        ages = {n: former_sets[n].metadata.creation_timestamp for n in former_sets}
        order.sort(key=lambda pod: ages.get((namespace, pod.owner[1]), ""))
    elif kind == "StatefulSet":
        # The first ordinal whose pod is replaced.
        strategy = spec.update_strategy.rolling_update or RollingUpdateStatefulSetStrategy()
        first = spec.ordinals.start + (strategy.partition or 0)
        others = [pod for pod in order if _ordinal(pod) < first]
        order = [pod for pod in order if _ordinal(pod) >= first]
    else:
        order.sort(key=lambda pod: (_is_available(pod), target_node(pod)))
    limits = _Limits.of(spec, len(order) + len(fresh), len(others), release)
    limits = replace(limits, recreates=how == "Recreate")
    renewal.renames = kind == "Deployment" or (kind == "DaemonSet" and bool(limits.surge))
    rollout = _ROLLOUTS[kind](state, order, others, renewal, limits)
    rollout.min_ready_seconds = spec.min_ready_seconds
    for pod in state.pods:
        if pod.key in set(fresh):
            rollout.waiting[pod.key] = rollout.pods[pod.key] = pod
    return rollout, state, ""


def _ordinal(pod: Pod) -> int:
    return parse_int64(pod.name.rpartition("-")[2]) or 0


def _is_available(pod: Pod) -> bool:
    """Return whether the pod serves; one whose status has no conditions does on a node."""
    ready = [each.status for each in pod.status.conditions if each.type == "Ready"]
    return bool(pod.node_name) and not pod.deleting and ready in ([], ["True"])


@dataclass(slots=True)
class _Renewal:
    """Makes the pods of the new template, with the names and labels of their revision.

    models: see _prepared
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
        """Return the renewal of a workload's pods by its new template. state: with the new
        template"""
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
        patch: Manifest = {"name": name, "uid": key, "labels": labels}
        if kind == "Deployment":
            patch["ownerReferences"] = plain_fields(owners)
        pod = edited(model, {"metadata": patch})
        metadata = structs.replace(pod.metadata, creation_timestamp=created)
        return Pod(metadata, model.spec, PENDING_AGAIN, "", pod.raw)


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
        """Return the limits of a rollout. Upstream: ResolveFenceposts,
        getStatefulSetMaxUnavailable, updatedDesiredNodeCounts. spec: of the workload; count: of the
        pods that are replaced; others: pods of a StatefulSet that are not"""
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


class RolledCluster(Protocol):
    """The cluster that a rollout changes."""

    def add(self, pod: Pod, replaced_pod: Pod) -> Pod:
        """Let a pod come that waits for a node in place of another. Return it with its claims."""

    def remove(self, pods: Sequence[Pod]) -> None:
        """Let pods go."""


class Rollout:
    """One workload's rollout: its controller and the scheduler take turns until neither changes
    anything. Whoever performs it sets `cluster`, and says what becomes of the pods.

    pods: of the workload as they are now, by key
    old: the keys of those still to be replaced, the first to go first
    others: the keys of pods of the workload that stay
    unmatched: the pods that no new one has replaced yet
    placed, waiting: keys of new pods that are available, or are not → the pod that each replaces
    steps: how often the scheduler had its turn
    min_ready_seconds: for which a new pod has a node before it is available
    """

    cluster: RolledCluster
    min_ready_seconds = 0

    def __init__(
        self,
        state: ClusterState,
        order: Sequence[Pod],
        others: Sequence[Pod],
        renewal: _Renewal,
        limits: _Limits,
    ) -> None:
        """order: the pods to replace, the first to go first; others: that a StatefulSet keeps"""
        self.renewal, self.limits = renewal, limits
        self.created = newest_timestamp(state.pods)
        self._names = names_in(state.pods, renewal.key[0])
        self.pods = {pod.key: pod for pod in (*order, *others)}
        self.old = [pod.key for pod in order]
        self.others = [pod.key for pod in others]
        self.unmatched = [*order]
        self.placed: dict[str, Pod] = {}
        self.waiting: dict[str, Pod] = {}
        self.effects: list[Effect] = []
        self.steps = 0
        # Pods that evict each other might go on forever.
        self.most_steps = 3 * (len(order) + limits.replicas) + 1

    def sync(self) -> bool:
        """Create and remove pods as the controller does when it looks at the workload. Return
        whether it did anything."""
        raise NotImplementedError

    @property
    def is_finished(self) -> bool:
        """Return whether all pods are of the new template, and available."""
        return len(self.placed) == self.limits.replicas and not self.old

    @property
    def verdict(self) -> Effect:
        """How the rollout ends, and what there is to say of it."""
        namespace, kind, name = self.renewal.key
        workload, done, count = f"{kind} {namespace}/{name}", len(self.placed), self.limits.replicas
        if self.is_finished:
            return Effect(workload, "rollout finishes", f"steps: {self.steps}")
        updated = f"{done} of {count} pods updated"
        if self.steps == self.most_steps:
            return Effect(workload, STUCK, f"{updated}; pods evict each other")
        return Effect(workload, STUCK, f"{updated}; {self.why_stuck()}")

    def why_stuck(self) -> str:
        """Return why the rollout is stuck."""
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
            pod = self.renewal.pod(replaced_pod, self._names, self.created)
            self.waiting[pod.key] = replaced_pod
            self.pods[pod.key] = self.cluster.add(pod, replaced_pod)
        del self.unmatched[:count]

    def remove(self, keys: Sequence[str]) -> None:
        """Remove old pods."""
        gone = set(keys)
        self.old = [key for key in self.old if key not in gone]
        self.cluster.remove([self.pods.pop(key) for key in keys])
        is_last = not self.unmatched and not self.waiting
        step = f"after step {self.steps}" if is_last else f"in step {self.steps + 1}"
        self.effects += [Effect(key, "removed", step) for key in keys]

    def replace(self, keys: Sequence[str]) -> None:
        """Remove old pods, and create those that have their places."""
        leaving = set(keys)
        first = [pod for pod in self.unmatched if pod.key in leaving]
        self.unmatched = [*first, *(pod for pod in self.unmatched if pod.key not in leaving)]
        self.remove(keys)
        self.create(len(first))

    def finish(self) -> None:
        """Replace all old pods that are left at once."""
        self.remove([*self.old])
        self.create(max(0, self.limits.replicas - len(self.waiting) - len(self.placed)))

    # -- what becomes of the pods -----------------------------------------------------------------

    def place(self, key: str) -> None:
        """Note that a new pod is available."""
        self.placed[key] = self.waiting.pop(key)

    def displace(self, key: str) -> None:
        """Note that a pod has lost its node, and waits again."""
        if key in self.placed:
            self.waiting[key] = self.placed.pop(key)

    def forget(self, key: str) -> None:
        """Note that a pod is gone, and that nothing makes it anew."""
        del self.pods[key]
        if key not in self.others:
            self.limits = replace(self.limits, replicas=max(0, self.limits.replicas - 1))
        for keys in (self.old, self.others):
            if key in keys:
                keys.remove(key)
        self.unmatched = [pod for pod in self.unmatched if pod.key != key]
        self.placed.pop(key, None)
        self.waiting.pop(key, None)


class _DeploymentRollout(Rollout):
    """Upstream: rolloutRolling and rolloutRecreate."""

    def sync(self) -> bool:
        limits, new = self.limits, len(self.waiting) + len(self.placed)
        if limits.recreates:
            room = 0 if self.old else limits.replicas - new
        else:
            room = min(limits.replicas + limits.surge - len(self.old), limits.replicas) - new
        if room > 0:
            # There may be more replicas than there were: any pod is a model for those.
            model = next(iter(self.renewal.models.values()))
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


class _StatefulSetRollout(Rollout):
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


class _DaemonSetRollout(Rollout):
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
_ROLLOUTS: Mapping[str, type[Rollout]] = {
    "Deployment": _DeploymentRollout,
    "StatefulSet": _StatefulSetRollout,
    "DaemonSet": _DaemonSetRollout,
}
