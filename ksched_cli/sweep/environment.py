"""From the materials of a sweep to the simulation of a run. What runs have in common is made once
per process."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Callable, Hashable
from functools import cached_property
from typing import Any, TypeVar

from ksched_cli.cluster.loading.load import load_sources
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.defaults import profile_with_plugins
from ksched_cli.config.effective import Configuration
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.engine.extender_runner import ExtenderOptions
from ksched_cli.engine.scheduling_cycle import RandomChoice, first_by_name
from ksched_cli.engine.simulation import Options, Simulation
from ksched_cli.errors import UsageError
from ksched_cli.framework.discovery import discover
from ksched_cli.framework.registry import Registry
from ksched_cli.kube.versions import Release, inferred_release, release_of
from ksched_cli.plugins import IN_TREE, registry_of
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.workloads import with_workloads
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.metrics import Metric, load_metric
from ksched_cli.sweep.patches import patched

T = TypeVar("T")

# How many are remembered: states after changes are large, configurations are not.
CHANGED_STATES = 2
CONFIGURATIONS = 256


class RunEnvironment:
    """States, plugins and configurations of a sweep, as runs in this process need them.

    passed_over: names of the states' files that held no object
    """

    def __init__(self, materials: Materials) -> None:
        self.materials = materials
        self.passed_over: list[str] = []
        self._states: dict[int, ClusterState] = {}
        self._changed_states: OrderedDict[Hashable, ClusterState] = OrderedDict()
        self._plugin_texts: dict[int, tuple[str, ...]] = {}
        self._plugins: dict[int, Registry] = {}
        self._registries: dict[Hashable, Registry] = {}
        self._configurations: OrderedDict[Hashable, Configuration] = OrderedDict()

    @cached_property
    def metrics(self) -> tuple[Metric, ...]:
        """Raises UsageError where a function cannot be loaded."""
        return tuple(map(load_metric, self.materials.metrics))

    # -- states -----------------------------------------------------------------------------------

    def base_state(self, index: int) -> ClusterState:
        """Before any change. Raises InputError."""
        if index not in self._states:
            materials = self.materials
            sources = materials.states[index].sources
            state = load_sources(sources, materials.reads, tuple, self.passed_over.append)
            self._states[index] = with_workloads(state) if materials.workloads else state
        return self._states[index]

    def state(self, index: int, changes: int) -> ClusterState:
        """After a set of changes. Raises KschedError."""
        listed = self.materials.change_sets[changes].changes
        base = self.base_state(index)
        if not listed:
            return base
        return _remembered(
            self._changed_states,
            (index, changes),
            CHANGED_STATES,
            lambda: apply_changes(base, listed, workloads=self.materials.workloads)[0],
        )

    # -- plugins and configurations ---------------------------------------------------------------

    def release(self, minor: str, state: ClusterState) -> Release:
        """Raises UsageError."""
        gates = self.materials.feature_gates
        if minor:
            return release_of(minor, gates)
        kubelets = {node.status.node_info.kubelet_version for node in state.nodes}
        return inferred_release(kubelets, gates)

    def registry(self, plugins: int, release: Release) -> Registry:
        """Raises UsageError where a plugin cannot be loaded."""
        key = (plugins, release.minor)
        if key not in self._registries:
            entries = self._discovered(plugins).values()
            foreign = [entry for entry in entries if entry.is_foreign]
            self._registries[key] = registry_of(release, foreign)
        return self._registries[key]

    def _discovered(self, plugins: int) -> Registry:
        if plugins not in self._plugins:
            discovery = discover(IN_TREE, self._texts(plugins))
            for broken in discovery.broken:
                if broken.is_requested:
                    raise UsageError(f"plugin {broken.origin}: {broken.cause}")
            self._plugins[plugins] = discovery.registry
        return self._plugins[plugins]

    def _texts(self, plugins: int) -> tuple[str, ...]:
        """The plugins as --plugin takes them here."""
        if plugins not in self._plugin_texts:
            sources = self.materials.plugin_sets[plugins]
            self._plugin_texts[plugins] = tuple(source.here() for source in sources)
        return self._plugin_texts[plugins]

    def configuration(self, run: Run, registry: Registry) -> Configuration:
        """Raises InputError, and PatchError where a path leads nowhere."""
        patches = json.dumps([[path.text, value] for path, value in run.patches])
        key = (run.configuration, run.plugins, registry.release.minor, patches)
        return _remembered(
            self._configurations, key, CONFIGURATIONS, lambda: self._load(run, registry)
        )

    def _load(self, run: Run, registry: Registry) -> Configuration:
        named = self.materials.configurations[run.configuration]
        joins = named.text is None and bool(self._texts(run.plugins))
        if not run.patches and not joins:
            return load_configuration(named.text, named.name, registry)
        data = json.dumps(self.configuration_data(run, registry))
        name = f"{named.name} with patches" if run.patches else named.name
        return load_configuration(data, name, registry)

    def configuration_data(self, run: Run, registry: Registry) -> Any:
        """The configuration after the run's patches, as plain data; plugins that no configuration
        file names join the default profile. Raises PatchError."""
        named = self.materials.configurations[run.configuration]
        data = named.data
        if named.text is None:
            texts = self._texts(run.plugins)
            joining = [entry for entry in registry.values() if entry.origin in texts]
            profile = profile_with_plugins(joining) if joining else {}
            data = {"apiVersion": API_VERSION, "kind": KIND, **profile}
        for path, value in run.patches:
            data = patched(data, path, value)
        return data

    def simulation(self, run: Run) -> Simulation:
        """Raises KschedError."""
        state = self.state(run.state, run.changes)
        registry = self.registry(run.plugins, self.release(run.minor, state))
        configuration = self.configuration(run, registry)
        tie_break = first_by_name if run.seed is None else RandomChoice(run.seed)
        extenders = ExtenderOptions(used=self.materials.extenders)
        options = Options(tie_break, retries=self.materials.retries, extenders=extenders)
        return Simulation(state, configuration, registry, options)


def _remembered(
    cache: OrderedDict[Hashable, T], key: Hashable, size: int, make: Callable[[], T]
) -> T:
    """What the cache has under the key, else what `make` gives; the one unused for longest goes."""
    if key in cache:
        cache.move_to_end(key)
    else:
        cache[key] = make()
        if len(cache) > size:
            cache.popitem(last=False)
    return cache[key]
