"""The options and arguments that mean the same in every command, each declared once.

A command takes `CommonOptions`, or `StateOptions` where it reads a cluster state; a field added to
one of these is an option of all their commands.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated

import typer

from ksched_cli.commands.command_line import (
    CONFIGURATION,
    DECISIONS,
    EXTENDERS,
    OUTPUT,
    STATE,
    TIME,
    option,
    positive_number,
    size_in_bytes,
    whole_number,
)
from ksched_cli.commands.completion import (
    complete_change,
    complete_form,
    complete_namespace,
    complete_pod,
    complete_workload,
)
from ksched_cli.commands.forms import check_form, parse_form
from ksched_cli.kube.streams import MAX_SIZE
from ksched_cli.kube.versions import MINORS
from ksched_cli.report.forms import Form

POD_HELP = "name, namespace/name or pod/name; or a workload, such as deployment/web"

State = Annotated[
    list[str] | None,
    option(
        "A file, a folder or - (standard input); repeatable. Default: cluster.yaml or .json.",
        "PATH",
        panel=STATE,
    ),
]
Live = Annotated[bool, option("Read the cluster that your kubeconfig names.", panel=STATE)]
Context = Annotated[
    str,
    option(
        "With --live: the context of the kubeconfig; default the current one.", "NAME", panel=STATE
    ),
]
Kubeconfig = Annotated[
    str, option("With --live: default $KUBECONFIG, else ~/.kube/config.", "PATH", panel=STATE)
]
RedactKey = Annotated[
    str,
    option("Save old and new names to this file; reuse it if it exists.", "FILE"),
]
SOURCE_HELP = "A file, - for standard input, or FILE#NAME if a file has several."
Config = Annotated[
    str | None,
    option(
        "A file, - or FILE#NAME; without it, the default configuration.",
        "PATH",
        envvar="KSCHED_CONFIG",
        panel=CONFIGURATION,
    ),
]
NoWorkloads = Annotated[
    bool, option("Do not create the missing pods of the state's workloads.", panel=STATE)
]
Plugin = Annotated[
    list[str] | None,
    option(
        "Load a plugin that is not installed; repeatable.",
        "MODULE:NAME|FILE.py",
        panel=CONFIGURATION,
    ),
]
NoPlugins = Annotated[
    bool, option("Refuse plugins named only by a file; allow installed ones.", panel=CONFIGURATION)
]
AllowPlugins = Annotated[
    list[str] | None,
    option(
        "Accept plugin names of another kube-scheduler build; repeatable.",
        "NAME[=POINT+POINT],...|FILE",
    ),
]
Debug = Annotated[
    bool, option("Print the plugins called for each pod, and tracebacks.", panel=OUTPUT)
]
PluginTimeout = Annotated[
    float,
    option(
        "Fail plugin calls that take longer; in-tree plugins have no limit.",
        "SECONDS",
        parser=positive_number("--plugin-timeout"),
        show_default=False,
        panel=CONFIGURATION,
    ),
]
Output = Annotated[
    Form,
    option(
        "table, json, yaml or html; some commands have markdown, wide, name and others.",
        "FORM",
        short="-o",
        parser=parse_form,
        callback=check_form,
        autocompletion=complete_form,
        show_default="table",
        panel=OUTPUT,
    ),
]
Quiet = Annotated[
    bool,
    option("Print results and errors only, no warnings and no progress.", short="-q", panel=OUTPUT),
]
NoPager = Annotated[bool, option("Do not send long tables through $PAGER.", panel=OUTPUT)]
KubernetesVersion = Annotated[
    str,
    option(
        "Whose rules apply, as 1.36 or 1.36.1; default the cluster's own release.",
        "|".join(MINORS),
        envvar="KSCHED_KUBERNETES_VERSION",
        show_envvar=False,
        panel=CONFIGURATION,
    ),
]
FeatureGates = Annotated[
    str,
    option(
        "Set feature gates, like kube-scheduler's option.",
        "NAME=true|false,...",
        panel=CONFIGURATION,
    ),
]
MinCompatibilityVersion = Annotated[
    str,
    option(
        "Use the default gates of this minor, like kube-scheduler's option.",
        "MINOR",
        panel=CONFIGURATION,
    ),
]
Trace = Annotated[
    bool,
    option("With -o json or yaml: add all attempts; --trace POD: those of this pod."),
]
# An option takes a value or none, not either; so the pods after --trace are arguments.
TracedPods = Annotated[
    list[str] | None,
    typer.Argument(metavar="--trace POD", hidden=True, autocompletion=complete_pod),
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
        "Apply this pod or workload first, and ask about it; - is standard input.",
        "FILE",
        short="-f",
        name="--filename",
    ),
]
Alone = Annotated[bool, option("Ignore the other pending pods.")]
All = Annotated[
    bool, option("Show whole lists and every node, not groups.", name="--all", panel=OUTPUT)
]
NoExtenders = Annotated[bool, option("Decide without calling the extenders.", panel=EXTENDERS)]
ExtenderBind = Annotated[
    bool, option("Send bind calls to extenders; on a live cluster they bind pods.", panel=EXTENDERS)
]
RecordExtenders = Annotated[
    str,
    option(
        "Save every request to extenders and its answer; .gz is gzipped.", "FILE", panel=EXTENDERS
    ),
]
ReplayExtenders = Annotated[
    str,
    option(
        "Take the extenders' answers from this file, without a network.", "FILE", panel=EXTENDERS
    ),
]


Timeline = Annotated[
    str, option("Replay this timeline first; ask about the cluster at its end.", "FILE", panel=TIME)
]
Until = Annotated[
    str, option("End the timeline here: 6h, a number of seconds, or a time.", "TIME", panel=TIME)
]


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
    open_page: Annotated[
        bool, option("Open the result as a page in the browser.", name="--open", panel=OUTPUT)
    ] = False
    max_state_size: Annotated[
        int,
        option(
            "Refuse a file that is larger, unpacked; default 16Gi.",
            "SIZE",
            parser=size_in_bytes("--max-state-size"),
            show_default=False,
            panel=CONFIGURATION,
        ),
    ] = MAX_SIZE


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
            "Namespace to read if listing all is forbidden; default the context's.",
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
    patch: Annotated[
        list[str] | None,
        option("Set a value in the configuration; repeatable.", "PATH=VALUE", panel=CONFIGURATION),
    ] = None
    change: Annotated[
        list[str] | None,
        option(
            "Change the state first, in kubectl's words: 'drain node-3'; repeatable.",
            "TEXT",
            autocompletion=complete_change,
            panel=STATE,
        ),
    ] = None
    scenario: Annotated[
        list[str] | None,
        option("Apply a file of changes, before --change; repeatable.", "FILE", panel=STATE),
    ] = None
    no_workloads: NoWorkloads = False
    autoscaler: Annotated[
        str, option("Autoscaler file that defines the node groups of a replay.", "FILE", panel=TIME)
    ] = ""
    price: Annotated[
        list[str] | None,
        option(
            "Hourly price of nodes by name, group or label, or a file of prices; repeatable.",
            "NODE=N|LABEL=VALUE=N|FILE",
            name="--price",
            panel=TIME,
        ),
    ] = None
    until: Until = ""
    evict_at_once: Annotated[
        bool,
        option("In a replay, remove victims at once, as schedule does.", panel=TIME),
    ] = False
    tie_break: Annotated[
        str,
        option(
            "Choose among equally good nodes by name, or at random.", "name|random", panel=DECISIONS
        ),
    ] = "name"
    seed: Annotated[
        int | None,
        option(
            "Repeat the random choices of this seed.",
            "N",
            parser=whole_number("--seed"),
            panel=DECISIONS,
        ),
    ] = None
    no_preemption: Annotated[bool, option("Evict no pod.", panel=DECISIONS)] = False
    no_retries: Annotated[bool, option("Try every pod once.", panel=DECISIONS)] = False
    record_extenders: RecordExtenders = ""
    replay_extenders: ReplayExtenders = ""
    no_cache: Annotated[bool, option("Do not cache plugin results.", panel=CONFIGURATION)] = False
    plugin_timeout: PluginTimeout = 0
    namespace: Annotated[
        str,
        option(
            "The namespace of POD, of names in changes and of the pods to show.",
            "NAME",
            short="-n",
            autocompletion=complete_namespace,
            panel=STATE,
        ),
    ] = ""
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
