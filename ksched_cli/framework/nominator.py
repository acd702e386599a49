"""The nominations of pods to nodes.

Upstream: pkg/scheduler/backend/queue/nominator.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ksched_cli.cluster.pod_info import PodInfo


class Nominator:
    """Pods that are nominated to a node, in the order of their nomination.

    version: how often a nomination was made or taken back
    node_by_uid: the nominated node's name, by the pod's uid
    stand_ins: by uid, what is known of pods that are being tried and in no queue meanwhile
    """

    def __init__(self) -> None:
        self.version = 0
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self.node_by_uid: dict[str, str] = {}
        self.stand_ins: Mapping[str, PodInfo] = {}

    def __bool__(self) -> bool:
        return bool(self.node_by_uid)

    def nominate(self, pod: PodInfo, node: str) -> None:
        """Nominates the pod to `node`; an earlier nomination is cleared."""
        self.clear(pod)
        self.version += 1
        self._by_node.setdefault(node, {})[pod.uid] = pod
        self.node_by_uid[pod.uid] = node

    def renew(self, pod: PodInfo, node: str) -> None:
        """node: the nominated one, or "" for none"""
        if node:
            self.nominate(pod, node)
        else:
            self.clear(pod)

    def clear(self, pod: PodInfo) -> None:
        node = self.node_by_uid.pop(pod.uid, None)
        if node is not None:
            self.version += 1
            del self._by_node[node][pod.uid]
            if not self._by_node[node]:
                del self._by_node[node]

    def node_of(self, pod: PodInfo) -> str:
        """The nominated node's name, or ""."""
        return self.node_by_uid.get(pod.uid, "")

    def on_node(self, node: str) -> tuple[PodInfo, ...]:
        pods = self._by_node.get(node, {}).values()
        if not self.stand_ins:
            return tuple(pods)
        return tuple(self.stand_ins.get(pod.uid, pod) for pod in pods)

    def nodes(self) -> Iterable[str]:
        """The names of the nodes that some pod is nominated to."""
        return self._by_node.keys()
