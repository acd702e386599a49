"""Differences between Runs: digests of contents, and the names of sides.

All sides of a comparison, all variants of a sweep and all messages about them take their names from
here; axes.py has the axes.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from functools import cache
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from ksched_cli.masking import masked_data
from ksched_cli.run.axes import CONFIGURATION_AXIS, Axis, configuration_label
from ksched_cli.run.inputs import Inputs, digest, installed_versions
from ksched_cli.run.run import AXES, FIELDS, Patch, Run, as_json

# The folders of a path to a file of one of the kinds that Runs name.
_FOLDER = re.compile(r"(?<![^\s])[^\s,]*/(?=[^\s/,]+\.(?:ya?ml|jsonl?|py|csv|gz)\b)")
_WIDTH = 36  # of a label in a side's name
_NAME_LENGTH = 63  # of most nodes: a label of DNS


def as_written(axis: Axis, run: Run) -> tuple[Any, ...]:
    """Return the Run's fields of this axis, as they were written."""
    return tuple(getattr(run, field.name) for field in FIELDS if axis in field.axes)


def meaning(axis: Axis, run: Run, inputs: Inputs) -> Any:
    """Plain data that is equal if the axis has the same effect; files count by a digest of their
    contents. Raises KschedError where a file cannot be read."""
    content = axis.content
    if content is None:
        return as_written(axis, run)
    key = as_json((axis.name, as_written(axis, run)))
    return inputs.digested(key, lambda: digest(*content(run, inputs)))


def digest_of(run: Run, inputs: Inputs) -> str:
    """Return a digest of everything that decides: files by their contents, and what is installed.
    Equal digests mean equal decisions. Raises KschedError where a file cannot be read."""
    return digest(_installed(), [meaning(axis, run, inputs) for axis in AXES])


@cache
def _installed() -> list[tuple[str, str]]:
    return sorted(installed_versions().items())


def differences(first: Run, second: Run, inputs: Inputs) -> tuple[Axis, ...]:
    """Return the axes in which two Runs differ; files are compared by their contents. Raises
    KschedError where one cannot be read."""
    return tuple(
        axis
        for axis in AXES
        if as_written(axis, first) != as_written(axis, second)
        and meaning(axis, first, inputs) != meaning(axis, second, inputs)
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
    """Return the Runs with their names. Raises KschedError where a file cannot be read."""
    return [
        NamedRun(name, run, tuple(axis.name for axis in differences(runs[0], run, inputs)))
        for name, run in zip(names_of(runs), runs, strict=True)
    ]


def shown_run(run: Run) -> Run:
    """Return the Run as answers show it: without secrets in its patches."""
    patches = (Patch(patch.path, masked_data(patch.value, patch.path)) for patch in run.patches)
    return replace(run, patches=tuple(patches))


def names_of(runs: Sequence[Run], width: int = _WIDTH) -> tuple[str, ...]:
    """A name for each Run that tells how it differs from the others. Equal names get a number.
    width: a longer label loses its end if the names still differ"""
    varying = [axis for axis in AXES if len({repr(as_written(axis, run)) for run in runs}) > 1]
    if CONFIGURATION_AXIS not in varying and len(set(map(configuration_label, runs))) > 1:
        varying.append(CONFIGURATION_AXIS)  # plugins join the default one
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
    cut = []
    for label in without_folders:
        # Up to the end of the word at its width, so that names of nodes stay whole; a word that is
        # longer than such a name loses its end.
        word_end = label.find(" ", width)
        end = len(label) if word_end < 0 else word_end
        if end > width + _NAME_LENGTH:
            end = width
        cut.append(label if end >= len(label) else f"{label[:end]}…")
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
