"""Makes a failing case small: drops objects and fields while it keeps failing."""

import copy
import json
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from generate import Case

# Without these an object is not one that the API server would have taken.
NEEDED_TEXT = """
apiVersion kind metadata name namespace spec status containers image topologyKey operator key
values maxSkew whenUnsatisfiable weight preference podAffinityTerm labelSelector effect
matchExpressions matchFields nodeSelectorTerms driver pool generation resourceSliceCount request
device requests exactly deviceClassName value selector provisioner accessModes resources storage
capacity schedulerName args type uid claimName controller urlPrefix
"""
NEEDED = frozenset(NEEDED_TEXT.split())
Path = tuple[str | int, ...]


class Shrinker:
    def __init__(self, fails: Callable[[Case], bool], seconds: float) -> None:
        self.fails = fails
        self.end = time.monotonic() + seconds

    def shrink(self, case: Case) -> Case:
        smaller = None
        while smaller != case and time.monotonic() < self.end:
            smaller = case
            case = self.drop_objects(case)
            case = self.drop_events(case)
            case = self.drop_config(case)
            case = self.drop_fields(case)
        return case

    def better(self, case: Case) -> bool:
        return time.monotonic() < self.end and self.fails(case)

    def drop_objects(self, case: Case) -> Case:
        size = max(len(case.objects) // 2, 1)
        while size:
            at = 0
            while at < len(case.objects):
                less = replace(case, objects=case.objects[:at] + case.objects[at + size :])
                if self.better(less):
                    case = less
                else:
                    at += size
            size //= 2
        return case

    def drop_events(self, case: Case) -> Case:
        size = max(len(case.events) // 2, 1)
        while size:
            at = 0
            while at < len(case.events):
                less = replace(case, events=case.events[:at] + case.events[at + size :])
                if self.better(less):
                    case = less
                else:
                    at += size
            size //= 2
        return case

    def drop_config(self, case: Case) -> Case:
        if case.config is None:
            return case
        if not case.is_config and self.better(less := replace(case, config=None)):
            return less
        try:
            value = json.loads(case.config)
        except ValueError:
            return case
        for path in list(fields(value)):
            smaller = without(value, path)
            if smaller is not None:
                less = replace(case, config=json.dumps(smaller, indent=1))
                if self.better(less):
                    case, value = less, smaller
        return case

    def drop_fields(self, case: Case) -> Case:
        for i in range(len(case.objects)):
            for path in list(fields(case.objects[i])):
                smaller = without(case.objects[i], path)
                if smaller is None:
                    continue
                less = replace(case, objects=[*case.objects[:i], smaller, *case.objects[i + 1 :]])
                if self.better(less):
                    case = less
        return case


def fields(value: Any, path: Path = ()) -> Iterator[Path]:
    """The ways to the fields and items that may go, outer ones first, later items first."""
    if isinstance(value, dict):
        for key, inner in value.items():
            if key not in NEEDED:
                yield (*path, key)
            yield from fields(inner, (*path, key))
    elif isinstance(value, list):
        for i in reversed(range(len(value))):
            if path[-1] != "containers" or i > 0:
                yield (*path, i)
            yield from fields(value[i], (*path, i))


def without(value: Any, path: Path) -> Any:
    """A copy without one field, or None when the field has gone with another already."""
    smaller = inner = copy.deepcopy(value)
    try:
        for step in path[:-1]:
            inner = inner[step]
        del inner[path[-1]]
    except (KeyError, IndexError, TypeError):
        return None
    return smaller
