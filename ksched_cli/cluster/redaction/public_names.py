"""Names that are Kubernetes's own and tell nothing of a cluster: they stay in a redacted state."""

from __future__ import annotations

from functools import cache
from pathlib import Path

import msgspec

from ksched_cli.cluster.trimming import READ_ANNOTATIONS

_DOMAINS = ("kubernetes.io", "k8s.io")


class PublicNames(msgspec.Struct, frozen=True):
    """public_names.json.

    namespaces:  that every cluster has
    objects:     classes that every cluster has, the default scheduler, and storage drivers that the
                 migration of in-tree volumes names
    keys:        of labels and annotations, as far as schedulers see them. Upstream: "Well-Known
                 Labels, Annotations and Taints"
    keys_of_public_values: keys whose values tell nothing, or are read as numbers
    owner_kinds: of owners, whose names are not those of somebody's own resources
    """

    namespaces: frozenset[str]
    objects: frozenset[str]
    keys: frozenset[str]
    keys_of_public_values: frozenset[str]
    owner_kinds: frozenset[str]


@cache
def public_names() -> PublicNames:
    data = Path(__file__).with_suffix(".json").read_bytes()
    names = msgspec.json.decode(data, type=PublicNames)
    return msgspec.structs.replace(names, keys=names.keys | READ_ANNOTATIONS)


def is_kubernetes_domain(domain: str) -> bool:
    """Whether the prefix of a key is Kubernetes's own, or below it."""
    return domain in _DOMAINS or domain.endswith(tuple(f".{own}" for own in _DOMAINS))
