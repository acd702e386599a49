"""The runs of a sweep: every combination of its axes, or these side by side."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

from ksched_cli.errors import UsageError
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.patches import Item, parse_path
from ksched_cli.sweep.sweep_file import PatchAxis

Parameters = dict[str, Any]

# Of a sweep: their ids are all in memory.
RUNS_MAX = 1_000_000


@dataclass(frozen=True, slots=True)
class Axis:
    """labels: of its values, for messages and results"""

    name: str
    labels: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.labels)


@dataclass(frozen=True, slots=True)
class Plan:
    """minors: "" for that of the state; plugin_texts: of the sets of plugins, as rows have them"""

    materials: Materials
    patches: tuple[PatchAxis, ...]
    minors: tuple[str, ...]
    plugin_texts: tuple[tuple[str, ...], ...]
    seeds: tuple[int | None, ...]
    is_zipped: bool = False

    @property
    def axes(self) -> tuple[Axis, ...]:
        """All but the seeds; the last one varies first."""
        materials = self.materials
        return (
            Axis("states", tuple(state.name for state in materials.states)),
            Axis("changes", tuple(changes.name for changes in materials.change_sets)),
            Axis("plugins", tuple(", ".join(texts) or "none" for texts in self.plugin_texts)),
            Axis("kubernetesVersions", self.minors),
            Axis("configurations", tuple(item.name for item in materials.configurations)),
            *(Axis(axis.name, tuple(map(str, axis.values))) for axis in self.patches),
        )

    def __len__(self) -> int:
        count = len(self.seeds)
        lengths = [len(axis) for axis in self.axes]
        if self.is_zipped:
            return count * max(lengths)
        for length in lengths:
            count *= length
        return count

    def check(self) -> None:
        """Raises UsageError where there are too many runs, or axes that go side by side are not of
        one length."""
        if len(self) > RUNS_MAX:
            raise UsageError(
                f"the sweep has {len(self):,} runs, and may have {RUNS_MAX:,}; fewer seeds or "
                "values, or several sweeps"
            )
        if not self.is_zipped:
            return
        long = [axis for axis in self.axes if len(axis) > 1]
        if len({len(axis) for axis in long}) > 1:
            listed = ", ".join(f"{axis.name} has {len(axis)}" for axis in long)
            raise UsageError(f"combine: zip takes axes of one length; {listed}")

    def runs(self) -> Iterator[Run]:
        """All, those of one state after the other."""
        for indexes in self._indexes():
            state, changes, plugins, minor, configuration, *values = indexes
            patches = tuple(
                (axis.path, axis.values[index])
                for axis, index in zip(self.patches, values, strict=True)
            )
            for seed in self.seeds:
                yield self.materials.run(
                    state=state,
                    configuration=configuration,
                    changes=changes,
                    plugins=plugins,
                    patches=patches,
                    minor=self.minors[minor],
                    seed=seed,
                )

    def _indexes(self) -> Iterator[Sequence[int]]:
        lengths = [len(axis) for axis in self.axes]
        if not self.is_zipped:
            return product(*map(range, lengths))
        return iter(
            [[index if length > 1 else 0 for length in lengths] for index in range(max(lengths))]
        )

    def parameters(self, run: Run) -> Parameters:
        """The part of a row that says what was run."""
        materials = self.materials
        names = {axis.path.text: axis.name for axis in self.patches}
        return {
            "state": materials.states[run.state].name,
            "configuration": materials.configurations[run.configuration].name,
            "changes": materials.change_sets[run.changes].name,
            "plugins": list(self.plugin_texts[run.plugins]),
            "patches": {names.get(path.text, path.text): value for path, value in run.patches},
            "kubernetesVersion": run.minor or None,
            "seed": run.seed,
        }


@dataclass(frozen=True, slots=True)
class Variants:
    """What the result of a sweep compares with each other: the parameters that vary, but for the
    states and seeds, and for the changes where anything else varies.

    varying: keys of parameters, `patches.NAME` for a patch
    labels:  of those of `varying` whose names are shown
    paired:  those by which runs of two variants are paired
    """

    varying: tuple[str, ...]
    paired: tuple[str, ...]
    labels: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, plan: Plan) -> Variants:
        lengths = {
            "configuration": len(plan.materials.configurations),
            **{f"patches.{axis.name}": len(axis.values) for axis in plan.patches},
            "plugins": len(plan.plugin_texts),
            "kubernetesVersion": len(plan.minors),
        }
        varying = tuple(key for key, length in lengths.items() if length > 1)
        if varying or len(plan.materials.change_sets) == 1:
            return cls(varying, ("state", "changes", "seed"), _labels(plan.patches))
        return cls(("changes",), ("state", "seed"))

    def name_of(self, parameters: Mapping[str, Any]) -> str:
        """`packing.yaml, weight=3`."""
        parts = []
        for key in self.varying:
            name, _, patch = key.partition(".")
            value = parameters[name][patch] if patch else parameters[name]
            if patch:
                parts.append(f"{self.labels[patch]}={_shown(value)}")
            elif key == "kubernetesVersion":
                parts.append(f"Kubernetes {value}")
            else:
                parts.append(_shown(value))
        return ", ".join(parts) or _shown(parameters["configuration"])

    def pair_of(self, parameters: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(parameters[key] for key in self.paired)


def _labels(axes: Sequence[PatchAxis]) -> dict[str, str]:
    """Names of patches → shorter ones, where these are not the same."""
    labels = {axis.name: axis.name if axis.is_named else _short(axis.name) for axis in axes}
    counts = Counter(labels.values())
    return {name: label if counts[label] == 1 else name for name, label in labels.items()}


def _short(path: str) -> str:
    """Of `profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight` the last name of an item
    and the last key: `NodeResourcesFit.weight`."""
    names = [step.name for step in parse_path(path).steps if isinstance(step, Item) and step.name]
    key = path.rpartition(".")[2]
    return f"{names[-1]}.{key}" if names and not key.endswith("]") else path


def _shown(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_shown, value)) or "no plugins"
    return str(value)
