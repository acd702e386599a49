"""The options and arguments that mean the same in every command, each declared once.

A command takes `CommonOptions`, or `StateOptions` where it reads a cluster state; a field added to
one of these is an option of all their commands. The class's docstring describes each field, as
`field METAVAR: help`; `option` in `Annotated` has what else typer must know of it.
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
SOURCE_HELP = "A file, - for standard input, or FILE#NAME if a file has several."

# Options of several classes. StateOptions describes those that it has.
State = Annotated[list[str] | None, option(panel=STATE)]
Live = Annotated[bool, option(panel=STATE)]
OfKubeconfig = Annotated[str, option(panel=STATE)]
Config = Annotated[str | None, option(envvar="KSCHED_CONFIG", panel=CONFIGURATION)]
NoWorkloads = Annotated[bool, option(panel=STATE)]
Plugin = Annotated[list[str] | None, option(panel=CONFIGURATION)]
Debug = Annotated[bool, option(panel=OUTPUT)]
PluginTimeout = Annotated[
    float,
    option(parser=positive_number("--plugin-timeout"), show_default=False, panel=CONFIGURATION),
]
Quiet = Annotated[bool, option(short="-q", panel=OUTPUT)]
KubernetesVersion = Annotated[
    str,
    option(
        metavar="|".join(MINORS),
        envvar="KSCHED_KUBERNETES_VERSION",
        show_envvar=False,
        panel=CONFIGURATION,
    ),
]
OfRelease = Annotated[str, option(panel=CONFIGURATION)]
All = Annotated[bool, option(name="--all", panel=OUTPUT)]
ExtendersFile = Annotated[str, option(panel=EXTENDERS)]
RedactKey = Annotated[
    str, option("Save old and new names to this file; reuse it if it exists.", "FILE")
]
AllowPlugins = Annotated[
    list[str] | None,
    option(
        "Accept plugin names of another kube-scheduler build; repeatable.",
        "NAME[=POINT+POINT],...|FILE",
    ),
]
Seeds = Annotated[
    int | None,
    option(
        "Draw ties N times in each run; report means with 95 % intervals.",
        "N",
        parser=whole_number("--seeds", 2, 1_000),
    ),
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
PodName = Annotated[
    str,
    typer.Argument(metavar="POD", help=POD_HELP, autocompletion=complete_pod),
]


@dataclass(frozen=True, slots=True)
class CommonOptions:
    """What every command takes.

    plugin MODULE:NAME|FILE.py: Load a plugin that is not installed; repeatable.
    no_plugins: Refuse plugins named only by a file; allow installed ones.
    no_extenders: Decide without calling the extenders.
    output FORM: table, json, yaml or html; some commands have markdown, wide, name and others.
    quiet: Print results and errors only, no warnings and no progress.
    no_pager: Do not send long tables through $PAGER.
    kubernetes_version: Whose rules apply, as 1.36 or 1.36.1; default the cluster's own release.
    feature_gates NAME=true|false,...: Set feature gates, like kube-scheduler's option.
    min_compatibility_version MINOR: Use the default gates of this minor, like kube-scheduler's
        option.
    open_page: Open the result as a page in the browser.
    allow_empty_state: Accept a state without nodes; otherwise it is an error.
    max_state_size SIZE: Refuse a file that is larger, unpacked; default 16Gi.
    """

    plugin: Plugin = None
    no_plugins: Annotated[bool, option(panel=CONFIGURATION)] = False
    no_extenders: Annotated[bool, option(panel=EXTENDERS)] = False
    output: Annotated[
        Form,
        option(
            short="-o",
            parser=parse_form,
            callback=check_form,
            autocompletion=complete_form,
            show_default="table",
            panel=OUTPUT,
        ),
    ] = Form.TABLE
    quiet: Quiet = False
    no_pager: Annotated[bool, option(panel=OUTPUT)] = False
    kubernetes_version: KubernetesVersion = ""
    feature_gates: OfRelease = ""
    min_compatibility_version: OfRelease = ""
    open_page: Annotated[bool, option(name="--open", panel=OUTPUT)] = False
    allow_empty_state: Annotated[bool, option(panel=STATE)] = False
    max_state_size: Annotated[
        int,
        option(parser=size_in_bytes("--max-state-size"), show_default=False, panel=CONFIGURATION),
    ] = MAX_SIZE


@dataclass(frozen=True, slots=True)
class ClusterReadingOptions(CommonOptions):
    """Options of every command that reads a live cluster in place of a state.

    context NAME: Use this context of the kubeconfig.
    kubeconfig PATH: Instead of $KUBECONFIG, else ~/.kube/config; in a pod, its service account.
    namespace NAME: Namespace to read if listing all is forbidden; default the context's.
    """

    context: str = ""
    kubeconfig: str = ""
    namespace: Annotated[str, option(short="-n")] = ""


@dataclass(frozen=True, slots=True)
class ReplayableOptions(CommonOptions):
    """What decides a run, but for its timeline, which `replay` takes as an argument.

    state PATH: A file, a folder or - (standard input); repeatable. Default: cluster.yaml or .json.
    live: Read the cluster that your kubeconfig names.
    context NAME: With --live: the context of the kubeconfig; default the current one.
    kubeconfig PATH: With --live: default $KUBECONFIG, else ~/.kube/config.
    config PATH: A file, - or FILE#NAME; without it, the default configuration.
    patch PATH=VALUE: Set a value in the configuration; repeatable.
    change TEXT: Change the state first, in kubectl's words: 'drain node-3'; repeatable.
    scenario FILE: Apply a file of changes, before --change; repeatable.
    no_workloads: Do not create the missing pods of the state's workloads.
    autoscaler FILE: Autoscaler file that defines the node groups of a replay.
    price NODE=N|LABEL=VALUE=N|FILE: Hourly price of nodes by name, group or label, or a file of
        prices; repeatable.
    until TIME: End the timeline here: 6h, a number of seconds, or a time.
    evict_at_once: In a replay, remove victims at once, as schedule does.
    tie_break name|random: Choose among equally good nodes by name, or at random.
    seed N: Repeat the random choices of this seed.
    no_preemption: Evict no pod.
    no_retries: Try every pod once.
    record_extenders FILE: Save every request to extenders and its answer; .gz is gzipped.
    replay_extenders FILE: Take the extenders' answers from this file, without a network.
    no_cache: Do not cache plugin results.
    plugin_timeout SECONDS: Fail plugin calls that take longer; in-tree plugins have no limit.
    namespace NAME: The namespace of POD, of names in changes and of the pods to show.
    everything: Show whole lists and every node, not groups.
    debug: Print the plugins called for each pod, and tracebacks.
    """

    state: State = None
    live: Live = False
    context: OfKubeconfig = ""
    kubeconfig: OfKubeconfig = ""
    config: Config = None
    patch: Annotated[list[str] | None, option(panel=CONFIGURATION)] = None
    change: Annotated[list[str] | None, option(autocompletion=complete_change, panel=STATE)] = None
    scenario: Annotated[list[str] | None, option(panel=STATE)] = None
    no_workloads: NoWorkloads = False
    autoscaler: Annotated[str, option(panel=TIME)] = ""
    price: Annotated[list[str] | None, option(panel=TIME)] = None
    until: Annotated[str, option(panel=TIME)] = ""
    evict_at_once: Annotated[bool, option(panel=TIME)] = False
    tie_break: Annotated[str, option(panel=DECISIONS)] = "name"
    seed: Annotated[int | None, option(parser=whole_number("--seed"), panel=DECISIONS)] = None
    no_preemption: Annotated[bool, option(panel=DECISIONS)] = False
    no_retries: Annotated[bool, option(panel=DECISIONS)] = False
    record_extenders: ExtendersFile = ""
    replay_extenders: ExtendersFile = ""
    no_cache: Annotated[bool, option(panel=CONFIGURATION)] = False
    plugin_timeout: PluginTimeout = 0
    namespace: Annotated[
        str, option(short="-n", autocompletion=complete_namespace, panel=STATE)
    ] = ""
    everything: All = False
    debug: Debug = False


@dataclass(frozen=True, slots=True)
class StateOptions(ReplayableOptions):
    """What every command takes that asks about a cluster state: all that a Run has.

    timeline FILE: Replay this timeline first; ask about the cluster at its end.
    """

    timeline: Annotated[str, option(panel=TIME)] = ""


@dataclass(frozen=True, slots=True)
class ShownOptions(StateOptions):
    """What a command takes that shows many pods: which of them, whatever decides.

    selector SELECTOR: Show only pods with these labels.
    owner KIND/NAME: Show only the pods of this workload.
    """

    selector: Annotated[str, option(short="-l")] = ""
    owner: Annotated[str, option(autocompletion=complete_workload)] = ""
