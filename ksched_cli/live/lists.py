"""Which resources an API server has of the kinds that a scheduler reads, and in which version; and
whole lists of their objects, read in pages.

Upstream: the discovery of k8s.io/client-go (ServerPreferredResources), and its tools/pager.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import TypeVar

import msgspec
from msgspec import Raw, Struct

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.unknown_fields import field_tables
from ksched_cli.live.client import (
    MAX_WHOLE_LIST,
    UNREADABLE,
    ApiServer,
    ClusterError,
    StatusError,
)

ABSENT = 404
"""The status of what there is not."""
FORBIDDEN = 403

Answer = TypeVar("Answer")


class Resource(Struct, frozen=True):
    """kind: as the API server returns it, with version and namespaces. plural: for paths, such
    as "pods"."""

    kind: str
    api_version: str
    plural: str
    namespaced: bool

    def path(self, namespace: str = "") -> str:
        """Return the list's path, for all namespaces or for one."""
        base = "/apis" if "/" in self.api_version else "/api"
        scope = f"/namespaces/{namespace}" if namespace else ""
        return f"{base}/{self.api_version}{scope}/{self.plural}"


class _GroupVersion(Struct, rename="camel"):
    group_version: str


class _Group(Struct, rename="camel"):
    name: str
    versions: list[_GroupVersion] = []
    preferred_version: _GroupVersion | None = None


class _Groups(Struct):
    groups: list[_Group]


class _Entry(Struct):
    name: str
    kind: str
    namespaced: bool = False
    verbs: list[str] = []


class _Entries(Struct):
    resources: list[_Entry]


def kinds_to_read(reads: Iterable[str] = ()) -> dict[str, str]:
    """Kind → its group, in the order in which they are read. reads: kinds of plugins from
    outside, and those that questions quote, as "PodGroup.scheduling.x-k8s.io"; the second of two
    kinds of one name keeps its group in the key."""
    kinds = {kind.name: kind.group for kind in KINDS.values()}
    for name in sorted(reads):
        kind, _, group = name.partition(".")
        kinds[kind if kinds.get(kind, group) == group else name] = group
    return kinds


def discover(server: ApiServer, kinds: dict[str, str]) -> dict[str, Resource | None]:
    """Kind → its resource in the version that the server prefers, of those that ksched knows; None
    if the server has none. Raises ClusterError, also where it cannot tell."""
    groups = _decoded(server.get("/apis", what="its API groups"), _Groups).groups
    # Each group has versions, the preferred one first.
    versions = {"": ["v1"]}
    for each in groups:
        preferred = each.preferred_version
        first = [] if preferred is None else [preferred]
        others = [version for version in each.versions if version != preferred]
        versions[each.name] = [version.group_version for version in (*first, *others)]
    # The kinds of a group and version are read once.
    entries: dict[str, dict[str, _Entry]] = {}
    resources: dict[str, Resource | None] = dict.fromkeys(kinds)
    for kind, group in kinds.items():
        for version in versions.get(group, ()):
            if kind in KINDS and f"{version}/{kind}" not in field_tables().kinds:
                continue
            if version not in entries:
                entries[version] = _read_entries(server, version)
            short = kind.partition(".")[0]
            entry = entries[version].get(short)
            if entry is not None:
                resources[kind] = Resource(short, version, entry.name, entry.namespaced)
                break
    return resources


def _read_entries(server: ApiServer, version: str) -> dict[str, _Entry]:
    path = f"/apis/{version}" if "/" in version else f"/api/{version}"
    try:
        body = server.get(path, what=f"the resources of {version}")
    except StatusError as error:
        # A group stays listed while the server behind it is down: what that has is not known.
        if error.status == ABSENT:
            return {}
        raise
    resources = _decoded(body, _Entries).resources
    return {
        entry.kind: entry for entry in resources if "list" in entry.verbs and "/" not in entry.name
    }


def _decoded(
    body: bytes, kind: type[Answer], problem: str = "not an answer of an API server"
) -> Answer:
    try:
        return msgspec.json.decode(body, type=kind)
    except UNREADABLE as error:
        raise ClusterError(f"{problem}: {error}") from None


# -- lists ----------------------------------------------------------------------------------------

# What kubectl asks for at once.
PAGE = 500
# Tries in pages where a list's continue token expires, before one try for the whole list.
_PAGED_TRIES = 2
GONE = 410


class ObjectList(Struct, frozen=True):
    """items: JSON, one object each. namespace: "" for those of all. resource_version: of the
    list's first page, which all further ones are of too."""

    resource: Resource
    namespace: str
    items: list[bytes]
    resource_version: str


class _ListMeta(Struct, rename="camel"):
    resource_version: str = ""
    continue_: str = msgspec.field(name="continue", default="")


class _Page(Struct):
    metadata: _ListMeta
    items: list[Raw] | None


def read_list(
    server: ApiServer,
    resource: Resource,
    namespace: str,
    convert: Callable[[Raw], bytes],
    on_items: Callable[[int], None] | None = None,
    parameters: Mapping[str, str] = MappingProxyType({}),
) -> ObjectList:
    """Return all objects of a resource, or those that the parameters select. convert: what is kept
    of an object's JSON; on_items: called with how many have been read.

    Begins again where the continue token expires (410). Raises StatusError, ClusterError.
    """
    path, remaining = resource.path(namespace), _PAGED_TRIES
    query, items, version = {**parameters, "limit": str(PAGE)}, list[bytes](), ""
    tokens = set[str]()
    while True:
        try:
            most = None if "limit" in query else MAX_WHOLE_LIST
            body = server.get(path, query, f"objects of kind {resource.kind}", most)
        except StatusError as error:
            if error.status != GONE or not remaining:
                raise
            remaining -= 1
            limit = {"limit": str(PAGE)} if remaining else {}
            query, items, version = {**parameters, **limit}, [], ""
            tokens.clear()
            continue
        page = _decoded(body, _Page, _not_a_list(resource))
        version = version or page.metadata.resource_version
        items += [convert(item) for item in page.items or ()]
        if on_items is not None:
            on_items(len(items))
        token = page.metadata.continue_
        if not token:
            return ObjectList(resource, namespace, items, version)
        if token in tokens:
            raise ClusterError(
                f"the list of {resource.plural} has no end: the API server at {server.url} repeats "
                "a continue token"
            )
        tokens.add(token)
        query["continue"] = token


def read_revision(server: ApiServer, resource: Resource, parameters: Mapping[str, str]) -> str:
    """Return the revision of the list with these parameters. Raises StatusError, ClusterError."""
    body = server.get(resource.path(), {"limit": "1", **parameters}, resource.plural)
    return _decoded(body, _Page, _not_a_list(resource)).metadata.resource_version


def _not_a_list(resource: Resource) -> str:
    return f"the answer to a list of {resource.plural} is not a list"
