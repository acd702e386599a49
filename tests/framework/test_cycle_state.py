"""What plugins of one attempt hand on to each other."""

from collections import defaultdict, deque
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import msgspec
import numpy as np
import pytest

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.status import Code, MalformedError, PluginError


class Counter:
    def __init__(self, count: int = 0) -> None:
        self.count = count

    def __repr__(self) -> str:
        return f"Counter({self.count})"

    def clone(self) -> "Counter":
        return Counter(self.count)


def test_what_was_not_written_cannot_be_read() -> None:
    with pytest.raises(PluginError, match='reading "key" from cycleState: not found'):
        CycleState().read("key")


def test_what_is_written_to_a_clone_is_not_in_the_state() -> None:
    state = CycleState()
    twin = state.clone()
    twin.write("more", 1)
    assert "more" not in state.data


class Pair(NamedTuple):
    first: list[int]
    second: int


@dataclass(frozen=True)
class Frozen:
    counts: dict[str, int]


class FrozenStruct(msgspec.Struct, frozen=True):
    counts: dict[str, int]


def change(value: Any) -> None:
    """Change what can be changed of a value, at any depth."""
    if isinstance(value, Frozen | FrozenStruct):
        value = value.counts
    items = value.values() if isinstance(value, dict) else value
    for item in items if isinstance(value, dict | list | deque | tuple) else ():
        change(item)
    if isinstance(value, Counter):
        value.count += 1
    elif isinstance(value, dict):
        value["more"] = 1
    elif isinstance(value, list | deque):
        value.append(1)
    elif isinstance(value, set):
        value.add(99)
    elif isinstance(value, np.ndarray):
        value += 1


@pytest.mark.parametrize(
    "make",
    [
        lambda: Counter(1),
        lambda: {"a": 1},
        lambda: {"a": {"b": [1]}},
        lambda: defaultdict(int, a=1),
        lambda: [1, {2}],
        lambda: deque([1]),
        lambda: {1, 2},
        lambda: np.zeros(3),
        lambda: ([1], {"a": 1}),
        lambda: Pair([1], 2),
        lambda: Frozen({"a": 1}),
        lambda: FrozenStruct({"a": 1}),
    ],
)
def test_a_change_of_a_clones_value_is_none_of_the_states(make: Callable[[], Any]) -> None:
    state, untouched = CycleState(), CycleState()
    state.write("key", make())
    untouched.write("key", make())
    twin = state.clone()
    kind = type(twin.read("key"))
    change(twin.clone().read("key"))
    change(twin.read("key"))
    as_text = [
        repr(vars(each.read("key")) if kind is Counter else each.read("key"))
        for each in (state, untouched)
    ]
    assert as_text[0] == as_text[1]
    assert kind is type(make())


@pytest.mark.parametrize("value", [1, "a", None, (1, "a"), frozenset({1}), len, Code.SUCCESS])
def test_what_cannot_change_is_shared(value: object) -> None:
    state = CycleState()
    state.write("key", value)
    assert state.clone().read("key") is value


class Loose:
    def __init__(self) -> None:
        self.count = 1


@dataclass
class Open:
    count: int = 1


class Slotted:
    __slots__ = ("count",)


@pytest.mark.parametrize("make", [Loose, Open, Slotted, lambda: (Loose(), 1)])
def test_what_can_change_and_has_no_clone_is_refused(make: Callable[[], Any]) -> None:
    with pytest.raises(MalformedError, match=r"give (Loose|Open|Slotted) a method `clone`"):
        CycleState().write("key", make())


def test_what_was_deleted_is_in_no_clone() -> None:
    state = CycleState()
    state.write("key", [1])
    state.delete("key")
    state.delete("key")
    with pytest.raises(PluginError):
        state.clone().read("key")
    state.write("key", {"a": 1})
    state.clear()
    assert not state.clone().data


def test_the_last_note_of_a_name_holds() -> None:
    state = CycleState()
    assert state.notes is None
    state.note("GPU", [0])
    state.note("GPU", [0, 3])
    assert state.notes == {"GPU": [0, 3]}


class Slot:
    __slots__ = "counts"  # a name alone

    def __init__(self, counts: dict[str, int]) -> None:
        self.counts = counts

    def clone(self) -> "Slot":
        return Slot(self.counts)


class Shallow(msgspec.Struct):
    counts: dict[str, int]

    def clone(self) -> "Shallow":
        return Shallow(self.counts)


@pytest.mark.parametrize("kind", [Slot, Shallow])
def test_what_a_clone_changes_in_the_state_it_was_cloned_from_is_seen(
    kind: type[Slot | Shallow],
) -> None:
    state = CycleState()
    state.write("key", kind({"a": 1}))
    twin = state.clone()
    before = twin.images_of_sources()
    assert twin.images_of_sources() == before
    twin.read("key").counts["a"] = 2
    assert twin.images_of_sources() != before
