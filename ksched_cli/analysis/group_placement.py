"""A placement of a group's pods that kube-scheduler does not find.

kube-scheduler tries the pods of a group one after the other and takes nothing back: one may take
the node, or the devices, that only another one can use. Here each pod is tried on each node, in
other orders, and with the alternatives and the devices of claims in another order. Every step is an
answer of the Filters with the pods before it assumed.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, product
from time import monotonic

from msgspec import Struct

from ksched_cli.analysis.proposals import Candidate, ChangedObject
from ksched_cli.answers import Part
from ksched_cli.cluster.objects import HOSTNAME_LABEL
from ksched_cli.cluster.objects.devices import Device
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation, Mode
from ksched_cli.engine.pod_group_cycle import TrialBinding, blank_attempt
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.framework.resource_claims import ClaimError, ClaimStore, claim_name, held_devices
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change

# So many attempts of pods are made for one order of alternatives and devices.
MAX_ATTEMPTS = 2_000
# So many orders of alternatives are tried.
MAX_ORDERS = 64
# Devices of a slice that a change lists; a longer list is nothing that anybody reads.
MAX_DEVICES = 16
MAX_PINNED = 8


class PodPlacement(Part, frozen=True):
    """The node that a pod of a group could have.

    devices: what its claims get there, as request=driver/pool/device
    """

    pod: str
    node: str
    devices: tuple[str, ...] = ()


class GroupPlacement(Struct, frozen=True):
    """A node for each pod, in an order in which the Filters allow each of them.

    candidates: changes after which kube-scheduler may find it
    """

    pods: tuple[PodPlacement, ...]
    candidates: tuple[Candidate, ...]


def group_placement(
    open_simulation: Callable[[ClusterState], Simulation],
    state: ClusterState,
    pods: frozenset[str],
    seconds: float,
) -> GroupPlacement | None:
    """Return a placement of those of a group's pods that wait; None if the search finds none, or
    they are in no group, or in a group of groups. state: before a run"""
    # 1. Pods of no group, and devices, are where the run leaves them.
    simulation = open_simulation(state)
    simulation.run()
    state, groups = simulation.current_state(), simulation.pod_groups
    waiting = [pod for pod in state.pods if pod.key in pods and not pod.node_name]
    keys = {group_key(pod) for pod in waiting}
    (key, *others) = keys or {None}
    group = None if others or groups is None or key is None else groups.groups.get(key)
    simulation.close()
    if group is None or group.parent or len(waiting) < 2:
        return None
    names = frozenset(pod.key for pod in waiting)
    infos = [*map(simulation.catalog.info, waiting)]
    running = {pod.node_name for pod in state.pods if pod.node_name and group_key(pod) == key}
    deadline = monotonic() + seconds
    # 2. As they are; else with alternatives, then devices, in another order.
    for changes in islice(chain([()], _orders(state, infos)), MAX_ORDERS):
        if monotonic() > deadline:
            return None
        lines = [line for each in changes for line in each.changes]
        changed, _ = apply_changes(state, [*map(parse_change, lines)])
        simulation = open_simulation(changed)
        search = _Search(simulation, names, group.topology_key, running, deadline)
        placed = search.placement()
        simulation.close()
        if placed is not None:
            candidates = _candidates(state, changes, placed)
            return GroupPlacement(placed, tuple(candidates))
    return None


@dataclass(slots=True)
class _Search:
    """Tries nodes for pods, one after the other, and goes back where one of them fits nowhere.

    domain: the label of which all nodes of the pods need one value, or ""
    running: the nodes that have pods of the group already
    """

    simulation: Simulation
    pods: frozenset[str]
    domain: str
    running: frozenset[str] | set[str]
    deadline: float
    attempts: int = 0
    _binding: TrialBinding = field(init=False)

    def __post_init__(self) -> None:
        parts = (self.simulation.snapshot, self.simulation.nominator, self.simulation.waiting)
        self._binding = TrialBinding(*parts, asks_permit=False)

    def placement(self) -> tuple[PodPlacement, ...] | None:
        """Return the pods with their nodes and devices, or None."""
        pods = [each for each in self.simulation.pending() if each.key in self.pods]
        if len(pods) < len(self.pods):
            return None
        # Those that can go to the fewest nodes come first.
        choosy = sorted(pods, key=lambda pod: len(self._evaluate(pod).feasible))
        orders = [choosy, pods] if choosy != pods else [pods]
        if not any(self._place(order) for order in orders):
            return None
        claims = self.simulation.handle.services.get(ClaimStore)
        placed = []
        for assumed, *_ in self._binding.assumed:
            pod, node = assumed.pod, assumed.node
            # This writes what the claims are given.
            status = assumed.framework.pre_bind(assumed.state, pod, node)
            if not status.is_success:
                return None
            held = held_devices(pod, claims) if isinstance(claims, ClaimStore) else {}
            devices = tuple(chain.from_iterable(held.values()))
            placed.append(PodPlacement(pod.key, node.name, devices))
        return tuple(placed)

    def _evaluate(self, pod: PodInfo) -> Evaluation:
        self.attempts += 1
        return self.simulation.evaluate(pod, Mode.ALL_NODES)

    def _place(self, pods: Sequence[PodInfo], least: Mapping[object, int] | None = None) -> bool:
        """Assume all of the pods, or none. least: by what makes pods alike, the first row that the
        next of them may have, as it does not matter which of them has which"""
        if not pods:
            return True
        if self.attempts > MAX_ATTEMPTS or monotonic() > self.deadline:
            return False
        first, *others = pods
        evaluation = self._evaluate(first)
        least = least or {}
        alike = None
        if not (first.spec.resource_claims or self.simulation.has_devices(first)):
            alike = (id(first.spec), first.namespace, tuple(sorted(first.labels.items())))
        # The nodes count that fit, of the domain that the pods before are in.
        rows = evaluation.feasible.indices().tolist()
        if self.domain:
            snapshot = self.simulation.snapshot
            codes = snapshot.labels[self.domain].codes
            own = {int(codes[snapshot.row[name]]) for name in self.running if name in snapshot.row}
            own |= {int(codes[entry[0].node.row]) for entry in self._binding.assumed}
            present = snapshot.labels[self.domain].present
            rows = [row for row in rows if present[row] and (not own or own == {int(codes[row])})]
        for row in rows:
            if row < least.get(alike, 0):
                continue
            mark = len(self._binding.assumed)
            record = blank_attempt(first)
            parts = (evaluation.framework, evaluation.state, first, row, record)
            if self._binding.assume(*parts).row is not None:
                after = least if alike is None else {**least, alike: row}
                if self._place(others, after):
                    return True
            self._binding.take_back(mark)
            # What was reserved is in the cycle's state.
            evaluation = self._evaluate(first)
        return False


# -- changes ---------------------------------------------------------------------------------------


def _orders(state: ClusterState, pods: Sequence[PodInfo]) -> Iterator[tuple[Proposal, ...]]:
    """Yield changes that try another alternative of requests first, the fewest first; then one that
    lists devices that consume less before others, as the first ones are taken."""
    choices: list[tuple[Proposal | None, ...]] = []
    for namespace, name in dict.fromkeys(_claims(state, pods)):
        claim = state.resource_claims[namespace, name]
        for index, request in enumerate(claim.spec.devices.requests):
            given = request.first_available
            if len(given) < 2 or claim.status.allocation is not None:
                continue
            path = f"/spec/devices/requests/{index}/firstAvailable"
            proposals: list[Proposal | None] = [None]
            for position, each in enumerate(given[1:], 1):
                line = _moved(f"resourceclaim/{name} -n {namespace}", path, [(position, 0)])
                where = f"in request {request.name} of claim {claim.key}"
                text = f"list {each.name} before {given[0].name} {where}"
                proposals.append(Proposal("placement", text, (line,), amount=0.5))
            choices.append(tuple(proposals))
    orders = islice(product(*choices), MAX_ORDERS)
    changes = [tuple(filter(None, each)) for each in orders]
    yield from sorted(filter(None, changes), key=len)
    listed = []
    for own in state.resource_slices.values():
        devices = own.spec.devices
        ordered = sorted(devices, key=_consumed)
        if ordered != [*devices] and len(devices) <= MAX_DEVICES:
            moves, rest = [], [*devices]
            for target, device in enumerate(ordered):
                if (position := rest.index(device)) != target:
                    moves.append((position, target))
                    rest.insert(target, rest.pop(position))
            line = _moved(f"resourceslice/{own.name}", "/spec/devices", moves)
            names = ", ".join(device.name for device in ordered)
            text = f"have its driver list the devices of ResourceSlice {own.name} as {names}"
            listed.append(Proposal("placement", text, (line,), amount=0.8))
    if listed:
        yield tuple(listed)


def _claims(state: ClusterState, pods: Sequence[PodInfo]) -> Iterator[tuple[str, str]]:
    """Yield the keys of the claims of the pods."""
    for pod in pods:
        for reference in pod.spec.resource_claims:
            try:
                name, _ = claim_name(pod, reference)
            except ClaimError:
                continue
            if name is not None and (pod.namespace, name) in state.resource_claims:
                yield pod.namespace, name


def _consumed(device: Device) -> float:
    """Return how much of its counters a device consumes."""
    counters = (each for own in device.consumes_counters for each in own.counters.values())
    return sum(each.value.unscaled * 10.0**each.value.scale for each in counters)


def _moved(target: str, path: str, moves: Sequence[tuple[int, int]]) -> str:
    """Return a line that moves items of a list. moves: one after the other, from where to where"""
    patch = [{"op": "move", "from": f"{path}/{old}", "path": f"{path}/{new}"} for old, new in moves]
    return f"patch {target} --type=json -p {shlex.quote(json.dumps(patch))}"


def _candidates(
    state: ClusterState, changes: tuple[Proposal, ...], placed: Sequence[PodPlacement]
) -> Iterator[Candidate]:
    """Yield what may make kube-scheduler find the placement: what was changed for it; the pods
    that come in this order; one of them, or all, bound to their nodes."""
    if changes:
        yield Candidate(changes, subjects=((),) * len(changes))
    by_key = {pod.key: pod for pod in state.pods}
    pods = [by_key[each.pod] for each in placed]
    # Those that are queued in this order already stay; the others have to come anew, one after the
    # other.
    rest, later = [pod for pod in state.pods if pod in pods], [*pods]
    while later and later[0] in rest:
        rest = rest[rest.index(later.pop(0)) + 1 :]
    if not changes and later and all(pod.metadata.controller is not None for pod in later):
        lines = tuple(f"delete pods {pod.name} -n {pod.namespace}" for pod in later)
        names = " and then ".join(pod.key for pod in later)
        who = "they come" if len(later) > 1 else "it comes"
        text = f"create {names} anew, so that {who} after {pods[0].key}"
        yield Candidate((Proposal("placement", text, lines),), subjects=((),))
    if len(placed) > MAX_PINNED:
        return
    pins = []
    for pod, each in zip(pods, placed, strict=True):
        node = next(node for node in state.nodes if node.name == each.node)
        host = node.metadata.labels.get(HOSTNAME_LABEL)
        if host is None:
            return
        text = f"select node {each.node} for {pod.key}"
        patch = {"spec": {"nodeSelector": {HOSTNAME_LABEL: host}}}
        subject = ChangedObject("Pod", pod.namespace, pod.name)
        pins.append((Proposal("placement", text, patch=patch, amount=0.5), (subject,)))
    if not changes:
        for pin, subjects in pins:
            yield Candidate((pin,), subjects=(subjects,))
    both = [*((each, ()) for each in changes), *pins]
    yield Candidate(tuple(each for each, _ in both), subjects=tuple(own for _, own in both))
