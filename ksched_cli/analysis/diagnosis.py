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
from enum import IntEnum
from typing import Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from msgspec.structs import replace

from ksched_cli.analysis.hints import SHOWN, Hint, Hints, remedy_text
from ksched_cli.analysis.question import Opened, PodChoice, Question
from ksched_cli.analysis.reasons import Reason, alike, independent_verdicts, reasons, untolerated
from ksched_cli.analysis.usage import CONDITIONS, CONTROL_PLANE
from ksched_cli.answers import HIDDEN, Count, Part, StateAnswer
from ksched_cli.cluster.node_affinity import NodeTerm, required_node_affinity
from ksched_cli.cluster.objects import PersistentVolumeClaim, Pod, Taint
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Rows, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.records import RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import ExitCode
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.resource_claims import may_allocate_devices
from ksched_cli.framework.status import Status
from ksched_cli.kube.quantity import amount_texts
from ksched_cli.kube.selectors import Requirement
from ksched_cli.plugins.controllers import owner_of_taint, taint_sentence
from ksched_cli.plugins.taint_toleration import CORDON, taint_text
from ksched_cli.plugins.volumes import claim_class, claim_uses
from ksched_cli.scenario.owned_pods import deployment_of

_MAX_LISTED = 3
_MAX_SIGNATURES = 64  # looked at to find the owners that hold the most


class RoomHolder(Part, frozen=True):
    """A workload that holds what is short on the nodes that the pod may use.

    owner: namespace/Kind/name, or words for pods without a controller
    pods: how many of its pods are there; priority: of the first of them
    amount: of the resource, in words; total: how much these nodes have
    """

    owner: str
    pods: Count
    priority: int
    resource: str
    amount: str
    total: str


class Diagnosis(Part, frozen=True):
    """Why a pod fits nowhere, and what to do about it.

    cause: what is in the way where the least is
    remedy: the hints, in words; empty where no single change helps
    nodes: those with the least in the way, which the cause is about
    shortage: the resources that are short, where nothing else is in the way
    hints: single changes that help, each verified by a run
    advice: who would have to act, or what might help; no run has verified it
    holders: who holds most of what is short, where nothing else is in the way
    proposals: of single changes, cheapest first, until they are verified
    """

    cause: str
    remedy: str = ""
    nodes: tuple[str, ...] = ()
    shortage: Annotated[str, HIDDEN] = ""
    hints: tuple[Hint, ...] = ()
    advice: str = ""
    holders: tuple[RoomHolder, ...] = ()
    proposals: Annotated[tuple[Proposal, ...], HIDDEN] = ()

    @property
    def family(self) -> str:
        """The same for pods that wait for one thing, however much of it each requests."""
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


class Obstacle(NamedTuple):
    """An obstacle that keeps a pod off nodes.

    what:  in words that follow "node-3 would take it but for"
    short: the resource that is short, or ""
    """

    difficulty: Difficulty
    what: str
    short: str = ""


# (plugin, beginning of its reason) → what is in the way.
_OBSTACLES = {
    ("InterPodAffinity", "node(s) didn't match pod anti-affinity"): "its own anti-affinity",
    ("InterPodAffinity", "node(s) didn't satisfy existing pods"): "the anti-affinity of pods there",
    ("InterPodAffinity", "node(s) didn't match pod affinity"): "its pod affinity",
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
    ("DynamicResources", ""): "its device claims, which cannot be allocated there",
    ("NodeName", ""): "its nodeName",
}
_NO_ROWS: Rows = np.arange(0)


def diagnose(evaluation: Evaluation, state: ClusterState) -> Diagnosis | None:
    """Diagnoses an evaluation in EXHAUSTIVE or REASONS mode; None where it broke or a node fits."""
    if evaluation.error or len(evaluation.feasible):
        return None
    if evaluation.pre_filter is not None:
        diagnosis = _of_claims(evaluation.pod, state) or Diagnosis(evaluation.pre_filter.message)
        return replace(diagnosis, proposals=_proposals(evaluation, _NO_ROWS))
    if not len(evaluation.statuses.snapshot):
        return Diagnosis("the cluster has no nodes", advice="might help: add nodes to the state")
    return _Nodes(evaluation).diagnosis()


def _proposals(evaluation: Evaluation, rows: Rows) -> tuple[Proposal, ...]:
    """Return what might help. rows: the nodes that it is to open to the pod"""
    # Brings all changes to a state along.
    from ksched_cli.analysis.proposals import single_changes

    return single_changes(evaluation, rows)


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
    """The first claim of the pod that is in its way."""
    for use in claim_uses(pod.pod):
        name = f"{pod.namespace}/{use.claim}"
        claim = state.persistent_volume_claims.get((pod.namespace, use.claim))
        if claim is None:
            return Diagnosis(
                f"there is no claim {name}",
                advice=f"the ephemeral volume controller makes {name}: see the pod's events"
                if use.ephemeral
                else f"might help: create PersistentVolumeClaim {name}, or correct its name",
            )
        if claim.metadata.deletion_timestamp:
            advice = "wait until it is gone, then create it anew"
            return Diagnosis(f"claim {name} is being deleted", advice=advice)
        if not claim.spec.volume_name:
            problem = _of_unbound(claim, state)
            if problem is not None:
                return problem
    return None


def _of_unbound(claim: PersistentVolumeClaim, state: ClusterState) -> Diagnosis | None:
    """Return why the claim is not bound; None where the claim may wait for the pod."""
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

    def __init__(self, evaluation: Evaluation) -> None:
        self._evaluation = evaluation
        self._pod = evaluation.pod
        self._snapshot: Snapshot = evaluation.statuses.snapshot
        self._answers = [a for a in independent_verdicts(evaluation) if a.verdicts.ids.any()]

    def diagnosis(self) -> Diagnosis:
        best: tuple[tuple[int, int, int, int], Sequence[Obstacle], Rows] | None = None
        for rows in self._alike():
            obstacles = sorted(set(self._obstacles(int(rows[0]), rows)))
            worst = max((o.difficulty for o in obstacles), default=Difficulty.OTHER)
            rank = (worst >= Difficulty.LABEL, len(obstacles), worst, -len(rows))
            if best is None or rank < best[0]:
                best = rank, obstacles, rows
        assert best is not None
        _, least, nearest = best
        nodes = tuple(self._snapshot.names[row] for row in nearest.tolist())
        shortages = [f"{o.difficulty.name} {o.short}" for o in least if o.short]
        is_all = len(shortages) == len(least)
        return Diagnosis(
            self._cause(least, nodes),
            nodes=nodes,
            shortage=", ".join(shortages) if is_all else "",
            advice="; ".join(dict.fromkeys(self._leaving(nearest))),
            holders=self._holders(least),
            proposals=_proposals(self._evaluation, nearest),
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
        for row in rows.tolist():
            for pod in self._snapshot.pods[row]:
                counts[pod.signature] += 1
                pods[pod.signature] = pod
        amounts = {
            each: pods[each].resources.requests.get(resource, 0) * n for each, n in counts.items()
        }
        by_owner: dict[str, list[int]] = {}
        for signature in sorted(amounts, key=lambda each: -amounts[each])[:_MAX_SIGNATURES]:
            pod = pods[signature].pod
            owner = owner_path(pod) if pod.owner[0] else f"{pod.namespace}/pods without controller"
            by_owner.setdefault(owner, []).append(signature)
        holders = []
        total = int(self._snapshot.allocatable(resource)[rows].sum())
        for owner, signatures in by_owner.items():
            amount = sum(amounts[each] for each in signatures)
            count = sum(counts[each] for each in signatures)
            texts = amount_texts(resource, (amount, total))
            holders.append(
                (amount, RoomHolder(owner, count, pods[signatures[0]].priority, resource, *texts))
            )
        largest = sorted(holders, key=lambda each: -each[0])[:_MAX_LISTED]
        return tuple(holder for amount, holder in largest if amount)

    def _leaving(self, rows: Rows) -> Iterator[str]:
        """Yield who takes the nodes away, by taints."""
        for row in rows[:_MAX_LISTED].tolist():
            for taint in untolerated(self._evaluation, row):
                owner = owner_of_taint(taint.key)
                if owner is not None and owner.leaves:
                    yield taint_sentence(owner, taint_text(taint), self._snapshot.names[row])

    def _cause(self, obstacles: Sequence[Obstacle], nodes: Sequence[str]) -> str:
        if len(obstacles) == 1 and obstacles[0].difficulty in (
            Difficulty.RESOURCE,
            Difficulty.TOO_BIG,
        ):
            return obstacles[0].what
        if any(obstacle.difficulty is Difficulty.LABEL for obstacle in obstacles):
            missing = self._absent_labels()
            if missing:
                return missing
        what = " and ".join(obstacle.what for obstacle in obstacles)
        return f"{_named(nodes)} would take it but for {what}"

    def _alike(self) -> Iterator[Rows]:
        """Group the rows of which every plugin says the same, about the same taints."""
        columns = [answer.verdicts.ids for answer in self._answers]
        if any(answer.plugin == "TaintToleration" for answer in self._answers):
            columns.append(self._snapshot.taint_sets[0])
        if not columns:
            yield np.arange(len(self._snapshot))
            return
        classes = alike(columns)
        order = np.argsort(classes, kind="stable")
        yield from np.split(order, np.flatnonzero(np.diff(classes[order])) + 1)

    def _obstacles(self, row: int, rows: Rows) -> Iterator[Obstacle]:
        """The obstacles on the row, which represents all the rows."""
        for answer in self._answers:
            status = answer.verdicts.statuses[answer.verdicts.ids[row]]
            if not answer.verdicts.ids[row]:
                continue
            if answer.plugin == "NodeUnschedulable":
                yield self._of_cordon(rows)
            elif answer.plugin == "TaintToleration":
                for taint in untolerated(self._evaluation, row):
                    is_cordon = taint.key == CORDON.key
                    yield self._of_cordon(rows) if is_cordon else _of_taint(taint)
            elif answer.plugin == "NodeResourcesFit":
                yield from self._of_resources(status)
            elif answer.plugin == "NodeAffinity":
                yield self._of_labels(row)
            else:
                yield from _of_others(answer.plugin, status, self._pod)

    def _of_cordon(self, rows: Rows) -> Obstacle:
        return Obstacle(Difficulty.CORDON, "the cordon" if len(rows) == 1 else "their cordons")

    def _of_resources(self, status: Status) -> Iterator[Obstacle]:
        """One obstacle per resource that is short, with the most that is free on the nodes that
        nothing else keeps the pod from."""
        rows = self._open_rows()
        for reason in status.reasons:
            resource = reason.removeprefix("Insufficient ")
            if resource not in self._pod.resources.requests:
                yield Obstacle(
                    Difficulty.RESOURCE,
                    f"{_nodes(len(rows))} it may use: no room for one more pod (pods)",
                )
                continue
            yield self._of_resource(resource, rows)

    def _of_resource(self, resource: str, rows: Rows) -> Obstacle:
        """rows: the nodes that it may use"""
        amount = self._pod.resources.requests[resource]
        allocatable = self._snapshot.allocatable(resource)[rows]
        free = allocatable - self._snapshot.requested(resource)[rows]
        is_too_big = amount > allocatable.max()
        amounts = allocatable if is_too_big else free
        best, most = self._snapshot.names[rows[int(amounts.argmax())]], int(amounts.max())
        requested, text = amount_texts(resource, (amount, most))
        there = f"the only node it may use, {best}, has {text}"
        if len(rows) > 1:
            there = f"of the {len(rows):,} nodes it may use none has more than {text}"
        difficulty = Difficulty.TOO_BIG if is_too_big else Difficulty.RESOURCE
        what = f"it requests {requested} of {resource}, and {there}"
        if is_too_big:
            return Obstacle(difficulty, what, resource)
        where = f" ({best})" if len(rows) > 1 else ""
        return Obstacle(difficulty, f"{what} free{where}", resource)

    def _open_rows(self) -> Rows:
        """Return the rows that only NodeResourcesFit rejects; all rows if there are none."""
        closed = np.zeros(len(self._snapshot), dtype=np.bool_)
        for answer in self._answers:
            if answer.plugin != "NodeResourcesFit":
                closed |= answer.verdicts.ids != 0
        rows: Rows = np.flatnonzero(~closed)
        return rows if len(rows) else np.arange(len(self._snapshot))

    def _of_labels(self, row: int) -> Obstacle:
        labels = self._snapshot.nodes[row].metadata.labels
        unmet = [r for r in self._requirements() if not r.matches(labels)]
        text = " and ".join(map(_requirement_text, unmet)) or "its node affinity"
        return Obstacle(
            Difficulty.LABEL,
            text if not unmet else f"the label{'s' if len(unmet) > 1 else ''} {text}",
        )

    def _requirements(self) -> tuple[Requirement, ...]:
        """Return the requirements on a node's labels in the pod's node selector and its required
        affinity, if that is one term."""
        required = required_node_affinity(self._pod.spec)
        terms: tuple[NodeTerm, ...] = required.affinity.terms if required.affinity else ()
        of_term = terms[0].labels if len(terms) == 1 else ()
        return (*required.labels.requirements, *of_term)

    def _absent_labels(self) -> str:
        """Return the labels selected by the pod that no node has, together or each alone; or ""."""
        requirements = self._requirements()
        nodes = [node.metadata.labels for node in self._snapshot.nodes]
        absent = [r for r in requirements if not any(map(r.matches, nodes))]
        if not absent and any(all(r.matches(labels) for r in requirements) for labels in nodes):
            return ""
        if not requirements:
            return ""
        texts = [_requirement_text(r) for r in absent or requirements]
        noun = "label" if len(texts) == 1 else "labels"
        return f"no node has the {noun} {' and '.join(texts)}, which it selects"


def _of_taint(taint: Taint) -> Obstacle:
    text = taint_text(taint)
    if taint.key.startswith(CONDITIONS):
        condition = taint.key.removeprefix(CONDITIONS)
        return Obstacle(Difficulty.CONDITION, f"being {condition}")
    difficulty = Difficulty.CONTROL_PLANE if taint.key in CONTROL_PLANE else Difficulty.TAINT
    return Obstacle(difficulty, f"the taint {text}")


def _of_others(plugin: str, status: Status, pod: PodInfo) -> Iterator[Obstacle]:
    for reason in status.reasons or ("",):
        for (name, begin), what in _OBSTACLES.items():
            if plugin == name and reason.startswith(begin):
                subjects = ", ".join(_subjects(plugin, begin, pod))
                text = f"{what} ({subjects})" if subjects else what
                yield Obstacle(Difficulty.OTHER, text)
                break
        else:
            text = reason.removeprefix("node(s) ")
            yield Obstacle(Difficulty.OTHER, f"{plugin}: {text}" if plugin else text)


def _subjects(plugin: str, begin: str, pod: PodInfo) -> list[str]:
    """Return the part of the pod that the plugin's reason is about."""
    if plugin.startswith("Volume"):
        return [f"claim {pod.namespace}/{use.claim}" for use in claim_uses(pod.pod)]
    if plugin == "PodTopologySpread":
        return [f"over {c.topology_key}" for c in pod.spec.topology_spread_constraints]
    affinity = pod.spec.affinity
    if affinity is not None and affinity.pod_anti_affinity and begin.endswith("pod anti-affinity"):
        terms = affinity.pod_anti_affinity.required_during_scheduling_ignored_during_execution
        return [f"one per {term.topology_key}" for term in terms]
    if affinity is not None and affinity.pod_affinity and begin.endswith("pod affinity"):
        terms = affinity.pod_affinity.required_during_scheduling_ignored_during_execution
        return [f"by {term.topology_key}" for term in terms]
    return []


def _requirement_text(requirement: Requirement) -> str:
    """Return the requirement as kubectl writes it in a selector."""
    key, values = requirement.key, requirement.values
    if requirement.operator in ("In", "=") and len(values) == 1:
        return f"{key}={values[0]}"
    if requirement.operator == "In":
        return f"{key} in ({', '.join(values)})"
    if requirement.operator == "NotIn":
        return f"{key} not in ({', '.join(values)})"
    signs = {"DoesNotExist": f"!{key}", "Gt": f"{key}>{values[0] if values else ''}"}
    signs |= {"Lt": f"{key}<{values[0] if values else ''}"}
    return signs.get(requirement.operator, key)


def _named(nodes: Sequence[str]) -> str:
    if len(nodes) <= _MAX_LISTED:
        return ", ".join(nodes)
    return f"{len(nodes):,} nodes ({', '.join(nodes[: _MAX_LISTED - 1])}, …)"


def _nodes(count: int) -> str:
    return "1 node" if count == 1 else f"{count:,} nodes"


# -- pods that a run leaves pending, those of one owner and cause together ------------------------
#
# The reasons are those of the cluster at the end of the run, for one pod of each group: pods that
# look the same are evaluated once.

# The kind of owner of a pod without a controller.
POD = "Pod"


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
    """

    COMMAND: ClassVar = "explain --pending"
    ROWS: ClassVar = "groups"

    kind: Literal["PendingReport"] = "PendingReport"
    groups: tuple[PendingGroup, ...]
    summary: PendingSummary

    @property
    def exit_code(self) -> ExitCode:
        return ExitCode.of(not self.groups, any(group.undecided for group in self.groups))


def pending_report(
    simulation: Simulation, chosen: Container[str] | None = None, *, workloads: bool = True
) -> PendingReport:
    """Runs the simulation, which must not have run before. chosen: the pods to report; None: all.
    workloads: see Hints"""
    record = simulation.run()
    run = record.about(chosen)
    summary = PendingSummary(
        len(run.pending), len(run.gated), len(run.ignored), len(simulation.snapshot)
    )
    hints = Hints(simulation, record, workloads=workloads)
    return PendingReport(groups=pending_groups(simulation, run, hints), summary=summary)


def pending_groups(
    simulation: Simulation, run: RunRecord, hints: Hints | None = None
) -> tuple[PendingGroup, ...]:
    """Return the pods that the run has left pending: those of one owner that wait for one cause, or
    with one message if that is unknown. run: of the simulation; groups of the most pods first.
    hints: verifies what helps; None: the groups have only what might help"""
    pods = {pod.key: pod for pod in simulation.pending()}
    by_message: dict[tuple[str, str, str], list[PodInfo]] = {}
    for key in run.pending:
        pod = pods[key]
        group_key = (pod.namespace, owner_of(pod.pod), run.last[key].why_not)
        by_message.setdefault(group_key, []).append(pod)
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
            by_look[look] = why, diagnose(evaluation, simulation.state)
        why, diagnosis = by_look[look]
        keys = tuple(pod.key for pod in members)
        undecided = any(key in simulation.scheduler.failed for key in keys)
        if undecided:
            diagnosis = None
        group = PendingGroup(name, namespace, keys, message, undecided, diagnosis, why)
        cause = (namespace, name, diagnosis.family if diagnosis else message)
        same = groups.get(cause)
        groups[cause] = group if same is None else replace(same, pods=same.pods + keys)
    largest = sorted(groups.values(), key=lambda group: -len(group.pods))
    return tuple(
        replace(group, diagnosis=_with_hints(group, pods[group.pods[0]], simulation, hints))
        for group in largest
    )


def _with_hints(
    group: PendingGroup, first: PodInfo, simulation: Simulation, hints: Hints | None
) -> Diagnosis | None:
    """Return the group's diagnosis with what helps its pods."""
    diagnosis = group.diagnosis
    if diagnosis is None:
        return None
    if hints is None:
        return unverified(diagnosis, simulation.state)
    return with_hints(diagnosis, hints, first, group.pods)


def owner_of(pod: Pod) -> str:
    """Return Kind/name of what manages the pod."""
    kind, name = pod.owner
    if deployment := deployment_of(pod):
        return f"Deployment/{deployment}"
    return f"{kind}/{name}" if kind else f"{POD}/{pod.name}"


def owner_path(pod: Pod) -> str:
    """Return namespace/Kind/name of what manages the pod."""
    return f"{pod.namespace}/{owner_of(pod)}"


class ExplainPending(Question[PendingReport], frozen=True, kw_only=True):
    """Explain why pods stay pending, in groups. shows: which pods"""

    shows: PodChoice = PodChoice()

    def answer(self, opened: Opened) -> PendingReport:
        simulation = opened.simulation()
        chosen = opened.chosen(simulation, self.shows)
        return pending_report(simulation, chosen, workloads=opened.run.workloads)
