"""Data that the plugins of one pod's attempt pass to each other.

Upstream: pkg/scheduler/framework/cycle_state.go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import fields, is_dataclass
from enum import Enum
from itertools import chain
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct, structs

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.failures import is_foreign
from ksched_cli.framework.status import MalformedError, PluginError

# What JSON can say.
Note: TypeAlias = "str | int | float | bool | Sequence[Note] | Mapping[str, Note] | None"


# -- copies of values ------------------------------------------------------------------------------

# The flag of classes that a program defines, and not the interpreter: CPython's
# Py_TPFLAGS_HEAPTYPE.
_IS_DEFINED = 1 << 9

_Copier: TypeAlias = Callable[[Any], Any]


def _same(value: Any) -> Any:
    """Return the value itself, which nobody can change."""
    return value


def _copied(value: Any) -> Any:
    return _copier(type(value))(value)


def _copied_mapping(value: Any) -> Any:
    twin = value.copy()
    for key, item in value.items():
        twin[key] = _copied(item)
    return twin


def _copied_items(value: Any) -> Any:
    items = map(_copied, value)
    return value._make(items) if hasattr(value, "_make") else type(value)(items)


def _copied_dataclass(value: Any) -> Any:
    twin = copy(value)
    for each in fields(value):
        object.__setattr__(twin, each.name, _copied(getattr(value, each.name)))
    return twin


def _copied_struct(value: Any) -> Any:
    return structs.replace(
        value, **{name: _copied(getattr(value, name)) for name in value.__struct_fields__}
    )


_BY_BASE: tuple[tuple[tuple[type, ...], _Copier], ...] = (
    ((Enum, PodInfo), _same),
    ((dict,), _copied_mapping),
    ((list, tuple, deque), _copied_items),
    ((set,), lambda value: value.copy()),
    ((bytearray, np.ndarray), lambda value: value.copy()),
)


_COPIERS: dict[type[Any], _Copier] = {}


def _copier(kind: type[Any]) -> _Copier:
    """Return what copies values of a class, so that a change of one is none of the other. Raises
    MalformedError for a class whose values can change and have no `clone`."""
    copier = _COPIERS.get(kind)
    if copier is None:
        copier = _COPIERS[kind] = _new_copier(kind)
    return copier


def _new_copier(kind: type[Any]) -> _Copier:
    if callable(getattr(kind, "clone", None)):
        return lambda value: value.clone()
    for bases, copier in _BY_BASE:
        if issubclass(kind, bases):
            return copier
    # What ksched itself writes, and what has no attributes, nobody changes.
    if not is_foreign(kind) or not kind.__flags__ & _IS_DEFINED:
        return _same
    if issubclass(kind, Struct) and kind.__struct_config__.frozen:
        return _copied_struct
    if is_dataclass(kind) and kind.__dataclass_params__.frozen:  # type: ignore[attr-defined]
        return _copied_dataclass
    has_slots = any(vars(base).get("__slots__") for base in kind.__mro__)
    if issubclass(kind, Struct) or is_dataclass(kind) or kind.__dictoffset__ or has_slots:
        raise MalformedError(
            f"it wrote a {kind.__name__} into the CycleState, which can change and which trials "
            f"would share; give {kind.__name__} a method `clone`, or freeze it"
        )
    return _same


def _is_settled(value: Any) -> bool:
    """Return whether the value needs no copy. Raises MalformedError, see `_copier`."""
    copier = _copier(type(value))
    return copier is _same or (isinstance(value, tuple) and all(map(_is_settled, value)))


def _image(value: Any, seen: frozenset[int] = frozenset()) -> Any:
    """Return what is equal for equal content only, and which a change of the value does not
    change. ksched's own objects, and what has no attributes, are taken as they are."""
    if id(value) in seen:
        return None
    seen |= {id(value)}
    kind = type(value)
    if isinstance(value, Mapping):
        content: Any = [(_image(key, seen), _image(item, seen)) for key, item in value.items()]
    elif isinstance(value, list | tuple | deque):
        content = [_image(item, seen) for item in value]
    elif isinstance(value, set | bytearray):
        content = value.copy()
    elif isinstance(value, np.ndarray):
        content = value.tobytes()
    elif kind.__flags__ & _IS_DEFINED and is_foreign(kind):
        own = (vars(base).get("__slots__", ()) for base in kind.__mro__)
        slots = chain.from_iterable((each,) if isinstance(each, str) else each for each in own)
        fields_of_struct = getattr(kind, "__struct_fields__", ())
        names = dict.fromkeys((*getattr(value, "__dict__", ()), *slots, *fields_of_struct))
        content = [(name, _image(getattr(value, name, None), seen)) for name in names]
    else:
        return value
    return kind, content


# -- the state -------------------------------------------------------------------------------------


class CycleState:
    """Data by key, and the plugins that asked to be left out of Filter or Score.

    notes:     by name, what plugins noted of the placement; None where nobody noted anything
    activated: the keys of pods that plugins asked to be tried again
    trial_group: namespace and name of the group that a pod is assumed with in a trial; else None
    on_node: returns the pod as it is on the node of a row; None where it is there as it was tried
    source:  the state that this one was cloned from; None where it is the attempt's own

    Trials work on copies of the data, as AddPod and RemovePod change it. Values have a method
    `clone`, or are what Python can copy: mappings, lists, sets, tuples and arrays of such values;
    frozen ones are shared. `--debug` and the testing helpers report a value that one trial changed
    for another, because its `clone` shares what can change.
    """

    __slots__ = (
        "_own",
        "activated",
        "data",
        "notes",
        "on_node",
        "skip_filter",
        "skip_score",
        "source",
        "trial_group",
    )

    def __init__(self) -> None:
        self.data: dict[str, Any] = {}
        # The keys of values that a clone copies.
        self._own: set[str] = set()
        self.skip_filter: set[str] = set()
        self.skip_score: set[str] = set()
        self.notes: dict[str, Note] | None = None
        self.activated: tuple[str, ...] = ()
        self.trial_group: tuple[str, str] | None = None
        self.on_node: Callable[[PodInfo, int], PodInfo] | None = None
        self.source: CycleState | None = None

    def read(self, key: str, doing: str = "reading") -> Any:
        """Return what is written under the key.

        doing: how the error's message begins

        Raises PluginError where nothing was written, as when PreFilter is disabled.
        """
        try:
            return self.data[key]
        except KeyError:
            raise PluginError(f'{doing} "{key}" from cycleState: not found') from None

    def write(self, key: str, value: Any) -> None:
        """Write a value for other plugins of the attempt. Raises MalformedError for one that can
        change and that trials cannot copy."""
        if _is_settled(value):
            self._own.discard(key)
        else:
            self._own.add(key)
        self.data[key] = value

    def delete(self, key: str) -> None:
        """Delete a value, if there is one. Upstream: CycleState.Delete."""
        self.data.pop(key, None)
        self._own.discard(key)

    def clear(self) -> None:
        """Delete all values."""
        self.data.clear()
        self._own.clear()

    def take(self, other: CycleState) -> None:
        """Add everything that the other has."""
        self.data.update(other.data)
        self._own.update(other._own)

    def note(self, name: str, value: Note) -> None:
        """Add a note about the placement, which results show beside the pod's node. It is for
        Reserve and the later points. A name that was noted before gets the new value.

        value: what JSON can express; lists and mappings are not copied
        """
        if self.notes is None:
            self.notes = {}
        self.notes[name] = value

    def activate(self, key: str) -> None:
        """Ask that a pod without a node be tried again, once this one has passed Permit.

        key: namespace/name; for another than a pending pod it has no effect

        Upstream: PodsToActivate under the key kubernetes.io/pods-to-activate.
        """
        self.activated = (*self.activated, key)

    def take_activated(self) -> tuple[str, ...]:
        """Return the keys asked for since the last time."""
        taken, self.activated = self.activated, ()
        return taken

    def clone(self) -> CycleState:
        """Return a copy whose data may be changed without changing the original."""
        twin = CycleState()
        twin.source = self
        twin.skip_filter, twin.skip_score = self.skip_filter, self.skip_score
        twin.notes, twin.activated = self.notes, self.activated
        twin.trial_group, twin.on_node = self.trial_group, self.on_node
        twin.data = self.data.copy()
        twin._own = self._own.copy()
        for key in self._own:
            twin.data[key] = _copied(self.data[key])
        return twin

    def images_of_sources(self) -> dict[tuple[int, str], Any]:
        """Return, by number of clones between and key, what the states that this one was cloned
        from contain now: what differs later was changed through a clone."""
        images, depth, source = {}, 0, self.source
        while source is not None:
            for key, value in source.data.items():
                images[depth, key] = _image(value)
            depth, source = depth + 1, source.source
        return images
