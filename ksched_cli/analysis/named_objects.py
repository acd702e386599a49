"""The pods and nodes that a command line names, in an open simulation."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from ksched_cli.errors import UsageError

if TYPE_CHECKING:
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.engine.simulation import Simulation


def pod_name(name: str, namespace: str) -> str:
    """Of POD and -n: `name`, or `namespace/name` where one of the two gives the namespace. Raises
    UsageError where they contradict each other."""
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
    """By `name`, `namespace/name` or `pod/name`; namespace: of -n. Raises UsageError where there is
    none, or more than one."""
    name = pod_name(name, namespace)
    pods = [pod for pod in simulation.state.pods if name in (pod.key, pod.metadata.name)]
    pods = [pod for pod in pods if pod.key == name] or pods
    if len(pods) > 1:
        keys = ", ".join(sorted(pod.key for pod in pods))
        raise UsageError(f'several pods are named "{name}": {keys}; give the namespace too')
    if not pods:
        raise UsageError(_no_such_pod(simulation, name))
    return simulation.catalog.info(pods[0])


def find_pods(simulation: Simulation, names: Iterable[str], namespace: str = "") -> frozenset[str]:
    """Their keys; see find_pod."""
    return frozenset(find_pod(simulation, name, namespace).key for name in names)


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

    keys = [pod.key for pod in simulation.state.pods]
    key_of = {key.rpartition("/")[2]: key for key in keys}
    matches = get_close_matches(name, [*keys, *key_of], n=3)
    suggestions = ", ".join(dict.fromkeys(key_of.get(match, match) for match in matches))
    message = f'no pod "{name}" in the state ({len(keys)} pods)'
    return f"{message}; did you mean {suggestions}?" if suggestions else message
