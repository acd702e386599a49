"""Proposals that a pod requests less: which of its containers request how much less.

The largest containers give up what is too much, sidecars too; init containers what each of them
requests beyond the limit.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ksched_cli.cluster.objects import Container
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, is_scalar_resource
from ksched_cli.framework.interface import Proposal
from ksched_cli.kube.quantity import Quantity, amount_texts, exact_text, rounded_down

Amounts = Mapping[str, int]


def lower_request(pod: PodInfo, limits: Amounts, why: str = "") -> Proposal | None:
    """Return the proposal to request no more than the limits, by resource, or None where the pod's
    containers do not request so much. It names the containers that request less where the pod has
    several.

    why: the end of the text
    """
    requests: dict[str, dict[str, str]] = {}
    by_init: dict[str, dict[str, str]] = {}
    pod_level: dict[str, str] = {}
    init = {container.name for container in pod.spec.init_containers}
    for resource, limit in limits.items():
        own = _of_pod(pod, resource)
        before = own
        if before is None:
            together = sum(_amount(container, resource) for container in _running(pod))
            before = max(
                together, *(_amount(each, resource) for each in pod.spec.init_containers), 0
            )
        # The rest, such as the overhead of its RuntimeClass, stays.
        overhead = max(0, pod.resources.requests[resource] - before)
        limit_of_containers = rounded_down(resource, limit - overhead)
        if own is not None:
            pod_level[resource] = exact_text(resource, limit_of_containers)
        # The API server refuses a pod whose containers together request more than the pod.
        lowered = _lowered(pod, resource, limit_of_containers)
        if lowered is None:
            return None
        for container, text in lowered.items():
            amounts = by_init if container in init else requests
            amounts.setdefault(container, {})[resource] = text
    share = max(1 - limit / pod.resources.requests[name] for name, limit in limits.items())
    spec: dict[str, Any] = {"resources": {"requests": pod_level}} if pod_level else {}
    if by_init:
        spec["initContainers"] = [container_patch(*each) for each in by_init.items()]
    return Proposal(
        "request",
        f"{request_text(pod, limits, {**requests, **by_init})}{why}",
        patch={"spec": spec} if spec else {},
        requests=requests,
        amount=share,
    )


def _of_pod(pod: PodInfo, resource: str) -> int | None:
    """Return how much the pod's own resources request, or None where only its containers do."""
    resources = pod.spec.resources
    if resources is None or resource not in resources.requests:
        return None
    return _in_units(resource, resources.requests[resource])


def container_patch(name: str, amounts: Mapping[str, str]) -> dict[str, Any]:
    """Return the patch of a container's requests, and of the limits that must equal them."""
    resources = {"requests": dict(amounts)}
    limits = {name: text for name, text in amounts.items() if is_scalar_resource(name)}
    return {"name": name, "resources": resources | ({"limits": limits} if limits else {})}


def request_text(pod: PodInfo, limits: Amounts, lowered: Mapping[str, Mapping[str, str]]) -> str:
    """Return what to request instead, and in which containers. lowered: container → resource → the
    lower request"""
    containers = {
        each.name: ("sidecar" if each.is_sidecar else "init container", each)
        for each in pod.spec.init_containers
    }
    containers |= {each.name: ("container", each) for each in pod.spec.containers}
    texts = []
    for resource, limit in limits.items():
        before, written = pod.resources.requests[resource], written_request(pod, resource)
        text = _instead(resource, limit, before, written, f"{resource} ")
        where = [
            f"{kind} {name}: {_instead(resource, lower, _amount(container, resource), '')}"
            for name, (kind, container) in containers.items()
            if (quantity := lowered.get(name, {}).get(resource)) is not None
            and (lower := _in_units(resource, Quantity.parse(quantity)))
            != _amount(container, resource)
        ]
        if _of_pod(pod, resource) is not None:
            text += " (resources of the pod)"
        elif where and (len(containers) > 1 or pod.spec.overhead):
            text += f" ({', '.join(where)})"
        texts.append(text)
    return f"request {' and '.join(texts)}"


def _instead(resource: str, limit: int, before: int, written: str, name: str = "") -> str:
    text, lower = amount_texts(resource, (before, limit), written)
    exact = lower if resource == CPU else exact_text(resource, limit)
    return f"{name}{exact} instead of {text}"


def written_request(pod: PodInfo, resource: str) -> str:
    """Return the quantity in the pod that alone is its request; "" where it is a sum of several."""
    amount = pod.resources.requests[resource]
    whole_pod = pod.spec.resources
    asking = [each.resources.requests for each in (*pod.spec.init_containers, *pod.spec.containers)]
    for requests in (whole_pod.requests if whole_pod is not None else {}, *asking):
        if resource in requests and _in_units(resource, requests[resource]) == amount:
            return str(requests[resource])
    return ""


def _running(pod: PodInfo) -> list[Container]:
    """Return the containers that run side by side."""
    return [*(each for each in pod.spec.init_containers if each.is_sidecar), *pod.spec.containers]


def _lowered(pod: PodInfo, resource: str, limit: int) -> dict[str, str] | None:
    """Return, by container, its request after all together are lowered to the limit, the largest
    first. Return None where that is not possible."""
    lowered: dict[str, str] = {}
    excess = sum(_amount(container, resource) for container in _running(pod)) - limit
    for container in sorted(_running(pod), key=lambda c: -_amount(c, resource)):
        if excess <= 0:
            break
        own = _amount(container, resource)
        lower = rounded_down(resource, own - min(excess, own))
        lowered[container.name] = exact_text(resource, lower)
        excess -= own - lower
    for container in pod.spec.init_containers:
        if not container.is_sidecar and _amount(container, resource) > limit:
            lowered[container.name] = exact_text(resource, limit)
    return lowered if limit > 0 and excess <= 0 else None


def _amount(container: Container, resource: str) -> int:
    amount = container.resources.requests.get(resource)
    return 0 if amount is None else _in_units(resource, amount)


def _in_units(resource: str, amount: Quantity) -> int:
    """Return the amount in the scheduler's units."""
    return amount.milli_value() if resource == CPU else amount.value()
