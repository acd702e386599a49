"""What happens to the objects of resources, from a list's revision on; each is watched in a thread
of its own.

Upstream: k8s.io/client-go/tools/cache (Reflector).
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from time import monotonic
from types import MappingProxyType

import msgspec
from msgspec import Raw, Struct

from ksched_cli.live.client import (
    UNREADABLE,
    ApiServer,
    ClusterError,
    StatusError,
    UnauthorizedError,
)
from ksched_cli.live.clock import CLOCK
from ksched_cli.live.lists import ABSENT, FORBIDDEN, GONE, ObjectList, Resource, read_list
from ksched_cli.live.snapshot import REQUIRED, trimmed_object

# Upstream: minWatchTimeout; the API server ends a watch after so long, up to twice as long.
WATCH_SECONDS = 300
# A watch without a bookmark for so long hangs: the API server sends one a minute.
SILENT_SECONDS = 180.0
# Watches without bookmarks, which end before they seem to hang: the API server keeps no cache of
# these. Upstream: k8s.io/kubernetes/pkg/kubeapiserver/default_storage_factory_builder.go.
UNCACHED = frozenset(("Event",))
# Before a lost connection is tried again, objects are listed anew, or a watch that ended at once
# begins again: twice as long each time, and up to twice that at random, so that clients do not come
# together. Upstream: defaultBackoffInit, Max, Reset and Jitter, VeryShortWatchError.
LEAST_BACKOFF_SECONDS = 0.8
MOST_BACKOFF_SECONDS = 30.0
BACKOFF_RESET_SECONDS = 120.0
SHORT_SECONDS = 1.0


class WatchedChange(Struct, frozen=True):
    """at: seconds since 1970; type: ADDED, MODIFIED or DELETED; version: of the object"""

    at: float
    type: str
    resource: Resource
    object: Raw
    version: str


class Reconnection(Struct, frozen=True):
    """A watch goes on after it was interrupted. since: when it was heard of last. objects: of
    all there are now, where the API server had forgotten the revision; else nothing was missed.
    is_lost: whether the connection was lost, too"""

    at: float
    since: float
    resource: Resource
    namespace: str
    objects: ObjectList | None
    is_lost: bool


class WatchEnded(Struct, frozen=True):
    """There is nothing more to watch: the right or the resource has gone, or the credentials are
    refused."""

    at: float
    resource: Resource
    error: ClusterError

    def line(self) -> str:
        """Return a line of warning. Raises ClusterError where nothing is known without this
        watch."""
        if self.resource.kind in REQUIRED or not isinstance(self.error, StatusError):
            raise self.error
        return f"{self.resource.kind} is not watched any more: {self.error}"


class WatchProblem(Struct, frozen=True):
    """A watch reports what cannot be used; all objects are listed anew. line: of warning"""

    at: float
    resource: Resource
    line: str


Notice = WatchedChange | Reconnection | WatchEnded | WatchProblem


class _UnusableError(ClusterError):
    """What the API server reports is no change of an object of the resource."""


class _Meta(Struct, rename="camel"):
    name: str = ""
    namespace: str = ""
    resource_version: str = ""
    labels: dict[str, str] | None = None
    annotations: dict[str, str] | None = None


class _Object(Struct):
    metadata: _Meta = msgspec.field(default_factory=_Meta)
    spec: dict[str, Raw] | None = None
    status: dict[str, Raw] | str | None = None
    code: int = 0
    message: str = ""


class _WatchEvent(Struct):
    type: str
    object: Raw


_event = msgspec.json.Decoder(_WatchEvent)
_object = msgspec.json.Decoder(_Object)


@dataclass(slots=True)
class Watcher:
    """Watches one resource until `ends` is set.

    notify: takes what happens, and may wait; convert: what is kept of an object, where the resource
    must be listed anew
    """

    server: ApiServer
    resource: Resource
    namespace: str
    version: str
    notify: Callable[[Notice], None]
    ends: Event
    parameters: Mapping[str, str]
    convert: Callable[[Resource, Raw], bytes]
    _heard: float = 0.0
    _backoff: float = 0.0
    _paused: float = 0.0

    def run(self) -> None:
        """In a thread of its own."""
        self._heard, self._backoff = CLOCK.now(), LEAST_BACKOFF_SECONDS
        self._paused = monotonic()
        is_lost = is_expired = False
        while not self.ends.is_set():
            try:
                if is_expired:
                    self._begin_again(is_lost)
                    is_lost = is_expired = False
                is_short = self._watch(is_lost)
                is_lost = False
                if is_short:
                    self._pause()
                continue  # the API server ends watches in due time
            except _UnusableError as error:
                self._notify(WatchProblem(CLOCK.now(), self.resource, str(error)))
                is_expired = True
            except ClusterError as error:
                status = error.status if isinstance(error, StatusError) else 0
                if status in (FORBIDDEN, ABSENT) or isinstance(error, UnauthorizedError):
                    self._notify(WatchEnded(CLOCK.now(), self.resource, error))
                    return
                # Else the API server has forgotten the revision.
                is_expired, is_lost = is_expired or status == GONE, is_lost or status != GONE
            self._pause()

    def _pause(self) -> None:
        now = monotonic()
        if now - self._paused > BACKOFF_RESET_SECONDS:
            self._backoff = LEAST_BACKOFF_SECONDS
        self._paused = now
        self.ends.wait(self._backoff * (1 + random.random()))  # nosec B311  # spreads clients
        self._backoff = min(2 * self._backoff, MOST_BACKOFF_SECONDS)

    def _begin_again(self, is_lost: bool) -> None:
        since, resource = self._heard, self.resource
        objects = read_list(
            self.server,
            resource,
            self.namespace,
            lambda item: self.convert(resource, item),
            parameters=self.parameters,
        )
        for item in objects.items:
            try:
                described = _object.decode(item)
            except msgspec.ValidationError as error:
                problem = f"the list of {resource.plural} has a malformed object: {error}"
                raise _UnusableError(problem) from None
            self._check(described, f"the list of {resource.plural} has")
        self.version, self._heard = objects.resource_version, CLOCK.now()
        self._notify(Reconnection(self._heard, since, resource, self.namespace, objects, is_lost))

    def _watch(self, is_lost: bool) -> bool:
        """Until the API server ends it. Returns whether it did so at once, without a word. Raises
        ClusterError."""
        spread = random.randrange(WATCH_SECONDS)  # nosec B311  # so that not all end at once
        seconds = WATCH_SECONDS + spread
        if self.resource.kind in UNCACHED:
            seconds = int(SILENT_SECONDS) // 2
        parameters = {
            **self.parameters,
            "watch": "1",
            "allowWatchBookmarks": "true",
            "resourceVersion": self.version,
            "timeoutSeconds": str(seconds),
        }
        path = self.resource.path(self.namespace)
        begin, is_silent = monotonic(), True
        with self.server.stream(path, parameters, SILENT_SECONDS) as lines:
            if is_lost:
                now, since = CLOCK.now(), self._heard
                self._notify(Reconnection(now, since, self.resource, self.namespace, None, True))
            self._heard = CLOCK.now()
            for line in lines:
                self._heard, is_silent = CLOCK.now(), False
                self._take(line)
        return is_silent and monotonic() - begin < SHORT_SECONDS

    def _take(self, line: bytes) -> None:
        try:
            event = _event.decode(line)
            described = _object.decode(event.object)
        except msgspec.ValidationError as error:
            raise _UnusableError(f"{self._reporter} a malformed event: {error}") from None
        except UNREADABLE as error:
            raise ClusterError(f"the watch of {self.resource.plural} breaks: {error}") from None
        if event.type == "ERROR":
            if described.code == GONE:
                path = self.resource.path(self.namespace)
                raise StatusError(self.server.url, path, GONE, described.message)
            raise ClusterError(f"the watch of {self.resource.plural} ends: {described.message}")
        version = described.metadata.resource_version
        if event.type != "BOOKMARK":
            if event.type not in ("ADDED", "MODIFIED", "DELETED"):
                raise _UnusableError(f"{self._reporter} an event of type {event.type[:20]!r}")
            self._check(described, f"{self._reporter} {event.type} of")
            change = WatchedChange(self._heard, event.type, self.resource, event.object, version)
            self._notify(change)
        self.version = version or self.version

    @property
    def _reporter(self) -> str:
        return f"the watch of {self.resource.plural} reports"

    def _check(self, described: _Object, reporter: str) -> None:
        """Check that an object has a name. Raises _UnusableError for an object that has no name.
        reporter: who reports it"""
        metadata = described.metadata
        if not metadata.name or (self.resource.namespaced and not metadata.namespace):
            missing = "namespace" if metadata.name else "name"
            raise _UnusableError(f"{reporter} an object without a {missing}")

    def _notify(self, notice: Notice) -> None:
        if not self.ends.is_set():
            self.notify(notice)


# -- several resources ----------------------------------------------------------------------------


@dataclass(slots=True)
class Watches:
    """notify: takes what happens, in the threads, and may wait"""

    server: ApiServer
    notify: Callable[[Notice], None]
    _ends: Event = field(default_factory=Event)
    _threads: list[Thread] = field(default_factory=list)

    def start(
        self,
        objects: ObjectList,
        parameters: Mapping[str, str] = MappingProxyType({}),
        convert: Callable[[Resource, Raw], bytes] = trimmed_object,
    ) -> None:
        """Watch from the revision of a list on; see Watcher."""
        resource, version = objects.resource, objects.resource_version
        about = (resource, objects.namespace, version)
        watcher = Watcher(self.server, *about, self.notify, self._ends, parameters, convert)
        thread = Thread(target=watcher.run, name=f"watch {resource.plural}", daemon=True)
        self._threads.append(thread)
        thread.start()

    def end(self) -> None:
        """No more is read; a thread ends once it has handed over what it has."""
        self._ends.set()
        self.server.end_streams()

    @property
    def are_alive(self) -> bool:
        return any(thread.is_alive() for thread in self._threads)
