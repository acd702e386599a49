"""An answer of `fix`: what is in the way, the remedies best first, and what was not tried."""

from __future__ import annotations

from collections.abc import Iterator

from ksched_cli.analysis.fix import Remedies, Remedy
from ksched_cli.report.reasons import why_not
from ksched_cli.report.view import (
    Bars,
    Block,
    Column,
    Command,
    Commands,
    Groups,
    Kind,
    Line,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, listed, printable, verb

SHOWN_NAMES = 3
SHOWN_TRIED = 12
SHOWN_PLACED = 8


def view(answer: Remedies) -> View:
    """Return the cause, then a block per remedy; without any, the reasons that conflict."""
    title, *lines = _verdict(answer)
    remedies = answer.remedies
    costs = Bars(
        heading="What they cost",
        columns=(
            Column("Remedy"),
            Column("Restarts", Kind.NUMBER),
            Column("Evictions", Kind.NUMBER),
            Column("Nodes added", Kind.NUMBER),
            Column("Request given up", Kind.SHARE),
        ),
        rows=[
            (
                f"{number}. {each.text}",
                each.cost.disruption,
                each.cost.evictions,
                each.cost.nodes,
                each.cost.requests,
            )
            for number, each in enumerate(remedies, 1)
        ],
        values=[(each.cost.points,) for each in remedies],
        legend=("points",),
    )
    conflict = table(
        "What is in the way",
        answer.conflict,
        (Column("Nodes", Kind.NUMBER), lambda each: each.nodes),
        (Column("Why not"), lambda each: why_not(each.plugin, (each.reason,))),
    )
    # The last section says how much was tried, what if nothing helps, and what was not tried.
    tried = counted(answer.runs, "run")
    if answer.tried and not remedies:
        tried += f": {listed(answer.tried, SHOWN_TRIED)}"
    not_tried = [*answer.not_tried]
    if answer.no_moves is not None and answer.no_moves.outcome == "not searched":
        not_tried += answer.no_moves.because
    if not_tried:
        tried += "; not tried: " + "; ".join(not_tried)
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=[
            Tile("without a node", f"{len(answer.pods):,}", "bad" if answer.pods else "good"),
            Tile("remedies", f"{len(remedies):,}", "good" if remedies else ""),
            Tile("runs", f"{answer.runs:,}"),
        ],
        sections=[
            Groups(
                heading="What helps",
                blocks=[_block(number, each, answer) for number, each in enumerate(remedies, 1)],
                note="Each was verified by a complete run." if remedies else "",
            ),
            costs,
            conflict,
            Text(heading="What was tried", lines=[tried] if answer.runs else []),
        ],
        names=lambda: remedies[0].changes if remedies else (),
        nodes=[each for remedy in remedies for each in (remedy.node, *remedy.also.moved.values())],
    )


def patches(answer: Remedies) -> str:
    """Return the first remedy's patches of manifests, as YAML documents; what is no patch as
    comments."""
    from ksched_cli.kube.shown_yaml import block_yaml

    if not answer.remedies:
        return "# there is no remedy" if answer.pods else "# nothing to change"
    best = answer.remedies[0]
    patched = {f"{each['kind'].lower()}/{each['metadata']['name']}" for each in best.patches}
    others = [line for line in best.changes if not patched.intersection(line.split()[:4])]
    parts = [printable(f"# no patch of a manifest: {line}") + "\n" for line in others]
    parts += [block_yaml(each) for each in best.patches]
    return "---\n".join(parts).rstrip("\n")


def _verdict(  # noqa: C901, PLR0912  # the lines, in their order
    answer: Remedies,
) -> Iterator[Line]:
    """Yield the pods, and what is in their way."""
    if not answer.pods:
        text = "no pod of the queue stays pending: there is nothing to remedy"
        if answer.pod:
            where = f"it is placed on {answer.node}" if answer.node else "its pods have nodes"
            text = f"{answer.pod} needs no remedy: {where}"
        yield Line(text, Tone.GOOD)
        yield from _held(answer)
        return
    helps = counted(len(answer.remedies), "remedy", "remedies")
    outcome = f"{helps} {verb(len(answer.remedies), 'helps', 'help')}"
    tone = Tone.GOOD if answer.is_yes else Tone.WARN if answer.remedies else Tone.BAD
    if not answer.remedies:
        tried = counted(len(answer.tried), "change")
        outcome = f"no remedy; {tried} {verb(len(answer.tried), 'was', 'were')} tried"
        if not answer.tried:
            outcome = "there is no change to try"
    yield Line(f"{_subject(answer)}: {outcome}", tone)
    is_alone = answer.pod and not answer.group and answer.blocked_by in ("", *answer.pods[:1])
    who = "it " if is_alone else f"{answer.blocked_by} "
    where = f" in {answer.domain}, where most of them fit" if answer.domain else ""
    if answer.cause.startswith("it is waiting"):
        yield Line(who + answer.cause.removeprefix("it "))
    elif answer.cause:
        yield Line(f"{who}fits on no node{where}: {answer.cause}")
    # The pods of a group could go there.
    if answer.placement:
        places = [
            f"{pod.pod} on {pod.node}" + (f" ({', '.join(pod.devices)})" if pod.devices else "")
            for pod in answer.placement
        ]
        exists = "a placement exists that kube-scheduler does not find"
        yield Line(f"{exists}: {listed(places, SHOWN_PLACED)}", Tone.WARN)
    if answer.unresolved and len(answer.pods) > 1:
        names = listed(answer.unresolved, SHOWN_NAMES)
        yield Line(f"no remedy was found for {names}", Tone.WARN)
    # It is proven that no moves help, or the search for them ended without a proof.
    if answer.no_moves is not None and (not answer.remedies or answer.unresolved):
        no_moves, count = answer.no_moves, len(answer.pods)
        because = "; ".join(no_moves.because)
        if no_moves.outcome == "none exists":
            yield Line(f"no moves of running pods help, which is proven: {because}")
        elif no_moves.outcome == "none found":
            yield Line(f"no moves of running pods were found, which is no proof: {because}")
        if no_moves.at_most is not None and count > 1:
            get = f"at most {no_moves.at_most:,} of {count:,} get a node"
            yield Line(f"wherever pods are moved, {get}")
    yield from _held(answer)


def _held(answer: Remedies) -> Iterator[Line]:
    """Yield the pods that the search is not about, although they wait."""
    if answer.held:
        count, names = len(answer.held), listed(answer.held, SHOWN_NAMES)
        yield Line(f"{counted(count, 'pod')} {verb(count, 'is', 'are')} not in the queue: {names}")


def _subject(answer: Remedies) -> str:
    """Say what was asked about, and how many of its pods wait."""
    count = counted(len(answer.pods), "pod")
    if not answer.pod:
        return counted(len(answer.pods), "pending pod")
    if answer.pods == (answer.pod,):
        return answer.pod
    # A workload, or a tree of groups, may have more pods than the group that blocks it.
    subject, *names = (key.rpartition("/")[2] for key in (answer.pod, answer.group, *answer.pods))
    name = f"PodGroup {answer.group}" if answer.group and subject in names else answer.pod
    return f"{name}, {count} without a node"


def _block(number: int, remedy: Remedy, answer: Remedies) -> Block:
    """Return what to do, what it does, and how it is typed."""
    also, cost = remedy.also, remedy.cost
    lines = []
    if remedy.pause:
        lines.append(f"each command {remedy.pause:g} s after the one before: no pod backs off then")
    elif len(remedy.moves) > 1:
        lines.append("one after the other, each pod once the one before has a node again")
    count = len(answer.pods) - len(answer.unresolved)
    goes = f"then it goes to {remedy.node}"
    lines.append(goes if count == 1 else f"then all {count:,} have a node")
    if cost.disruption:
        pods = counted(cost.disruption, "running pod")
        lines.append(f"{pods} {verb(cost.disruption, 'stops', 'stop')}")
    own = {each.pod for each in remedy.moves}
    effects = {
        "moves": [f"{pod} to {node}" for pod, node in also.moved.items() if pod not in own],
        "gone for good": also.gone,
        "then without a node": also.pending_again,
        "also placed": also.placed,
    }
    lines += [f"{what}: {listed(names, SHOWN_NAMES)}" for what, names in effects.items() if names]
    # The table shows what moves leave on the nodes that change.
    usage = table(
        "",
        remedy.usage or (),
        (Column("Node", Kind.NODE), lambda each: each.node),
        (Column("Resource"), lambda each: each.resource),
        (Column("Before", Kind.AMOUNT), lambda each: (each.resource, each.before)),
        (Column("After", Kind.AMOUNT), lambda each: (each.resource, each.after)),
        (Column("Of", Kind.AMOUNT), lambda each: (each.resource, each.allocatable)),
    )
    commands = [Command(change_option(line)) for line in remedy.changes]
    commands += [Command(command) for command in remedy.commands if command]
    return Block(
        heading=f"{number}. {' and '.join(remedy.parts or (remedy.text,))}",
        tone=Tone.GOOD,
        lines=lines,
        sections=[usage, Commands(commands=commands)],
    )


def change_option(line: str) -> str:
    """Quote a line for a shell: in single quotes, or double ones if the line has single ones."""
    if "'" not in line:
        return f"--change '{line}'"
    escaped = line.replace("\\", "\\\\").replace('"', '\\"').replace("$", "\\$").replace("`", "\\`")
    return f'--change "{escaped}"'
