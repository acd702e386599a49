"""Reads and checks what the Runs of a sweep name, before the first of them is made."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msgspec.structs import replace

from ksched_cli.analysis.metrics import Metric, load_metric
from ksched_cli.cluster.loading.state_warnings import (
    budget_warnings,
    replayed_anew,
    skipped_warnings,
)
from ksched_cli.config.effective import Configuration
from ksched_cli.errors import KschedError, UsageError
from ksched_cli.kube.versions import Release
from ksched_cli.run.differences import digest_of
from ksched_cli.run.inputs import CodeSource, Inputs, digest, installed_versions
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run, check_standard_input_of
from ksched_cli.scenario.own_document import OwnDocument
from ksched_cli.sweep.plan import (
    AUTOSCALERS,
    CHANGES,
    CONFIGURATIONS,
    PATCHES,
    PLUGINS,
    PRICES,
    STATES,
    TIMELINES,
    VERSIONS,
    StudyPlan,
)

Step = Callable[[Run], object]
GATES, COMPATIBILITY = "featureGates", "minCompatibilityVersion"


@dataclass(frozen=True, slots=True)
class Shared:
    """What the runs of a sweep are made from besides their Runs; it is read once, and sent to other
    processes.

    inputs:   the contents of all files that the Runs name
    reads:    the kinds of custom objects that plugins of any Run read
    metrics:  the functions of --metric
    versions: of ksched and of the installed plugins
    """

    inputs: Inputs
    reads: frozenset[str] = frozenset()
    metrics: tuple[CodeSource, ...] = ()
    versions: dict[str, str] = field(default_factory=installed_versions)

    def id_of(self, run: Run) -> str:
        """The same wherever the same decisions are measured in the same way."""
        identity = digest_of(run, self.inputs)
        metrics = [part for item in self.metrics for part in (item.text, item.content)]
        return digest(identity, *metrics) if metrics else identity

    def opener(self) -> Opener:
        """Open the Runs in this process."""
        return Opener(inputs=self.inputs, reads=self.reads)

    def load_metrics(self) -> tuple[Metric, ...]:
        """Load the functions of metrics that the Runs name. Raises UsageError where a function
        cannot be loaded."""
        return tuple(map(load_metric, self.metrics))


@dataclass(frozen=True, slots=True)
class Prepared:
    """What has been read and checked.

    release:        whose rules decide the first run
    configurations: whose extenders are called
    warnings:       about states, changes and plugins, a line each
    eviction_warnings: what the states lack where runs evict pods
    """

    shared: Shared
    release: Release
    configurations: tuple[Configuration, ...]
    warnings: tuple[str, ...]
    eviction_warnings: tuple[str, ...]


def every(run: Run) -> bool:
    """Return whether the plugins of a Run may be imported: always."""
    return True


def prepare(
    document: OwnDocument,
    plans: Sequence[StudyPlan],
    metrics: Sequence[str],
    may_import: Callable[[Run], bool] = every,
) -> Prepared:
    """Open Runs with every value of every axis, but not of all their combinations, of which there
    are many.

    plans:      of the document
    metrics:    see --metric
    may_import: whether the plugins of a Run may be imported; else what takes them is not checked
    Raises KschedError
    """
    inputs = Inputs(keeps_states=True)
    preparation = _Preparation(document, plans, may_import, inputs)
    shared = Shared(inputs, preparation.reads, tuple(map(CodeSource.of, metrics)))
    shared.load_metrics()
    return _prepared(preparation, shared, plans[0])


def prepare_runs(plan: StudyPlan, inputs: Inputs) -> Prepared:
    """Open all Runs of a plan. Raises KschedError."""
    preparation = _Preparation(OwnDocument("", "", Path(), {}), [plan], every, inputs)
    return _prepared(preparation, Shared(inputs, preparation.reads), plan)


def _prepared(preparation: _Preparation, shared: Shared, plan: StudyPlan) -> Prepared:
    preparation.check()
    preparation.inputs.read(preparation.runs)
    return Prepared(
        shared,
        preparation.opener.release(replace(plan.run(plan.at(0)), plugins=())),
        preparation.called(),
        tuple(preparation.warnings),
        tuple(preparation.eviction_warnings),
    )


class _Preparation:
    """warnings: in the order in which they came up; runs: those that were opened"""

    def __init__(
        self,
        document: OwnDocument,
        plans: Sequence[StudyPlan],
        may_import: Callable[[Run], bool],
        inputs: Inputs,
    ) -> None:
        self._document, self._plans, self._may_import = document, plans, may_import
        self.inputs = inputs
        self.warnings: dict[str, None] = {}
        self.eviction_warnings: dict[str, None] = {}
        self.runs: list[Run] = []
        self._configurations: dict[int, Configuration] = {}
        self._timelines: set[str] = set()
        opener = self.opener = self._opener()
        self._vary((GATES, PLUGINS), opener.plugins)
        self.reads = frozenset().union(*map(opener.kinds, self.runs))
        self.opener = self._opener(self.reads)

    def _opener(self, reads: frozenset[str] = frozenset()) -> Opener:
        return Opener(inputs=self.inputs, reads=reads, warn=self._warn)

    def _warn(self, *lines: str) -> None:
        self.warnings |= dict.fromkeys(lines)

    def check(self) -> None:
        """Check that every Run can be opened. Raises KschedError."""
        opener = self.opener
        self._vary((STATES, CHANGES), self._open_state, has_code=False)
        self._vary(
            (VERSIONS,),
            lambda run: opener.release(
                replace(run, feature_gates="", min_compatibility_version="")
            ),
            has_code=False,
        )
        self._vary(
            (VERSIONS, COMPATIBILITY),
            lambda run: opener.release(replace(run, feature_gates="")),
            has_code=False,
        )
        releases = (VERSIONS, COMPATIBILITY, GATES)
        self._vary(releases, opener.release, has_code=False)
        self._vary((PLUGINS, *releases, CONFIGURATIONS), self._open_configuration, patch="")
        # The first set of plugins does for all, unless it may not be imported.
        sets = () if self._may_import is every else (PLUGINS,)
        for key in dict.fromkeys(axis.key for plan in self._plans for axis in plan.axes):
            if key.startswith(PATCHES):
                self._vary((*sets, CONFIGURATIONS, key), self._open_configuration, patch=key)
        for key in dict.fromkeys(key for plan in self._plans for key in plan.settings):
            self._vary((key,), Run.check, has_code=False)
        self._vary(
            (*sets, STATES, TIMELINES, AUTOSCALERS, PRICES, GATES, "until"), self._open_replay
        )
        check_standard_input_of(self.runs)

    def _vary(
        self, keys: Sequence[str], step: Step, *, patch: str | None = None, has_code: bool = True
    ) -> None:
        """Take the step with the values of these axes.

        patch:    the only one that is applied, "" for none
        has_code: the step imports the plugins; else it is taken without them
        Raises InputError at the last of the values where it is wrong
        """
        blames = KschedError if patch else UsageError  # what a patch leads to is no other file
        for plan in self._plans:
            plan = plan if patch is None else plan.with_patch(patch)
            for indexes in plan.varied(*keys):
                run = plan.run(indexes)
                if has_code and not self._may_import(run):
                    continue
                by_key = {axis.key: value.place for axis, value in plan.values(indexes)}
                places = [by_key[key] for key in keys if by_key.get(key)]
                with self._document.at(*(places[-1] if places else ()), blames=blames):
                    step(run if has_code else replace(run, plugins=()))
                self.runs.append(run)

    # -- steps ------------------------------------------------------------------------------------

    def _open_state(self, run: Run) -> None:
        state = self.opener.state(run)
        out_of_place = replayed_anew(state) if run.timeline else ()
        lines = (*skipped_warnings(state.skipped), *state.warnings)
        self._warn(*(line for line in lines if line not in out_of_place))
        self.eviction_warnings |= dict.fromkeys(budget_warnings(state))

    def _open_configuration(self, run: Run) -> None:
        configuration = self.opener.configuration(run)
        self._configurations[id(configuration)] = configuration

    def _open_replay(self, run: Run) -> None:
        """Read every event of a timeline once."""
        if not run.timeline:
            return
        replay = self.opener.replay(run)
        self._warn(*replay.cluster.objects.warnings)
        if run.timeline not in self._timelines:
            self._timelines.add(run.timeline)
            for _ in replay.events:
                pass
        replay.cluster.engine.close()

    def called(self) -> tuple[Configuration, ...]:
        """Return the configurations whose extenders any run calls."""
        runs = (
            plan.run(indexes)
            for plan in self._plans
            for indexes in plan.varied("noExtenders", "replayExtenders")
        )
        is_called = any(run.extenders and not run.replay_extenders for run in runs)
        return tuple(self._configurations.values()) if is_called else ()
