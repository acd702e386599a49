"""The options and arguments that mean the same in every command, each declared once.

A command takes `CommonOptions`, or `StateOptions` where it reads a cluster state. The
options that describe a Run are made from the fields of the Run (`TAKES` names them); their values
are in `given`. A field added to one of the classes is an option of all their commands: the class's
docstring describes it, as `field METAVAR: help`; `option` in `Annotated` has what else typer must
know of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ksched_cli.commands.command_line import (
    CONFIGURATION,
    OUTPUT,
    option,
    size_in_bytes,
    timings_target,
    whole_number,
)
from ksched_cli.commands.completion import (
    complete_form,
    complete_pod,
    complete_workload,
)
from ksched_cli.commands.forms import parse_form
from ksched_cli.kube.streams import MAX_SIZE
from ksched_cli.report.forms import Form

if TYPE_CHECKING:
    from ksched_cli.analysis.question import PodChoice

POD_HELP = "name, namespace/name or pod/name; or a workload, such as deployment/web"
SOURCE_HELP = "A file, - for standard input, or FILE#NAME if a file has several."
# Fields of a Run that every command takes.
OF_RELEASE = ("kubernetes_version", "feature_gates", "min_compatibility_version")
OF_CONFIGURATION = ("plugins", "extenders", *OF_RELEASE)
EVERY_FIELD = ("*",)

Debug = Annotated[bool, option(panel=OUTPUT)]
Quiet = Annotated[bool, option(short="-q", panel=OUTPUT)]
All = Annotated[bool, option(name="--all", panel=OUTPUT)]
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

    no_plugins: Refuse plugins named only by a file; allow installed ones.
    output FORM: table, json, yaml, html, markdown, latex, csv or parquet; some have wide, name
        and others.
    quiet: Print results and errors only, no warnings and no progress.
    verbose: Print all warnings, also those about other pods and kinds.
    no_pager: Do not send long tables through $PAGER.
    open_page: Open the result as a page in the browser.
    max_state_size SIZE: Refuse a file that is larger, unpacked; default 16Gi.
    everything: Show whole lists and every node, not groups.
    debug: Print the plugins called for each pod, and tracebacks.
    """

    # The fields of a Run whose options the command takes, without those that it leaves out, and
    # what their help is instead.
    TAKES: ClassVar[tuple[str, ...]] = OF_CONFIGURATION
    LEAVES: ClassVar[tuple[str, ...]] = ()
    HELP: ClassVar[Mapping[str, str]] = {}

    # The values of those options, by parameter (run/axes.py); no option itself.
    given: Mapping[str, Any] = field(default_factory=dict)
    no_plugins: Annotated[bool, option(panel=CONFIGURATION)] = False
    output: Annotated[
        Form,
        option(
            short="-o",
            parser=str,
            callback=parse_form,
            autocompletion=complete_form,
            show_default="table",
            panel=OUTPUT,
        ),
    ] = Form.TABLE
    quiet: Quiet = False
    verbose: Annotated[bool, option(short="-v", panel=OUTPUT)] = False
    no_pager: Annotated[bool, option(panel=OUTPUT)] = False
    open_page: Annotated[bool, option(name="--open", panel=OUTPUT)] = False
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

    TAKES: ClassVar = (*OF_CONFIGURATION, "allow_empty_state")

    context: str = ""
    kubeconfig: str = ""
    namespace: Annotated[str, option(short="-n")] = ""


@dataclass(frozen=True, slots=True)
class StateOptions(CommonOptions):
    """What every command takes that asks about a cluster state: all that a Run has.

    timings table|FILE: How often and how long plugins were called; a .json gets OTLP spans.
    """

    TAKES: ClassVar = EVERY_FIELD

    everything: All = False
    debug: Debug = False
    timings: Annotated[str, option(parser=timings_target, panel=OUTPUT)] = ""


@dataclass(frozen=True, slots=True)
class ShownOptions(StateOptions):
    """What a command takes that shows many pods: which of them, whatever decides.

    selector SELECTOR: Show only pods with these labels.
    owner KIND/NAME: Show only the pods of this workload.
    """

    selector: Annotated[str, option(short="-l")] = ""
    owner: Annotated[str, option(autocompletion=complete_workload)] = ""

    @property
    def shows(self) -> PodChoice:
        """The pods to show."""
        from ksched_cli.analysis.question import PodChoice

        return PodChoice(self.given["namespace"], self.selector, self.owner)
