"""The resource claims of a run, and the devices behind them.

The claims' current versions, and the devices allocated to them: the plugin that allocates writes
them; the record of a bound pod reads them, whatever its profile. Devices that claims have shares
of, and what the shares consume of their capacity. Slices as the scheduler sees them: with the
taints that DeviceTaintRules add to their devices. The device class that backs an extended resource:
a pod that requests the resource gets devices of that class where no device plugin offers it.

Upstream: plugins/dynamicresources (dra_manager.go, allocateddevices.go);
dynamic-resource-allocation/resourceclaim (resourceclaim.go, pod.go), structured/schedulerapi/
types.go (ConsumedCapacityCollection), resourceslice/tracker/tracker.go and
deviceclass/extendedresourcecache/extendedresourcecache.go; pkg/scheduler/util/utils.go
(IsDRAExtendedResourceName).
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import chain, count
from types import MappingProxyType
from typing import TypeAlias, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.cluster.objects import (
    DeviceClass,
    DeviceRequestAllocationResult,
    DeviceTaint,
    DeviceTaintRule,
    DeviceTaintSelector,
    PodResourceClaim,
    ResourceClaim,
    ResourceSlice,
)
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.handle import Handle, HasClaims
from ksched_cli.framework.pod_groups import group_key
from ksched_cli.kube.field_errors import is_extended_resource_name
from ksched_cli.kube.formatting import quote
from ksched_cli.kube.quantity import Quantity
from ksched_cli.kube.time import unix_seconds
from ksched_cli.kube.versions import Rules

T = TypeVar("T")

DeviceID: TypeAlias = tuple[str, str, str]
"""Driver, pool, device."""

_NOTHING: Mapping[str, int] = MappingProxyType({})


class SharedDevices:
    """Amounts are integers, in billionths of a unit."""

    def __init__(self, qualifies_names: bool = False) -> None:
        """Start without any allocated device. qualifies_names: see Rules"""
        self._qualifies_names = qualifies_names
        self._share_counts: Counter[DeviceID] = Counter()
        self._consumed: dict[DeviceID, dict[str, int]] = {}

    def __contains__(self, device: DeviceID) -> bool:
        return device in self._share_counts or device in self._consumed

    def __bool__(self) -> bool:
        return bool(self._share_counts)

    def has_consumed(self, device: DeviceID) -> bool:
        """Return whether some share's consumption of a device is on record."""
        return device in self._consumed

    def consumed(self, device: DeviceID) -> Mapping[str, int]:
        """Return what is consumed of a device, by the name of the capacity. Do not change it."""
        return self._consumed.get(device, _NOTHING)

    def add(self, shares: Iterable[DeviceRequestAllocationResult]) -> None:
        for share in shares:
            device = device_id(share)
            self._share_counts[device] += 1
            if share.consumed_capacity:
                amounts = self._consumed.setdefault(device, {})
                for name, amount in self._consumption(share).items():
                    amounts[name] = amounts.get(name, 0) + amount.nano_value()

    def _consumption(self, share: DeviceRequestAllocationResult) -> Mapping[str, Quantity]:
        """Return what a share consumes of each capacity."""
        if not self._qualifies_names:
            return share.consumed_capacity
        return qualified(share.consumed_capacity, share.driver)

    def remove(self, shares: Iterable[DeviceRequestAllocationResult]) -> None:
        """Remove a share. A device of which no share consumes anything is no longer on record."""
        for share in shares:
            device = device_id(share)
            self._share_counts[device] -= 1
            if not self._share_counts[device]:
                del self._share_counts[device]
            amounts = self._consumed.get(device)
            if amounts is None:
                continue
            for name, amount in self._consumption(share).items():
                if name in amounts:
                    amounts[name] -= amount.nano_value()
            if not any(amounts.values()):
                del self._consumed[device]


def qualified(amounts: Mapping[str, T], driver: str) -> dict[str, T]:
    """Return the amounts by full names: a name without a domain is in that of the driver. Where two
    have one name, that with the domain counts. Upstream: MakeFullyQualifiedName,
    NewDeviceConsumedCapacity."""
    named = {f"{driver}/{name}": each for name, each in amounts.items() if "/" not in name}
    return named | {name: each for name, each in amounts.items() if "/" in name}


def device_id(result: DeviceRequestAllocationResult) -> DeviceID:
    return result.driver, result.pool, result.device


GATE = "DRADeviceTaintRules"


def with_taint_rules(
    slices: Iterable[ResourceSlice], taint_rules: Iterable[DeviceTaintRule], rules: Rules
) -> Iterable[ResourceSlice]:
    """Return the slices, with the taints that DeviceTaintRules add to their devices."""
    without_selector = None if rules.needs_device_selector else DeviceTaintSelector()
    taints = [
        (selector, rule.spec.taint)
        for rule in taint_rules
        if (selector := rule.spec.device_selector or without_selector) is not None
    ]
    return (_with_taints(resource_slice, taints) for resource_slice in slices)


def _with_taints(
    resource_slice: ResourceSlice, taints: Iterable[tuple[DeviceTaintSelector, DeviceTaint]]
) -> ResourceSlice:
    spec = resource_slice.spec
    of_slice = [
        (selector.device, taint)
        for selector, taint in taints
        if selector.driver in (None, spec.driver) and selector.pool in (None, spec.pool.name)
    ]
    if not of_slice:
        return resource_slice
    devices = tuple(
        replace(
            device,
            taints=(*device.taints, *(t for name, t in of_slice if name in (None, device.name))),
        )
        for device in spec.devices
    )
    return replace(resource_slice, spec=replace(spec, devices=devices))


# Before the name of a class, the resource that it backs without saying so.
IMPLICIT_PREFIX = "deviceclass.resource.kubernetes.io/"


class BackingClasses:
    """A service; it has no classes where the gate DRAExtendedResource is off.

    It hears of classes one after the other, as kube-scheduler does: of those that are there by
    name, then of each that comes, changes or goes. Where several classes name one resource, the
    newest counts, then the first by name; but up to 1.37, a class that does not count when it is
    heard of does not back the resource of its own name either, and takes over from no class that
    goes.

    Upstream: dynamic-resource-allocation/deviceclass/extendedresourcecache
    (extendedresourcecache.go).
    """

    def __init__(self, handle: Handle) -> None:
        self._by_resource: dict[str, DeviceClass] = {}
        self._classes: Mapping[str, DeviceClass] = {}
        if handle.release.enabled("DRAExtendedResource"):
            self._classes = handle.cluster.device_classes
        self._recomputes = handle.release.rules.recomputes_backing_classes
        if self._recomputes:
            self._by_resource = _best_classes(self._classes.values())
        else:
            for name in sorted(self._classes):
                self._hear(None, self._classes[name])

    def carry_over(self, previous: BackingClasses) -> None:
        """Take over what `previous` has heard, and hear only of what has changed since."""
        if self._recomputes:
            return
        old, new = previous._classes, self._classes
        self._by_resource = dict(previous._by_resource)
        for name in sorted({*old, *new}):
            if old.get(name) != new.get(name):
                self._hear(old.get(name), new.get(name))

    def _hear(self, old: DeviceClass | None, new: DeviceClass | None) -> None:
        """Update the resources after a class has come, changed or gone. Upstream:
        updateResourceName2class, removeResourceName2class."""
        if new is not None:
            rival = self._by_resource.get(new.spec.extended_resource_name or "")
            if rival is not None and not _counts_more(new, rival):
                return
        if old is not None:
            # Another class may have its resource by now, and loses it.
            for resource in _resources_of(old):
                self._by_resource.pop(resource, None)
        if new is not None:
            self._by_resource.update(dict.fromkeys(_resources_of(new), new))

    def __bool__(self) -> bool:
        return bool(self._by_resource)

    def of(self, resource: str) -> DeviceClass | None:
        return self._by_resource.get(resource)

    def requested(self, pod: PodInfo) -> dict[str, int]:
        """Return the pod's requests of resources that a class backs; empty for most pods."""
        if not self._by_resource:
            return {}
        return {
            name: amount
            for name, amount in pod.resources.others.items()
            if amount and name in self._by_resource and is_dra_resource_name(name)
        }


def _best_classes(classes: Iterable[DeviceClass]) -> dict[str, DeviceClass]:
    """Return the class that backs each resource."""
    best: dict[str, DeviceClass] = {}
    for device_class in classes:
        for resource in _resources_of(device_class):
            if resource not in best or _counts_more(device_class, best[resource]):
                best[resource] = device_class
    return best


def _resources_of(device_class: DeviceClass) -> Iterator[str]:
    """Yield the resources that a class backs: the one that it names, and the one of its own
    name."""
    if device_class.spec.extended_resource_name:
        yield device_class.spec.extended_resource_name
    yield IMPLICIT_PREFIX + device_class.name


def _counts_more(device_class: DeviceClass, rival: DeviceClass) -> bool:
    """Return whether the class is newer than another, or as old and the first by name."""
    own, other = (_created(each) for each in (device_class, rival))
    return own > other or (own == other and device_class.name < rival.name)


def _created(device_class: DeviceClass) -> float:
    """Return when the class was created, in seconds since 1970."""
    created = device_class.metadata.creation_timestamp
    return unix_seconds(created) if created else -math.inf


def may_allocate_devices(pod: PodInfo, handle: Handle) -> bool:
    """Return whether the pod has claims, or may get one for its extended resources."""
    return bool(pod.spec.resource_claims or handle.service(BackingClasses).requested(pod))


def is_dra_resource_name(name: str) -> bool:
    return is_extended_resource_name(name) or name.startswith(IMPLICIT_PREFIX)


# The name, in this pod's scheduling, of the claim for its extended resources.
EXTENDED_RESOURCES = "<extended-resources>"
# On a claim that kube-scheduler made for a pod's extended resources.
CLAIM_ANNOTATION = "resource.kubernetes.io/extended-resource-claim"


class ClaimError(Exception):
    """A claim of a pod that cannot be used. The text is upstream's."""


class PendingAllocation(Struct):
    """The devices of a claim that a pod was given, and that no version of the claim has yet.

    claim:   as it will be
    sharers: how many pods hold it
    group:   namespace and name of the group in whose trial it was made, whose pods may share it
    """

    claim: ResourceClaim
    sharers: int = 1
    group: tuple[str, str] | None = None


class ClaimStore(HasClaims):
    """A service: the current version of every claim. Upstream: claimTracker.

    log:    the devices allocated or deallocated so far, in order; a reader remembers how far it
            read
    shared: what the claims' shares of devices consume
    extended: pod uid → namespace and name of the claim that was made for its extended resources
    """

    def __init__(self, handle: Handle) -> None:
        self._stored = handle.cluster.resource_claims
        self.claims = dict(self._stored)
        self._pending: dict[str, PendingAllocation] = {}
        self.extended: dict[str, tuple[str, str]] = {}
        self._has_shares = handle.release.enabled("DRAConsumableCapacity")
        self._allocated: set[DeviceID] = set()
        rules = handle.release.rules
        self.shared = SharedDevices(rules.qualifies_names)
        self._refuses_negative = self._has_shares and rules.refuses_negative_capacity
        self.log: list[DeviceID] = []
        self._changes: list[tuple[ResourceClaim, ResourceClaim]] = []
        self._is_changed = False
        for claim in self.claims.values():
            self._add(claim)

    def get(self, namespace: str, name: str) -> ResourceClaim | None:
        return self.claims.get((namespace, name))

    def all(self) -> Iterable[ResourceClaim]:
        return self.claims.values()

    def devices_in_use(self) -> Iterator[DeviceID]:
        return chain(self._allocated, *map(self._exclusive, self._pending_claims()))

    def _pending_claims(self) -> Iterator[ResourceClaim]:
        return (pending.claim for pending in self._pending.values())

    def negative_capacity(self) -> str:
        """Return why what claims consume cannot be told, or "". Upstream: consumedCapacityError."""
        if not self._refuses_negative or not self.shared:
            return ""
        problems = sorted(filter(None, map(_negative_capacity, self.claims.values())))
        if len(problems) < 2:
            return "".join(problems)
        more = len(problems) - 1
        return f"{problems[0]} (and {more} more claims with invalid consumed capacity)"

    def in_use(self, device: DeviceID) -> bool:
        return device in self._allocated or any(
            device in self._exclusive(claim) for claim in self._pending_claims()
        )

    def is_allocated(self, device: DeviceID) -> bool:
        """Return whether a claim has the device, or a share of it."""
        return device in self.shared or self.in_use(device)

    def holders(self) -> dict[DeviceID, str]:
        """Return, by device, the claim that has it exclusively."""
        return {
            device: claim.key
            for claim in (*self.claims.values(), *self._pending_claims())
            for device in self._exclusive(claim)
        }

    def write(self, claim: ResourceClaim) -> None:
        """Store a new version of a claim, and which devices it allocates or frees."""
        key = claim.namespace, claim.name
        previous = self.claims[key]
        self.claims[key] = claim
        self._is_changed = True
        self._changes.append((previous, claim))
        if previous.status.allocation is None:
            self._add(claim)
            self.log += allocated_devices(claim)
        elif claim.status.allocation is None:
            self._remove(previous)

    def create(self, claim: ResourceClaim) -> None:
        """Store a new claim, which has no devices yet."""
        self.claims[claim.namespace, claim.name] = claim
        self._is_changed = True

    def create_extended(self, claim: ResourceClaim, pod_uid: str) -> ResourceClaim:
        """Store the claim for a pod's extended resources under a name of its own."""
        owner = next(iter(claim.metadata.owner_references)).name
        names = (f"{owner}-extended-resources-{number}" for number in count())
        name = next(name for name in names if (claim.namespace, name) not in self.claims)
        created = replace(claim, metadata=replace(claim.metadata, name=name, uid=""))
        self.extended[pod_uid] = created.namespace, name
        self.claims[created.namespace, name] = created
        self._is_changed = True
        return created

    def extended_of(self, pod: PodInfo) -> ResourceClaim | None:
        """Return the claim that was made for a pod's extended resources."""
        return self.claims.get(self.extended.get(pod.uid, ("", "")))

    def extended_claim(self, pod: PodInfo) -> ResourceClaim | None:
        """Return the claim for a pod's extended resources that an attempt made, this run's or an
        earlier one. Upstream: findExtendedResourceClaim."""
        for claim in self.claims.values():
            owner = claim.metadata.controller
            if (
                owner is not None
                and (owner.name, owner.uid) == (pod.name, pod.uid)
                and claim.metadata.annotations.get(CLAIM_ANNOTATION) == "true"
            ):
                return claim
        return None

    @contextmanager
    def without_extended_claim(self, pod: PodInfo) -> Iterator[None]:
        """Act as if the pod had not been scheduled yet: meanwhile the claim for its extended
        resources does not exist, and its devices are free."""
        claim = self.extended_claim(pod)
        if claim is None:
            yield
            return
        key = claim.namespace, claim.name
        del self.claims[key]
        self._remove(claim)
        try:
            yield
        finally:
            self.claims[key] = claim
            self._add(claim)
            self.log += allocated_devices(claim)

    def delete(self, claim: ResourceClaim) -> None:
        """Free its devices. Does nothing if the claim is not there."""
        stored = self.claims.pop((claim.namespace, claim.name), None)
        if stored is not None:
            self._is_changed = True
            self._remove(stored)

    def carry_over(self, previous: ClaimStore) -> None:
        """Take over what became of claims that have not changed in the API server since, and the
        claims that were made for extended resources."""
        for key, claim in previous.claims.items():
            stored = self._stored.get(key)
            if stored is not None and stored is previous._stored.get(key):
                if claim is not stored:
                    self.write(claim)
            elif stored is None and key in previous.extended.values():
                self.claims[key] = claim
                self._is_changed = True
                self._add(claim)
        self.extended.update(previous.extended)
        self._changes = []

    def current(self) -> Mapping[tuple[str, str], ResourceClaim]:
        """Return the claims as the API server returns them after what was written here."""
        return dict(self.claims) if self._is_changed else self._stored

    def take_changes(self) -> list[tuple[ResourceClaim, ResourceClaim]]:
        """Return the claims written since the last call, before and after."""
        changes, self._changes = self._changes, []
        return changes

    def pending(self, claim: ResourceClaim) -> PendingAllocation | None:
        """Return the allocation of the claim that is under way. Upstream: GetPendingAllocation."""
        return self._pending.get(claim_uid(claim))

    def add_pending(self, claim: ResourceClaim, group: tuple[str, str] | None = None) -> None:
        """Note that the claim's allocation is under way, or that another pod shares it. Do nothing
        where the claim has been allocated meanwhile. Upstream: SignalClaimPendingAllocation.

        group: see PendingAllocation
        """
        pending, stored = self.pending(claim), self.get(claim.namespace, claim.name)
        if pending is not None:
            pending.sharers += 1
        elif stored is None or stored.uid != claim.uid or stored.status.allocation is None:
            self._pending[claim_uid(claim)] = PendingAllocation(claim, group=group)
            self.shared.add(self._shares(claim))
            self.log += allocated_devices(claim)

    def remove_pending(self, claim: ResourceClaim, *, is_written: bool = False) -> None:
        """Note that a pod holds the allocation no more, or that it is written, and therefore no
        longer under way. Do nothing if it is not. Upstream: MaybeRemoveClaimPendingAllocation."""
        pending = self.pending(claim)
        if pending is None:
            return
        pending.sharers -= 1
        if is_written or not pending.sharers:
            del self._pending[claim_uid(claim)]
            self.shared.remove(self._shares(pending.claim))
            self.log += allocated_devices(pending.claim)

    def _add(self, claim: ResourceClaim) -> None:
        self._allocated.update(self._exclusive(claim))
        self.shared.add(self._shares(claim))

    def _remove(self, claim: ResourceClaim) -> None:
        # Upstream's set has no owners: if two claims have one device, freeing one frees it.
        self._allocated.difference_update(self._exclusive(claim))
        self.shared.remove(self._shares(claim))
        self.log += allocated_devices(claim)

    def _exclusive(self, claim: ResourceClaim) -> list[DeviceID]:
        return exclusive_devices(claim, self._has_shares)

    def _shares(self, claim: ResourceClaim) -> list[DeviceRequestAllocationResult]:
        allocation = claim.status.allocation
        if allocation is None or not self._has_shares:
            return []
        return [
            result
            for result in allocation.devices.results
            if result.share_id is not None and not result.admin_access
        ]


def _negative_capacity(claim: ResourceClaim) -> str:
    allocation = claim.status.allocation
    for result in allocation.devices.results if allocation is not None else ():
        for name, amount in sorted(result.consumed_capacity.items(), key=lambda item: item[0]):
            if amount.sign() < 0:
                return (
                    f"claim {claim.key}, device {'/'.join(device_id(result))}: consumed capacity"
                    f" {quote(name)} must not be negative, got {amount}"
                )
    return ""


def claim_uid(claim: ResourceClaim) -> str:
    return claim.uid or claim.key


def exclusive_devices(claim: ResourceClaim, has_shares: bool = True) -> list[DeviceID]:
    """Return the devices allocated to a claim, without those of admin access; with has_shares,
    without those that it has a share of.

    Upstream: foreachAllocatedDevice.
    """
    allocation = claim.status.allocation
    if allocation is None:
        return []
    return [
        device_id(result)
        for result in allocation.devices.results
        if not result.admin_access and not (has_shares and result.share_id is not None)
    ]


def allocated_devices(claim: ResourceClaim) -> list[DeviceID]:
    """Return all devices of a claim, shared ones too."""
    allocation = claim.status.allocation
    return list(map(device_id, allocation.devices.results)) if allocation is not None else []


def claim_name(pod: PodInfo, reference: PodResourceClaim) -> tuple[str | None, bool]:
    """Return the name of the claim that a pod's reference refers to, None if none was needed; and
    whether the pod must own it. Raises ClaimError. Upstream: resourceclaim.Name."""
    if reference.resource_claim_name is not None:
        return reference.resource_claim_name, False
    if reference.resource_claim_template_name is None:
        raise ClaimError(
            f'pod "{pod.key}", spec.resourceClaim "{reference.name}": '
            "none of the supported fields are set"
        )
    for status in pod.pod.status.resource_claim_statuses:
        if status.name == reference.name:
            return status.resource_claim_name, True
    raise ClaimError(f'pod "{pod.key}": ResourceClaim not created yet')


# The API group and the resource of PodGroups.
SCHEDULING, PODGROUPS = "scheduling.k8s.io", "podgroups"


def is_reserved_for(claim: ResourceClaim, pod: PodInfo, *, of_groups: bool = False) -> bool:
    """Return whether the claim is reserved for the pod; with of_groups, or for its group. Upstream:
    IsReservedForPod."""
    group = group_key(pod.pod) if of_groups else None
    return any(
        consumer.uid == pod.uid
        or (
            group is not None
            and (consumer.api_group, consumer.resource) == (SCHEDULING, PODGROUPS)
            and consumer.name == group[1]
        )
        for consumer in claim.status.reserved_for
    )


def held_devices(pod: PodInfo, store: ClaimStore) -> dict[str, tuple[str, ...]]:
    """Return per claim of a pod, `request=driver/pool/device` of each allocated device."""
    devices_by_claim: dict[str, tuple[str, ...]] = {}
    for reference in pod.spec.resource_claims:
        try:
            name, _ = claim_name(pod, reference)
        except ClaimError:
            continue
        claim = store.get(pod.namespace, name) if name is not None else None
        if name is None or claim is None or claim.status.allocation is None:
            continue
        devices = _device_texts(claim)
        if devices:
            devices_by_claim[name] = (*devices_by_claim.get(name, ()), *devices)
    extended = store.extended_of(pod)
    if extended is not None:
        devices_by_claim[EXTENDED_RESOURCES] = _device_texts(extended)
    return devices_by_claim


def _device_texts(claim: ResourceClaim) -> tuple[str, ...]:
    allocation = claim.status.allocation
    results = allocation.devices.results if allocation is not None else ()
    return tuple(
        f"{result.request}={result.driver}/{result.pool}/{result.device}" for result in results
    )
