"""Reads a file of expectations."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msgspec.structs import replace

from ksched_cli.analysis.expectations import (
    Expectation,
    Fits,
    Limits,
    NodeHours,
    NodesUsed,
    PodCount,
    PodsEvicted,
    PodsOn,
    PodsPending,
    Spread,
    Utilized,
    Waited,
)
from ksched_cli.errors import InputError, Position, UsageError
from ksched_cli.kube.documents import Locator, read_file
from ksched_cli.kube.file_paths import expand_paths
from ksched_cli.run.inputs import code_from
from ksched_cli.run.run import ChangeSource, Patch, Run
from ksched_cli.scenario.own_document import OwnDocument, read_own_document

KIND = "Expectations"
_MENTION = re.compile(rf"""^[ \t]*["']?kind["']?\s*:\s*["']?{KIND}\b""".encode(), re.M)
_HINT = "Expected apiVersion: ksched/v1, kind: Expectations, `state`, and a list `expect`."


@dataclass(frozen=True, slots=True)
class ExpectationsFile:
    """path: of the file; runs: that the expectations are about, one per seed, with paths from
    here; positions: of the expectations in the file."""

    path: str
    runs: tuple[Run, ...]
    expectations: tuple[Expectation, ...]
    positions: tuple[Position | None, ...]


def files_of_expectations(paths: Sequence[str]) -> Iterator[str]:
    """Return the files that are named, and those of the kind in folders. Raises UsageError where
    there are none."""
    count = 0
    for path, is_named in expand_paths(paths):
        if is_named or _MENTION.search(read_file(path)[0]):
            count += 1
            yield path
    if not count:
        raise UsageError(f"no file of kind {KIND} in {' '.join(paths)}")


def read_expectations(path: str) -> ExpectationsFile:
    """Raises InputError with line and column."""
    document = read_own_document(path, KIND, _HINT, adapted=_with_on)
    data, reader = document.data, _Reader(document)
    run = reader.run(path)
    try:
        run.check()
    except UsageError as error:
        raise InputError(document.name, str(error)) from None
    locator = Locator(document.text)
    seeds = data.get("seeds")
    numbers = range(seeds) if isinstance(seeds, int) else seeds or ()
    drawn = [replace(run, tie_break="random", seed=seed) for seed in numbers]
    return ExpectationsFile(
        path,
        tuple(drawn) or (run,),
        tuple(
            reader.expectation(entry, ("expect", index))
            for index, entry in enumerate(data["expect"])
        ),
        tuple(map(locator.locate, (("expect", index) for index in range(len(data["expect"]))))),
    )


def _with_on(document: Any) -> Any:
    """The document with the key `on`, which YAML 1.1 reads as true, as it was written."""
    if not isinstance(document, dict) or not isinstance(document.get("expect"), list):
        return document
    entries = [
        {"on" if key == "true" else key: value for key, value in entry.items()}
        if isinstance(entry, dict)
        else entry
        for entry in document["expect"]
    ]
    return {**document, "expect": entries}


@dataclass(frozen=True, slots=True)
class _Reader:
    file: OwnDocument

    def run(self, path: str) -> Run:
        """Return the Run that the file describes. path: of the file"""
        data, here = self.file.data, self.file.from_here
        states = data["state"]
        plugins = data.get("plugins", ())
        return Run(
            states=tuple(map(here, [states] if isinstance(states, str) else states)),
            workloads=not data.get("noWorkloads", False),
            changes=(ChangeSource(scenario=path),) if data.get("changes") else (),
            configuration=here(data.get("config", "")),
            patches=tuple(Patch(each["path"], each["value"]) for each in data.get("patches", ())),
            plugins=tuple(
                code_from(text, here)
                for text in ([plugins] if isinstance(plugins, str) else plugins)
            ),
            kubernetes_version=data.get("kubernetesVersion", ""),
            feature_gates=data.get("featureGates", ""),
            min_compatibility_version=str(data.get("minCompatibilityVersion", "")),
            timeline=here(data.get("timeline", "")),
            until=str(data.get("until", "")),
            autoscaler=here(data.get("autoscaler", "")),
            evict_at_once=data.get("evictAtOnce", False),
            preemption=not data.get("noPreemption", False),
            retries=not data.get("noRetries", False),
            extenders=not data.get("noExtenders", False),
            replay_extenders=here(data.get("replayExtenders", "")),
        )

    def expectation(self, entry: Mapping[str, Any], place: tuple[str | int, ...]) -> Expectation:
        """Return the expectation of an entry that is valid by the schema."""
        name = entry.get("name") or _described(entry)
        match entry:
            case {"pod": pods, "on": str(node)}:
                return PodsOn(name, pods, node, {})
            case {"pod": pods, "on": labels}:
                return PodsOn(name, pods, "", labels)
            case {"pod": pods, "pending": _}:
                return PodsPending(name, pods, entry.get("because", ""))
            case {"pod": pods, "evicted": evicted}:
                return PodsEvicted(name, pods, evicted)
            case {"pending": count} | {"pendingAtEnd": count}:
                return PodCount(name, count, "pending")
            case {"evicted": count}:
                return PodCount(name, count, "evicted")
            case {"spread": spread}:
                return Spread(name, spread["pods"], spread["over"], spread["atMost"])
        return self._limited(name, entry, place)

    def _limited(
        self, name: str, entry: Mapping[str, Any], place: tuple[str | int, ...]
    ) -> Expectation:
        """An expectation about a figure."""
        match entry:
            case {"nodesUsed": limits}:
                return NodesUsed(name, _limits(limits))
            case {"nodeHours": limits}:
                return NodeHours(name, _limits(limits))
            case {"capacity": pod}:
                return Fits(name, pod, _limits(entry))
            case {"utilization": usage}:
                (figure,) = (key for key in usage if key != "resource")
                return Utilized(name, usage["resource"], figure, _limits(usage[figure]))
        waited = entry["waited"]
        figures = {
            key: Limits(*(self._seconds(limits, side, (*place, "waited", key, side))
                          for side in ("atLeast", "atMost")))
            for key, limits in waited.items()
            if key != "pods"
        }  # fmt: skip
        return Waited(name, waited["pods"], figures)

    def _seconds(
        self, limits: Mapping[str, Any], side: str, place: tuple[str | int, ...]
    ) -> float | None:
        """A number of seconds, or a duration as Go writes it. Raises InputError."""
        value = limits.get(side)
        return self.file.nanoseconds(value, *place) / 1e9 if isinstance(value, str) else value


def _limits(data: Mapping[str, Any]) -> Limits:
    return Limits(data.get("atLeast"), data.get("atMost"))


def _described(entry: Mapping[str, Any]) -> str:
    """The entry on one line, as `pod: web-*, on: node-1`."""
    return ", ".join(f"{key}: {_plain(value)}" for key, value in entry.items())


def _plain(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, dict):
        return f"{{{_described(value)}}}"
    return str(value)
