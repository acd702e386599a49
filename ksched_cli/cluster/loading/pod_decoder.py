"""Decodes pods, with a cache: pods of one template share one decoded spec and label map.

Specs are cached by their bytes without what differs between pods of one template: the node name,
and the random suffix of the name of the service account token's volume.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Literal

import msgspec
from msgspec.structs import force_setattr

from ksched_cli.cluster.loading.kinds import default_pod_spec
from ksched_cli.cluster.loading.sources import PodParts
from ksched_cli.cluster.objects import (
    ObjectMeta,
    OwnerReference,
    Pod,
    PodSpec,
    PodStatus,
    decode_hook,
)
from ksched_cli.cluster.objects.base import Int64, Time
from ksched_cli.kube.stored_bytes import ObjectJson
from ksched_cli.kube.time import parse_time

# Beyond this many different specs or label maps, further ones are not cached: in a state where no
# two pods are alike, the cache would hold the bytes of all of them.
_MAX_CACHED = 20_000

_TOKEN_VOLUME = re.compile(rb'"kube-api-access-[a-z0-9]{5}"')
_NODE_NAME_KEY = b'"nodeName"'
_NODE_NAME = re.compile(rb'"nodeName"\s*:\s*"([^"\\]+)"')
_EMPTY = msgspec.Raw(b"{}")
_DATE = len("2026-01-01")
# The form that it has in the API, but for which days there are.
_PLAIN_TIME = re.compile(r"\d{4}-\d\d-\d\dT([01]\d|2[0-3]):[0-5]\d:[0-5]\dZ", re.ASCII)
# RFC 3339 as Go takes it, but for hours of one digit and the year 0.
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d([.,]\d+)?(Z|[+-]\d\d:\d\d)", re.ASCII)


class _Meta(msgspec.Struct, rename="camel", gc=False):
    """ObjectMeta with labels as JSON."""

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: msgspec.Raw = _EMPTY
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: Time = ""
    deletion_timestamp: Time = ""
    resource_version: str = ""
    generation: Int64 = 0


class _WholePod(msgspec.Struct, rename="camel", gc=False):
    """An object that may be a pod, and is decoded at once but for its spec."""

    kind: Literal["Pod", ""] = ""
    api_version: Literal["v1", ""] = ""
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: msgspec.Raw = _EMPTY
    status: PodStatus = PodStatus()


class _SpecNodeName(msgspec.Struct, rename="camel", gc=False):
    node_name: str = ""


class PartError(Exception):
    """A part of a pod is invalid. path: of the part, as "spec". cause: what is wrong with it."""

    def __init__(self, path: str, cause: Exception) -> None:
        self.path, self.cause = path, cause
        super().__init__(path)


class PodDecoder:
    """Decodes pods; caches their specs and labels."""

    def __init__(self) -> None:
        self._whole = msgspec.json.Decoder(_WholePod, dec_hook=decode_hook)
        self._meta = msgspec.json.Decoder(_Meta)
        self._status = msgspec.json.Decoder(PodStatus, dec_hook=decode_hook)
        self._node_name = msgspec.json.Decoder(_SpecNodeName)
        self._spec = msgspec.json.Decoder(PodSpec, dec_hook=decode_hook)
        self._map = msgspec.json.Decoder(dict[str, str])
        self._specs: dict[bytes, PodSpec] = {}
        self._maps: dict[bytes, dict[str, str]] = {}
        # In UTC, by how they are written: equal ones share their text.
        self._times: dict[str, str] = {}

    def decode_quickly(
        self, data: msgspec.Raw, raw: ObjectJson, kind: str, version: str
    ) -> Pod | None:
        """Return the pod, in one pass; None for what is no pod, or no valid one.

        raw: the pod's JSON, which extenders are sent; kind, version: where the object has none
        """
        try:
            whole = self._whole.decode(data)
            if (whole.kind or kind) != "Pod" or (whole.api_version or version) not in ("v1", ""):
                return None
            return self._pod(whole.metadata, whole.status, *self._spec_of(bytes(whole.spec)), raw)
        except (msgspec.ValidationError, PartError):
            return None

    def decode(self, parts: PodParts, raw: ObjectJson) -> Pod:
        """Return a pod. raw: the pod's JSON, which extenders are sent. Raises PartError."""
        part = "metadata"
        try:
            meta = self._meta.decode(parts.metadata)
            part = "status"
            status = self._status.decode(parts.status)
            part = "spec"
            spec, node_name = self._spec_of(bytes(parts.spec))
        except msgspec.ValidationError as error:
            raise PartError(part, error) from None
        return self._pod(meta, status, spec, node_name, raw)

    def _pod(
        self, meta: _Meta, status: PodStatus, spec: PodSpec, node_name: str, raw: ObjectJson
    ) -> Pod:
        """Return a pod of its parts. Raises PartError."""
        namespace, times = meta.namespace or "default", self._times
        created, deleted = meta.creation_timestamp, meta.deletion_timestamp
        if created:
            created = times.get(created) or self._time(created, "metadata.creationTimestamp")
        if deleted:
            deleted = self._time(deleted, "metadata.deletionTimestamp")
        # Pods of one owner share their labels: each text is decoded once.
        data = bytes(meta.labels)
        labels = self._maps.get(data)
        if labels is None:
            try:
                labels = self._map.decode(data)
            except msgspec.ValidationError as error:
                raise PartError("metadata.labels", error) from None
            if len(self._maps) < _MAX_CACHED:
                self._maps[data] = labels
        metadata = ObjectMeta(
            meta.name,
            namespace,
            meta.uid or f"{namespace}/{meta.name}",
            labels,
            meta.annotations,
            meta.owner_references,
            meta.finalizers,
            created,
            deleted,
            meta.resource_version,
            meta.generation,
        )
        if started := status.start_time:
            started = times.get(started) or self._time(started, "status.startTime")
            if started is not status.start_time:
                # No one else holds the status yet.
                force_setattr(status, "start_time", started)
        return Pod(metadata, spec, status, node_name, raw)

    def _time(self, text: str, path: str) -> str:
        """Return a timestamp in UTC with whole seconds, a form that sorts as text. Raises
        PartError."""
        if len(self._times) >= _MAX_CACHED:
            self._times.clear()
        time = text
        if _PLAIN_TIME.fullmatch(text) is None or not _is_day(text[:_DATE]):
            try:
                if _TIME.fullmatch(text) is None:
                    raise ValueError(text)
                moment = parse_time(text)
            except ValueError:
                problem = f'"{text}" is not a time such as 2026-01-31T12:00:00Z'
                raise PartError(path, ValueError(problem)) from None
            # strftime does not pad the years before 1000.
            time = moment.replace(tzinfo=None).isoformat(timespec="seconds") + "Z"
        self._times[text] = time
        return time

    def _spec_of(self, data: bytes) -> tuple[PodSpec, str]:
        """Return the spec, shared between pods, and the node name."""
        key = _TOKEN_VOLUME.sub(b"", data) if b'"kube-api-access-' in data else data
        node_name = b""
        # A nodeSelector may have a key of that name too. Whose it is is the same in all specs that
        # are alike otherwise.
        start = key.find(_NODE_NAME_KEY)
        is_only = start >= 0 and key.rfind(_NODE_NAME_KEY) == start
        if is_only and (match := _NODE_NAME.match(key, start)) is not None:
            node_name = match[1]
            key = key[: match.start(1)] + b"\0" + key[match.end(1) :]  # which no JSON has
        spec = self._specs.get(key)
        if spec is not None and (node_name or start < 0):
            return spec, node_name.decode()
        decoded = self._node_name.decode(data).node_name
        if decoded.encode() != node_name:
            key = data
        spec = self._specs.get(key) or default_pod_spec(self._spec.decode(data))
        if len(self._specs) < _MAX_CACHED:
            self._specs[key] = spec
        return spec, decoded


@lru_cache(maxsize=1024)
def _is_day(date: str) -> bool:
    try:
        parse_time(date)
    except ValueError:
        return False
    return True
