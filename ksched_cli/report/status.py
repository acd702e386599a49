"""A cluster at a glance, and how full it is."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

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
    Section,
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
    return View(
        title="; ".join(_clauses(answer)),
        tone=Tone.GOOD if is_well else Tone.WARN,
        lines=[*_lines(answer)],
        tiles=[
            Tile("nodes", f"{answer.nodes.total:,}"),
            Tile("take no pods", f"{answer.nodes.total - answer.nodes.taking_pods:,}"),
            Tile("pending", f"{pods.pending:,}", "bad" if pods.pending else "good"),
            Tile("gated", f"{pods.gated:,}", "warn" if pods.gated else ""),
            Tile("block drains", f"{len(answer.blocking_budgets):,}"),
        ],
        sections=[*_sections(answer)],
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
        block = verb(len(budgets), "blocks", "block")
        yield f"{counted(len(budgets), 'budget')} {block} every drain of {_nodes(budgets)}"


def _nodes(budgets: tuple[BlockingBudget, ...]) -> str:
    """Their nodes may be the same: of several budgets, the most are named."""
    most = max(budget.nodes for budget in budgets)
    return counted(most, "node") if len(budgets) == 1 else "their nodes"


def _lines(answer: ClusterStatus) -> Iterator[Line]:
    apart = [
        f"{len(names):,} {why} ({listed(names, SHOWN_NAMES)})"
        for why, names in answer.nodes.apart.items()
    ]
    if apart:
        yield Line(f"no pods go to: {', '.join(apart)}")
    if answer.cost:
        yield Line(cost_text(answer.cost))
    placeable = answer.pods.placeable
    if placeable:
        wait = verb(placeable, "gets", "get")
        yield Line(f"{counted(placeable, 'pod')} without a node {wait} one now", Tone.SOFT)


def _sections(answer: ClusterStatus) -> Iterator[Section]:
    yield from opened_groups("Pending pods", answer.pending)
    yield table(
        "Gated pods",
        [*_merged(answer.gated)],
        (Column("Pods", Kind.NUMBER), lambda group: len(group.pods)),
        (Column("Of", Kind.OWNER), _owner),
        (Column("Because"), lambda group: group.because),
        brief=SHOWN_ROWS,
        noun="groups of gated pods",
        on=Medium.ALL,
    )
    yield table(
        "Budgets that block every drain",
        answer.blocking_budgets,
        (Column("Budget"), lambda each: each.budget),
        (Column("Pods", Kind.NUMBER), lambda each: each.pods),
        (Column("Nodes", Kind.NUMBER), lambda each: each.nodes),
        (Column("Because"), _why_blocking),
        brief=SHOWN_ROWS,
        noun="budgets",
    )
    yield _shares(answer)
    yield from cost_tables((COST_AN_HOUR, answer.cost))
    yield Text(lines=[*_remarks(answer)])
    yield Commands(heading="What to try next", commands=[*_commands(answer)])


def _merged(groups: Iterable[GatedGroup]) -> Iterator[GatedGroup]:
    """Yield the groups; those of one cause whose owners are alike are one."""
    same = grouped(((alike(each.owner), each.because), each) for each in groups)
    for (_, because), rows in same.items():
        pods = tuple(pod for each in rows for pod in each.pods)
        yield GatedGroup(joint_owner(each.owner for each in rows), pods, because)


def _owner(group: GatedGroup) -> str:
    return group_name(shared_owner(group.owner), group.pods)


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


def _remarks(answer: ClusterStatus) -> Iterator[Line]:
    if answer.idle_budgets:
        count = len(answer.idle_budgets)
        budgets = f"{counted(count, 'budget')} {verb(count, 'selects', 'select')} no pod"
        yield Line(f"{budgets}: {listed(answer.idle_budgets, SHOWN_NAMES)}", Tone.SOFT)
    if answer.idle_constraints:
        count = len(answer.idle_constraints)
        yield Line(
            f"{counted(count, 'constraint')} {verb(count, 'does', 'do')} nothing: "
            f"{listed(answer.idle_constraints, SHOWN_CONSTRAINTS)}",
            Tone.SOFT,
        )
    if answer.lacks:
        yield Line(f"the state has no {enumerated(answer.lacks, 'and no')}", Tone.SOFT)


def _commands(answer: ClusterStatus) -> Iterator[Command]:
    if answer.pods.pending:
        yield Command(f"{program_name()} explain", "shows why pods stay pending")
    if answer.nodes.total > 1:
        yield Command(f"{program_name()} drain NODE", "says whether a node can be drained")
    yield Command(f"{program_name()} capacity -f FILE", "says whether a new workload fits")


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
