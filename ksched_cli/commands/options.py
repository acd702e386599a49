"""The options and arguments that mean the same in every command, each declared once.

A command takes `CommonOptions`, or `StateOptions` where it reads a cluster state; a field added to
one of these is an option of all their commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.command_line import option, positive_number, whole_number
from ksched_cli.commands.completion import (
    complete_change,
    complete_form,
    complete_namespace,
    complete_pod,
    complete_workload,
)
from ksched_cli.commands.forms import check_form, parse_form
from ksched_cli.kube.versions import MINORS
from ksched_cli.report.forms import Form


@dataclass(frozen=True, slots=True)
class Before:
    """Beside an option: --help shows it before that of another parameter, not in its turn."""

    parameter: str


POD_HELP = "name, namespace/name or pod/name; or a workload's, as deployment/web"

State = Annotated[
    list[str] | None,
    option(
        "Cluster state: a file, a folder with its sub-folders, or - for standard input; "
        "gzipped or not; repeatable. Without it: $KSCHED_STATE, else cluster.yaml, cluster.yml or "
        "cluster.json (or .gz) here.",
        "PATH",
    ),
    Before("plugin"),
]
Live = Annotated[
    bool, option("The cluster that your kubeconfig names, as it is now."), Before("plugin")
]
Context = Annotated[
    str,
    option("With --live: a context of the kubeconfig, not its current one.", "NAME"),
    Before("plugin"),
]
Kubeconfig = Annotated[
    str,
    option("With --live: instead of $KUBECONFIG, else ~/.kube/config.", "PATH"),
    Before("plugin"),
]
RedactKey = Annotated[
    str,
    option("Save what was renamed to what to this file; reuse it if it exists.", "FILE"),
]
SOURCE_HELP = "A file, - for standard input, or FILE#NAME where a file holds several."
Config = Annotated[
    str | None,
    option(
        f"KubeSchedulerConfiguration. {SOURCE_HELP} Without it, the default configuration.",
        "PATH",
        envvar="KSCHED_CONFIG",
    ),
    Before("plugin"),
]
ChangeOption = Annotated[
    list[str] | None,
    option(
        "Something to do to the state first, in kubectl's words, as 'drain node-3'; repeatable.",
        "TEXT",
        autocompletion=complete_change,
    ),
    Before("plugin"),
]
ScenarioOption = Annotated[
    list[str] | None,
    option("A file of changes, done before those of --change; repeatable.", "FILE"),
    Before("plugin"),
]
NoWorkloads = Annotated[
    bool,
    option("Make no pods of workloads that the state holds or a change applies."),
    Before("plugin"),
]
Plugin = Annotated[
    list[str] | None,
    option(
        "A plugin that is not installed; repeatable. Without a configuration it joins the "
        "default profile at every point it extends.",
        "MODULE:NAME|FILE.py",
    ),
]
NoPlugins = Annotated[
    bool, option("Refuse plugins that a file names and --plugin does not. Installed ones stay.")
]
AllowPlugins = Annotated[
    list[str] | None,
    option(
        "Plugins of another build, taken as there by their names, without their code; repeatable.",
        "NAME[=POINT+POINT],...|FILE",
    ),
]
Debug = Annotated[bool, option("Print which plugins were called per pod, and tracebacks.")]
PluginTimeout = Annotated[
    float,
    option(
        "A call of a plugin that takes longer fails; not of those that ksched brings.",
        "SECONDS",
        parser=positive_number("--plugin-timeout"),
        show_default=False,
    ),
]
Output = Annotated[
    Form,
    option(
        "table, json, yaml, or html: a page that stands alone; markdown, wide or name where a "
        "command has them.",
        "FORM",
        short="-o",
        parser=parse_form,
        callback=check_form,
        autocompletion=complete_form,
        show_default="table",
    ),
]
OpenPage = Annotated[
    bool, option("Show the result as a page in the browser.", name="--open"), Before("quiet")
]
Quiet = Annotated[bool, option("No warnings and no progress: results and errors.", short="-q")]
NoPager = Annotated[bool, option("On a terminal: long tables do not go through $PAGER.")]
Namespace = Annotated[
    str,
    option(
        "The namespace of POD, of names in changes, and of the pods to show.",
        "NAME",
        short="-n",
        autocompletion=complete_namespace,
    ),
]
KubernetesVersion = Annotated[
    str,
    option(
        "The minor whose rules apply. Default: $KSCHED_KUBERNETES_VERSION, else that of the "
        "nodes' newest kubelet, else the newest.",
        "|".join(MINORS),
        envvar="KSCHED_KUBERNETES_VERSION",
        show_envvar=False,
    ),
]
FeatureGates = Annotated[str, option("As kube-scheduler's.", "NAME=true|false,...")]
MinCompatibilityVersion = Annotated[
    str,
    option("As kube-scheduler's; decides which feature gates are on by default.", "MINOR"),
]
Trace = Annotated[
    bool,
    option(
        "With -o json or yaml: also every attempt in detail; --trace POD, repeatable: those "
        "of this pod only."
    ),
]
# An option takes a value or none, not either; so the pods after --trace are arguments.
TracedPods = Annotated[
    list[str] | None,
    typer.Argument(metavar="--trace POD", hidden=True, autocompletion=complete_pod),
]
TieBreak = Annotated[
    str, option("Among equally good nodes: the first by name, or a draw.", "name|random")
]
Seeds = Annotated[
    int | None,
    option(
        "Draw ties N times in each run; report means with 95 % intervals.",
        "N",
        parser=whole_number("--seeds", 2, 1_000),
    ),
]
PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help=POD_HELP, autocompletion=complete_pod),
]
Manifest = Annotated[
    str | None,
    option(
        "In place of POD: a pod or a workload to apply first; - is standard input.",
        "FILE",
        short="-f",
        name="--filename",
    ),
]
Alone = Annotated[
    bool, option("Leave the other pending pods out, rather than place each in its turn.")
]
All = Annotated[
    bool, option("Whole lists and every node, not groups and beginnings.", name="--all")
]
Seed = Annotated[
    int | None, option("Makes the draws repeatable.", "N", parser=whole_number("--seed"))
]
NoExtenders = Annotated[bool, option("Decide without calling the extenders.")]
ExtenderBind = Annotated[
    bool,
    option(
        "Really send the bind calls of extenders: on a live cluster they bind pods. "
        "Without it they are only shown."
    ),
    Before("record_extenders"),
]
RecordExtenders = Annotated[
    str, option("Keep every request to extenders and its answer in FILE (.gz: packed).", "FILE")
]
ReplayExtenders = Annotated[
    str, option("Take the extenders' answers from FILE, and call nobody.", "FILE")
]


Patches = Annotated[
    list[str] | None,
    option(
        "Set a value in the configuration, as "
        "'profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight=3'; repeatable.",
        "PATH=VALUE",
    ),
    Before("plugin"),
]
Timeline = Annotated[
    str, option("Replay this timeline first, and ask about the cluster at its end.", "FILE")
]
Until = Annotated[str, option("End the timeline here: 6h, a number of seconds, or a time.", "TIME")]
EvictAtOnce = Annotated[
    bool,
    option("In a replay, victims leave at once and the preemptor is tried again, as in schedule."),
]
Autoscaler = Annotated[
    str, option("Autoscaler file that defines the node groups of a replay.", "FILE")
]
PriceOption = Annotated[
    list[str] | None,
    option(
        "Hourly price of nodes by name, group or label, or a file of prices; repeatable.",
        "NODE=N|LABEL=VALUE=N|FILE",
        name="--price",
    ),
]
NoPreemption = Annotated[bool, option("Evict no pod; only say which could be.")]
NoRetries = Annotated[bool, option("Try every pod once, whatever happens after it.")]
NoCache = Annotated[bool, option("Do not cache plugin results.")]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What every command takes."""

    plugin: Plugin = None
    no_plugins: NoPlugins = False
    no_extenders: NoExtenders = False
    output: Output = Form.TABLE
    quiet: Quiet = False
    no_pager: NoPager = False
    kubernetes_version: KubernetesVersion = ""
    feature_gates: FeatureGates = ""
    min_compatibility_version: MinCompatibilityVersion = ""
    open_page: OpenPage = False


@dataclass(frozen=True, slots=True)
class ClusterReadingOptions(CommonOptions):
    """Options of every command that reads a live cluster in place of a state."""

    context: Annotated[str, option("Use this context of the kubeconfig.", "NAME")] = ""
    kubeconfig: Annotated[
        str,
        option(
            "Instead of $KUBECONFIG, else ~/.kube/config; in a pod, its service account.", "PATH"
        ),
    ] = ""
    namespace: Annotated[
        str,
        option(
            "Read this one if not all namespaces may be listed; default the context's.",
            "NAME",
            short="-n",
        ),
    ] = ""


@dataclass(frozen=True, slots=True)
class ReplayableOptions(CommonOptions):
    """What decides a run, but for its timeline, which `replay` takes as an argument."""

    state: State = None
    live: Live = False
    context: Context = ""
    kubeconfig: Kubeconfig = ""
    config: Config = None
    patch: Patches = None
    change: ChangeOption = None
    scenario: ScenarioOption = None
    no_workloads: NoWorkloads = False
    autoscaler: Autoscaler = ""
    price: PriceOption = None
    until: Until = ""
    evict_at_once: EvictAtOnce = False
    tie_break: TieBreak = "name"
    seed: Seed = None
    no_preemption: NoPreemption = False
    no_retries: NoRetries = False
    record_extenders: RecordExtenders = ""
    replay_extenders: ReplayExtenders = ""
    no_cache: NoCache = False
    plugin_timeout: PluginTimeout = 0
    namespace: Namespace = ""
    everything: All = False
    debug: Debug = False


Selector = Annotated[str, option("Show only pods with these labels.", "SELECTOR", short="-l")]
Owner = Annotated[
    str,
    option("Show only the pods of this workload.", "KIND/NAME", autocompletion=complete_workload),
]


@dataclass(frozen=True, slots=True)
class StateOptions(ReplayableOptions):
    """What every command takes that asks about a cluster state: all that a Run has."""

    timeline: Timeline = ""


@dataclass(frozen=True, slots=True)
class ShownOptions(StateOptions):
    """What a command takes that shows many pods: which of them, whatever decides."""

    selector: Selector = ""
    owner: Owner = ""
