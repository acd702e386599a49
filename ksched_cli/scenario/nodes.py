"""Changes to nodes: cordon, uncordon, taint, label, add-nodes, fail, recover; and which pods leave.

Upstream: staging/src/k8s.io/kubectl/pkg/cmd/{drain,taint}, and the node lifecycle controller, which
keeps the taint of unschedulable nodes.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Self, TypeVar

from msgspec import structs

from ksched_cli.cluster.change_record import Effect
from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import CSINode, Node, Pod, ResourceSlice, Taint, plain_fields
from ksched_cli.cluster.objects.node import (
    HOSTNAME_LABEL,
    KUBELET_PODS,
    NOT_READY_TAINTS,
    REGION_LABEL,
    UNREACHABLE,
    ZONE_LABEL,
)
from ksched_cli.cluster.objects.pod import Toleration
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.tolerations import tolerates
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.plain_json import plain_json
from ksched_cli.kube.quantity import Quantity, QuantityError
from ksched_cli.plugins.controllers import is_of_controller
from ksched_cli.scenario.arguments import Arguments, choose_pods, read_selector
from ksched_cli.scenario.change import Change, Changed
from ksched_cli.scenario.objects import edited, load_objects, plain_object
from ksched_cli.scenario.pods import (
    is_of_daemon_set,
    is_owned_by,
    is_running,
    is_static,
    moved,
    newest_timestamp,
    pending_again,
    replace_pods,
    select_on_nodes,
    without_pods,
)
from ksched_cli.scenario.workloads import daemon_model, should_continue_on

UNSCHEDULABLE = Taint("node.kubernetes.io/unschedulable", effect="NoSchedule")
_EFFECTS = ("NoSchedule", "PreferNoSchedule", "NoExecute")


def node_names(arguments: Arguments, names: Sequence[str]) -> tuple[str, ...]:
    """Return the names of nodes, which may be written as "node/NAME". Raises ChangeError if there
    is none."""
    if not names:
        raise arguments.error("expected the name of a node")
    return tuple(name.removeprefix("nodes/").removeprefix("node/") for name in names)


@dataclass(frozen=True, slots=True)
class NodeChoice:
    """names: of nodes; without any the selector chooses, "" all of them."""

    names: tuple[str, ...]
    selector: str = ""

    @classmethod
    def read(cls, arguments: Arguments, names: Sequence[str]) -> NodeChoice:
        """Read names, -l SELECTOR or --all. Raises ChangeError."""
        selector = arguments.flags.get("--selector", "")
        if names and selector:
            raise arguments.error("takes names of nodes or -l SELECTOR, not both")
        read_selector(arguments.text, selector)
        if selector or arguments.has("--all"):
            return cls((), selector)
        return cls(node_names(arguments, names))

    def of(self, change: Change, state: ClusterState) -> tuple[str, ...]:
        """Return the names of the nodes. Raises ChangeError where one is not there, or none
        matches."""
        if self.names:
            check_nodes(change, state, self.names)
            return self.names
        selector = read_selector(change.text, self.selector)
        names = tuple(node.name for node in state.nodes if selector.matches(node.metadata.labels))
        if not names and self.selector:
            raise change.error(f"no node matches -l {self.selector}")
        return names


def node_arguments(arguments: Arguments, usage: str) -> tuple[str, ...]:
    """Return what follows the kind, which must be nodes. Raises ChangeError. usage: of the
    change"""
    if not arguments.names or arguments.names[0] not in ("node", "nodes", "no"):
        raise arguments.error(f"expected {usage}")
    return arguments.names[1:]


def check_nodes(change: Change, state: ClusterState, names: Iterable[str]) -> None:
    """Check that nodes of these names exist. Raises ChangeError."""
    existing = [node.name for node in state.nodes]
    lookup = set(existing)
    for name in names:
        if name not in lookup:
            raise change.unknown("node", name, existing)


def replace_nodes(
    state: ClusterState, names: Iterable[str], edit: Callable[[Node], Node]
) -> ClusterState:
    """Return the state with the nodes of these names edited."""
    chosen = set(names)
    return replace(
        state, nodes=tuple(edit(node) if node.name in chosen else node for node in state.nodes)
    )


def with_spec(node: Node, taints: tuple[Taint, ...], unschedulable: bool | None = None) -> Node:
    """Return the node with other taints. unschedulable: by default as it is"""
    unschedulable = node.spec.unschedulable if unschedulable is None else unschedulable
    patch = {"taints": list(map(plain_fields, taints)), "unschedulable": unschedulable}
    return edited(node, {"spec": patch})


def cordon(state: ClusterState, names: Sequence[str], *, undo: bool = False) -> Changed:
    """Return the nodes unschedulable, or with `undo` schedulable again, and what that did."""
    done = "uncordoned" if undo else "cordoned"
    marked = {node.name: node.spec.unschedulable for node in state.nodes}
    effects = [Effect(name, f"already {done}" if marked[name] != undo else done) for name in names]

    def edit(node: Node) -> Node:
        own = (UNSCHEDULABLE.key, UNSCHEDULABLE.effect)
        taints = tuple(taint for taint in node.spec.taints if (taint.key, taint.effect) != own)
        return with_spec(node, taints if undo else (*taints, UNSCHEDULABLE), unschedulable=not undo)

    return replace_nodes(state, names, edit), effects


@dataclass(frozen=True, slots=True)
class Cordon(Change):
    """cordon NODE... | -l SELECTOR, or uncordon"""

    nodes: NodeChoice
    undo: bool = False

    @staticmethod
    def parse(arguments: Arguments, *, undo: bool = False) -> Cordon:
        return Cordon(arguments.text, NodeChoice.read(arguments, arguments.names), undo)

    def apply(self, state: ClusterState) -> Changed:
        return cordon(state, self.nodes.of(self, state), undo=self.undo)


@dataclass(frozen=True, slots=True)
class TaintNodes(Change):
    """taint nodes NODE... KEY[=VALUE]:EFFECT | KEY[:EFFECT]-

    removed: key and effect, "" for every effect; overwrites: taints of the same key and effect
    """

    nodes: NodeChoice
    added: tuple[Taint, ...]
    removed: tuple[tuple[str, str], ...]
    overwrites: bool = False

    @staticmethod
    def parse(arguments: Arguments) -> TaintNodes:
        tokens = node_arguments(arguments, '"taint nodes NODE... KEY=VALUE:EFFECT"')
        specs = [token for token in tokens if _is_taint(token)]
        names = [token for token in tokens if not _is_taint(token)]
        if not specs:
            raise arguments.error("expected a taint: KEY=VALUE:EFFECT, or KEY- to remove one")
        added = tuple(_read_taint(arguments, spec) for spec in specs if not spec.endswith("-"))
        removed = []
        for spec in (spec for spec in specs if spec.endswith("-")):
            key, _, effect = spec[:-1].partition(":")
            if not key or (effect and effect not in _EFFECTS):
                raise arguments.error(f'"{spec}" removes no taint: expected KEY- or KEY:EFFECT-')
            removed.append((key, effect))
        return TaintNodes(
            arguments.text,
            NodeChoice.read(arguments, names),
            added,
            tuple(removed),
            arguments.has("--overwrite"),
        )

    def apply(self, state: ClusterState) -> Changed:
        names = self.nodes.of(self, state)
        nodes = {node.name: node for node in state.nodes}
        effects = [effect for name in names for effect in self._effects(nodes[name])]
        state = replace_nodes(state, names, lambda node: with_spec(node, self._taints(node)))
        if any(taint.effect == "NoExecute" for taint in self.added):
            state, evictions = evict_untolerating(state, frozenset(names))
            effects += evictions
        return state, effects

    def _taints(self, node: Node) -> tuple[Taint, ...]:
        """Return the node's taints after the change: an added one takes the place of one of the
        same key and effect."""
        replaced = {(taint.key, taint.effect) for taint in self.added}
        remaining = (taint for taint in node.spec.taints if not self._removes(taint))
        return (*self.added, *(t for t in remaining if (t.key, t.effect) not in replaced))

    def _removes(self, taint: Taint) -> bool:
        return any(
            taint.key == key and effect in ("", taint.effect) for key, effect in self.removed
        )

    def _effects(self, node: Node) -> list[Effect]:
        for key, effect in self.removed:
            if not any(t.key == key and effect in ("", t.effect) for t in node.spec.taints):
                suffix = f":{effect}" if effect else ""
                raise self.error(f'node {node.name} has no taint "{key}{suffix}"')
        present = {(taint.key, taint.effect): taint for taint in node.spec.taints}
        for taint in self.added:
            old = present.get((taint.key, taint.effect))
            if old is not None and not self.overwrites:
                problem = f"node {node.name} already has the taint {_taint_text(old)}"
                raise self.error(f"{problem}; --overwrite replaces it, as kubectl's")
        effects = [Effect(node.name, f"tainted {_taint_text(taint)}") for taint in self.added]
        gone = [taint for taint in node.spec.taints if self._removes(taint)]
        return effects + [Effect(node.name, f"taint {_taint_text(t)} removed") for t in gone]


def _is_taint(word: str) -> bool:
    return "=" in word or ":" in word or word.endswith("-")


def _taint_text(taint: Taint) -> str:
    value = f"={taint.value}" if taint.value else ""
    return f"{taint.key}{value}:{taint.effect}"


def _read_taint(arguments: Arguments, spec: str) -> Taint:
    pair, _, effect = spec.partition(":")
    key, _, value = pair.partition("=")
    if not key or effect not in _EFFECTS:
        raise arguments.error(
            f'"{spec}" is not a taint: expected KEY=VALUE:EFFECT, with one of {", ".join(_EFFECTS)}'
        )
    return Taint(key, value, effect)


_ADD_NODES = "add-nodes NAME [--like NODE] [--count N] [--label K=V] [--cpu N] [--memory N]"


@dataclass(frozen=True, slots=True)
class AddNodes(Change):
    """add-nodes NAME --like NODE --count N, or with what the nodes have.

    like: the node that they are copies of; "": they have nothing but what is given
    labels, resources, taints: that they have instead of those of the same name, or besides
    """

    name: str
    like: str
    count: int
    labels: Mapping[str, str] = field(default_factory=dict)
    resources: Mapping[str, str] = field(default_factory=dict)
    taints: tuple[Taint, ...] = ()

    @staticmethod
    def parse(arguments: Arguments) -> AddNodes:
        resources = {
            flag.removeprefix("--"): arguments.flags[flag]
            for flag in ("--cpu", "--memory")
            if flag in arguments.flags
        } | arguments.pairs("--resource")
        like = arguments.flags.get("--like", "")
        if len(arguments.names) != 1 or not (like or resources):
            raise arguments.error(f'expected "{_ADD_NODES} …", with --like or resources')
        for name, amount in resources.items():
            try:
                Quantity.parse(amount)
            except QuantityError:
                raise arguments.error(f'"{amount}" is not an amount of {name}') from None
        return AddNodes(
            arguments.text,
            arguments.names[0],
            like,
            arguments.count("--count") if "--count" in arguments.flags else 1,
            arguments.pairs("--label"),
            resources,
            tuple(_read_taint(arguments, spec) for spec in arguments.values.get("--taint", ())),
        )

    def apply(self, state: ClusterState) -> Changed:
        if self.like:
            check_nodes(self, state, [self.like])
        existing = {node.name for node in state.nodes}
        names = [f"{self.name}-{number}" for number in range(1, self.count + 1)]
        for name in names:
            if name in existing:
                raise self.error(f'node "{name}" already exists; choose another NAME')
        model = self._model(state)
        csi_nodes = dict(state.csi_nodes)
        if self.like in csi_nodes:
            csi_nodes |= {name: copy_of_csi_node(csi_nodes[self.like], name) for name in names}
        copies = [copy_of_node(model, name) for name in names]
        if self.taints and copies:
            # Copies share the taints of their model.
            taints = {(t.key, t.effect): t for t in (*copies[0].spec.taints, *self.taints)}
            copies = [with_spec(node, tuple(taints.values())) for node in copies]
        detail = f"like {self.like}" if self.like else ""
        effects = [Effect(name, "added", detail) for name in names]
        slices = {**state.resource_slices}
        for each in state.resource_slices.values():
            if each.spec.node_name == self.like and self.like:
                own = (copy_of_slice(each, name) for name in names)
                slices |= {copy.name: copy for copy in own}
        return replace(
            state, nodes=(*state.nodes, *copies), csi_nodes=csi_nodes, resource_slices=slices
        ), effects

    def warnings_in(self, state: ClusterState) -> tuple[str, ...]:
        """Warn of the labels of region and zone that copies have from their model: whoever did not
        name them may want others."""
        model = next((node for node in state.nodes if node.name == self.like), None)
        labels = model.metadata.labels if model is not None else {}
        return tuple(
            f"{self.text}: the new nodes have {self.like}'s label {key}={labels[key]}; "
            f"--label {key}=VALUE gives them another"
            for key in (REGION_LABEL, ZONE_LABEL)
            if key in labels and key not in self.labels
        )

    def _model(self, state: ClusterState) -> Node:
        """Return the node that is copied, with what the change gives it."""
        node = next((node for node in state.nodes if node.name == self.like), None)
        if node is None:
            data: dict[str, Any] = {"apiVersion": "v1", "metadata": {"name": self.name}}
        elif not (self.labels or self.resources):
            return node
        else:
            data = plain_object(KINDS["Node"], node)
        own = {} if self.like else {HOSTNAME_LABEL: self.name}
        metadata, status = data["metadata"], data.get("status") or {}
        labels = {**own, **(metadata.get("labels") or {}), **self.labels}
        capacity = {**(status.get("capacity") or {"pods": KUBELET_PODS}), **self.resources}
        allocatable = {**capacity, **(status.get("allocatable") or {}), **self.resources}
        data["metadata"] = {**metadata, "labels": labels}
        data["status"] = {**status, "capacity": capacity, "allocatable": allocatable}
        return load_objects(state, [data | {"kind": "Node"}], self.text).nodes[0]


def copy_of_node(model: Node, name: str) -> Node:
    """Return a new node like another one: its labels with its own host name, its taints but those
    that controllers put there, its capacity and images."""
    own = {HOSTNAME_LABEL: name} if HOSTNAME_LABEL in model.metadata.labels else {}
    taints = tuple(t for t in model.spec.taints if not is_of_controller(t.key))
    absent = dict.fromkeys(("uid", "creationTimestamp", "resourceVersion"))
    renamed = edited(model, {"metadata": {**absent, "name": name, "labels": own}})
    return with_spec(renamed, taints, unschedulable=False)


def copy_of_csi_node(csi_node: CSINode, name: str) -> CSINode:
    return structs.replace(csi_node, metadata=structs.replace(csi_node.metadata, name=name, uid=""))


def copy_of_slice(resource_slice: ResourceSlice, node: str) -> ResourceSlice:
    """Return the devices of a node's slice as those of another node, in a pool of its own."""
    spec, pool = resource_slice.spec, resource_slice.spec.pool
    pool = structs.replace(
        pool, name=f"{pool.name}-{node}" if pool.name != spec.node_name else node
    )
    metadata = structs.replace(
        resource_slice.metadata, name=f"{resource_slice.name}-{node}", uid="", resource_version=""
    )
    return structs.replace(
        resource_slice, metadata=metadata, spec=structs.replace(spec, node_name=node, pool=pool)
    )


# -- pods that leave ------------------------------------------------------------------------------
# Pods that leave because their node changed: evicted for a NoExecute taint, or daemon pods that may
# not run there any more.
#
# Upstream: pkg/controller/tainteviction/taint_eviction.go (processPodOnNode),
# plugin/pkg/admission/defaulttolerationseconds (what pods tolerate that say nothing of it),
# pkg/controller/daemon/daemon_controller.go (podsShouldBeOnNode).


_DEFAULT_SECONDS = 300
_LONG_AGO = "1970-01-01T00:00:00Z"


def evict_untolerating(state: ClusterState, nodes: Collection[str]) -> Changed:
    """Remove the pods that do not tolerate the NoExecute taints of these nodes for ever: their
    controllers make them anew; daemon pods and those without a controller are gone."""
    taints = {
        node.name: tuple(taint for taint in node.spec.taints if taint.effect == "NoExecute")
        for node in state.nodes
        if node.name in nodes
    }
    leaving, gone, held, effects = [], [], [], []
    for pod in select_on_nodes(state.pods, {name for name, own in taints.items() if own}):
        own = taints[pod.node_name]
        seconds = tolerated_for(pod, own)
        if seconds is None or not is_running(pod) or is_static(pod):
            continue
        detail = f"was on {pod.node_name}"
        detail += f", tolerated for {seconds} s" if seconds else ""
        if is_held(pod) and any(taint.key == UNREACHABLE for taint in own):
            held.append(pod)
            effects.append(Effect(pod.key, "being deleted", "until its node is back"))
        elif pod.metadata.controller is not None and not is_of_daemon_set(pod):
            leaving.append(pod)
            effects.append(Effect(pod.key, "pending again", detail))
        else:
            gone.append(pod)
            controller = "may not run there" if is_of_daemon_set(pod) else "no controller"
            effects.append(Effect(pod.key, "deleted", f"{detail}; {controller}"))
    state = pending_again(without_pods(state, gone), leaving)
    # No kubelet hears of the deletion.
    return with_deletion(state, held, newest_timestamp(state.pods) or _LONG_AGO)[0], effects


def with_deletion(
    state: ClusterState, pods: Collection[Pod], at: str
) -> tuple[ClusterState, list[Pod]]:
    """Return the state in which these pods are being deleted since then, and the pods as they are
    in it.
    at: "" for not being deleted"""
    marked: dict[int, Pod | None] = {}
    changed = []
    for pod in pods:
        metadata = structs.replace(pod.metadata, deletion_timestamp=at)
        changed.append(structs.replace(pod, metadata=metadata))
        marked[id(pod)] = changed[-1]
    return replace(state, pods=replace_pods(state.pods, marked)) if marked else state, changed


def is_held(pod: Pod) -> bool:
    """Return whether its controller makes another one only once it is gone, for which its node has
    to answer. Upstream: pkg/controller/statefulset."""
    return is_owned_by(pod, "StatefulSet")


def tolerated_for(pod: Pod, taints: Collection[Taint]) -> int | None:
    """Return for how many seconds a pod tolerates NoExecute taints: 0 if it does not tolerate one
    of them, None if it tolerates all for ever. Upstream: GetMatchingTolerations,
    getMinTolerationTime."""
    limits = []
    for taint in taints:
        toleration = next((t for t in pod.spec.tolerations if tolerates(t, taint)), None)
        if toleration is None and taint.key in NOT_READY_TAINTS:
            # The DaemonSet controller gives its pods one, and the API server adds one to a pod
            # whose own tolerations do not name this taint.
            is_named = any(
                t.key in (taint.key, "") and t.effect in (taint.effect, "")
                for t in pod.spec.tolerations
            )
            if is_of_daemon_set(pod):
                toleration = Toleration(taint.key, "Exists", effect=taint.effect)
            elif not is_named:
                toleration = Toleration(taint.key, "Exists", "", taint.effect, _DEFAULT_SECONDS)
        if toleration is None:
            return 0
        if toleration.toleration_seconds is not None:
            limits.append(max(0, toleration.toleration_seconds))
    return min(limits, default=None)


def remove_stray_daemons(state: ClusterState, nodes: Collection[str]) -> Changed:
    """Remove the daemon pods on these nodes that their DaemonSet, which the state must hold, does
    not want there any more."""
    by_name: dict[str, Node] = {node.name: node for node in state.nodes if node.name in nodes}
    models: dict[tuple[str, str], Pod | None] = {}
    stray = []
    effects = []
    for pod in select_on_nodes(state.pods, by_name):
        if not is_of_daemon_set(pod) or not is_running(pod):
            continue
        key = (pod.namespace, pod.owner[1])
        if key not in models:
            daemon_set = state.daemon_sets.get(key)
            models[key] = None if daemon_set is None else daemon_model(state, daemon_set)
        model = models[key]
        if model is not None and not should_continue_on(model, by_name[pod.node_name]):
            stray.append(pod)
            detail = f"was on {pod.node_name}; may not run there"
            effects.append(Effect(pod.key, "deleted", detail))
    return without_pods(state, stray), effects


# -- label ----------------------------------------------------------------------------------------


_KINDS = {
    **dict.fromkeys(("node", "nodes", "no"), "node"),
    **dict.fromkeys(("pod", "pods", "po"), "pod"),
}
_Labelled = TypeVar("_Labelled", Node, Pod)


@dataclass(frozen=True, slots=True)
class Label(Change):
    """kind: "node" or "pod". selector: of -l, "" for none. removed: keys. overwrites: whether a
    label may have another value already"""

    kind: str
    names: tuple[str, ...]
    selector: str
    namespace: str
    labels: tuple[tuple[str, str], ...]
    removed: tuple[str, ...]
    overwrites: bool = False

    @staticmethod
    def parse(arguments: Arguments) -> Label:
        tokens = list(arguments.names)
        kind_word, _, first = tokens.pop(0).partition("/") if tokens else ("", "", "")
        kind = _KINDS.get(kind_word)
        if kind is None:
            raise arguments.error('expected "label nodes NAME... KEY=VALUE", or pods')
        tokens = [first, *tokens] if first else tokens
        names = tuple(token for token in tokens if "=" not in token and not token.endswith("-"))
        pairs = [token.partition("=") for token in tokens if "=" in token]
        removed = tuple(token[:-1] for token in tokens if "=" not in token and token.endswith("-"))
        if not pairs and not removed:
            raise arguments.error("expected a label: KEY=VALUE, or KEY- to remove one")
        selector = arguments.flags.get("--selector", "")
        if not names and not selector and not arguments.has("--all"):
            raise arguments.error(f"expected the name of a {kind}, -l SELECTOR or --all")
        read_selector(arguments.text, selector)
        return Label(
            arguments.text,
            kind,
            node_names(arguments, names) if names and kind == "node" else names,
            selector,
            "" if arguments.has("--all-namespaces") else arguments.namespace,
            tuple((key, value) for key, _, value in pairs),
            removed,
            arguments.has("--overwrite"),
        )

    def apply(self, state: ClusterState) -> Changed:
        if self.kind == "node":
            names = NodeChoice(self.names, self.selector).of(self, state)
            nodes = {node.name: node for node in state.nodes}
            effects = [effect for name in names for effect in self._effects(nodes[name])]
            state = replace_nodes(state, names, self._labelled)
            state, removals = remove_stray_daemons(state, frozenset(names))
            return state, effects + removals
        pods = choose_pods(self, state, self.names, self.selector, self.namespace)
        if not pods and self.selector:
            raise self.error(f"no pod matches -l {self.selector}")
        effects = [effect for pod in pods for effect in self._effects(pod)]
        labelled = {id(pod): self._labelled(pod) for pod in pods}
        return replace(state, pods=replace_pods(state.pods, labelled)), effects

    def _labelled(self, obj: _Labelled) -> _Labelled:
        labels = {**dict.fromkeys(self.removed), **dict(self.labels)}
        return edited(obj, {"metadata": {"labels": labels}})

    def _effects(self, obj: Node | Pod) -> list[Effect]:
        labels = obj.metadata.labels
        effects = []
        for key, value in self.labels:
            if labels.get(key, value) != value and not self.overwrites:
                problem = f"{obj.key} has {key}={labels[key]} already"
                raise self.error(f"{problem}; --overwrite replaces it, as kubectl's")
            detail = f"was {labels[key]}" if labels.get(key, value) != value else ""
            effects.append(Effect(obj.key, f"labelled {key}={value}", detail))
        for key in self.removed:
            if key in labels:
                effects.append(Effect(obj.key, f"label {key} removed", f"was {labels[key]}"))
            else:
                effects.append(Effect(obj.key, f"has no label {key}"))
        return effects


# -- fail and recover -----------------------------------------------------------------------------
# Nodes that fail, and nodes that come back: `fail nodes`, `recover nodes`.
#
# Upstream: pkg/controller/nodelifecycle (the taints of a node whose kubelet does not answer) and
# pkg/controller/tainteviction (which pods leave it, and when). In a state a failed node has been so
# for longer than any pod tolerates; engine/replay/node_outages.py has the same over time.


NO_SCHEDULE, NO_EXECUTE = "NoSchedule", "NoExecute"
_UNKNOWN: Mapping[str, Any] = {
    "status": "Unknown",
    "reason": "NodeStatusUnknown",
    "message": "Kubelet stopped posting node status.",
}
_READY: Mapping[str, Any] = {
    "status": "True",
    "reason": "KubeletReady",
    "message": "kubelet is posting ready status",
}


@dataclass(frozen=True, slots=True)
class _Outage(Change):
    """VERB nodes NODE... | -l SELECTOR"""

    nodes: NodeChoice
    verb: ClassVar[str]

    @classmethod
    def parse(cls, arguments: Arguments) -> Self:
        usage = f'"{cls.verb} nodes NODE..." or "{cls.verb} nodes -l SELECTOR"'
        names = node_arguments(arguments, usage)
        return cls(arguments.text, NodeChoice.read(arguments, names))


@dataclass(frozen=True, slots=True)
class FailNodes(_Outage):
    verb = "fail"

    def apply(self, state: ClusterState) -> Changed:
        names = self.nodes.of(self, state)
        for effect in (NO_SCHEDULE, NO_EXECUTE):
            state = with_failed(state, names, effect)
        state, evictions = evict_untolerating(state, frozenset(names))
        return state, [*(Effect(name, "failed") for name in names), *evictions]


@dataclass(frozen=True, slots=True)
class RecoverNodes(_Outage):
    verb = "recover"

    def apply(self, state: ClusterState) -> Changed:
        names = self.nodes.of(self, state)
        leaving = [pod for pod in select_on_nodes(state.pods, set(names)) if pod.deleting]
        again = [pod for pod in leaving if is_held(pod)]
        gone = [pod for pod in leaving if not is_held(pod)]
        state, again = with_deletion(without_pods(with_recovered(state, names), gone), again, "")
        return pending_again(state, again), [
            *(Effect(name, "recovered") for name in names),
            *moved(again),
            *moved(gone, "deleted"),
        ]


def with_failed(state: ClusterState, names: Collection[str], effect: str) -> ClusterState:
    """Return the state with the taint of nodes that do not answer, of this effect, on these
    nodes."""
    taint = Taint(UNREACHABLE, effect=effect)

    def edit(node: Node) -> Node:
        others = _without_outage(node, (effect,))
        return _with_condition(with_spec(node, (*others, taint)), _UNKNOWN)

    return replace_nodes(state, names, edit)


def with_recovered(state: ClusterState, names: Collection[str]) -> ClusterState:
    """Return the state with these nodes ready."""
    untainted = without_taints(state, names, (NO_SCHEDULE, NO_EXECUTE))
    return replace_nodes(untainted, names, lambda node: _with_condition(node, _READY))


def without_taints(
    state: ClusterState, names: Collection[str], effects: Sequence[str]
) -> ClusterState:
    """Return the state without the taints of these effects that nodes have for not being ready."""
    return replace_nodes(state, names, lambda node: with_spec(node, _without_outage(node, effects)))


def _without_outage(node: Node, effects: Sequence[str]) -> tuple[Taint, ...]:
    taints = node.spec.taints
    return tuple(t for t in taints if t.key not in NOT_READY_TAINTS or t.effect not in effects)


def _with_condition(node: Node, ready: Mapping[str, Any]) -> Node:
    """Return the node with this Ready condition, which extenders are sent."""
    plain = plain_json(node.raw) if bytes(node.raw) else {}
    conditions = value_at(plain, ("status", "conditions")) or ()
    others = [each for each in conditions if each.get("type") != "Ready"]
    patch = {"conditions": [*others, {"type": "Ready", **ready}]}
    return edited(node, {"status": patch})
