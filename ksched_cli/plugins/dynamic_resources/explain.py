"""Explains why claims cannot be allocated on a node: per request, how many devices are free, in use
or rejected, and by which selector. One line each.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from ksched_cli.framework.resource_claims import ClaimStore
from ksched_cli.framework.shared_devices import DeviceID
from ksched_cli.plugins.dynamic_resources.candidates import NodePools
from ksched_cli.plugins.dynamic_resources.capacity import fits
from ksched_cli.plugins.dynamic_resources.pool_devices import PoolDevice
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    ClaimDemand,
    Constraint,
    RequestAlternative,
)
from ksched_cli.plugins.dynamic_resources.selectors import SelectorRejection
from ksched_cli.plugins.dynamic_resources.taints import untolerated_taint
from ksched_cli.plugins.dynamic_resources.view import (
    BINDING_CONDITIONS,
    OUT_OF_REACH,
    DemandView,
    DeviceSignature,
)

MAX_HOLDERS = 3


@dataclass(slots=True)
class _DeviceCounts:
    """The devices of a node, for one request.

    free:       the signatures of the free devices
    in_use:     devices that match, but are allocated to other claims
    rejections: by selector, how many it rejects
    shortages:  by what bars devices that match, how many
    """

    total: int = 0
    free: list[DeviceSignature] = field(default_factory=list)
    in_use: list[DeviceID] = field(default_factory=list)
    rejections: Counter[SelectorRejection] = field(default_factory=Counter)
    shortages: Counter[str] = field(default_factory=Counter)


class AllocationExplanation:
    """The devices of one node, for a pod's claims. claims: their keys."""

    def __init__(
        self,
        view: DemandView,
        node_pools: NodePools,
        claims: Sequence[str],
        store: ClaimStore,
    ) -> None:
        self._view = view
        self._node_pools = node_pools
        self._claims = claims
        self._store = store

    def lines(self) -> Iterator[str]:
        yield from self._pool_lines()
        if not any(pool.devices for pool in self._node_pools.pools):
            yield "this node reaches no device of any ResourceSlice"
            return
        is_short = False
        for claim, demand in zip(self._claims, self._view.demand.claims, strict=True):
            for alternatives in demand.alternatives:
                counts_by_request = [
                    (request, self._count_devices(request)) for request in alternatives.requests
                ]
                enough = [_is_enough(request, counts) for request, counts in counts_by_request]
                is_short = is_short or not any(enough)
                for request, counts in counts_by_request:
                    yield f"claim {claim}, {self._request_line(request, counts)}"
        if not is_short:
            yield from self._constraint_lines()

    def _pool_lines(self) -> Iterator[str]:
        for pool in self._node_pools.pools:
            if pool.invalid:
                yield f"pool {pool.key} is invalid: {pool.invalid}"
            if pool.incomplete:
                yield (
                    f"pool {pool.key} is incomplete: {pool.slice_count} of "
                    f"{pool.resource_slice_count} slices of generation {pool.generation}"
                )

    def _count_devices(self, request: RequestAlternative) -> _DeviceCounts:
        counts = _DeviceCounts()
        request_number = self._view.demand.requests.index(request)
        for number, (pool, pool_signature, in_use) in enumerate(
            zip(
                self._node_pools.pools,
                self._node_pools.signatures,
                self._node_pools.in_use,
                strict=True,
            )
        ):
            for index, (device, signature_id) in enumerate(
                zip(pool.devices, pool_signature.signatures, strict=True)
            ):
                signature = self._view.signatures[signature_id]
                rejection = signature.rejections[request_number]
                counts.total += 1
                if rejection is not None:
                    counts.rejections[rejection] += 1
                elif in_use >> index & 1 and not request.admin_access:
                    counts.in_use.append(device.id)
                elif shortage := self._shortage(request, device, number):
                    counts.shortages[shortage] += 1
                elif not signature.consumes_counters:
                    counts.free.append(signature)
        return counts

    def _shortage(self, request: RequestAlternative, device: PoolDevice, pool: int) -> str:
        """Return what bars a device that the selectors match, taken alone."""
        traits, shared = device.traits, self._node_pools.shared
        taint = untolerated_taint(traits.taints, request.tolerations)
        if taint is not None:
            value = f"={taint.value}" if taint.value else ""
            return f"the taint {taint.key}{value}:{taint.effect}"
        if traits.has_capacity and not fits(
            traits.capacities,
            request.capacity,
            self._view.capacity_policy,
            shared.consumed(device.id),
        ):
            return "not enough capacity left"
        counters = self._node_pools.counters[pool] if self._node_pools.counters else None
        if counters is None or (traits.is_shared and shared.has_consumed(device.id)):
            return ""
        consumption = dict(traits.consumption)
        if any(amount < consumption.get(key, 0) for key, amount in counters.items()):
            return "used-up counters of their pool"
        return ""

    def _request_line(self, request: RequestAlternative, counts: _DeviceCounts) -> str:
        requested = "all" if request.mode == ALL else str(request.count)
        parts = [
            f"request {request.result_name}: wants {requested} of class {request.class_name}; of "
            f"{_device_count_text(counts.total)} {len(counts.free)} free"
        ]
        if counts.in_use:
            parts.append(f"{len(counts.in_use)} in use ({self._holders(counts.in_use)})")
        parts += [
            f"{count} turned away by {_rejection_text(rejection, request)}"
            for rejection, count in counts.rejections.most_common()
        ]
        parts += [
            f"{count} turned away by {shortage}"
            for shortage, count in counts.shortages.most_common()
        ]
        return ", ".join(parts)

    def _holders(self, devices: list[DeviceID]) -> str:
        holders = self._store.holders()
        shown = [f"{device[2]} by {holders.get(device, '?')}" for device in devices[:MAX_HOLDERS]]
        return ", ".join(shown) + (", …" if len(devices) > MAX_HOLDERS else "")

    def _constraint_lines(self) -> Iterator[str]:
        """Return lines where each request alone has enough devices: the values that the constraints
        compare."""
        has_constraints = False
        for claim_number, claim in enumerate(self._view.demand.claims):
            for constraint_number, constraint in enumerate(claim.constraints):
                has_constraints = True
                values = self._attribute_values(claim_number, constraint_number, claim, constraint)
                yield (
                    f"claim {self._claims[claim_number]}, {constraint.kind} {constraint.attribute}"
                    f"{_constrained_requests(constraint)}: {values}"
                )
        if not has_constraints:
            yield "each request alone finds enough devices, but several need the same devices"

    def _attribute_values(
        self, claim_number: int, constraint_number: int, claim: ClaimDemand, constraint: Constraint
    ) -> str:
        parts = []
        for alternatives in claim.alternatives:
            for request in alternatives.requests:
                if not constraint.applies_to(request):
                    continue
                frequencies = Counter(
                    signature.attributes[claim_number][constraint_number]
                    for signature in self._count_devices(request).free
                )
                values = ", ".join(
                    f"{count} with {value[1] if value else 'no value'}"
                    for value, count in sorted(frequencies.items(), key=lambda item: str(item[0]))
                )
                parts.append(f"request {request.result_name} finds {values}")
        return "; ".join(parts)


def _is_enough(request: RequestAlternative, counts: _DeviceCounts) -> bool:
    if request.mode == ALL:
        return bool(counts.free) and not counts.in_use and not counts.shortages
    return len(counts.free) >= request.count


def _device_count_text(count: int) -> str:
    return "1 device" if count == 1 else f"{count} devices"


def _constrained_requests(constraint: Constraint) -> str:
    return f" over {', '.join(sorted(constraint.requests))}" if constraint.requests else ""


def _rejection_text(rejection: SelectorRejection, request: RequestAlternative) -> str:
    if rejection is BINDING_CONDITIONS:
        return "their binding conditions, which kube-scheduler does not wait for by default"
    if rejection is OUT_OF_REACH:
        return "what their slice says about the nodes that reach them"
    owner = f"class {request.class_name}" if rejection.from_class else "the request"
    failed = f", which fails: {rejection.failure.text}" if rejection.failure else ""
    return f"selector #{rejection.index} of {owner}, {rejection.expression}{failed}"
