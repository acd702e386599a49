"""An answer of `fix`: what is in the way, the remedies best first, and what was not tried."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ksched_cli.analysis.fix import Remedies, Remedy
from ksched_cli.report.reasons import why_not
from ksched_cli.report.table import GREEN, RED, YELLOW, Limit, apart, counted, printable


def names(answer: Remedies) -> Sequence[str]:
    """The changes of the first remedy."""
    return answer.remedies[0].changes if answer.remedies else ()


def table(answer: Remedies, limit: Limit) -> str:
    """The cause, then a block per remedy; without any, the reasons that conflict."""
    numbered = enumerate(answer.remedies, 1)
    remedies = (_block(number, each, answer, limit) for number, each in numbered)
    headed = (headline(answer, limit), *remedies)
    return apart(*headed, _conflict(answer, limit), search(answer, limit))


def patches(answer: Remedies) -> str:
    """The first remedy's patches of manifests, as YAML documents; what is no patch as comments."""
    from ksched_cli.kube.shown_yaml import block_yaml

    if not answer.remedies:
        return "# there is no remedy" if answer.pods else "# nothing to change"
    best = answer.remedies[0]
    patched = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in best.patches}
    others = [line for line in best.changes if not patched.intersection(line.split()[:4])]
    parts = [printable(f"# no patch of a manifest: {line}") + "\n" for line in others]
    parts += [block_yaml(each) for each in best.patches]
    return "---\n".join(parts).rstrip("\n")


def headline(answer: Remedies, limit: Limit) -> str:
    """The pods, and what is in their way."""
    if not answer.pods:
        text = f"{answer.pod or 'every pod'} needs no remedy: "
        where = f"it is placed on {answer.node}" if answer.node else "none waits"
        return limit.verdict(text + where, GREEN)
    lines = [limit.paragraph(_subject(answer))]
    is_alone = not answer.group and answer.blocked_by in ("", *answer.pods[:1])
    who = "" if is_alone else f"{answer.blocked_by} "
    where = f"in {answer.domain}, where most of them fit, " if answer.domain else ""
    if answer.cause.startswith("it is waiting"):
        text = who + answer.cause.removeprefix("it ")
        lines.append(limit.verdict(text, YELLOW))
    elif answer.cause:
        text = f"{where}{who}fits on no node: {answer.cause}"
        lines.append(limit.verdict(text, RED))
    if answer.unresolved:
        rest = limit.listed(answer.unresolved)
        lines.append(limit.verdict(f"nothing helps {rest}", YELLOW))
    return "\n".join(lines)


def _subject(answer: Remedies) -> str:
    """What was asked about, and how many of its pods wait."""
    count = counted(len(answer.pods), "pod")
    if not answer.pod:
        return counted(len(answer.pods), "pending pod")
    if answer.pods == (answer.pod,):
        return answer.pod
    # A workload, or a tree of groups, may have more pods than the group that blocks it.
    subject, *names = (key.rpartition("/")[2] for key in (answer.pod, answer.group, *answer.pods))
    name = f"PodGroup {answer.group}" if answer.group and subject in names else answer.pod
    return f"{name}: {count} without a node"


def _block(number: int, remedy: Remedy, answer: Remedies, limit: Limit) -> str:
    """What to do, what it does, and how it is typed."""
    texts = remedy.parts or (remedy.text,)
    beginnings = [f"{number}. ", *("   and " for _ in texts[1:])]
    headings = [
        limit.paragraph(f"{begin}{text}", "   ")
        for begin, text in zip(beginnings, texts, strict=True)
    ]
    lines = [limit.verdict("\n".join(headings), GREEN)]
    lines += [limit.paragraph(f"   {line}", "   ") for line in effects(remedy, answer, limit)]
    lines += [f"     {change_option(line)}" for line in remedy.changes]
    lines += [f"     {command}" for command in remedy.commands if command]
    return "\n".join(lines)


def effects(remedy: Remedy, answer: Remedies, limit: Limit) -> Iterator[str]:
    """What the remedy does, line by line."""
    also, cost = remedy.also, remedy.cost
    count = len(answer.pods) - len(answer.unresolved)
    yield f"then it goes to {remedy.node}" if count == 1 else f"then all {count:,} have a node"
    if cost.disruption:
        yield (
            f"{counted(cost.disruption, 'running pod')} restarts"
            if cost.disruption == 1
            else (f"{counted(cost.disruption, 'running pod')} restart")
        )
    if also.moved:
        yield "moves: " + limit.listed([f"{pod} to {node}" for pod, node in also.moved.items()])
    if also.gone:
        yield "gone for good: " + limit.listed(also.gone)
    if also.pending_again:
        yield "then without a node: " + limit.listed(also.pending_again)
    if also.placed:
        yield "also placed: " + limit.listed(also.placed)


def change_option(line: str) -> str:
    """As a shell reads it: in single quotes, or double ones where the line has single ones."""
    if "'" not in line:
        return f"--change '{line}'"
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    return f'--change "{escaped}"'


def _conflict(answer: Remedies, limit: Limit) -> str:
    if not answer.conflict:
        return ""
    rows = [
        (
            counted(each.nodes, "node"),
            why_not(each.plugin, (each.reason,)),
        )
        for each in answer.conflict
    ]
    heading = limit.verdict("no change that was tried helps", RED)
    return f"{heading}\n\n{limit.whole.columns(('AGAINST', 'WHY'), rows)}"


def search(answer: Remedies, limit: Limit) -> str:
    """How much was tried."""
    if not answer.runs:
        return ""
    text = f"{counted(answer.runs, 'run')}"
    if answer.not_tried:
        text += "; not tried: " + "; ".join(answer.not_tried)
    return limit.paragraph(text)
