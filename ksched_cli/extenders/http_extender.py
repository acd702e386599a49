"""One extender: what it is asked, and what its answers mean.

Upstream: pkg/scheduler/extender.go (HTTPExtender).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import msgspec
import numpy as np

from ksched_cli.cluster.objects import Node, decode_hook
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.config.types import Extender
from ksched_cli.extenders import wire
from ksched_cli.extenders.client import OK, ExtenderRequest, Reply, Transport, UnreachableError
from ksched_cli.extenders.objects import NodeTexts, pod_json
from ksched_cli.extenders.returned_nodes import ReturnedNodes
from ksched_cli.framework.extender import ExtenderError
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.nominator import Nominator
from ksched_cli.framework.preemption import Victims
from ksched_cli.kube.formatting import quote

# Told what failed, and whether there was no answer at all.
Troubled = Callable[["HTTPExtender", str, bool], None]

T = TypeVar("T")

_MAX_KEPT = 20_000


@dataclass(frozen=True, slots=True)
class Filtered:
    """nodes: those that passed. The maps: node name → why it did not."""

    nodes: Nodes
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class BindingCall:
    """What binds a pod: not sent yet, or only to be shown."""

    verb: str
    url: str
    body: bytes


class HTTPExtender:
    """name: the URL prefix."""

    def __init__(
        self,
        config: Extender,
        transport: Transport,
        texts: NodeTexts,
        nominator: Nominator,
        troubled: Troubled,
    ) -> None:
        self.config = config
        self.name = config.url_prefix
        self.ignorable = config.ignorable
        self._transport = transport
        self._texts = texts
        self._nominator = nominator
        self._troubled = troubled
        self._managed = frozenset(one.name for one in config.managed_resources or ())
        self._decoder = msgspec.json.Decoder(Node, dec_hook=decode_hook)
        self._returned: dict[bytes, Node] = {}

    @property
    def is_filter(self) -> bool:
        return bool(self.config.filter_verb)

    @property
    def is_prioritizer(self) -> bool:
        return bool(self.config.prioritize_verb)

    @property
    def is_binder(self) -> bool:
        return bool(self.config.bind_verb)

    @property
    def supports_preemption(self) -> bool:
        return bool(self.config.preempt_verb)

    def is_interested(self, pod: PodInfo) -> bool:
        """Upstream looks at containers, not at what the pod as a whole asks for."""
        if not self._managed:
            return True
        return any(
            not self._managed.isdisjoint(amounts)
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def close(self) -> None:
        self._transport.close()

    # -- filter -----------------------------------------------------------------------------------

    def filter(self, pod: PodInfo, nodes: Nodes) -> Filtered:
        """Raises ExtenderError."""
        answer = self._ask(self.config.filter_verb, self._args(pod, nodes), wire.filter_result)()
        if answer.error:
            raise ExtenderError(answer.error)
        if self.config.node_cache_capable and answer.node_names is not None:
            passed = self._named(answer.node_names, nodes)
        elif answer.nodes is not None:
            passed = self._sent_back(answer.nodes, nodes.snapshot)
        else:
            passed = Nodes(nodes.snapshot, np.empty(0, dtype=np.intp))
        return Filtered(passed, answer.failed, answer.failed_and_unresolvable)

    def _args(self, pod: PodInfo, nodes: Nodes) -> bytes:
        subject = pod_json(pod, pod.pod.node_name, self._nominator.node_of(pod))
        if self.config.node_cache_capable:
            return wire.extender_args(subject, None, nodes.names())
        rows = nodes.indices().tolist()
        texts = [self._texts.of(nodes.snapshot.nodes[row]) for row in rows]
        return wire.extender_args(subject, texts, None)

    def _named(self, names: Sequence[str], nodes: Nodes) -> Nodes:
        """Upstream checks these, in the order of the answer."""
        asked = set(nodes.indices().tolist())
        rows = [nodes.snapshot.row.get(name, -1) for name in names]
        for name, row in zip(names, rows, strict=True):
            if row not in asked:
                raise self._unknown_node(name)
        return Nodes(nodes.snapshot, np.array(rows, dtype=np.intp))

    def _sent_back(self, items: Sequence[msgspec.Raw], snapshot: Snapshot) -> Nodes:
        """Upstream takes any node, even one that does not exist, and would bind the pod to it.
        Here it has to be one of the cluster's; that it was not asked about is all right there too.
        """
        found: dict[int, Node] = {}
        rows: list[int] = []
        for item in items:
            node = self._node(item)
            row = snapshot.row.get(node.name)
            if row is None:
                raise self._unknown_node(node.name)
            rows.append(row)
            found[row] = node
        return Nodes(ReturnedNodes(snapshot, found), np.array(rows, dtype=np.intp))

    def _node(self, item: msgspec.Raw) -> Node:
        """Most extenders send the same node in the same bytes every time."""
        data = bytes(item)
        node = self._returned.get(data)
        if node is None:
            try:
                node = msgspec.structs.replace(self._decoder.decode(data), raw=msgspec.Raw(data))
            except (msgspec.DecodeError, RecursionError) as error:
                raise ExtenderError(f"a node in the answer is not one: {error}") from None
            if len(self._returned) < _MAX_KEPT:
                self._returned[data] = node
        return node

    def _unknown_node(self, name: str) -> ExtenderError:
        return ExtenderError(
            f"extender {quote(self.name)} claims a filtered node {quote(name)} "
            "which is not found in the input node list"
        )

    # -- prioritize -------------------------------------------------------------------------------

    def prioritize(
        self, pod: PodInfo, nodes: Nodes
    ) -> Callable[[], tuple[Sequence[tuple[str, int]], int]]:
        """Sends the request; what is returned waits for hosts with their scores, and the weight, or
        raises ExtenderError. Without a verb every node gets 0, with weight 0."""
        if not self.is_prioritizer:
            return lambda: ([(name, 0) for name in nodes.names()], 0)
        verb, weight = self.config.prioritize_verb, self.config.weight
        wait = self._ask(verb, self._args(pod, nodes), wire.host_priorities)
        return lambda: (wait(), weight)

    # -- preempt ----------------------------------------------------------------------------------

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        """See PreemptionExtender."""
        subject = pod_json(pod, pod.pod.node_name, self._nominator.node_of(pod))
        if self.config.node_cache_capable:
            uids = {
                node: ([one.uid for one in found.pods], found.pdb_violations)
                for node, found in victims.items()
            }
            body = wire.preemption_args(subject, None, uids)
        else:
            full = {
                node: ([pod_json(one, node) for one in found.pods], found.pdb_violations)
                for node, found in victims.items()
            }
            body = wire.preemption_args(subject, full, None)
        answer = self._ask(self.config.preempt_verb, body, wire.preemption_result)()
        return {
            node: Victims(self._pods(node, meta.uids, snapshot), meta.pdb_violations)
            for node, meta in answer.items()
        }

    def _pods(self, node: str, uids: Sequence[str], snapshot: Snapshot) -> tuple[PodInfo, ...]:
        row = snapshot.row.get(node)
        if row is None:
            raise ExtenderError(f"nodeinfo not found for node name {quote(node)}")
        there = {pod.uid: pod for pod in snapshot.pods[row]}
        for uid in uids:
            if uid not in there:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: "
                    f"{node}, but the pod is not found on that node"
                )
        return tuple(there[uid] for uid in uids)

    # -- bind -------------------------------------------------------------------------------------

    def binding(self, pod: PodInfo, node: str) -> BindingCall:
        """What binds the pod to the node, not sent yet."""
        args = wire.binding_args(pod.namespace, pod.name, pod.uid, node)
        verb = self.config.bind_verb
        return BindingCall(verb, self._url(verb), msgspec.json.encode(args))

    def bind(self, call: BindingCall) -> None:
        """Raises ExtenderError."""
        error = self._ask(call.verb, call.body, wire.binding_error)()
        if error:
            raise ExtenderError(error)

    # -- calls ------------------------------------------------------------------------------------

    def _url(self, verb: str) -> str:
        return f"{self.name.rstrip('/')}/{verb}"

    def _ask(self, verb: str, body: bytes, read: Callable[[bytes], T]) -> Callable[[], T]:
        """Sends the request; what is returned waits for the answer, or raises ExtenderError."""
        url = self._url(verb)
        wait = self._transport.start(ExtenderRequest(url, body))

        def answer() -> T:
            try:
                return read(_body(wait(), verb, url))
            except ExtenderError as error:
                self._troubled(self, str(error), isinstance(error, UnreachableError))
                raise

        return answer


def _body(reply: Reply, verb: str, url: str) -> bytes:
    if reply.status != OK:
        raise ExtenderError(f"failed {verb} with extender at URL {url}, code {reply.status}")
    return reply.body
