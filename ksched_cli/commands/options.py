"""The options and arguments that mean the same in every command, each declared once.

A command takes `CommonOptions`, or `StateOptions` where it reads a cluster state; a field added to
one of these is an option of all their commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.command_line import positive_number, whole_number
from ksched_cli.commands.completion import complete_pod
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
    typer.Option(
        "--state",
        metavar="PATH",
        help="Cluster state: a file, a folder with its sub-folders, or - for standard input; "
        "gzipped or not; repeatable. Without it: $KSCHED_STATE, else cluster.yaml, cluster.yml or "
        "cluster.json (or .gz) here.",
    ),
    Before("plugin"),
]
Live = Annotated[
    bool,
    typer.Option("--live", help="The cluster that your kubeconfig names, as it is now."),
    Before("plugin"),
]
Context = Annotated[
    str,
    typer.Option(
        "--context",
        metavar="NAME",
        help="With --live: a context of the kubeconfig, not its current one.",
        show_default=False,
    ),
    Before("plugin"),
]
Kubeconfig = Annotated[
    str,
    typer.Option(
        "--kubeconfig",
        metavar="PATH",
        help="With --live: instead of $KUBECONFIG, else ~/.kube/config.",
        show_default=False,
    ),
    Before("plugin"),
]
SOURCE_HELP = "A file, - for standard input, or FILE#NAME where a file holds several."
Config = Annotated[
    str | None,
    typer.Option(
        "--config",
        metavar="PATH",
        envvar="KSCHED_CONFIG",
        help=f"KubeSchedulerConfiguration. {SOURCE_HELP} Without it, the default configuration.",
    ),
    Before("plugin"),
]
ChangeOption = Annotated[
    list[str] | None,
    typer.Option(
        "--change",
        metavar="TEXT",
        help="Something to do to the state first, in kubectl's words, as 'drain node-3'; "
        "repeatable.",
    ),
    Before("plugin"),
]
ScenarioOption = Annotated[
    list[str] | None,
    typer.Option(
        "--scenario",
        metavar="FILE",
        help="A file of changes, done before those of --change; repeatable.",
    ),
    Before("plugin"),
]
NoWorkloads = Annotated[
    bool,
    typer.Option(
        "--no-workloads",
        help="Make no pods of workloads that the state holds or a change applies.",
    ),
    Before("plugin"),
]
Plugin = Annotated[
    list[str] | None,
    typer.Option(
        "--plugin",
        metavar="MODULE:NAME|FILE.py",
        help="A plugin that is not installed; repeatable. Without a configuration it joins the "
        "default profile at every point it extends.",
    ),
]
NoPlugins = Annotated[
    bool,
    typer.Option(
        "--no-plugins",
        help="Refuse plugins that a file names and --plugin does not. Installed ones stay.",
    ),
]
AllowPlugins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-plugins",
        metavar="NAME[=POINT+POINT],...|FILE",
        help="Plugins of another build, taken as there by their names, without their code; "
        "repeatable.",
    ),
]
Debug = Annotated[
    bool, typer.Option("--debug", help="Print which plugins were called per pod, and tracebacks.")
]
PluginTimeout = Annotated[
    float,
    typer.Option(
        "--plugin-timeout",
        metavar="SECONDS",
        parser=positive_number("--plugin-timeout"),
        help="A call of a plugin that takes longer fails; not of those that ksched brings.",
        show_default=False,
    ),
]
Output = Annotated[
    Form,
    typer.Option(
        "-o",
        "--output",
        metavar="FORM",
        parser=parse_form,
        callback=check_form,
        help="table, json, yaml, or html: a page that stands alone; wide or name where --help of a "
        "command says so.",
        show_default="table",
    ),
]
OpenPage = Annotated[
    bool, typer.Option("--open", help="Show the result as a page in the browser."), Before("quiet")
]
Quiet = Annotated[
    bool, typer.Option("-q", "--quiet", help="No warnings and no progress: results and errors.")
]
NoPager = Annotated[
    bool,
    typer.Option("--no-pager", help="On a terminal: long tables do not go through $PAGER."),
]
Namespace = Annotated[
    str,
    typer.Option(
        "-n",
        "--namespace",
        metavar="NAME",
        help="The namespace of POD, of names in changes, and of the pods to show.",
        show_default=False,
    ),
]
KubernetesVersion = Annotated[
    str,
    typer.Option(
        "--kubernetes-version",
        metavar="|".join(MINORS),
        envvar="KSCHED_KUBERNETES_VERSION",
        show_envvar=False,
        help="The minor whose rules apply. Default: $KSCHED_KUBERNETES_VERSION, else that of the "
        "nodes' newest kubelet, else the newest.",
        show_default=False,
    ),
]
FeatureGates = Annotated[
    str,
    typer.Option(
        "--feature-gates",
        metavar="NAME=true|false,...",
        help="As kube-scheduler's.",
        show_default=False,
    ),
]
Trace = Annotated[
    bool,
    typer.Option(
        "--trace",
        help="With -o json or yaml: also every attempt in detail; --trace POD, repeatable: those "
        "of this pod only.",
    ),
]
# An option takes a value or none, not either; so the pods after --trace are arguments.
TracedPods = Annotated[
    list[str] | None,
    typer.Argument(metavar="--trace POD", hidden=True, autocompletion=complete_pod),
]
TieBreak = Annotated[
    str,
    typer.Option(
        "--tie-break",
        metavar="name|random",
        help="Among equally good nodes: the first by name, or a draw.",
    ),
]
PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help=POD_HELP, autocompletion=complete_pod),
]
OptionalPodName = Annotated[
    str,
    typer.Argument(metavar="POD", help=POD_HELP, autocompletion=complete_pod),
]
Alone = Annotated[
    bool,
    typer.Option(
        "--alone", help="Leave the other pending pods out, rather than place each in its turn."
    ),
]
All = Annotated[
    bool, typer.Option("--all", help="Whole lists and every node, not groups and beginnings.")
]
Seed = Annotated[
    int | None,
    typer.Option(
        "--seed", metavar="N", parser=whole_number("--seed"), help="Makes the draws repeatable."
    ),
]
NoExtenders = Annotated[
    bool, typer.Option("--no-extenders", help="Decide without calling the extenders.")
]
ExtenderBind = Annotated[
    bool,
    typer.Option(
        "--extender-bind",
        help="Really send the bind calls of extenders: on a live cluster they bind pods. "
        "Without it they are only shown.",
    ),
    Before("record_extenders"),
]
RecordExtenders = Annotated[
    str,
    typer.Option(
        "--record-extenders",
        metavar="FILE",
        help="Keep every request to extenders and its answer in FILE (.gz: packed).",
        show_default=False,
    ),
]
ReplayExtenders = Annotated[
    str,
    typer.Option(
        "--replay-extenders",
        metavar="FILE",
        help="Take the extenders' answers from FILE, and call nobody.",
        show_default=False,
    ),
]


Patches = Annotated[
    list[str] | None,
    typer.Option(
        "--patch",
        metavar="PATH=VALUE",
        help="Set a value in the configuration, as "
        "'profiles[0].plugins.multiPoint.enabled[NodeResourcesFit].weight=3'; repeatable.",
    ),
    Before("plugin"),
]
Timeline = Annotated[
    str,
    typer.Option(
        "--timeline",
        metavar="FILE",
        help="Replay this timeline first, and ask about the cluster at its end.",
        show_default=False,
    ),
]
Until = Annotated[
    str,
    typer.Option(
        "--until",
        metavar="TIME",
        help="End the timeline here: 6h, a number of seconds, or a time.",
        show_default=False,
    ),
]
EvictAtOnce = Annotated[
    bool,
    typer.Option(
        "--evict-at-once",
        help="In a replay, victims leave at once and the preemptor is tried again, as in schedule.",
    ),
]
Autoscaler = Annotated[
    str,
    typer.Option(
        "--autoscaler",
        metavar="FILE",
        help="Autoscaler file that defines the node groups of a replay.",
        show_default=False,
    ),
]
NoPreemption = Annotated[
    bool, typer.Option("--no-preemption", help="Evict no pod; only say which could be.")
]
NoRetries = Annotated[
    bool, typer.Option("--no-retries", help="Try every pod once, whatever happens after it.")
]
NoCache = Annotated[bool, typer.Option("--no-cache", help="Do not cache plugin results.")]


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
    open_page: OpenPage = False


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


Selector = Annotated[
    str,
    typer.Option("-l", "--selector", metavar="SELECTOR", help="Show only pods with these labels."),
]
Owner = Annotated[
    str,
    typer.Option("--owner", metavar="KIND/NAME", help="Show only the pods of this workload."),
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
