"""An answer of `explain`: where the pod goes and why, or what is in its way; the nodes that fit,
ranked, then those that do not, grouped by reason.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from typing import Any

from ksched_cli import program_name
from ksched_cli.analysis.explain import (
    Explanation,
    GroupScaleUp,
    GroupVerdict,
    NodeExplanation,
    ScaleUp,
    ranking,
)
from ksched_cli.analysis.reasons import FilterStep
from ksched_cli.plugins import short_names
from ksched_cli.report.reasons import (
    APART_MAX,
    before_any_node,
    cause_lines,
    fix_command,
    message_line,
    rejected_nodes,
    remedy_lines,
    why_not,
)
from ksched_cli.report.view import (
    Bars,
    Column,
    Command,
    Commands,
    Kind,
    Later,
    Line,
    Medium,
    Section,
    Table,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, listed, marked, printable

SHORT_NAMES = short_names()
LONGEST_NAME = 9
BEST_NODES = 10
BEST_NODES_OF_RUNNING = 5
BEST_BARS = 20
SHOWN_TIES = 3
DEFAULT_PROFILE = "default-scheduler"
IN_ALL = (
    "Rejected here: of the nodes that the plugins above left. Rejected in all: of all nodes, also "
    "those that another plugin rejected before."
)
MATRIX = (
    "What each plugin says of each node: no, its points with their weight, or that it passes. "
    "Plugins that reject no node and give no points are left out."
)


def view(answer: Explanation) -> View:
    """Return the verdict, the points of the node taken and of those asked about, the ranking, the
    rejected nodes by reason, what to try next."""
    title, *lines = _verdict(answer)
    tiles = []
    if not answer.ignored:
        nodes, steps = len(answer.nodes), answer.funnel
        of_some = steps and _total(steps) != nodes
        tiles = [
            Tile("nodes shown" if of_some else "nodes", f"{nodes:,}"),
            Tile("fit", f"{answer.feasible:,}", "good" if answer.feasible else "bad"),
        ]
        if answer.evaluated != nodes:
            tiles.append(Tile("looked at in this attempt", f"{answer.evaluated:,}"))
        numbers = {"points": answer.score, "ahead of the next": answer.margin}
        if answer.running_on:
            numbers["rank of its node"] = answer.rank
        tiles += [Tile(key, f"{n:,}") for key, n in numbers.items() if n is not None]
    return View(
        title=title.text,
        tone=title.tone,
        lines=lines,
        tiles=tiles,
        sections=[*_sections(answer)],
        names=lambda: [node.node for node in ranking(answer)],
        nodes=[node.node for node in answer.nodes],
    )


# -- the verdict ----------------------------------------------------------------------------------


def _verdict(  # noqa: C901, PLR0912  # the lines, in their order
    answer: Explanation,
) -> Iterator[Line]:
    """Yield the answer, the cause, what to do about it, then what else there is to say."""
    yield from before_any_node(answer)
    if answer.gated or answer.ignored:
        yield from map(Line, answer.notes)
    if answer.ignored:
        return
    subject = pod = answer.pod
    if answer.gated:
        subject = "once it is, it"
    elif answer.running_on:
        rank = f", rank {answer.rank:,} of {answer.feasible:,}" if answer.rank else ""
        nowhere = "" if answer.rank else ", where it would not be placed now"
        verb_ = "is bound to" if answer.starting else "runs on"
        yield Line(f"{pod} {verb_} {answer.running_on}{rank}{nowhere}")
        subject = "today it"
    if answer.undecided or answer.error:
        cannot = "decided" if answer.undecided else "scheduled"
        yield Line(f"{subject} cannot be {cannot}: {answer.error or answer.message}", Tone.BAD)
    else:
        others: list[Line] = []
        if answer.node:
            first, *others = _placed(answer, subject)
        else:
            first = Line(f"{subject} {'gets' if answer.feasible else 'fits on'} no node", Tone.BAD)
            if answer.diagnosis is not None:
                others += cause_lines(answer.diagnosis)
                others += map(Line, remedy_lines(answer.diagnosis))
            others.append(message_line(answer.message))
        yield first
        # Nodes that were asked about by name are compared with the one taken.
        nodes = {node.node: node for node in answer.nodes}
        for name in answer.requested[:SHOWN_TIES]:
            node = nodes[name]
            if node.rejections:
                causes = (
                    why_not(each.plugin, (*each.reasons, *each.details)) for each in node.rejections
                )
                yield Line(f"not on {name}: {'; '.join(causes)}", Tone.WARN)
            elif name != answer.node and node.rank is not None:
                points = f", with {counted(node.total, 'point')}" if node.total is not None else ""
                yield Line(f"{name} is rank {node.rank:,} of {answer.feasible:,}{points}")
        yield from others
    if not answer.gated:
        yield from map(Line, answer.notes)
    if answer.scale_up:
        tone = Tone.GOOD if answer.scale_up.would_scale_up else Tone.WARN
        yield Line(scale_up_line(answer.scale_up), tone)
    if answer.profile not in ("", DEFAULT_PROFILE):
        yield Line(f"profile {answer.profile}", Tone.SOFT)


def _placed(answer: Explanation, subject: str) -> Iterator[Line]:
    """Yield the node and why there; who leaves it."""
    if answer.feasible == 1:
        why = ", the only node it fits on"
    elif answer.score is None:
        why = ""
    else:
        points = counted(answer.score, "point")
        if answer.ties:
            why = f", one of {len(answer.ties):,} equally good nodes with {points}"
        elif answer.margin is None:
            why = f" with {points}"
        else:
            why = f" with {points}, {answer.margin:,} ahead of the next"
    verb_ = "goes to" if not answer.running_on else "would go to"
    also = " too" if answer.running_on == answer.node else ""
    yield Line(f"{subject} {verb_} {answer.node}{also}{why}", Tone.GOOD)
    others = [name for name in answer.ties if name != answer.node]
    if others:
        yield Line(f"equally good: {listed(others, SHOWN_TIES)}")
    if answer.evicts:
        yield Line(f"after evicting {listed(answer.evicts, SHOWN_TIES)}", Tone.WARN)
    if answer.evicted_by:
        yield Line(f"and is evicted from there later, for {answer.evicted_by}", Tone.WARN)
    # The node is compared with the best of all that fit, unless all nodes were looked at.
    best = answer.best_of_all
    if best is not None and answer.evaluated < answer.node_count:
        is_best = f"{answer.node} is the best too"
        other_is = f"{best.node} would be the best, with {counted(best.score, 'point')}"
        sampled = (
            f"{answer.evaluated:,} of {counted(answer.node_count, 'node')} were looked at; "
            f"of all {answer.feasible:,} that fit, {is_best if answer.rank == 1 else other_is}"
        )
        yield Line(sampled, Tone.SOFT)


# -- sections -------------------------------------------------------------------------------------


def _sections(answer: Explanation) -> Iterator[Section]:
    fitting = ranking(answer)
    plugins = list(dict.fromkeys(chain.from_iterable(node.scores for node in fitting)))
    if answer.scale_up:
        yield node_groups(answer.scale_up)
    # Why a pod that runs would not be placed where it is.
    own = [node for node in answer.nodes if node.node == answer.running_on and node.rejections]
    if own and len(answer.nodes) > APART_MAX:
        yield from rejected_nodes(own, (), f"Why not on {answer.running_on} again")
    if fitting:
        detailed = {answer.node or fitting[0].node, *answer.requested}
        for node in fitting:
            if node.node in detailed and node.scores:
                yield table(
                    f"Its points on {node.node}",
                    node.scores.items(),
                    (Column("Plugin"), lambda each: each[0]),
                    (Column("Raw", Kind.NUMBER, drop=3), lambda each: each[1].raw),
                    (Column("0-100", Kind.NUMBER, drop=2), lambda each: each[1].normalized),
                    (Column("Weight", Kind.NUMBER, drop=1), lambda each: each[1].weight),
                    (Column("Points", Kind.NUMBER), lambda each: each[1].weighted),
                    (Column("Because"), lambda each: "; ".join(each[1].details)),
                    on=Medium.TEXT,
                )
        scores = [
            (Column(short_name(plugin), Kind.NUMBER, 1, fold=True), _weighted_by(plugin))
            for plugin in plugins
        ]
        yield table(
            "Nodes that fit, best first",
            fitting,
            (Column("Rank", Kind.NUMBER), lambda node: node.rank),
            (Column("Node", Kind.NODE), lambda node: marked(node.node, answer.node)),
            (Column("Total", Kind.NUMBER), lambda node: node.total),
            *scores,
            brief=BEST_NODES_OF_RUNNING if answer.running_on else BEST_NODES,
            noun="that fit",
            on=Medium.TEXT,
        )
    if answer.funnel:
        yield _funnel(answer.funnel)
    rejected = [node for node in answer.nodes if node.rejections]
    is_whole = len(answer.nodes) == answer.node_count
    yield from rejected_nodes(rejected, answer.reasons if is_whole else ())
    commands = []
    if not (answer.node or answer.ignored or answer.undecided or answer.error):
        commands.append(fix_command(answer.pod))
        if answer.may_preempt:
            preempt = f"{program_name()} preempt {answer.pod}"
            commands.append(Command(preempt, "shows whether evicting other pods would help"))
    yield Commands(heading="What to try next", commands=commands)
    yield Later(make=lambda: _page_sections(answer, fitting, plugins))


def _weighted_by(plugin: str) -> Any:
    """Return a function from a node to its points from the plugin: an extender need not name every
    node."""
    return lambda node: node.scores[plugin].weighted if plugin in node.scores else None


def short_name(plugin: str) -> str:
    """Return the plugin's short name; for an extender's URL, the end of its path, or the host."""
    name = plugin.rstrip("/").rpartition("/")[2] if "://" in plugin else plugin
    return SHORT_NAMES.get(name, name[:LONGEST_NAME])


# -- sections of the page -------------------------------------------------------------------------


def _page_sections(
    answer: Explanation, fitting: Sequence[NodeExplanation], plugins: Sequence[str]
) -> Iterator[Section]:
    if fitting and plugins:
        # The best nodes; each plugin's weighted score is a part of the bar.
        points = {plugin: _weighted_by(plugin) for plugin in plugins}
        scoring = [plugin for plugin in plugins if any(map(points[plugin], fitting))]
        shown = fitting[:BEST_BARS]
        notes = []
        if len(shown) < len(fitting):
            notes.append(f"The best {len(shown)} of {len(fitting):,}; the table of nodes has all.")
        idle = [plugin for plugin in plugins if plugin not in scoring]
        if idle:
            notes.append(f"No points for any node: {', '.join(idle)}.")
        yield Bars(
            heading="Ranking",
            columns=(Column("Rank", Kind.NUMBER), Column("Node"), Column("Total", Kind.NUMBER)),
            rows=[(node.rank, marked(node.node, answer.node), node.total) for node in shown],
            values=[[points[plugin](node) or 0 for plugin in scoring] for node in shown],
            legend=scoring,
            note=" ".join(notes),
        )
    if not answer.nodes:
        return
    from ksched_cli.report.html.sections import Pair

    yield Pair("Two nodes side by side", pair_data(answer, plugins))
    # Nodes come in the order in which they matter: the node taken, those asked about and the pod's
    # own, those that fit, best first, then those nearest to fitting.
    first = [answer.node, *answer.requested, answer.running_on]
    place = {name: at for at, name in enumerate(dict.fromkeys(filter(None, first)))}

    def order(node: NodeExplanation) -> tuple[Any, ...]:
        rank = node.rank if node.rank is not None else len(answer.nodes) + 1
        return place.get(node.node, len(place)), rank, node.distance, node.node

    rejecting = {each.plugin for node in answer.nodes for each in node.rejections}
    filters = [step.plugin for step in answer.funnel if step.plugin in rejecting]
    giving = [each for each in plugins if any(map(_weighted_by(each), answer.nodes))]
    columns = dict.fromkeys((*filters, *sorted(rejecting), *giving))
    yield table(
        "Every node and plugin",
        sorted(answer.nodes, key=order),
        (Column("Node", Kind.NODE), lambda node: marked(node.node, answer.node)),
        (Column("Fits"), lambda node: "yes" if node.fits else "no"),
        (Column("Rank", Kind.NUMBER), lambda node: node.rank),
        (Column("Total", Kind.NUMBER), lambda node: node.total),
        *((Column(plugin, Kind.VERDICT), _verdict_of(plugin, plugins)) for plugin in columns),
        # The numbers are left out: nodes seldom share them.
        (
            Column("Why not"),
            lambda node: "; ".join(why_not(each.plugin, each.reasons) for each in node.rejections),
        ),
        note=MATRIX,
        grid="nodes",
    )


def _verdict_of(plugin: str, scoring: Sequence[str]) -> Any:
    """Return a function from a node to what the plugin says of it: "no", its points, or
    "passes"."""

    def verdict(node: NodeExplanation) -> int | str | None:
        if any(each.plugin == plugin for each in node.rejections):
            return "no"
        if plugin in node.scores:
            return node.scores[plugin].weighted
        return "passes" if plugin not in scoring else None

    return verdict


def _total(steps: Sequence[FilterStep]) -> int:
    """Return how many nodes there are: the first plugin leaves all that it does not reject."""
    return steps[0].rejects + steps[0].left


def _funnel(steps: Sequence[FilterStep]) -> Bars:
    """Return all nodes, what each plugin leaves, those that fit."""
    total = left = _total(steps)
    rows: list[tuple[Any, ...]] = [("all nodes", total, None, None)]
    values = [(total, 0)]
    is_alone = True
    for step in steps:
        rejected, left = left - step.left, step.left
        is_alone = is_alone and step.rejects == rejected
        if step.rejects:
            rows.append((step.plugin or "Filter", left, rejected, step.rejects))
            values.append((left, rejected))
    columns = [
        Column(""),
        Column("Nodes left", Kind.NUMBER),
        Column("Rejected here", Kind.NUMBER),
        Column("Rejected in all", Kind.NUMBER),
    ]
    if is_alone:
        columns, rows = columns[:-1], [row[:-1] for row in rows]
    idle = [step.plugin for step in steps if not step.rejects]
    note = "" if is_alone else IN_ALL
    note += f" Plugins that rejected no node: {', '.join(idle)}." if idle else ""
    return Bars(
        heading="Nodes left after each plugin",
        columns=columns,
        rows=rows,
        values=values,
        legend=("left", "rejected here"),
        note=note.strip(),
    )


def pair_data(answer: Explanation, plugins: Sequence[str]) -> dict[str, Any]:
    """Return what each node is compared by, as columns, and which two are shown at first."""
    from ksched_cli.report.html.columns import coded

    nodes = answer.nodes
    # The node taken, else the best; beside it the one that the pod runs on, else the next best,
    # else the one nearest to fitting.
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
    first, second = chosen[0], chosen[min(1, len(chosen) - 1)]
    # A rejection has a plugin, reasons and details.
    rejections = [
        tuple(
            (
                printable(rejection.plugin),
                tuple(map(printable, rejection.reasons)),
                tuple(map(printable, rejection.details)),
            )
            for rejection in node.rejections
        )
        for node in nodes
    ]
    of_plugins = []
    for plugin in plugins:
        scores = [node.scores.get(plugin) for node in nodes]
        columns = {
            key: coded([score and getattr(score, key) for score in scores])
            for key in ("raw", "normalized", "weighted")
        }
        details = coded([printable("; ".join(score.details)) if score else "" for score in scores])
        weight = next(score.weight for score in scores if score)
        own = {"name": printable(plugin), "weight": weight, **columns, "details": details}
        of_plugins.append(own)
    return {
        "names": [printable(node.node) for node in nodes],
        "first": printable(first),
        "second": printable(second),
        "total": coded([node.total for node in nodes]),
        "rank": coded([node.rank for node in nodes]),
        "rejections": coded(rejections),
        "plugins": of_plugins,
    }


# -- what an autoscaler would do -------------------------------------------------------------------


def node_groups(answer: ScaleUp) -> Table:
    """Return a row per node group."""
    return table(
        "Node groups of the autoscaler",
        answer.groups,
        (Column("Node group"), lambda group: group.group),
        (Column("Nodes", Kind.NUMBER), lambda group: (group.nodes, group.max_size)),
        (Column("Verdict"), lambda group: group.verdict.value),
        (Column("Why"), _why_group),
    )


def scale_up_line(answer: ScaleUp) -> str:
    """Say which group gets how many nodes, or that none does."""
    chosen = [each for each in answer.groups if each.verdict is GroupVerdict.SCALES_UP]
    if chosen:
        (group,) = chosen
        return f"the autoscaler would add {counted(group.adds, 'node')} to {group.group}"
    reason = f": {answer.because}" if answer.because else ""
    return f"the autoscaler would add no node for it{reason}"


def _why_group(group: GroupScaleUp) -> str:
    match group.verdict:
        case GroupVerdict.REJECTS:
            return "; ".join(why_not(each.plugin, (each.message,)) for each in group.rejections)
        case GroupVerdict.SCALES_UP | GroupVerdict.NOT_CHOSEN:
            would = "" if group.verdict is GroupVerdict.SCALES_UP else "would add "
            return f"{would}{counted(group.adds, 'node')} for {counted(group.pods, 'pending pod')}"
        case GroupVerdict.FULL:
            return "the nodes that it may still add go to other pending pods"
    return ""
