"""Guards around calls of plugins that are not in-tree: they may change nothing they are given, and
what they return must have the right type and shape.

Arrays are read-only views, the snapshot is sealed, and a pod must be the same after the call.
The checks of answers raise MalformedError.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from math import isnan
from operator import index
from typing import Any, TypeVar

import numpy as np
from msgspec import Struct

from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.failures import CallLimit
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.pod_groups import GroupRoom, Placement
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import Code, MalformedError, MutationError, Status

T = TypeVar("T")

# So many objects are remembered with their mappings: a long replay has many more.
REMEMBERED_MAX = 10_000


@dataclass(slots=True)
class ReadOnlyCalls:
    """Remembers which pods a plugin has changed. limit: of the time of a call, or None"""

    limit: CallLimit | None = None
    # (plugin, pod key)
    _mutated: set[tuple[str, str]] = field(default_factory=set)
    # By the object's id, with the object: its mappings, each with what belongs into it.
    _mappings: dict[int, tuple[Pod, list[tuple[dict[Any, Any], dict[Any, Any]]]]] = field(
        default_factory=dict
    )

    def call(self, plugin: str, snapshot: Snapshot, method: Callable[..., T], *arguments: Any) -> T:
        """Call a plugin's method. Raises what it raises, and MutationError."""
        pods = [argument for argument in arguments if isinstance(argument, PodInfo)]
        for pod in pods:
            # A second call would find the pod changed already, and pass.
            if self._mutated and (plugin, pod.key) in self._mutated:
                raise _mutation(pod)
        before = [_fingerprint(pod) for pod in pods]
        mappings = [self._mappings_of(pod.pod) for pod in pods]
        outermost = not snapshot.sealed
        if outermost:
            snapshot.seal(True)
        try:
            frozen = map(_frozen, arguments)
            answer = method(*frozen) if self.limit is None else self.limit.call(method, *frozen)
        finally:
            if outermost:
                snapshot.seal(False)
        mutated = [
            pod
            for pod, fingerprint, own in zip(pods, before, mappings, strict=True)
            if _restore(own) or _fingerprint(pod) != fingerprint
        ]
        for pod in mutated:
            self._mutated.add((plugin, pod.pod.key))
        if mutated:
            raise _mutation(mutated[0])
        return answer

    def _mappings_of(self, pod: Pod) -> list[tuple[dict[Any, Any], dict[Any, Any]]]:
        """Return the mappings of metadata and spec, the only parts of an object that can change,
        each with a copy."""
        entry = self._mappings.get(id(pod))
        if entry is None:
            if len(self._mappings) >= REMEMBERED_MAX:
                self._mappings.clear()
            parts = chain(_mappings_in(pod.metadata), _mappings_in(pod.spec))
            entry = self._mappings[id(pod)] = pod, [(part, part.copy()) for part in parts]
        return entry[1]


def _restore(mappings: Iterable[tuple[dict[Any, Any], dict[Any, Any]]]) -> bool:
    """Give mappings what belongs into them again, as other pods may share them. Return whether any
    had changed."""
    changed = [(mapping, content) for mapping, content in mappings if mapping != content]
    for mapping, content in changed:
        mapping.clear()
        mapping.update(content)
    return bool(changed)


def _mappings_in(value: object) -> Iterator[dict[Any, Any]]:
    """Yield the mappings at any depth."""
    parts: Iterable[object] = ()
    if isinstance(value, Struct):
        parts = (getattr(value, name) for name in value.__struct_fields__)
    elif isinstance(value, dict):
        yield value
        parts = value.values()
    elif isinstance(value, tuple | list):
        parts = value
    for part in parts:
        yield from _mappings_in(part)


def _mutation(pod: PodInfo) -> MutationError:
    return MutationError(f"it changed the pod {pod.pod.key}, which plugins may only read")


def _frozen(argument: Any) -> Any:
    """Return the argument; arrays in it become read-only views."""
    if isinstance(argument, Nodes) and argument.rows is not None:
        return Nodes(argument.snapshot, _frozen(argument.rows))
    if isinstance(argument, np.ndarray):
        argument = argument.view()
        argument.flags.writeable = False
    return argument


def _fingerprint(pod: PodInfo) -> tuple[object, ...]:
    """Return what no plugin may change about a pod, but for the mappings of its object."""
    return (
        pod.key,
        pod.priority,
        pod.signature,
        id(pod.pod),
        id(pod.template),
        tuple(pod.resources.requests.items()),
    )


def expect(answer: object, kind: type, source: str) -> None:
    """Check the type of an answer. source: the method, for the message

    Raises MalformedError where the answer is of another type.
    """
    if not isinstance(answer, kind):
        raise MalformedError(f"{source} returned {type(answer).__name__}, expected {kind.__name__}")


def check_status(status: Status, source: str) -> None:
    """Check the types of a status and its parts. Raises MalformedError."""
    expect(status, Status, source)
    expect(status.code, Code, f"{source} with a code that")
    expect_texts(status.reasons, tuple, f"{source} with reasons that")


def expect_texts(texts: Any, kind: type, source: str) -> None:
    """Check that `texts` is a collection of that type and contains only strings. Raises
    MalformedError."""
    is_kind = isinstance(texts, kind)
    if not is_kind or not all(isinstance(text, str) for text in texts):
        raise MalformedError(f"{source} are {texts!r:.100}, expected a {kind.__name__} of str")


def checked_result(answer: Any, kind: type[T], method: str) -> tuple[T | None, Status]:
    """Return a result with its status. Raises MalformedError."""
    result, status = _pair(answer, method)
    if result is not None:
        expect(result, kind, f"{method}'s result")
        _check_names(result)
    check_status(status, f"{method}'s status")
    return result, status


def checked_permit(answer: Any) -> tuple[Status, float]:
    """Return Permit's status and its timeout in seconds. Raises MalformedError."""
    status, seconds = _pair(answer, "permit")
    check_status(status, "permit's status")
    seconds = float(seconds)
    if isnan(seconds):
        raise MalformedError("permit returned NaN seconds")
    return status, seconds


def _pair(answer: Any, method: str) -> tuple[Any, Any]:
    """Return both values that a method returned. Raises MalformedError."""
    expect(answer, tuple, method)
    if len(answer) != 2:
        raise MalformedError(f"{method} returned {len(answer)} values, expected 2")
    first, second = answer
    return first, second


def _check_names(result: object) -> None:
    """Check the names of nodes in a PreFilterResult or PostFilterResult."""
    names = getattr(result, "node_names", None)
    if names is not None:
        expect_texts(names, frozenset, "pre_filter's node_names")
    nominated = getattr(result, "nominated_node", None)
    if nominated is not None:
        expect(nominated, str, "post_filter's nominated_node")


def check_victims(victims: Sequence[object], node: str | None, snapshot: Snapshot) -> None:
    """Check victims. Raises MalformedError for some without a nominated node, and for one that is
    not a pod on a node."""
    expect(victims, tuple, "post_filter's victims")
    row = snapshot.row.get(node or "")
    if victims and row is None:
        raise MalformedError("post_filter returned victims, but no nominated_node")
    on_nominated = {id(pod) for pod in snapshot.pods[row]} if row is not None else ()
    elsewhere = [victim for victim in victims if id(victim) not in on_nominated]
    placed = {id(pod) for pods in snapshot.pods for pod in pods} if elsewhere else ()
    for victim in elsewhere:
        if id(victim) not in placed:
            name = getattr(victim, "key", repr(victim))
            raise MalformedError(f"post_filter's victim {name} is not a pod on a node")


def checked_placements(answer: Any, parent: Placement) -> tuple[Sequence[Placement], Status]:
    """Return the placements with their status. Raises MalformedError, also for a placement with
    nodes that `parent` does not have."""
    placements, status = _pair(answer, "generate_placements")
    check_status(status, "generate_placements' status")
    expect(placements, Sequence, "generate_placements' placements")
    for placement in placements:
        expect(placement, Placement, "generate_placements with a placement that")
        expect(placement.name, str, "generate_placements with a name that")
        rows = placement.rows
        expect(rows, np.ndarray, f"generate_placements' rows of {placement.name!r}")
        if rows.dtype.kind not in "iu" or rows.ndim != 1 or not np.isin(rows, parent.rows).all():
            raise MalformedError(
                f"generate_placements returned rows of {placement.name!r} that are not those of"
                " nodes of its parent"
            )
    return placements, status


def check_placement_scores(scores: Any, count: int) -> None:
    """Check that there is one integer per placement. Raises MalformedError."""
    expect(scores, list, "normalize_placement_scores")
    if len(scores) != count:
        raise MalformedError(f"it returned {len(scores)} scores for {count} placements")
    for score in scores:
        expect(score, int, "score_placement")


def checked_room(answer: Any, snapshot: Snapshot) -> tuple[Status, GroupRoom]:
    """Return the room for a group with its status. Raises MalformedError for a victim that is not
    on the node that it is listed for."""
    status, room = _pair(answer, "pod_group_post_filter")
    check_status(status, "pod_group_post_filter's status")
    expect(room, GroupRoom, "pod_group_post_filter's room")
    for victim in room.victims:
        is_pair = isinstance(victim, tuple) and len(victim) == 2
        on_node = snapshot.pods[victim[1]] if is_pair and victim[1] in range(len(snapshot)) else ()
        if not any(victim[0] is pod for pod in on_node):
            raise MalformedError(
                f"pod_group_post_filter's victim {victim!r:.60} is not a pod with the row that it"
                " is on"
            )
    return status, room


def checked_verdicts(verdicts: Verdicts, count: int) -> Verdicts:
    """Return a copy, which the plugin cannot change any more. Raises MalformedError."""
    expect(verdicts, Verdicts, "filter_nodes")
    expect(verdicts.ids, np.ndarray, "filter_nodes' ids")
    ids = verdicts.ids
    if ids.dtype.kind not in "iu":
        raise MalformedError(f"filter_nodes returned ids of {ids.dtype}, expected integers")
    if ids.shape != (count,):
        raise MalformedError(f"filter_nodes returned {ids.size} verdicts for {count} nodes")
    statuses = list(verdicts.statuses)
    for status in statuses:
        check_status(status, "filter_nodes a status")
    if count and not 0 <= int(ids.min()) <= int(ids.max()) < len(statuses):
        raise MalformedError(
            f"filter_nodes returned ids out of range of its {len(statuses)} statuses"
        )
    if statuses and not statuses[0].is_success:
        raise MalformedError("filter_nodes returned statuses whose first is not a success")
    return Verdicts(ids.astype(np.int32), statuses)


def checked_scores(scores: Scores, count: int, method: str) -> Scores:
    """Return a copy of 64 bits, which the plugin cannot change any more. Raises MalformedError."""
    expect(scores, np.ndarray, method)
    if scores.dtype.kind not in "iu":
        raise MalformedError(f"{method} returned an array of {scores.dtype}, expected integers")
    if scores.shape != (count,):
        raise MalformedError(f"{method} returned {scores.size} scores for {count} nodes")
    return np.array(scores, dtype=np.int64)


def named_rejection(status: Status, plugin: str) -> Status:
    """Return a Filter status with its plugin; what is neither success nor a rejection is an
    error."""
    if status.is_rejected:
        return status.by(plugin)
    return Status.error(f'running "{plugin}" filter plugin: {status.message}').by(plugin)


def check_integers(scores: Sequence[Any], nodes: Nodes) -> None:
    """Check that all scores are integers: NumPy would truncate a float. Raises MalformedError."""
    for score, node in zip(scores, nodes, strict=True):
        try:
            index(score)
        except TypeError:
            message = f"score returned {type(score).__name__} for node {node.name}, expected int"
            raise MalformedError(message) from None
