"""An extender that is called over HTTP: its requests, and what its responses mean; and how a
configuration's extenders are built with their transports.

Upstream: pkg/scheduler/extender.go (HTTPExtender), pkg/scheduler/scheduler.go (buildExtenders).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np

from ksched_cli.cluster.objects import Node, decode_hook
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import (
    COUNTABLE,
    MISSING,
    LabelColumn,
    LabelColumns,
    NodeColumns,
    Snapshot,
    SnapshotContents,
)
from ksched_cli.config.types import Extender
from ksched_cli.errors import UsageError
from ksched_cli.extenders import wire
from ksched_cli.extenders.client import (
    OK,
    ExtenderRequest,
    HTTPTransport,
    Transport,
    UnreachableError,
)
from ksched_cli.extenders.recording import RecordedReplies, Recording
from ksched_cli.extenders.wire import NodeJsonCache, pod_json
from ksched_cli.framework.handle import Nominator
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.preemption import ExtenderError, Victims
from ksched_cli.kube.formatting import quote
from ksched_cli.masking import masked_url

# Takes the extender, the error's message, and whether there was no reply.
OnFailure = Callable[["HTTPExtender", str, bool], None]

T = TypeVar("T")

# Beyond this many different nodes in responses, further ones are not cached.
_MAX_CACHED_NODES = 20_000


@dataclass(frozen=True, slots=True)
class FilteredNodes:
    """nodes: those that passed. failed, failed_and_unresolvable: node name → why it did not."""

    nodes: Nodes
    failed: Mapping[str, str]
    failed_and_unresolvable: Mapping[str, str]


class HTTPExtender:
    """An extender. name: the URL prefix as it is shown, without a password."""

    def __init__(
        self,
        config: Extender,
        transport: Transport,
        node_json: NodeJsonCache,
        nominator: Nominator,
        on_failure: OnFailure,
    ) -> None:
        self.config = config
        self.name = masked_url(config.url_prefix)
        self.ignorable = config.ignorable
        self.is_filter = bool(config.filter_verb)
        self.is_prioritizer = bool(config.prioritize_verb)
        self.is_binder = bool(config.bind_verb)
        self.supports_preemption = bool(config.preempt_verb)
        self._transport = transport
        self._node_json = node_json
        self._nominator = nominator
        self._on_failure = on_failure
        self._managed_resources = frozenset(item.name for item in config.managed_resources or ())
        self._decoder = msgspec.json.Decoder(Node, dec_hook=decode_hook)
        self._decoded_nodes: dict[bytes, Node] = {}

    def is_interested(self, pod: PodInfo) -> bool:
        """Return whether a container requests a managed resource. Upstream ignores pod-level
        resources."""
        if not self._managed_resources:
            return True
        return any(
            not self._managed_resources.isdisjoint(amounts)
            for container in (*pod.spec.containers, *pod.spec.init_containers)
            for amounts in (container.resources.requests, container.resources.limits)
        )

    def close(self) -> None:
        self._transport.close()

    # -- filter -----------------------------------------------------------------------------------

    def filter(self, pod: PodInfo, nodes: Nodes) -> FilteredNodes:
        """Ask the extender which of the nodes pass. Raises ExtenderError."""
        result = self._call(self.config.filter_verb, self._args(pod, nodes), wire.filter_result)()
        if result.error:
            raise ExtenderError(result.error)
        if self.config.node_cache_capable and result.node_names is not None:
            # The nodes in the order of the response. As upstream, each has to be one of the
            # request's.
            sent_rows = set(nodes.indices().tolist())
            rows = [nodes.snapshot.row.get(name, -1) for name in result.node_names]
            for name, row in zip(result.node_names, rows, strict=True):
                if row not in sent_rows:
                    raise self._unknown_node(name)
            passed = Nodes(nodes.snapshot, np.array(rows, dtype=np.intp))
        elif result.nodes is not None:
            # The nodes in the order of the response. Each has to be one of the cluster's, but not
            # of the request's. Upstream takes any, even one that does not exist, and would bind the
            # pod to it.
            returned: dict[int, Node] = {}
            rows = []
            for item in result.nodes:
                node = self._node(item)
                row = nodes.snapshot.row.get(node.name, -1)
                if row < 0:
                    raise self._unknown_node(node.name)
                rows.append(row)
                returned[row] = node
            passed = Nodes(ReturnedNodes(nodes.snapshot, returned), np.array(rows, dtype=np.intp))
        else:
            passed = Nodes(nodes.snapshot, np.empty(0, dtype=np.intp))
        return FilteredNodes(passed, result.failed, result.failed_and_unresolvable)

    def _args(self, pod: PodInfo, nodes: Nodes) -> bytes:
        pod_data = pod_json(pod, pod.pod.node_name, self._nominator.node_of(pod))
        if self.config.node_cache_capable:
            return wire.extender_args(pod_data, None, nodes.names())
        rows = nodes.indices().tolist()
        node_data = [self._node_json.of(nodes.snapshot.nodes[row]) for row in rows]
        return wire.extender_args(pod_data, node_data, None)

    def _node(self, item: msgspec.Raw) -> Node:
        """Decode a node, cached by its bytes: most extenders send a node unchanged every time."""
        data = bytes(item)
        node = self._decoded_nodes.get(data)
        if node is None:
            try:
                node = msgspec.structs.replace(self._decoder.decode(data), raw=msgspec.Raw(data))
            except (msgspec.DecodeError, RecursionError) as error:
                raise ExtenderError(f"the answer has an invalid node: {error}") from None
            if len(self._decoded_nodes) < _MAX_CACHED_NODES:
                self._decoded_nodes[data] = node
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
        """Send the request; the result waits for hosts with their scores, and the weight, and
        raises ExtenderError. Without a verb every node gets 0, with weight 0."""
        if not self.is_prioritizer:
            return lambda: ([(name, 0) for name in nodes.names()], 0)
        verb, weight = self.config.prioritize_verb, self.config.weight
        wait = self._call(verb, self._args(pod, nodes), wire.host_priorities)
        return lambda: (wait(), weight)

    # -- preempt ----------------------------------------------------------------------------------

    def process_preemption(
        self, pod: PodInfo, victims: Mapping[str, Victims], snapshot: Snapshot
    ) -> dict[str, Victims]:
        """Return the victims that the extender accepts; see
        PreemptionExtender.process_preemption."""
        pod_data = pod_json(pod, pod.pod.node_name, self._nominator.node_of(pod))
        if self.config.node_cache_capable:
            uids = {
                name: ([victim.uid for victim in on_node.pods], on_node.pdb_violations)
                for name, on_node in victims.items()
            }
            body = wire.preemption_args(pod_data, None, uids)
        else:
            pods = {
                name: ([pod_json(victim, name) for victim in on_node.pods], on_node.pdb_violations)
                for name, on_node in victims.items()
            }
            body = wire.preemption_args(pod_data, pods, None)
        result = self._call(self.config.preempt_verb, body, wire.preemption_result)()
        return {
            name: Victims(self._pods_by_uid(name, meta.uids, snapshot), meta.pdb_violations)
            for name, meta in result.items()
        }

    def _pods_by_uid(
        self, node: str, uids: Sequence[str], snapshot: Snapshot
    ) -> tuple[PodInfo, ...]:
        row = snapshot.row.get(node)
        if row is None:
            raise ExtenderError(f"nodeinfo not found for node name {quote(node)}")
        pods_by_uid = {pod.uid: pod for pod in snapshot.pods[row]}
        for uid in uids:
            if uid not in pods_by_uid:
                raise ExtenderError(
                    f"extender: {self.name} claims to preempt pod (UID: &{{{uid}}}) on node: "
                    f"{node}, but the pod is not found on that node"
                )
        return tuple(pods_by_uid[uid] for uid in uids)

    # -- bind -------------------------------------------------------------------------------------

    def binding(self, pod: PodInfo, node: str) -> ExtenderRequest:
        """Return the request that binds the pod to the node; `bind` sends it."""
        args = wire.binding_args(pod.namespace, pod.name, pod.uid, node)
        return ExtenderRequest(self._url(self.config.bind_verb), msgspec.json.encode(args))

    def bind(self, request: ExtenderRequest) -> None:
        """Send the request. Raises ExtenderError."""
        error = self._call(self.config.bind_verb, request.body, wire.binding_error)()
        if error:
            raise ExtenderError(error)

    # -- calls ------------------------------------------------------------------------------------

    def _url(self, verb: str) -> str:
        return f"{self.config.url_prefix.rstrip('/')}/{verb}"

    def _call(self, verb: str, body: bytes, read: Callable[[bytes], T]) -> Callable[[], T]:
        """Send the request; the result waits for the response and reads it, or raises
        ExtenderError."""
        url = self._url(verb)
        wait = self._transport.start(ExtenderRequest(url, body))

        def wait_and_read() -> T:
            try:
                reply = wait()
                if reply.status != OK:
                    raise ExtenderError(
                        f"failed {verb} with extender at URL {url}, code {reply.status}"
                    )
                return read(reply.body)
            except ExtenderError as error:
                self._on_failure(self, str(error), isinstance(error, UnreachableError))
                raise

        return wait_and_read


class ReturnedNodes(Snapshot):
    """`base` with `nodes` (by row) in place of its own. Only these rows are to be asked about.

    Labels and taints are those that the extender sent. A label's value that no node of the cluster
    has counts as absent, for the counters of pods per domain know nothing of it. It has no pods.
    """

    def __init__(self, base: Snapshot, nodes: Mapping[int, Node]) -> None:
        self.__setstate__(
            SnapshotContents(
                node_columns=_ReturnedColumns(base.node_columns, nodes),
                pods=[[] for _ in range(len(base))],
                usage=np.zeros_like(base.usage),
                requested={},
                ports={},
                log=[],
                touched=np.zeros(len(base), dtype=np.int32),
                huge=base.huge,
                saturates=base.saturates,
            )
        )


class _ReturnedColumns(NodeColumns):
    """Shares with `base` what `nodes` (by row) do not change; the order of visits is one such."""

    def __init__(self, base: NodeColumns, nodes: Mapping[int, Node]) -> None:
        self._base, self.saturates = base, base.saturates
        self._returned = nodes
        own = list(base.nodes)
        for row, node in nodes.items():
            own[row] = node
        self.nodes = tuple(own)
        self.names, self.row = base.names, base.row
        self.order, self.rank = base.order, base.rank
        self.images = {}
        old = base.nodes
        if any(node.metadata.labels != old[row].metadata.labels for row, node in nodes.items()):
            self.labels = _Relabelled(base.labels, self.nodes, list(nodes))
        else:
            self.labels = base.labels
        resized = {
            row: node
            for row, node in nodes.items()
            if node.status.allocatable != old[row].status.allocatable
        }
        if resized:
            # Returned nodes have other amounts than their rows in the snapshot.
            rows = list(resized)
            capacity = self._base.capacity.copy()
            capacity[:, rows] = 0
            others = {}
            for name, column in self._base.allocatable.items():
                if name not in COUNTABLE:
                    others[name] = column.copy()
                    others[name][rows] = 0
            self._set_allocatable(capacity, others, resized)
        else:
            self.capacity, self.allocatable = base.capacity, base.allocatable
            self.zero = base.zero

    def __reduce__(self) -> tuple[Any, ...]:
        return (type(self), (self._base, self._returned))


class _Relabelled(LabelColumns):
    """The columns of `base`, with other codes for the rows that were sent back."""

    def __init__(self, base: LabelColumns, nodes: tuple[Node, ...], rows: list[int]) -> None:
        super().__init__(nodes)
        self._base = base
        self._rows = rows

    def _make(self, key: str) -> LabelColumn:
        column = self._base[key]
        codes = column.codes.copy()
        for row in self._rows:
            value = self._nodes[row].metadata.labels.get(key, "")
            has = key in self._nodes[row].metadata.labels
            codes[row] = column.index.get(value, MISSING) if has else MISSING
        return LabelColumn(codes, column.values, column.index)


@dataclass(slots=True)
class Extenders:
    """The extenders of a run, which share a recording.

    all: in the order in which they are called: the ignorable ones last
    warn: takes a line of warning
    """

    warn: Callable[[str], None]
    all: tuple[HTTPExtender, ...] = ()
    _recording: Recording | None = None
    _replay: RecordedReplies | None = None
    _warned: set[tuple[str, bool]] = field(default_factory=set)

    @classmethod
    def build(
        cls,
        configured: Sequence[Extender],
        nominator: Nominator,
        warn: Callable[[str], None],
        record: str = "",
        replay: str = "",
        before: Extenders | None = None,
    ) -> Extenders:
        """Create the configured extenders; ignorable ones come last.

        record, replay: files, or ""
        before: of the same run, which these continue: its files are theirs from now on

        Raises KschedError where a file or TLS is unusable.
        """
        extenders = cls(warn)
        if before is None:
            extenders._replay = RecordedReplies(replay, warn) if replay else None
            extenders._recording = Recording(record) if record else None
        else:
            # These take over the files of those before.
            extenders._replay, extenders._recording = before._replay, before._recording
            before._replay = before._recording = None
        node_json = NodeJsonCache()
        extenders.all = tuple(
            HTTPExtender(
                config, extenders._transport(config), node_json, nominator, extenders._warn_once
            )
            for config in sorted(configured, key=lambda config: config.ignorable)
        )
        return extenders

    def _transport(self, config: Extender) -> Transport:
        transport = HTTPTransport(config) if self._replay is None else self._replay
        return transport if self._recording is None else self._recording.wrap(transport)

    def _warn_once(self, extender: HTTPExtender, cause: str, unreachable: bool) -> None:
        """Warn once per extender and kind of failure, not for each pod."""
        if (extender.name, unreachable) in self._warned:
            return
        self._warned.add((extender.name, unreachable))
        problem = "cannot be reached" if unreachable else "sent an unusable answer"
        self.warn(f"extender {extender.name} {problem}: {cause}")

    @property
    def failure(self) -> UsageError | None:
        """Return why the run cannot continue, or None. It cannot where the replayed recording lacks
        a request, or a recording cannot be written."""
        file = self._replay or self._recording
        return None if file is None else file.failure

    def close(self) -> None:
        """Close connections and the recording."""
        for extender in self.all:
            extender.close()
        if self._recording is not None:
            self._recording.close()
