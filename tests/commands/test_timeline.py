"""`ksched timeline` from the command line."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

TEMPLATE = """
apiVersion: v1
kind: Pod
metadata: {name: job}
spec: {containers: [{name: c, resources: {requests: {cpu: "1"}}}]}
"""


@pytest.fixture
def template(tmp_path: Path) -> Path:
    path = tmp_path / "job.yaml"
    path.write_text(TEMPLATE)
    return path


def test_a_generated_timeline_can_be_replayed(
    ksched: Ksched, write_state: WriteState, template: Path, tmp_path: Path
) -> None:
    path = tmp_path / "pods.jsonl.gz"
    options = ("--pods", 20, "--days", 0.1, "--arrivals", "burst:5", "--priority", "7")
    assert ksched("timeline", "generate", f"{template}=2", *options, "--to", path) == (0, "", "")
    assert len(gzip.decompress(path.read_bytes()).splitlines()) == 21
    state = write_state(node("n", cpu=64))
    code, out, _ = ksched("replay", path, "--state", state, "-o", "json", "--summary")
    assert (code, json.loads(out)["summary"]["placed"]) == (0, 20)
    assert json.loads(out)["waiting"]["priority"][0]["name"] == "7"


def test_a_dump_and_a_trace_go_to_standard_output(ksched: Ksched, tmp_path: Path) -> None:
    dump, trace = tmp_path / "dump.json", tmp_path / "trace.csv"
    metadata = {"name": "p", "creationTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"containers": [{"name": "c"}]}
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec}
    dump.write_text(json.dumps(pod))
    trace.write_text("at,cores\n3,2\n")
    code, out, _ = ksched("timeline", "from-dump", dump)
    assert (code, json.loads(out.splitlines()[1])["pod"]["metadata"]) == (0, {"name": "p"})
    columns = ("--created", "at", "--request", "cpu=cores", "--start", "2026-01-01")
    code, out, _ = ksched("timeline", "from-csv", trace, *columns)
    assert (code, json.loads(out.splitlines()[0])["start"]) == (0, "2026-01-01T00:00:03Z")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["generate", "{}=0"], 'FILE[=WEIGHT]: "0" is not a weight'),
        (["generate", "{}=1e308", "{}=1e308"], 'FILE[=WEIGHT]: "1e308" is not a weight'),
        (["generate", "{}=5e-324"], 'FILE[=WEIGHT]: "5e-324" is not a weight'),
        (["generate", "{}", "--priority", "2147483648"], "a whole number of at most 2,147,483,647"),
        (["generate", "{}", "--days", "0"], "--days takes a number greater than 0"),
        (["generate", "{}", "--days", "1e5"], "and less than 100,000; not 100000"),
        (["generate", "{}", "--days", "1e6"], "and less than 100,000; not 1e+06"),
        (["generate", "{}", "--priority", "high"], "--priority takes VALUE[=WEIGHT]"),
        (["generate", "{}", "--arrivals", "daily"], "--arrivals takes uniform"),
        (["generate", "{}", "--to", "pods.json"], "the name must end in .jsonl"),
        (["generate", "nowhere.yaml"], "nowhere.yaml: there is no such file"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu"], "--request takes KEY=COLUMN"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--time-unit", "y"], "takes d"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c:xlarge"], "is no share"),
        (
            ["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--delimiter", "::"],
            "--delimiter takes one character, tab or whitespace",
        ),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--start", "x"], "--start"),
        (["from-csv", "{}", "--created", "a", "--request", "cpu=c", "--scheduled", "b"], "--ended"),
        (
            [
                "from-csv",
                "{}",
                "--created",
                "a",
                "--request",
                "c=c",
                "--ended",
                "b",
                "--duration=d",
            ],
            "--duration cannot be combined with --scheduled or --ended",
        ),
        (["from-dump", "{}"], "it has no pods"),
    ],
)
def test_what_cannot_be_done_is_one_message(
    ksched: Ksched, template: Path, options: list[str], problem: str
) -> None:
    template.write_text(TEMPLATE.replace("Pod", "Node") if "from-dump" in options else TEMPLATE)
    code, out, err = ksched("timeline", *(option.format(template) for option in options))
    assert (code, out) == (2, "")
    assert problem in err
    assert err.count("\n") <= 2


JOBS = """job,submitted,seconds,pods,cores
red,0,60,2,4
blue,30,-5,1,1
green,50,30,1,2
"""


def test_an_import_ends_with_what_was_read(ksched: Ksched, tmp_path: Path) -> None:
    """Left are red with two pods of 4 cores at 0 and green with one of 2 cores at 50 s."""
    trace = tmp_path / "jobs.csv"
    trace.write_text(JOBS)
    columns = ("--created", "submitted", "--duration", "seconds", "--request", "cpu=cores")
    command = ("timeline", "from-csv", trace, "--name", "job", *columns, "--replicas", "pods")
    code, out, err = ksched(*command)
    assert (code, out) == (2, "")
    assert f'error: {trace}:3:1: column "seconds": "-5" is negative' in err
    code, out, err = ksched(*command, "--skip-bad")
    assert (code, out.count("\n")) == (0, 4)
    assert err.splitlines() == [
        "3 rows read, 1 left out by --skip-bad: 3 pods over 50s, that request 10 cpu",
        f'first invalid row: {trace}:3:1: column "seconds": "-5" is negative',
    ]


def test_what_was_read_is_summed_to_a_tenth(ksched: Ksched, tmp_path: Path) -> None:
    trace = tmp_path / "jobs.csv"
    trace.write_text("submitted,cores,mib\n0,0.5,1024\n9,1.2,512\n")
    requests = ("--request", "cpu=cores", "--request", "memory=mib:Mi")
    _, _, err = ksched("timeline", "from-csv", trace, "--created", "submitted", *requests)
    assert err.endswith(": 2 pods over 9s, that request 1.7 cpu, 1.5Gi memory\n")


def test_gangs_and_nodes_of_csv_are_replayed(ksched: Ksched, tmp_path: Path) -> None:
    """A node of 4 cores and one of 2: two pods of red with 2 cores each run from 0 to 60. Two of
    green come at 10: one would fit, and both wait until 60, and for the end of a backoff, of 10 s
    at most."""
    jobs, nodes, pods, state = (
        tmp_path / name for name in ("jobs.csv", "nodes.csv", "pods.jsonl", "state.json")
    )
    jobs.write_text("job,submitted,seconds,pods,cores\nred,0,60,2,4\ngreen,10,30,2,4\n")
    nodes.write_text("name,cores\na,4\nb,2\n")
    columns = ("--created", "submitted", "--duration", "seconds", "--request", "cpu=cores")
    of_nodes = ("--nodes", nodes, "--node-name", "name", "--node-capacity", "cpu=cores")
    command = ("timeline", "from-csv", jobs, "--name", "job", *columns, "--replicas", "pods")
    code, _, err = ksched(*command, "--divide", "cpu", "--gang")
    assert (code, "recipes with nodes require --state-to FILE.json" in err) == (2, True)
    options = ("--divide", "cpu", "--gang", *of_nodes, "--state-to", state, "--to", pods)
    assert ksched(*command, *options)[0] == 0
    gates = "GenericWorkload=true,GangScheduling=true"
    rules = ("--kubernetes-version", "1.36", "--feature-gates", gates)
    code, out, _ = ksched("replay", pods, "--state", state, *rules, "-o", "json")
    assert code == 0
    placed = {each["pod"]: each["placed"] for each in json.loads(out)["pods"]}
    assert (placed["default/red-0"], placed["default/red-1"]) == (0, 0)
    assert placed["default/green-0"] == placed["default/green-1"]
    assert 60 <= placed["default/green-0"] < 70


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--divide", "cpu"), "--divide requires --replicas"),
        (("--gang",), "--gang requires --replicas"),
        (
            ("--replicas", "r", "--divide", "memory"),
            "--divide memory: no --request has this resource",
        ),
        (("--node-label", "a=b"), "--node-label requires --nodes"),
        (("--nodes", "n.csv"), "--nodes requires --node-capacity"),
        (
            ("--nodes", "n.csv", "--node-capacity", "cpu=c"),
            "recipes with nodes require --state-to FILE.json",
        ),
        (("--state-to", "s.json"), "recipes with nodes require --state-to FILE.json"),
        (("--duration-default", "forever"), "requires --ended or --duration"),
        (("--duration", "d", "--duration-default", "long"), "takes a number or forever"),
        (("--where", "x"), "--where takes COLUMN=VALUE"),
        (("--where", "x=1"), 'unknown column "x"'),
        (("--scale-time", "0"), "--scale-time takes"),
        (("--sample", "0"), "--sample takes"),
    ],
)
def test_options_of_a_trace_that_do_not_fit_are_refused(
    options: tuple[str, ...], problem: str, ksched: Ksched, tmp_path: Path
) -> None:
    trace = tmp_path / "trace.csv"
    trace.write_text("t,c,r,d\n0,1,1,5\n")
    command = ("timeline", "from-csv", trace, "--created", "t", "--request", "cpu=c")
    code, out, err = ksched(*command, *options)
    assert (code, out) == (2, "")
    assert problem in err


def test_pods_like_those_that_never_ended_end_only_with_runs_for(
    ksched: Ksched, tmp_path: Path
) -> None:
    owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "u"}
    web = pod("web-1", node="n")
    web["metadata"] |= {
        "creationTimestamp": "2026-01-05T00:00:00Z",
        "ownerReferences": [{**owner, "controller": True}],
    }
    dump = tmp_path / "dump.json"
    dump.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": [web]}))
    command = ("timeline", "generate", "--like", dump, "--pods", 2)
    _, out, err = ksched(*command)
    assert "runsFor" not in out
    assert "the pods of 1 of 1 owners, such as default/ReplicaSet/web, never end" in err
    code, out, err = ksched(*command, "--runs-for", "fixed:60")
    assert (code, "never end" in err) == (0, False)
    assert [json.loads(line).get("runsFor") for line in out.splitlines()] == [None, 60, 60]


def test_a_week_has_its_weekdays_hours_and_holidays(
    ksched: Ksched, template: Path, tmp_path: Path
) -> None:
    """Pods come on workdays at nine; one Tuesday is a holiday. Other weeks are like these."""
    hours = ",".join("1" if hour == 9 else "0" for hour in range(24))
    week, other = tmp_path / "week.jsonl", tmp_path / "other.jsonl"
    shape = ("--arrivals", "weekly", "--weekdays", "1,1,1,1,1,0,0", "--hours", hours)
    options = ("--days", "14", "--runs-for", "fixed:60", "--holiday", "2026-01-06")
    assert ksched("timeline", "generate", template, *shape, *options, "--to", week)[0] == 0
    like = ("--like", week, "--days", "14", "--start", "2026-02-02", "--to", other)
    assert ksched("timeline", "generate", *like)[0] == 0
    expected = {week: {0, 2, 3, 4, 7, 8, 9, 10, 11}, other: {0, 1, 2, 3, 4, 7, 8, 9, 10, 11}}
    for path, days in expected.items():
        header, *events = map(json.loads, path.read_text().splitlines())
        assert {event["at"] // 86_400 for event in events} == days
        assert {event["at"] % 86_400 // 3_600 for event in events} == {9}
        assert header["start"] == f"2026-{'01-05' if path == week else '02-02'}T00:00:00Z"


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ((), "generate requires either templates or --like FILE"),
        (("--like", "week.jsonl", "job.yaml"), "generate requires either templates or --like FILE"),
        (("job.yaml", "--start", "2026-01-05T00:30:00Z"), "--start takes a full hour"),
        (("job.yaml", "--weekdays", "1,2"), "--weekdays takes 7 numbers"),
        (("job.yaml", "--hours", "1"), "--hours takes 24 numbers"),
    ],
)
def test_options_of_a_week_that_do_not_fit_are_refused(
    options: tuple[str, ...], problem: str, ksched: Ksched
) -> None:
    code, out, err = ksched("timeline", "generate", *options)
    assert (code, out, problem in err) == (2, "", True), err


def test_the_pods_of_a_row_are_one_job(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    """Eight pods of 1,000 s and one of 100 s: jobs take 550 s on average, pods 900 s."""
    trace, timeline = tmp_path / "two.csv", tmp_path / "two.jsonl"
    trace.write_text("id,t,dur,n,cores\nbig,0,1000,8,8\nsmall,0,100,1,1\n")
    columns = ("--name", "id", "--created", "t", "--duration", "dur", "--replicas", "n")
    requests = ("--request", "cpu=cores", "--divide", "cpu", "--to", timeline)
    assert ksched("timeline", "from-csv", trace, *columns, *requests)[0] == 0
    _, out, _ = ksched("replay", timeline, "--state", write_state(node("n", cpu=9)), "-o", "json")
    answer = json.loads(out)
    assert (answer["jobs"]["completed"], answer["jobs"]["completionTime"]["mean"]) == (2, 550)
    assert answer["jobCompletionTime"]["mean"] == 900
    assert {each["job"] for each in answer["pods"]} == {"default/Job/big", "default/small-0"}
