"""Keeps what a plugin did wrong, so that the run goes on and the defect can still be shown.

In-tree plugins are only kept from taking the run down with them. Foreign ones are also watched:
what they are given has to be afterwards what it was before.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import msgspec
import numpy as np

from ksched_cli.cluster.objects import encode_hook
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.snapshot import Snapshot
from ksched_cli.framework.interface import Plugin, Scope
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import MalformedError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Defect:
    """An exception that a plugin let out, or an answer that is none. detail: the traceback."""

    plugin: str
    point: str
    problem: str
    detail: str


class MutationError(Exception):
    """A plugin changed what it may only read."""


@dataclass(slots=True)
class PluginCaller:
    """defects: in the order they happened, each plugin, point and problem once.

    noted:   how often a plugin did something wrong
    foreign: the names of the plugins to watch
    """

    defects: dict[tuple[str, str, str], Defect] = field(default_factory=dict)
    noted: int = 0
    foreign: set[str] = field(default_factory=set)
    _spoiled: set[tuple[str, str]] = field(default_factory=set)

    def note(self, plugin: str, point: str, error: Exception) -> str:
        """Keeps the traceback; gives the words for the status."""
        plain = isinstance(error, MalformedError | MutationError)
        problem = str(error) if plain else f"{type(error).__name__}: {error}"
        said = f"plugin {plugin} failed in {point}: {problem}"
        detail = f"{said}\n" if plain else "".join(traceback.format_exception(error))
        self.noted += 1
        self.defects.setdefault((plugin, point, problem), Defect(plugin, point, problem, detail))
        return said

    def watch(self, plugin: Plugin) -> None:
        """Keeps a foreign plugin's `scope_for` and `cache_key` from taking the run down: where they
        fail, its answers are not kept, or not shared."""
        said, looked = plugin.scope_for, plugin.cache_key

        def scope_for(pod: PodInfo) -> Scope:
            try:
                scope = said(pod)
                expect(scope, Scope, "scope_for")
                return scope
            except Exception as defect:
                self.note(plugin.name, "scope_for", defect)
                return Scope.CLUSTER

        def cache_key(pod: PodInfo) -> Hashable | None:
            try:
                look = looked(pod)
                hash(look)
                return look
            except Exception as defect:
                self.note(plugin.name, "cache_key", defect)
                return None

        # A plugin that says the same of every pod needs no watching.
        if type(plugin).scope_for is not Plugin.scope_for:
            vars(plugin)["scope_for"] = scope_for
        if type(plugin).cache_key is not Plugin.cache_key:
            vars(plugin)["cache_key"] = cache_key

    def ask(self, plugin: str, snapshot: Snapshot, method: Callable[..., T], *given: Any) -> T:
        """Calls a plugin. Raises what it raises, MutationError where a foreign one changed what it
        was given."""
        if plugin not in self.foreign:
            return method(*given)
        pods = [one for one in given if isinstance(one, PodInfo)]
        for pod in pods:
            # Asked again, it would find nothing left to change.
            if (plugin, pod.key) in self._spoiled:
                raise _mutation(pod)
        before = [_look(pod) for pod in pods]
        outermost = not snapshot.sealed
        if outermost:
            snapshot.seal(True)
        try:
            answer = method(*map(_frozen, given))
        finally:
            if outermost:
                snapshot.seal(False)
        for pod, look in zip(pods, before, strict=True):
            if _look(pod) != look:
                self._spoiled.add((plugin, pod.pod.key))
                raise _mutation(pod)
        return answer


def expect(answer: object, kind: type, said: str) -> None:
    """Raises MalformedError where a plugin's answer is not of the type. said: who answered."""
    if not isinstance(answer, kind):
        raise MalformedError(f"{said} returned {type(answer).__name__}, expected {kind.__name__}")


def _mutation(pod: PodInfo) -> MutationError:
    return MutationError(f"it changed the pod {pod.pod.key}, which is to be read only")


def _frozen(given: Any) -> Any:
    """Arrays as read-only views."""
    if isinstance(given, Nodes) and given.rows is not None:
        return Nodes(given.snapshot, _frozen(given.rows))
    if isinstance(given, np.ndarray):
        given = given.view()
        given.flags.writeable = False
    return given


def _look(pod: PodInfo) -> tuple[object, ...]:
    """What nobody may change about a pod."""
    return (
        pod.key,
        pod.priority,
        pod.signature,
        id(pod.pod),
        id(pod.template),
        tuple(pod.resources.requests.items()),
        msgspec.json.encode((pod.pod.metadata, pod.pod.spec), enc_hook=encode_hook),
    )
