"""An answer of `preempt`: the verdict, the criteria, the candidates, and the other nodes."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.preempt import CandidateNode, NonCandidateNode, PreemptionAnswer, Victim
from ksched_cli.framework.status import Rejection
from ksched_cli.report.attempts import status
from ksched_cli.report.table import Limit, columns, cut_columns, listed


def document(answer: PreemptionAnswer) -> dict[str, Any]:
    """kind PreemptionResult."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "PreemptionResult",
        "pod": answer.pod,
        "profile": answer.profile,
        "priority": answer.priority,
        "runningOn": answer.running_on,
        "nominatedNode": answer.nominated,
        "gated": answer.gated and status(answer.gated),
        "fits": list(answer.fits),
        "mayPreempt": answer.may,
        "reason": answer.why_not,
        "node": answer.node,
        "victims": list(answer.victims),
        "criterion": _criterion(answer),
        "criteria": [
            {"criterion": step.criterion.value, "best": step.best, "nodesLeft": step.left}
            for step in answer.steps
        ],
        "ties": list(answer.ties),
        "lapsingNominations": list(answer.lapsing),
        "candidates": [_candidate(candidate) for candidate in answer.candidates],
        "candidatesWanted": answer.num_candidates,
        "notCandidates": [_non_candidate(node) for node in answer.non_candidates],
        "notSearched": list(answer.unsearched),
        "message": answer.message,
        "error": answer.error,
    }


def _candidate(candidate: CandidateNode) -> dict[str, Any]:
    return {
        "node": candidate.node,
        "victims": [_victim(victim) for victim in candidate.victims],
        "pdbViolations": candidate.pdb_violations,
        "reprieved": list(candidate.reprieved),
    }


def _victim(victim: Victim) -> dict[str, Any]:
    return {
        "pod": victim.pod,
        "priority": victim.priority,
        "startTime": victim.started,
        "violates": list(victim.pdb_violated_by),
        "cannotStay": _rejection(victim.rejection) if victim.rejection else None,
    }


def _non_candidate(node: NonCandidateNode) -> dict[str, Any]:
    return {"node": node.node, "podsRemoved": node.removed} | _rejection(node.rejection)


def _rejection(rejection: Rejection) -> dict[str, Any]:
    return status(rejection.status) | {"details": list(rejection.details)}


def table(answer: PreemptionAnswer, limit: Limit) -> str:
    """The verdict, how the node was chosen, the candidates best first, the nodes that are none."""
    parts = (
        _headline(answer),
        _criteria(answer, limit),
        _candidates(answer, limit),
        _others(answer, limit),
        _unsearched(answer, limit),
    )
    return "\n\n".join(part for part in parts if part)


def _headline(answer: PreemptionAnswer) -> str:
    lines = [f"{answer.pod} (profile {answer.profile}, priority {answer.priority})"]
    if answer.gated:
        lines.append(f"is not in the queue yet: {answer.gated.plugin}: {answer.gated.message}")
        lines.append("once it is:")
    if answer.running_on:
        lines.append(f"runs on {answer.running_on}; asked as if it were still to be placed")
    if answer.fits:
        lines.append(f"needs no preemption: it fits on {', '.join(answer.fits)}")
    elif answer.why_not:
        lines += [f"may not preempt: {answer.why_not}", answer.message]
    elif answer.error:
        lines += [f"cannot be scheduled: {answer.error}", answer.message]
    elif answer.node:
        lines += _verdict(answer)
    else:
        lines += ["may preempt, but no eviction makes room for it", answer.message]
    return "\n".join(line for line in lines if line)


def _verdict(answer: PreemptionAnswer) -> list[str]:
    evicted = ", ".join(answer.victims)
    lines = [f"would evict {evicted} from {answer.node}: {_why_there(answer)}"]
    if answer.ties:
        lines.append(f"equally good: {', '.join(answer.ties)}")
    if answer.lapsing:
        lines.append(f"no longer nominated there: {', '.join(answer.lapsing)}")
    return lines


def _why_there(answer: PreemptionAnswer) -> str:
    others = f" among {len(answer.candidates)} candidates" if answer.steps else ""
    return f"{_criterion(answer)}{others}"


def _criterion(answer: PreemptionAnswer) -> str:
    """What decided, or "" where nothing is taken."""
    if answer.steps:
        return answer.steps[-1].criterion.value
    return "only candidate" if answer.node else ""


def _criteria(answer: PreemptionAnswer, limit: Limit) -> str:
    rows = [(step.criterion.value, step.best, step.left) for step in answer.steps]
    return columns(("CRITERION", "BEST", "NODES LEFT"), rows, limit) if rows else ""


def _candidates(answer: PreemptionAnswer, limit: Limit) -> str:
    """Per candidate a row for each victim, and one for the pods that may stay."""
    rows: list[tuple[object, ...]] = []
    for candidate in answer.candidates:
        where = candidate.node
        for victim in candidate.victims:
            rows.append((where, victim.pod, victim.priority, victim.started, _why_gone(victim)))
            where = ""
        if candidate.reprieved:
            rows.append(
                ("", f"{len(candidate.reprieved)} may stay", "", "", ", ".join(candidate.reprieved))
            )
    if not rows:
        return ""
    headers = ("CANDIDATE", "EVICTED", "PRIORITY", "STARTED", "BECAUSE WITH IT")
    return cut_columns(headers, rows, limit)


def _why_gone(victim: Victim) -> str:
    parts = [_why(victim.rejection)] if victim.rejection else []
    parts += [f"violates {', '.join(victim.pdb_violated_by)}"] if victim.pdb_violated_by else []
    return "; ".join(parts)


def _why(rejection: Rejection) -> str:
    reasons = "; ".join((*rejection.status.reasons, *rejection.details))
    return f"{rejection.status.plugin}: {reasons}" if rejection.status.plugin else reasons


def _others(answer: PreemptionAnswer, limit: Limit) -> str:
    """Nodes with the same reason share a row."""
    groups: dict[tuple[str, str], list[str]] = {}
    for node in answer.non_candidates:
        groups.setdefault((_without(node), _why(node.rejection)), []).append(node.node)
    if not groups:
        return ""
    rows = [
        (listed(names, limit), without, why)
        for (without, why), names in sorted(
            groups.items(), key=lambda group: (-len(group[1]), group[1])
        )
    ]
    headers = ("NO CANDIDATE", "EVEN WITHOUT", "BECAUSE")
    return cut_columns(headers, rows, limit)


def _without(node: NonCandidateNode) -> str:
    if node.removed is None:
        return "any pod"
    if node.removed == 0:
        return "(no pod of lower priority)"
    return f"{node.removed} pod{'s' if node.removed > 1 else ''} of lower priority"


def _unsearched(answer: PreemptionAnswer, limit: Limit) -> str:
    if not answer.unsearched:
        return ""
    return (
        f"{len(answer.unsearched)} nodes were not looked at, {answer.num_candidates} "
        f"candidates are enough (--all-candidates looks at all): "
        f"{listed(answer.unsearched, limit)}"
    )
