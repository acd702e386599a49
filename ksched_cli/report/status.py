"""A cluster at a glance, and how full it is."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from ksched_cli import program_name
from ksched_cli.analysis.status import BlockingBudget, ClusterStatus, Fullness, GatedGroup
from ksched_cli.report.pending import (
    alike,
    group_name,
    joint_owner,
    nodes_of,
    opened_groups,
    shared_owner,
)
from ksched_cli.report.usage import (
    COST_AN_HOUR,
    cost_columns,
    cost_tables,
    cost_text,
    nodes_table,
    pool_name,
    resources_table,
)
from ksched_cli.report.view import (
    Column,
    Command,
    Commands,
    Kind,
    Line,
    Medium,
    Table,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, enumerated, grouped, listed, percent, verb

SHOWN_CONSTRAINTS = 1
SHOWN_NAMES = 2
SHOWN_ROWS, SHOWN_POOLS, SHOWN_RESOURCES = 8, 12, 3


def view(answer: ClusterStatus) -> View:
    """Return the verdict, the nodes that take no pods, how full the others are, the pods that wait,
    and the budgets that block drains."""
    pods = answer.pods
    is_well = not (pods.pending or answer.nodes.apart)
    lines = []
    apart = [
        f"{len(names):,} {why} ({listed(names, SHOWN_NAMES)})"
        for why, names in answer.nodes.apart.items()
    ]
    if apart:
        lines.append(Line(f"no pods go to: {', '.join(apart)}"))
    if answer.cost:
        lines.append(Line(cost_text(answer.cost)))
    if pods.placeable:
        wait = verb(pods.placeable, "gets", "get")
        text = f"{counted(pods.placeable, 'pod')} without a node {wait} one now"
        lines.append(Line(text, Tone.SOFT))
    # Gated pods of one cause whose owners are alike are one group.
    same = grouped(((alike(each.owner), each.because), each) for each in answer.gated)
    gated = []
    for (_, because), rows in same.items():
        own = tuple(pod for each in rows for pod in each.pods)
        gated.append(GatedGroup(joint_owner(each.owner for each in rows), own, because))
    commands = [Command(f"{program_name()} capacity -f FILE", "says whether a new workload fits")]
    if answer.nodes.total > 1:
        drain = f"{program_name()} drain NODE"
        commands.insert(0, Command(drain, "says whether a node can be drained"))
    if pods.pending:
        commands.insert(0, Command(f"{program_name()} explain", "shows why pods stay pending"))
    return View(
        title="; ".join(_clauses(answer)),
        tone=Tone.GOOD if is_well else Tone.WARN,
        lines=lines,
        tiles=[
            Tile("nodes", f"{answer.nodes.total:,}"),
            Tile("take no pods", f"{answer.nodes.total - answer.nodes.taking_pods:,}"),
            Tile("pending", f"{pods.pending:,}", "bad" if pods.pending else "good"),
            Tile("gated", f"{pods.gated:,}", "warn" if pods.gated else ""),
            Tile("block drains", f"{len(answer.blocking_budgets):,}"),
        ],
        sections=[
            *opened_groups("Pending pods", answer.pending),
            table(
                "Gated pods",
                gated,
                (Column("Pods", Kind.NUMBER), lambda group: len(group.pods)),
                (
                    Column("Of", Kind.OWNER),
                    lambda group: group_name(shared_owner(group.owner), group.pods),
                ),
                (Column("Because"), lambda group: group.because),
                brief=SHOWN_ROWS,
                noun="groups of gated pods",
                on=Medium.ALL,
            ),
            table(
                "Budgets that block every drain",
                answer.blocking_budgets,
                (Column("Budget"), lambda each: each.budget),
                (Column("Pods", Kind.NUMBER), lambda each: each.pods),
                (Column("Nodes", Kind.NUMBER), lambda each: each.nodes),
                (Column("Because"), _why_blocking),
                brief=SHOWN_ROWS,
                noun="budgets",
            ),
            _shares(answer),
            *cost_tables((COST_AN_HOUR, answer.cost)),
            Text(lines=[Line(text, Tone.SOFT) for text in _remarks(answer)]),
            Commands(heading="What to try next", commands=commands),
        ],
        nodes=[*(usage.name for usage in answer.usages), *nodes_of(answer.pending)],
    )


def _clauses(answer: ClusterStatus) -> Iterator[str]:
    """Yield what a person asks first: do pods wait, are all nodes there, is there room."""
    pods, nodes, budgets = answer.pods, answer.nodes, answer.blocking_budgets
    total = pods.running + pods.placeable + pods.pending + pods.gated
    gated = f", {pods.gated:,} {verb(pods.gated, 'is', 'are')} gated" if pods.gated else ""
    if pods.pending:
        of = f"{pods.pending:,} of {counted(total, 'pod')}"
        yield f"{of} {verb(pods.pending, 'stays', 'stay')} pending{gated}"
    else:
        yield f"no pod stays pending{gated}"
    apart = nodes.total - nodes.taking_pods
    if not nodes.total:
        yield "the cluster has no nodes"
    elif apart:
        take = verb(apart, "takes", "take")
        yield f"{apart:,} of {counted(nodes.total, 'node')} {take} no pods"
    else:
        yield f"all {nodes.total:,} nodes take pods" if nodes.total > 1 else "its node takes pods"
    fullest = max(answer.total.used.items(), key=lambda item: item[1], default=None)
    if fullest:
        are = "are" if fullest[0] == "pods" else "is"
        yield f"{fullest[0]} {are} {percent(fullest[1])} requested"
    if budgets:
        # Their nodes may be the same: of several budgets, no number is named.
        own = counted(budgets[0].nodes, "node") if len(budgets) == 1 else "their nodes"
        block = verb(len(budgets), "blocks", "block")
        yield f"{counted(len(budgets), 'budget')} {block} every drain of {own}"


def _why_blocking(budget: BlockingBudget) -> str:
    if budget.shares:
        select = verb(len(budget.shares), "selects", "select")
        return f"{enumerated(budget.shares)} {select} its pods, too"
    counts = f"{budget.healthy:,} of {budget.needed:,} needed healthy"
    return f"{counts}, always" if budget.always else f"{counts}, until more are ready"


def _shares(answer: ClusterStatus | Fullness) -> Table:
    """How full the nodes are: all that take pods, then by pool, then the others."""
    label, total = answer.pools.label, answer.total
    pools = answer.pools.pools
    if all(pool.value is None for pool in pools):
        pools = tuple(pool for pool in pools if pool.apart)
    resources = dict.fromkeys(name for pool in (total, *pools) for name in pool.used)
    return table(
        f"How full, by {label}",
        [("all that take pods", total), *((pool_name(pool, label), pool) for pool in pools)],
        (Column("Nodes of"), lambda each: each[0]),
        (Column("Nodes", Kind.NUMBER), lambda each: each[1].nodes),
        *(
            (Column(name, Kind.SHARE), lambda each, name=name: each[1].used.get(name))
            for name in resources
            if any(pool.used.get(name) for pool in (total, *pools)) or "/" in name
        ),
        *(
            (column, lambda each, value=value: value(each[1]))
            for column, value in cost_columns(pool.cost for pool in (total, *pools))
        ),
        brief=SHOWN_POOLS,
        noun="pools",
    )


def _remarks(answer: ClusterStatus) -> Iterator[str]:
    """Yield what the state has to no effect, or has not."""
    if answer.idle_budgets:
        count = len(answer.idle_budgets)
        budgets = f"{counted(count, 'budget')} {verb(count, 'selects', 'select')} no pod"
        yield f"{budgets}: {listed(answer.idle_budgets, SHOWN_NAMES)}"
    if answer.idle_constraints:
        count = len(answer.idle_constraints)
        constraints = f"{counted(count, 'constraint')} {verb(count, 'does', 'do')} nothing"
        yield f"{constraints}: {listed(answer.idle_constraints, SHOWN_CONSTRAINTS)}"
    if answer.lacks:
        yield f"the state has no {enumerated(answer.lacks, 'and no')}"


def fullness_view(answer: Fullness) -> View:
    """How full the cluster and its pools are; with -o wide every node."""
    used = answer.total.used
    fullest = sorted(used, key=lambda name: (-used[name], name))[:SHOWN_RESOURCES]
    shares = enumerated([f"{percent(used[name])} of {name}" for name in fullest])
    nodes = counted(answer.total.nodes, "node")
    return View(
        title=f"{shares} requested, on {nodes}" if shares else "no node has any resource",
        lines=[Line(cost_text(answer.cost))] if answer.cost else [],
        sections=[
            resources_table(answer.usages),
            _shares(answer),
            *cost_tables((COST_AN_HOUR, answer.cost)),
            replace(nodes_table(answer.usages), on=Medium.WIDE | Medium.WHOLE),
        ],
        names=lambda: [pool.value for pool in answer.pools.pools if pool.value],
        nodes=[usage.name for usage in answer.usages],
    )
