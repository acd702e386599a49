"""Changes that might give a pod a node: sets of proposals of the plugins that reject it, one of
each plugin that rejects a node, and changes that help whatever they say: another node, a higher
priority, fewer replicas of a neighbour. They are written as lines that --change takes, as commands
of kubectl, and as patches.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import replace
from itertools import combinations, product
from typing import TYPE_CHECKING, Any

import numpy as np
from msgspec import Struct

from ksched_cli.analysis.reasons import (
    alike,
    distances,
    independent_verdicts,
    reason_masks,
    untolerated_of,
)
from ksched_cli.analysis.usage import CONTROL_PLANE
from ksched_cli.answers import Count, Effect, Part
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.node_affinity import allowed_topologies, node_terms
from ksched_cli.cluster.objects import HOSTNAME_LABEL, Pod
from ksched_cli.cluster.resources import CPU, MEMORY
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.engine.pipeline import OUTSIDE_PLACEMENT
from ksched_cli.framework.interface import Proposal, Proposes
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.results import Mask
from ksched_cli.kube.near_names import nearest
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.quantity import Quantity, exact_text, whole_unit
from ksched_cli.kube.selectors import EXISTS, GT, IN, LT
from ksched_cli.plugins.controllers import owner_of_taint
from ksched_cli.plugins.lower_requests import container_patch
from ksched_cli.plugins.volumes import claim_class, used_claims
from ksched_cli.scenario.objects import objects_of, plain_object
from ksched_cli.scenario.owned_pods import WORKLOADS, OwnedPods, deployment_of
from ksched_cli.scenario.scale import WITH_TEMPLATE

if TYPE_CHECKING:
    from ksched_cli.cluster.change_record import ChangeRecord
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.snapshot import Rows, Snapshot
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.framework.runtime import Framework
    from ksched_cli.framework.status import Status

_DEFAULT_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# The fields of a pending pod that may change; tolerations may be added.
_MUTABLE = {"tolerations", "schedulingGates"}
# The lists of a pod's spec whose items are patched by name.
_BY_NAME = ("containers", "initContainers")
# Most of their spec cannot be changed.
_REPLACED = ("pod", "job", "pvc", "resourceclaim")
# A Job's selector and its template's labels have the Job's uid: one that replaces it gets its own.
# Upstream: pkg/registry/batch/job/strategy.go (generateSelector), and validateGeneratedSelector.
_NO_UID = dict.fromkeys(("controller-uid", "batch.kubernetes.io/controller-uid"))
_WITHOUT_UID = {
    "spec": {
        "selector": {"matchLabels": _NO_UID},
        "template": {"metadata": {"labels": _NO_UID}},
    }
}


class ChangedObject(Struct, frozen=True):
    """The object whose change changes a pod: itself, or the workload whose template it is made
    from.

    kind: "Pod" for a pod without a controller, or one whose controller the state does not have
    stuck: names of its waiting pods, where its controller does not replace them by a new template
    maker: Kind/name of what manages the workload, such as an operator's object, and sets it anew
    """

    kind: str
    namespace: str
    name: str
    stuck: tuple[str, ...] = ()
    maker: str = ""

    @property
    def text(self) -> str:
        return f"{self.kind.lower()}/{self.name}"

    @property
    def where(self) -> str:
        """Return where the change has to be made instead, in brackets after its text; or ""."""
        return f" (in {self.maker}, which makes {self.text})" if self.maker else ""

    def patch(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        """Return a patch of the pod as one of this object."""
        return dict(patch) if self.kind == "Pod" else {"spec": {"template": dict(patch)}}


def subject_of(pod: Pod, state: ClusterState) -> ChangedObject:
    """Return the object whose change changes the pod."""
    for kind, name in (("Deployment", deployment_of(pod)), pod.owner):
        if not name or kind not in WORKLOADS:
            continue
        workload: Any = objects_of(state, KINDS[kind]).get((pod.namespace, name))
        if workload is not None:
            stuck: tuple[str, ...] = ()
            # These keep pods that wait as they are when the template changes. Upstream:
            # updateStatefulSet, which waits with policy OrderedReady while a pod is not available.
            on_delete = (
                kind in ("StatefulSet", "DaemonSet")
                and workload.spec.update_strategy.type == "OnDelete"
            )
            in_order = kind == "StatefulSet" and workload.spec.pod_management_policy != "Parallel"
            if kind in ("ReplicaSet", "ReplicationController") or on_delete or in_order:
                own = OwnedPods.of(state.pods).active.get((pod.namespace, kind, name), ())
                waiting = [each for each in own if not each.node_name]
                # Those that ksched has made for the workload are not there in the cluster.
                existing = [each for each in waiting if each.uid not in ("", each.key)]
                stuck = tuple(sorted(each.name for each in existing or waiting))
            owner = workload.metadata.controller
            maker = f"{owner.kind}/{owner.name}" if owner is not None else ""
            return ChangedObject(kind, pod.namespace, name, stuck, maker)
    return ChangedObject("Pod", pod.namespace, pod.name)


def subjects_of(pod: Pod, pods: Set[str], state: ClusterState) -> tuple[ChangedObject, ...]:
    """Return the object whose change changes the pod, and with it all pods of the same template
    that wait. pods: those asked about"""
    subject = subject_of(pod, state)
    if subject.kind != "Pod" or len(pods) == 1:
        return (subject,)
    own = [each for each in state.pods if each.key in pods and not each.node_name]
    # Pods of one template share their spec.
    spec = next((each.spec for each in own if each.key == pod.key), None)
    alike = [ChangedObject("Pod", each.namespace, each.name) for each in own if each.spec is spec]
    return tuple(alike) or (subject,)


class Step(Struct, frozen=True):
    """A proposal, and what is changed where it changes pods."""

    proposal: Proposal
    subjects: tuple[ChangedObject, ...]

    @property
    def note(self) -> str:
        """What there is to do besides, in words that follow those of the proposal; or ""."""
        if not (self.proposal.patch or self.proposal.requests):
            return ""
        names = [name for subject in self.subjects for name in subject.stuck]
        if not names:
            return ""
        pods = names[0] if len(names) == 1 else f"its {len(names):,} waiting pods"
        return f", and delete {pods}, which nothing else replaces"


def change_lines(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the lines for --change: nodes and other objects first, then the pods, then who
    leaves."""
    lines = [line for step in steps for line in step.proposal.changes]
    for subject, proposals in _by_subject(steps):
        patch: dict[str, Any] = {}
        for proposal in proposals:
            patch = combined(patch, proposal.patch)
            if proposal.requests and subject.kind not in WITH_TEMPLATE:
                patch = combined(patch, _requesting(proposal.requests))
            elif proposal.requests:
                for container, amounts in proposal.requests.items():
                    line = f"set resources {subject.text} -n {subject.namespace} -c {container}"
                    line += f" --requests={_pairs(amounts)}"
                    limits = container_patch(container, amounts)["resources"].get("limits")
                    lines.append(line + (f" --limits={_pairs(limits)}" if limits else ""))
        if patch:
            text = json.dumps(subject.patch(_of_template(patch, subject)), separators=(",", ":"))
            lines.append(f"patch {subject.text} -n {subject.namespace} -p {shlex.quote(text)}")
        if subject.stuck and any(each.patch or each.requests for each in proposals):
            # Its controller makes them anew from the new template.
            lines.append(f"delete pods {' '.join(subject.stuck)} -n {subject.namespace}")
    evicted = sorted({key for step in steps for key in step.proposal.evicts})
    for namespace in dict.fromkeys(key.partition("/")[0] for key in evicted):
        names = [
            name for space, _, name in (key.partition("/") for key in evicted) if space == namespace
        ]
        lines.append(f"delete pods {' '.join(names)} -n {namespace}")
    return tuple(dict.fromkeys(lines))


def _by_subject(steps: Iterable[Step]) -> Iterator[tuple[ChangedObject, list[Proposal]]]:
    proposals: dict[ChangedObject, list[Proposal]] = {}
    for step in steps:
        for subject in step.subjects:
            proposals.setdefault(subject, []).append(step.proposal)
    return iter(proposals.items())


def manifest_patches(steps: Sequence[Step]) -> tuple[Any, ...]:
    """Return the patches of the pods' manifests, as kustomize takes them; none where pods stay as
    they are."""
    patches = []
    for subject, proposals in _by_subject(steps):
        patch: dict[str, Any] = {}
        for proposal in proposals:
            patch = combined(patch, proposal.patch)
            patch = combined(patch, _requesting(proposal.requests))
        if patch:
            identity = {
                "apiVersion": f"{KINDS[subject.kind].group}/v1".removeprefix("/"),
                "kind": subject.kind,
                "metadata": {"name": subject.name, "namespace": subject.namespace},
            }
            patches.append(combined(identity, subject.patch(_of_template(patch, subject))))
    return tuple(patches)


def _requesting(requests: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a patch of the containers' requests, and of the limits that must equal them."""
    containers = [container_patch(*each) for each in requests.items()]
    return {"spec": {"containers": containers}} if containers else {}


def _pairs(amounts: Mapping[str, str]) -> str:
    return ",".join(f"{name}={text}" for name, text in amounts.items())


def _of_template(patch: Mapping[str, Any], subject: ChangedObject) -> dict[str, Any]:
    """Return a pod's tolerations, in a template without those that the API server adds to every
    pod."""
    spec = patch.get("spec") or {}
    if subject.kind == "Pod" or "tolerations" not in spec:
        return dict(patch)
    own = [
        each
        for each in spec["tolerations"]
        if each.get("key") not in _DEFAULT_TOLERATED or each.get("tolerationSeconds") is None
    ]
    return {**patch, "spec": {**spec, "tolerations": own}}


def combined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Combine both patches: the second one wins where both set one field."""
    both = dict(first)
    for key, value in second.items():
        own = both.get(key)
        if isinstance(own, dict) and isinstance(value, dict):
            both[key] = combined(own, value)
        elif isinstance(own, list) and isinstance(value, list) and key in _BY_NAME:
            # Patches of containers, those of one name in one.
            by_name = {item["name"]: item for item in own}
            for item in value:
                by_name[item["name"]] = combined(by_name.get(item["name"], {}), item)
            both[key] = [*by_name.values()]
        else:
            both[key] = value
    return both


def kubectl_command(line: str) -> str:
    """Return the kubectl command that does the same to a cluster; "" where there is none."""
    tokens = shlex.split(line)
    verb, target = tokens[0], tokens[1]
    # A controller removes its taint itself.
    is_owned = any(owner_of_taint(re.split("[=:]", word)[0]) for word in tokens[2:])
    if verb == "add-nodes" or (verb == "taint" and is_owned):
        return ""
    if verb == "apply" and "-f" in tokens:
        return f"echo {shlex.quote(tokens[tokens.index('-f') + 1])} | kubectl apply -f -"
    kind, _, name = target.partition("/")
    # The API server accepts few patches for an existing object of these kinds.
    is_replaced = False
    data: Any = None
    if verb == "patch" and kind in _REPLACED:
        data = json.loads(tokens[tokens.index("-p") + 1])
        mutable = _MUTABLE if kind == "pod" else set()
        is_replaced = isinstance(data, list) or not set(data.get("spec") or {}) <= mutable
    if is_replaced:
        namespace = f" -n {tokens[tokens.index('-n') + 1]}" if "-n" in tokens else ""
        data = combined(data, _WITHOUT_UID) if kind == "job" else data
        patch = shlex.quote(json.dumps(data, separators=(",", ":")))
        form = " --type=json" if "--type=json" in tokens else ""
        return (
            f"kubectl get {kind} {name}{namespace} -o yaml"
            f" | kubectl patch --local -f - -o yaml{form} -p {patch} | kubectl replace --force -f -"
        )
    return f"kubectl {line}"


# -- changes that the question has made -----------------------------------------------------------

_CORDONING = ("cordon", "uncordon", "drain")
_LIFE = ("fail", "recover")


def fields_set(changes: Iterable[ChangeRecord]) -> frozenset[tuple[str, str]]:
    """Return what the changes set, see `undoes`."""
    return frozenset(
        each for change in changes for each in _fields_set(change.text, change.effects)
    )


def undoes(lines: Iterable[str], fields: Set[tuple[str, str]]) -> bool:
    """Return whether one of the lines sets anew what changes have set. fields: of these changes"""
    return bool(fields) and any(fields & _fields_set(line) for line in lines)


def _fields_set(line: str, effects: Sequence[Effect] = ()) -> set[tuple[str, str]]:
    """Return what a change sets, as pairs of an object's name and a field, a taint or a label of
    it. effects: name the objects that the change selects"""
    try:
        verb, *tokens = shlex.split(line)
    except ValueError:
        return set()
    patch = tokens[tokens.index("-p") + 1] if verb == "patch" and "-p" in tokens else "{}"
    names = [token.rpartition("/")[2] for token in tokens if not token.startswith("-")]
    names += [effect.subject.rpartition("/")[2] for effect in effects]
    fields: Iterable[str] = ()
    if verb in _CORDONING:
        fields = ("unschedulable",)
    elif verb in _LIFE:
        fields = (f"taint node.kubernetes.io/{key}" for key in ("not-ready", "unreachable"))
    elif verb in ("taint", "label"):
        keys = (re.split("[=:]", token.removesuffix("-"))[0] for token in tokens[1:])
        fields = (f"{verb} {key}" for key in keys)
    elif verb == "scale":
        fields = ("replicas",)
    elif verb == "set":
        fields = ("resources",)
    elif verb == "patch":
        try:
            fields = _leaves(json.loads(patch))
        except ValueError:
            return set()
    fields = [*fields]
    return {(name, each) for name in names for each in fields}


def _leaves(patch: Any) -> Iterator[str]:
    """Yield the names of the fields of a pod's spec, or of another object's, that a patch sets."""
    for key, value in patch.items() if isinstance(patch, dict) else ():
        if key in ("spec", "template", "metadata"):
            yield from _leaves(value)
        elif key in _BY_NAME and isinstance(value, list):
            yield from {field for each in value for field in each if field != "name"}
        else:
            yield key


# -- candidates -----------------------------------------------------------------------------------

# What a change of each kind costs, in points; docs/fix.md explains them. Data, to be argued about.
# First what changes nobody's manifest and disturbs nobody, then what a pod's owner can do to the
# pod, then changes of nodes, then other people's pods.
COSTS: Mapping[str, float] = {
    "gate": 1,
    "uncordon": 2,
    "object": 3,
    "condition": 4,
    "class": 5,
    "scheduler": 5,
    "rollout": 5,
    "restart": 5,
    "placement": 5,
    "toleration": 5,
    "port": 5,
    "selector": 6,
    "spread": 6,
    "claim": 6,
    "request": 7,
    "gang": 7,
    "affinity": 8,
    "priority": 10,
    "untaint": 11,
    "label": 12,
    "relabel": 13,
    "node": 14,
    "move": 16,
    "evict": 17,
    "scale": 18,
}
DEFAULT_COST = 8  # of a plugin's own kind
TOGETHER_COST = 8  # of each proposal after the first
CONTROL_PLANE_COST = 10  # more, to run where the control plane does
# Between two changes of a kind, the smaller is tried first.
AMOUNT_COST: Mapping[str, float] = {"request": 8, "spread": 0.01, "node": 4}
DEFAULT_AMOUNT_COST = 1.0

MAX_TOGETHER = 4  # proposals to which others are added
MAX_OF_NODE = 8  # plugins that reject a node, where a change for each of them is tried
FREELY_COMBINED = 3  # of so many, all proposals with all; of more, the cheapest of each
MAX_NODES = 64  # nearest of those that are rejected alike, which plugins are asked about
MAX_NODES_OF_SINGLE = 8  # the same, where no run is made
# How many nodes are added at once; so many as the latter for several pods alone.
NODE_COUNTS, MANY_NODE_COUNTS = (1, 2, 3, 4), (8, 16, 32)
MAX_MODELS = 4  # shapes of nodes of which one more is added
MAX_CLASSES = 3  # priority classes that are tried
_SCALABLE = ("Deployment", "ReplicaSet", "StatefulSet")
# What rejects a node whose size does not matter.
_LASTING = (
    "NodeName", OUTSIDE_PLACEMENT.plugin,
)  # fmt: skip
# What rejects a node for its labels.
_BY_LABELS = ("NodeAffinity", "VolumeZone", "VolumeBinding")
LARGEST = 4  # times the largest node that there is


# The plugin and the reason of nodes outside of the domain that a group is tried in.
OUTSIDE = (OUTSIDE_PLACEMENT.plugin, OUTSIDE_PLACEMENT.message)


class ConflictingReason(Part, frozen=True):
    """A reason that stands against nodes.

    nodes: how many
    """

    plugin: str
    reason: str
    nodes: Count


def _adds_nodes(line: str) -> bool:
    return line.startswith("add-nodes ")


class Candidate(Struct, frozen=True):
    """Proposals to make together.

    because: the reasons that they lift, where a node has these
    subjects: of each proposal, what is changed where it changes pods
    nodes_last: nodes are added after all else
    """

    proposals: tuple[Proposal, ...]
    because: tuple[str, ...] = ()
    subjects: tuple[tuple[ChangedObject, ...], ...] = ()
    nodes_last: bool = False

    @property
    def lines(self) -> tuple[str, ...]:
        """Return the lines for --change."""
        lines = change_lines(self.steps)
        return tuple(sorted(lines, key=_adds_nodes)) if self.nodes_last else lines

    def with_nodes_last(self) -> Candidate | None:
        """Return the candidate that adds its nodes after all else; None if it adds none, or does
        so already."""
        lines = self.lines
        if self.nodes_last or len({_adds_nodes(line) for line in lines}) == 1:
            return None
        steps = sorted(self.steps, key=lambda step: any(map(_adds_nodes, step.proposal.changes)))
        proposals, subjects = zip(*((step.proposal, step.subjects) for step in steps), strict=True)
        return Candidate(proposals, self.because, subjects, nodes_last=True)

    @property
    def steps(self) -> tuple[Step, ...]:
        """Return each proposal with what is changed."""
        return tuple(map(Step, self.proposals, self.subjects))

    def about(self, subjects: tuple[ChangedObject, ...]) -> Candidate:
        """Return the same about the pods that these make."""
        return Candidate(self.proposals, self.because, (subjects,) * len(self.proposals))

    @property
    def kinds(self) -> tuple[str, ...]:
        return tuple(sorted({proposal.kind for proposal in self.proposals}))

    @property
    def text(self) -> str:
        return ", and ".join(proposal.text for proposal in self.proposals)

    def patches(self, subject: ChangedObject) -> bool:
        """Return whether it patches the object."""
        return any(
            subject in step.subjects and (step.proposal.patch or step.proposal.requests)
            for step in self.steps
        )

    @property
    def evicts(self) -> frozenset[str]:
        """Return the keys of the pods that leave their nodes."""
        return frozenset(key for proposal in self.proposals for key in proposal.evicts)

    def cost(self, preferred: Set[str]) -> float:
        """Return the cost in points, before its other effects are known. Preferred kinds cost a
        tenth."""
        costs = (
            cost_of(proposal) / (10 if proposal.kind in preferred else 1)
            for proposal in self.proposals
        )
        return sum(costs) + TOGETHER_COST * (len(self.proposals) - 1)

    def extended(self, more: Candidate, *, of_several: bool) -> Candidate | None:
        """Combine both. A later proposal is added to one of the same kind about the same pods, and
        replaces one that sets the same field of another object; None if it contradicts it.
        of_several: pods are to have a node; else a later proposal replaces any of its kind"""
        steps = [*self.steps]
        for step in more.steps:
            same = [each for each in steps if _sets_same(each, step, of_several)]
            proposal: Proposal | None = step.proposal
            for earlier in same:
                steps.remove(earlier)
                if proposal is not None and not proposal.changes:
                    proposal = _joined(earlier.proposal, proposal)
            if proposal is None:
                return None
            steps.append(Step(proposal, step.subjects))
        return Candidate(
            tuple(step.proposal for step in steps),
            tuple(dict.fromkeys((*self.because, *more.because))),
            tuple(step.subjects for step in steps),
        )

    def with_nodes(self, count: int, fewer: int) -> Candidate:
        """Return the candidate with fewer nodes added than `count`."""
        (proposal,) = self.proposals
        (line,) = proposal.changes
        line = line.replace(f"--count {count}", f"--count {fewer}")
        text = proposal.text.replace(_nodes(count), _nodes(fewer))
        changed = replace(proposal, text=text, changes=(line,))
        return Candidate((changed,), self.because, self.subjects)


def _sets_same(earlier: Step, later: Step, of_several: bool) -> bool:
    """Return whether of two steps one value lasts; each eviction does."""
    kind = earlier.proposal.kind
    if kind != later.proposal.kind or kind == "evict":
        return False
    lines, others = earlier.proposal.changes, later.proposal.changes
    if not lines and not others:
        return earlier.subjects == later.subjects
    if not lines or not others or not of_several:
        return True
    return _target(lines[0]) == _target(others[0])


def _target(line: str) -> str:
    """Return the object that a line changes."""
    _, target, *rest = line.split()
    return target if target != "nodes" else rest[0]


# Kinds of which a second change is made besides the first.
_ADDED = ("toleration", "affinity", "selector")


def _joined(earlier: Proposal, later: Proposal) -> Proposal | None:
    """Return both changes of the same pods as one; None if they set one field to two values.
    later: was proposed for pods that are as the earlier one says"""
    patch = combined(earlier.patch, later.patch)
    if later.kind == "request":
        by_container = {name: {**amounts} for name, amounts in earlier.requests.items()}
        for name, amounts in later.requests.items():
            by_container[name] = {**by_container.get(name, {}), **amounts}
        amount = 1 - (1 - earlier.amount) * (1 - later.amount)
        return replace(later, patch=patch, requests=by_container, amount=amount)
    if later.kind == "spread":
        return replace(later, patch=patch, amount=max(earlier.amount, later.amount))
    selectors = [
        (each.patch.get("spec") or {}).get("nodeSelector") or {} for each in (earlier, later)
    ]
    if later.kind not in _ADDED or selectors[0].keys() & selectors[1].keys():
        return None
    text = f"{earlier.text} and {later.text}"
    return replace(later, text=text, patch=patch, amount=earlier.amount + later.amount)


def cost_of(proposal: Proposal) -> float:
    """Return the cost in points."""
    cost = COSTS.get(proposal.kind, DEFAULT_COST)
    cost += proposal.amount * AMOUNT_COST.get(proposal.kind, DEFAULT_AMOUNT_COST)
    is_of_control_plane = any(key in proposal.text for key in CONTROL_PLANE)
    return cost + (CONTROL_PLANE_COST if is_of_control_plane else 0)


def conflict(evaluation: Evaluation) -> tuple[ConflictingReason, ...]:
    """Return a smallest set of reasons that covers every node in the domain that the pod's group is
    tried in; of a pod that fits nowhere. Exact up to three reasons."""
    if evaluation.pre_filter is not None:
        count = len(evaluation.statuses.snapshot)
        status = evaluation.pre_filter
        return tuple(ConflictingReason(status.plugin, reason, count) for reason in status.reasons)
    masks = reason_masks(evaluation)
    outside = masks.pop(OUTSIDE, None)
    if outside is not None:
        masks = {key: mask & ~outside for key, mask in masks.items()}
    chosen = _smallest_cover(masks)
    return tuple(
        ConflictingReason(plugin, reason, int(masks[plugin, reason].sum()))
        for plugin, reason in chosen
    )


def _smallest_cover(masks: Mapping[tuple[str, str], Mask]) -> list[tuple[str, str]]:
    left = np.logical_or.reduce([*masks.values()]) if masks else np.zeros(0, dtype=np.bool_)
    for count in range(1, FREELY_COMBINED + 1):
        for keys in combinations(masks, count):
            if (np.logical_or.reduce([masks[key] for key in keys]) == left).all():
                return list(keys)
    # The one that stands against most of the nodes that are left, again and again.
    chosen: list[tuple[str, str]] = []
    while left.any():
        best = max(masks, key=lambda key: int((masks[key] & left).sum()))
        chosen.append(best)
        left = left & ~masks[best]
    return chosen


def candidates(
    simulation: Simulation, pod: PodInfo, evaluation: Evaluation, waiting: int = 1
) -> Iterator[Candidate]:
    """Return candidates that might give the pod a node.

    evaluation: in REASONS mode, without a feasible node; waiting: how many pods are to have one
    """
    if evaluation.error:
        return
    if evaluation.pre_filter is not None:
        snapshot = evaluation.statuses.snapshot
        yield from for_rejected_pod(evaluation.framework, snapshot, pod, evaluation.pre_filter)
        return
    yield from _by_node(evaluation, distances(evaluation).order(), MAX_NODES)
    # One more node like those that the pod may use, the smallest first, with the labels that it
    # asks for; where none is large enough, one of the size that the pod requests, or that all pods
    # that wait request.
    snapshot, own = evaluation.statuses.snapshot, evaluation.pod.resources.requests
    # Pods that wait take the room of a new node, too; larger ones do not fit there.
    pending = [each.resources.requests for each in simulation.pending()]
    pending = [r for r in pending if all(n <= own.get(name, 0) for name, n in r.items())]
    totals = {name: sum(each.get(name, 0) for each in pending) for name in own}
    for index, model in enumerate(_models(simulation.state, evaluation)):
        name = snapshot.names[model.row]
        size = _enlarged(snapshot, model.row, own)
        # Another shape is better than a machine of a new size, and that is better than several.
        amount = 0.4 * index + 2 * len(size) + len(model.labels)
        counts = (*NODE_COUNTS, *(n for n in MANY_NODE_COUNTS if n <= waiting))
        for number, count in enumerate(counts if not index else (1,)):
            yield _added(name, count, size, model.labels, amount + 2 * number)
        larger = _enlarged(snapshot, model.row, totals)
        # A machine of many times the size of all others is none that anybody has.
        is_likely = all(
            required
            <= LARGEST * max(int(snapshot.allocatable(resource).max()), size.get(resource, 0))
            for resource, required in larger.items()
        )
        if not index and larger != size and is_likely:
            yield _added(name, 1, larger, model.labels, amount + 1.5)
    # Priority classes with which it may evict others, the lowest first.
    higher = sorted(
        (each.value, name)
        for name, each in simulation.state.priority_classes.items()
        if each.value > pod.priority and not name.startswith("system-")
    )
    for index, (value, name) in enumerate(higher[:MAX_CLASSES]):
        spec = {"priorityClassName": name, "priority": None, "preemptionPolicy": None}
        text = f"give it the priority class {name} ({value:,})"
        yield Candidate((Proposal("priority", text, patch={"spec": spec}, amount=index),))


def other_schedulers(pod: Pod, names: Collection[str]) -> Iterator[Candidate]:
    """Return candidates that have another scheduler look at the pod, the name nearest to its own
    first. names: of the profiles"""
    near = nearest(pod.spec.scheduler_name, names)
    for index, name in enumerate(dict.fromkeys(filter(None, (near, *names)))):
        text = f"set schedulerName: {name} instead of {pod.spec.scheduler_name}"
        patch = {"spec": {"schedulerName": name}}
        yield Candidate((Proposal("scheduler", text, patch=patch, amount=index),))


RESTARTED_AT = "kubectl.kubernetes.io/restartedAt"
# The fields of a pod's spec that its template sets, and that decide where it may run.
_COMPARED = ("nodeSelector", "affinity", "tolerations", "priorityClassName", "schedulerName")


def renewing_pods(pod: Pod, subject: ChangedObject, state: ClusterState) -> Candidate | None:
    """Return the candidate that makes the pods of a workload anew, where the pod differs from the
    template: something else has changed it since, or as it was made. None if they are alike."""
    workload: Any = objects_of(state, KINDS[subject.kind]).get((subject.namespace, subject.name))
    if subject.kind == "Pod" or workload is None:
        return None
    own = plain_object(KINDS["Pod"], pod)["spec"]
    template = plain_json(workload.raw).get("spec", {}).get("template", {}).get("spec") or {}
    differing = [
        field for field in _COMPARED if _comparable(field, own) != _comparable(field, template)
    ]
    current, others = (
        {c["name"]: _requests(c) for c in _containers(spec)} for spec in (own, template)
    )
    differing += [f"the requests of {name}" for name in others if current.get(name) != others[name]]
    if not differing:
        return None
    text = (
        f"make the pods of {subject.text} anew: they differ from its template in "
        f"{' and '.join(differing)}; what changed them, as a webhook, may change them again"
    )
    # As `kubectl rollout restart` does.
    patch = {"metadata": {"annotations": {RESTARTED_AT: "now"}}}
    return Candidate((Proposal("restart", text, patch=patch),), subjects=((subject,),))


def _comparable(field: str, spec: Mapping[str, Any]) -> Any:
    """Return a field without what the API server adds to it."""
    value = spec.get(field) or None
    if field == "tolerations":
        return [t for t in value or () if t.get("key") not in _DEFAULT_TOLERATED] or None
    return None if value == "default-scheduler" else value


def _containers(spec: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for field in _BY_NAME:
        yield from spec.get(field) or ()


def _requests(container: Mapping[str, Any]) -> dict[str, Quantity]:
    """Return the requests, and the limits of what is not requested, as the API server does."""
    resources = container.get("resources") or {}
    amounts = {**(resources.get("limits") or {}), **(resources.get("requests") or {})}
    return {name: Quantity.parse(str(amount)) for name, amount in amounts.items()}


def for_rejected_pod(
    framework: Framework, snapshot: Snapshot, pod: PodInfo, status: Status
) -> Iterator[Candidate]:
    """Return candidates that might let a pod pass that is rejected before any node is looked at.
    status: of PreEnqueue or PreFilter"""
    because = (f"{status.plugin}: {status.message}",)
    # The first that rejects a pod need not be the one that knows what it lacks.
    for plugin in framework.plugins:
        if isinstance(plugin, Proposes):
            for proposal in framework.caller.propose_for_pod(plugin, snapshot, pod):
                yield Candidate((proposal,), because)


def single_changes(evaluation: Evaluation, state: ClusterState, rows: Rows) -> tuple[Proposal, ...]:
    """Return changes each of which lets the pod onto one of the nodes, as far as the plugins know
    without a run: the cheapest of each kind, the cheapest first. They exclude changes that take
    pods their nodes, except old pods of the pod's own Deployment. They are of an evaluation without
    a feasible node; rows: the nodes"""
    if evaluation.pre_filter is not None:
        snapshot, status = evaluation.statuses.snapshot, evaluation.pre_filter
        proposed = for_rejected_pod(evaluation.framework, snapshot, evaluation.pod, status)
    else:
        order = distances(evaluation).order()
        nearest = order[np.isin(order, rows)][:MAX_NODES_OF_SINGLE]
        proposed = _by_node(evaluation, nearest, MAX_NODES_OF_SINGLE, together=1)
    if deployment_of(evaluation.pod.pod):
        subjects = (subject_of(evaluation.pod.pod, state),)
        proposed = with_scaling((each.about(subjects) for each in proposed), state)
    cheapest: dict[tuple[str, str], Proposal] = {}
    for candidate in proposed:
        proposal = candidate.proposals[0]
        if not proposal.evicts and proposal.kind != "scale":
            # A kind may have several ways: to raise a maxSkew, or to let it be.
            way = proposal.kind, proposal.text.partition(" ")[0]
            cheapest[way] = min(cheapest.get(way, proposal), proposal, key=cost_of)
    return tuple(sorted(cheapest.values(), key=cost_of))


# -- nodes ----------------------------------------------------------------------------------------


def _by_node(
    evaluation: Evaluation, order: Rows, most: int, together: int = MAX_OF_NODE
) -> Iterator[Candidate]:
    """Take one proposal of each plugin that rejects a node. order: the rows, the nearest first;
    most: of those that are rejected alike; together: plugins that reject a node, at most"""
    answers = [a for a in independent_verdicts(evaluation) if a.verdicts.ids.any()]
    if not answers:
        return
    classes = alike([answer.verdicts.ids for answer in answers])
    node_counts: dict[int, int] = {}
    unique: set[tuple[str, ...]] = set()
    for row in order.tolist():
        kind = classes.item(row)
        rejecting = [answer for answer in answers if answer.verdicts.ids[row]]
        if node_counts.get(kind, 0) >= most or not 0 < len(rejecting) <= together:
            continue
        node_counts[kind] = node_counts.get(kind, 0) + 1
        node = NodeInfo(evaluation.statuses.snapshot, row)
        because = tuple(
            f"{answer.plugin}: {answer.verdicts.statuses[answer.verdicts.ids[row]].message}"
            for answer in rejecting
        )
        # A plugin may reject a node twice: before all nodes are looked at, and as one of them.
        names = dict.fromkeys(answer.plugin for answer in rejecting)
        by_plugin: list[Sequence[Proposal]] = []
        for name in names:
            plugin = evaluation.framework.plugin(name) if name else None
            proposed: Sequence[Proposal] = ()
            if isinstance(plugin, Proposes):
                caller = evaluation.framework.caller
                proposed = caller.propose(plugin, evaluation.state, evaluation.pod, node)
            by_plugin.append(proposed)
        if len(rejecting) > FREELY_COMBINED:
            by_plugin = [sorted(proposals, key=cost_of)[:1] for proposals in by_plugin]
        for proposals in product(*by_plugin):
            candidate = Candidate(_without_repeated(proposals), because)
            if (key := tuple(p.text for p in candidate.proposals)) not in unique:
                unique.add(key)
                yield candidate


def _without_repeated(proposals: Sequence[Proposal]) -> tuple[Proposal, ...]:
    """Drop repeated evictions: where one evicts all that another evicts, that is enough."""
    lasting = []
    for index, proposal in enumerate(proposals):
        others = [*proposals[:index], *proposals[index + 1 :]]
        is_covered = proposal.evicts and any(
            set(proposal.evicts) < set(other.evicts)
            or (set(proposal.evicts) == set(other.evicts) and proposals.index(other) < index)
            for other in others
        )
        if not is_covered:
            lasting.append(proposal)
    return tuple(lasting)


class _Model(Struct, frozen=True):
    """A node of which one more is added.

    labels: that the pod asks for and the node lacks
    """

    row: int
    labels: Mapping[str, str]


def _models(state: ClusterState, evaluation: Evaluation) -> Iterator[_Model]:
    """Yield the nodes of which one more might take the pod, a few of different shapes: those whose
    labels it selects and that are large enough first, then the smallest."""
    snapshot, pod = evaluation.statuses.snapshot, evaluation.pod
    lasting = np.zeros(len(snapshot), dtype=np.bool_)
    mislabelled = np.zeros(len(snapshot), dtype=np.bool_)
    for answer in independent_verdicts(evaluation):
        if answer.plugin in _LASTING:
            lasting |= answer.verdicts.ids != 0
        elif answer.plugin in _BY_LABELS:
            mislabelled |= answer.verdicts.ids != 0
        elif answer.plugin == "TaintToleration":
            # A new node does not have the taints that controllers have put there since: only those
            # that nobody owns, and that the pod does not tolerate, last.
            ids, sets = evaluation.statuses.snapshot.taint_sets
            untolerated = [
                any(
                    owner_of_taint(taint.key) is None
                    for taint in untolerated_of(evaluation, taints)
                )
                for taints in sets
            ]
            lasting |= (answer.verdicts.ids != 0) & np.array(untolerated, dtype=np.bool_)[ids]
    labels = _selected_labels(pod, state) if mislabelled.any() else {}
    if not labels:
        lasting |= mislabelled
    resources = list(dict.fromkeys((*pod.resources.requests, CPU, MEMORY)))
    sizes = np.array([snapshot.allocatable(name) for name in resources])
    models: dict[object, _Model] = {}
    rows = np.flatnonzero(~lasting)
    amounts = [pod.resources.requests.get(name, 0) for name in resources]
    too_small = (sizes < np.array(amounts).reshape(-1, 1)).sum(axis=0)
    order = np.lexsort((*sizes[::-1, rows], too_small[rows], mislabelled[rows]))
    for row in rows[order].tolist():
        node, is_other = snapshot.nodes[row], bool(mislabelled[row])
        own = node.metadata.labels
        lacking = {key: value for key, value in labels.items() if own.get(key) != value}
        key = (*sizes[:, row].tolist(), node.spec.taints, is_other)
        models.setdefault(key, _Model(row, lacking if is_other else {}))
        if len(models) == MAX_MODELS:
            break
    yield from models.values()


def _enlarged(snapshot: Snapshot, row: int, requests: Mapping[str, int]) -> dict[str, int]:
    """Return how much a node needs of what it has too little of for these requests beside its
    daemon pods."""
    daemons = [pod for pod in snapshot.pods[row] if pod.pod.owner[0] in ("DaemonSet", "Node")]
    required = {
        name: amount + sum(each.resources.requests.get(name, 0) for each in daemons)
        for name, amount in requests.items()
        if amount
    }
    return {n: amount for n, amount in required.items() if amount > snapshot.allocatable(n)[row]}


def _added(
    model: str, count: int, size: Mapping[str, int], labels: Mapping[str, str], amount: float
) -> Candidate:
    """Return the candidate that adds nodes. size: by resource, where it is not the model's"""
    flags, texts = [], []
    for name, required in size.items():
        unit = whole_unit(name, required)
        text = exact_text(name, -(-required // unit) * unit)
        plain = name in (CPU, MEMORY)
        flags.append(f" --{name} {text}" if plain else f" --resource {name}={text}")
        texts.append(f"{name} {text}")
    for key, value in labels.items():
        flags.append(f" --label {key}={value}")
        texts.append(f"the label {key}={value}")
    line = f"add-nodes more --like {model} --count {count}{''.join(flags)}"
    text = f"add {_nodes(count)} like {model}"
    text += f", with {' and '.join(texts)}" if texts else ""
    return Candidate((Proposal("node", text, (line,), amount=amount),))


def _selected_labels(pod: PodInfo, state: ClusterState) -> dict[str, str]:
    """Return the labels that a node needs for the pod: of its node selector, of one term of its
    affinity, and of where its volumes are or are made; {} where labels alone are not enough."""
    labels, required = dict(pod.spec.node_selector), pod.spec.required_nodes
    selectors = [node_terms(required)] if required is not None else []
    for _, claim in used_claims(pod.pod, state.persistent_volume_claims):
        if claim is None:
            continue
        volume = state.persistent_volumes.get(claim.spec.volume_name)
        affinity = volume.spec.node_affinity if volume is not None else None
        storage_class = state.storage_classes.get(claim_class(claim))
        if affinity is not None and affinity.required is not None:
            selectors.append(node_terms(affinity.required))
        elif not claim.spec.volume_name and storage_class is not None:
            selectors.append(allowed_topologies(storage_class))
    for terms in (selector.terms for selector in selectors if selector.terms):
        # The first in which no numbers are compared, else the first.
        term = min(terms, key=lambda term: any(each.operator in (GT, LT) for each in term.labels))
        if term.fields:
            return {}
        for each in term.labels:
            if each.operator == IN and each.values:
                labels.setdefault(each.key, each.values[0])
            elif each.operator == EXISTS:
                labels.setdefault(each.key, "true")
    return {} if HOSTNAME_LABEL in labels else labels


def _nodes(count: int) -> str:
    return "one more node" if count == 1 else f"{count} more nodes"


def with_scaling(proposed: Iterable[Candidate], state: ClusterState) -> Iterator[Candidate]:
    """Yield the candidates that evict running pods only, if any. Where one does nothing but evict
    pods of a workload, scaling it down is a candidate too; of the pod's own Deployment, to have its
    old pods leave before the new ones come."""
    running: dict[str, Pod] = {}
    for candidate in proposed:
        evicted = candidate.evicts
        if evicted and not running:
            running = {pod.key: pod for pod in state.pods if pod.node_name}
        # Pods of DaemonSets and static ones come back before any other pod has their place.
        if not evicted <= running.keys() or any(
            running[key].owner[0] in ("DaemonSet", "Node") for key in evicted
        ):
            continue
        yield candidate
        if evicted and len(candidate.proposals) == 1:
            pods = [running[key] for key in evicted]
            subjects = {subject_of(pod, state) for pod in pods}
            subject = subjects.pop()
            if subjects:
                continue
            is_own = subject in candidate.subjects[0]
            more = _leaving_first(subject, pods, state) if is_own else None
            if not is_own and subject.kind in _SCALABLE:
                key = subject.namespace, subject.name
                workload: Any = objects_of(state, KINDS[subject.kind])[key]
                replicas = workload.spec.replicas
                if replicas is not None and replicas >= len(pods):
                    rest = replicas - len(pods)
                    line = f"scale {subject.text} -n {subject.namespace} --replicas={rest}"
                    name = f"{subject.namespace}/{subject.text}"
                    text = f"scale {name} down from {replicas} to {rest}{subject.where}"
                    more = Proposal("scale", text, (line,), amount=len(pods))
            if more is not None:
                yield Candidate((more,), candidate.because, candidate.subjects)


def _leaving_first(
    subject: ChangedObject, old: Sequence[Pod], state: ClusterState
) -> Proposal | None:
    """Let a Deployment's old pods leave before new ones come; the controller then scales their
    ReplicaSet down."""
    owners = {pod.owner for pod in old}
    (kind, name), *others = owners
    if subject.kind != "Deployment" or kind != "ReplicaSet" or others:
        return None
    waiting = sum(
        not pod.node_name and deployment_of(pod) == subject.name and pod.owner != (kind, name)
        for pod in state.pods
        if pod.namespace == subject.namespace
    )
    replica_set = state.replica_sets.get((subject.namespace, name))
    replicas = (replica_set.spec.replicas or 0) if replica_set is not None else 0
    if not waiting or replicas < len(old):
        return None
    # As many old pods leave for each new one that waits, step by step.
    leaving = min(replicas, waiting * len(old))
    scaled = f"scale replicaset/{name} -n {subject.namespace} --replicas={replicas - leaving}"
    return _without_surge(subject, 1, leaving, scaled)


def leaving_first(subjects: tuple[ChangedObject, ...]) -> Iterator[Candidate]:
    """Return candidates that let a Deployment's old pods leave before new ones come: one at a time,
    or all of them."""
    limits: tuple[int | str, ...] = (1, "100%")
    for index, unavailable in enumerate(limits):
        if len(subjects) == 1 and subjects[0].kind == "Deployment":
            proposal = replace(_without_surge(subjects[0], unavailable, 2), amount=index)
            yield Candidate((proposal,), subjects=(subjects,))


def _without_surge(
    subject: ChangedObject, unavailable: int | str, count: int, *more: str
) -> Proposal:
    """Propose a rollout that creates no pod before an old one has left. unavailable:
    maxUnavailable; count: of the old pods that leave; more: lines for --change"""
    rolling = {"maxSurge": 0, "maxUnavailable": unavailable}
    patch = {"spec": {"strategy": {"type": "RollingUpdate", "rollingUpdate": rolling}}}
    text = json.dumps(patch, separators=(",", ":"))
    line = f"patch {subject.text} -n {subject.namespace} -p '{text}'"
    noun = "pod leaves" if count == 1 else "pods leave"
    limits = f"maxSurge 0 and maxUnavailable {unavailable}"
    text = f"set {limits} for {subject.text}{subject.where}, so that its old {noun} first"
    return Proposal("rollout", text, (line, *more))
