"""ElasticQuotas, and what the pods of their namespaces use.

Upstream: kubernetes-sigs/scheduler-plugins, pkg/capacityscheduling/elasticquota.go.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, TypeAlias

from ksched_cli.api import Handle, PluginError, PodInfo, Quantity, QuantityError

KIND = "ElasticQuota.scheduling.x-k8s.io"
Amounts: TypeAlias = dict[str, int]

# Always compared, whatever is requested. In milli cpu, and in bytes.
PRINCIPAL = ("cpu", "memory", "ephemeral-storage")
NO_LIMIT = (1 << 63) - 1


def total(*amounts: Mapping[str, int]) -> Amounts:
    """The sums by resource."""
    names = dict.fromkeys(name for each in amounts for name in each)
    return {name: sum(each.get(name, 0) for each in amounts) for name in names}


def request_of(pod: PodInfo) -> Amounts:
    """What a pod counts with: its containers, or an init container that needs more, and the
    overhead. Sidecars and requests of the pod as a whole do not count. Upstream:
    computePodResourceRequest."""
    spec = pod.spec
    request = total(*(_amounts(container.resources.requests) for container in spec.containers))
    for container in spec.init_containers:
        for name, amount in _amounts(container.resources.requests).items():
            request[name] = max(request.get(name, 0), amount)
    return total(request, _amounts(spec.overhead or {}))


def exceeds(
    first: Mapping[str, int], second: Mapping[str, int], limit: Mapping[str, int], bound: int
) -> bool:
    """Whether the sum is over the limit. Extended resources are compared only where `first`
    names them; bound: their limit where `limit` has none. Upstream: cmp2."""
    return any(
        first.get(name, 0) + second.get(name, 0) > limit.get(name, 0) for name in PRINCIPAL
    ) or any(
        amount + second.get(name, 0) > limit.get(name, bound)
        for name, amount in first.items()
        if name not in PRINCIPAL
    )


@dataclass(slots=True)
class Quota:
    """The ElasticQuota of a namespace. pods: UIDs of those that count in `used`."""

    least: Amounts
    most: Amounts
    used: Amounts = field(default_factory=dict)
    pods: set[str] = field(default_factory=set)

    def add(self, pod: PodInfo) -> None:
        """Count a pod, once."""
        if pod.uid not in self.pods:
            self.pods.add(pod.uid)
            self.used = total(self.used, request_of(pod))

    def remove(self, pod: PodInfo) -> None:
        """Count a pod no more."""
        if pod.uid in self.pods:
            self.pods.remove(pod.uid)
            request = {name: -amount for name, amount in request_of(pod).items()}
            self.used = total(self.used, request)

    def over_min_with(self, request: Mapping[str, int]) -> bool:
        return exceeds(request, self.used, self.least, 0)

    def over_max_with(self, request: Mapping[str, int]) -> bool:
        return exceeds(request, self.used, self.most, NO_LIMIT)

    @property
    def over_min(self) -> bool:
        """Whether it borrows from others."""
        return exceeds(self.used, {}, self.least, 0)


@dataclass(slots=True)
class Quotas:
    """The quotas by namespace, one each."""

    by_namespace: dict[str, Quota]

    def clone(self) -> Quotas:
        """Return a copy, for trials."""
        copies = {
            name: replace(each, pods=set(each.pods)) for name, each in self.by_namespace.items()
        }
        return Quotas(copies)

    def of(self, pod: PodInfo) -> Quota | None:
        return self.by_namespace.get(pod.namespace)

    def over_all_min_with(self, request: Mapping[str, int]) -> bool:
        """Whether all together use more than all of them are guaranteed. Upstream:
        aggregatedUsedOverMinWith."""
        used = total(*(quota.used for quota in self.by_namespace.values()), request)
        least = total(*(quota.least for quota in self.by_namespace.values()))
        return exceeds(used, {}, least, 0)

    def pod_added(self, pod: PodInfo, row: int) -> None:
        """The pod is on a node."""
        quota = self.of(pod)
        if quota is not None:
            quota.add(pod)

    def pod_removed(self, pod: PodInfo, row: int) -> None:
        """The pod has left its node."""
        quota = self.of(pod)
        if quota is not None:
            quota.remove(pod)


def quotas_of(handle: Handle) -> Quotas:
    """As the state has them, with the pods on nodes; follows these. `handle.service(quotas_of)` is
    one for the whole run. The first quota of a namespace counts."""
    quotas = Quotas({})
    for plain in handle.cluster.others.get(KIND, ()):
        meta, spec = plain.get("metadata") or {}, plain.get("spec") or {}
        namespace = meta.get("namespace") or "default"
        try:
            least, most = _limits(spec.get("min")), _limits(spec.get("max"))
        except (QuantityError, AttributeError) as error:
            raise PluginError(f"ElasticQuota {namespace}/{meta.get('name', '')}: {error}") from None
        quota = Quota(least or {}, dict.fromkeys(PRINCIPAL, NO_LIMIT) if most is None else most)
        quotas.by_namespace.setdefault(namespace, quota)
    for row, pods in enumerate(handle.snapshot.pods):
        for pod in pods:
            quotas.pod_added(pod, row)
    handle.snapshot.subscribe(quotas)
    return quotas


def _limits(plain: Mapping[str, Any] | None) -> Amounts | None:
    """What a quota says; None where it says nothing. A resource that `max` leaves out is 0."""
    if not plain:
        return None
    return _amounts({name: Quantity.parse(str(text)) for name, text in plain.items()})


def _amounts(quantities: Mapping[str, Quantity | None]) -> Amounts:
    items: Iterable[tuple[str, Quantity]] = (
        (name, amount) for name, amount in quantities.items() if amount is not None
    )
    return {n: q.milli_value() if n == "cpu" else q.value() for n, q in items}
