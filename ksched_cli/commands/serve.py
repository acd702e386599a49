"""`ksched serve`: extender, page, mcp."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Annotated, Any, ClassVar

from ksched_cli.commands import runs
from ksched_cli.commands.command_line import option, positive_number
from ksched_cli.commands.options import (
    OF_RELEASE,
    SOURCE_HELP,
    Quiet,
    StateOptions,
)
from ksched_cli.commands.output import note, results, show_text, warn
from ksched_cli.commands.signals import Interruption, end_by
from ksched_cli.errors import ExitCode, MissingExtraError, UsageError

HELP = "Answer over a network."

# kube-scheduler waits for an extender for 5 s, unless its configuration says otherwise.
PLUGIN_SECONDS = 3.0
SETTLE_SECONDS = 1.0
QUESTION_SECONDS = 60.0
_POLL_SECONDS = 0.2


Listen = Annotated[str, option("Address to listen on; port 0 takes a free one.", "HOST:PORT")]
TlsCertificate = Annotated[str, option("Serve HTTPS with this certificate.", "FILE")]
TlsKey = Annotated[str, option("The certificate's private key.", "FILE")]
TokenFile = Annotated[str, option("Answer only clients that send the token in this file.", "FILE")]


@dataclass(frozen=True, slots=True)
class ListeningOptions:
    """Where a server listens."""

    listen: Listen = "127.0.0.1:8888"
    tls_certificate: TlsCertificate = ""
    tls_key: TlsKey = ""
    token_file: TokenFile = ""


@dataclass(frozen=True, slots=True)
class ServeExtenderOptions(ListeningOptions):
    """The options of `serve extender`.

    state PATH: A fixed cluster state instead of the kubeconfig's cluster.
    kubeconfig PATH: Instead of $KUBECONFIG, else ~/.kube/config; in a pod, its service account.
    context NAME: Use this context of the kubeconfig.
    namespace NAME: Namespace to read if listing all is forbidden.
    plugin_timeout SECONDS: Fail plugin calls that take longer.
    settle SECONDS: Wait at most this long for the watch to report earlier pods.
    print_config: Print the extender entry for kube-scheduler's configuration, and exit.
    debug: Print tracebacks of plugins that do not load.
    """

    TAKES: ClassVar = ("plugins", *OF_RELEASE)
    PANELS: ClassVar = {"Cluster": ("kubeconfig", "context", "namespace", "settle")}

    given: Mapping[str, Any] = field(default_factory=dict)
    config: Annotated[
        str | None,
        option(
            "KubeSchedulerConfiguration with the plugins' weights and args. "
            f"{SOURCE_HELP} Without it, --plugin runs at every point it extends.",
            "PATH",
            envvar="KSCHED_CONFIG",
        ),
    ] = None
    state: list[str] | None = None
    kubeconfig: str = ""
    context: str = ""
    namespace: Annotated[str, option(short="-n")] = ""
    plugin_timeout: Annotated[float, option(parser=positive_number("--plugin-timeout"))] = (
        PLUGIN_SECONDS
    )
    settle: Annotated[float, option(min=0)] = SETTLE_SECONDS
    print_config: bool = False
    quiet: Quiet = False
    debug: bool = False


def extender(options: ServeExtenderOptions) -> ExitCode:
    """Python plugins as an HTTP extender of a real kube-scheduler.

    Filter, Score and their Pre-points run about the nodes that kube-scheduler sends, with the
    cluster as list and watch show it. Nothing is bound and nothing is written. --print-config
    prints the extender's part of a KubeSchedulerConfiguration. Ends with Ctrl-C or SIGTERM; exit
    code 2 when the cluster does not answer at first, or refuses the credentials.

    Examples:
        ksched serve extender --plugin packing.py
        ksched serve extender --plugin packing.py --print-config
    """
    from ksched_cli.run.open import Opener
    from ksched_cli.run.run import KubeconfigCluster
    from ksched_cli.serve.listening import Listening
    from ksched_cli.serve.plugins import fragment, served

    listening = Listening.of(*_listening(options))
    live = KubeconfigCluster(options.kubeconfig, options.context, options.namespace)
    if options.state and live != KubeconfigCluster():
        raise UsageError("--state cannot be combined with --kubeconfig, --context or -n")
    run = runs.run_of(
        options,
        states=tuple(options.state or ()),
        live=None if options.state or options.print_config else live,
        workloads=False,
        configuration=options.config or "",
        plugin_timeout=options.plugin_timeout,
    )
    if options.print_config:
        opener = Opener((run,), warn=warn)
        configuration = served(opener.configuration(run), opener.registry(run))
        show_text(fragment(configuration, listening, options.token_file))
        return ExitCode.YES
    _require_extra("serve extender")
    from ksched_cli.serve.extender import ExtenderServer

    server = ExtenderServer.of(run, listening, warn, note, options.settle)
    interruption = Interruption()
    with interruption.awaited():
        server.run(lambda: bool(interruption.number))
    return ExitCode.YES


@dataclass(frozen=True, slots=True)
class PageOptions(StateOptions):
    """The options of `serve page`."""

    WITHOUT: ClassVar = ("output", "no_pager", "everything")

    listen: Listen = "127.0.0.1:0"
    tls_certificate: TlsCertificate = ""
    tls_key: TlsKey = ""
    token_file: TokenFile = ""


def page(options: PageOptions) -> ExitCode:
    """A workbench in the browser: edit a cluster and see what changes.

    Objects, changes in kubectl's words, weights, the configuration with validate's findings and the
    Kubernetes version are edited on the left; schedule, compare, explain and fix answer on the
    right. Nothing is changed in a cluster, no file is written, and no extender is called. The
    address that is printed has a token. Ends with Ctrl-C or SIGTERM.

    Examples:
        ksched serve page --state cluster.json --open
        ksched serve page --live --config scheduler.yaml
    """
    if options.given["record_extenders"]:
        raise UsageError("--record-extenders has no effect here: no extender is called")
    _require_extra("serve page")
    import webbrowser
    from secrets import token_urlsafe

    from msgspec.structs import replace

    from ksched_cli.run.inputs import Inputs
    from ksched_cli.serve.listening import Listening
    from ksched_cli.serve.page_server import PageServer
    from ksched_cli.serve.workbench_runs import Workbench

    listening = Listening.of(*_listening(options))
    run = runs.run_of(options)
    run.check()
    run = replace(
        run,
        extenders=bool(run.replay_extenders),
        plugin_timeout=run.plugin_timeout or PLUGIN_SECONDS,
    )
    inputs = Inputs(keeps_states=True)
    workbench = Workbench(run, runs.opener(run, inputs=inputs))
    token = listening.token or token_urlsafe()
    server = PageServer(workbench, listening, token, note, warn)
    interruption = Interruption()
    with interruption.awaited():
        server.run(
            lambda: bool(interruption.number),
            webbrowser.open if options.open_page else lambda url: None,
        )
    return ExitCode.YES


@dataclass(frozen=True, slots=True)
class McpOptions(ListeningOptions):
    """The options of `serve mcp`.

    http: Serve HTTP at /mcp on --listen, not standard input and output.
    timeout SECONDS: End a question that takes longer.
    """

    TAKES: ClassVar = (
        *("plugins", "configuration", "states", "live", "kubernetes_version", "feature_gates"),
    )

    given: Mapping[str, Any] = field(default_factory=dict)
    http: bool = False
    timeout: Annotated[float, option(parser=positive_number("--timeout"))] = QUESTION_SECONDS
    quiet: Quiet = False


def mcp(options: McpOptions) -> ExitCode:
    """The questions as read-only tools for agents, over MCP.

    Tools are diagnose, read, schedule, status, explain, fix, preempt, capacity, fits, shrink,
    compare, drain, drain_each, drift, validate and config_show; prompts ask why a pod is pending
    and whether a drain is safe. The state is read anew for each question. Tools change nothing,
    call no extenders and read no files but those that are named here.

    Examples:
        ksched serve mcp --state cluster.json
        ksched serve mcp --live --http
    """
    _require_extra("serve mcp")
    import asyncio

    from ksched_cli.serve.http import HttpServer
    from ksched_cli.serve.listening import Listening
    from ksched_cli.serve.mcp import Questions, http_app, serve_stdio

    run = runs.run_of(options, needs_state=False, extenders=False)
    if "-" in (*run.states, run.configuration):
        raise UsageError(
            "--state - cannot be used: each question reads the state again; name a file"
        )
    if not options.http and _listening(options) != _listening(McpOptions()):
        raise UsageError("--listen, --tls-certificate, --tls-key and --token-file require --http")
    questions = Questions(run, options.timeout)
    if not options.http:
        with redirect_stdout(results()):
            asyncio.run(serve_stdio(questions, end_by))
        return ExitCode.YES
    listening = Listening.of(*_listening(options))
    server, interruption = (
        HttpServer(http_app(questions, listening), listening, warn),
        Interruption(),
    )
    with interruption.awaited():
        server.start()
        note("serving agents until Ctrl-C:")
        note(f"{server.url}/mcp")
        while not interruption.number:
            time.sleep(_POLL_SECONDS)
        server.stop()
    questions.kill()
    return ExitCode.YES


def _listening(options: ListeningOptions | PageOptions) -> tuple[str, ...]:
    return options.listen, options.tls_certificate, options.tls_key, options.token_file


def _require_extra(purpose: str) -> None:
    """Check that what `serve` imports is installed. Raises MissingExtraError."""
    if not all(map(find_spec, ("mcp", "prometheus_client", "starlette", "uvicorn"))):
        raise MissingExtraError(purpose, "serve")
