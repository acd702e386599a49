"""From a file of kind Sweep to a plan whose parts have all been read and checked once."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from ksched_cli.cluster.loading.files import StateFiles
from ksched_cli.cluster.loading.state_warnings import skipped_warnings
from ksched_cli.config.effective import Configuration
from ksched_cli.errors import InputError
from ksched_cli.kube.documents import decode_text, load_documents, read_file
from ksched_cli.kube.versions import Release, release_of
from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import (
    ChangeSet,
    CodeSource,
    Materials,
    NamedConfiguration,
    NamedState,
    Run,
    installed_versions,
)
from ksched_cli.sweep.plan import Plan
from ksched_cli.sweep.sweep_file import NamedPaths, SweepFile


@dataclass(frozen=True, slots=True)
class Settings:
    """What the options say of all runs.

    plugins: as --plugin takes them; metrics: as --metric; minors: where the file names none
    """

    plugins: tuple[str, ...] = ()
    metrics: tuple[str, ...] = ()
    minors: tuple[str, ...] = ()
    feature_gates: str = ""
    workloads: bool = True
    extenders: bool = True


@dataclass(frozen=True, slots=True)
class Prepared:
    """What has been read and checked.

    release:        whose rules decide the first run
    configurations: that have been checked
    warnings:       about states and changes, a line each
    """

    materials: Materials
    release: Release
    configurations: tuple[Configuration, ...]
    warnings: tuple[str, ...]


def plan_of(file: SweepFile, settings: Settings) -> tuple[Plan, Prepared]:
    """Raises KschedError for what cannot be read or is not valid, and for axes that do not fit
    together."""
    plugin_texts = tuple((*texts, *settings.plugins) for texts in file.plugin_sets)
    minors = settings.minors if file.minors == ("",) and settings.minors else file.minors
    reader = MaterialsReader(settings, plugin_texts)
    materials = reader.read(file.states, file.configurations, file.change_sets, file.retries)
    plan = Plan(materials, file.patches, minors, plugin_texts, file.seeds, file.is_zipped)
    plan.check()
    runs = [*_runs_to_check(plan)]
    return plan, reader.checked(materials, runs)


def _runs_to_check(plan: Plan) -> Iterator[Run]:
    """Runs with every value of every axis, but not their combinations, of which there are many."""
    materials = plan.materials
    count = len(materials.states)
    for state in range(count):
        for changes in range(len(materials.change_sets)):
            yield materials.run(state=state, changes=changes, minor=plan.minors[0])
    for minor in plan.minors:
        for plugins in range(len(materials.plugin_sets)):
            for configuration in range(len(materials.configurations)):
                yield materials.run(minor=minor, plugins=plugins, configuration=configuration)
    for configuration in range(len(materials.configurations)):
        for axis in plan.patches:
            for value in axis.values:
                patches = ((axis.path, value),)
                yield materials.run(
                    configuration=configuration, minor=plan.minors[0], patches=patches
                )


class MaterialsReader:
    """Reads what runs are made from, and checks it."""

    def __init__(self, settings: Settings, plugin_texts: Sequence[Sequence[str]]) -> None:
        self._settings = settings
        self._plugin_texts = plugin_texts
        self._files: list[StateFiles] = []

    def read(
        self,
        states: Sequence[NamedPaths],
        configurations: Sequence[NamedPaths],
        change_sets: Sequence[ChangeSet],
        retries: bool,
    ) -> Materials:
        """Raises KschedError."""
        settings = self._settings
        materials = Materials(
            tuple(map(self._state, states)),
            tuple(map(_configuration, configurations)),
            tuple(change_sets),
            tuple(tuple(map(CodeSource.of, texts)) for texts in self._plugin_texts),
            tuple(map(CodeSource.of, settings.metrics)),
            settings.feature_gates,
            settings.workloads,
            settings.extenders,
            retries,
            versions=tuple(sorted(installed_versions().items())),
        )
        environment, release = RunEnvironment(materials), release_of()
        reads = [
            environment.registry(index, release).reads for index in range(len(self._plugin_texts))
        ]
        return replace(materials, reads=frozenset().union(*reads))

    def _state(self, state: NamedPaths) -> NamedState:
        files = StateFiles(state.paths, sys.stdin.buffer)
        self._files.append(files)
        return NamedState(state.name, tuple(files.sources()))

    def checked(self, materials: Materials, runs: Sequence[Run]) -> Prepared:
        """Reads the states and configurations of the runs. Raises KschedError."""
        environment = RunEnvironment(materials)
        _ = environment.metrics
        warnings: dict[str, None] = {}
        for index, files in enumerate(self._files):
            environment.base_state(index)
            files.passed_over += environment.passed_over
            environment.passed_over.clear()
            warnings |= dict.fromkeys(files.warnings())
        configurations: dict[int, Configuration] = {}
        for run in runs:
            state = environment.state(run.state, run.changes)
            warnings |= dict.fromkeys((*skipped_warnings(state), *state.warnings))
            release = environment.release(run.minor, state)
            registry = environment.registry(run.plugins, release)
            configuration = environment.configuration(run, registry)
            configurations[id(configuration)] = configuration
        first = runs[0]
        release = environment.release(first.minor, environment.state(first.state, first.changes))
        checked = tuple(configurations.values())
        return Prepared(materials, release, checked, tuple(warnings))


def _configuration(configuration: NamedPaths) -> NamedConfiguration:
    """Raises InputError."""
    if not configuration.paths:
        return NamedConfiguration(configuration.name, None, None)
    raw, name = read_file(configuration.paths[0])
    text = decode_text(raw, name)
    documents = list(load_documents(text, name))
    if len(documents) != 1:
        raise InputError(name, f"expected one document, and there are {len(documents)}")
    return NamedConfiguration(configuration.name, text, documents[0])
