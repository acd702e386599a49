"""Proposals of plugins as lines that --change takes, as commands of kubectl, and as patches."""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any

from msgspec import Struct

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.resources import is_scalar_resource
from ksched_cli.cluster.state import ClusterState
from ksched_cli.framework.interface import Proposal
from ksched_cli.scenario.arguments import WORKLOADS
from ksched_cli.scenario.objects import objects_of
from ksched_cli.scenario.owned_pods import deployment_of
from ksched_cli.scenario.scale import WITH_TEMPLATE

_DEFAULT_TOLERATED = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
# The fields of a pending pod that may change; tolerations may be added.
_MUTABLE = {"tolerations", "schedulingGates"}
# Most of their spec cannot be changed.
_REPLACED = ("pod", "job", "pvc", "resourceclaim")


class Subject(Struct, frozen=True):
    """The object whose change changes a pod: itself, or the workload whose template it is made
    from.

    kind: "Pod" for a pod without a controller, or one whose controller the state does not have
    """

    kind: str
    namespace: str
    name: str

    @property
    def text(self) -> str:
        return f"{self.kind.lower()}/{self.name}"

    def patch(self, patch: Mapping[str, Any]) -> dict[str, Any]:
        """A patch of the pod as one of this object."""
        return dict(patch) if self.kind == "Pod" else {"spec": {"template": dict(patch)}}


def subject_of(pod: Pod, state: ClusterState) -> Subject:
    """Return the object whose change changes the pod."""
    owner = pod.metadata.controller
    candidates = [("Deployment", deployment_of(pod))]
    candidates += [(owner.kind, owner.name)] if owner is not None else []
    for kind, name in candidates:
        is_there = kind in WORKLOADS and (pod.namespace, name) in objects_of(state, KINDS[kind])
        if name and is_there:
            return Subject(kind, pod.namespace, name)
    return Subject("Pod", pod.namespace, pod.name)


def subjects_of(pod: Pod, pods: Set[str], state: ClusterState) -> tuple[Subject, ...]:
    """Return the object whose change changes the pod, and with it all pods of the same template.
    pods: those asked about"""
    subject = subject_of(pod, state)
    if subject.kind != "Pod" or len(pods) == 1:
        return (subject,)
    own = [each for each in state.pods if each.key in pods]
    # Pods of one template share their spec.
    spec = next((each.spec for each in own if each.key == pod.key), None)
    alike = [Subject("Pod", each.namespace, each.name) for each in own if each.spec is spec]
    return tuple(alike) or (subject,)


class Step(Struct, frozen=True):
    """A proposal, and what is changed where it changes pods."""

    proposal: Proposal
    subjects: tuple[Subject, ...]


def change_lines(steps: Sequence[Step]) -> tuple[str, ...]:
    """Return the lines for --change: nodes and other objects first, then the pods, then who
    leaves."""
    lines = [line for step in steps for line in step.proposal.changes]
    for subject, proposals in _by_subject(steps):
        patch: dict[str, Any] = {}
        for proposal in proposals:
            patch = _combined(patch, proposal.patch)
            if proposal.requests and subject.kind not in WITH_TEMPLATE:
                patch = _combined(patch, _requesting(proposal.requests))
            elif proposal.requests:
                lines += _resource_lines(proposal.requests, subject)
        if patch:
            text = json.dumps(subject.patch(_of_template(patch, subject)), separators=(",", ":"))
            lines.append(f"patch {subject.text} -n {subject.namespace} -p {shlex.quote(text)}")
    evicted = sorted({key for step in steps for key in step.proposal.evicts})
    for namespace in dict.fromkeys(key.partition("/")[0] for key in evicted):
        names = [
            name for space, _, name in (key.partition("/") for key in evicted) if space == namespace
        ]
        lines.append(f"delete pods {' '.join(names)} -n {namespace}")
    return tuple(dict.fromkeys(lines))


def _by_subject(steps: Iterable[Step]) -> Iterator[tuple[Subject, list[Proposal]]]:
    proposals: dict[Subject, list[Proposal]] = {}
    for step in steps:
        for subject in step.subjects:
            proposals.setdefault(subject, []).append(step.proposal)
    return iter(proposals.items())


def manifest_patches(steps: Sequence[Step]) -> tuple[Any, ...]:
    """The patches of the pods' manifests, as kustomize takes them; none where pods stay as they
    are."""
    patches = []
    for subject, proposals in _by_subject(steps):
        patch: dict[str, Any] = {}
        for proposal in proposals:
            patch = _combined(patch, proposal.patch)
            patch = _combined(patch, _requesting(proposal.requests))
        if patch:
            identity = {
                "apiVersion": f"{KINDS[subject.kind].group}/v1".removeprefix("/"),
                "kind": subject.kind,
                "metadata": {"name": subject.name, "namespace": subject.namespace},
            }
            patches.append(_combined(identity, subject.patch(_of_template(patch, subject))))
    return tuple(patches)


def _requesting(requests: Mapping[str, Mapping[str, str]]) -> dict[str, Any]:
    """Return a patch of the containers' requests, and of the limits that must equal them."""
    containers = []
    for name, amounts in requests.items():
        resources: dict[str, Any] = {"requests": dict(amounts)}
        if limits := _limits(amounts):
            resources["limits"] = limits
        containers.append({"name": name, "resources": resources})
    return {"spec": {"containers": containers}} if containers else {}


def _limits(amounts: Mapping[str, str]) -> dict[str, str]:
    return {name: text for name, text in amounts.items() if is_scalar_resource(name)}


def _resource_lines(requests: Mapping[str, Mapping[str, str]], subject: Subject) -> Iterator[str]:
    for container, amounts in requests.items():
        line = f"set resources {subject.text} -n {subject.namespace} -c {container}"
        line += f" --requests={_pairs(amounts)}"
        limits = _limits(amounts)
        yield line + (f" --limits={_pairs(limits)}" if limits else "")


def _pairs(amounts: Mapping[str, str]) -> str:
    return ",".join(f"{name}={text}" for name, text in amounts.items())


def _of_template(patch: Mapping[str, Any], subject: Subject) -> dict[str, Any]:
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


def _combined(first: Mapping[str, Any], second: Mapping[str, Any]) -> dict[str, Any]:
    """Combine both patches: the second one wins where both set one field."""
    combined = dict(first)
    for key, value in second.items():
        own = combined.get(key)
        if isinstance(own, dict) and isinstance(value, dict):
            combined[key] = _combined(own, value)
        elif isinstance(own, list) and isinstance(value, list) and key == "containers":
            combined[key] = _combined_items(own, value)
        else:
            combined[key] = value
    return combined


def _combined_items(first: Sequence[Any], second: Sequence[Any]) -> list[Any]:
    """Patches of containers, those of one name in one."""
    by_name = {item["name"]: item for item in first}
    for item in second:
        by_name[item["name"]] = _combined(by_name.get(item["name"], {}), item)
    return [*by_name.values()]


def kubectl_command(line: str) -> str:
    """Return the kubectl command that does the same to a cluster; "" where there is none."""
    tokens = shlex.split(line)
    verb, target = tokens[0], tokens[1]
    if verb == "add-nodes" or (verb == "taint" and target == "nodes" and _is_condition(tokens)):
        return ""
    if verb == "apply" and "-f" in tokens:
        return f"echo {shlex.quote(tokens[tokens.index('-f') + 1])} | kubectl apply -f -"
    kind, _, name = target.partition("/")
    if verb == "patch" and kind in _REPLACED and not _is_mutable(kind, tokens):
        namespace = f" -n {tokens[tokens.index('-n') + 1]}" if "-n" in tokens else ""
        patch = shlex.quote(tokens[tokens.index("-p") + 1])
        form = " --type=json" if "--type=json" in tokens else ""
        return (
            f"kubectl get {kind} {name}{namespace} -o yaml"
            f" | kubectl patch --local -f - -o yaml{form} -p {patch} | kubectl replace --force -f -"
        )
    return f"kubectl {line}"


def _is_mutable(kind: str, tokens: Sequence[str]) -> bool:
    """Whether the API server accepts the patch for an existing object."""
    if kind != "pod":
        return False
    patch = json.loads(tokens[tokens.index("-p") + 1])
    return set(patch.get("spec") or {}) <= _MUTABLE


def _is_condition(tokens: Sequence[str]) -> bool:
    return any(word.startswith("node.kubernetes.io/") for word in tokens)
