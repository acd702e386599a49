"""The objects that KIND/NAME in a change means; for workloads their pods and ReplicaSets too."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS, Kind
from ksched_cli.cluster.objects import KubeObject, Pod, ReplicaSet
from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.arguments import Arguments
from ksched_cli.scenario.change import Change, Changed, ChangeError
from ksched_cli.scenario.lookup import read_selector
from ksched_cli.scenario.objects import kind_of, objects_of
from ksched_cli.scenario.owned_pods import OwnedPods
from ksched_cli.scenario.pod_passes import select_by_name

WORKLOADS = (
    "Deployment",
    "ReplicaSet",
    "StatefulSet",
    "DaemonSet",
    "Job",
    "CronJob",
    "ReplicationController",
)


@dataclass(frozen=True, slots=True)
class Target:
    """KIND/NAME, or KIND -l SELECTOR. namespace: "" to look everywhere; selector: in place of a
    name, "" for all"""

    kind: str
    name: str
    namespace: str
    selector: str | None = None

    @property
    def text(self) -> str:
        return f"{self.kind.lower()}/{self.name}"


@dataclass(frozen=True, slots=True)
class Workload:
    """A workload that a change names.

    obj:          None where the state has only its pods
    pods:         its active ones
    replica_sets: of a deployment
    """

    kind: str
    namespace: str
    name: str
    obj: Any
    pods: tuple[Pod, ...]
    replica_sets: tuple[ReplicaSet, ...]

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def text(self) -> str:
        return f"{self.kind} {self.key}"


def read_targets(arguments: Arguments, kinds: Iterable[str]) -> tuple[Target, ...]:
    """Reads "KIND/NAME...", "KIND NAME..." or "KIND -l SELECTOR". kinds: that the change takes.
    Raises ChangeError."""
    names = arguments.names
    selector = arguments.flags.get("--selector")
    if selector is not None or arguments.has("--all"):
        return _selected(arguments, selector or "", kinds)
    if names and "/" not in names[0]:
        names = tuple(f"{names[0]}/{name}" for name in names[1:])
    if not names:
        raise arguments.error("expected KIND/NAME, such as deployment/web")
    targets = []
    for written in names:
        word, _, name = written.partition("/")
        if not name:
            raise _unexpected(arguments, written, kinds)
        targets.append(Target(_kind(arguments, word, written, kinds), name, arguments.namespace))
    return tuple(targets)


def _kind(arguments: Arguments, word: str, written: str, kinds: Iterable[str]) -> str:
    kind = kind_of(word)
    if kind is None or kind.name not in kinds:
        raise _unexpected(arguments, written, kinds)
    return kind.name


def _unexpected(arguments: Arguments, written: str, kinds: Iterable[str]) -> ChangeError:
    listed = ", ".join(kind.lower() for kind in kinds)
    return arguments.error(
        f'"{written}" is not accepted here; expected KIND/NAME, with KIND one of {listed}'
    )


def _selected(arguments: Arguments, selector: str, kinds: Iterable[str]) -> tuple[Target, ...]:
    """Reads "KIND,KIND -l SELECTOR" and "KIND --all"."""
    if len(arguments.names) != 1 or "/" in arguments.names[0]:
        raise arguments.error("expected KIND -l SELECTOR, such as deployments -l app=web")
    read_selector(arguments.text, selector)
    namespace = "" if arguments.has("--all-namespaces") else arguments.namespace
    chosen = [_kind(arguments, name, name, kinds) for name in arguments.names[0].split(",")]
    return tuple(Target(kind, "", namespace, selector) for kind in chosen)


@dataclass(frozen=True, slots=True)
class TargetsChange(Change):
    """A change of objects, one after the other."""

    targets: tuple[Target, ...]

    def apply(self, state: ClusterState) -> Changed:
        effects: list[Effect] = []
        for target in [name for each in self.targets for name in _named(self, state, each)]:
            state, more = self.apply_to(state, target)
            effects += more
        return state, effects

    @abstractmethod
    def apply_to(self, state: ClusterState, target: Target) -> Changed:
        """The state with one of the objects changed. target: by name. Raises ChangeError."""


def _named(change: Change, state: ClusterState, target: Target) -> Iterator[Target]:
    """The target by name: the objects that its selector matches, where it has one. Raises
    ChangeError where that matches none."""
    if target.selector is None:
        yield target
        return
    kind, selector = KINDS[target.kind], read_selector(change.text, target.selector)
    everywhere = not kind.namespaced or not target.namespace
    keys = [
        key
        for key, obj in objects_of(state, kind).items()
        if (everywhere or key[0] == target.namespace) and selector.matches(obj.metadata.labels)
    ]
    if not keys:
        which = f" matches -l {target.selector}" if target.selector else " is there"
        where = "" if everywhere else f" in namespace {target.namespace}"
        raise change.error(f"no {target.kind}{where}{which}")
    for namespace, name in keys:
        yield Target(target.kind, name, namespace)


def read_target(arguments: Arguments, kinds: Iterable[str]) -> Target:
    """The only one. Raises ChangeError."""
    targets = read_targets(arguments, kinds)
    if len(targets) > 1:
        raise arguments.error("expected one KIND/NAME")
    return targets[0]


def find_object(change: Change, state: ClusterState, target: Target) -> tuple[Kind, KubeObject]:
    """Raises ChangeError if there is none, or several."""
    kind = KINDS[target.kind]
    pods = select_by_name(state.pods, {target.name}) if kind is KINDS["Pod"] else ()
    objects: dict[tuple[str, str], KubeObject] = {(pod.namespace, pod.name): pod for pod in pods}
    objects = objects or objects_of(state, kind)
    namespace = _namespace(change, target, objects)
    return kind, objects[namespace, target.name]


def _namespace(change: Change, target: Target, keys: Iterable[tuple[str, str]]) -> str:
    """The namespace of the target among the keys. Raises ChangeError."""
    keys = list(keys)
    namespace_filter = target.namespace if KINDS[target.kind].namespaced else ""
    namespaces = [
        namespace
        for namespace, name in keys
        if name == target.name and namespace_filter in ("", namespace)
    ]
    elsewhere = [f"{namespace}/{name}" for namespace, name in keys if name == target.name]
    if not namespaces and elsewhere:
        raise change.elsewhere(target.kind, target.name, namespace_filter, elsewhere)
    if not namespaces:
        raise change.unknown(target.kind, target.name, sorted({name for _, name in keys}))
    if len(namespaces) > 1:
        listed = ", ".join(f"{namespace}/{target.name}" for namespace in namespaces)
        raise change.error(f"several match: {listed}; add -n NAMESPACE")
    return namespaces[0]


def find_workload(change: Change, state: ClusterState, target: Target) -> Workload:
    """A workload by its object, or by its pods alone. Raises ChangeError."""
    objects = objects_of(state, KINDS[target.kind])
    owned = OwnedPods.of(state.pods).active
    by_pods = {(ns, name) for ns, kind, name in owned if kind == target.kind}
    namespace = _namespace(change, target, {**objects, **dict.fromkeys(by_pods)})
    replica_sets = [
        replica_set
        for replica_set in state.replica_sets.values()
        if target.kind == "Deployment"
        and replica_set.namespace == namespace
        and (owner := replica_set.metadata.controller) is not None
        and (owner.kind, owner.name) == ("Deployment", target.name)
    ]
    pods = {id(pod): pod for pod in owned.get((namespace, target.kind, target.name), ())}
    for replica_set in replica_sets:
        own = owned.get((namespace, "ReplicaSet", replica_set.name), ())
        pods |= {id(pod): pod for pod in own}
    return Workload(
        target.kind,
        namespace,
        target.name,
        objects.get((namespace, target.name)),
        tuple(pods.values()),
        tuple(replica_sets),
    )


def current_pods(state: ClusterState, workload: Workload) -> list[Pod]:
    """The workload's pods as they are in a later state, in its order."""
    keys = {(pod.namespace, pod.name) for pod in workload.pods}
    named = select_by_name(state.pods, {name for _, name in keys})
    return [pod for pod in named if (pod.namespace, pod.name) in keys]
