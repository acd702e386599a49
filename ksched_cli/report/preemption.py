"""An answer of `preempt`: the verdict, the criteria, the best candidates, and the other nodes,
grouped by reason.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

from ksched_cli.analysis.attempts import NodeRejection
from ksched_cli.analysis.preempt import CandidateNode, NonCandidateNode, PreemptionResult
from ksched_cli.plugins import short_names
from ksched_cli.report.reasons import message_line, nearest_text, why_not
from ksched_cli.report.table import ALL_HINT, GREEN, RED, YELLOW, Limit, apart, counted, marked

BEST_CANDIDATES = 3
SHOWN_VICTIMS = 5
SHOWN_GROUPS = 8
STARTED = 3  # the column; left out where no victim has started
WRAPPED = 60  # characters of the reasons may wrap
SHORT_NAMES = short_names()
MAX_NAMED_NODES = 3  # are named, not counted


def names(answer: PreemptionResult) -> Sequence[str]:
    """The pods that would be evicted."""
    return answer.victims


def table(answer: PreemptionResult, limit: Limit) -> str:
    """The verdict, how the node was chosen, the candidates best first, the nodes that are none."""
    return apart(
        headline(answer, limit),
        _criteria(answer, limit),
        _candidates(answer, limit),
        _others(answer, limit),
        _unsearched(answer, limit),
    )


def headline(answer: PreemptionResult, limit: Limit) -> str:
    """The pod, then the verdict and what is behind it."""
    heading = f"{answer.pod} (profile {answer.profile}, priority {answer.priority})"
    lines = [limit.paragraph(heading)]
    if answer.ignored:
        text = f"the scheduler never looks at it: it is {answer.ignored}"
        return "\n".join([*lines, limit.verdict(text, YELLOW)])
    if answer.gated:
        gate = f"{answer.gated.plugin}: {answer.gated.message}"
        lines += [limit.verdict(f"is not in the queue yet: {gate}", YELLOW), "once it is:"]
    if answer.running_on:
        text = f"runs on {answer.running_on}; asked as if it were still to be placed"
        lines.append(limit.paragraph(text))
    text, colour = _verdict(answer, limit)
    lines.append(limit.verdict(text, colour))
    if answer.node and not answer.fits:
        lines += [limit.paragraph(line) for line in _consequences(answer, limit)]
    elif not answer.fits and answer.message and not answer.error:
        lines.append(message_line(answer.message, limit))
    return "\n".join(lines)


def _verdict(answer: PreemptionResult, limit: Limit) -> tuple[str, str]:
    """The answer in a sentence, and its colour."""
    if answer.fits:
        return f"needs no preemption: it fits on {limit.listed(answer.fits)}", GREEN
    if answer.undecided:
        return f"cannot be decided: {answer.error or answer.message}", RED
    if answer.reason:
        return f"may not preempt: {answer.reason}", RED
    if answer.error:
        return f"cannot be scheduled: {answer.error}", RED
    if answer.node:
        evicted = limit.listed(answer.victims)
        return f"would evict {evicted} from {answer.node}: {_why_there(answer)}", YELLOW
    return "may preempt, but no eviction makes room for it", RED


def _consequences(answer: PreemptionResult, limit: Limit) -> list[str]:
    lines = []
    if answer.ties:
        others = [name for name in answer.ties if name != answer.node]
        lines.append(f"equally good: {limit.listed(others)}")
    if answer.lapsing_nominations:
        lines.append(f"no longer nominated there: {limit.listed(answer.lapsing_nominations)}")
    return lines


def _why_there(answer: PreemptionResult) -> str:
    others = f" among {len(answer.candidates):,} candidates" if answer.criteria else ""
    return f"{answer.criterion}{others}"


def _criteria(answer: PreemptionResult, limit: Limit) -> str:
    rows = [
        (step.criterion, "" if step.best == answer.node else step.best, f"{step.nodes_left:,}")
        for step in answer.criteria
    ]
    return limit.columns(("CRITERION", "BEST", "NODES LEFT"), rows) if rows else ""


def _candidates(answer: PreemptionResult, limit: Limit) -> str:
    """The one taken and the best of the others. Where it would be too wide, of the rejections only
    the plugins."""
    shown = answer.candidates if limit.rows is None else answer.candidates[:BEST_CANDIDATES]
    if not shown:
        return ""
    headers: tuple[str, ...] = ("CANDIDATE", "EVICTED", "PRIORITY", "STARTED", "BECAUSE WITH IT")
    rows = _candidate_rows(answer.node, shown, limit, why_not_with_it)
    if not replace(limit, width=(limit.width or 0) + WRAPPED).fits_width(headers, rows):
        rows = _candidate_rows(answer.node, shown, limit, _plugin)
    if not any(row[STARTED] for row in rows):
        headers = (*headers[:STARTED], *headers[STARTED + 1 :])
        rows = [(*row[:STARTED], *row[STARTED + 1 :]) for row in rows]
    text = limit.whole.columns(headers, rows)
    rest = len(answer.candidates) - len(shown)
    return f"{text}\n… and {counted(rest, 'more candidate')} ({ALL_HINT})" if rest else text


def _candidate_rows(
    taken: str,
    candidates: Sequence[CandidateNode],
    limit: Limit,
    why: Callable[[NodeRejection], str],
) -> list[tuple[object, ...]]:
    """For each candidate, a row per victim, and one for the pods that may stay."""
    return [
        row
        for candidate in candidates
        for row in _victim_rows(marked(candidate.node, taken), candidate, limit, why)
    ]


def _victim_rows(
    heading: str, candidate: CandidateNode, limit: Limit, why: Callable[[NodeRejection], str]
) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    shown = candidate.victims if limit.rows is None else candidate.victims[:SHOWN_VICTIMS]
    for victim in shown:
        where = "" if rows else heading
        parts = [why(victim.cannot_stay)] if victim.cannot_stay else []
        if victim.violates:
            parts.append(f"violates {', '.join(victim.violates)}")
        rows.append((where, victim.pod, victim.priority, victim.start_time, "; ".join(parts)))
    rest = len(candidate.victims) - len(shown)
    if rest:
        rows.append(("", f"and {rest:,} more", "", "", ""))
    if candidate.reprieved:
        names = limit.listed(candidate.reprieved)
        rows.append(("", f"{len(candidate.reprieved):,} may stay", "", "", names))
    return rows


def _plugin(rejection: NodeRejection) -> str:
    return SHORT_NAMES.get(rejection.plugin, rejection.plugin)


def why_not_with_it(rejection: NodeRejection) -> str:
    """Why a victim cannot stay."""
    return why_not(rejection.plugin, (*rejection.reasons, *rejection.details))


def _others(answer: PreemptionResult, limit: Limit) -> str:
    """Nodes with the same reason share a row, those nearest to fitting first; without a limit of
    rows, a row per node."""
    nodes = sorted(answer.not_candidates, key=lambda node: (node.shortfall, node.node))
    groups: dict[object, list[NonCandidateNode]] = {}
    for node in nodes:
        reason = (pods_removed(node), node.plugin, node.reasons)
        groups.setdefault(node.node if limit.rows is None else reason, []).append(node)
    if not groups:
        return ""
    ordered = sorted(
        groups.values(), key=lambda group: (group[0].pods_removed is None, -len(group))
    )
    shown = ordered if limit.rows is None else ordered[:SHOWN_GROUPS]
    rows = [_other_row(group, limit) for group in shown]
    text = _others_columns(rows, limit)
    rest = ordered[len(shown) :]
    if not rest:
        return text
    left_out = counted(sum(map(len, rest)), "node")
    return f"{text}\n… and {left_out} for {counted(len(rest), 'more reason')} ({ALL_HINT})"


def _others_columns(rows: Sequence[tuple[str, str, str]], limit: Limit) -> str:
    """Where the table would be too wide, the reason says which pods were removed."""
    headers: tuple[str, ...] = ("NO CANDIDATE", "PODS REMOVED", "BECAUSE")
    if limit.width is None or Limit(limit.width + WRAPPED).fits_width(headers, rows):
        return limit.whole.columns(headers, rows)
    joined = [
        (where, f"with {without} removed, {why}") if without else (where, why)
        for where, without, why in rows
    ]
    return limit.whole.columns(("NO CANDIDATE", "BECAUSE"), joined)


def _other_row(group: list[NonCandidateNode], limit: Limit) -> tuple[str, str, str]:
    why = why_not(group[0].plugin, group[0].reasons)
    names = [node.node for node in group]
    details = [node.details for node in group]
    if len(group) <= MAX_NAMED_NODES and len(set(details)) == 1:
        text = "; ".join((why, *details[0]))
        return ", ".join(names), pods_removed(group[0]), text
    ties = [node.node for node in group if node.shortfall == group[0].shortfall]
    text = f"{why}\n{nearest_text(ties, '; '.join(details[0]), limit)}"
    return counted(len(group), "node"), pods_removed(group[0]), text


def pods_removed(node: NonCandidateNode) -> str:
    """Which pods the attempt did without."""
    if node.pods_removed is None:
        return "all pods"
    if node.pods_removed == 0:
        return ""
    return f"{counted(node.pods_removed, 'pod')} of lower priority"


def _unsearched(answer: PreemptionResult, limit: Limit) -> str:
    if not answer.not_searched:
        return ""
    text = (
        f"{counted(len(answer.not_searched), 'node')} were not looked at, "
        f"{answer.num_candidates:,} candidates are enough (--all-candidates looks at all): "
        f"{limit.listed(answer.not_searched)}"
    )
    return limit.paragraph(text)
