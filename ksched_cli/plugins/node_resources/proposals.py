"""Changes that would make a node without room for a pod fit: a smaller request, and evictions
there."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import combinations
from typing import Any

from ksched_cli.cluster.objects import Container
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, PODS
from ksched_cli.framework.interface import Proposal
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.kube.quantity import amount_text, amount_texts, exact_text
from ksched_cli.plugins.helper.evictions import may_make_room, named

# With up to this many pods, every pair is looked at.
MAX_PAIRED = 60

Amounts = Mapping[str, int]


def proposals(
    pod: PodInfo, node: NodeInfo, is_ignored: Callable[[str], bool]
) -> Iterator[Proposal]:
    """is_ignored: whether the plugin does not look at a resource"""
    free = {
        resource: node.allocatable(resource) - node.requested(resource)
        for resource, amount in pod.resources.requests.items()
        if amount > 0 and not is_ignored(resource)
    }
    short = {name: room for name, room in free.items() if room < pod.resources.requests[name]}
    lacks_place = len(node.pods) >= node.allocatable(PODS)
    if short and not lacks_place and min(short.values()) > 0:
        lower = lower_request(pod, short, f", which {node.name} has free")
        if lower is not None:
            yield lower
    missing = {name: pod.resources.requests[name] - room for name, room in short.items()}
    if lacks_place:
        missing[PODS] = len(node.pods) + 1 - node.allocatable(PODS)
    victims = fewest_victims(pod, node.pods, missing)
    if victims:
        text = f"evict {named(victims)} from {node.name}"
        keys = tuple(victim.key for victim in victims)
        yield Proposal("evict", text, evicts=keys, amount=len(victims))


# -- requesting less ------------------------------------------------------------------------------


def lower_request(pod: PodInfo, limits: Amounts, why: str = "") -> Proposal | None:
    """limits: the most that the pod may request of what is short. why: to end the text with. None
    where its containers do not request so much"""
    requests: dict[str, dict[str, str]] = {}
    pod_level: dict[str, str] = {}
    texts = []
    for resource, limit in limits.items():
        amount = pod.resources.requests[resource]
        if pod.spec.resources is not None and resource in pod.spec.resources.requests:
            pod_level[resource] = exact_text(resource, limit)
        else:
            lowered = _lowered(pod, resource, amount - limit)
            if lowered is None:
                return None
            for container, text in lowered.items():
                requests.setdefault(container, {})[resource] = text
        exact, before = exact_text(resource, limit), amount_text(resource, amount)
        if resource == CPU:
            exact, before = amount_texts(resource, (limit, amount))
        texts.append(f"{exact} of {resource} instead of {before}")
    share = max(1 - limit / pod.resources.requests[name] for name, limit in limits.items())
    patch: dict[str, Any] = {"spec": {"resources": {"requests": pod_level}}} if pod_level else {}
    text = f"request {' and '.join(texts)}{why}"
    return Proposal("request", text, patch=patch, requests=requests, amount=share)


def _lowered(pod: PodInfo, resource: str, cut: int) -> dict[str, str] | None:
    """By container, its request after the pod's is lowered by `cut`: the largest first. None where
    containers do not request so much."""
    lowered: dict[str, str] = {}
    running = [c for c in pod.spec.init_containers if c.is_sidecar] + [*pod.spec.containers]
    total = sum(_amount(container, resource) for container in running)
    overhead = pod.resources.requests[resource] - max(
        total, max((_amount(c, resource) for c in pod.spec.init_containers), default=0)
    )
    limit = pod.resources.requests[resource] - max(overhead, 0) - cut
    excess = total - limit
    for container in sorted(running, key=lambda c: -_amount(c, resource)):
        if excess <= 0:
            break
        taken = min(excess, _amount(container, resource))
        lowered[container.name] = exact_text(resource, _amount(container, resource) - taken)
        excess -= taken
    for container in pod.spec.init_containers:
        if not container.is_sidecar and _amount(container, resource) > limit:
            lowered[container.name] = exact_text(resource, limit)
    return lowered if limit > 0 and excess <= 0 else None


def _amount(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource)
    if amount is None:
        return 0
    return amount.milli_value() if resource == CPU else amount.value()


# -- evicting -------------------------------------------------------------------------------------


def fewest_victims(pod: PodInfo, pods: Iterable[PodInfo], missing: Amounts) -> tuple[PodInfo, ...]:
    """The fewest pods whose leaving gives the pod what is missing, of these the ones that request
    the least; () where no pods do. Beyond two, the first that are found."""
    others = [other for other in pods if may_make_room(other, pod)]

    def gives(victims: Iterable[PodInfo]) -> bool:
        group = tuple(victims)
        return all(
            sum(_given(victim, name) for victim in group) >= amount
            for name, amount in missing.items()
        )

    def size(victims: Iterable[PodInfo]) -> float:
        group = tuple(victims)
        return sum(
            sum(_given(victim, name) for victim in group) / amount
            for name, amount in missing.items()
        )

    for count in (1, 2) if len(others) <= MAX_PAIRED else (1,):
        groups = [group for group in combinations(others, count) if gives(group)]
        if groups:
            return min(groups, key=size)
    if not gives(others):
        return ()
    victims = sorted(others, key=lambda other: size((other,)))
    # The smallest stay, as long as the others give enough.
    for other in tuple(victims):
        rest = [victim for victim in victims if victim is not other]
        if gives(rest):
            victims = rest
    return tuple(victims)


def _given(victim: PodInfo, resource: str) -> int:
    return 1 if resource == PODS else victim.resources.requests.get(resource, 0)
