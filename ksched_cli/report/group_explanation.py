"""An answer of `explain podgroup/NAME`: the verdict, what blocks, the domains, the members."""

from __future__ import annotations

from ksched_cli import program_name
from ksched_cli.analysis.explain import Blocker, GroupExplanation
from ksched_cli.report.reasons import message_line, remedy_line
from ksched_cli.report.table import GREEN, RED, YELLOW, Limit, apart, counted, grouped, marked

SHOWN_DOMAINS = 3
SHOWN_MEMBERS = 8


def names(explanation: GroupExplanation) -> list[str]:
    """The members that get no node."""
    return [member.pod for member in explanation.members if not member.node]


def table(explanation: GroupExplanation, limit: Limit) -> str:
    """The verdict and its cause, a row per domain, the members, what to try next."""
    return apart(
        headline(explanation, limit),
        _domains(explanation, limit),
        _parts(explanation, limit),
        _members(explanation, limit),
        _next_step(explanation, limit),
    )


def headline(explanation: GroupExplanation, limit: Limit) -> str:
    """The group, then the verdict and what is behind it."""
    pods = counted(len(explanation.members), "pod")
    kind, unit = ("composite pod group", " groups") if explanation.composite else ("pod group", "")
    gang = "" if explanation.min_count is None else f", {explanation.min_count:,}{unit} at once"
    lines = [limit.paragraph(f"{explanation.group} ({kind} of {pods}{gang})")]
    if not explanation.pending:
        chosen = (domain.domain for domain in explanation.domains if domain.chosen)
        where = "".join(f", in {explanation.topology_key}={name}" for name in chosen)
        lines.append(limit.verdict(f"every pod has a node{where}", GREEN))
    else:
        lines += _unplaced(explanation, limit)
    if explanation.evicts:
        evicted = limit.listed(explanation.evicts)
        lines.append(limit.paragraph(f"evicted for it: {evicted}"))
    return "\n".join(lines)


def _unplaced(explanation: GroupExplanation, limit: Limit) -> list[str]:
    count = f"{explanation.pending:,} of {counted(len(explanation.members), 'pod')}"
    what = "gets no node" if not explanation.placed else f"is placed without {count}"
    if explanation.undecided:
        what = "cannot be decided"
    blocker = explanation.blocked_by
    colour = RED if not explanation.placed or explanation.undecided else YELLOW
    if blocker is None:
        return [limit.verdict(what, colour)]
    text = f"{what}: {_cause(explanation, blocker)}"
    lines = [limit.verdict(text, colour)]
    if blocker.diagnosis is not None:
        lines.append(remedy_line(blocker.diagnosis, explanation.group, limit))
    messages = dict.fromkeys((blocker.message, explanation.message))
    return lines + [message_line(message, limit) for message in messages if message]


def _cause(explanation: GroupExplanation, blocker: Blocker) -> str:
    """The pod that blocks, where, and why."""
    cause = blocker.diagnosis.cause if blocker.diagnosis is not None else ""
    part = next((each for each in explanation.parts if each.group == blocker.group), None)
    is_other = blocker.group != explanation.group and part is not None
    if not blocker.pod:
        return cause or (f"{blocker.group} does not fit" if is_other else blocker.message)
    key = explanation.topology_key if part is None else part.topology_key
    where = f" in {key}={blocker.domain}" if blocker.domain and key else ""
    text = f"{blocker.pod}{f' of {blocker.group}' if is_other else ''} blocks it{where}"
    return f"{text}: {cause}" if cause else text


def _domains(explanation: GroupExplanation, limit: Limit) -> str:
    """Those that the most members fit in first."""
    domains = sorted(explanation.domains, key=lambda each: (not each.chosen, -each.fitting))
    chosen = next((each.domain for each in domains if each.chosen), "")
    rows = [
        (
            marked(each.domain, chosen),
            each.nodes,
            f"{each.fitting:,} of {each.tried:,}",
            each.blocked_by,
            each.message,
        )
        for each in domains
    ]
    domain = explanation.topology_key.rpartition("/")[2].upper()
    headers = (domain, "NODES", "FIT", "BLOCKED BY", "WHY")
    return limit.first(SHOWN_DOMAINS).cut_columns(headers, rows) if rows else ""


def _parts(explanation: GroupExplanation, limit: Limit) -> str:
    """The tree, from the outside."""
    rows = [
        (
            f"{'  ' * part.depth}{part.group.partition('/')[2]}",
            "-" if part.min_count is None else f"{part.min_count:,}",
            part.topology_key or "-",
            f"{part.placed:,} of {part.pods:,}",
            part.message,
        )
        for part in explanation.parts
    ]
    headers = ("GROUP", "AT ONCE", "WITHIN", "PLACED", "WHY")
    return limit.cut_columns(headers, rows) if rows else ""


def _members(explanation: GroupExplanation, limit: Limit) -> str:
    """Those of one fate share a row, but for an unlimited table. Where none has a node, the domains
    say why."""
    if explanation.domains and not explanation.placed and limit.rows is not None:
        return ""
    whole, rows = limit.rows is None, []
    alike = grouped(
        (member.pod if whole else (member.node, member.running, member.message), member)
        for member in explanation.members
    )
    for group in alike.values():
        first = group[0]
        fate = f"runs on {first.node}" if first.running else first.node
        if not first.node:
            fate = "held back" if first.gated else "pending"
        rows.append((limit.listed([member.pod for member in group]), fate, first.message))
    return limit.first(SHOWN_MEMBERS).cut_columns(("POD", "NODE", "WHY"), rows)


def _next_step(explanation: GroupExplanation, limit: Limit) -> str:
    blocker = explanation.blocked_by
    if blocker is None or not blocker.pod or explanation.undecided:
        return ""
    program, lines = program_name(), list[str]()
    # `explain` shows a single pod in the first domain.
    if blocker.domain in ("", *(domain.domain for domain in explanation.domains[:1])):
        lines.append(f"{program} explain {blocker.pod} shows every node of the pod that blocks.")
    if blocker.diagnosis is None or blocker.diagnosis.remedy:
        lines.append(
            f"{program} fix {explanation.group} finds the changes that would help, each verified by"
            " a run."
        )
    return "\n".join(limit.paragraph(line) for line in lines)
