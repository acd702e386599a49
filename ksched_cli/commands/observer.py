"""What a terminal shows while a question is answered: warnings, progress, calls of plugins."""

from __future__ import annotations

import sys
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from ksched_cli.analysis.question import Observer
from ksched_cli.commands import progress
from ksched_cli.commands.command import DEBUG_HINT
from ksched_cli.commands.output import (
    SETTINGS,
    limit,
    note,
    note_in_handler,
    print_after,
    set_aside,
    set_release,
    warn_after,
)
from ksched_cli.commands.signals import (
    EndedBySignal,
    Interruption,
    heeded_interrupt,
    unmasked_signals,
)
from ksched_cli.commands.timings import Timings
from ksched_cli.framework.call_trace import CallTrace
from ksched_cli.masking import masked_url
from ksched_cli.report.terminal import as_text

if TYPE_CHECKING:
    from ksched_cli.analysis.search import Search
    from ksched_cli.cluster.state import ClusterState
    from ksched_cli.config.effective import Configuration
    from ksched_cli.engine.engine import Engine
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.kube.versions import Release
    from ksched_cli.run.run import KubeconfigCluster


LONG = 2.0  # seconds after which a replay says how fast it was
PATIENCE = 1.0  # seconds that an attempt may take when a replay is interrupted


class Terminal(Observer):
    """Prints to standard error."""

    def __init__(self) -> None:
        self.traces_calls = SETTINGS.debug or bool(SETTINGS.timings)
        self._timings = Timings(SETTINGS.timings)
        self._replays = progress.ReplayProgress(None, 0)

    def warn(self, line: str) -> None:
        warn_after(line)

    def set_aside(self, lines: Collection[str]) -> None:
        set_aside(lines)

    def note(self, line: str) -> None:
        note(line)

    def opened(self, release: Release, calling: Sequence[Configuration]) -> None:
        """Name the extenders' hosts, which are sent the pods and nodes of the state, before the
        first call."""
        set_release(release)
        urls = {extender.url_prefix for each in calling for extender in each.extenders}
        if urls:
            named = ", ".join(sorted(map(masked_url, urls)))
            note(f"calling extenders at {named} (--no-extenders disables this)")

    def ran(self, engine: Engine) -> None:
        """Print which plugins were called about each pod and how long that took, where that is
        asked for, and where the tracebacks of plugins that failed are, or these themselves."""
        trace = engine.caller.trace
        if trace is not None and SETTINGS.timings:
            print_after(as_text(self._timings.add(trace), limit()))
        if trace is not None and SETTINGS.debug:
            for line in _call_lines(engine, trace):
                print(line, file=sys.stderr)
        for line in () if trace is None else trace.slow_lines():
            print(line, file=sys.stderr)
        defects = engine.caller.defects.values()
        if SETTINGS.debug:
            for defect in defects:
                print(defect.detail, file=sys.stderr)
        elif defects:
            print_after(f"  {DEBUG_HINT}")

    @contextmanager
    def progress(self, noun: str) -> Iterator[progress.OnProgress | None]:
        with progress.of(noun) as on_progress:
            yield on_progress

    @contextmanager
    def searching(self, noun: str, search: Search) -> Iterator[None]:
        def interrupt() -> None:
            search.interrupt()
            note_in_handler("ending with the best answer so far; interrupt again to end at once")

        with progress.of_search(noun) as search.on_step, heeded_interrupt(interrupt):
            yield

    @contextmanager
    def replaying(self, replay: Replay) -> Iterator[None]:
        with progress.of_replay() as self._replays:
            self._replays.begin(replay)
            yield

    def after_instant(self, replay: Replay) -> None:
        self._replays.after_instant()

    def read_live(self, cluster: KubeconfigCluster, kinds: frozenset[str]) -> ClusterState:
        from ksched_cli.live.client import ClusterError, connect
        from ksched_cli.live.snapshot import ClusterReader, live_state, whole_object

        try:
            server = connect(cluster.kubeconfig, cluster.context)
            note(f"reading {server.identity.source}")
            with progress.of_objects() as on_progress:
                reader = ClusterReader(
                    server,
                    reads=kinds,
                    namespace=cluster.namespace,
                    convert=whole_object,
                    on_progress=on_progress,
                )
                return live_state(reader, kinds, server.url)
        except ClusterError as error:
            raise ClusterError(f"{error}\n  --state FILE reads a file instead") from None


class ReplayTerminal(Terminal):
    """Ends a replay at a signal, after the attempt, and says how fast a long one was.

    replay: that runs, or ran
    """

    def __init__(self) -> None:
        super().__init__()
        self.interruption = Interruption()
        self.replay: Replay | None = None

    @contextmanager
    def replaying(self, replay: Replay) -> Iterator[None]:
        self.replay = replay
        with progress.of_replay() as self._replays:
            pace = self._replays.begin(replay)
            try:
                with self.interruption.heeded(replay.interrupt, PATIENCE):
                    yield
            except EndedBySignal:
                note("interrupted in the middle of a long attempt: there is no result")
                raise
        if pace.took >= LONG:
            counts = replay.log.counts
            note(
                f"{counts.events:,} events, {counts.attempts:,} attempts and {counts.ended:,} "
                f"ends; here {pace.rate:,.0f} a second in {pace.took:.1f} s"
            )

    def after_instant(self, replay: Replay) -> None:
        super().after_instant(replay)
        if replay.is_interrupted:
            self.interruption.is_heeded()


class ResumedTerminal(Terminal):
    """Says at a signal that ends ksched what is done, and how the rest is. file: that `option`
    names, or \"\""""

    def __init__(self, file: str, option: str) -> None:
        super().__init__()
        self._file, self._option = file, option

    @contextmanager
    def progress(self, noun: str) -> Iterator[progress.OnProgress | None]:
        done = total = 0
        with progress.of(noun) as shown:

            def on_progress(new_done: int, new_total: int) -> None:
                nonlocal done, total
                done, total = new_done, new_total
                if shown is not None:
                    shown(done, total)

            try:
                with unmasked_signals():
                    yield on_progress
            except EndedBySignal:
                file = self._file
                hint = f"the same command resumes {file}" if file else f"{self._option} saves them"
                note(f"interrupted: {done:,} of {total:,} {noun} are done; {hint}")
                raise


def _call_lines(engine: Engine, trace: CallTrace) -> Iterator[str]:
    for name, framework in engine.frameworks.items():
        plugins = framework.profile.plugins
        enabled = {point: [ref.name for ref in refs] for point, refs in plugins.items()}
        yield f"profile {name}:"
        for line in trace.lines(name, framework.plugins, enabled, engine.registry):
            yield f"  {line}"
