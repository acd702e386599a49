"""What a question is about: an open Run, and the pods and nodes in it that a command line names."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple, Self

from ksched_cli import program_name
from ksched_cli.errors import UsageError, first_names
from ksched_cli.kube.near_names import near_hint

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Pod
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.framework.pod_groups import GroupKey
    from ksched_cli.kube.selectors import Selector
    from ksched_cli.run.open import Opener, Watch
    from ksched_cli.run.run import ChangeSource, Run


class Subject(NamedTuple):
    """An open Run, and the pod or the workload in it that a question is about.

    simulation: of the Run, which has not run
    name, namespace: to look up the pod or the workload by; "" for a question about the whole Run
    watch: observes the simulation, and those that the question opens besides
    """

    opener: Opener
    run: Run
    simulation: Simulation
    name: str = ""
    namespace: str = ""
    watch: Watch | None = None

    @classmethod
    def open(
        cls,
        opener: Opener,
        run: Run,
        name: str = "",
        manifest: ChangeSource | None = None,
        watch: Watch | None = None,
    ) -> Self:
        """Open the Run. manifest: is applied last; then the question is about its pod or workload.
        Raises KschedError."""
        from msgspec import structs

        from ksched_cli.scenario.apply import Apply
        from ksched_cli.scenario.replicas import applied_target

        namespace = run.namespace
        if manifest is not None:
            run = structs.replace(run, changes=(*run.changes, manifest))
            *_, apply = opener.inputs.changes(run)
            assert isinstance(apply, Apply)
            record = opener.state(run).changes[-1]
            target = applied_target(apply, record.effects)
            name, namespace = target.text, target.namespace
        return cls(opener, run, opener.simulation(run, watch), name, namespace, watch)

    def simulation_of(self, state: ClusterState) -> Simulation:
        """Open the Run again, with another state in place of its own."""
        return self.opener.simulation(self.run, self.watch, state=state)

    @property
    def pod(self) -> PodInfo:
        """See find_pod."""
        return find_pod(self.simulation, self.name, self.namespace)


def pod_name(name: str, namespace: str) -> str:
    """Return the pod that POD and -n name: `name`, or `namespace/name` where one of the two gives
    the namespace. Raises UsageError where they contradict each other."""
    kind, slash, rest = name.partition("/")
    if slash and kind in ("pod", "pods", "po"):
        name = rest
    if not namespace:
        return name
    parent, slash, _ = name.partition("/")
    if slash and parent != namespace:
        raise UsageError(f'-n is "{namespace}", but "{name}" is in namespace "{parent}"')
    return name if slash else f"{namespace}/{name}"


def find_pod(simulation: Simulation, name: str, namespace: str = "") -> PodInfo:
    """Find a pod by `name`, `namespace/name` or `pod/name`; else by its workload, as KIND/NAME or
    NAME: the next of the workload's pods in the queue, or the newest. namespace: of -n. Raises
    UsageError if there is none, or more than one."""
    state = simulation.state
    kind = _workload_kind(name)
    full = name if kind else pod_name(name, namespace)
    pods = [pod for pod in state.pods if full in (pod.key, pod.metadata.name)]
    pods = [pod for pod in pods if pod.key == full] or pods
    if not pods:
        # A workload stands for its next pod in the queue, or the newest.
        own = _pods_of_workload(state, name, kind, namespace)
        waiting = [pod for pod in own if not pod.node_name]
        if waiting:
            pods = [min(waiting, key=lambda pod: pod.metadata.creation_timestamp)]
        elif own:
            pods = [max(own, key=lambda pod: pod.metadata.creation_timestamp)]
    if len(pods) > 1:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise UsageError(f'several pods are named "{name}": {keys}; give the namespace too')
    if not pods:
        raise UsageError(_no_such_pod(simulation, name))
    return simulation.catalog.info(pods[0])


def pods_of(simulation: Simulation, name: str, namespace: str = "") -> frozenset[str]:
    """Return the keys of the pod of this name; of KIND/NAME, of a group or a Workload, or of a
    pod's group, all of its pods that are neither finished nor being deleted. Raises as find_pod."""
    from ksched_cli.framework.pod_groups import group_key

    state = simulation.state
    groups = find_groups(simulation, name, namespace)
    if groups:
        keys = frozenset(key for group in groups for key in group.pods)
        if not keys:
            raise UsageError(f"{name} has no pods in the state")
        return keys
    pod = find_pod(simulation, name, namespace)
    pods = [pod.pod]
    if pod.name != name.rpartition("/")[2] or _workload_kind(name):
        pods = _pods_of_workload(state, name, _workload_kind(name), namespace) or pods
    key = group_key(pod.pod)
    if simulation.pod_groups is not None and key is not None:
        pods = [each for each in state.pods if group_key(each) == key]
    return frozenset(each.key for each in pods if not each.finished and not each.deleting)


class GroupName(NamedTuple):
    """A group of pods that are scheduled together.

    pods:     their keys, in the order of the state
    plugin:   that holds them together where the engine does not; else ""
    workload: the name of the Workload that the group was made for, or ""
    kind:     PodGroup or CompositePodGroup
    """

    namespace: str
    name: str
    pods: tuple[str, ...]
    plugin: str = ""
    workload: str = ""
    kind: str = "PodGroup"

    @property
    def key(self) -> str:
        return f"{self.namespace}/{self.name}"

    @property
    def group_key(self) -> GroupKey:
        """See PodGroups."""
        from ksched_cli.framework.pod_groups import composite_key

        is_group = self.kind == "PodGroup"
        return (self.namespace, self.name) if is_group else composite_key(self.namespace, self.name)


_GROUP_KINDS = {
    "podgroup": "PodGroup",
    "podgroups": "PodGroup",
    "pg": "PodGroup",
    "compositepodgroup": "CompositePodGroup",
    "compositepodgroups": "CompositePodGroup",
    "cpg": "CompositePodGroup",
    "workload": "Workload",
    "workloads": "Workload",
}


def find_group(simulation: Simulation, name: str, namespace: str = "") -> GroupName | None:
    """Find one group, as find_groups does. Raises UsageError where there are several, too."""
    groups = find_groups(simulation, name, namespace)
    if len(groups) > 1:
        listed = ", ".join(f"podgroup/{group.name}" for group in groups)
        raise UsageError(f"{name} has several PodGroups: {listed}; ask about one of them")
    return groups[0] if groups else None


def find_groups(simulation: Simulation, name: str, namespace: str = "") -> list[GroupName]:
    """Return the group of podgroup/NAME or compositepodgroup/NAME, or those of workload/NAME; also
    that of NAME or NAMESPACE/NAME, if no pod and no controller has that name, a PodGroup before a
    CompositePodGroup: none if no group has it either. namespace: of -n. Raises UsageError where no
    group is of the kind, or those of several namespaces are."""
    word, _, own = name.rpartition("/")
    kind = _GROUP_KINDS.get(word.partition(".")[0].lower(), "")
    if not kind and (_workload_kind(name) or _is_pod_or_workload(simulation, name, namespace)):
        return []
    space = namespace if kind else pod_name(name, namespace).rpartition("/")[0]
    there = [group for group in _groups(simulation) if space in ("", group.namespace)]
    composites = [group for group in there if group.kind == "CompositePodGroup"]
    is_composite = kind == "CompositePodGroup"
    there = composites if is_composite else [group for group in there if group not in composites]
    names = [group.workload if kind == "Workload" else group.name for group in there]
    groups = [group for group, each in zip(there, names, strict=True) if each == own]
    if not groups and not kind:
        groups = [group for group in composites if group.name == own]
    spaces = dict.fromkeys(group.namespace for group in groups)
    if len(spaces) > 1:
        what = f'{kind or "PodGroup"} "{own}"'
        raise UsageError(f"several namespaces have a {what}: {', '.join(spaces)}; give -n")
    is_named = kind or any(
        (group := pod.spec.scheduling_group) is not None
        and group.pod_group_name == own
        and space in ("", pod.namespace)
        for pod in simulation.state.pods
    )
    if not groups and is_named and simulation.pod_groups is None:
        raise UsageError(f"{name}: pod groups require --feature-gates GenericWorkload=true")
    if kind and not groups:
        listed = ", ".join(sorted(set(filter(None, names)))) or "none"
        missing = "was made for Workload" if kind == "Workload" else "has the name"
        what = "CompositePodGroup" if is_composite else "PodGroup"
        raise UsageError(f'no {what} of the state {missing} "{own}" ({kind}s: {listed})')
    return groups


def _is_pod_or_workload(simulation: Simulation, name: str, namespace: str) -> bool:
    state, full = simulation.state, pod_name(name, namespace)
    if any(full in (pod.key, pod.metadata.name) for pod in state.pods):
        return True
    return bool(_pods_of_workload(state, name, "", namespace))


def _groups(simulation: Simulation) -> list[GroupName]:
    """Return all that have pods or an object, of the engine or of plugins."""
    from ksched_cli.framework.interface import GroupsPods
    from ksched_cli.framework.pod_groups import group_key

    engine_groups = simulation.pod_groups
    objects = {} if engine_groups is None else engine_groups.groups
    pods: dict[tuple[str, str, str], list[str]] = {(*key, ""): [] for key in objects}
    for pod in simulation.state.pods:
        framework = simulation.frameworks.get(pod.spec.scheduler_name)
        if pod.finished or pod.deleting or framework is None:
            continue
        key = group_key(pod)
        if key is not None and engine_groups is not None:
            around = engine_groups.ancestors(objects[key]) if key in objects else ()
            for each in dict.fromkeys((key, *(group.key for group in around))):
                pods.setdefault((*each, ""), []).append(pod.key)
        for plugin in framework.plugins:
            if isinstance(plugin, GroupsPods):
                group = simulation.caller.group_of(plugin, simulation.catalog.info(pod))
                space, _, own = group.partition("/")
                if own:
                    pods.setdefault((space, own, plugin.name), []).append(pod.key)
    names = []
    for (space, own, holder), keys in pods.items():
        spec = None if holder else objects.get((space, own))
        if spec is None:
            names.append(GroupName(space, own, tuple(keys), holder))
        else:
            own_name = (spec.namespace, spec.name, tuple(keys))
            names.append(GroupName(*own_name, workload=spec.workload, kind=spec.kind))
    return names


def _workload_kind(name: str) -> str:
    """Return the kind of KIND/NAME, but for a pod's; else ""."""
    from ksched_cli.scenario.objects import kind_of

    word, slash, _ = name.rpartition("/")
    kind = kind_of(word) if slash else None
    return kind.name if kind is not None and kind.name != "Pod" else ""


def _pods_of_workload(state: ClusterState, name: str, kind: str, namespace: str) -> list[Pod]:
    """Its pods that are active. Raises UsageError where several workloads have the name."""
    from ksched_cli.scenario.owned_pods import OwnedPods

    parent, _, own = name.rpartition("/")
    space = namespace if kind else namespace or parent
    workloads = {
        key: pods
        for key, pods in OwnedPods.of(state.pods).active.items()
        # The owner of a static pod is its node.
        if key[2] == own and space in ("", key[0]) and kind in ("", key[1]) and key[1] != "Node"
    }
    if len(workloads) > 1:
        listed = ", ".join(f"{kind.lower()}/{own} of namespace {at}" for at, kind, _ in workloads)
        raise UsageError(f'several workloads are named "{name}": {listed}; give KIND/NAME and -n')
    return [pod for group in workloads.values() for pod in group]


def find_pods(simulation: Simulation, names: Iterable[str], namespace: str = "") -> frozenset[str]:
    """Their keys; see find_pod."""
    return frozenset(find_pod(simulation, name, namespace).key for name in names)


def label_selector_of(text: str) -> Selector:
    """Parse a selector as -l takes it. Raises UsageError."""
    from ksched_cli.scenario.arguments import read_selector
    from ksched_cli.scenario.change import ChangeError

    try:
        return read_selector("", text)
    except ChangeError as error:
        raise UsageError(error.problem) from None


def chosen_pods(
    simulation: Simulation, namespace: str, selector: str, workload: str
) -> frozenset[str] | None:
    """Return the keys of the pods that all of these choose; None where nothing is chosen. workload:
    KIND/NAME or NAME; selector: as -l takes it. Raises UsageError."""
    from ksched_cli.scenario.owned_pods import OwnedPods

    if not (namespace or selector or workload):
        return None
    matches = label_selector_of(selector).matches
    state, keys = simulation.state, None
    spaces = {pod.namespace for pod in state.pods} | state.namespaces.keys()
    if namespace and namespace not in spaces:
        hint = near_hint(namespace, sorted(spaces))
        raise UsageError(f'no namespace "{namespace}" in the state{hint}')
    if workload:
        kind, name = _workload_kind(workload), workload.rpartition("/")[2]
        owned = OwnedPods.of(state.pods).all_of(lambda k: k[2] == name and kind in ("", k[1]))
        keys = {pod.key for pod in owned}
        if not keys:
            raise UsageError(_no_such_pod(simulation, workload))
    return frozenset(
        pod.key
        for pod in state.pods
        if namespace in ("", pod.namespace)
        and (keys is None or pod.key in keys)
        and matches(pod.metadata.labels)
    )


def check_nodes(simulation: Simulation, names: Iterable[str]) -> None:
    """Check names of nodes. Raises UsageError for the first that is not a node of the state."""
    nodes = simulation.snapshot.names
    for name in names:
        if name not in simulation.snapshot.row:
            # Answers shorten the names of nodes, and people type what they read.
            longer = [node for node in nodes if name and node.startswith(name)]
            hint = f"; it begins {first_names(longer)}" if longer else near_hint(name, nodes)
            raise UsageError(f'no node "{name}" in the state ({len(nodes)} nodes){hint}')


def _no_such_pod(simulation: Simulation, name: str) -> str:
    from ksched_cli.scenario.owned_pods import OwnedPods

    keys = [pod.key for pod in simulation.state.pods]
    count = f"{len(keys)} pod{'' if len(keys) == 1 else 's'}"
    own = name.rpartition("/")[2]
    if own in simulation.snapshot.row:
        drain = f"{program_name()} drain {own}"
        hint = f"{drain} says whether it can go, --node {own} compares it for a POD"
        return f'"{name}" is a node, not a pod; {hint}'
    if name.endswith((".yaml", ".yml", ".json")):
        return f'no pod "{name}" in the state ({count}); did you mean -f {name}?'
    key_of = {key.rpartition("/")[2]: key for key in keys}
    for _, kind, workload in OwnedPods.of(simulation.state.pods).active:
        key_of[workload] = f"{kind.lower()}/{workload}"
    # A pod or a workload of this name, of another namespace or kind, is what was likely meant.
    same = key_of.get(own, "")
    hint = f"; did you mean {same}?" if same else ""
    hint = hint or near_hint(name, [*keys, *key_of, *key_of.values()], meant=key_of)
    return f'no pod "{name}" in the state ({count}){hint}'
