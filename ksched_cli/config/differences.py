"""The differences between two configurations once both take effect.

Defaults are filled in and plugins merged before: two texts that mean the same do not differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from msgspec import field
from msgspec.structs import replace

from ksched_cli.answers import Part
from ksched_cli.config.effective import Configuration, KnownPlugins, in_tree_args
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
            # The two may be of different minors, which have different points.
            points = dict.fromkeys((*old[name].plugins, *new[name].plugins))
            fields = [
                {
                    "percentageOfNodesToScore": profile.percentage_of_nodes_to_score,
                    "plugins": {
                        # A plugin's weight at score, elsewhere that it runs.
                        point: {
                            ref.name: ref.weight or True for ref in profile.plugins.get(point, ())
                        }
                        for point in points
                    },
                }
                for profile in (old[name], new[name])
            ]
            changes += [ConfigurationChange(name, *each) for each in _compare("", *fields)]
            for key in old[name].plugins:
                former_names = [ref.name for ref in old[name].plugins[key]]
                latter_names = [ref.name for ref in new[name].plugins.get(key, ())]
                orders = (
                    [each for each in former_names if each in latter_names],
                    [each for each in latter_names if each in former_names],
                )
                # Scores are summed up, so that their plugins have no order.
                if orders[0] != orders[1] and key != "score":
                    changes.append(ConfigurationChange(name, f"plugins.{key}.order", *orders))
            # For a plugin that one side does not run: what the other side sets otherwise than by
            # default.
            former, latter = old[name].args, new[name].args
            for plugin in {**former, **latter}:
                default = defaults.get(plugin, {})
                old_args = to_wire(former[plugin]) if plugin in former else default
                new_args = to_wire(latter[plugin]) if plugin in latter else default
                for path, first, second in _compare(f"args.{plugin}", old_args, new_args):
                    first = first if plugin in former else None
                    second = second if plugin in latter else None
                    changes.append(ConfigurationChange(name, path, first, second))
        else:
            states = (_PRESENT, _ABSENT) if name in old else (_ABSENT, _PRESENT)
            changes.append(ConfigurationChange(name, "profile", *states))
    # Secrets are masked: where only those differ, both sides read alike.
    return tuple(
        replace(
            change,
            before=masked_data(change.before, change.path),
            after=masked_data(change.after, change.path),
        )
        for change in changes
    )


def _fields(configuration: Configuration) -> dict[str, Any]:
    source = {
        key: value for key, value in to_wire(configuration.source).items() if key not in _ELSEWHERE
    }
    extenders = {
        f"extenders[{index}]": to_wire(extender)
        for index, extender in enumerate(configuration.extenders)
    }
    return {**source, **extenders}


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
