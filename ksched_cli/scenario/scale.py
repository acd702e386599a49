"""Changes to workloads: scale, rollout restart, set resources."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from fractions import Fraction
from functools import cmp_to_key
from itertools import islice
from math import ceil, log2
from typing import Any

import msgspec
from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.objects.pod import PENDING_AGAIN
from ksched_cli.cluster.state import ClusterState
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.plain_json import typed_json
from ksched_cli.kube.time import parse_time, readable_time
from ksched_cli.scenario.arguments import (
    Arguments,
    NamedWorkload,
    Target,
    TargetsChange,
    current_pods,
    find_workload,
    read_targets,
)
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.objects import Manifest, edited, plain_object, replaced
from ksched_cli.scenario.pod_claims import ClaimMaker
from ksched_cli.scenario.pods import (
    is_ready,
    is_running,
    moved,
    names_in,
    newest_timestamp,
    pending_again,
    select_by_id,
    time_of,
    without_pods,
)
from ksched_cli.scenario.workloads import MAX_PODS, replicas_of

# -- the order of removal -------------------------------------------------------------------------
# The order in which a controller removes the pods of a workload that is scaled down.
#
# Upstream: pkg/controller/controller_utils.go (ActivePodsWithRanks), replicaset/replica_set.go
# (getPodsToDelete); stateful sets lose their highest ordinals.


_DELETION_COST = "controller.kubernetes.io/pod-deletion-cost"
_PHASES = {"Pending": 0, "Unknown": 1, "Running": 2}


class _ContainerStatus(msgspec.Struct, rename="camel"):
    name: str = ""
    restart_count: int = 0


class _Condition(msgspec.Struct, rename="camel"):
    type: str = ""
    status: str = ""
    last_transition_time: str | None = ""


class _Status(msgspec.Struct, rename="camel"):
    conditions: list[_Condition] | None = None
    container_statuses: list[_ContainerStatus] | None = None
    init_container_statuses: list[_ContainerStatus] | None = None


class _WithStatus(msgspec.Struct):
    status: _Status | None = None


@dataclass(frozen=True, slots=True)
class _Candidate:
    """The values of a pod that the ranking reads.

    precedence:  criteria of which the lower goes first
    ready_since: "" where that is not known, or it is not ready
    restarts:    the most of any container, of any sidecar; the higher goes first
    """

    pod: Pod
    precedence: tuple[int, ...]
    ready_since: str
    restarts: tuple[int, int]


def removal_order(state: ClusterState, workload: NamedWorkload) -> list[Pod]:
    """Return the workload's pods, the first to go first."""
    if workload.kind == "StatefulSet":
        return sorted(workload.pods, key=lambda pod: -_ordinal(pod))
    neighbours = Counter(pod.node_name for pod in workload.pods)
    # Among pods that the ranking takes as equal, the last in the state goes first, as newest.
    pods = select_by_id(state.pods, {id(pod) for pod in workload.pods})
    candidates = []
    for pod in reversed(pods):
        status = _Status()
        if bytes(pod.raw) and pod.status is not PENDING_AGAIN:
            status = typed_json(pod.raw, _WithStatus).status or status
        ready = is_ready(pod)
        # A cost with a plus sign, with leading zeros or of more than 32 bits is not read. Upstream:
        # pkg/apis/core/helper/helpers.go (GetDeletionCostFromPodAnnotations).
        text = pod.metadata.annotations.get(_DELETION_COST, "")
        cost = 0 if text.startswith(("+", "0")) else parse_int64(text) or 0
        if not -(1 << 31) <= cost < 1 << 31:
            cost = 0
        phase = _PHASES.get(pod.status.phase, 0)
        precedence = (bool(pod.node_name), phase, ready, cost, -neighbours[pod.node_name])
        conditions = (each for each in status.conditions or () if each.type == "Ready")
        times = [readable_time(each.last_transition_time) for each in conditions]
        sidecars = {each.name for each in pod.spec.init_containers if each.is_sidecar}
        beside = [each for each in status.init_container_statuses or () if each.name in sidecars]
        restarts = (
            max((each.restart_count for each in status.container_statuses or ()), default=0),
            max((each.restart_count for each in beside), default=0),
        )
        since = times[0] if times and ready else ""
        candidates.append(_Candidate(pod, precedence, since, restarts))
    ages = _Ages(time_of(state))
    candidates.sort(key=cmp_to_key(ages.compare))
    return [candidate.pod for candidate in candidates]


@dataclass(frozen=True, slots=True)
class _Ages:
    """Compares candidates. now: when the pods are removed, as RFC 3339; "" where it is not known"""

    now: str

    def compare(self, a: _Candidate, b: _Candidate) -> int:
        """Return a number below zero if `a` goes first. Upstream: ActivePodsWithRanks.Less."""
        if a.precedence != b.precedence:
            return -1 if a.precedence < b.precedence else 1
        if is_ready(a.pod) and a.ready_since != b.ready_since:
            return self._younger_first(a, b, a.ready_since, b.ready_since)
        if a.restarts != b.restarts:
            return -1 if a.restarts > b.restarts else 1
        created = a.pod.metadata.creation_timestamp, b.pod.metadata.creation_timestamp
        return 0 if created[0] == created[1] else self._younger_first(a, b, *created)

    def _younger_first(self, a: _Candidate, b: _Candidate, since: str, other: str) -> int:
        """Compare the logarithms of their ages; if these are the same, the lower uid goes first."""
        if not since or not other:
            return -1 if not since else 1
        difference = self._log_age(since) - self._log_age(other)
        return difference or (-1 if a.pod.uid < b.pod.uid else 1)

    def _log_age(self, since: str) -> int:
        """Return the whole part of the age's logarithm to base 2. Upstream: logarithmicRankDiff,
        which takes nanoseconds."""
        if not self.now:
            return 0
        seconds = (parse_time(self.now) - parse_time(since)).total_seconds()
        return int(log2(seconds * 1e9)) if seconds > 0 else -1


def _ordinal(pod: Pod) -> int:
    number = parse_int64(pod.name.rpartition("-")[2])
    return -1 if number is None else number


# -- scale ----------------------------------------------------------------------------------------

_FACTOR = re.compile(r"\d{1,6}(\.\d{1,6})?")
SCALABLE = ("Deployment", "ReplicaSet", "StatefulSet", "ReplicationController")


@dataclass(frozen=True, slots=True)
class Scale(TargetsChange):
    """replicas: how many there will be; None where `factor` multiplies what is there, rounded up"""

    replicas: int | None
    factor: Fraction = Fraction(1)

    @staticmethod
    def parse(arguments: Arguments) -> Scale:
        targets = read_targets(arguments, SCALABLE)
        factor = arguments.flags.get("--factor")
        if factor is None:
            return Scale(arguments.text, targets, arguments.count("--replicas"))
        if "--replicas" in arguments.flags:
            raise arguments.error("it takes --replicas or --factor, not both")
        if not _FACTOR.fullmatch(factor):
            raise arguments.error(f'--factor is "{factor}"; it takes a number, such as 3 or 0.5')
        return Scale(arguments.text, targets, None, Fraction(factor))

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        workload = find_workload(self, state, target)
        replicas = self.replicas
        if replicas is None:
            obj = workload.obj
            before = len(workload.pods) if obj is None else replicas_of(obj.spec.replicas)
            replicas = ceil(before * self.factor)
            if replicas > MAX_PODS:
                problem = f"would have {replicas} replicas; at most {MAX_PODS} are allowed"
                raise self.error(f"{workload.text} {problem}")
        return resize(self, state, workload, replicas)


def resize(change: Change, state: ClusterState, workload: NamedWorkload, replicas: int) -> Changed:
    """Set the replicas, and remove the pods that are too many. Those that lack are made where the
    state has the workload's template (workloads.py), else here, as copies of its newest pod."""
    before = len(workload.pods)
    surplus = removal_order(state, workload)[: max(0, before - replicas)]
    effects = [Effect(workload.text, "scaled", f"{before} → {replicas} pods")]
    effects += moved(surplus, "removed")
    state = without_pods(state, surplus)
    if workload.obj is not None:
        kind = KINDS[workload.kind]
        state = replaced(state, kind, [plain_object(kind, workload.obj, replicas=replicas)])
    if workload.replica_sets:
        lost = {id(pod) for pod in surplus}
        counts = Counter(pod.owner[1] for pod in workload.pods if id(pod) not in lost)
        # The newest takes what is added: the one with most pods, where a rollout is not under way.
        newest = max(workload.replica_sets, key=lambda rs: (rs.spec.replicas or 0, counts[rs.name]))
        counts[newest.name] += max(0, replicas - sum(counts.values()))
        kind = KINDS["ReplicaSet"]
        sets = [plain_object(kind, rs, replicas=counts[rs.name]) for rs in workload.replica_sets]
        state = replaced(state, kind, sets)
    if workload.obj is None and not workload.replica_sets and replicas > before:
        state, copies = _copies(change, state, workload, replicas - before)
        effects += [Effect(pod.key, "pending", f"created for {workload.text}") for pod in copies]
    return state, effects


def _copies(
    change: Change, state: ClusterState, workload: NamedWorkload, count: int
) -> tuple[ClusterState, list[Pod]]:
    """Return the state with pods like the workload's newest, with names and claims of their own,
    and these pods. Raises ChangeError."""
    if workload.kind == "StatefulSet":
        raise change.error(
            f"the state has pods of {workload.text}, but not {workload.text} itself; add it "
            "to the state"
        )
    model = max(workload.pods, key=lambda pod: pod.metadata.creation_timestamp)
    newest = newest_timestamp(state.pods)
    fresh = generated_names(f"{model.owner[1]}-", names_in(state.pods, model.namespace))
    maker = ClaimMaker(state, model)
    copies = []
    for name in islice(fresh, count):
        uid = f"{model.namespace}/{name}"
        pod = edited(model, {"metadata": {"name": name, "uid": uid}})
        metadata = structs.replace(pod.metadata, creation_timestamp=newest)
        copies.append(maker.owner(Pod(metadata, model.spec, PENDING_AGAIN, "", pod.raw)))
    return replace(maker.with_claims(), pods=(*state.pods, *copies)), copies


# -- rollout restart, set resources ---------------------------------------------------------------


RESTARTABLE = ("Deployment", "StatefulSet", "DaemonSet")
WITH_TEMPLATE = (*RESTARTABLE, "ReplicaSet", "ReplicationController")


def restarted(state: ClusterState, workload: NamedWorkload) -> Changed:
    """Make the workload's running pods pending again, all in one step."""
    running = [pod for pod in workload.pods if is_running(pod)]
    return pending_again(state, running), moved(running)


@dataclass(frozen=True, slots=True)
class RolloutRestart(TargetsChange):
    @staticmethod
    def parse(arguments: Arguments) -> RolloutRestart:
        return RolloutRestart(arguments.text, read_targets(arguments, RESTARTABLE))

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        return restarted(state, find_workload(self, state, target))


@dataclass(frozen=True, slots=True)
class SetResources(TargetsChange):
    """requests, limits: resource and amount. container: a name, "*" in it for any characters."""

    requests: tuple[tuple[str, str], ...]
    limits: tuple[tuple[str, str], ...]
    container: str

    @staticmethod
    def parse(arguments: Arguments) -> SetResources:
        requests = _amounts(arguments, "--requests")
        limits = _amounts(arguments, "--limits")
        if not requests and not limits:
            raise arguments.error("expected --requests=cpu=200m,memory=512Mi or --limits=…")
        targets = read_targets(arguments, WITH_TEMPLATE)
        container = arguments.flags.get("--containers", "*")
        return SetResources(arguments.text, targets, requests, limits, container)

    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        workload = find_workload(self, state, target)
        effects = [Effect(workload.text, "resources set")]
        state, more = restarted(state, workload)
        pods = [plain_object(KINDS["Pod"], pod) for pod in current_pods(state, workload)]
        count = sum(self._edit(pod["spec"]) for pod in pods)
        state = replaced(state, KINDS["Pod"], pods)
        objects: list[tuple[str, Any]] = [("ReplicaSet", rs) for rs in workload.replica_sets]
        objects += [(workload.kind, workload.obj)] if workload.obj is not None else []
        for kind, obj in objects:
            plain = plain_object(KINDS[kind], obj)
            spec = ((plain.get("spec") or {}).get("template") or {}).get("spec") or {}
            count += self._edit(spec)
            state = replaced(state, KINDS[kind], [plain])
        if not count:
            raise self.error(f'{workload.text} has no container "{self.container}"')
        return state, effects + more

    def _edit(self, spec: Manifest) -> int:
        """Set the resources in a pod's spec; how many containers that were. Upstream:
        SetResourcesOptions.Run."""
        containers = [
            container
            for part in ("containers", "initContainers")
            for container in spec.get(part) or ()
            if fnmatchcase(container.get("name") or "", self.container)
        ]
        for container in containers:
            resources = dict(container.get("resources") or {})
            for part, amounts in (("requests", self.requests), ("limits", self.limits)):
                if amounts:
                    resources[part] = {**(resources.get(part) or {}), **dict(amounts)}
            container["resources"] = resources
        return len(containers)


def _amounts(arguments: Arguments, flag: str) -> tuple[tuple[str, str], ...]:
    """Read "cpu=200m,memory=512Mi". Raises ChangeError."""
    text = arguments.flags.get(flag, "")
    pairs = [part.partition("=") for part in text.split(",") if part]
    for name, _, amount in pairs:
        if not name or not amount:
            raise arguments.error(f'{flag}: "{name}" is not RESOURCE=AMOUNT, such as cpu=200m')
    return tuple((name, amount) for name, _, amount in pairs)
