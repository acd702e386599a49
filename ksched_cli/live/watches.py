"""Watches of several resources, each in a thread of its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from threading import Event, Thread
from types import MappingProxyType

from msgspec import Raw

from ksched_cli.live.client import ApiServer
from ksched_cli.live.lists import ObjectList, read_list
from ksched_cli.live.resources import Resource
from ksched_cli.live.snapshot import trimmed_object
from ksched_cli.live.watch import Notice, Watcher


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
        """Watches from the revision of a list on. convert: what is kept of an object, where the
        resource must be listed anew"""
        resource, namespace = objects.resource, objects.namespace

        def relist() -> ObjectList:
            return read_list(
                self.server,
                resource,
                namespace,
                lambda item: convert(resource, item),
                parameters=parameters,
            )

        watcher = Watcher(
            self.server,
            resource,
            namespace,
            objects.resource_version,
            relist,
            self.notify,
            self._ends,
            parameters,
        )
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
