"""Selects some of a state's pods, or replaces them, in passes over all pods that run in C.

A state may have 150,000 pods of which a change concerns a few: loops in Python over all of them
would take most of a change's time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from itertools import compress
from operator import attrgetter

from ksched_cli.cluster.objects import Pod
from ksched_cli.kube.selectors import Selector

Pods = tuple[Pod, ...]

_node_name = attrgetter("node_name")
_name = attrgetter("metadata.name")
_namespace = attrgetter("metadata.namespace")
_labels = attrgetter("metadata.labels")
_created = attrgetter("metadata.creation_timestamp")


def select_by_id(pods: Pods, ids: Collection[int]) -> list[Pod]:
    """Select those with these identities, in order. ids: a set or a dict"""
    return list(compress(pods, map(ids.__contains__, map(id, pods))))


def select_on_nodes(pods: Pods, nodes: Collection[str]) -> list[Pod]:
    """Select those bound to these nodes. nodes: a set or a dict"""
    return list(compress(pods, map(nodes.__contains__, map(_node_name, pods))))


def select_by_name(pods: Pods, names: Collection[str]) -> list[Pod]:
    """Select those with these names, of every namespace. names: a set or a dict"""
    return list(compress(pods, map(names.__contains__, map(_name, pods))))


def select_by_labels(pods: Pods, selector: Selector) -> list[Pod]:
    """Select those that the selector matches; labels that pods share are looked at once."""
    labels = list(map(_labels, pods))
    distinct = dict(zip(map(id, labels), labels, strict=True))
    matching = {identity for identity, each in distinct.items() if selector.matches(each)}
    return list(compress(pods, map(matching.__contains__, map(id, labels))))


def replace_pods(
    pods: Pods, replacements: Mapping[int, Pod | None], added: Iterable[Pod] = ()
) -> Pods:
    """The pods with others in their places, and more at the end.

    replacements: identity of a pod → what takes its place, None for nothing
    """
    replaced = map(replacements.get, map(id, pods), pods)
    return (*filter(None, replaced), *added)


def names_in(pods: Pods, namespace: str) -> set[str]:
    """The names of the namespace's pods."""
    return set(compress(map(_name, pods), map(namespace.__eq__, map(_namespace, pods))))


def newest_timestamp(pods: Pods) -> str:
    """The latest creation, "" where none is known."""
    return max(map(_created, pods), default="")
