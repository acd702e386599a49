"""Figures of a run that ksched does not have itself: a plugin's, and those of --metric.

A metric is a function of the snapshot after the run and of its record. One that is marked as
`per_placement` is a function of a pod and a node instead, and its figure is the sum over the pods
on nodes: of such a metric a solver can say what the best placement reaches.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from ksched_cli.errors import PluginDefectError, UsageError
from ksched_cli.framework.interface import Measures
from ksched_cli.run.inputs import CodeSource

if TYPE_CHECKING:
    from ksched_cli.cluster.objects import Node
    from ksched_cli.cluster.pod_info import PodInfo
    from ksched_cli.cluster.snapshot import Snapshot
    from ksched_cli.engine.engine import Engine
    from ksched_cli.engine.replay.replay import Replay

    # A function, or its text as --metric takes it.
    MetricSource: TypeAlias = str | Callable[..., Any]
else:
    MetricSource = (
        Any  # msgspec, which makes questions of an agent's arguments, knows no such union
    )

F = TypeVar("F", bound=Callable[..., Any])


def per_placement(function: F) -> F:
    """Mark a metric that is a sum over the pods on nodes.

    function: called with a PodInfo and a Node, it returns what the pod counts on that node,
    whatever other pods are where; more is better, and a pod without a node counts 0
    """
    function.is_per_placement = True  # type: ignore[attr-defined]
    return function


@dataclass(frozen=True, slots=True)
class Metric:
    """function: of the snapshot after the run and its record, a RunRecord or of a replay a
    ReplayResult, whose times are seconds; gives a number, or numbers by name. See per_placement for
    the other kind."""

    name: str
    function: Callable[..., Any]

    @property
    def is_per_placement(self) -> bool:
        return getattr(self.function, "is_per_placement", False) is True

    def value(self, pod: PodInfo, node: Node) -> float:
        """Return what the pod counts on the node, where this is per placement. Raises
        PluginDefectError where the function fails, or gives no number."""
        try:
            answer = self.function(pod, node)
        except Exception as error:
            where = f"of {pod.key} on {node.name}"
            raise PluginDefectError(f"metric {self.name} {where}: {_text_of(error)}", "") from error
        return _numbers({self.name: answer})[self.name]

    def figures(self, snapshot: Snapshot, record: object) -> dict[str, float]:
        """By name. Raises PluginDefectError where the function fails, or gives no numbers."""
        if self.is_per_placement:
            on_nodes = zip(snapshot.nodes, snapshot.pods, strict=True)
            values = (self.value(pod, node) for node, pods in on_nodes for pod in pods)
            return _numbers({self.name: sum(values)})
        try:
            answer = self.function(snapshot, record)
        except Exception as error:
            raise PluginDefectError(f"metric {self.name}: {_text_of(error)}", "") from error
        if isinstance(answer, Mapping):
            return _numbers({f"{self.name}.{key}": value for key, value in answer.items()})
        return _numbers({self.name: answer})


def load_metrics(sources: Sequence[MetricSource]) -> tuple[Metric, ...]:
    """Load functions of metrics. Raises UsageError if a function is not there, or two have one
    name."""
    metrics = tuple(
        load_metric(CodeSource.of(each)) if isinstance(each, str) else Metric(each.__name__, each)
        for each in sources
    )
    names = [each.name for each in metrics]
    for name in names:
        if names.count(name) > 1:
            raise UsageError(f"--metric: two functions are named {name}")
    return metrics


def own_figures(
    engine: Engine, metrics: Sequence[Metric], record: Callable[[], object]
) -> dict[str, float]:
    """Return the figures of plugins and of metrics, by name, after a run. record: of the run, for
    metrics. Raises PluginDefectError where a plugin or a function fails."""
    figures = plugin_figures(engine)
    if metrics:
        own = record()
        for metric in metrics:
            figures |= metric.figures(engine.snapshot, own)
    return figures


def load_metric(source: CodeSource) -> Metric:
    """Load one function. Raises UsageError if there is no such function."""
    from ksched_cli.framework.discovery import UnfitError, module_of_file

    text = source.here()
    place, _, name = text.rpartition(":")
    if not name or not place:
        raise UsageError(f'--metric takes MODULE:FUNCTION or FILE.py:FUNCTION; not "{source.text}"')
    try:
        module = module_of_file(Path(place)) if place.endswith(".py") else import_module(place)
    except UnfitError as error:
        raise UsageError(f"--metric {source.text}: {error}") from None
    except Exception as error:
        raise UsageError(f"--metric {source.text}: {_text_of(error)}") from None
    function = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"--metric {source.text}: there is no function {name}")
    return Metric(name, function)


def plugin_figures(engine: Engine) -> dict[str, float]:
    """Return what plugins that measure say of the run, under the plugin's name and theirs. Raises
    PluginDefectError where a plugin fails."""
    figures: dict[str, float] = {}
    for name, plugin in _measuring(engine):
        try:
            answer = dict(plugin.metrics())
        except Exception as error:
            raise _failure(name, "metrics", error) from error
        figures |= _numbers({f"{name}.{key}": value for key, value in answer.items()})
    return figures


def _measuring(engine: Engine) -> Iterator[tuple[str, Measures]]:
    for framework in engine.frameworks.values():
        names = {ref.name for refs in framework.profile.plugins.values() for ref in refs}
        for name in sorted(names):
            plugin = framework.plugin(name)
            if isinstance(plugin, Measures):
                yield name, plugin


def _failure(name: str, method: str, error: Exception) -> PluginDefectError:
    return PluginDefectError(f"plugin {name} failed in {method}: {_text_of(error)}", "")


class MeasuringPlugins:
    """The plugins that measure over time. Where nodes or objects change, they are others."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._plugins: list[tuple[str, Measures]] = []

    def measure(self, replay: Replay) -> None:
        """After an instant. Raises PluginDefectError where a plugin fails."""
        engine = replay.cluster.engine
        if engine is not self._engine:
            self._engine = engine
            self._plugins = [
                (name, plugin)
                for name, plugin in _measuring(engine)
                if type(plugin).measure is not Measures.measure
            ]
        for name, plugin in self._plugins:
            try:
                plugin.measure(replay.clock.seconds)
            except Exception as error:
                raise _failure(name, "measure", error) from error


def _numbers(values: Mapping[str, Any]) -> dict[str, float]:
    """Return the figures as floats. Raises PluginDefectError for anything that is not a finite
    number."""
    figures = {}
    for name, value in values.items():
        try:
            number = float(value)
        except (TypeError, ValueError):
            number = math.nan
        if not math.isfinite(number):
            raise PluginDefectError(f"metric {name} is {value!r}, expected a number", "")
        figures[name] = int(number) if isinstance(value, int) else number
    return figures


def _text_of(error: Exception) -> str:
    return f"{type(error).__name__}: {error}"
