"""The pods and nodes that a command line names, in an open simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Pod
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.engine.simulation import Simulation
    from ksched_cli.kube.selectors import Selector


def pod_name(name: str, namespace: str) -> str:
    """The pod that POD and -n name: `name`, or `namespace/name` where one of the two gives the
    namespace. Raises UsageError where they contradict each other."""
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
    """By `name`, `namespace/name` or `pod/name`; else by its workload, as KIND/NAME or NAME: the
    next of the workload's pods in the queue, or the newest. namespace: of -n. Raises UsageError
    where there is none, or more than one."""
    state = simulation.state
    kind = _workload_kind(name)
    full = name if kind else pod_name(name, namespace)
    pods = [pod for pod in state.pods if full in (pod.key, pod.metadata.name)]
    pods = [pod for pod in pods if pod.key == full] or pods
    if not pods:
        pods = _of_workload(state, name, kind, namespace)
    if len(pods) > 1:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise UsageError(f'several pods are named "{name}": {keys}; give the namespace too')
    if not pods:
        raise UsageError(_no_such_pod(simulation, name))
    return simulation.catalog.info(pods[0])


def pods_of(simulation: Simulation, name: str, namespace: str = "") -> frozenset[str]:
    """The keys of the pod of this name; of KIND/NAME, be it a PodGroup or a Workload, or of a pod's
    group, all of its pods that are neither finished nor being deleted. Raises as find_pod."""
    from ksched_cli.framework.pod_groups import group_key

    state = simulation.state
    groups = _groups_named(simulation, name, namespace)
    if groups:
        pods = [pod for pod in state.pods if group_key(pod) in groups]
        if not pods:
            raise UsageError(f"{name} has no pods in the state")
        return _active(pods)
    pod = find_pod(simulation, name, namespace)
    pods = [pod.pod]
    if pod.name != name.rpartition("/")[2] or _workload_kind(name):
        pods = _pods_of_workload(state, name, _workload_kind(name), namespace) or pods
    key = group_key(pod.pod)
    if simulation.pod_groups is not None and key is not None:
        pods = [each for each in state.pods if group_key(each) == key]
    return _active(pods)


def _active(pods: Iterable[Pod]) -> frozenset[str]:
    return frozenset(pod.key for pod in pods if not pod.finished and not pod.deleting)


def _groups_named(simulation: Simulation, name: str, namespace: str) -> frozenset[tuple[str, str]]:
    """The keys of podgroup/NAME, or of the groups of workload/NAME; none for another name. Raises
    UsageError."""
    word, _, own = name.rpartition("/")
    kind = _GROUP_KINDS.get(word.partition(".")[0].lower())
    if kind is None:
        return frozenset()
    groups = simulation.pod_groups
    if groups is None:
        raise UsageError(f"{name}: pods have groups with --feature-gates GenericWorkload=true only")
    names = {
        key: group.workload if kind == "Workload" else group.name
        for key, group in groups.groups.items()
        if namespace in ("", key[0])
    }
    keys = frozenset(key for key, each in names.items() if each == own)
    namespaces = ", ".join(sorted({key[0] for key in keys}))
    if "," in namespaces:
        raise UsageError(f'several namespaces have a {kind} "{own}": {namespaces}; give -n')
    if not keys:
        listed = ", ".join(sorted(set(filter(None, names.values())))) or "none"
        missing = "was made for Workload" if kind == "Workload" else "has the name"
        raise UsageError(f'no PodGroup of the state {missing} "{own}" ({kind}s: {listed})')
    return keys


def _workload_kind(name: str) -> str:
    """The kind of KIND/NAME, but for a pod's; else ""."""
    from ksched_cli.scenario.objects import kind_of

    word, slash, _ = name.rpartition("/")
    kind = kind_of(word) if slash else None
    return kind.name if kind is not None and kind.name != "Pod" else ""


def _of_workload(state: ClusterState, name: str, kind: str, namespace: str) -> list[Pod]:
    """The next pod of a workload, or the newest; none where there is no such workload. Raises
    UsageError where there are several."""
    pods = _pods_of_workload(state, name, kind, namespace)
    waiting = [pod for pod in pods if not pod.node_name]
    if waiting:
        return [min(waiting, key=lambda pod: pod.metadata.creation_timestamp)]
    return [max(pods, key=lambda pod: pod.metadata.creation_timestamp)] if pods else []


def _pods_of_workload(state: ClusterState, name: str, kind: str, namespace: str) -> list[Pod]:
    """Its pods that are active. Raises UsageError where several workloads have the name."""
    from ksched_cli.scenario.owned_pods import OwnedPods

    parent, _, own = name.rpartition("/")
    space = namespace if kind else namespace or parent
    workloads = {
        key: pods
        for key, pods in OwnedPods.of(state.pods).active.items()
        if key[2] == own and space in ("", key[0]) and kind in ("", key[1])
    }
    if len(workloads) > 1:
        listed = ", ".join(f"{kind.lower()}/{own} of namespace {at}" for at, kind, _ in workloads)
        raise UsageError(f'several workloads are named "{name}": {listed}; give KIND/NAME and -n')
    return [pod for group in workloads.values() for pod in group]


_GROUP_KINDS = {
    "podgroup": "PodGroup",
    "podgroups": "PodGroup",
    "workload": "Workload",
    "workloads": "Workload",
}


def find_pods(simulation: Simulation, names: Iterable[str], namespace: str = "") -> frozenset[str]:
    """Their keys; see find_pod."""
    return frozenset(find_pod(simulation, name, namespace).key for name in names)


def label_selector_of(text: str) -> Selector:
    """A selector as -l takes it. Raises UsageError."""
    from ksched_cli.scenario.change import ChangeError
    from ksched_cli.scenario.lookup import read_selector

    try:
        return read_selector("", text)
    except ChangeError as error:
        raise UsageError(error.problem) from None


def chosen_pods(
    simulation: Simulation, namespace: str, selector: str, workload: str
) -> frozenset[str] | None:
    """The keys of the pods that all of these choose; None where nothing is chosen. workload:
    KIND/NAME or NAME; selector: as -l takes it. Raises UsageError."""
    from ksched_cli.scenario.owned_pods import OwnedPods

    if not (namespace or selector or workload):
        return None
    matches = label_selector_of(selector).matches
    state, keys = simulation.state, None
    if workload:
        owned = OwnedPods.of(state.pods)
        kind, name = _workload_kind(workload), workload.rpartition("/")[2]
        keys = {
            pod.key
            for groups in (owned.active, owned.ended, owned.deleted)
            for key, pods in groups.items()
            if key[2] == name and kind in ("", key[1])
            for pod in pods
        }
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
    """Raises UsageError for the first name that is no node of the state."""
    from difflib import get_close_matches

    nodes = simulation.snapshot.names
    for name in names:
        if name not in simulation.snapshot.row:
            matches = ", ".join(get_close_matches(name, nodes, n=3))
            message = f'no node "{name}" in the state ({len(nodes)} nodes)'
            raise UsageError(f"{message}; did you mean {matches}?" if matches else message)


def owners(simulation: Simulation, pods: Iterable[str]) -> dict[str, str]:
    """Pod key → who manages it, of these pods."""
    from ksched_cli.analysis.pending import owner

    keys = set(pods)
    return {
        pod.key: f"{pod.metadata.namespace}/{owner(simulation.catalog.info(pod))}"
        for pod in simulation.state.pods
        if pod.key in keys
    }


def _no_such_pod(simulation: Simulation, name: str) -> str:
    from difflib import get_close_matches

    from ksched_cli.scenario.owned_pods import OwnedPods

    keys = [pod.key for pod in simulation.state.pods]
    key_of = {key.rpartition("/")[2]: key for key in keys}
    for _, kind, workload in OwnedPods.of(simulation.state.pods).active:
        key_of[workload] = f"{kind.lower()}/{workload}"
    matches = get_close_matches(name, [*keys, *key_of, *key_of.values()], n=3)
    suggestions = ", ".join(dict.fromkeys(key_of.get(match, match) for match in matches))
    message = f'no pod "{name}" in the state ({len(keys)} pods)'
    return f"{message}; did you mean {suggestions}?" if suggestions else message
