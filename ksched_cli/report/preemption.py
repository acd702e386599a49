"""What a pod's preemption would come to: verdict, criteria, candidates, and the other nodes."""

from __future__ import annotations

from typing import Any

from ksched_cli.analysis.preempt import CandidateNode, NonCandidateNode, PreemptionAnswer, Victim
from ksched_cli.framework.status import Rejection
from ksched_cli.report.attempts import status
from ksched_cli.report.table import Limit, columns, cut, listed


def document(found: PreemptionAnswer) -> dict[str, Any]:
    """kind PreemptionResult."""
    return {
        "apiVersion": "ksched/v1",
        "kind": "PreemptionResult",
        "pod": found.pod,
        "profile": found.profile,
        "priority": found.priority,
        "runningOn": found.running_on,
        "nominatedNode": found.nominated,
        "gated": found.gated and status(found.gated),
        "fits": list(found.fits),
        "mayPreempt": found.may,
        "reason": found.why_not,
        "node": found.node,
        "victims": list(found.victims),
        "criterion": _criterion(found),
        "criteria": [
            {"criterion": step.criterion.value, "best": step.best, "nodesLeft": step.left}
            for step in found.steps
        ],
        "ties": list(found.ties),
        "lapsingNominations": list(found.lapsing),
        "candidates": [_candidate(one) for one in found.candidates],
        "candidatesWanted": found.wanted,
        "notCandidates": [_hopeless(one) for one in found.hopeless],
        "notSearched": list(found.unsearched),
        "message": found.message,
        "error": found.error,
    }


def _candidate(one: CandidateNode) -> dict[str, Any]:
    return {
        "node": one.node,
        "victims": [_victim(victim) for victim in one.victims],
        "pdbViolations": one.pdb_violations,
        "reprieved": list(one.reprieved),
    }


def _victim(one: Victim) -> dict[str, Any]:
    return {
        "pod": one.pod,
        "priority": one.priority,
        "startTime": one.started,
        "violates": list(one.pdb_violated_by),
        "cannotStay": _rejection(one.rejection) if one.rejection else None,
    }


def _hopeless(one: NonCandidateNode) -> dict[str, Any]:
    return {"node": one.node, "podsRemoved": one.removed} | _rejection(one.rejection)


def _rejection(one: Rejection) -> dict[str, Any]:
    return status(one.status) | {"details": list(one.details)}


def table(found: PreemptionAnswer, limit: Limit) -> str:
    parts = (
        _headline(found),
        _criteria(found, limit),
        _candidates(found, limit),
        _others(found, limit),
        _unsearched(found, limit),
    )
    return "\n\n".join(part for part in parts if part)


def _headline(found: PreemptionAnswer) -> str:
    lines = [f"{found.pod} (profile {found.profile}, priority {found.priority})"]
    if found.gated:
        lines.append(f"is not in the queue yet: {found.gated.plugin}: {found.gated.message}")
        lines.append("once it is:")
    if found.running_on:
        lines.append(f"runs on {found.running_on}; asked as if it were still to be placed")
    if found.fits:
        lines.append(f"needs no preemption: it fits on {', '.join(found.fits)}")
    elif found.why_not:
        lines += [f"may not preempt: {found.why_not}", found.message]
    elif found.error:
        lines += [f"cannot be scheduled: {found.error}", found.message]
    elif found.node:
        lines += _verdict(found)
    else:
        lines += ["may preempt, but no eviction makes room for it", found.message]
    return "\n".join(line for line in lines if line)


def _verdict(found: PreemptionAnswer) -> list[str]:
    evicted = ", ".join(found.victims)
    lines = [f"would evict {evicted} from {found.node}: {_why_there(found)}"]
    if found.ties:
        lines.append(f"equally good: {', '.join(found.ties)}")
    if found.lapsing:
        lines.append(f"no longer nominated there: {', '.join(found.lapsing)}")
    return lines


def _why_there(found: PreemptionAnswer) -> str:
    others = f" among {len(found.candidates)} candidates" if found.steps else ""
    return f"{_criterion(found)}{others}"


def _criterion(found: PreemptionAnswer) -> str:
    """What decided, or "" where nothing is taken."""
    if found.steps:
        return found.steps[-1].criterion.value
    return "only candidate" if found.node else ""


def _criteria(found: PreemptionAnswer, limit: Limit) -> str:
    rows = [(step.criterion.value, step.best, step.left) for step in found.steps]
    return columns(("CRITERION", "BEST", "NODES LEFT"), rows, limit) if rows else ""


def _candidates(found: PreemptionAnswer, limit: Limit) -> str:
    """A row per victim, and one for those that stay."""
    rows: list[tuple[object, ...]] = []
    for one in found.candidates:
        where = one.node
        for victim in one.victims:
            rows.append((where, victim.pod, victim.priority, victim.started, _why_gone(victim)))
            where = ""
        if one.reprieved:
            rows.append(("", f"{len(one.reprieved)} may stay", "", "", ", ".join(one.reprieved)))
    if not rows:
        return ""
    headers = ("CANDIDATE", "EVICTED", "PRIORITY", "STARTED", "BECAUSE WITH IT")
    return cut(columns(headers, rows, limit), len(rows), limit)


def _why_gone(victim: Victim) -> str:
    parts = [_why(victim.rejection)] if victim.rejection else []
    parts += [f"violates {', '.join(victim.pdb_violated_by)}"] if victim.pdb_violated_by else []
    return "; ".join(parts)


def _why(rejection: Rejection) -> str:
    said = "; ".join((*rejection.status.reasons, *rejection.details))
    return f"{rejection.status.plugin}: {said}" if rejection.status.plugin else said


def _others(found: PreemptionAnswer, limit: Limit) -> str:
    """Nodes with the same reason share a row."""
    groups: dict[tuple[str, str], list[str]] = {}
    for one in found.hopeless:
        groups.setdefault((_without(one), _why(one.rejection)), []).append(one.node)
    if not groups:
        return ""
    rows = [
        (listed(names, limit), without, why)
        for (without, why), names in sorted(groups.items(), key=lambda one: (-len(one[1]), one[1]))
    ]
    headers = ("NO CANDIDATE", "EVEN WITHOUT", "BECAUSE")
    return cut(columns(headers, rows, limit), len(rows), limit)


def _without(one: NonCandidateNode) -> str:
    if one.removed is None:
        return "any pod"
    if one.removed == 0:
        return "(no pod of lower priority)"
    return f"{one.removed} pod{'s' if one.removed > 1 else ''} of lower priority"


def _unsearched(found: PreemptionAnswer, limit: Limit) -> str:
    if not found.unsearched:
        return ""
    return (
        f"{len(found.unsearched)} nodes were not looked at, {found.wanted} candidates are enough "
        f"(--all-candidates looks at all): {listed(found.unsearched, limit)}"
    )
