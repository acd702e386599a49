"""Why claims cannot be allocated on a node: what each request found there, and what turned the rest
away. One line per finding, for people.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ksched_cli.plugins.dynamic_resources.allocator import Reachable
from ksched_cli.plugins.dynamic_resources.claims import ClaimStore, DeviceID
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    ClaimDemand,
    Constraint,
    RequestAlternative,
)
from ksched_cli.plugins.dynamic_resources.selectors import SelectorRejection
from ksched_cli.plugins.dynamic_resources.view import CONDITIONS, DemandView, DeviceSignature

SHOWN = 3


@dataclass(slots=True)
class _Tally:
    """What a request found. free: how the free ones look; used: those that only others keep."""

    total: int = 0
    free: list[DeviceSignature] = field(default_factory=list)
    used: list[DeviceID] = field(default_factory=list)
    turned: Counter[SelectorRejection] = field(default_factory=Counter)


class AllocationExplanation:
    """The devices of one node in the eyes of a pod's claims."""

    def __init__(
        self,
        view: DemandView,
        reachable: Reachable,
        claims: Sequence[str],
        store: ClaimStore,
    ) -> None:
        self._view = view
        self._reachable = reachable
        self._claims = claims
        self._store = store

    def lines(self) -> Iterator[str]:
        yield from self._pool_lines()
        if not any(pool.devices for pool in self._reachable.pools):
            yield "no ResourceSlice brings a device within this node's reach"
            return
        short = False
        for claim, demand in zip(self._claims, self._view.demand.claims, strict=True):
            for choices in demand.choices:
                tallies = [(request, self._tally(request)) for request in choices.requests]
                enough = [_is_enough(request, tally) for request, tally in tallies]
                short = short or not any(enough)
                for request, tally in tallies:
                    yield f"claim {claim}, {self._found(request, tally)}"
        if not short:
            yield from self._constraint_lines()

    def _pool_lines(self) -> Iterator[str]:
        for pool in self._reachable.pools:
            if pool.invalid:
                yield f"pool {pool.key} is invalid: {pool.invalid}"
            if pool.incomplete:
                wanted = pool.devices[0].slice.spec.pool.resource_slice_count
                slices = {device.slice.name for device in pool.devices}
                yield (
                    f"pool {pool.key} is incomplete: {len(slices)} of {wanted} slices of "
                    f"generation {pool.generation}"
                )

    def _tally(self, request: RequestAlternative) -> _Tally:
        tally = _Tally()
        number = self._view.demand.requests.index(request)
        for pool, looks, used in zip(
            self._reachable.pools, self._reachable.looks, self._reachable.used, strict=True
        ):
            for place, (device, seen) in enumerate(zip(pool.devices, looks.looks, strict=True)):
                look = self._view.looks[seen]
                turned = look.turned[number]
                tally.total += 1
                if turned is not None:
                    tally.turned[turned] += 1
                elif used >> place & 1 and not request.admin_access:
                    tally.used.append(device.id)
                elif not look.consumes_counters:
                    tally.free.append(look)
        return tally

    def _found(self, request: RequestAlternative, tally: _Tally) -> str:
        wanted = "all" if request.mode == ALL else str(request.count)
        parts = [
            f"request {request.result_name}: wants {wanted} of class {request.class_name}; of "
            f"{_devices(tally.total)} {len(tally.free)} free"
        ]
        if tally.used:
            parts.append(f"{len(tally.used)} in use ({self._holders(tally.used)})")
        parts += [
            f"{count} turned away by {_selector(turned, request)}"
            for turned, count in tally.turned.most_common()
        ]
        return ", ".join(parts)

    def _holders(self, devices: list[DeviceID]) -> str:
        holders = self._store.holders()
        shown = [f"{device[2]} by {holders.get(device, '?')}" for device in devices[:SHOWN]]
        return ", ".join(shown) + (", …" if len(devices) > SHOWN else "")

    def _constraint_lines(self) -> Iterator[str]:
        """Each request alone would find enough."""
        found = False
        for number, claim in enumerate(self._view.demand.claims):
            for place, constraint in enumerate(claim.constraints):
                found = True
                yield (
                    f"claim {self._claims[number]}, {constraint.kind} {constraint.attribute}"
                    f"{_over(constraint)}: {self._values(number, place, claim, constraint)}"
                )
        if not found:
            yield "each request alone finds enough devices, but they want the same ones"

    def _values(self, number: int, place: int, claim: ClaimDemand, constraint: Constraint) -> str:
        parts = []
        for choices in claim.choices:
            for request in choices.requests:
                if not constraint.concerns(request):
                    continue
                counts = Counter(
                    look.attributes[number][place] for look in self._tally(request).free
                )
                values = ", ".join(
                    f"{count} with {value[1] if value else 'no value'}"
                    for value, count in sorted(counts.items(), key=lambda item: str(item[0]))
                )
                parts.append(f"request {request.result_name} finds {values}")
        return "; ".join(parts)


def _is_enough(request: RequestAlternative, tally: _Tally) -> bool:
    if request.mode == ALL:
        return bool(tally.free) and not tally.used
    return len(tally.free) >= request.count


def _devices(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _over(constraint: Constraint) -> str:
    return f" over {', '.join(sorted(constraint.requests))}" if constraint.requests else ""


def _selector(turned: SelectorRejection, request: RequestAlternative) -> str:
    if turned is CONDITIONS:
        return "their binding conditions, which kube-scheduler does not wait for by default"
    of = f"class {request.class_name}" if turned.of_class else "the request"
    failed = f", which fails: {turned.failure.text}" if turned.failure else ""
    return f"selector #{turned.place} of {of}, {turned.expression}{failed}"
