"""Short diagnoses of a pod that fits nowhere: one line with the cause, and one with the remedy,
where a run shows that a single change of those that plugins propose helps (hints.py). `fix` finds
the others.

Nodes are taken together by what is in their way, and the nodes with the least to overcome are the
answer: those with the fewest obstacles, and of these the ones whose obstacles are overcome most
easily. An uncordoned node serves the pod as it is, a toleration changes the pod, a larger request
than any node has room for takes a new node.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import suppress
from enum import IntEnum
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from ksched_cli.analysis.circumstances import (
    RecordedMessages,
    age_text,
    circumstances,
    read_at,
)
from ksched_cli.analysis.fixed_places import fixed_places, terms_text
from ksched_cli.analysis.gates import READS
from ksched_cli.analysis.held_pods import (
    AbsentPods,
    HeldPods,
    PlacedPods,
    absent_pods,
    group_notes,
    held_pods,
    placed_pods,
)
from ksched_cli.analysis.hints import SHOWN, Hint, Hints, remedy_text
from ksched_cli.analysis.near_misses import near_label, near_toleration
from ksched_cli.analysis.question import Opened, PodChoice, Question
from ksched_cli.analysis.reasons import Reason, alike, independent_verdicts, reasons, untolerated
from ksched_cli.analysis.usage import CONDITIONS, CONTROL_PLANE
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.loading.state_warnings import absent_kind
from ksched_cli.cluster.node_affinity import NodeTerm, required_node_affinity
from ksched_cli.cluster.objects import PersistentVolumeClaim, Pod, Taint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import COMPARISON_GATE
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.framework.status import PluginError, Status
from ksched_cli.kube.quantity import amount_texts
from ksched_cli.kube.selectors import Requirement, requirement_text
from ksched_cli.plugins.controllers import owner_of_taint, taint_sentence
from ksched_cli.plugins.dynamic_resources.plugin import DynamicResources
from ksched_cli.plugins.helper import listed, named
from ksched_cli.plugins.inter_pod_affinity import InterPodAffinity
from ksched_cli.plugins.lower_requests import written_request
from ksched_cli.plugins.node_affinity import ENFORCED_REASON
from ksched_cli.plugins.pod_topology_spread import PodTopologySpread
from ksched_cli.plugins.taint_toleration import CORDON, taint_text
from ksched_cli.plugins.volume_binding.binder import BIND_COMPLETED
from ksched_cli.plugins.volumes import claim_class, claim_uses
from ksched_cli.scenario.owned_pods import owner_of

_MAX_LISTED = 3
_MAX_SIGNATURES = 64  # looked at to find the owners that hold the most


class RoomHolder(Part, frozen=True):
    """A workload that holds what is short on the nodes that the pod may use.

    owner: namespace/Kind/name, or words for pods without a controller
    pods: how many of its pods are there; priority: of the first of them
    amount: of the resource, in words; total: how much these nodes have
    age: of the oldest of these pods, as "3 d"; "" where that is unknown, or less than a minute
    """

    owner: str
    pods: Count
    priority: int
    resource: str
    amount: str
    total: str
    age: str = ""


class Diagnosis(Part, frozen=True):
    """Why a pod fits nowhere, and what to do about it.

    cause: what is in the way where the least is
    remedy: the hints, in words; empty where no single change helps
    nodes: those with the least in the way, which the cause is about
    notes: what else bears on it, a sentence each
    shortage: the resources that are short, where nothing else is in the way
    hints: single changes that help, each verified by a run
    advice: who would have to act, or what might help; no run has verified it
    holders: who holds most of what is short, where nothing else is in the way
    proposals: of single changes, cheapest first, until they are verified
    """

    cause: str
    remedy: str = ""
    nodes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    shortage: Annotated[str, HIDDEN] = ""
    hints: tuple[Hint, ...] = ()
    advice: str = ""
    holders: tuple[RoomHolder, ...] = ()
    proposals: Annotated[tuple[Proposal, ...], HIDDEN] = ()

    @property
    def family(self) -> str:
        """Return the same for pods that wait for one thing, however much of it each requests."""
        return self.shortage or self.cause


class Difficulty(IntEnum):
    """How hard an obstacle is to overcome, the easiest first."""

    CORDON = 0
    TAINT = 1
    CONDITION = 2
    RESOURCE = 3
    OTHER = 4
    LABEL = 5
    TOO_BIG = 6
    CONTROL_PLANE = 7
    LEAVING = 8


class Obstacle(NamedTuple):
    """An obstacle that keeps a pod off nodes.

    what:   in words that follow "node-3 would take it but for"
    short:  the resource that is short, or ""
    beside: the words where there are other obstacles, if they differ
    """

    difficulty: Difficulty
    what: str
    short: str = ""
    beside: str = ""


# (plugin, beginning of its reason) → what is in the way.
_OBSTACLES = {
    ("InterPodAffinity", "node(s) didn't match pod anti-affinity"): "its own anti-affinity",
    ("InterPodAffinity", "node(s) didn't satisfy existing pods"): "the anti-affinity of pods there",
    ("PodTopologySpread", ""): "its topology spread constraints",
    ("NodePorts", ""): "a host port that is taken",
    ("NodeVolumeLimits", ""): "the number of volumes there",
    ("VolumeBinding", "node(s) didn't match PersistentVolume"): (
        "its volume, which cannot be used there"
    ),
    ("VolumeBinding", "node(s) didn't find available persistent volumes"): (
        "a volume, which neither exists nor can be provisioned there"
    ),
    ("VolumeZone", ""): "the zone of its volume",
    ("VolumeRestrictions", ""): "a volume that another pod uses",
    ("NodeName", ""): "its nodeName",
}
# The plugins that say of each node what is in the way there.
_SHORTAGE_PLUGINS = ("DynamicResources", "InterPodAffinity", "PodTopologySpread")
_NO_ROWS: Rows = np.arange(0)


def diagnose(
    evaluation: Evaluation,
    state: ClusterState,
    leaving: Collection[str] = (),
    *,
    only_cause: bool = False,
) -> Diagnosis | None:
    """Diagnose an evaluation in EXHAUSTIVE or REASONS mode; return None if it broke or a node fits.

    leaving: nodes that are no answer, where there are others
    only_cause: without what else bears on it, and what might help
    """
    if evaluation.error or len(evaluation.feasible):
        return None
    if evaluation.pre_filter is not None:
        # An object of the pod cannot be judged where the state has none of its kind.
        pod = evaluation.pod
        for subject, kind in (*_missing_volumes(pod, state), *_missing_devices(pod, state)):
            if absent := absent_kind(state, kind):
                return Diagnosis(f"{subject} is not known: {absent}")
        diagnosis = _of_claims(evaluation.pod, state) or Diagnosis(evaluation.pre_filter.message)
        proposals = () if only_cause else _proposals(evaluation, state, _NO_ROWS)
        return replace(diagnosis, proposals=proposals)
    if not len(evaluation.statuses.snapshot):
        return Diagnosis("the cluster has no nodes", advice="might help: add nodes to the state")
    return _Nodes(evaluation, state).diagnosis(leaving, only_cause)


def _proposals(evaluation: Evaluation, state: ClusterState, rows: Rows) -> tuple[Proposal, ...]:
    """Return what might help. rows: the nodes that it is to open to the pod"""
    # Brings all changes to a state along.
    from ksched_cli.analysis.proposals import single_changes

    return single_changes(evaluation, state, rows)


def with_hints(
    diagnosis: Diagnosis,
    hints: Hints,
    pod: PodInfo,
    pods: Collection[str],
    own: str = "",
    owner: str = "",
) -> Diagnosis:
    """Return the diagnosis with what helps, as runs show. pod, pods, own: see Hints.verified;
    owner: of the pods, where the text names it"""
    helping, untried = hints.verified(diagnosis.proposals, pod, pods, own)
    return replace(
        diagnosis,
        hints=helping,
        remedy=remedy_text(helping, owner),
        advice="" if helping else diagnosis.advice or _might_help(untried),
        proposals=(),
    )


def unverified(diagnosis: Diagnosis, state: ClusterState) -> Diagnosis:
    """Return the diagnosis where no run is made: what was proposed might help, unless it undoes
    what a change of the question has done to the state."""
    from ksched_cli.analysis.proposals import fields_set, undoes

    fields = fields_set(state.changes)
    texts = [each.text for each in diagnosis.proposals if not undoes(each.changes, fields)]
    return replace(diagnosis, advice=_might_help(texts) or diagnosis.advice, proposals=())


def _might_help(texts: Sequence[str]) -> str:
    """Return the sentence about changes that were not run."""
    return f"might help: {', or '.join(texts[:SHOWN])}" if texts else ""


# -- claims ---------------------------------------------------------------------------------------


def _of_claims(pod: PodInfo, state: ClusterState) -> Diagnosis | None:
    """Return the first claim of the pod that is in its way."""
    for use in claim_uses(pod.pod):
        name = f"{pod.namespace}/{use.claim}"
        claim = state.persistent_volume_claims.get((pod.namespace, use.claim))
        if claim is None and use.ephemeral:
            return Diagnosis(
                f"claim {name} of its ephemeral volume has not been made yet",
                advice=f"the ephemeral volume controller makes {name}: see the pod's events",
            )
        if claim is None:
            return Diagnosis(
                f"there is no claim {name}",
                advice=f"might help: create PersistentVolumeClaim {name}, or correct its name",
            )
        if claim.metadata.deletion_timestamp:
            advice = "wait until it is gone, then create it anew"
            return Diagnosis(f"claim {name} is being deleted", advice=advice)
        volume = claim.spec.volume_name
        if not volume:
            problem = _of_unbound(claim, state)
            if problem is not None:
                return problem
        elif volume not in state.persistent_volumes:
            return Diagnosis(f"claim {name} is bound to volume {volume}, which does not exist")
        elif BIND_COMPLETED not in claim.metadata.annotations:
            return Diagnosis(
                f"claim {name} names volume {volume}, but lacks the annotation {BIND_COMPLETED} of"
                " bound claims",
                advice="the volume controller sets it: see kubectl"
                f" -n {claim.namespace} describe pvc {claim.name}",
            )
    return None


def _missing_volumes(pod: PodInfo, state: ClusterState) -> Iterator[tuple[str, str]]:
    """Yield the objects behind the pod's volumes that the state lacks, each with its kind."""
    for use in claim_uses(pod.pod):
        name = f"{pod.namespace}/{use.claim}"
        claim = state.persistent_volume_claims.get((pod.namespace, use.claim))
        if claim is None:
            yield f"claim {name}", "PersistentVolumeClaim"
            continue
        volume, class_name = claim.spec.volume_name, claim_class(claim)
        if volume and volume not in state.persistent_volumes:
            yield f"volume {volume} of claim {name}", "PersistentVolume"
        if not volume and class_name and class_name not in state.storage_classes:
            yield f"class {class_name} of claim {name}", "StorageClass"


def _missing_devices(pod: PodInfo, state: ClusterState) -> Iterator[tuple[str, str]]:
    """Yield the objects behind the pod's device claims that the state lacks, each with its kind."""
    names = {each.name: each.resource_claim_name for each in pod.pod.status.resource_claim_statuses}
    for reference in pod.spec.resource_claims:
        name = reference.resource_claim_name or names.get(reference.name)
        if not name:
            continue
        claim = state.resource_claims.get((pod.namespace, name))
        if claim is None:
            yield f"ResourceClaim {pod.namespace}/{name}", "ResourceClaim"
            continue
        for request in claim.spec.devices.requests:
            exact = (request.exactly,) if request.exactly is not None else ()
            for each in (*exact, *request.first_available):
                if each.device_class_name not in state.device_classes:
                    yield (
                        f"DeviceClass {each.device_class_name} of claim {claim.key}",
                        "DeviceClass",
                    )


def _of_unbound(claim: PersistentVolumeClaim, state: ClusterState) -> Diagnosis | None:
    """Return why the claim is not bound; None if the claim may wait for the pod."""
    modes = ", ".join(claim.spec.access_modes)
    name = claim_class(claim)
    storage_class = state.storage_classes.get(name)
    if storage_class is None:
        classes = ", ".join(sorted(state.storage_classes)) or "none"
        missing = f'names class "{name}", which does not exist' if name else "names no class"
        return Diagnosis(
            f"claim {claim.key} ({modes}) is not bound: it {missing} (classes: {classes})",
            advice="might help: "
            + (
                f"create the claim with an existing class, or create class {name}"
                if name
                else "bind it to a volume, or create it with a class"
            ),
        )
    if storage_class.volume_binding_mode == "Immediate":
        return Diagnosis(
            f"claim {claim.key} (class {name}, Immediate, {modes}) is not bound: "
            f"{storage_class.provisioner or 'its provisioner'} has made no volume for it",
            advice=f"see kubectl -n {claim.namespace} describe pvc {claim.name}",
        )
    return None


# -- nodes ----------------------------------------------------------------------------------------


class _Nodes:
    """The nodes, grouped by their obstacles."""

    def __init__(self, evaluation: Evaluation, state: ClusterState) -> None:
        self._evaluation = evaluation
        self._state = state
        self._pod = evaluation.pod
        # By row, the texts of plugins that have words of their own.
        self._shortage_texts: dict[str, dict[int, str]] = {}
        self._snapshot: Snapshot = evaluation.statuses.snapshot
        self._answers = [a for a in independent_verdicts(evaluation) if a.verdicts.ids.any()]
        # By row, the nominated pods beside which the pod does not fit there.
        self._nominated = {
            row: answer.nominated
            for answer in self._answers
            if answer.nominated
            for row in np.flatnonzero(answer.verdicts.ids).tolist()
        }

    def diagnosis(  # noqa: PLR0915  # one search, from top to bottom
        self, leaving: Collection[str], only_cause: bool
    ) -> Diagnosis:
        """Return what diagnose returns."""
        # 1. Only nodes where its volumes are, or that its DaemonSet made it for, count.
        places = fixed_places(self._evaluation, self._state)
        allowed = np.logical_and.reduce(
            [place.rows for place in places], initial=True, axis=0
        ) & np.ones(len(self._snapshot), dtype=np.bool_)
        is_nowhere = not allowed.any()
        gone = [self._snapshot.row[name] for name in leaving if name in self._snapshot.row]
        others = allowed.copy()
        others[gone] = False
        allowed = others if others.any() else allowed
        # 2. The nodes with the least in the way are the answer.
        best: tuple[tuple[int, int, int, int], Sequence[Obstacle], Rows] | None = None
        for alike_rows in self._alike():
            rows = alike_rows if is_nowhere else alike_rows[allowed[alike_rows]]
            if not len(rows):
                continue
            obstacles = sorted(set(self._obstacles(int(rows[0]), rows)))
            worst = max((o.difficulty for o in obstacles), default=Difficulty.OTHER)
            rank = (worst >= Difficulty.LABEL, len(obstacles), worst, -len(rows))
            if best is None or rank < best[0]:
                best = rank, obstacles, rows
        assert best is not None
        _, least, nearest = best
        # 3. What other nodes lack is a sentence of its own.
        nodes = tuple(self._snapshot.names[row] for row in nearest.tolist())
        proposals = () if only_cause else _proposals(self._evaluation, self._state, nearest)
        #    Where they are being taken away, the advice says by whom.
        taken = (
            taint_sentence(owner, taint_text(taint), self._snapshot.names[row])
            for row in nearest[:_MAX_LISTED].tolist()
            for taint in untolerated(self._evaluation, row)
            if (owner := owner_of_taint(taint.key)) is not None and owner.leaves
        )
        advice = "; ".join(dict.fromkeys(taken))
        if is_nowhere:
            everywhere = " and ".join(place.where for place in places)
            empty = (f"{each.where}, {each.missing}" for each in places if not each.rows.any())
            cause = next(empty, f"{everywhere}: no node is in both places")
            return Diagnosis(cause, nodes=nodes, advice=advice, proposals=proposals)
        where = [place.where for place in places]
        selects = any(obstacle.difficulty is Difficulty.LABEL for obstacle in least)
        if len(least) == 1 and least[0].difficulty in (Difficulty.RESOURCE, Difficulty.TOO_BIG):
            cause = least[0].what
        elif selects and (missing := self._absent_labels(np.flatnonzero(allowed))):
            cause = missing
        else:
            *first, last = (obstacle.beside or obstacle.what for obstacle in least)
            what = f"{', '.join(first)} and {last}" if first else last
            shown_nodes = ", ".join(nodes)
            if len(nodes) > _MAX_LISTED:
                shown_nodes = f"{len(nodes):,} nodes ({', '.join(nodes[: _MAX_LISTED - 1])}, …)"
            cause = f"{shown_nodes} would take it but for {what}"
        if where:
            subject = "it " if cause == least[0].what else ""
            cause = f"{'; '.join(where)}; {subject}{cause}"
        shortages = [f"{o.difficulty.name} {o.short}" for o in least if o.short]
        shortage = ", ".join(shortages) if len(shortages) == len(least) else ""
        if only_cause:
            return Diagnosis(cause, nodes=nodes, shortage=shortage)
        open_rows = self._open_rows()
        elsewhere = [
            obstacle.what
            for answer in self._answers
            if answer.plugin == "NodeResourcesFit"
            and len(open_rows)
            and nearest[0] not in open_rows
            for obstacle in self._of_resources(
                answer.verdicts.statuses[answer.verdicts.ids[open_rows[0]]], open_rows
            )
        ]
        rows = np.array(sorted({*nearest.tolist(), *open_rows.tolist()}), dtype=np.intp)
        in_cause = {
            pod.uid for pods in self._nominated.values() for pod in pods if pod.key in cause
        }
        happening = circumstances(self._pod, self._snapshot, self._state, rows, in_cause)
        return Diagnosis(
            cause,
            nodes=nodes,
            notes=(*elsewhere, *happening),
            shortage=shortage,
            advice=advice,
            holders=self._holders(least),
            proposals=proposals,
        )

    def _holders(self, obstacles: Sequence[Obstacle]) -> tuple[RoomHolder, ...]:
        """Return who holds most of a resource on the nodes that the pod may use, where that is all
        that is in the way, and an empty node has room."""
        if [o.difficulty for o in obstacles] != [Difficulty.RESOURCE] or not obstacles[0].short:
            return ()
        resource, rows = obstacles[0].short, self._open_rows()
        # Pods of one signature are of one owner, and request the same.
        counts: Counter[int] = Counter()
        pods: dict[int, PodInfo] = {}
        since: dict[int, str] = {}
        for row in rows.tolist():
            for pod in self._snapshot.pods[row]:
                counts[pod.signature] += 1
                pods[pod.signature] = pod
                created = pod.pod.metadata.creation_timestamp
                since[pod.signature] = min(since.get(pod.signature, created), created)
        amounts = {
            each: pods[each].resources.requests.get(resource, 0) * n for each, n in counts.items()
        }
        by_owner: dict[str, list[int]] = {}
        for signature in sorted(amounts, key=lambda each: -amounts[each])[:_MAX_SIGNATURES]:
            pod = pods[signature].pod
            owner = owner_path(pod) if pod.owner[0] else f"{pod.namespace}/pods without controller"
            by_owner.setdefault(owner, []).append(signature)
        holders, now = [], read_at(self._state)
        total = int(self._snapshot.allocatable(resource)[rows].sum())
        for owner, signatures in by_owner.items():
            amount = sum(amounts[each] for each in signatures)
            count = sum(counts[each] for each in signatures)
            held, whole = amount_texts(resource, (amount, total))
            age = age_text(min(since[each] for each in signatures), now)
            priority = pods[signatures[0]].priority
            holders.append((amount, RoomHolder(owner, count, priority, resource, held, whole, age)))
        largest = sorted(holders, key=lambda each: -each[0])[:_MAX_LISTED]
        return tuple(holder for amount, holder in largest if amount)

    def _alike(self) -> Iterator[Rows]:
        """Group the rows of which every plugin says the same, about the same taints."""
        columns = [answer.verdicts.ids for answer in self._answers]
        if any(answer.plugin == "TaintToleration" for answer in self._answers):
            columns.append(self._snapshot.taint_sets[0])
        if not columns:
            yield np.arange(len(self._snapshot))
            return
        for answer in self._answers:
            if answer.plugin not in _SHORTAGE_PLUGINS:
                continue
            # Rejected rows that fall short alike have one number; the plugin's words stay.
            numbers: dict[str, int] = {}
            shortages = np.zeros(len(self._snapshot), dtype=np.int32)
            rows = np.flatnonzero(answer.verdicts.ids)
            plugin = self._evaluation.framework.plugin(answer.plugin)
            if isinstance(plugin, DynamicResources | InterPodAffinity | PodTopologySpread):
                with suppress(PluginError):  # its PreFilter may be switched off
                    texts = plugin.shortages(self._evaluation.state, self._pod, rows)
                    shortages[rows] = [numbers.setdefault(text, len(numbers) + 1) for text in texts]
                    by_row = dict(zip(rows.tolist(), texts, strict=True))
                    self._shortage_texts[answer.plugin] = by_row
            columns.append(shortages)
        classes = alike(columns)
        order = np.argsort(classes, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)

    def _obstacles(self, row: int, rows: Rows) -> Iterator[Obstacle]:
        """Yield the obstacles on the row, which represents all the rows."""
        for answer in self._answers:
            status = answer.verdicts.statuses[answer.verdicts.ids[row]]
            if not answer.verdicts.ids[row]:
                continue
            match answer.plugin:
                case "NodeUnschedulable":
                    yield self._of_cordon(rows)
                case "TaintToleration":
                    for taint in untolerated(self._evaluation, row):
                        is_cordon = taint.key == CORDON.key
                        yield self._of_cordon(rows) if is_cordon else self._of_taint(taint)
                case "NodeResourcesFit":
                    yield from self._of_resources(status, rows)
                case "NodeAffinity":
                    yield self._of_affinity(status, row)
                case plugin if answer.nominated:
                    for obstacle in _of_reasons(plugin, status, self._pod):
                        what = f"{obstacle.what}{self._as_nominated(rows[:1])}"
                        yield Obstacle(Difficulty.OTHER, what)
                case plugin:
                    yield from self._of_others(plugin, status, row)

    def _as_nominated(self, rows: Rows) -> str:
        """Return which pods are nominated to the rows, in words that follow what is in the way; or
        "" """
        there = [row for row in rows.tolist() if row in self._nominated]
        pods = [pod for row in there for pod in self._nominated[row]]
        if not pods:
            return ""
        verb = "is" if len(pods) == 1 else "are"
        nodes = [self._snapshot.names[row] for row in there]
        return f", as {named(pods)} {verb} nominated to {listed(nodes)}"

    def _of_others(self, plugin: str, status: Status, row: int) -> Iterator[Obstacle]:
        shortage = self._shortage_texts.get(plugin, {}).get(row, "")
        if shortage:
            yield Obstacle(Difficulty.OTHER, shortage)
        elif plugin == "DynamicResources":
            absent = absent_kind(self._state, "ResourceSlice")
            lack = absent or "no device is in its reach"
            yield Obstacle(Difficulty.LABEL, f"its device claims: {lack}")
        else:
            yield from _of_reasons(plugin, status, self._pod)

    def _of_cordon(self, rows: Rows) -> Obstacle:
        return Obstacle(Difficulty.CORDON, "the cordon" if len(rows) == 1 else "their cordons")

    def _of_affinity(self, status: Status, row: int) -> Obstacle:
        labels = self._snapshot.nodes[row].metadata.labels
        unmet = [r for r in self._requirements() if not r.matches(labels)]
        if ENFORCED_REASON.message in status.reasons:
            text = "the node affinity that the scheduler's configuration adds"
        elif unmet:
            noun = "labels" if len(unmet) > 1 else "label"
            text = f"the {noun} {' and '.join(map(requirement_text, unmet))}"
        else:
            affinity = required_node_affinity(self._pod.spec).affinity
            terms = [(*term.labels, *term.fields) for term in affinity.terms] if affinity else []
            text = f"its node affinity ({terms_text(terms)})"
        return Obstacle(Difficulty.LABEL, text)

    def _of_taint(self, taint: Taint) -> Obstacle:
        if taint.key.startswith(CONDITIONS):
            condition = taint.key.removeprefix(CONDITIONS)
            is_pressure = condition.endswith("-pressure")
            text = condition.replace("-", " ") if is_pressure else f"being {condition}"
            return Obstacle(Difficulty.CONDITION, text)
        difficulty, owner = Difficulty.TAINT, owner_of_taint(taint.key)
        if owner is not None and owner.leaves:
            difficulty = Difficulty.LEAVING
        elif taint.key in CONTROL_PLANE:
            difficulty = Difficulty.CONTROL_PLANE
        compares = self._evaluation.framework.handle.release.enabled(COMPARISON_GATE)
        near = near_toleration(self._pod.spec.tolerations, taint, compares=compares)
        return Obstacle(difficulty, f"the taint {taint_text(taint)}{f' ({near})' if near else ''}")

    def _of_resources(self, status: Status, rows: Rows) -> Iterator[Obstacle]:
        """Yield one obstacle per resource that is short on the rows. Where nothing else is in the
        way there, it is about all such nodes."""
        open_rows = self._open_rows()
        usable = open_rows if rows[0] in open_rows else rows
        for reason in status.reasons:
            resource = reason.removeprefix("Insufficient ")
            if resource in self._pod.resources.requests:
                yield self._of_resource(resource, usable, rows)
            else:
                many = "1 node" if len(usable) == 1 else f"{len(usable):,} nodes"
                yield Obstacle(
                    Difficulty.RESOURCE,
                    f"{many} it may use: no room for one more pod (pods)"
                    f"{self._as_nominated(usable)}",
                    beside=f"no room for one more pod{self._as_nominated(rows)}",
                )

    def _of_resource(self, resource: str, usable: Rows, rows: Rows) -> Obstacle:
        """Return the obstacle of a resource. usable: the nodes that it may use; rows: those with
        the same obstacles"""
        amount = self._pod.resources.requests[resource]
        written = written_request(self._pod, resource)
        allocatable = self._snapshot.allocatable(resource)
        has_room = allocatable - self._snapshot.requested(resource) >= amount
        # The amount that is free on each row, less what pods nominated to it request.
        free = allocatable - self._snapshot.requested(resource)
        for row, pods in self._nominated.items():
            taken = sum(pod.resources.requests.get(resource, 0) for pod in pods)
            free[row] = max(0, free[row] - taken)

        def most_on(rows: Rows) -> tuple[bool, str, int]:
            """Return whether it is too big for all of them, and which has the most room."""
            is_too_big = bool(amount > allocatable[rows].max())
            amounts = (allocatable if is_too_big else free)[rows]
            return is_too_big, self._snapshot.names[rows[int(amounts.argmax())]], int(amounts.max())

        is_too_big, best, most = most_on(usable)
        requested, text = amount_texts(resource, (amount, most), written)
        is_free, among = "" if is_too_big else " free", f"{len(usable):,} nodes it may use"
        if len(usable) == 1:
            there = f"the only node it may use, {best}, has {text if most else 'none'}{is_free}"
        elif not most:
            there = f"none of the {among} has any{is_free}"
        elif is_too_big:
            there = f"the largest of the {among} has {text}"
        else:
            there = f"the {among} have at most {text} free ({best})"
        there += self._as_nominated(usable[has_room[usable]])
        what = f"requests {resource} {requested}{self._overhead(resource, most)}; {there}"
        never, best, most = most_on(rows)
        requested, text = amount_texts(resource, (amount, most), written)
        has = f"{best} has {text}{'' if never else ' free'}"
        has += self._as_nominated(rows[has_room[rows]])
        beside = f"too little {resource} (requests {requested}, {has})"
        return Obstacle(
            Difficulty.TOO_BIG if is_too_big else Difficulty.RESOURCE, what, resource, beside
        )

    def _overhead(self, resource: str, most: int) -> str:
        """Return how much of a request is the pod's overhead, where it would fit without it. most:
        how much there is"""
        overhead = self._pod.spec.overhead.get(resource)
        if overhead is None:
            return ""
        amount = overhead.milli_value() if resource == "cpu" else overhead.value()
        if self._pod.resources.requests[resource] - amount > most:
            return ""
        (text,) = amount_texts(resource, (amount,))
        return f", {text} of it overhead of its RuntimeClass"

    def _open_rows(self) -> Rows:
        """Return the rows that only NodeResourcesFit rejects."""
        closed = np.zeros(len(self._snapshot), dtype=np.bool_)
        for answer in self._answers:
            if answer.plugin != "NodeResourcesFit":
                closed |= answer.verdicts.ids != 0
        return np.flatnonzero(~closed)

    def _requirements(self) -> tuple[Requirement, ...]:
        """Return the requirements on a node's labels in the pod's node selector and its required
        affinity, if that is one term."""
        required = required_node_affinity(self._pod.spec)
        terms: tuple[NodeTerm, ...] = required.affinity.terms if required.affinity else ()
        of_term = terms[0].labels if len(terms) == 1 else ()
        return (*required.labels.requirements, *of_term)

    def _absent_labels(self, rows: Rows) -> str:
        """Return the labels selected by the pod that none of the nodes has, together or each alone;
        or ""."""
        requirements = self._requirements()
        nodes = [self._snapshot.nodes[row].metadata.labels for row in rows.tolist()]
        nobody = "no node" if len(rows) == len(self._snapshot) else "no node there"
        absent = [r for r in requirements if not any(map(r.matches, nodes))]
        if not absent and any(all(r.matches(labels) for r in requirements) for labels in nodes):
            return ""
        if not requirements:
            return ""
        texts = [requirement_text(r) for r in absent or requirements]
        noun = "label" if len(texts) == 1 else "labels"
        near = "; ".join(filter(None, (near_label(each, nodes) for each in absent)))
        hint = f" ({near})" if near else ""
        return f"{nobody} has the {noun} {' and '.join(texts)}, which it selects{hint}"


def _of_reasons(plugin: str, status: Status, pod: PodInfo) -> Iterator[Obstacle]:
    for reason in status.reasons or ("",):
        for (name, begin), what in _OBSTACLES.items():
            if plugin == name and reason.startswith(begin):
                uses = claim_uses(pod.pod) if plugin.startswith("Volume") else ()
                claims = ", ".join(f"claim {pod.namespace}/{use.claim}" for use in uses)
                text = f"{what} ({claims})" if claims else what
                yield Obstacle(Difficulty.OTHER, text)
                break
        else:
            text = reason.removeprefix("node(s) ")
            yield Obstacle(Difficulty.OTHER, f"{plugin}: {text}" if plugin else text)


# -- pods that a run leaves pending, those of one owner and cause together ------------------------
#
# The reasons are those of the cluster at the end of the run, for one pod of each group: pods that
# look the same are evaluated once.


class PendingGroup(Part, frozen=True):
    """Pods of one owner that stay pending for the same cause.

    owner: Kind/name of the controller, of a Deployment where its ReplicaSet is; Pod/name of a pod
           that has none
    pods: in queue order
    message: of the first of them, from kube-scheduler
    undecided: a plugin's failure ended an attempt of one of them
    diagnosis: why they fit nowhere and what to do about it; null where nodes fit
    reasons: of the first of them, that of the node nearest to fitting first; empty where nodes fit,
             or the attempt broke
    """

    owner: str
    namespace: str
    pods: tuple[str, ...]
    message: str
    undecided: bool = False
    diagnosis: Diagnosis | None = None
    reasons: tuple[Reason, ...] = ()


class PendingSummary(Part, frozen=True):
    """Counts of pods, and of the cluster's nodes.

    gated, ignored: no attempt was made for them
    """

    pending: Count
    gated: Count
    ignored: Count
    nodes: Count


class PendingReport(StateAnswer, frozen=True, kw_only=True):
    """Why pods stay pending.

    groups: pods of one owner that stay pending for the same cause; those of the most pods first
    held: pods that no attempt is made for
    placed: pods that wait in the state and get a node
    absent: pods that a controller has not made
    """

    COMMAND: ClassVar = "explain --pending"
    VIEW: ClassVar = "pending:view"
    ROWS: ClassVar = "groups"

    kind: Literal["PendingReport"] = "PendingReport"
    groups: tuple[PendingGroup, ...]
    held: tuple[HeldPods, ...] = ()
    placed: tuple[PlacedPods, ...] = ()
    absent: tuple[AbsentPods, ...] = ()
    summary: PendingSummary

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.groups, any(group.undecided for group in self.groups))


def pending_report(
    simulation: Simulation, chosen: Container[str] | None = None, *, workloads: bool = True
) -> PendingReport:
    """Run the simulation, which must not have run before. chosen: the pods to report; None: all.
    workloads: see Hints"""
    record = simulation.run()
    run = record.about(chosen)
    summary = PendingSummary(
        len(run.pending), len(run.gated), len(run.ignored), len(simulation.snapshot)
    )
    hints = Hints(simulation, record, workloads=workloads)
    return PendingReport(
        groups=pending_groups(simulation, run, hints),
        held=held_pods(simulation, run),
        placed=placed_pods(simulation, run),
        absent=absent_pods(simulation.state) if chosen is None else (),
        summary=summary,
    )


def pending_groups(
    simulation: Simulation,
    run: RunRecord,
    hints: Hints | None = None,
    leaving: Collection[str] = (),
    *,
    only_causes: bool = False,
) -> tuple[PendingGroup, ...]:
    """Return the pods that the run has left pending: those of one owner that wait for one cause, or
    with one message if that is unknown. run: of the simulation; groups of the most pods first.
    hints: verifies what helps; None: the groups have only what might help, or with only_causes not
    even that; leaving: see diagnose"""
    pods = {pod.key: pod for pod in simulation.pending()}
    by_message: dict[tuple[str, str, str], list[PodInfo]] = {}
    for key in run.pending:
        pod = pods[key]
        wait = (pod.namespace, owner_of(pod.pod), run.last[key].why_not)
        by_message.setdefault(wait, []).append(pod)
    recorded = RecordedMessages(simulation.state)
    by_look: dict[object, tuple[tuple[Reason, ...], Diagnosis | None]] = {}
    groups: dict[tuple[str, str, str], PendingGroup] = {}
    for (namespace, name, message), members in by_message.items():
        first = members[0]
        # Pods of one look may have claims of their own.
        handle = simulation.frameworks[first.spec.scheduler_name].handle
        look = first.key if may_allocate_devices(first, handle) else first.signature
        if look not in by_look:
            # How an attempt to place the pod now would end.
            evaluation = simulation.evaluate(first, Mode.REASONS)
            why = () if evaluation.error else reasons(evaluation)
            by_look[look] = (
                why,
                diagnose(evaluation, simulation.state, leaving, only_cause=only_causes),
            )
        why, diagnosis = by_look[look]
        left = recorded.differing(first.pod, message)
        if diagnosis is not None:
            # What there is to say about the pod beside its nodes.
            notes, group_of = [*diagnosis.notes], group_key(first.pod)
            if simulation.pod_groups is not None and group_of is not None:
                notes += group_notes(simulation.pod_groups, group_of, simulation.state)
            notes += [left] if left else []
            diagnosis = replace(diagnosis, notes=tuple(notes))
        keys = tuple(pod.key for pod in members)
        undecided = any(key in simulation.scheduler.failed for key in keys)
        if undecided:
            diagnosis = None
        group = PendingGroup(name, namespace, keys, message, undecided, diagnosis, why)
        cause = (namespace, name, diagnosis.family if diagnosis else message)
        same = groups.get(cause)
        groups[cause] = group if same is None else replace(same, pods=same.pods + keys)
    largest = sorted(groups.values(), key=lambda group: -len(group.pods))
    answer = []
    for group in largest:
        diagnosis = group.diagnosis
        if diagnosis is not None and hints is None:
            diagnosis = unverified(diagnosis, simulation.state)
        elif diagnosis is not None and hints is not None:
            diagnosis = with_hints(diagnosis, hints, pods[group.pods[0]], group.pods)
        answer.append(replace(group, diagnosis=diagnosis))
    return tuple(answer)


def owner_path(pod: Pod) -> str:
    """Return namespace/Kind/name of what manages the pod."""
    return f"{pod.namespace}/{owner_of(pod)}"


class ExplainPending(Question[PendingReport], frozen=True, kw_only=True):
    """Explain why pods stay pending, in groups. shows: which pods"""

    READS: ClassVar = READS

    shows: PodChoice = PodChoice()

    def answer(self, opened: Opened) -> PendingReport:
        simulation = opened.simulation()
        chosen = opened.chosen(simulation, self.shows)
        return pending_report(simulation, chosen, workloads=opened.run.workloads)
