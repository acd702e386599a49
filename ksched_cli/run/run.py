"""A Run: everything that decides what a question is answered from, as plain data.

Options, files and Python calls describe Runs; `open.py` turns one into a simulation or a replay.
A Run names its files and does not hold them, so that it can be printed, compared and read back:

    msgspec.json.decode(msgspec.json.encode(run), type=Run) == run
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from ksched_cli.errors import UsageError
from ksched_cli.kube.file_paths import check_standard_input

# Fields of replays, by their options; and those that some questions take at one instant, too.
_OF_REPLAYS = {
    "autoscaler": "--autoscaler",
    "prices": "--price",
    "until": "--until",
    "evict_at_once": "--evict-at-once",
}
NEEDS_NO_TIMELINE = ("autoscaler", "prices")


class ChangeSource(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """A change, or a file of changes. Exactly one of line, apply and scenario is given.

    line:     a change in kubectl's words, as `drain node-3`
    apply:    an object to create or to configure, or a list of objects
    scenario: the path of a file with changes
    folder:   the folder that paths in `line` are relative to; "" is the current one
    """

    line: str = ""
    apply: Any = None
    scenario: str = ""
    folder: str = ""

    @property
    def text(self) -> str:
        """The change as a person reads it."""
        return self.line or self.scenario or "apply"


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """A value to set in the configuration, at a path as `profiles[0].percentageOfNodesToScore`."""

    path: str
    value: Any


class LiveCluster(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The cluster that a kubeconfig names. Empty fields are kubectl's defaults.

    namespace: read instead of all namespaces, where those may not be listed
    """

    kubeconfig: str = ""
    context: str = ""
    namespace: str = ""


class Run(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """Everything that decides a run's result.

    states:        paths of the cluster state's files and folders; "-" is standard input
    live:          the cluster to read in place of files
    allow_empty_state: ask about a state without a node, which otherwise is an error
    workloads:     create the pods that workloads lack
    changes:       changes to the state before the run, in order
    namespace:     of names in changes; "" looks in all of them
    configuration: PATH, PATH#NAME or "-"; "" is the default configuration
    patches:       of the configuration, in order
    plugins:       MODULE:NAME, FILE.py or FILE.py:NAME of plugins that are not installed
    kubernetes_version: the minor whose rules decide; "" is that of the state's kubelets
    feature_gates: as kube-scheduler's --feature-gates
    min_compatibility_version: as kube-scheduler's --min-compatibility-version
    timeline:      the path of a timeline; "" is a run at one instant
    until:         when the replay of the timeline stops, as `6h` or as a time; "" is its end
    autoscaler: the path of a file with node groups; "" means no autoscaler
    prices: prices of nodes, in the form of --price; the first that applies to a node counts
    evict_at_once: in a replay, victims leave at the instant of their eviction
    tie_break:     which of equally good nodes is taken
    seed:          of the draws; None draws differently each time
    preemption:    evict the victims that PostFilter finds
    retries:       try pods again that failed
    extenders:     call the configuration's extenders
    extender_bind: send extenders the bind calls
    record_extenders, replay_extenders: the path of a recording to write, or to answer from
    cache:         reuse plugins' answers for pods that look alike
    plugin_timeout: seconds that a call of a plugin that is not in-tree may take; 0 is no limit
    """

    states: tuple[str, ...] = ()
    live: LiveCluster | None = None
    allow_empty_state: bool = False
    workloads: bool = True
    changes: tuple[ChangeSource, ...] = ()
    namespace: str = ""
    configuration: str = ""
    patches: tuple[Patch, ...] = ()
    plugins: tuple[str, ...] = ()
    kubernetes_version: str = ""
    feature_gates: str = ""
    min_compatibility_version: str = ""
    timeline: str = ""
    until: str = ""
    autoscaler: str = ""
    prices: tuple[str, ...] = ()
    evict_at_once: bool = False
    tie_break: Literal["name", "random"] = "name"
    seed: int | None = None
    preemption: bool = True
    retries: bool = True
    extenders: bool = True
    extender_bind: bool = False
    record_extenders: str = ""
    replay_extenders: str = ""
    cache: bool = True
    plugin_timeout: float = 0

    def check(self, uses: Collection[str] = ()) -> None:
        """Raises UsageError for fields that contradict each other, or do nothing.

        uses: those of NEEDS_NO_TIMELINE that the question takes
        """
        if self.seed is not None and self.tie_break != "random":
            raise UsageError("--seed requires --tie-break random")
        if self.record_extenders and self.replay_extenders:
            raise UsageError("--record-extenders cannot be combined with --replay-extenders")
        if not self.extenders and (
            self.record_extenders or self.replay_extenders or self.extender_bind
        ):
            raise UsageError(
                "--no-extenders cannot be combined with --record-extenders, "
                "--replay-extenders or --extender-bind"
            )
        if self.replay_extenders and self.extender_bind:
            raise UsageError(
                "--replay-extenders cannot be combined with --extender-bind: it calls no extender"
            )
        if not self.timeline:
            for field, option in _OF_REPLAYS.items():
                if getattr(self, field) and field not in uses:
                    raise UsageError(f"{option} requires a timeline")


def check_standard_input_of(runs: Iterable[Run]) -> None:
    """Raises UsageError where the Runs read several things from standard input, which ends."""
    named: dict[str, set[str]] = {}
    for run in runs:
        for option, values in (
            ("--config", [run.configuration]),
            ("--state", run.states),
            ("--timeline", [run.timeline]),
            ("--autoscaler", [run.autoscaler]),
            ("--price", run.prices),
            ("--scenario", [change.scenario for change in run.changes]),
        ):
            named.setdefault(option, set()).update(values)
    check_standard_input(named)


def as_json(value: Any) -> bytes:
    """Canonical JSON of a Run, or of a part of one: equal values have equal bytes."""
    return msgspec.json.encode(value, order="sorted")
