"""Whole lists of objects, read in pages.

Upstream: k8s.io/client-go/tools/pager.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import msgspec
from msgspec import Raw, Struct

from ksched_cli.live.client import ApiServer
from ksched_cli.live.errors import UNREADABLE, ClusterError, StatusError
from ksched_cli.live.resources import Resource

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


_page = msgspec.json.Decoder(_Page)


def read_list(
    server: ApiServer,
    resource: Resource,
    namespace: str,
    convert: Callable[[Raw], bytes],
    on_items: Callable[[int], None] | None = None,
    parameters: Mapping[str, str] = MappingProxyType({}),
) -> ObjectList:
    """All objects of a resource, or those that the parameters select. convert: what is kept of an
    object's JSON; on_items: called with how many have been read.

    Begins again where the continue token expires (410). Raises StatusError, ClusterError.
    """
    for attempt in range(_PAGED_TRIES + 1):
        try:
            limit = {"limit": str(PAGE)} if attempt < _PAGED_TRIES else {}
            selected = {**parameters, **limit}
            return _read_pages(server, resource, namespace, selected, convert, on_items)
        except StatusError as error:
            if error.status != GONE or not limit:
                raise
    raise AssertionError("the last attempt returns or raises")


def read_revision(server: ApiServer, resource: Resource, parameters: Mapping[str, str]) -> str:
    """The revision of the list with these parameters. Raises StatusError, ClusterError."""
    body = server.get(resource.path(), {"limit": "1", **parameters}, resource.plural)
    return _decoded(body, resource).metadata.resource_version


def _read_pages(
    server: ApiServer,
    resource: Resource,
    namespace: str,
    parameters: dict[str, str],
    convert: Callable[[Raw], bytes],
    on_items: Callable[[int], None] | None,
) -> ObjectList:
    path, items = resource.path(namespace), []
    version = ""
    while True:
        page = _decoded(server.get(path, parameters, f"objects of kind {resource.kind}"), resource)
        version = version or page.metadata.resource_version
        items += [convert(item) for item in page.items or ()]
        if on_items is not None:
            on_items(len(items))
        if not page.metadata.continue_:
            return ObjectList(resource, namespace, items, version)
        parameters["continue"] = page.metadata.continue_


def _decoded(body: bytes, resource: Resource) -> _Page:
    try:
        return _page.decode(body)
    except UNREADABLE as error:
        raise ClusterError(
            f"the answer to a list of {resource.plural} is not a list: {error}"
        ) from None
