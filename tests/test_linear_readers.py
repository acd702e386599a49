"""What reads a text takes twice as long for one of twice the length, whatever is in it.

Each case is a reader and a text that is long in one way. Lines of Python that run are counted, which
is exact. What C does (regular expressions, counts and copies of texts) only shows in time, which is measured where
little else is done, at a size at which a quadratic part would be most of it.
"""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import Struct

from ksched_cli.analysis.audit.decision_log import EVENT_KINDS, read_decision_log
from ksched_cli.analysis.audit.decisions import logged_attempts, read_log
from ksched_cli.analysis.expectations import files_of_expectations, read_expectations
from ksched_cli.analysis.reviewer import review_text
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.config.allowed_plugins import read_allowed
from ksched_cli.config.migration.migrate import migrate
from ksched_cli.config.sources import find_configurations, read_configuration_text
from ksched_cli.errors import ignore
from ksched_cli.extenders.recording import RecordedReplies
from ksched_cli.run.run import Run
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import read_scenario
from ksched_cli.scenario.node_groups import read_autoscaler
from ksched_cli.scenario.timeline import read_timeline
from ksched_cli.scenario.timelines.csv_file import CsvFile
from ksched_cli.scenario.timelines.trace_csv import TraceColumns, TraceReader
from ksched_cli.sweep.outcome import RowsFile
from ksched_cli.sweep.sweep_file import read_sweep
from ksched_cli.sweep.tune_file import read_tune
from ksched_cli.testing import cluster, node, pod
from tests.analysis.audit.aftermath import log_of
from tests.config.registries import HEAD, REGISTRY
from tests.work import lines_of, seconds_of

pytestmark = pytest.mark.slow

# Linear readers come to 2, quadratic ones to 4.
MAX_GROWTH = 2.5
# In time a text is so many times as long: linear readers come to 32, quadratic ones to a thousand.
# What else runs on the machine, and caches that overflow, take their part.
LONGER, MAX_LONGER = 32, 100
_TRIES = 4

NAMED = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: c{}\ndata:\n  config.yaml: |\n"
EMBEDDED = "    " + HEAD.replace("\n", "\n    ").rstrip(" ")
SCORE = HEAD + "profiles:\n- plugins:\n    score:\n      enabled:\n"
ARGS = HEAD + "profiles:\n- pluginConfig:\n  - name: {}\n    args:\n"
NODE = "apiVersion: v1\nkind: Node\nmetadata:\n  name: node\n"
POD = "apiVersion: v1\nkind: Pod\nmetadata:\n  name: {}\nspec:\n  priority: 0\n{}"
OURS = "apiVersion: ksched/v1\nkind: {}\n"
SWEEP = OURS.format("Sweep") + "states: [state.json]\n"
TUNE = OURS.format("Tune") + "states: [state.json]\ntrials: 1\n"
TEMPLATE = '{"spec": {"containers": [{"name": "main", "image": "main"}]}}'
TIMELINE = OURS.format("Timeline") + f"templates: {{t: {TEMPLATE}}}\nevents:\n"
TIMELINE_LINES = json.dumps(
    {"apiVersion": "ksched/v1", "kind": "Timeline", "templates": {"t": json.loads(TEMPLATE)}}
)
LOG = 'I1122 09:00:00.0 1 x.go:100] "{}" pod="default/{}"{}\n'
EVICTION = 'I1122 09:00:00.0 1 x.go:1] "Preemptor Pod preempted victim Pod" preemptor="default/p" victim="default/{}" node="a"\n'


def each(text: str, count: int) -> str:
    """The text with each number below `count` in the place of its braces."""
    return "".join(map(text.replace, ["{}"] * count, map(str, range(count))))


def state_of(*objects: dict[str, Any]) -> str:
    return json.dumps({"apiVersion": "v1", "kind": "List", "items": objects})


def pods(count: int, **fields: Any) -> list[dict[str, Any]]:
    return [pod(f"p{index}", **fields) for index in range(count)]


def logged(event: str, name: str = "p", fields: str = "") -> str:
    return LOG.format(event, name, fields)


# -- readers: of a file's path ---------------------------------------------------------------------


def validate(path: Path) -> None:
    for text in find_configurations([str(path)]).texts:
        review_text(text, REGISTRY)


def validate_folder(path: Path) -> None:
    find_configurations([str(path.parent)])


def chosen_configuration(path: Path) -> None:
    read_configuration_text(str(path)).data()


def named_configuration(path: Path) -> None:
    read_configuration_text(f"{path}#c1").data()


def migration(path: Path) -> None:
    migrate(path.read_text(), "old.yaml", REGISTRY)


def state(path: Path) -> None:
    load_state([str(path)])


def folder(path: Path) -> None:
    load_state([str(path.parent)])


def scenario(path: Path) -> None:
    apply_changes(cluster(node("a"), pod("p")), read_scenario(str(path)))


def timeline(path: Path) -> None:
    list(read_timeline(str(path), cluster(node("a"))).events())


def autoscaler(path: Path) -> None:
    read_autoscaler(str(path), cluster(node("a")))


def trace(path: Path) -> None:
    TraceReader(TraceColumns("t", {"cpu": ("c", "")}, name="n")).read(CsvFile(str(path)))


def sweep(path: Path) -> None:
    read_sweep(str(path), Run())


def tune(path: Path) -> None:
    read_tune(str(path), Run())


def log(path: Path) -> None:
    logged_attempts(read_log(path.read_text().splitlines()), {"default/p": "a"})


def events(path: Path) -> None:
    after = load_state([str(path)], reads=EVENT_KINDS)
    before = cluster(node("a"), *(pod(each.name) for each in after.pods))
    read_decision_log(before, after, {"default-scheduler"}, log_of(after))


def expectations(path: Path) -> None:
    read_expectations(str(path))


def expectations_in_folder(path: Path) -> None:
    list(files_of_expectations([str(path.parent)]))


def recording(path: Path) -> None:
    RecordedReplies(str(path), ignore)


def rows(path: Path) -> None:
    RowsFile(str(path), dry_run=True)


def names(path: Path) -> None:
    read_allowed([str(path)])


# -- texts: of a length ----------------------------------------------------------------------------


class Case(Struct, frozen=True):
    """shows: how the text is long; size: at which lines of Python are counted, and twice and four
    times that; text: of a size; timed: the least size at which time is measured, 0 for none"""

    reader: Callable[[Path], None]
    shows: str
    size: int
    text: Callable[[int], str | bytes]
    file: str = "file.yaml"
    timed: int = 0


def _bindings(count: int) -> str:
    """A state after these were bound, with the events of it, and of an eviction for each."""
    items = [node("a")]
    for index in range(count):
        name = f"p{index}"
        items.append(pod(name, node="a"))
        about = {"kind": "Pod", "namespace": "default", "name": name, "uid": f"default/{name}"}
        for reason, text in (
            ("Scheduled", f"Successfully assigned default/{name} to a"),
            ("Preempted", f"Preempted by pod default/p{index // 2} on node a"),
        ):
            event = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": f"{reason}{index}"}}
            event |= {"involvedObject": about, "reason": reason, "message": text}
            items.append(
                {**event, "lastTimestamp": f"2026-01-01T{index // 60 % 24:02}:{index % 60:02}:00Z"}
            )
    return state_of(*items)


CASES = [
    Case(validate, "newlines", 200, lambda n: "\n" * n, timed=500),
    Case(validate, "newlines in a configuration", 400, lambda n: HEAD + "\n" * n, timed=4000),
    Case(validate, "blanks", 400, lambda n: HEAD + " " * n, timed=4000),
    Case(validate, "comments", 100, lambda n: HEAD + "# a comment\n" * n, timed=2000),
    Case(validate, "hashes", 400, lambda n: HEAD + "#" * n, timed=4000),
    Case(validate, "ignores", 40, lambda n: HEAD + "# ksched: ignore[weight-zero]\n" * n, timed=60),
    Case(validate, "ignores on a line", 40, lambda n: HEAD + "# ksched: ignore[weight-zero] " * n, timed=60),
    Case(validate, "rules in an ignore", 40, lambda n: f"{HEAD}# ksched: ignore[{'weight-zero,' * n}]\n", timed=60),
    Case(validate, "ignores of findings", 20, lambda n: SCORE + "      - name: NodeName # ksched: ignore[plugin-twice]\n" * n),
    Case(validate, "allowed plugins", 40, lambda n: SCORE + each("      - name: P{} # ksched: allow-plugins P{}\n", n)),
    Case(validate, "documents", 100, lambda n: HEAD + "---\na: b\n" * n),
    Case(validate, "profiles", 20, lambda n: HEAD + "profiles:\n" + each("- schedulerName: s{}\n", n)),
    Case(validate, "unknown keys", 40, lambda n: HEAD + each("k{}: 1\n", n)),
    Case(validate, "repeated keys", 40, lambda n: HEAD + "parallelism: 1\n" * n),
    Case(validate, "repeated keys of JSON", 40, lambda n: json.dumps({"apiVersion": HEAD.split()[1], "kind": HEAD.split()[3]})[:-1] + each(',\n"k{}":1,"k{}":1', n) + "}"),
    Case(validate, "wrong types", 20, lambda n: HEAD + "profiles:\n" + "- schedulerName: 1\n" * n),
    Case(validate, "unknown plugins", 40, lambda n: SCORE + each("      - name: P{}\n", n)),
    Case(validate, "a plugin again and again", 40, lambda n: SCORE + "      - name: NodeName\n" * n),
    Case(validate, "args of a plugin again and again", 20, lambda n: HEAD + "profiles:\n- pluginConfig:\n" + "  - name: NodeName\n    args: {}\n" * n),
    Case(validate, "constraints", 20, lambda n: ARGS.format("PodTopologySpread") + "      defaultConstraints:\n" + each("      - {maxSkew: 1, topologyKey: k{}, whenUnsatisfiable: ScheduleAnyway}\n", n)),
    Case(validate, "resources", 40, lambda n: ARGS.format("NodeResourcesFit") + "      scoringStrategy:\n        resources:\n" + each("        - {name: k{}, weight: 1}\n", n)),
    Case(validate, "extenders", 20, lambda n: HEAD + "extenders:\n" + each("- {urlPrefix: 'http://x{}'}\n", n)),
    Case(validate, "JSON that ends too early", 2000, lambda n: '{"a": [' + "[],\n" * n, timed=1000),
    Case(validate, "brackets", 5000, lambda n: "a: " + "[" * n, timed=2000),
    Case(validate, "anchors", 40, lambda n: HEAD + "a:\n" + "- &a x\n- *a\n" * n),
    Case(validate, "a byte that is none of UTF-8", 400, lambda n: HEAD.encode() + b"\n" * n + b"\xff", timed=8000),
    Case(validate, "configurations in a list", 20, lambda n: "kind: List\nitems:\n" + ("- " + HEAD.replace("\n", "\n  ").rstrip(" ")) * n),
    Case(validate, "ConfigMaps", 20, lambda n: each(NAMED + EMBEDDED + "---\n", n)),
    Case(validate, "newlines in a ConfigMap", 400, lambda n: NAMED.format(0) + "    a: " + HEAD.split()[3] + "\n" * n + "    b: c\n", timed=4000),
    Case(validate_folder, "newlines", 400, lambda n: "\n" * n, timed=4000),
    Case(validate_folder, "kinds", 400, lambda n: "kind" + ":\n" * n, timed=4000),
    Case(chosen_configuration, "Helm values", 100, lambda n: each("k{}: v\n", n) + "config: |\n" + EMBEDDED),
    Case(named_configuration, "ConfigMaps", 40, lambda n: each(NAMED + EMBEDDED + "---\n", n)),
    Case(names, "names", 100, lambda n: each("P{}\n", n)),
    Case(migration, "predicates", 20, lambda n: json.dumps({"apiVersion": "v1", "kind": "Policy", "predicates": [{"name": f"P{i}"} for i in range(n)]})),
    Case(migration, "comments", 100, lambda n: HEAD.replace("/v1", "/v1beta3") + "# a comment\n" * n),
    Case(state, "pods", 20, lambda n: state_of(*pods(n))),
    Case(state, "packed pods", 20, lambda n: gzip.compress(state_of(*pods(n)).encode()), "file.json.gz"),
    Case(state, "documents of JSON", 20, lambda n: "\n".join(map(json.dumps, pods(n))), timed=30),
    Case(state, "documents", 20, lambda n: each("---\n" + POD.format("p{}", ""), n), timed=30),
    Case(state, "empty documents", 100, lambda n: NODE + "---\n" * n, timed=500),
    Case(state, "items", 20, lambda n: "kind: List\nitems:\n" + each("- " + POD.format("p{}", "").replace("\n", "\n  ").rstrip(" "), n)),
    Case(state, "newlines", 400, lambda n: "\n" * n + NODE, timed=8000),
    Case(state, "comments", 200, lambda n: NODE + "# a comment\n" * n, timed=4000),
    Case(state, "unknown fields", 20, lambda n: each("---\n" + POD.format("p{}", "  x{}: 1\n"), n)),
    Case(state, "repeated keys", 20, lambda n: each("---\n" + POD.format("p{}", "  priority: 0\n"), n), timed=30),
    Case(state, "repeated keys of JSON", 20, lambda n: "".join(json.dumps(each)[:-1] + ',"spec":{}}' for each in pods(n)), timed=30),
    Case(state, "repeated keys of an object", 40, lambda n: json.dumps(pod("p"))[:-1] + each(',"k{}":{},"k{}":{}', n) + "}"),
    Case(state, "labels before a wrong one", 40, lambda n: state_of(pod("p", metadata={"labels": {**dict.fromkeys(map(str, range(n)), "v"), "z": 3}}))),
    Case(state, "a broken end", 20, lambda n: each("---\n" + POD.format("p{}", ""), n) + "---\na: ["),
    Case(state, "logs in a dump", 40, lambda n: json.dumps(node("a")) + each("==== START logs for container c of pod a/p{} ====\nx\n==== END logs for container c of pod a/p{} ====\n", n), timed=500),
    Case(folder, "documents of other things", 40, lambda n: "a: b\n---\n" * n + NODE, timed=300),
    Case(scenario, "changes", 40, lambda n: OURS.format("Scenario") + "changes:\n" + "- cordon a\n" * n),
    Case(scenario, "names", 40, lambda n: OURS.format("Scenario") + "changes:\n- drain" + " a" * n, timed=500),
    Case(scenario, "a selector", 40, lambda n: f"{OURS.format('Scenario')}changes: ['reschedule -l {each(f'k{n}-{{}},', n)}a=b']\n", timed=1000),
    Case(scenario, "applied objects", 10, lambda n: OURS.format("Scenario") + f"changes: [{{apply: {json.dumps(pods(n))}}}]\n"),
    Case(scenario, "a patch", 40, lambda n: OURS.format("Scenario") + "changes:\n- |\n  patch pod/p -p '" + json.dumps({"spec": {"volumes": [{"name": f"v{i}"} for i in range(n)]}}) + "'\n", timed=60),
    Case(timeline, "events", 20, lambda n: TIMELINE + each("- {at: {}, pod: p{}, template: t}\n".replace("{at: {}", "{at: 1"), n)),
    Case(timeline, "lines", 20, lambda n: TIMELINE_LINES + "\n" + each('{"at":1,"pod":"p{}","template":"t"}\n', n), "file.jsonl"),
    Case(timeline, "packed lines", 20, lambda n: gzip.compress((TIMELINE_LINES + "\n" * n).encode()), "file.jsonl.gz", timed=2000),
    Case(trace, "rows", 40, lambda n: "t,c,n\n" + "1,1,p\n" * n, "file.csv", timed=100),
    Case(trace, "a quoted cell", 400, lambda n: 't,c,n\n1,1,"' + "\n" * n + 'p"\n', "file.csv", timed=2000),
    Case(autoscaler, "node groups", 20, lambda n: OURS.format("Autoscaler") + "nodeGroups:\n" + each("- {name: g{}, like: a, maxSize: 1}\n", n)),
    Case(sweep, "states", 20, lambda n: OURS.format("Sweep") + "states:\n" + each("- s{}\n", n)),
    Case(sweep, "changes", 20, lambda n: SWEEP + "changes:\n" + each("- {name: c{}, changes: [cordon a]}\n", n)),
    Case(sweep, "patches", 20, lambda n: SWEEP + "patches:\n" + each("- {name: p{}, path: parallelism, values: [1]}\n", n)),
    Case(tune, "dimensions", 20, lambda n: TUNE + "seeds: 2\nobjectives: [{metric: nodesUsed, goal: minimize}]\nspace:\n" + each("- {name: p{}, path: parallelism, between: [1, 2]}\n", n)),
    Case(rows, "rows", 40, lambda n: each('{"id": "{}", "status": "error", "error": "x"}\n', n)),
    Case(recording, "exchanges", 40, lambda n: each('{"url":"http://x/{}","request":{},"status":200,"answer":"{}"}\n', n)),
    Case(log, "attempts", 40, lambda n: logged("Attempting to schedule pod") * n),
    Case(log, "evictions for a pod", 40, lambda n: (logged("Attempting to schedule pod") + logged("the target node for the preemption is determined", "p", ' node="a"')) * n + each(EVICTION, n)),
    Case(log, "a long line", 400, lambda n: logged("Attempting to schedule pod", "p", ' err="' + '\\"' * n), timed=1000),
    Case(events, "bindings and evictions", 10, _bindings),
    Case(expectations, "newlines", 400, lambda n: OURS.format("Expectations") + "\n" * n, timed=4000),
    Case(expectations, "expectations", 20, lambda n: OURS.format("Expectations") + "state: s\nexpect:\n" + "- pending: 0\n" * n),
    Case(expectations, "wrong expectations", 10, lambda n: OURS.format("Expectations") + "state: s\nexpect:\n" + "- {a: 0}\n" * n),
    Case(expectations_in_folder, "newlines", 400, lambda n: "\n" * n, timed=1000),
]  # fmt: skip


def name_of(case: Case) -> str:
    return f"{case.reader.__name__}: {case.shows}"


def reading(case: Case, size: int, folder: Path) -> Callable[[], None]:
    """Reading the case's text of a size. folder: for its file"""
    path = folder / str(size) / case.file
    path.parent.mkdir(exist_ok=True)
    text = case.text(size)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return lambda: case.reader(path)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_text_of_twice_the_length_takes_twice_the_lines(case: Case, tmp_path: Path) -> None:
    lines_of(reading(case, 4, tmp_path))  # what is loaded when it is first needed
    sizes = (case.size, 2 * case.size, 4 * case.size)
    counts = [lines_of(reading(case, size, tmp_path)) for size in sizes]
    first, second = (after - before for before, after in pairwise(counts))
    assert second <= MAX_GROWTH * first + case.size


@pytest.mark.parametrize("case", [case for case in CASES if case.timed], ids=name_of)
def test_a_long_text_takes_a_time_that_grows_with_it(case: Case, tmp_path: Path) -> None:
    short, long = (reading(case, size, tmp_path) for size in (case.timed, LONGER * case.timed))
    growths: list[float] = []
    fastest = seconds_of(short)
    while len(growths) < _TRIES and min(growths, default=MAX_LONGER) >= MAX_LONGER:
        fastest = min(fastest, seconds_of(short))
        growths.append(seconds_of(long) / fastest)
    assert min(growths) < MAX_LONGER
