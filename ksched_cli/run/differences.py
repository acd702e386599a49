"""Differences between Runs: the axes, digests of contents, and the names of sides.

An axis is one thing that may differ from Run to Run. All sides of a comparison, all variants of
a sweep and all messages about them take their names from here.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.masking import masked_data
from ksched_cli.run.inputs import Inputs, contents_of, digest, installed_versions
from ksched_cli.run.patches import Item, PatchError, parse_path
from ksched_cli.run.run import Patch, Run, as_json
from ksched_cli.scenario.prices import is_price_file

# The folders of a path to a file of one of the kinds that Runs name.
_FOLDER = re.compile(r"(?<![^\s])[^\s,]*/(?=[^\s/,]+\.(?:ya?ml|jsonl?|py|csv|gz)\b)")
_WIDTH = 36  # of a label in a side's name
DEFAULT_CONFIGURATION = "default configuration"


Content = Callable[[Run, Inputs], Sequence[Any]]


class Axis(Struct, frozen=True):
    """One thing that decides.

    name:    as in "because of NAME"
    fields: the fields of the Run that this axis covers
    label:   the axis of one Run in words, as a part of a side's name
    content: what the axis is with the contents of its files, as plain data and bytes; None where
             it names no files
    """

    name: str
    fields: tuple[str, ...]
    label: Callable[[Run], str]
    content: Content | None = None

    def as_written(self, run: Run) -> tuple[Any, ...]:
        """The Run's fields of this axis, as they were written."""
        return tuple(getattr(run, field) for field in self.fields)

    def meaning(self, run: Run, inputs: Inputs) -> Any:
        """Plain data that is equal if the axis has the same effect; files count by a digest of
        their contents. Raises KschedError where a file cannot be read."""
        content = self.content
        if content is None:
            return self.as_written(run)
        key = as_json((self.name, self.as_written(run)))
        return inputs.digested(key, lambda: digest(*content(run, inputs)))


def _state(run: Run, inputs: Inputs) -> Sequence[Any]:
    sources = inputs.sources(run.states) if run.states else ()
    return [run.live, run.workloads, *(source.data for source in sources)]


def _changes(run: Run, inputs: Inputs) -> Sequence[Any]:
    return [contents_of(inputs.changes(run)), run.namespace if run.changes else ""]


def _configuration(run: Run, inputs: Inputs) -> Sequence[Any]:
    return [inputs.configuration(run.configuration).text if run.configuration else None]


def _plugins(run: Run, inputs: Inputs) -> Sequence[Any]:
    return [part for text in run.plugins for part in (text, inputs.code(text).content)]


def _file(field: str) -> Content:
    def content(run: Run, inputs: Inputs) -> Sequence[Any]:
        path = getattr(run, field)
        return [inputs.file(path).content] if path else [None]

    return content


def _timeline(run: Run, inputs: Inputs) -> Sequence[Any]:
    namespace = run.namespace if run.timeline else ""
    return [*_file("timeline")(run, inputs), run.until, namespace]


def _prices(run: Run, inputs: Inputs) -> Sequence[Any]:
    return [inputs.file(each).content if is_price_file(each) else each for each in run.prices]


def _recording(run: Run, inputs: Inputs) -> Sequence[Any]:
    return [run.record_extenders, *_file("replay_extenders")(run, inputs)]


# -- names ----------------------------------------------------------------------------------------


def _state_label(run: Run) -> str:
    names = ", ".join(run.states) or (f"live {run.live.context}".strip() if run.live else "")
    return names if run.workloads else f"{names} without workloads"


def changes_label(run: Run) -> str:
    return ", ".join(change.text for change in run.changes) or "without changes"


def configuration_label(run: Run) -> str:
    """The configuration's name. The default with plugins of the command line has a name of its
    own."""
    if run.configuration:
        return run.configuration
    return f"default with {', '.join(run.plugins)}" if run.plugins else DEFAULT_CONFIGURATION


def _patches_label(run: Run) -> str:
    short = Counter(short_path(patch.path) for patch in run.patches)
    parts = []
    for patch in run.patches:
        path = short_path(patch.path)
        value = masked_data(patch.value, patch.path)
        parts.append(f"{path if short[path] == 1 else patch.path}={shown(value)}")
    return ", ".join(parts) or "without patches"


def _plugins_label(run: Run) -> str:
    if not run.configuration:
        return ""  # configuration_label names them
    return f"with {', '.join(run.plugins)}" if run.plugins else "without plugins"


def _timeline_label(run: Run) -> str:
    until = f" until {run.until}" if run.until else ""
    return f"{run.timeline or 'without timeline'}{until}"


def _ties_label(run: Run) -> str:
    if run.tie_break == "name":
        return "ties by name"
    return "random ties" if run.seed is None else f"seed {run.seed}"


def _text(name: str, field: str, form: str, default: str, content: Content | None = None) -> Axis:
    """An axis whose label is the field's value in a form; where that is empty, the default."""

    def label(run: Run) -> str:
        value = getattr(run, field)
        text = value if isinstance(value, str) else ", ".join(value)
        return form.format(text) if value else default

    return Axis(name, (field,), label, content)


def _switch(field: str, on: str, off: str) -> Axis:
    def label(run: Run) -> str:
        return on if getattr(run, field) else off

    return Axis(on.removeprefix("with "), (field,), label)


def _recording_label(run: Run) -> str:
    path = run.record_extenders or run.replay_extenders
    return f"extenders of {path}" if path else "extenders called"


def shown(value: Any) -> str:
    """A value of a patch, on one line."""
    if isinstance(value, list | tuple):
        return ", ".join(map(shown, value)) or "none"
    return str(value)


def short_path(path: str) -> str:
    """The last name of an item and the last key of a patch's path: `NodeResourcesFit.weight` of
    `profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight`."""
    try:
        steps = parse_path(path).steps
    except PatchError:
        return path
    names = [step.name for step in steps if isinstance(step, Item) and step.name]
    key = path.rpartition(".")[2]
    return f"{names[-1]}.{key}" if names and not key.endswith("]") else path


CONFIGURATION = Axis("configuration", ("configuration",), configuration_label, _configuration)
AXES: tuple[Axis, ...] = (
    _text(
        "Kubernetes version", "kubernetes_version", "Kubernetes {}", "Kubernetes of the kubelets"
    ),
    _text("feature gates", "feature_gates", "{}", "default feature gates"),
    _text(
        "compatibility version",
        "min_compatibility_version",
        "compatible with {}",
        "default compatibility version",
    ),
    CONFIGURATION,
    Axis("plugins", ("plugins",), _plugins_label, _plugins),
    Axis("patches", ("patches",), _patches_label),
    Axis("state", ("states", "live", "workloads"), _state_label, _state),
    _switch("allow_empty_state", "with an empty state allowed", "with an empty state refused"),
    Axis("changes", ("changes", "namespace"), changes_label, _changes),
    Axis("timeline", ("timeline", "until", "namespace"), _timeline_label, _timeline),
    _text("autoscaler", "autoscaler", "with {}", "without autoscaler", _file("autoscaler")),
    _text("prices", "prices", "at {}", "without prices", _prices),
    Axis("tie-break", ("tie_break", "seed"), _ties_label),
    _switch("preemption", "with preemption", "without preemption"),
    _switch("retries", "with retries", "without retries"),
    _switch("evict_at_once", "eviction at once", "eviction with grace periods"),
    _switch("extenders", "with extenders", "without extenders"),
    _switch("extender_bind", "with binding by extenders", "without binding by extenders"),
    Axis(
        "extenders' recording",
        ("record_extenders", "replay_extenders"),
        _recording_label,
        _recording,
    ),
    _switch("cache", "with caching", "without caching"),
    Axis(
        "plugin timeout",
        ("plugin_timeout",),
        lambda run: f"plugin timeout {run.plugin_timeout:g} s",
    ),
)


def digest_of(run: Run, inputs: Inputs) -> str:
    """Return a digest of everything that decides: files by their contents, and what is installed.
    Equal digests mean equal decisions. Raises KschedError where a file cannot be read."""
    return digest(_installed(), [axis.meaning(run, inputs) for axis in AXES])


@cache
def _installed() -> list[tuple[str, str]]:
    return sorted(installed_versions().items())


def differences(first: Run, second: Run, inputs: Inputs) -> tuple[Axis, ...]:
    """Return the axes in which two Runs differ; files are compared by their contents. Raises
    KschedError where one cannot be read."""
    return tuple(
        axis
        for axis in AXES
        if axis.as_written(first) != axis.as_written(second)
        and axis.meaning(first, inputs) != axis.meaning(second, inputs)
    )


class NamedRun(Struct, frozen=True):
    """A Run among others.

    name:       what differs between it and the others
    differs_in: the names of the axes in which it differs from the first of them
    """

    name: str
    run: Run = Run()
    differs_in: tuple[str, ...] = ()


def named(runs: Sequence[Run], inputs: Inputs) -> list[NamedRun]:
    """The Runs with their names. Raises KschedError where a file cannot be read."""
    return [
        NamedRun(name, run, tuple(axis.name for axis in differences(runs[0], run, inputs)))
        for name, run in zip(names_of(runs), runs, strict=True)
    ]


def shown_run(run: Run) -> Run:
    """The Run as answers show it: without secrets in its patches."""
    patches = (Patch(patch.path, masked_data(patch.value, patch.path)) for patch in run.patches)
    return replace(run, patches=tuple(patches))


def names_of(runs: Sequence[Run], width: int = _WIDTH) -> tuple[str, ...]:
    """A name for each Run that tells how it differs from the others. Equal names get a number.
    width: a longer label loses its end if the names still differ"""
    varying = [axis for axis in AXES if len({repr(axis.as_written(run)) for run in runs}) > 1]
    if CONFIGURATION not in varying and len(set(map(configuration_label, runs))) > 1:
        varying.append(CONFIGURATION)  # plugins join the default one
    labels = {
        axis.name: _short([axis.label(run) for run in runs], width)
        for axis in AXES
        if axis in varying
    }
    names = [
        ", ".join(label for labels_of_axis in labels.values() if (label := labels_of_axis[index]))
        for index in range(len(runs))
    ]
    common = _short([configuration_label(run) for run in runs], width)
    return tuple(numbered([name or other for name, other in zip(names, common, strict=True)]))


def _short(labels: Sequence[str], width: int) -> list[str]:
    """The labels with files without their folders, and without the ends of long ones, as far as
    that leaves them different."""
    without_folders = [_FOLDER.sub("", label) for label in labels]
    cut = [label if len(label) <= width else f"{label[:width]}…" for label in without_folders]
    for short in (cut, without_folders):
        if len(set(short)) == len(set(labels)):
            return short
    return list(labels)


def numbered(names: Sequence[str]) -> list[str]:
    """Number names that occur twice."""
    counts: Counter[str] = Counter()
    answer = []
    for name in names:
        counts[name] += 1
        answer.append(name if counts[name] == 1 else f"{name} ({counts[name]})")
    return answer
