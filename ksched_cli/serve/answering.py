"""The process that answers one question of a client: it reads a Call from standard input, and
prints the Reply's JSON, or an error.

    python -m ksched_cli.serve.answering < call.json
"""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager, redirect_stdout
from time import monotonic
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs

from ksched_cli.analysis.question import Observer, OnProgress, ask
from ksched_cli.analysis.search import Search
from ksched_cli.answers import document_of
from ksched_cli.errors import KschedError, UsageError, is_of_decisions
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import TERMINAL, Limit
from ksched_cli.run.inputs import Inputs
from ksched_cli.serve.tools import (
    BY_NAME,
    GIVEN_CONFIGURATION,
    MAX_ADDED,
    PROGRESS,
    Progress,
    ToolCall,
    ToolReply,
    question_of,
)

if TYPE_CHECKING:
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.run.run import KubeconfigCluster

FAILED = 1
# Seconds between two lines of progress.
PROGRESS_SECONDS = 1.0
# What a client reads of an answer is what the command prints, so wide.
TEXT = Limit(120, TERMINAL.rows)


class Server(Observer):
    """Reads live clusters, and prints how far a question is on standard error."""

    def __init__(self) -> None:
        self._printed = 0.0
        self.aside: set[str] = set()

    def set_aside(self, lines: Collection[str]) -> None:
        self.aside.update(lines)

    @contextmanager
    def progress(self, noun: str) -> Iterator[OnProgress | None]:
        yield lambda done, total: self._print(done, total, noun)

    @contextmanager
    def searching(self, noun: str, search: Search) -> Iterator[None]:
        search.on_step = lambda done, total, best: self._print(done, total, best or noun)
        yield

    def _print(self, done: int, total: int, noun: str) -> None:
        now = monotonic()
        if now - self._printed >= PROGRESS_SECONDS:
            self._printed = now
            line = msgspec.json.encode(Progress(done, total, noun)).decode()
            print(f"{PROGRESS}{line}", file=sys.stderr, flush=True)

    def read_live(self, cluster: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
        from ksched_cli.live.client import connect
        from ksched_cli.live.snapshot import ClusterReader, live_state, whole_object

        server = connect(cluster.kubeconfig, cluster.context)
        reader = ClusterReader(
            server, reads=kinds, namespace=cluster.namespace, convert=whole_object
        )
        return live_state(reader, kinds, server.url)


def answered(call: ToolCall) -> ToolReply:
    """Answer the call of a tool. Raises KschedError, also where the answer is not of the tool's
    kind."""
    tool = BY_NAME[call.tool]
    inputs = Inputs(keeps_states=len(call.runs) > 1, most_added=MAX_ADDED)
    if call.configuration:
        inputs.give_configuration(GIVEN_CONFIGURATION, call.configuration.encode())
    runs = [*call.runs]
    if tool.reads_state:
        from ksched_cli.cluster.loading.load import default_state_path

        # A Run that names no state has the default one.
        runs = [
            run if run.states or run.live else structs.replace(run, states=(default_state_path(),))
            for run in runs
        ]
    server = Server()
    answer = ask(question_of(tool, call.arguments), *runs, observer=server, inputs=inputs)
    if answer.kind != tool.kind:
        raise UsageError(f"{tool.name} does not support this; name a pod or a workload")
    warnings = (f"warning: {line}" for line in answer.warnings if line not in server.aside)
    text = "\n".join((render(answer, Form.TABLE, TEXT), *warnings))
    fields = dict(zip(answer.__struct_fields__, answer.__struct_encode_fields__, strict=True))
    return ToolReply(text, document_of(answer), fields.get(answer.ROWS, ""))


def main() -> int:
    call = msgspec.json.decode(sys.stdin.buffer.read(), type=ToolCall)
    try:
        with redirect_stdout(sys.stderr):  # whatever plugins print
            output = msgspec.json.encode(answered(call))
    except KschedError as error:
        print(f"error: {error}", file=sys.stderr)
        return FAILED
    except RecursionError as error:
        if is_of_decisions(error):
            raise
        print("error: the input is nested too deeply", file=sys.stderr)
        return FAILED
    sys.stdout.buffer.write(output)
    return 0


if __name__ == "__main__":
    sys.exit(main())
