"""A path in a configuration, and a value to set there.

`profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight`: keys are separated by dots; a
number in brackets is the item at that index, a name the item with that `name` or `schedulerName`.
Missing parts are created.
"""

from __future__ import annotations

import re
from copy import deepcopy
from typing import Any

from msgspec import Struct

from ksched_cli.errors import UsageError
from ksched_cli.kube.int64 import parse_int64

_STEP = re.compile(r"(?:^|(?<=.)\.)([A-Za-z_][\w-]*)|\[([^\[\]]+)\]")
_NAMING_KEYS = ("name", "schedulerName")


class PatchError(UsageError):
    """A path that cannot be read, or leads through something else in the configuration."""


class Item(Struct, frozen=True):
    """A step into a list. index: None for an item that is named."""

    index: int | None
    name: str = ""

    def __str__(self) -> str:
        return f"[{self.name if self.index is None else self.index}]"


Step = str | Item


class PatchPath(Struct, frozen=True):
    """text: as it was written"""

    text: str
    steps: tuple[Step, ...]


def parse_path(text: str) -> PatchPath:
    """Parse the path of a patch. Raises PatchError."""
    steps: list[Step] = []
    position = 0
    while position < len(text):
        match = _STEP.match(text, position)
        if match is None:
            raise PatchError(
                f'"{text}" is not a path in a configuration; expected one such as'
                " profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight"
            )
        position = match.end()
        if match[1]:
            steps.append(match[1])
        else:
            number = parse_int64(match[2]) if match[2].isdecimal() else None
            steps.append(Item(None, match[2]) if number is None else Item(number))
    if not steps or isinstance(steps[0], Item):
        raise PatchError(f'"{text}" is not a path in a configuration: it must begin with a key')
    return PatchPath(text, tuple(steps))


def patched(data: Any, path: PatchPath, value: Any) -> Any:
    """Return a copy of the data with the value at the path. Raises PatchError where a step of the
    path leads through something that is not a mapping or list."""
    result = deepcopy(data)
    container = result
    # What is missing on the way is created, as the following step needs it.
    for step, following in zip(path.steps, path.steps[1:], strict=False):
        key = _key_of(container, step, path)
        empty: Any = [] if isinstance(following, Item) else {}
        if isinstance(container, dict):
            if container.get(key) is None:
                container[key] = empty
        elif key == len(container):
            if isinstance(step, Item) and step.name and isinstance(empty, dict):
                empty = {"name": step.name}
            container.append(empty)
        container = container[key]
    key = _key_of(container, path.steps[-1], path)
    if isinstance(container, list) and key == len(container):
        container.append(deepcopy(value))
    else:
        container[key] = deepcopy(value)
    return result


def _key_of(container: Any, step: Step, path: PatchPath) -> Any:
    """Return the key or index of the step; the length of the list for an item to append."""
    if isinstance(step, str):
        if not isinstance(container, dict):
            raise PatchError(
                f'{path.text}: the value there is not a mapping, so it has no key "{step}"'
            )
        return step
    if not isinstance(container, list):
        raise PatchError(f"{path.text}: the value there is not a list, so it has no item {step}")
    if step.index is None:
        names = [_name_of(item) for item in container]
        return names.index(step.name) if step.name in names else len(container)
    if step.index > len(container):
        raise PatchError(
            f"{path.text}: there is no item {step}; the list has {len(container)} items, "
            "counted from 0"
        )
    return step.index


def _name_of(item: Any) -> Any:
    if not isinstance(item, dict):
        return None
    return next((item[key] for key in _NAMING_KEYS if key in item), None)
