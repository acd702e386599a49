"""The search for devices, in upstream's order, so that the very same devices come out.

An exhaustive search, one claim, one request, one device after the other; the first full solution
is taken. What upstream tries again with devices that look the same is left out: it fails again.

Upstream: dynamic-resource-allocation/structured/internal/experimental/allocator_experimental.go,
the allocator that v1.34's default gates choose, for DRAResourceClaimDeviceStatus is among them.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from time import monotonic
from typing import TypeAlias

from ksched_cli.framework.status import PluginError
from ksched_cli.plugins.dynamic_resources.constraints import ConstraintState
from ksched_cli.plugins.dynamic_resources.pools import Pool
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    EXACT_COUNT,
    MOST_DEVICES,
    Choices,
    Demand,
    RequestAlternative,
)
from ksched_cli.plugins.dynamic_resources.view import DemandView, DeviceSignature, PoolSignature

_Place: TypeAlias = tuple[int, int, int, int, bool]
"""Claim, entry of its requests, choice, device, and whether the choice of a list is made."""


class AllocationError(PluginError):
    """The claims, classes or slices are not right: the pod's attempt ends."""


class TimedOutError(Exception):
    """The search took longer than filterTimeout."""


class _TooManyError(Exception):
    """More devices than one claim may have. Upstream: errAllocationResultMaxSizeExceeded."""


@dataclass(frozen=True, slots=True)
class Taken:
    """A device of the result. pool: its place among the node's pools; place: its place in there."""

    request: RequestAlternative
    pool: int
    place: int


@dataclass(frozen=True, slots=True)
class Reachable:
    """The pools of a node. looks: as the demand sees them; used: the devices in use, as bits."""

    pools: Sequence[Pool]
    looks: Sequence[PoolSignature]
    used: Sequence[int]


@dataclass(slots=True)
class _Candidate:
    """users: the claims that the search gave it to."""

    pool: int
    place: int
    look: int
    used: bool
    users: set[int]


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A request that was found to be right. everything: the devices of one that wants all."""

    request: RequestAlternative
    number: int
    count: int
    everything: Sequence[_Candidate] = ()


class DeviceAllocator:
    """One search over one node's pools.

    claims:  the names, for messages
    classes: those that exist
    seconds: how long it may take; 0: as long as it does
    """

    def __init__(
        self,
        view: DemandView,
        reachable: Reachable,
        claims: Sequence[str],
        classes: Mapping[str, object],
        seconds: float = 0.0,
    ) -> None:
        self._view = view
        self._demand: Demand = view.demand
        self._reachable = reachable
        self._names = claims
        self._classes = classes
        self._deadline = monotonic() + seconds if seconds > 0 else None
        self._numbers = {request: i for i, request in enumerate(self._demand.requests)}
        self._pools = [
            [
                _Candidate(p, i, look, bool(used >> i & 1), set())
                for i, look in enumerate(pool.looks)
            ]
            for p, (pool, used) in enumerate(zip(reachable.looks, reachable.used, strict=True))
        ]
        self._wanted: dict[tuple[int, int, int], _Wanted] = {}
        self._constraints: list[list[ConstraintState]] = []
        self._result: list[list[tuple[_Wanted, _Candidate]]] = [[] for _ in claims]
        self._hopeless: set[object] = set()

    def allocate(self) -> list[list[Taken]] | None:
        """Per claim its devices; None: there are not enough.

        Raises AllocationError, TimedOutError.
        """
        for claim in range(len(self._demand.claims)):
            self._check_claim(claim)
        try:
            with _room_for(sum(min(one.count, MOST_DEVICES) for one in self._wanted.values())):
                if not self._search(0, 0, 0, 0, False):
                    return None
        except _TooManyError as error:
            # Upstream lets this one out where it is the first claim's.
            raise AllocationError(str(error)) from None
        return [
            [Taken(wanted.request, one.pool, one.place) for wanted, one in devices]
            for devices in self._result
        ]

    # -- what is asked for ------------------------------------------------------------------------

    def _check_claim(self, claim: int) -> None:
        least = 0
        for number, choices in enumerate(self._demand.claims[claim].choices):
            if any(request.of_capacity for request in choices.requests):
                raise self._error(
                    claim,
                    choices.requests[0].base_name,
                    "has capacity requests, but the DRAConsumableCapacity feature is disabled",
                )
            least += min(self._check_choices(claim, number, choices))
        if least > MOST_DEVICES:
            raise AllocationError(
                f"claim {self._names[claim]}: number of requested devices {least} exceeds the "
                f"claim limit of {MOST_DEVICES}"
            )
        constraints = self._demand.claims[claim].constraints
        for number, constraint in enumerate(constraints):
            if not constraint.kind:
                raise AllocationError(
                    f"claim {self._names[claim]}, constraint #{number}: empty constraint "
                    "(unsupported constraint type?)"
                )
        self._constraints.append([ConstraintState(constraint) for constraint in constraints])

    def _check_choices(self, claim: int, number: int, choices: Choices) -> list[int]:
        """The number of devices that each choice takes."""
        first_everything: dict[int, bool] | None = None
        for place, request in enumerate(choices.requests):
            # Upstream notes what the devices of the first choice matched under the second's name
            # too, so that a second choice of all devices gets what the first one matched.
            known = first_everything if place == 1 else None
            wanted, matched = self._check(claim, request, known)
            if place == 0:
                first_everything = matched
            self._wanted[claim, number, place] = wanted
        return [self._wanted[claim, number, i].count for i in range(len(choices.requests))]

    def _check(
        self, claim: int, request: RequestAlternative, known: dict[int, bool] | None
    ) -> tuple[_Wanted, dict[int, bool]]:
        """known: answers about devices, by their look, that are taken as they are."""
        number = self._numbers[request]
        for place, expression in enumerate(request.selectors):
            if expression is None:
                raise AllocationError(
                    f"claim {self._names[claim]}, request {request.name}, selector #{place}: "
                    "CEL expression empty (unsupported selector type?)"
                )
        if not request.class_name:
            raise self._error(
                claim, request.name, "missing device class name (unsupported request type?)"
            )
        if request.class_name not in self._classes:
            raise self._error(
                claim,
                request.name,
                f"could not retrieve device class {request.class_name}: "
                f'deviceclass.resource.k8s.io "{request.class_name}" not found',
            )
        if request.mode == EXACT_COUNT:
            return _Wanted(request, number, request.count), {}
        if request.mode != ALL:
            raise self._error(claim, request.name, f"unsupported count mode {request.mode}")
        matched = dict(known or {})
        everything = self._everything(claim, request, number, matched)
        return _Wanted(request, number, len(everything), everything), matched

    def _everything(
        self, claim: int, request: RequestAlternative, number: int, matched: dict[int, bool]
    ) -> list[_Candidate]:
        found = []
        for place, pool in enumerate(self._reachable.pools):
            if pool.incomplete or pool.invalid:
                state = "being updated" if pool.incomplete else "invalid"
                raise self._error(
                    claim,
                    request.name,
                    f"asks for all devices, but resource pool {pool.key} is currently {state}",
                )
            for one in self._pools[place]:
                if one.look not in matched:
                    matched[one.look] = self._selectable(claim, request, number, one)
                if matched[one.look]:
                    found.append(one)
        return found

    def _error(self, claim: int, request: str, problem: str) -> AllocationError:
        return AllocationError(f"claim {self._names[claim]}, request {request}: {problem}")

    # -- the search -------------------------------------------------------------------------------

    def _search(self, claim: int, entry: int, choice: int, device: int, chosen: bool) -> bool:
        """One device and all that come after it. Raises _TooManyError besides the others.

        Upstream: allocateOne.
        """
        if self._deadline is not None and monotonic() > self._deadline:
            raise TimedOutError
        if claim >= len(self._demand.claims):
            return True
        choices = self._demand.claims[claim].choices
        if entry >= len(choices):
            try:
                return self._search(claim + 1, 0, 0, 0, False)
            except _TooManyError:
                return False
        if not chosen and choices[entry].prioritised:
            return self._first_available(claim, entry, device)
        wanted = self._wanted[claim, entry, choice]
        if wanted.request.mode == ALL and not wanted.everything:
            return False
        if device >= wanted.count:
            return self._search(claim, entry + 1, 0, 0, False)
        if len(self._result[claim]) + wanted.count - device > MOST_DEVICES:
            raise _TooManyError(f"allocation max size exceeded (claim {self._names[claim]})")
        if wanted.request.mode == ALL:
            return self._take_all(claim, entry, wanted, device, chosen)
        return self._take_one((claim, entry, choice, device, chosen), wanted)

    def _state(self, place: _Place) -> object:
        """Where the search is, and what was taken, devices by their look."""
        given = tuple(
            tuple(sorted((wanted.number, one.look, one.used) for wanted, one in devices))
            for devices in self._result
        )
        return place, given

    def _first_available(self, claim: int, entry: int, device: int) -> bool:
        all_too_many = True
        for choice in range(len(self._demand.claims[claim].choices[entry].requests)):
            try:
                found = self._search(claim, entry, choice, device, True)
            except _TooManyError:
                continue
            all_too_many = False
            if found:
                return True
        if all_too_many:
            raise _TooManyError(f"allocation max size exceeded (claim {self._names[claim]})")
        return False

    def _take_all(self, claim: int, entry: int, wanted: _Wanted, device: int, chosen: bool) -> bool:
        one = wanted.everything[device]
        if not self._take(claim, wanted, one, must=True):
            return False
        done = False
        try:
            # Upstream goes on with the list's first choice here, whichever is being tried.
            done = self._search(claim, entry, 0, device + 1, chosen)
        finally:
            if not done:
                self._give_back(claim, wanted, one)
        return done

    def _take_one(self, place: _Place, wanted: _Wanted) -> bool:
        """The first device with which all the rest works out too."""
        claim, entry, choice, device, chosen = place
        state = self._state(place) if self._view.interchangeable else None
        if state in self._hopeless:
            return False
        for one in self._candidates():
            if self._busy(claim, wanted.request, one):
                continue
            if not self._selectable(claim, wanted.request, wanted.number, one):
                continue
            if not self._take(claim, wanted, one, must=False):
                continue
            done = False
            try:
                done = self._search(claim, entry, choice, device + 1, chosen)
            finally:
                if not done:
                    self._give_back(claim, wanted, one)
            if done:
                return True
        if state is not None:
            self._hopeless.add(state)
        return False

    def _candidates(self) -> Iterator[_Candidate]:
        for place, pool in enumerate(self._reachable.pools):
            if pool.invalid:
                raise AllocationError(f"pool {pool.name} is invalid: {pool.invalid}")
            yield from self._pools[place]

    # -- one device -------------------------------------------------------------------------------

    def _selectable(
        self, claim: int, request: RequestAlternative, number: int, one: _Candidate
    ) -> bool:
        turned = self._look(one).turned[number]
        if turned is None:
            return True
        if turned.failure is not None:
            raise AllocationError(turned.error(self._names[claim], request.class_name))
        return False

    def _busy(self, claim: int, request: RequestAlternative, one: _Candidate) -> bool:
        if request.admin_access:
            return claim in one.users
        return one.used or bool(one.users)

    def _take(self, claim: int, wanted: _Wanted, one: _Candidate, must: bool) -> bool:
        """Upstream: allocateDevice."""
        request, look = wanted.request, self._look(one)
        if self._busy(claim, request, one) or look.consumes_counters:
            return False
        constraints = self._constraints[claim]
        for i, constraint in enumerate(constraints):
            if constraint.add(request, look.attributes[claim][i]):
                continue
            if must:
                raise self._error(
                    claim,
                    request.name,
                    f"cannot add device {self._name(one)} because a claim constraint would not be "
                    "satisfied",
                )
            for earlier in constraints[:i]:
                earlier.remove(request)
            return False
        one.users.add(claim)
        self._result[claim].append((wanted, one))
        return True

    def _give_back(self, claim: int, wanted: _Wanted, one: _Candidate) -> None:
        for constraint in self._constraints[claim]:
            constraint.remove(wanted.request)
        one.users.discard(claim)
        self._result[claim].pop()

    def _look(self, one: _Candidate) -> DeviceSignature:
        return self._view.looks[one.look]

    def _name(self, one: _Candidate) -> str:
        return "/".join(self._reachable.pools[one.pool].devices[one.place].id)


@contextmanager
def _room_for(devices: int) -> Iterator[None]:
    """The search goes two calls deep per device, and as deep per claim."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(before + 8 * devices)
    try:
        yield
    finally:
        sys.setrecursionlimit(before)
