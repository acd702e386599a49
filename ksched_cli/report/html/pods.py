"""The pages about pods: why each is where it is, who would leave for it, what would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from ksched_cli.analysis.diagnosis import PendingGroup, PendingReport
from ksched_cli.analysis.explain import (
    Blocker,
    Domain,
    Explanation,
    GroupExplanation,
    Member,
    NodeExplanation,
    ranking,
)
from ksched_cli.analysis.fix import Remedies, Remedy
from ksched_cli.analysis.preempt import CandidateNode, NonCandidateNode, PreemptionResult, Victim
from ksched_cli.analysis.reasons import FilterStep, Reason
from ksched_cli.report import explanation, fix, group_explanation, preemption
from ksched_cli.report.explanation import group_row, scale_up_line, short_name
from ksched_cli.report.fix import change_option, effects, search
from ksched_cli.report.html.charts import bar
from ksched_cli.report.html.columns import Kind, coded, column, filled
from ksched_cli.report.html.sections import (
    Bars,
    Grid,
    Group,
    Groups,
    Page,
    Pair,
    Prose,
    Section,
    Table,
    Tile,
    present,
)
from ksched_cli.report.pending import fix_subject, group_name, merged, shared_owner
from ksched_cli.report.preemption import pods_removed, why_not_with_it
from ksched_cli.report.reasons import message_line, remedy_line, why_not
from ksched_cli.report.table import PAGE, counted, marked, printable

# -- explain ---------------------------------------------------------------------------------------


BEST = 20
IN_ALL = (
    "Rejected here: of the nodes that the plugins above left. Rejected in all: of all nodes, also "
    "those that another plugin rejected before."
)


def explanation_page(answer: Explanation) -> Page:
    """The page of an explanation: the funnel of plugins, the reasons, the ranking, two nodes side
    by side, all nodes."""
    _, verdict, *lede = explanation.headline(answer, PAGE).split("\n")
    lede.append(f"profile {answer.profile}")
    return Page(
        f"{answer.pod}: {verdict}", lede, _explanation_tiles(answer), _explanation_sections(answer)
    )


def _explanation_tiles(answer: Explanation) -> list[Tile]:
    nodes, steps = len(answer.nodes), answer.funnel
    if answer.ignored:
        return []
    tiles = [
        Tile("nodes shown" if steps and _total(steps) != nodes else "nodes", f"{nodes:,}"),
        Tile("fit", f"{answer.feasible:,}", "good" if answer.feasible else "bad"),
    ]
    if answer.evaluated != nodes:
        tiles.append(Tile("looked at in this attempt", f"{answer.evaluated:,}"))
    numbers = {"points": answer.score, "ahead of the next": answer.margin}
    if answer.running_on:
        numbers["rank of its node"] = answer.rank
    return [*tiles, *(Tile(key, f"{n:,}") for key, n in numbers.items() if n is not None)]


def _total(steps: Sequence[FilterStep]) -> int:
    """How many nodes there are: the first plugin leaves all that it does not reject."""
    return steps[0].rejects + steps[0].left


def _explanation_sections(answer: Explanation) -> list[Section]:
    nodes, fitting = answer.nodes, ranking(answer)
    plugins = list(dict.fromkeys(plugin for node in fitting for plugin in node.scores))
    sections: list[Section] = []
    if answer.scale_up:
        rows = [group_row(each) for each in answer.scale_up.groups]
        headers = ("Node group", "Nodes", "Verdict", "Why")
        sections.append(Table("Autoscaler", headers, rows, scale_up_line(answer.scale_up)))
    if answer.funnel:
        sections.append(_funnel(answer))
    reasons = [reason_row(reason) for reason in answer.reasons]
    sections += present(Table("Why nodes do not fit", REASON_HEADERS, reasons))
    if fitting and plugins:
        sections.append(_ranking(answer.node, fitting, plugins))
    if nodes:
        sections.append(Pair("Two nodes side by side", pair_data(answer, plugins)))
        sections.append(Grid("Table of nodes", "nodes", _node_columns(nodes, plugins)))
    return sections


def _funnel(answer: Explanation) -> Bars:
    """All nodes, what each plugin leaves, those that fit."""
    steps = answer.funnel
    total = _total(steps)
    names = ("left", "rejected here")
    bars = [bar(("all nodes", total, "", ""), (total, 0), names, total)]
    left, is_alone = total, True
    for step in steps:
        rejected = left - step.left
        left = step.left
        is_alone = is_alone and step.rejects == rejected
        if step.rejects:
            cells = (step.plugin or "Filter", left, rejected, step.rejects)
            bars.append(bar(cells, (left, rejected), names, total))
    if is_alone:
        bars = [replace(each, cells=each.cells[:-1]) for each in bars]
    idle = [step.plugin for step in steps if not step.rejects]
    note = "" if is_alone else IN_ALL
    note += f" Plugins that rejected no node: {', '.join(idle)}." if idle else ""
    headers = ("", "Nodes left", "Rejected here", *(() if is_alone else ("Rejected in all",)), "")
    return Bars("Nodes left after each plugin", headers, bars, names, note.strip())


REASON_HEADERS = ("Nodes", "For no other reason", "Plugin", "Reason", "Nearest node")


def reason_row(reason: Reason) -> tuple[Any, ...]:
    nearest = reason.nearest
    where = ""
    if nearest:
        ties = f" and {nearest.ties:,} as near" if nearest.ties else ""
        detail = f": {nearest.detail}" if nearest.detail else ""
        where = f"{nearest.node}{ties}{detail}"
    return reason.nodes, reason.alone, reason.plugin, reason.reason, where


def _ranking(taken: str, fitting: Sequence[NodeExplanation], plugins: Sequence[str]) -> Bars:
    """The first of them, a part of the bar for each plugin's weighted score."""
    longest = max(node.total or 0 for node in fitting)
    scoring = [plugin for plugin in plugins if any(_weighted(node, plugin) for node in fitting)]
    bars = [
        bar(
            (node.rank, marked(node.node, taken), node.total),
            [_weighted(node, plugin) or 0 for plugin in scoring],
            scoring,
            longest,
        )
        for node in fitting[:BEST]
    ]
    notes = []
    if len(bars) < len(fitting):
        notes.append(f"The best {len(bars)} of {len(fitting):,}; the table of nodes has all.")
    idle = [plugin for plugin in plugins if plugin not in scoring]
    if idle:
        notes.append(f"No points for any node: {', '.join(idle)}.")
    headers = ("Rank", "Node", "Total", "Weighted scores")
    return Bars("Ranking", headers, bars, scoring, " ".join(notes))


def _weighted(node: NodeExplanation, plugin: str) -> int | None:
    """An extender need not name every node."""
    return node.scores[plugin].weighted if plugin in node.scores else None


def pair_data(answer: Explanation, plugins: Sequence[str]) -> dict[str, Any]:
    """What each node is compared by, as columns, and which two are shown at first."""
    nodes = answer.nodes
    first, second = _first_pair(answer)
    return {
        "names": [printable(node.node) for node in nodes],
        "first": printable(first),
        "second": printable(second),
        "total": coded([node.total for node in nodes]),
        "rank": coded([node.rank for node in nodes]),
        "rejections": coded([_rejections(node) for node in nodes]),
        "plugins": [_plugin_columns(nodes, plugin) for plugin in plugins],
    }


def _plugin_columns(nodes: Sequence[NodeExplanation], plugin: str) -> dict[str, Any]:
    scores = [node.scores.get(plugin) for node in nodes]
    columns = {
        key: coded([score and getattr(score, key) for score in scores])
        for key in ("raw", "normalized", "weighted")
    }
    details = coded([printable("; ".join(score.details)) if score else "" for score in scores])
    weight = next(score.weight for score in scores if score)
    return {"name": printable(plugin), "weight": weight, **columns, "details": details}


def _rejections(node: NodeExplanation) -> tuple[tuple[str, tuple[str, ...], tuple[str, ...]], ...]:
    """Plugin, reasons, details."""
    return tuple(
        (
            printable(rejection.plugin),
            tuple(map(printable, rejection.reasons)),
            tuple(map(printable, rejection.details)),
        )
        for rejection in node.rejections
    )


def _first_pair(answer: Explanation) -> tuple[str, str]:
    """The node taken, else the best; beside it the one that the pod runs on, else the next best,
    else the one nearest to fitting."""
    names = [node.node for node in answer.nodes]
    nearest = [reason.nearest.node for reason in answer.reasons if reason.nearest]
    order = [
        answer.node,
        answer.running_on,
        *(node.node for node in ranking(answer)[:2]),
        *nearest,
        *names[:2],
    ]
    chosen = [name for name in dict.fromkeys(order) if name in set(names)]
    return chosen[0], chosen[min(1, len(chosen) - 1)]


def _node_columns(nodes: Sequence[NodeExplanation], plugins: Sequence[str]) -> list[dict[str, Any]]:
    columns = [
        column("Node", [node.node for node in nodes]),
        column("Fits", ["yes" if node.fits else "no" for node in nodes]),
        column("Rank", [node.rank for node in nodes], Kind.NUMBER),
        column("Total", [node.total for node in nodes], Kind.NUMBER),
    ]
    columns += [
        column(short_name(plugin), [_weighted(node, plugin) for node in nodes], Kind.NUMBER)
        for plugin in plugins
    ]
    if any(node.rejections for node in nodes):
        columns.append(
            column("Rejected by", [", ".join(r.plugin for r in node.rejections) for node in nodes])
        )
        columns.append(column("Why not", [_why(node) for node in nodes]))
    return filled(columns)


def _why(node: NodeExplanation) -> str:
    return "; ".join(text for rejection in node.rejections for text in rejection.reasons)


# -- explain --pending -----------------------------------------------------------------------------


NAMED_PODS = 20


def pending_page(answer: PendingReport) -> Page:
    """The page of all pods that stay pending: a block for each group, with its reasons."""
    summary, groups = answer.summary, answer.groups
    tiles = [
        Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else "good"),
        Tile("gated", f"{summary.gated:,}", "warn" if summary.gated else ""),
        Tile("left out", f"{summary.ignored:,}"),
        Tile("nodes", f"{summary.nodes:,}"),
    ]
    rows = [(pod, group) for group in groups for pod in group.pods]
    columns = [
        column("Pod", [pod for pod, _ in rows]),
        column("Owner", [_owner(group) for _, group in rows]),
        column("kube-scheduler's message", [group.message for _, group in rows]),
    ]
    sections = present(
        Groups("Why they wait", pending_blocks(groups)), Grid("Table of pods", "pods", columns)
    )
    title = "No pod stays pending"
    if groups:
        verb = "stays" if summary.pending == 1 else "stay"
        title = f"{counted(summary.pending, 'pod')} {verb} pending"
    return Page(title, (), tiles, sections)


def _owner(group: PendingGroup) -> str:
    return shared_owner(f"{group.namespace}/{group.owner}")


def pending_blocks(groups: Sequence[PendingGroup]) -> list[Group]:
    """The groups of the table, with all of their reasons."""
    return [_pending_group(group) for group in merged(groups)]


def _pending_group(group: PendingGroup) -> Group:
    pods = group.pods
    heading = group_name(_owner(group), pods)
    if heading not in pods:
        heading = f"{counted(len(pods), 'pod')} of {heading}"
    return Group(
        heading,
        message_line(group.message, PAGE),
        "cannot be decided" if group.undecided else "pending",
        "bad",
        REASON_HEADERS if group.reasons else (),
        [reason_row(reason) for reason in group.reasons],
        pods[:NAMED_PODS],
        len(pods),
        [group.diagnosis.cause, remedy_line(group.diagnosis, fix_subject(group), PAGE)]
        if group.diagnosis
        else (),
    )


# -- explain of a pod group ------------------------------------------------------------------------


def group_page(answer: GroupExplanation) -> Page:
    """The page of `explain` for a pod group: what blocks it, the domains that it was tried in, and
    its members."""
    title, *lede = group_explanation.headline(answer, PAGE).split("\n")
    tiles = [
        Tile("have a node", f"{answer.placed:,}", "good" if answer.placed else ""),
        Tile("pending", f"{answer.pending:,}", "bad" if answer.pending else ""),
    ]
    if answer.min_count is not None:
        tiles.append(Tile("at least", f"{answer.min_count:,}"))
    blockers = [_blocker(answer.blocked_by, answer.group)] if answer.blocked_by else []
    parts, members = answer.parts, answer.members
    tree = [
        column("Group", [f"{'· ' * part.depth}{part.group}" for part in parts]),
        column("At once", ["" if part.min_count is None else part.min_count for part in parts]),
        column("Within", [part.topology_key for part in parts]),
        column("Placed", [part.placed for part in parts]),
        column("Pods", [part.pods for part in parts]),
        column("Why not", [part.message for part in parts]),
    ]
    pods = [
        column("Pod", [member.pod for member in members]),
        column("State", [_state(member) for member in members]),
        column("Node", [member.node for member in members]),
        column("Why not", [member.message for member in members]),
    ]
    sections = present(
        Groups("What blocks the group", blockers),
        _domains(answer.domains, answer.topology_key),
        Grid("The tree of groups", "parts", tree),
        Prose("Evicted for it", answer.evicts),
        Grid("Members", "members", pods),
    )
    return Page(title, lede, tiles, sections)


def _blocker(blocker: Blocker, group: str) -> Group:
    where = f" in {blocker.domain}" if blocker.domain else ""
    diagnosis = blocker.diagnosis
    lede = (
        (diagnosis.cause, remedy_line(diagnosis, blocker.pod or group, PAGE)) if diagnosis else ()
    )
    return Group(f"{blocker.pod or group}{where}", blocker.message, "blocks", "bad", lede=lede)


def _domains(domains: tuple[Domain, ...], key: str) -> Bars:
    """How many of the members that were tried fit in each."""
    names = ("fit", "do not fit")
    most = max((domain.tried for domain in domains), default=0)
    bars = [
        bar(
            (domain.domain, domain.nodes, _verdict(domain), domain.blocked_by or domain.message),
            (domain.fitting, domain.tried - domain.fitting),
            names,
            most,
        )
        for domain in domains
    ]
    return Bars(f"Tried by {key}", ("Domain", "Nodes", "", "Blocked by", ""), bars, names)


def _verdict(domain: Domain) -> str:
    return "chosen" if domain.chosen else "fits" if domain.fits else "does not fit"


def _state(member: Member) -> str:
    if member.node:
        return "running" if member.running else "gets a node"
    return "gated" if member.gated else "pending"


# -- preempt ---------------------------------------------------------------------------------------


SHOWN_CANDIDATES = 10
VICTIM_HEADERS = ("Evicted", "Priority", "Started", "Cannot stay because", "Violates")


def preemption_page(answer: PreemptionResult) -> Page:
    """The page of a preemption: how the node was chosen, the candidates with their victims, the
    nodes that are not candidates."""
    _, verdict, *lede = preemption.headline(answer, PAGE).split("\n")
    lede.append(f"profile {answer.profile}")
    return Page(
        f"{answer.pod}: {verdict}", lede, _preemption_tiles(answer), _preemption_sections(answer)
    )


def _preemption_tiles(answer: PreemptionResult) -> list[Tile]:
    tiles = [Tile("priority", f"{answer.priority:,}")]
    if answer.fits:
        tiles.append(Tile("fits without evictions on", counted(len(answer.fits), "node")))
    if answer.candidates:
        tiles += [
            Tile("evicted", f"{len(answer.victims):,}", "warn"),
            Tile("candidates", f"{len(answer.candidates):,}"),
            Tile("decided by", answer.criterion or "nothing"),
        ]
    if answer.not_candidates:
        tiles.append(Tile("no candidates", f"{len(answer.not_candidates):,}"))
    return tiles


def _preemption_sections(answer: PreemptionResult) -> list[Section]:
    candidates = answer.candidates
    groups = [_candidate(answer, candidate) for candidate in candidates[:SHOWN_CANDIDATES]]
    rest = len(candidates) - len(groups)
    note = f"The best {len(groups)}; the table has {rest:,} more." if rest else ""
    text = (
        f"{counted(len(answer.not_searched), 'node')} were not looked at, as "
        f"{answer.num_candidates:,} candidates are enough; "
        "--all-candidates looks at all."
    )
    return present(
        _criteria(answer),
        Groups("Candidates, best first", groups, note),
        Grid("Table of candidates", "candidates", _candidates(candidates)),
        Grid("No candidates", "others", _others(answer.not_candidates)),
        Prose("Not looked at", [text] if answer.not_searched else ()),
    )


def _criteria(answer: PreemptionResult) -> Table:
    """The criteria asked, in their order; the last one decided."""
    rows = [
        (index, step.criterion, step.best, step.nodes_left)
        for index, step in enumerate(answer.criteria, 1)
    ]
    note = ""
    if answer.ties:
        note = f"{len(answer.ties):,} nodes are equally good; {answer.node} is taken."
    headers = ("", "Criterion", "Best", "Nodes left")
    return Table("How the node was chosen", headers, rows, note)


def _candidate(answer: PreemptionResult, candidate: CandidateNode) -> Group:
    is_taken = candidate.node == answer.node
    victims, reprieved = candidate.victims, candidate.reprieved
    parts = [f"{counted(len(victims), 'pod')} would leave"]
    if candidate.pdb_violations:
        violations = counted(candidate.pdb_violations, "violation")
        parts.append(f"{violations} of disruption budgets")
    parts.append(f"{len(reprieved):,} of lower priority may stay")
    return Group(
        candidate.node,
        "; ".join(parts) + (":" if reprieved else "."),
        "taken" if is_taken else "candidate",
        "good" if is_taken else "",
        VICTIM_HEADERS,
        [_victim(victim) for victim in victims],
        reprieved[:NAMED_PODS],
        len(reprieved),
    )


def _victim(victim: Victim) -> tuple[Any, ...]:
    rejection = victim.cannot_stay
    return (
        victim.pod,
        victim.priority,
        victim.start_time,
        rejection and why_not_with_it(rejection),
        ", ".join(victim.violates),
    )


def _candidates(candidates: Sequence[CandidateNode]) -> list[dict[str, Any]]:
    """In the order of the answer, best first."""
    priorities = [[victim.priority for victim in c.victims] for c in candidates]
    return [
        column("Rank", range(1, len(candidates) + 1), Kind.NUMBER),
        column("Node", [candidate.node for candidate in candidates]),
        column("Evicted", [len(candidate.victims) for candidate in candidates], Kind.NUMBER),
        column("PDB violations", [c.pdb_violations for c in candidates], Kind.NUMBER),
        column("Highest priority", [max(p, default=None) for p in priorities], Kind.NUMBER),
        column("Sum of priorities", [sum(p) for p in priorities], Kind.NUMBER),
        column("May stay", [len(candidate.reprieved) for candidate in candidates], Kind.NUMBER),
        column("Victims", [", ".join(v.pod for v in c.victims) for c in candidates]),
    ]


def _others(nodes: Sequence[NonCandidateNode]) -> list[dict[str, Any]]:
    return [
        column("Node", [node.node for node in nodes]),
        column("Pods removed", [pods_removed(node) for node in nodes]),
        column("Plugin", [node.plugin for node in nodes]),
        column("Reasons", ["; ".join(node.reasons) for node in nodes]),
        column("Details", ["; ".join(node.details) for node in nodes]),
    ]


# -- fix -------------------------------------------------------------------------------------------


def fix_page(answer: Remedies) -> Page:
    """The page of `fix`: the remedies best first with what each costs, or what makes all
    impossible."""
    title, *lede = fix.headline(answer, PAGE).split("\n")
    if lede:
        title = f"{title}: {lede.pop(0)}"
    remedies = answer.remedies
    tiles = [
        Tile("without a node", f"{len(answer.pods):,}", "bad" if answer.pods else "good"),
        Tile("remedies", f"{len(remedies):,}", "good" if remedies else ""),
        Tile("runs", f"{answer.runs:,}"),
    ]
    groups = [_remedy(number, each, answer) for number, each in enumerate(remedies, 1)]
    rows = [(each.nodes, why_not(each.plugin, (each.reason,))) for each in answer.conflict]
    sections = present(
        Groups("What helps", groups, "Each was verified by a complete run."),
        _costs(remedies),
        Table("Why no change that was tried helps", ("Nodes", "Reason"), rows),
        Prose("The search", (search(answer, PAGE),) if answer.runs else ()),
    )
    return Page(title, lede, tiles, sections)


def _remedy(number: int, remedy: Remedy, answer: Remedies) -> Group:
    """What to do, what it does, and how it is typed."""
    rows = [("ksched", change_option(line)) for line in remedy.changes]
    rows += [("kubectl", command) for command in remedy.commands if command]
    return Group(
        f"{number}. {' and '.join(remedy.parts or (remedy.text,))}",
        "\n".join(effects(remedy, answer, PAGE)),
        "best" if number == 1 else "helps",
        "good" if number == 1 else "",
        ("", ""),
        rows,
    )


def _costs(remedies: tuple[Remedy, ...]) -> Bars:
    most = max((each.cost.points for each in remedies), default=0)
    bars = [
        bar(
            (
                f"{number}. {each.text}",
                each.cost.disruption,
                each.cost.evictions,
                each.cost.nodes,
                f"{each.cost.requests:.0%}",
            ),
            (each.cost.points,),
            ("points",),
            most,
        )
        for number, each in enumerate(remedies, 1)
    ]
    headers = ("Remedy", "Restarts", "Evictions", "Nodes added", "Request given up", "")
    return Bars("What they cost", headers, bars)
