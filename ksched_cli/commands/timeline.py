"""`ksched timeline`: timelines for `ksched replay`, of dumps, of traces and at random."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

import typer

from ksched_cli.commands.command_line import (
    option,
    positive_number,
    whole_number,
)
from ksched_cli.commands.output import note, results, warn
from ksched_cli.errors import ExitCode, UsageError
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.time import SECOND, parse_time
from ksched_cli.report.forms import Form, safe_in_job
from ksched_cli.report.words import counted

if TYPE_CHECKING:
    from ksched_cli.kube.quantity import Quantity
    from ksched_cli.scenario.timelines.event_lines import Plain
    from ksched_cli.scenario.timelines.recipes import Recipe
    from ksched_cli.scenario.timelines.trace_csv import (
        TraceColumns,
        TraceRules,
    )
    from ksched_cli.scenario.timelines.trace_run_times import NodeRunTimes

_SUFFIXES = (".jsonl", ".ndjson", ".jsonl.gz", ".ndjson.gz")

# Their times are in memory.
MAX_PODS = 10_000_000
_PODS = 1_000
MAX_PRIORITY = 2**31 - 1
MAX_DAYS = 100_000

HELP = "Timelines for ksched replay: of a dump, of a trace, at random."

To = Annotated[
    str,
    option("Write to this file (gzipped if *.gz); default standard output.", "FILE.jsonl"),
]


def from_dump(
    dump: Annotated[
        list[str], typer.Argument(metavar="DUMP...", help="Files or folders; - is standard input.")
    ],
    to: To = "",
) -> ExitCode:
    """The pods of a dump, when each was created, as long as it ran.

    DUMP is the output of kubectl get pods -A -o json, or any state with pods. Where a pod is in
    several dumps, the last one counts. A finished pod runs from its placement to the end of its
    last container, any other pod to the end of the replay. Nodes, and static pods of kubelets, are
    left out.

    Examples:
        ksched timeline from-dump cluster.json --to pods.jsonl
    """
    from ksched_cli.scenario.timelines.dump import timeline_of_dump

    _write(*timeline_of_dump(dump), to)
    return ExitCode.YES


_RUNS_FOR = "exponential:3600"


@dataclass(frozen=True, slots=True)
class GenerateOptions:
    """The options of `generate`.

    like FILE: Generate pods like those of a timeline or a dump, owner by owner.
    pods N: Number of pods; default 1000, or with --like the file's daily rate.
    days DAYS: Number of days over which pods arrive.
    arrivals PROCESS: uniform, poisson, burst[:SIZE], diurnal or weekly.
    weekdays W,W,W,W,W,W,W: Weights of Monday to Sunday.
    hours W,W,…: Weights of the 24 hours of a day, UTC.
    holiday DATE: Treat this day as a Sunday, with weekly or --like; repeatable.
    start TIME: When the timeline starts, a full hour; default Monday 2026-01-05.
    runs_for DISTRIBUTION: In seconds: fixed:S, uniform:MIN:MAX, exponential:MEAN,
        lognormal:MEDIAN:SIGMA; default exponential:3600. With --like, of pods whose end is unknown.
    priority VALUE[=WEIGHT]: Priority of the pods, instead of the templates'; repeatable.
    seed N: Repeat the random choices of this seed.
    """

    PANELS: ClassVar = {"Days": ("weekdays", "hours", "holiday", "start")}

    like: str = ""
    pods: Annotated[int | None, option(parser=whole_number("--pods", 1, MAX_PODS))] = None
    days: float = 7.0
    arrivals: str = "poisson"
    weekdays: str = "1,1,1,1,1,0.3,0.2"
    hours: str = "1,1,1,1,1,1,2,4,7,9,10,10,8,9,10,10,9,7,5,4,3,2,2,1"
    holiday: list[str] | None = None
    start: str = ""
    runs_for: str = ""
    priority: list[str] | None = None
    seed: int = 1
    to: To = ""


def generate(
    options: GenerateOptions,
    templates: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[FILE[=WEIGHT]...]",
            help="Manifests of pods, or of workloads with a template of pods.",
        ),
    ] = None,
) -> ExitCode:
    """A random timeline: pods of given templates come, run and end.

    A FILE with a greater WEIGHT comes more often; its templates share the weight. The annotations
    ksched/weight and ksched/runs-for of a template override the options. The first day is a Monday.
    --like FILE needs no template.

    Examples:
        ksched timeline generate small.yaml=3 large.yaml --pods 10000 --to pods.jsonl
        ksched timeline generate --like week.jsonl --days 28 --seed 7
    """
    from ksched_cli.scenario.timelines.generate import (
        DAY,
        START,
        Generator,
        WeeklyShape,
        arrivals_of,
        read_day,
        read_templates,
        read_week,
        read_weights,
        run_time_of,
    )

    if not 0 < options.days < MAX_DAYS:
        bounds = f"greater than 0 and less than {MAX_DAYS:,}"
        raise UsageError(f"--days takes a number {bounds}; not {options.days:g}")
    if bool(options.like) == bool(templates):
        raise UsageError("generate requires either templates or --like FILE")
    # Pods arrive at these hours and weekdays.
    start = _start(options.start) if options.start else START
    if start.minute or start.second or start.microsecond:
        raise UsageError(f'--start takes a full hour; not "{options.start}"')
    shape = WeeklyShape.of(
        read_weights(options.weekdays, 7, "--weekdays"),
        read_weights(options.hours, 24, "--hours"),
        frozenset(map(read_day, options.holiday or ())),
        start,
    )
    length = options.days * DAY
    if options.like:
        week = read_week(options.like, warn)
        if options.runs_for:
            week.set_run_time(run_time_of(options.runs_for))
        elif endless := week.endless():
            warn(
                f"the pods of {endless} never end: {options.like} has no pod of theirs that ended; "
                "--runs-for gives them run times"
            )
        pods = options.pods or week.pods_in(length)
        events = week.events(options.seed, pods, length, shape)
        _write(week.header(shape.start), events, options.to)
        return ExitCode.YES
    is_weekly = options.arrivals == "weekly"
    weighted = (_weighted(text, "FILE[=WEIGHT]") for text in templates or ())
    generator = Generator(
        [template for file, weight in weighted for template in read_templates(file, weight)],
        shape.arrivals if is_weekly else arrivals_of(options.arrivals),
        run_time_of(options.runs_for or _RUNS_FOR),
        options.pods or _PODS,
        length,
        [_priority(text) for text in options.priority or ()],
        shape.start,
    )
    _write(generator.header(), generator.events(options.seed), options.to)
    return ExitCode.YES


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """The options of `from-csv`.

    recipe NAME|FILE.yaml: Use the options of a known trace (docs/traces.md); other options override
        them.
    created COLUMN: Column with the pod's creation time.
    request RESOURCE=COLUMN[:UNIT]: What the pod requests, such as memory=memory_mib:Mi, or
        cpu=core:x64 for shares of 64; repeatable.
    name COLUMN: Its name, a column or a text such as {job}-{task}; default pod-0, pod-1, …
    namespace COLUMN: Its namespace; the default is default.
    priority COLUMN: Its priority; default 0.
    scheduled COLUMN: When it got its node; without the option, when it came.
    ended COLUMN: When it ended; one that never had a node is deleted then.
    duration COLUMN: How long it ran, instead of --ended.
    created_default TIME: Time for empty cells of --created, which are errors by default.
    duration_default DURATION|forever: Run time for empty --ended or --duration, which are errors by
        default.
    event COLUMN: Type of the event, for a row per event, whose time is --created.
    event_type ROLE=VALUE: What the types are: submit, start, evict or end; | separates values;
        repeatable.
    duration_on LABEL=VALUE=COLUMN: How long it runs on nodes with this label; repeatable.
    throughputs LABEL=FILE.json: Throughputs by value of a node label and by key, for --work.
    throughput_key TEXT: Key in that file, a column or a text such as {model}-{gpus}.
    work COLUMN: Units of work, which the throughputs turn into run times.
    annotate_run_times: Add the annotation ksched/run-times to pods, for plugins.
    restart_overhead S: Seconds that each run after an eviction takes longer.
    replicas COLUMN: Number of pods of the row: NAME-0, NAME-1, …
    divide RESOURCE: Divide its column by the number of pods of the row; repeatable.
    gang: Place the pods of a row together, as a PodGroup.
    evicted gone|restarts|resumes: Fate of preempted pods: gone, restart or resume.
    where COLUMN=VALUE: Keep rows with this value; repeatable: any of the values of a column.
    sample N: Keep N rows, drawn at random.
    seed N: Repeat the choice of --sample.
    scale_time F: Multiply times and durations; 0.1 turns an hour into six minutes.
    skip_bad: Skip invalid rows and count them.
    empty TEXT: Take cells with this text for empty ones; repeatable.
    no_header: Read the first row as data; columns are named 1, 2, …
    node_selector LABEL=COLUMN: Label that its node must have; | separates alternatives; repeatable.
    label LABEL=COLUMN: Label of the pod; repeatable.
    delimiter CHARACTER: What separates cells: one character, tab, or whitespace.
    comment TEXT: Skip lines that begin with this text.
    time_unit d|h|m|s|ms|us|ns: Unit of times that are numbers.
    start TIME: Date of time 0, such as 2026-01-31T12:00:00Z; default 1970.
    nodes NODES.csv: Read nodes from this file, a row each.
    node_name COLUMN: Name of a node; default node-0, node-1, …
    node_capacity RESOURCE=COLUMN[:UNIT]: Capacity of a node, like --request; default 110 pods;
        repeatable.
    node_label LABEL=COLUMN: Label of a node; repeatable.
    state_to FILE.json: Write nodes and PodGroups to this file, for --state.
    """

    PANELS: ClassVar = {
        "Pods": (
            "name", "namespace", "scheduled", "created_default", "duration_default", "replicas",
            "divide", "gang", "evicted", "node_selector", "label",
        ),
        "Events": ("event", "event_type"),
        "Run times by node": (
            "duration_on", "throughputs", "throughput_key", "work", "annotate_run_times",
            "restart_overhead",
        ),
        "Rows and times": (
            "where", "sample", "seed", "scale_time", "skip_bad", "no_header", "delimiter",
            "comment", "empty", "time_unit", "start",
        ),
        "Nodes": ("node_name", "node_capacity", "node_label"),
    }  # fmt: skip

    recipe: str = ""
    created: str = ""
    request: list[str] | None = None
    name: str = ""
    namespace: str = ""
    priority: str = ""
    scheduled: str = ""
    ended: str = ""
    duration: str = ""
    created_default: str = ""
    duration_default: str = ""
    event: str = ""
    event_type: list[str] | None = None
    duration_on: list[str] | None = None
    throughputs: str = ""
    throughput_key: str = ""
    work: str = ""
    annotate_run_times: bool = False
    restart_overhead: Annotated[float, option(parser=positive_number("--restart-overhead"))] = 0.0
    replicas: str = ""
    divide: list[str] | None = None
    gang: bool = False
    evicted: str = "gone"
    where: list[str] | None = None
    sample: Annotated[int | None, option(parser=whole_number("--sample", 1, MAX_PODS))] = None
    seed: int = 1
    scale_time: Annotated[float, option(parser=positive_number("--scale-time"))] = 1.0
    skip_bad: bool = False
    no_header: bool = False
    delimiter: str = ","
    comment: str = ""
    empty: list[str] | None = None
    node_selector: list[str] | None = None
    label: list[str] | None = None
    time_unit: str = "s"
    start: str = ""
    nodes: str = ""
    node_name: str = ""
    node_capacity: list[str] | None = None
    node_label: list[str] | None = None
    state_to: str = ""
    to: To = ""


def from_csv(
    options: TraceOptions,
    trace: Annotated[
        str, typer.Argument(metavar="TRACE", help="CSV, gzipped or not; - is standard input.")
    ],
) -> ExitCode:
    """A trace in CSV, by pod or by event; options name its columns.

    Times are numbers or RFC 3339. A wrong row is an error with its line. The last line on standard
    error summarises what was read.

    Examples:
        ksched timeline from-csv trace.csv --created t --request cpu=cores
        ksched timeline from-csv jobs.csv --recipe tiresias --to pods.jsonl
    """
    from ksched_cli.engine.replay.records import Recreation
    from ksched_cli.report.times import duration
    from ksched_cli.scenario.timelines.csv_file import CsvFile
    from ksched_cli.scenario.timelines.recipes import read_recipe
    from ksched_cli.scenario.timelines.trace_csv import (
        NodeFileColumns,
        TraceColumns,
        TraceReader,
        read_nodes,
    )

    recipe = read_recipe(options.recipe) if options.recipe else None
    if recipe is not None:
        options = _filled(options, recipe, trace)
    _check_trace(options, has_nodes=recipe is not None and bool(recipe.nodes))
    columns = TraceColumns(
        options.created,
        _amounts(options.request or (), "--request"),
        options.name,
        options.namespace,
        options.priority,
        options.scheduled,
        options.ended,
        options.duration,
        _pairs(options.node_selector or (), "--node-selector"),
        _pairs(options.label or (), "--label"),
        options.replicas,
    )
    nodes = [] if recipe is None else recipe.node_manifests()
    if options.nodes:
        of_nodes = CsvFile(
            options.nodes,
            not options.no_header,
            delimiter=_delimiter(options.delimiter),
            comment=options.comment,
            empty=frozenset(options.empty or ()),
        )
        node_columns = NodeFileColumns(
            _amounts(options.node_capacity or (), "--node-capacity"),
            options.node_name,
            _pairs(options.node_label or (), "--node-label"),
        )
        nodes = read_nodes(of_nodes, node_columns)
    file = CsvFile(
        trace,
        not options.no_header,
        options.skip_bad,
        _delimiter(options.delimiter),
        options.comment,
        frozenset(options.empty or ()),
    )
    read = TraceReader(columns, _rules(options, columns)).read(file)
    if options.state_to:
        _write_state([*nodes, *read.groups], options.state_to)
    evicted = {} if options.evicted == Recreation.GONE else {"evicted": options.evicted}
    _write({**read.header, **evicted}, read.events, options.to)
    # What was read, left out, and why.
    parts = [f"{counted(read.rows, 'row')} read"]
    parts += [f"{count:,} left out {reason}" for reason, count in read.left_out.items()]
    requests = ", ".join(
        f"{_amount_text(resource, amount)} {resource}" for resource, amount in read.requests.items()
    )
    span = duration(round(read.span * SECOND))
    pods = f"{counted(read.pods, 'pod')} over {span}, that request {requests or 'nothing'}"
    note(f"{', '.join(parts)}: {pods}")
    if read.first_bad:
        note(f"first invalid row: {read.first_bad}")
    return ExitCode.YES


def _filled(options: TraceOptions, recipe: Recipe, trace: str) -> TraceOptions:
    """Return the options, with the recipe's values where they have their defaults. Raises
    UsageError for unknown options of the recipe."""
    defaults = {each.name: each.default for each in fields(TraceOptions)}
    own: dict[str, Any] = {key.replace("-", "_"): each for key, each in recipe.options.items()}
    if unknown := sorted(own.keys() - defaults.keys()):
        raise UsageError(f"--recipe {options.recipe}: unknown option {', '.join(unknown)}")
    if "nodes" in own:
        own["nodes"] = str(Path(trace).parent / own["nodes"])
    if "throughputs" in own:
        label, _, file = own["throughputs"].partition("=")
        own["throughputs"] = f"{label}={Path(trace).parent / file}"
    return replace(
        options,
        **{key: value for key, value in own.items() if getattr(options, key) == defaults[key]},
    )


def _check_trace(  # noqa: C901, PLR0912  # a check for each option, one after the other
    options: TraceOptions, *, has_nodes: bool
) -> None:
    """Check options that exclude or require each other. Raises UsageError. has_nodes: a recipe has
    some"""
    from ksched_cli.engine.replay.records import Recreation

    if not options.created or not options.request:
        raise UsageError("from-csv requires --recipe, or --created and --request")
    if options.evicted not in list(Recreation):
        raise UsageError(f'--evicted takes {", ".join(Recreation)}; not "{options.evicted}"')
    if options.duration and (options.ended or options.scheduled):
        raise UsageError("--duration cannot be combined with --scheduled or --ended")
    if options.scheduled and not options.ended:
        raise UsageError("--scheduled requires --ended, the column with when pods ended")
    if options.duration_default and not (options.ended or options.duration or options.event):
        raise UsageError(
            "--duration-default requires --ended or --duration, whose empty cells it fills"
        )
    # Events and run times by node have options that require each other.
    if bool(options.event) != bool(options.event_type):
        raise UsageError("--event COLUMN and --event-type ROLE=VALUE require each other")
    if options.event and not options.name:
        raise UsageError("--event requires --name, which tells whose event a row is")
    if options.event and (options.scheduled or options.ended or options.duration):
        raise UsageError("--event cannot be combined with --scheduled, --ended or --duration")
    table = (options.throughputs, options.throughput_key, options.work)
    if any(table) and not all(table):
        raise UsageError("--throughputs, --throughput-key and --work require each other")
    if options.annotate_run_times and not (options.throughputs or options.duration_on):
        raise UsageError("--annotate-run-times requires --throughputs or --duration-on")
    for name, value in (("--divide", options.divide), ("--gang", options.gang)):
        if value and not options.replicas:
            raise UsageError(
                f"{name} requires --replicas, the column with the number of pods of a row"
            )
    # Nodes require a file that they are written to.
    of_nodes = (
        ("--node-name", options.node_name),
        ("--node-capacity", options.node_capacity),
        ("--node-label", options.node_label),
    )
    for name, of_node in of_nodes:
        if of_node and not options.nodes:
            raise UsageError(
                f"{name} requires --nodes; for labels that a pod's node must have, use "
                "--node-selector"
            )
    if options.nodes and not options.node_capacity:
        raise UsageError("--nodes requires --node-capacity, the columns with what the nodes have")
    if bool(options.nodes or options.gang or has_nodes) != bool(options.state_to):
        raise UsageError(
            "--nodes, --gang and recipes with nodes require --state-to FILE.json, and --state-to"
            " requires one of them"
        )
    if options.state_to:
        from ksched_cli.live.snapshot_file import check_suffix, check_writable

        check_suffix(options.state_to)
        check_writable(options.state_to)


def _rules(options: TraceOptions, columns: TraceColumns) -> TraceRules:
    """Return how the rows are read. Raises UsageError."""
    from ksched_cli.scenario.timelines.trace_csv import FOREVER, TIME_UNITS, TraceRules
    from ksched_cli.scenario.timelines.trace_events import ROLES, EventColumns

    if options.time_unit not in TIME_UNITS:
        raise UsageError(f'--time-unit takes {", ".join(TIME_UNITS)}; not "{options.time_unit}"')
    divided = frozenset(options.divide or ())
    for resource in sorted(divided - columns.requests.keys()):
        raise UsageError(f"--divide {resource}: no --request has this resource")
    default = options.duration_default
    if default not in ("", FOREVER) and not default.replace(".", "", 1).isdecimal():
        raise UsageError(f'--duration-default takes a number or {FOREVER}; not "{default}"')
    where: dict[str, list[str]] = {}
    for text in options.where or ():
        column, separator, value = text.partition("=")
        if not column or not separator:
            raise UsageError(f'--where takes COLUMN=VALUE; not "{text}"')
        where.setdefault(column, []).append(value)
    # Where a row is an event, the options name its types.
    roles: dict[str, str] = {}
    for text in options.event_type or ():
        role, _, values = text.partition("=")
        if role not in ROLES or not values:
            listed = ", ".join(ROLES)
            raise UsageError(f'--event-type takes ROLE=VALUE, with {listed}; not "{text}"')
        roles |= dict.fromkeys(values.split("|"), role)
    return TraceRules(
        unit=options.time_unit,
        start=_start(options.start),
        created_default=options.created_default,
        duration_default=default,
        divided=divided,
        gang=options.gang,
        where=where,
        sample=options.sample or 0,
        seed=options.seed,
        scale=options.scale_time,
        events=EventColumns(options.event, roles) if options.event else None,
        node_times=_node_run_times(options),
        overhead=options.restart_overhead,
        annotates=options.annotate_run_times,
    )


def _node_run_times(options: TraceOptions) -> NodeRunTimes | None:
    """Return how run times depend on nodes; None if they do not. Raises UsageError, and InputError
    for the file of throughputs."""
    from ksched_cli.scenario.timelines.trace_run_times import NodeRunTimes, read_throughputs

    labels: set[str] = set()
    columns: dict[str, str] = {}
    for text in options.duration_on or ():
        label, _, rest = text.partition("=")
        value, _, column = rest.partition("=")
        if not label or not column:
            raise UsageError(f'--duration-on takes LABEL=VALUE=COLUMN; not "{text}"')
        labels.add(label)
        columns[value] = column
    table: dict[str, dict[str, float]] = {}
    if options.throughputs:
        label, _, file = options.throughputs.partition("=")
        if not label or not file:
            raise UsageError(f'--throughputs takes LABEL=FILE.json; not "{options.throughputs}"')
        labels.add(label)
        table = read_throughputs(file)
    if len(labels) > 1:
        raise UsageError(
            f"run times depend on one label of nodes; not on {', '.join(sorted(labels))}"
        )
    if not labels:
        return None
    return NodeRunTimes(labels.pop(), columns, table, options.throughput_key, options.work)


def _delimiter(text: str) -> str:
    """Return what separates columns. Raises UsageError."""
    from ksched_cli.scenario.timelines.csv_file import WHITESPACE

    delimiter = "\t" if text == "tab" else text
    if delimiter != WHITESPACE and (len(delimiter) != 1 or delimiter in '"\r\n'):
        raise UsageError(f'--delimiter takes one character, tab or {WHITESPACE}; not "{text}"')
    return delimiter


def _amount_text(resource: str, amount: Quantity) -> str:
    value = Decimal(amount.nano_value()) / 10**9  # a trace may have more than a float holds
    if resource in ("memory", "ephemeral-storage"):
        return f"{value / 2**30:,.1f}Gi"
    return f"{value:,.1f}".removesuffix(".0")


# -- what options say -----------------------------------------------------------------------------


def _pairs(texts: Iterable[str], option: str) -> dict[str, str]:
    """Read texts as KEY=COLUMN. Raises UsageError."""
    pairs = {}
    for text in texts:
        key, _, column = text.partition("=")
        if not key or not column:
            raise UsageError(f'{option} takes KEY=COLUMN; not "{text}"')
        pairs[key] = column
    return pairs


def _amounts(texts: Iterable[str], option: str) -> dict[str, tuple[str, str]]:
    """Read texts as RESOURCE=COLUMN[:UNIT]. Raises UsageError."""
    from ksched_cli.kube.quantity import Quantity, QuantityError
    from ksched_cli.scenario.timelines.csv_file import SHARE_OF

    amounts = {}
    for resource, text in _pairs(texts, option).items():
        column, _, unit = text.rpartition(":") if ":" in text else (text, "", "")
        if unit.startswith(SHARE_OF):
            try:
                Quantity.parse(unit.removeprefix(SHARE_OF))
            except QuantityError:
                message = f'"{text}": "{unit}" is no share of a quantity, such as x64'
                raise UsageError(message) from None
        amounts[resource] = column, unit
    return amounts


def _start(text: str) -> datetime:
    if not text:
        return datetime(1970, 1, 1, tzinfo=UTC)
    try:
        return parse_time(text)
    except ValueError:
        raise UsageError(
            f'--start takes a time such as 2026-01-31T12:00:00Z; not "{text}"'
        ) from None


def _weighted(text: str, option: str) -> tuple[str, float]:
    """Read VALUE[=WEIGHT]. Raises UsageError."""
    from ksched_cli.scenario.timelines.generate import WEIGHTS, parse_weight

    value, separator, weight = text.rpartition("=")
    if not separator:
        return text, 1.0
    number = parse_weight(weight)
    if number is None:
        raise UsageError(f'{option}: "{weight}" is not a weight; expected {WEIGHTS}')
    return value, number


def _priority(text: str) -> tuple[int, float]:
    value, weight = _weighted(text, "--priority")
    number = parse_int64(value)
    if number is None or not -MAX_PRIORITY <= number <= MAX_PRIORITY:
        bound = f"a whole number of at most {MAX_PRIORITY:,}"
        raise UsageError(f'--priority takes VALUE[=WEIGHT], {bound}; not "{text}"')
    return number, weight


def _write(header: Plain, events: Iterable[Plain], path: str) -> None:
    """Write the timeline. Raises UsageError if the file cannot be written, or would not be read as
    lines."""
    from ksched_cli.live.snapshot_file import written_aside
    from ksched_cli.scenario.timelines.event_lines import lines

    if not path:
        for line in lines(header, events):
            results().write(safe_in_job(line.decode(), Form.JSON))
        return
    if not path.endswith(_SUFFIXES):
        raise UsageError(f"--to {path}: the name must end in {', '.join(_SUFFIXES[:2])} or .gz")
    with written_aside(path) as file:
        for line in lines(header, events):
            file.write(line)


def _write_state(objects: Iterable[Plain], path: str) -> None:
    """Write the objects as a snapshot. Raises UsageError if the file cannot be written."""
    import msgspec

    from ksched_cli.live.snapshot_file import snapshot_text, written_aside

    with written_aside(path) as file:
        for part in snapshot_text(map(msgspec.json.encode, objects), lambda: None):
            file.write(part)
