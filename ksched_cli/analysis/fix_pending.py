"""Remedies for all pending pods: one for each owner's pods, joined into one."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from msgspec.structs import replace

from ksched_cli.analysis.fix import Fixer, Outcome, aftermath, left_out
from ksched_cli.analysis.remedies import Remedies, Remedy, RemedyCost
from ksched_cli.analysis.remedy_changes import kubectl_command


def fix_pending(fixer: Fixer) -> Remedies:
    """Takes for one owner's pods after the other the remedy that helps most pending pods for its
    points, then leaves out the changes that the others make needless."""
    first = fixer.run((), frozenset())
    waiting = first.record.pending
    answer = Remedies(pod="", pods=waiting, runs=fixer.runs)
    owners = {pod.key: (pod.namespace, pod.metadata.controller) for pod in fixer.state.pods}
    original, outcome = fixer.state, first
    chosen: list[Remedy] = []
    hopeless: set[str] = set()
    not_tried: Counter[str] = Counter()
    while rest := [key for key in waiting if key not in outcome.nodes and key not in hopeless]:
        owner = owners[rest[0]]
        pods = frozenset(key for key in rest if owner[1] and owners[key] == owner)
        pods |= {rest[0]}  # it may have no owner
        before = fixer.run((), pods)
        remedies: list[Remedy] = []
        if before.look is not None:
            name = "the search for one owner's pods"
            remedies, left = fixer.remedies(pods, before, name)
            not_tried += left
        if not remedies:
            hopeless |= pods
            continue
        best = max(remedies, key=lambda each: (1 + len(each.also.placed)) / (each.cost.points + 1))
        chosen.append(best)
        fixer.state = fixer.changed(best.changes)
        outcome = fixer.run((), frozenset())
    fixer.state = original
    return replace(
        answer,
        remedies=_joined(fixer, first, chosen, frozenset(waiting) - hopeless),
        unresolved=tuple(key for key in answer.pods if key in hopeless),
        runs=fixer.runs,
        not_tried=left_out(not_tried),
        undecided=fixer.failed,
    )


def _joined(
    fixer: Fixer, before: Outcome, chosen: Sequence[Remedy], pods: frozenset[str]
) -> tuple[Remedy, ...]:
    """Join the remedies into one, without those that are not needed."""
    if not chosen:
        return ()
    for remedy in tuple(chosen):
        others = [each for each in chosen if each is not remedy]
        lines = [line for each in others for line in each.changes]
        if others and pods <= fixer.run(lines, frozenset()).nodes.keys():
            chosen = others
    lines = [line for each in chosen for line in each.changes]
    after = fixer.run(lines, frozenset())
    also = aftermath(before, after, pods)
    total = RemedyCost(
        round(sum(each.cost.points for each in chosen), 2),
        sum(each.cost.disruption for each in chosen),
        sum(each.cost.evictions for each in chosen),
        sum(each.cost.nodes for each in chosen),
        max(each.cost.requests for each in chosen),
    )
    return (
        Remedy(
            "; ".join(each.text for each in chosen),
            tuple(sorted({kind for each in chosen for kind in each.kinds})),
            tuple(lines),
            tuple(map(kubectl_command, lines)),
            tuple(patch for each in chosen for patch in each.patches),
            total,
            after.nodes[min(pods)],
            tuple(dict.fromkeys(reason for each in chosen for reason in each.because)),
            also=also,
            parts=tuple(each.text for each in chosen),
        ),
    )
