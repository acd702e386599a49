"""An answer of `replay --from-now`: when the pending pods start, and what that assumes."""

from __future__ import annotations

from collections.abc import Iterable

from ksched_cli.analysis.replay_result import Assumption, ForwardLook, PodForecast
from ksched_cli.kube.time import SECOND
from ksched_cli.report.replay import duration
from ksched_cli.report.table import Limit, counted


def headline(answer: ForwardLook) -> str:
    """How many pods start, and over how many draws."""
    draws = counted(answer.draws, "draw")
    since = f" from {answer.now} on" if answer.now else ""
    if not answer.pods:
        return f"no pod is pending{since}"
    sure = sum(pod.p90 is not None for pod in answer.pods)
    pods = counted(len(answer.pods), "pending pod")
    return f"{sure:,} of {pods} start in nine of ten draws ({draws}{since})"


def table(answer: ForwardLook, limit: Limit) -> str:
    """A row per pending pod, then the assumptions."""
    parts = [limit.paragraph(headline(answer))]
    if answer.pods:
        rows = [
            (pod.pod, time_text(pod.p50), time_text(pod.p90), start_text(pod))
            for pod in answer.pods
        ]
        headers = ("POD", "STARTS IN (P50)", "P90", "IN DRAWS")
        parts.append(limit.cut_columns(headers, rows, "pending pod"))
    lines = assumption_lines(answer.assumptions)
    if lines:
        parts.append("\n".join(["assumed:", *(f"  {line}" for line in lines)]))
    return "\n\n".join(parts)


def time_text(seconds: float | None) -> str:
    return "never" if seconds is None else duration(round(seconds * SECOND))


def start_text(pod: PodForecast) -> str:
    return "gated" if pod.gated else f"{pod.started:.0%}"


def assumption_lines(assumptions: Iterable[Assumption]) -> list[str]:
    """A line per owner with a history or a deadline, and one for all others together."""
    lines = []
    unknown = {True: 0, False: 0}
    for each in assumptions:
        if each.basis == "none":
            unknown[each.running] += each.pods
            continue
        state = "running" if each.running else "pending"
        subject = counted(each.pods, f"{state} pod") + (f" of {each.owner}" if each.owner else "")
        verb = "ends" if each.pods == 1 else "end"
        finished = counted(each.samples, "finished pod")
        how = f"as its {finished} did" if each.basis == "history" else "at activeDeadlineSeconds"
        lines.append(f"{subject} {verb} {how}")
    for running, count in unknown.items():
        if count:
            verb = "stays" if count == 1 else "stay"
            state = "running" if running else "pending"
            lines.append(
                f"{counted(count, f'{state} pod')} without a known run time {verb}"
                + ("" if running else " once placed")
            )
    return lines
