"""What becomes of evicted pods, in words, for every answer with evictions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.analysis.recreation import RecreatedPod
from ksched_cli.engine.records import Eviction
from ksched_cli.report.view import Column, Kind, Line, Table, Tone, table
from ksched_cli.report.words import counted, grouped, listed, verb

SHOWN_PODS = 10
SHOWN_NAMES = 3


def waiting_lines(pods: Sequence[RecreatedPod]) -> Iterator[Line]:
    """Yield a line where evicted pods have no node when they are created again, and one where
    nobody creates them again."""
    waiting = [each.pod for each in pods if each.recreated and not each.node]
    if waiting:
        wait = verb(len(waiting), "waits", "wait")
        again = verb(len(waiting), "its controller creates it", "their controllers create them")
        text = f"{counted(len(waiting), 'evicted pod')} {wait} for a node when {again} again"
        yield Line(f"{text}: {listed(waiting, SHOWN_NAMES)}", Tone.WARN)
    lost = [each.pod for each in pods if not each.recreated]
    if lost:
        pods_have = f"{counted(len(lost), 'evicted pod')} {verb(len(lost), 'has', 'have')}"
        text = f"{pods_have} no controller that creates {verb(len(lost), 'it', 'them')} again"
        yield Line(f"{text}: {listed(lost, SHOWN_NAMES)}", Tone.WARN)


def then_text(pod: RecreatedPod) -> str:
    """Return what becomes of the pod, in words that follow its name."""
    if not pod.recreated:
        return "gone; no controller creates it again"
    if pod.node:
        evicts = f" and evicts {listed(pod.evicted, SHOWN_NAMES)}" if pod.evicted else ""
        return f"goes to {pod.node}{evicts}"
    return f"waits; it can run on {pod.only_node} alone" if pod.only_node else "waits"


def recreation_table(pods: Sequence[RecreatedPod]) -> Table:
    """Return what becomes of the pods; those that wait for one cause share a row."""
    rows = grouped(((then_text(each), each.cause or each.message), each.pod) for each in pods)
    columns = [
        (Column("Pods", Kind.POD), lambda each: tuple(each[1])),
        (Column("Then"), lambda each: each[0][0]),
        (Column("Why they wait", drop=1), lambda each: each[0][1]),
    ]
    if not any(each.message for each in pods):
        columns.pop()
    heading = "The evicted pods afterwards"
    return table(heading, [*rows.items()], *columns, brief=SHOWN_PODS, noun="groups of pods")


def evictions_table(
    heading: str, evictions: Sequence[Eviction], recreated: Sequence[RecreatedPod]
) -> Table:
    """Return who is evicted, for whom, and what becomes of it if that is known."""
    then = {each.pod: then_text(each) for each in recreated}
    columns = [
        (Column("Evicted", Kind.POD), lambda each: each.pod),
        (Column("From", Kind.NODE), lambda each: each.node),
        (Column("For", Kind.POD), lambda each: each.preemptor),
        (Column("Then"), lambda each: then.get(each.pod, "")),
    ]
    if not then:
        columns.pop()
    return table(heading, evictions, *columns, brief=SHOWN_PODS, grid="evictions")
