"""A Run: everything that decides what a question is answered from, as plain data.

Options, files and Python calls describe Runs; `open.py` turns one into a simulation or a replay.
A Run names its files and does not hold them, so that it can be printed, compared and read back:

    msgspec.json.decode(msgspec.json.encode(run), type=Run) == run

The annotation of a field says how the field is given and named (axes.py); nothing else lists the
fields. A new axis is a field here, and what uses it.
"""

from __future__ import annotations

import shlex
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from re import escape
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Struct

from ksched_cli.errors import InputError, UsageError
from ksched_cli.kube.file_parts import Amount, Text
from ksched_cli.kube.file_paths import check_standard_input
from ksched_cli.kube.versions import MINORS
from ksched_cli.run.axes import (
    CHANGES_AXIS,
    CONFIGURATION,
    CONFIGURATION_AXIS,
    DECISIONS,
    EXTENDERS,
    PATCHES_AXIS,
    PLUGIN_TIMEOUT_AXIS,
    PLUGINS_AXIS,
    PRICES_AXIS,
    RECORDING_AXIS,
    REGRET_AXIS,
    STATE_AXIS,
    TIES_AXIS,
    TIME,
    TIMELINE_AXIS,
    Axis,
    Field,
    InFiles,
    InTools,
    Option,
    fields_of,
    of_field,
    switch,
    text,
)
from ksched_cli.run.patches import parse_path

# The commands that compare a run with the best placement, and how long they look for it.
WITH_REGRET = ("schedule", "compare", "replay")
REGRET_SECONDS = 30.0
# Fields that only replays take.
_OF_REPLAYS = ("until", "regret_at", "evict_at_once", "job_label", "user_label")
# Fields of replays that some questions take at one instant, too.
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
        """Return the change as a person reads it."""
        return self.line or self.scenario or "apply"


class Patch(Struct, frozen=True, forbid_unknown_fields=True):
    """A value to set in the configuration, at a path as `profiles[0].percentageOfNodesToScore`."""

    path: str
    value: Any


class KubeconfigCluster(Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The cluster that a kubeconfig names. Empty fields are kubectl's defaults.

    namespace: read instead of all namespaces, where those may not be listed
    """

    kubeconfig: Annotated[
        str, Option("Read its cluster; default $KUBECONFIG, else ~/.kube/config.", "PATH")
    ] = ""
    context: Annotated[
        str, Option("Read the cluster of this context; default the current one.", "NAME")
    ] = ""
    namespace: str = ""


def _patches(texts: Sequence[str]) -> tuple[Patch, ...]:
    """PATH=VALUE, the value as YAML. Raises UsageError."""
    from ksched_cli.kube.documents import load_documents

    patches = []
    for each in texts:
        path, equals, value = each.partition("=")
        if not equals or not value:
            raise UsageError(f'--patch takes PATH=VALUE; not "{each}"')
        parse_path(path)
        try:
            (data,) = load_documents(value, "--patch")
        except (InputError, ValueError):
            raise UsageError(f'--patch {path}: "{value}" is not valid YAML') from None
        patches.append(Patch(path, data))
    return tuple(patches)


def _patch_texts(patches: Iterable[Patch]) -> Iterator[str]:
    return (f"{patch.path}={as_json(patch.value).decode()}" for patch in patches)


def _scenarios(paths: Sequence[str]) -> tuple[ChangeSource, ...]:
    return tuple(ChangeSource(scenario=path) for path in paths)


def _scenario_paths(changes: Iterable[ChangeSource]) -> Iterator[str]:
    return (change.scenario for change in changes if change.scenario)


def _changes(lines: Sequence[str]) -> tuple[ChangeSource, ...]:
    return tuple(ChangeSource(line=line) for line in lines)


def _manifests(paths: Sequence[str]) -> tuple[ChangeSource, ...]:
    return tuple(map(applied_file, paths))


def applied_file(path: str) -> ChangeSource:
    """Return the change that applies the manifests of a file; "-" is standard input."""
    return ChangeSource(line=f"apply -f {shlex.quote(path)}")


def _no_manifests(changes: Iterable[ChangeSource]) -> Iterator[str]:
    """Nothing: _change_lines has them."""
    return iter(())


def _change_lines(changes: Iterable[ChangeSource]) -> Iterator[str]:
    return (change.line for change in changes if change.line)


class ReleaseSettings(Struct, frozen=True, kw_only=True, rename="camel"):
    """The kube-scheduler whose rules decide.

    kubernetes_version: the minor whose rules decide; "" is that of the state's kubelets
    feature_gates: as kube-scheduler's --feature-gates
    min_compatibility_version: as kube-scheduler's --min-compatibility-version
    """

    kubernetes_version: Annotated[
        str,
        Option(
            "Whose rules apply, as 1.36 or 1.36.1; default the cluster's own release.",
            "|".join(MINORS),
            CONFIGURATION,
            variable="KSCHED_KUBERNETES_VERSION",
            shows_variable=False,
        ),
        of_field(
            "kubernetes_version",
            "Kubernetes version",
            "Kubernetes {}",
            "Kubernetes of the kubelets",
        ),
        InTools(
            "Whose rules apply, such as 1.36 or 1.34.4",
            rf"^v?({'|'.join(map(escape, MINORS))})(\.\d+)?$",
        ),
    ] = ""
    feature_gates: Annotated[
        str,
        Option(
            "Set feature gates, like kube-scheduler's option.",
            "NAME=true|false,...",
            CONFIGURATION,
        ),
        text("feature gates", "{}", "default feature gates"),
        InFiles(),
    ] = ""
    min_compatibility_version: Annotated[
        str,
        Option(
            "Use the default gates of this minor, like kube-scheduler's option.",
            "MINOR",
            CONFIGURATION,
        ),
        of_field(
            "min_compatibility_version",
            "compatibility version",
            "compatible with {}",
            "default compatibility version",
        ),
        InFiles(),
    ] = ""


class Settings(ReleaseSettings, frozen=True, kw_only=True, rename="camel"):
    """What decides and is plain: options, files and Python programs give it alike.

    namespace:     of names in changes; "" looks in all of them
    allow_empty_state: ask about a state without a node, which otherwise is an error
    until:         when the replay of the timeline stops, as `6h` or as a time; "" is its end
    tie_break:     which of equally good nodes is taken
    seed:          of the draws; None draws differently each time
    preemption:    evict the victims that PostFilter finds
    retries:       try pods again that failed
    job_label:     in a replay, the label whose values are jobs; "" takes groups and controllers
    user_label:    in a replay, the label whose values are the users of jobs; "" takes namespaces
    evict_at_once: in a replay, victims leave at the instant of their eviction
    workloads:     create the pods that workloads lack, and the claims that pods lack
    extenders:     call the configuration's extenders
    extender_bind: send extenders the bind calls
    record_extenders, replay_extenders: the path of a recording to write, or to answer from
    cache:         reuse plugins' answers for pods that look alike
    plugin_timeout: seconds that a call of a plugin that is not in-tree may take; 0 is no limit
    regret:        compare with the best placement: of "pods", of a resource's requests, or of a
                   metric
    regret_at:     in a replay, when it is compared, besides its end: `1h,2h`, or `every 1h`
    time_limit:    seconds after which the search for the best placement ends
    """

    namespace: Annotated[
        str,
        Option(
            "The namespace of POD, of names in changes and of the pods to show.",
            "NAME",
            short="-n",
            completes="namespace",
        ),
        CHANGES_AXIS,
        TIMELINE_AXIS,
        InFiles(),
        InTools("Of the pod, and of names in changes"),
    ] = ""
    allow_empty_state: Annotated[
        bool,
        Option("Accept a state without nodes; otherwise it is an error."),
        switch("allow_empty_state", "with an empty state allowed", "with an empty state refused"),
        InFiles(),
    ] = False
    workloads: Annotated[
        bool,
        Option("Do not create the pods and claims that controllers would create."),
        STATE_AXIS,
        InFiles(),
    ] = True
    until: Annotated[
        str,
        Option("End the timeline here: 6h, a number of seconds, or a time.", "TIME", TIME),
        TIMELINE_AXIS,
        InFiles(value=Text | Amount),
    ] = ""
    tie_break: Annotated[
        Literal["name", "random"],
        Option("Choose among equally good nodes by name, or at random.", "name|random", DECISIONS),
        TIES_AXIS,
    ] = "name"
    seed: Annotated[
        int | None,
        Option("Repeat the random choices of this seed.", "N", DECISIONS),
        TIES_AXIS,
    ] = None
    preemption: Annotated[
        bool,
        Option("Evict no pod.", panel=DECISIONS),
        switch("preemption", "with preemption", "without preemption"),
        InFiles(),
    ] = True
    retries: Annotated[
        bool,
        Option("Try every pod once.", panel=DECISIONS),
        switch("retries", "with retries", "without retries"),
        InFiles(),
    ] = True
    evict_at_once: Annotated[
        bool,
        Option("In a replay, remove victims at once, as schedule does.", panel=TIME),
        switch("evict_at_once", "eviction at once", "eviction with grace periods"),
        InFiles(),
    ] = False
    job_label: Annotated[
        str,
        Option("In a replay, jobs are the pods with the same value of this label.", "KEY", TIME),
        text("job label", "jobs by {}", "jobs by group and controller"),
        InFiles(),
    ] = ""
    user_label: Annotated[
        str,
        Option("In a replay, compare users by this label; default the namespace.", "KEY", TIME),
        text("user label", "users by {}", "users by namespace"),
        InFiles(),
    ] = ""
    extenders: Annotated[
        bool,
        Option("Decide without calling the extenders.", panel=EXTENDERS),
        switch("extenders", "with extenders", "without extenders"),
        InFiles(),
    ] = True
    extender_bind: Annotated[
        bool,
        Option(
            "Send bind calls to extenders; on a live cluster they bind pods.",
            panel=EXTENDERS,
            only=("schedule",),
        ),
        switch("extender_bind", "with binding by extenders", "without binding by extenders"),
    ] = False
    record_extenders: Annotated[
        str,
        Option(
            "Save every request to extenders and its answer; .gz is gzipped.", "FILE", EXTENDERS
        ),
        RECORDING_AXIS,
    ] = ""
    replay_extenders: Annotated[
        str,
        Option("Take the extenders' answers from this file, without a network.", "FILE", EXTENDERS),
        RECORDING_AXIS,
        InFiles(is_path=True),
    ] = ""
    cache: Annotated[
        bool,
        Option("Do not cache plugin results.", panel=CONFIGURATION),
        switch("cache", "with caching", "without caching"),
        InFiles(),
    ] = True
    plugin_timeout: Annotated[
        float,
        Option(
            "Fail plugin calls that take longer; in-tree plugins have no limit.",
            "SECONDS",
            CONFIGURATION,
        ),
        PLUGIN_TIMEOUT_AXIS,
        InFiles(value=Amount),
    ] = 0
    regret: Annotated[
        str,
        Option(
            "Compare with the best placement: of pods, a resource's requests, or a --metric.",
            "pods|RESOURCE|METRIC",
            DECISIONS,
            only=WITH_REGRET,
        ),
        REGRET_AXIS,
        InFiles(),
    ] = ""
    regret_at: Annotated[
        str,
        Option(
            "With --regret: compare a replay at these times, too: 1h,2h or 'every 1h'.",
            "TIMES",
            DECISIONS,
            only=("compare", "replay"),
        ),
        REGRET_AXIS,
    ] = ""
    time_limit: Annotated[
        float,
        Option(
            "End the search for the best placement after so long; default 30s.",
            "DURATION",
            DECISIONS,
            only=WITH_REGRET,
        ),
        REGRET_AXIS,
        InFiles(value=Amount),
    ] = REGRET_SECONDS


class Run(
    Settings,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    forbid_unknown_fields=True,
    rename="camel",
):
    """Everything that decides a run's result.

    configuration: PATH, PATH#NAME or "-"; "" is the default configuration
    plugins:       MODULE:NAME, FILE.py or FILE.py:NAME of plugins that are not installed
    patches:       of the configuration, in order
    states:        paths of the cluster state's files and folders; "-" is standard input
    live:          the cluster to read in place of files
    changes:       changes to the state before the run, in order
    timeline:      the path of a timeline; "" is a run at one instant
    autoscaler: the path of a file with node groups; "" means no autoscaler
    prices: prices of nodes, in the form of --price; the first that applies to a node counts
    """

    configuration: Annotated[
        str,
        Option(
            "A file, - or FILE#NAME; without it, the default configuration.",
            "PATH",
            CONFIGURATION,
            name="config",
            variable="KSCHED_CONFIG",
        ),
        CONFIGURATION_AXIS,
        InTools("KubeSchedulerConfiguration as YAML, in place of the server's"),
    ] = ""
    plugins: Annotated[
        tuple[str, ...],
        Option(
            "Load a plugin that is not installed; repeatable.",
            "MODULE:NAME|FILE.py",
            CONFIGURATION,
            name="plugin",
        ),
        PLUGINS_AXIS,
    ] = ()
    patches: Annotated[
        tuple[Patch, ...],
        Option(
            "Set a value in the configuration; repeatable.",
            "PATH=VALUE",
            CONFIGURATION,
            name="patch",
            read=_patches,
            write=_patch_texts,
        ),
        PATCHES_AXIS,
    ] = ()
    states: Annotated[
        tuple[str, ...],
        Option(
            "A file, a folder or - (standard input); repeatable. Default: cluster.yaml or .json, "
            "else the cluster that your kubeconfig names.",
            "PATH",
            name="state",
        ),
        STATE_AXIS,
    ] = ()
    live: Annotated[
        KubeconfigCluster | None,
        Option("Read the cluster that your kubeconfig names, not a file."),
        STATE_AXIS,
    ] = None
    changes: Annotated[
        tuple[ChangeSource, ...],
        Option(
            "Apply a file of changes, before --change; repeatable.",
            "FILE",
            name="scenario",
            read=_scenarios,
            write=_scenario_paths,
        ),
        Option(
            "Change the state first, in kubectl's words: 'drain node-3'; repeatable.",
            "TEXT",
            name="change",
            completes="change",
            read=_changes,
            write=_change_lines,
        ),
        Option(
            "Apply these manifests first, after --change; - is standard input; repeatable.",
            "FILE",
            name="filename",
            short="-f",
            only=("schedule", "compare"),
            read=_manifests,
            write=_no_manifests,
        ),
        CHANGES_AXIS,
        InTools("Made to a copy of the state, in kubectl's words; the instructions list them"),
    ] = ()
    timeline: Annotated[
        str,
        Option("Replay this timeline first; ask about the cluster at its end.", "FILE", TIME),
        TIMELINE_AXIS,
    ] = ""
    autoscaler: Annotated[
        str,
        Option("Autoscaler file that defines the node groups of a replay.", "FILE", TIME),
        text("autoscaler", "with {}", "without autoscaler", is_file=True),
    ] = ""
    prices: Annotated[
        tuple[str, ...],
        Option(
            "Hourly price of nodes by name, group or label, or a file of prices; repeatable.",
            "NODE=N|LABEL=VALUE=N|FILE",
            TIME,
            name="price",
        ),
        PRICES_AXIS,
    ] = ()

    def check(  # noqa: C901  # one check after the other
        self, uses: Collection[str] = ()
    ) -> None:
        """Check the fields of the Run. Raises UsageError for fields that contradict each other, or
        do nothing.

        uses: those of NEEDS_NO_TIMELINE that the question takes
        """
        for field in FIELDS:
            field.check(getattr(self, field.name))
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
        if self.time_limit != REGRET_SECONDS and not self.regret:
            raise UsageError("--time-limit requires --regret")
        if self.regret_at and not self.regret:
            raise UsageError("--regret-at requires --regret")
        if self.regret and (self.record_extenders or self.extender_bind):
            raise UsageError(
                "--regret cannot be combined with --record-extenders or --extender-bind: it makes "
                "several runs"
            )
        if not self.timeline:
            for name in ("autoscaler", "prices", *_OF_REPLAYS):
                if getattr(self, name) and name not in uses:
                    (field,) = (field for field in FIELDS if field.name == name)
                    raise UsageError(f"{field.typed(field.options[0])} requires a timeline")


_RELEASE, _SETTINGS = len(ReleaseSettings.__struct_fields__), len(Settings.__struct_fields__)
_FIELDS = fields_of(Run)
# In the order in which help and names of sides have them: the release, what is read from files, how
# it is decided.
FIELDS: tuple[Field, ...] = (
    *_FIELDS[:_RELEASE],
    *_FIELDS[_SETTINGS:],
    *_FIELDS[_RELEASE:_SETTINGS],
)
# The axes in which Runs differ.
AXES: tuple[Axis, ...] = tuple(dict.fromkeys(axis for field in FIELDS for axis in field.axes))


# What files set for all of their runs, by the keys there.
SETTINGS: Mapping[str, Field] = {field.key: field for field in FIELDS if field.in_files}


def setting_of(field: Field, value: Any, from_here: Callable[[str], str]) -> Any:
    """Return the field's value of what a file says. from_here: see OwnDocument"""
    if field.in_files is not None and field.in_files.is_path:
        return from_here(value)
    return not value if field.is_on else field.type(value)


def arguments_of(run: Run) -> list[str]:
    """Return the options that describe the Run, as they are typed: the inverse of what commands
    do. Changes that are objects have no option; a scenario file has them."""
    line: list[str] = []
    for field in FIELDS:
        line += _arguments(field, getattr(run, field.name))
    return line


def _arguments(field: Field, value: Any) -> Iterator[str]:
    """What is typed for a field's value; nothing for its default."""
    if value == field.default:
        return
    for option in field.options:
        name = field.typed(option)
        if field.nested is not None:
            yield name
            for inner in (each for each in fields_of(field.nested) if each.options):
                yield from _arguments(inner, getattr(value, inner.name))
        elif isinstance(value, tuple):
            yield from (part for text in option.write(value) for part in (name, text))
        elif isinstance(value, bool):
            yield name
        else:
            yield from (name, f"{value:g}" if isinstance(value, float) else str(value))


def check_standard_input_of(runs: Iterable[Run]) -> None:
    """Check that the Runs read standard input once. Raises UsageError where the Runs read several
    things from standard input, which ends."""
    named: dict[str, set[str]] = {}
    for run in runs:
        for option, values in (
            ("--config", [run.configuration]),
            ("--state", run.states),
            ("--timeline", [run.timeline]),
            ("--autoscaler", [run.autoscaler]),
            ("--price", run.prices),
            ("--scenario", [change.scenario for change in run.changes]),
            ("-f", ["-" for change in run.changes if change == applied_file("-")]),
        ):
            named.setdefault(option, set()).update(values)
    check_standard_input(named)


def as_json(value: Any) -> bytes:
    """Canonical JSON of a Run, or of a part of one: equal values have equal bytes."""
    return msgspec.json.encode(value, order="sorted")
