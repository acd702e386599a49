"""Random timelines: pods of given templates come, run and end; the same for a seed."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime

from ksched_cli.cluster.state import ClusterState
from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.documents import decode_text, load_documents, read_file
from ksched_cli.scenario.objects import load_objects
from ksched_cli.scenario.timelines.distributions import LONGEST, Arrivals, RunTime, run_time_of
from ksched_cli.scenario.timelines.event_lines import Plain, header, number

START = datetime(2026, 1, 5, tzinfo=UTC)  # a Monday
WEIGHT, RUNS_FOR = "ksched/weight", "ksched/runs-for"
_MAX_WEIGHT = 1e9
WEIGHTS = "a number greater than 0, 1e9 at most"
_HINT = "Expected manifests of pods, or of objects with spec.template, as a Job or Deployment."


@dataclass(frozen=True, slots=True)
class PodTemplate:
    """A pod to make others of. weight: how often it comes, beside the others."""

    manifest: Plain
    weight: float
    run_time: RunTime | None = None


def read_templates(path: str, weight: float = 1.0) -> list[PodTemplate]:
    """The pods of a file, and those of its workloads, which share the weight.

    The annotations ksched/weight and ksched/runs-for say of one how often it comes and how long it
    runs. Raises InputError.
    """
    raw, name = read_file(path)
    templates = []
    for document in load_documents(decode_text(raw, name), name):
        items = document.get("items") if isinstance(document, dict) else None
        objects = items if isinstance(items, list) else [document]
        templates += [_template(item, name) for item in objects]
    total = sum(template.weight for template in templates)
    return [replace(each, weight=each.weight * weight / total) for each in templates]


def _template(document: object, source: str) -> PodTemplate:
    if not isinstance(document, dict):
        raise InputError(source, "an object is expected", hint=_HINT)
    pod, kind = document, document.get("kind")
    if kind == "CronJob":
        pod = _within(document, "spec", "jobTemplate", "spec", "template")
    elif kind not in ("Pod", None):
        pod = _within(document, "spec", "template")
    if not isinstance(pod.get("spec"), dict):
        raise InputError(source, f"{kind or 'an object'} has no pod in it", hint=_HINT)
    own, of_pod = _object(document, "metadata", source), _object(pod, "metadata", source)
    metadata = {"namespace": own.get("namespace"), **of_pod}
    annotations = {**_object(own, "annotations", source), **_object(of_pod, "annotations", source)}
    weight = _weight(str(annotations.pop(WEIGHT, 1)), source)
    runs_for = annotations.pop(RUNS_FOR, None)
    named = {**metadata, "annotations": annotations if pod is document else None}
    hidden = ("name", "uid", "creationTimestamp", "resourceVersion")
    metadata = {key: value for key, value in named.items() if value and key not in hidden}
    manifest = {"metadata": metadata, "spec": pod["spec"]}
    pod = {"apiVersion": "v1", "kind": "Pod", **manifest}
    load_objects(ClusterState(), [{**pod, "metadata": {**metadata, "name": "p"}}], source)
    run_time = None if runs_for is None else run_time_of(str(runs_for), f"{source}: {RUNS_FOR}")
    return PodTemplate(manifest, weight, run_time)


def _object(document: Plain, key: str, source: str) -> Plain:
    """Empty if there is none. Raises InputError for anything that is not an object."""
    value = document.get(key)
    if value is not None and not isinstance(value, dict):
        raise InputError(source, f"{key}: expected an object, got {value!r:.60}", hint=_HINT)
    return value or {}


def _within(document: Plain, *path: str) -> Plain:
    value: object = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value if isinstance(value, dict) else {}


def parse_weight(text: str) -> float | None:
    """Parse a weight; None for another text. Sums and products of weights are numbers, too, and not
    0."""
    try:
        weight = float(text)
    except ValueError:
        return None
    return weight if 1 / _MAX_WEIGHT <= weight <= _MAX_WEIGHT else None


def _weight(text: str, source: str) -> float:
    weight = parse_weight(text)
    if weight is None:
        raise InputError(source, f'"{text}" is not a weight; expected {WEIGHTS}')
    return weight


@dataclass(frozen=True, slots=True)
class Generator:
    """pods: how many come, in so many seconds. priorities: with their weights; none: those of the
    templates"""

    templates: Sequence[PodTemplate]
    arrivals: Arrivals
    run_time: RunTime
    pods: int
    length: float
    priorities: Sequence[tuple[int, float]] = ()
    start: datetime = START

    def __post_init__(self) -> None:
        if not self.templates:
            raise UsageError("there is no pod template")

    def header(self) -> Plain:
        templates = {
            self._name(index, priority): manifest for index, priority, manifest in self._manifests()
        }
        return header(self.start, templates)

    def _manifests(self) -> Iterator[tuple[int, int | None, Plain]]:
        """Yields the manifests of each template and priority."""
        for index, template in enumerate(self.templates):
            if not self.priorities:
                yield index, None, template.manifest
            for priority, _ in self.priorities:
                spec = {**template.manifest["spec"], "priority": priority}
                spec.pop("priorityClassName", None)
                yield index, priority, {**template.manifest, "spec": spec}

    @staticmethod
    def _name(index: int, priority: int | None) -> str:
        return f"t{index}" if priority is None else f"t{index}-priority-{priority}"

    def events(self, seed: int) -> Iterator[Plain]:
        draw = random.Random(seed)  # nosec B311  # the same pods for the same seed
        weights = [template.weight for template in self.templates]
        levels, shares = [level for level, _ in self.priorities], [s for _, s in self.priorities]
        indices = range(len(self.templates))
        for count, at in enumerate(self.arrivals(draw, self.pods, self.length)):
            (index,) = draw.choices(indices, weights)
            priority = draw.choices(levels, shares)[0] if levels else None
            run_time = self.templates[index].run_time or self.run_time
            yield {
                "at": number(round(at, 3)),
                "pod": f"pod-{count}",
                "template": self._name(index, priority),
                "runsFor": number(round(min(run_time(draw), LONGEST), 3)),
            }
