"""The question of an audit: whether a real scheduler decided as a configuration says."""

from __future__ import annotations

from collections.abc import Callable
from typing import ClassVar

from msgspec import structs

from ksched_cli.analysis.audit.audit import AuditResult, audit
from ksched_cli.analysis.audit.decision_log import EVENT_KINDS, read_decision_log, why_swapped
from ksched_cli.analysis.audit.decisions import DecisionLog, LogLine, read_logs
from ksched_cli.analysis.audit.recorded_decisions import read_recording
from ksched_cli.analysis.question import Opened, Question
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import UsageError
from ksched_cli.kube.documents import read_file
from ksched_cli.scenario.timeline import read_timeline

Opens = Callable[[ClusterState], Simulation]
"""Makes a simulation of a state that has not run."""


class Audit(Question[AuditResult], frozen=True, kw_only=True):
    """Repeat every decision of a real scheduler. The Run has the state before them.

    after:     the state after them, which requires logs; recording: what ksched record wrote
               instead. One of the two
    scheduler_logs: kube-scheduler's logs of that time
    """

    READS: ClassVar = frozenset(EVENT_KINDS)

    after: tuple[str, ...] = ()
    recording: str = ""
    scheduler_logs: tuple[str, ...] = ()

    def answer(self, opened: Opened) -> AuditResult:
        opens, decisions = self._of_recording(opened) if self.recording else self._of_two(opened)
        simulations = [opens(decisions.state)]
        opened.introduce(simulations[0], are_run=False)

        def reopen(state: ClusterState) -> Simulation:
            simulations.append(opens(state))
            return simulations[-1]

        with opened.observer.progress("decisions judged") as on_progress:
            answer = audit(reopen, decisions, on_progress)
        failed = [each for each in simulations if each.caller.defects]
        opened.conclude(*failed[:1])
        return structs.replace(answer, undecided=bool(failed))

    def _of_two(self, opened: Opened) -> tuple[Opens, DecisionLog]:
        """Read two states, and return what opens a simulation to repeat the decisions."""
        opener, run = opened.opener, opened.run
        state, later = opener.state(run), load_state(self.after, reads=opener.kinds(run))
        if reason := why_swapped(state, later):
            raise UsageError(f"--before is later than --after ({reason}): swap them")
        opened.warn(*(line for line in later.warnings if line not in state.warnings))
        decisions = read_decision_log(state, later, _schedulers(opened), self._log(opened))

        def opens(state: ClusterState) -> Simulation:
            simulation = opener.simulation(run, state=state)
            simulation.newcomers += decisions.newcomers
            return simulation

        return opens, decisions

    def _of_recording(self, opened: Opened) -> tuple[Opens, DecisionLog]:
        """Read a recording, and return what opens a simulation to repeat the decisions."""
        opener, run, path = opened.opener, opened.run, self.recording
        state = opener.base_state(run)
        timeline = read_timeline(path, state, reads=opener.kinds(run), warn=opened.warn)
        if timeline.start is None:
            raise UsageError(f"{path} has no `start`, which ksched record writes; name a recording")
        log = self._log(opened)
        decisions = read_recording(
            state, timeline.events(), timeline.start, _schedulers(opened), log
        )
        return lambda state: opener.simulation(run, state=state), decisions

    def _log(self, opened: Opened) -> list[LogLine]:
        """Return the lines of the logs; warns of logs without what is read of them."""
        if not self.scheduler_logs:
            return []
        lines = read_logs(map(read_file, self.scheduler_logs))
        if not lines:
            opened.warn(
                f"{', '.join(self.scheduler_logs)} has no attempts to schedule pods; "
                "kube-scheduler logs them at -v=3 and above"
            )
        return lines


def _schedulers(opened: Opened) -> set[str]:
    """Return the names of the configuration's schedulers."""
    profiles = opened.opener.configuration(opened.run).profiles
    return {profile.scheduler_name for profile in profiles}
