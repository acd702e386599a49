"""The differences between two configurations once both take effect.

Defaults are filled in and plugins merged before: two texts that mean the same do not differ.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import field

from ksched_cli.answers import Part
from ksched_cli.config.effective import (
    Configuration,
    KnownPlugins,
    PluginRef,
    Profile,
    in_tree_args,
)
from ksched_cli.config.go_types import to_wire

# Fields of the file that are compared elsewhere, or say nothing of what takes effect.
_ELSEWHERE = ("kind", "apiVersion", "profiles", "extenders", "percentageOfNodesToScore")
_PRESENT, _ABSENT = "present", "absent"


class ConfigurationChange(Part, frozen=True):
    """A difference.

    profile: its schedulerName; empty for what is of all profiles
    path: as plugins.score.NodeAffinity, args.NodeResourcesFit.scoringStrategy.type,
          extenders[0].weight; profile where a side has no such profile; plugins.POINT.order where
          shared plugins run in another order
    before: plain data; null where the first has nothing there. A plugin has its weight at
            score, elsewhere true
    after: the same of the second
    """

    profile: str
    path: str
    before: Any = field(name="from")
    after: Any = field(name="to")


def differences(
    before: Configuration, after: Configuration, registry: KnownPlugins
) -> tuple[ConfigurationChange, ...]:
    """Every difference: those of all profiles first, then profile by profile.

    registry: has the args by default, which those of a plugin are compared with that only one side
    runs
    """
    defaults = {
        name: to_wire(args.with_defaults(args.type()))
        for name, args in in_tree_args(registry).items()
    }
    return (*_common(before, after), *_of_profiles(before, after, defaults))


def _common(before: Configuration, after: Configuration) -> Iterator[ConfigurationChange]:
    for path, old, new in _compare("", _fields(before), _fields(after)):
        yield ConfigurationChange("", path, old, new)


def _fields(configuration: Configuration) -> dict[str, Any]:
    source = {
        key: value for key, value in to_wire(configuration.source).items() if key not in _ELSEWHERE
    }
    extenders = {
        f"extenders[{index}]": to_wire(extender)
        for index, extender in enumerate(configuration.extenders)
    }
    return {**source, **extenders}


def _of_profiles(
    before: Configuration, after: Configuration, defaults: Mapping[str, Any]
) -> Iterator[ConfigurationChange]:
    old = {profile.scheduler_name: profile for profile in before.profiles}
    new = {profile.scheduler_name: profile for profile in after.profiles}
    for name in {**old, **new}:
        if name in old and name in new:
            yield from _of_profile(name, old[name], new[name])
            yield from _of_args(name, old[name].args, new[name].args, defaults)
        else:
            states = (_PRESENT, _ABSENT) if name in old else (_ABSENT, _PRESENT)
            yield ConfigurationChange(name, "profile", *states)


def _of_profile(name: str, before: Profile, after: Profile) -> Iterator[ConfigurationChange]:
    points = dict.fromkeys((*before.plugins, *after.plugins))  # of two minors, perhaps
    old, new = _settings(before, points), _settings(after, points)
    for path, first, second in _compare("", old, new):
        yield ConfigurationChange(name, path, first, second)
    for key in before.plugins:
        first_order, second_order = _shared_order(before, after, key)
        if first_order != second_order:
            yield ConfigurationChange(name, f"plugins.{key}.order", first_order, second_order)


def _settings(profile: Profile, points: Iterable[str]) -> dict[str, Any]:
    return {
        "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
        "plugins": {
            point: {ref.name: _presence(ref) for ref in profile.plugins.get(point, ())}
            for point in points
        },
    }


def _of_args(
    profile: str, before: Mapping[str, Any], after: Mapping[str, Any], defaults: Mapping[str, Any]
) -> Iterator[ConfigurationChange]:
    """For a plugin that one side does not run: what the other side sets otherwise than by
    default."""
    for name in {**before, **after}:
        default = defaults.get(name, {})
        old = to_wire(before[name]) if name in before else default
        new = to_wire(after[name]) if name in after else default
        for path, first, second in _compare(f"args.{name}", old, new):
            yield ConfigurationChange(
                profile,
                path,
                first if name in before else None,
                second if name in after else None,
            )


def _presence(ref: PluginRef) -> int | bool:
    """A plugin's weight at score, elsewhere that it runs."""
    return ref.weight or True


def _shared_order(before: Profile, after: Profile, key: str) -> tuple[list[str], list[str]]:
    """The plugins that both sides run at a point, in the order of each; scores are summed up, so
    that theirs has none."""
    if key == "score":
        return [], []
    old = [ref.name for ref in before.plugins[key]]
    new = [ref.name for ref in after.plugins.get(key, ())]
    return [name for name in old if name in new], [name for name in new if name in old]


def _compare(path: str, before: Any, after: Any) -> Iterator[tuple[str, Any, Any]]:
    """Path, old and new value of every leaf that differs; a list is one leaf, unless its items have
    names."""
    if before == after and type(before) is type(after):
        return
    old, new = _members(before), _members(after)
    if old is None or new is None:
        if before is not None or after is not None:
            yield path, before, after
        return
    for key in {**old, **new}:
        inner = f"{path}.{key}" if path else key
        yield from _compare(inner, old.get(key), new.get(key))


def _members(value: Any) -> Mapping[str, Any] | None:
    """Return the members of a mapping, or of a list of items that each have a name of their own."""
    if isinstance(value, dict):
        return value
    if not isinstance(value, list) or not value:
        return None
    names = [_name(item) for item in value]
    if "" in names or len(set(names)) < len(names):
        return None
    return dict(zip(names, map(_without_name, value), strict=True))


def _name(item: Any) -> str:
    name = item.get("name") if isinstance(item, dict) else None
    return name if isinstance(name, str) else ""


def _without_name(item: Mapping[str, Any]) -> Any:
    rest = {key: value for key, value in item.items() if key != "name"}
    return next(iter(rest.values())) if len(rest) == 1 else rest
