"""The differences between two configurations once both take effect.

Defaults are filled in and plugins merged before: two texts that mean the same do not differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import field
from msgspec.structs import replace

from ksched_cli.answers import Part
from ksched_cli.config.effective import Configuration, KnownPlugins, Profile, in_tree_args
from ksched_cli.config.go_types import to_wire
from ksched_cli.masking import masked_data

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
    """Return every difference: those of all profiles first, then profile by profile.

    registry: has the args by default, which those of a plugin are compared with that only one side
    runs
    """
    defaults = {
        name: to_wire(args.with_defaults(args.type()))
        for name, args in in_tree_args(registry).items()
    }
    common = _compare("", _fields(before), _fields(after))
    changes = [ConfigurationChange("", *each) for each in common]
    old = {profile.scheduler_name: profile for profile in before.profiles}
    new = {profile.scheduler_name: profile for profile in after.profiles}
    for name in {**old, **new}:
        if name in old and name in new:
            changes += _of_profile(name, old[name], new[name])
            changes += _of_args(name, old[name].args, new[name].args, defaults)
        else:
            states = (_PRESENT, _ABSENT) if name in old else (_ABSENT, _PRESENT)
            changes.append(ConfigurationChange(name, "profile", *states))
    return tuple(map(_masked, changes))


def _masked(change: ConfigurationChange) -> ConfigurationChange:
    """Without secrets: where only those differ, both sides read alike."""
    before, after = (masked_data(side, change.path) for side in (change.before, change.after))
    return replace(change, before=before, after=after)


def _fields(configuration: Configuration) -> dict[str, Any]:
    source = {
        key: value for key, value in to_wire(configuration.source).items() if key not in _ELSEWHERE
    }
    extenders = {
        f"extenders[{index}]": to_wire(extender)
        for index, extender in enumerate(configuration.extenders)
    }
    return {**source, **extenders}


def _of_profile(name: str, before: Profile, after: Profile) -> Iterator[ConfigurationChange]:
    points = dict.fromkeys((*before.plugins, *after.plugins))  # of two minors, perhaps
    old, new = (
        {
            "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
            "plugins": {
                # A plugin's weight at score, elsewhere that it runs.
                point: {ref.name: ref.weight or True for ref in profile.plugins.get(point, ())}
                for point in points
            },
        }
        for profile in (before, after)
    )
    for each in _compare("", old, new):
        yield ConfigurationChange(name, *each)
    for key in before.plugins:
        first = [ref.name for ref in before.plugins[key]]
        second = [ref.name for ref in after.plugins.get(key, ())]
        orders = [x for x in first if x in second], [x for x in second if x in first]
        # Scores are summed up, so that their plugins have no order.
        if orders[0] != orders[1] and key != "score":
            yield ConfigurationChange(name, f"plugins.{key}.order", *orders)


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
            sides = first if name in before else None, second if name in after else None
            yield ConfigurationChange(profile, path, *sides)


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
    names: list[Any] = [item.get("name") if isinstance(item, dict) else None for item in value]
    if not all(isinstance(name, str) and name for name in names) or len({*names}) < len(names):
        return None
    members: dict[str, Any] = {}
    for name, item in zip(names, value, strict=True):
        rest = {key: own for key, own in item.items() if key != "name"}
        members[name] = next(iter(rest.values())) if len(rest) == 1 else rest
    return members
