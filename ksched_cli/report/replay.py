"""Answers of `replay`: who waited how long, how full the cluster was, and who waits still; when
pending pods start."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from msgspec.structs import astuple

from ksched_cli.analysis.replay_figures import (
    GroupWaits,
    WaitingTimes,
    short,
    shown,
)
from ksched_cli.analysis.replay_result import (
    ForwardLook,
    GroupResult,
    NodeRange,
    ReplayResult,
    UsageStep,
    seconds,
)
from ksched_cli.answers import plain
from ksched_cli.cluster.resources import PODS
from ksched_cli.kube.time import SECOND
from ksched_cli.report.metrics import metrics_table
from ksched_cli.report.reasons import message_line
from ksched_cli.report.regret import moments_table, regret_curves, regret_table
from ksched_cli.report.times import MomentTexts, time_text
from ksched_cli.report.view import (
    Block,
    Column,
    Groups,
    Kind,
    Later,
    Medium,
    Section,
    Table,
    Text,
    Tile,
    Tone,
    View,
    table,
)
from ksched_cli.report.words import counted, verb

# -- numbers of nodes, hours and costs -------------------------------------------------------------


def range_text(counts: NodeRange | GroupResult) -> str:
    """Return the numbers at first, at most and at last, or the one number that does not change."""
    numbers = (counts.start, counts.max, counts.end)
    return " → ".join(f"{number:,}" for number in numbers[: 1 if len(set(numbers)) == 1 else 3])


def hours_text(hours: float) -> str:
    """Return hours as 1,234.5, 57 or 0.042."""
    return f"{hours:.2g}" if 0 < hours < 1 else f"{hours:,.1f}".removesuffix(".0")


def cost_text(cost: float) -> str:
    """Return a cost as 1,234.50; more digits of less than a hundredth."""
    return f"{cost:.2g}" if 0 < cost < 0.01 else f"{cost:,.2f}"


# -- replay ----------------------------------------------------------------------------------------

_SHOWN_GROUPS = 20
_SHOWN_MESSAGES = 10
_SHOWN_EVENTS = 200


def view(answer: ReplayResult) -> View:
    """Return what became of the pods, the cluster over time, and the pods that wait still."""
    summary, waiting = answer.summary, answer.waiting.all
    tiles = [
        Tile("placed", f"{summary.placed:,}", "good" if summary.placed else ""),
        Tile("pending", f"{summary.pending:,}", "bad" if summary.pending else ""),
        Tile("evicted", f"{summary.evicted:,}", "warn" if summary.evicted else ""),
        Tile("waited, mean", time_text(waiting.mean)),
        Tile("waited, 99 of 100 at most", time_text(waiting.p99)),
        Tile("node-hours", hours_text(answer.nodes.hours)),
    ]
    if answer.cost:
        tiles.append(Tile("cost", cost_text(answer.cost.total)))
    # With how many nodes, and what these cost.
    pending = answer.pending_hours
    parts = [f"nodes {range_text(answer.nodes)}", f"{hours_text(answer.nodes.hours)} node-hours"]
    if pending:
        parts.append(f"{hours_text(pending)} pending-hours")
    if answer.cost:
        parts.append(f"cost {cost_text(answer.cost.total)}")
    # The title says what became of the pods.
    fates = [
        f"{getattr(summary, key):,} {key}"
        for key in ("ended", "evicted", "deleted", "pending", "gated")
        if getattr(summary, key) or key in ("ended", "pending")
    ]
    return View(
        title=(
            f"{counted(summary.placed, 'pod')} placed in {time_text(answer.end)} of simulated "
            f"time: {', '.join(fates)}; {summary.running:,} running at the end"
        ),
        tone=Tone.WARN if summary.pending else Tone.GOOD,
        lines=[", ".join(parts)],
        tiles=tiles,
        sections=[*_sections(answer)],
        names=lambda: sorted(pod for group in answer.still_pending for pod in group.pods),
    )


def _sections(answer: ReplayResult) -> Iterator[Section]:
    yield Later(make=lambda: _charts(answer))
    # Each message has a block; that of the most pods comes first.
    blocks = []
    for group in answer.still_pending:
        name = group.pods[0] if len(group.pods) == 1 else counted(len(group.pods), "pod")
        message = message_line(group.message) if group.message else "not tried yet"
        blocks.append(Block(heading=name, names=group.pods, lines=[message]))
    yield Groups(
        heading="Pods that stay pending",
        blocks=blocks,
        brief=_SHOWN_MESSAGES,
        noun="groups of pods",
    )
    yield _waiting(answer)
    yield _jobs(answer)
    yield _users(answer)
    # The cluster is shown at its extremes, and at equal steps of the calendar between them.
    moments = MomentTexts(answer.clock_start, round(answer.end * SECOND))
    names = shown(answer.resources)
    used = [
        (Column(short(name), Kind.SHARE, drop=min(at, 1) * 2), _share("utilization", name))
        for at, name in enumerate(names)
    ]
    stranded = [
        (Column(f"Stranded {short(name)}", Kind.SHARE, drop=3), _share("stranded", name))
        for name in names[:1]
    ]
    yield table(
        "The cluster over time",
        answer.steps,
        (Column(moments.header), lambda step: moments.text(step.at)),
        (Column("Nodes", Kind.NUMBER), lambda step: step.sample.nodes),
        (Column("Pods", Kind.NUMBER), lambda step: step.sample.pods),
        (Column("Pending", Kind.NUMBER), lambda step: step.sample.pending),
        *used,
        *stranded,
        (Column("Highest", drop=1), lambda step: ", ".join(step.highest)),
        on=Medium.TEXT,
    )
    if answer.regret:
        yield regret_table(answer.regret)
        if answer.regret_over_time:
            yield moments_table(answer.regret, answer.regret_over_time, moments)
    if answer.metrics:
        yield metrics_table(answer.metrics)
    if answer.autoscaler:
        yield table(
            "Node groups",
            answer.autoscaler.groups,
            (Column("Node group"), lambda group: group.name),
            (Column("Nodes", Kind.NUMBER), range_text),
            (Column("Node-hours", Kind.NUMBER), lambda group: hours_text(group.hours)),
            (Column("Added", Kind.NUMBER), lambda group: group.added),
            (Column("Removed", Kind.NUMBER), lambda group: group.removed),
            brief=_SHOWN_GROUPS,
        )
        # The page shows the first decisions.
        events = answer.autoscaler.events
        rest = len(events) - _SHOWN_EVENTS
        yield table(
            "Scaling",
            events[:_SHOWN_EVENTS],
            (Column(moments.header), lambda event: moments.text(round(event.at * SECOND))),
            (Column("Event"), lambda event: event.type.value),
            (Column("Node group"), lambda event: event.group),
            (Column("Nodes", Kind.NUMBER), lambda event: len(event.nodes)),
            (Column("Because"), lambda event: event.reason.value),
            note=f"{rest:,} more" if rest > 0 else "",
            on=Medium.PAGE,
        )
    if answer.cost:
        cost = answer.cost
        unpriced = counted(cost.unpriced, "node")
        without = f"Without {unpriced} that {verb(cost.unpriced, 'has', 'have')} no price."
        yield table(
            "Cost",
            cost.prices,
            (Column("Price of"), lambda each: each.name),
            (Column("An hour", Kind.NUMBER), lambda each: f"{each.per_hour:g}"),
            (Column("Nodes", Kind.NUMBER), lambda each: each.nodes),
            (Column("Billed hours", Kind.NUMBER), lambda each: hours_text(each.hours)),
            (Column("Cost", Kind.NUMBER), lambda each: cost_text(each.cost)),
            brief=_SHOWN_GROUPS,
            note=without if cost.unpriced else "",
        )


def _charts(answer: ReplayResult) -> Iterator[Section]:
    from ksched_cli.report.html.curves import curves_of_run
    from ksched_cli.report.html.gantt import pods_by_node
    from ksched_cli.report.html.sections import TimeCharts

    if answer.curves is not None:
        more = {}
        if answer.regret and answer.regret_over_time:
            own = regret_curves(answer.regret, answer.regret_over_time)
            more[f"Best placement, {answer.regret.quantity}"] = own
        yield TimeCharts("Over time", "replay", curves_of_run(answer.curves, more))
    yield from pods_by_node(answer)


def _waiting(answer: ReplayResult) -> Table:
    """Return all pods, then each priority and namespace where there are several, then each owner;
    of each kind the longest mean first."""
    waiting = answer.waiting
    rows: list[tuple[str, WaitingTimes | GroupWaits]] = []
    if waiting.all.pods:
        rows.append(("all pods", waiting.all))
    for label, own in (("priority ", waiting.priority), ("namespace ", waiting.namespace),
                       ("", waiting.owner)):  # fmt: skip
        if len(own) > 1 or not label:
            ordered = sorted(own, key=lambda group: -group.mean)
            rows += [(f"{label}{group.name}", group) for group in ordered]
    count = waiting.all.still_waiting
    still = [(Column("Still wait", Kind.NUMBER), lambda row: row[1].still_waiting)] if count else []
    note = (
        f"{counted(count, 'pod')} still {verb(count, 'waits', 'wait')} at the end, and "
        f"{verb(count, 'counts', 'count')} with the time so far."
    )
    return table(
        "Waiting times",
        rows,
        (Column("Waited for a node"), lambda row: row[0]),
        (Column("Pods", Kind.NUMBER), lambda row: row[1].pods),
        *still,
        (Column("Mean", Kind.DURATION), lambda row: row[1].mean),
        (Column("P50", Kind.DURATION), lambda row: row[1].p50),
        (Column("P90", Kind.DURATION, drop=2), lambda row: row[1].p90),
        (Column("P99", Kind.DURATION, drop=1), lambda row: row[1].p99),
        (Column("Max", Kind.DURATION), lambda row: row[1].max),
        brief=_SHOWN_GROUPS,
        note=note if count else "",
        grid="waits" if len(rows) > _SHOWN_GROUPS else "",
    )


def _jobs(answer: ReplayResult) -> Table:
    """Return the figures of jobs, unless each that was completed is a pod alone."""
    jobs, rows = answer.jobs, list[tuple[str, ...]]()
    note = ""
    if jobs and _has_jobs(answer):
        times = (("completion time", jobs.completion_time), ("waited", jobs.waiting))
        ratios = (("slowdown", jobs.slowdown), ("bounded slowdown", jobs.bounded_slowdown))
        rows = [(name, *map(time_text, astuple(own))) for name, own in times]
        rows += [(name, *(f"{each:,.2f}" for each in astuple(own))) for name, own in ratios]
        unfinished = f", {jobs.unfinished:,} unfinished" if jobs.unfinished else ""
        note = f"{jobs.completed:,} completed in {time_text(jobs.makespan)}{unfinished}."
        if jobs.gpu_hours:
            note += f" {hours_text(jobs.gpu_hours)} GPU-hours."
        if jobs.restarts or jobs.lost_hours:
            restarts, lost = counted(jobs.restarts, "restart"), hours_text(jobs.lost_hours)
            note += f" {restarts} after evictions, which lost {lost} pod-hours."
    # Narrow terminals leave out what they leave out of waiting times.
    drops = {"Mean": 0, "P50": 0, "P90": 2, "P95": 3, "P99": 1, "Max": 0}
    columns = [Column(title, Kind.NUMBER, drop=drop) for title, drop in drops.items()]
    return Table(heading="Jobs", columns=[Column(""), *columns], rows=rows, note=note)


def _has_jobs(answer: ReplayResult) -> bool:
    """Return whether some job that was completed is no pod alone."""
    return answer.jobs is not None and answer.summary.ended > answer.jobs.completed


def _users(answer: ReplayResult) -> Table:
    """Return the jobs of each user, where there are several; of namespaces unless each job is a
    pod."""
    jobs, users = answer.jobs, answer.users
    note = ""
    if jobs is None or len(users) < 2 or not (answer.user_label or _has_jobs(answer)):
        users = ()
    else:
        note = f"Means of completed jobs. Jain's index of the slowdowns is {jobs.fairness:.2f}."
    gpus = [(Column("GPU-hours", Kind.NUMBER), lambda user: hours_text(user.gpu_hours))]
    return table(
        "Users",
        users,
        (Column("User"), lambda user: user.name or "(none)"),
        (Column("Jobs", Kind.NUMBER), lambda user: user.completed),
        (Column("Completion time", Kind.DURATION), lambda user: user.completion_time),
        (Column("Waited", Kind.DURATION, drop=1), lambda user: user.waiting),
        (Column("Bounded slowdown", Kind.NUMBER), lambda user: ratio_text(user.bounded_slowdown)),
        *(gpus if any(user.gpu_hours for user in users) else ()),
        (Column("Dominant share", Kind.SHARE), lambda user: user.dominant_share),
        (Column("Of", drop=2), lambda user: short(user.dominant_resource)),
        brief=_SHOWN_GROUPS,
        note=note,
        grid="users" if len(users) > _SHOWN_GROUPS else "",
    )


def ratio_text(ratio: float | None) -> str:
    """Return a slowdown with two digits; "" for none."""
    return "" if ratio is None else f"{ratio:,.2f}"


def _share(kind: str, resource: str) -> Callable[[UsageStep], float | None]:
    return lambda step: getattr(step.sample, kind).get(resource)


# -- replay -o csv ---------------------------------------------------------------------------------

CSV_COLUMNS = (
    "pod", "namespace", "owner", "job", "priority", "queued", "firstTried", "placed", "node",
    "waited", "evicted", "ended", "attempts", "outcome", "message",
)  # fmt: skip


def rows(answer: ReplayResult) -> tuple[Iterator[Mapping[str, Any]], Sequence[str]]:
    """Return a row per pod, or per moment where the answer has all of them, and the names of the
    columns."""
    if answer.moments:
        return _moment_rows(answer), ()
    return _pod_rows(answer), CSV_COLUMNS


def _moment_rows(answer: ReplayResult) -> Iterator[Mapping[str, Any]]:
    names = answer.resources
    for moment in answer.moments:
        sample = moment.sample
        row = {"at": moment.at, "nodes": sample.nodes, "pods": sample.pods}
        row["pending"] = sample.pending
        if moment.cost is not None:
            row["cost"] = moment.cost
        row |= {f"nodes:{name}": count for name, count in moment.sizes.items()}
        row |= {f"utilization:{name}": sample.utilization[name] for name in names}
        others = (name for name in names if name != PODS)
        yield row | {f"stranded:{name}": sample.stranded.get(name, 0.0) for name in others}


def _pod_rows(answer: ReplayResult) -> Iterator[Mapping[str, Any]]:
    """Yield the pods in the order in which they left."""
    pods = answer.pods or ()
    for pod in (pods[at] for at in answer.left):
        # It waited from its arrival to its placement, exact to the microsecond.
        waited = None
        if pod.queued is not None and pod.placed is not None:
            waited = seconds(round((pod.placed - pod.queued) * SECOND))
        row = {**plain(pod), "namespace": pod.pod.partition("/")[0], "waited": waited}
        yield {name: row[name] for name in CSV_COLUMNS}


# -- replay --from-now -----------------------------------------------------------------------------


def forecast(answer: ForwardLook) -> View:
    """Return when each pending pod starts, and what was assumed."""
    pods = answer.pods
    sure = sum(pod.p90 is not None for pod in pods)
    never = sum(not pod.started and not pod.gated for pod in pods)
    # The title says how many pods start, and over how many draws.
    since = f" from {answer.now} on" if answer.now else ""
    title = f"no pod is pending{since}"
    if pods:
        pending, draws = counted(len(pods), "pending pod"), counted(answer.draws, "draw")
        starts = verb(sure or len(pods), "starts", "start")
        title = f"{sure:,} of {pending} {starts} in nine of ten draws ({draws}{since})"
    # Each owner with a history or a deadline has a line, and all others share one.
    assumed = []
    unknown = {True: 0, False: 0}
    for each in answer.assumptions:
        if each.basis == "none":
            unknown[each.running] += each.pods
            continue
        state = "running" if each.running else "pending"
        subject = counted(each.pods, f"{state} pod") + (f" of {each.owner}" if each.owner else "")
        finished = counted(each.samples, "finished pod")
        how = f"as its {finished} did" if each.basis == "history" else "at activeDeadlineSeconds"
        assumed.append(f"{subject} {verb(each.pods, 'ends', 'end')} {how}")
    for running, count in unknown.items():
        if count:
            state = "running" if running else "pending"
            stays = verb(count, "stays", "stay") + ("" if running else " once placed")
            assumed.append(f"{counted(count, f'{state} pod')} without a known run time {stays}")
    return View(
        title=title,
        tone=Tone.GOOD if answer.is_certain else Tone.WARN,
        tiles=[
            Tile("start in nine of ten draws", f"{sure:,}", "good" if sure else ""),
            Tile("never start", f"{never:,}", "bad" if never else ""),
            Tile("draws", f"{answer.draws:,}"),
        ],
        sections=[
            table(
                "Pending pods",
                pods,
                (Column("Pod", Kind.POD), lambda pod: pod.pod),
                (Column("Owner", on=Medium.PAGE), lambda pod: pod.owner),
                (Column("Priority", Kind.NUMBER, on=Medium.PAGE), lambda pod: pod.priority),
                (Column("Starts in (p50)", Kind.DURATION), lambda pod: _or_never(pod.p50)),
                (Column("p90", Kind.DURATION), lambda pod: _or_never(pod.p90)),
                (
                    Column("In draws", Kind.SHARE),
                    lambda pod: "gated" if pod.gated else pod.started,
                ),
                (Column("Message", on=Medium.PAGE), lambda pod: pod.message),
                noun="pending pods",
            ),
            Text(heading="Assumed", lines=assumed),
        ],
        names=lambda: [pod.pod for pod in pods if pod.p90 is None and not pod.gated],
    )


def _or_never(time: float | None) -> float | str:
    return "never" if time is None else time
