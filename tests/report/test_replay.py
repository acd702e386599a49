"""What is shown of a replay."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest
from msgspec import structs

from ksched_cli.analysis.replay_result import (
    Assumption,
    ForwardLook,
    PodForecast,
    ReplayResult,
    replay_result,
)
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import Limit
from ksched_cli.report.replay import CSV_COLUMNS
from ksched_cli.report.times import duration
from ksched_cli.report.view import Medium, Table
from ksched_cli.report.views import view_of
from tests.replays import Plain, node, pod, replay
from tests.report.schemas import conforms, shown, squeezed


@pytest.mark.parametrize(
    ("microseconds", "text"),
    [
        (0, "0s"),
        (1_500, "0.002s"),
        (98_500_000, "1m 38s"),
        (3_600_000_000, "1h"),
        (604_800_000_000 + 3_700_000_000, "7d 1h"),
    ],
)
def test_durations_have_two_units(microseconds: int, text: str) -> None:
    assert duration(microseconds) == text


def owned(name: str, **spec: object) -> Plain:
    manifest = pod(name, **spec)  # type: ignore[arg-type]  # fields of a pod's spec
    owner = {"apiVersion": "batch/v1", "kind": "Job", "name": "j", "uid": "u", "controller": True}
    manifest["metadata"]["ownerReferences"] = [owner]
    return manifest


def test_the_table_has_waiting_times_usage_and_who_waits_still(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("n")],
        [
            {"at": 0, "pod": owned("a"), "runsFor": 60},
            {"at": 30, "pod": owned("b", priority=-1), "runsFor": 60},
            {"at": 40, "pod": pod("c", "7")},
            {"at": 41, "pod": pod("d", "7")},
        ],
    )
    lines = shown(replay_result(run, "t"))
    assert lines[0].startswith("2 pods placed in 2m of simulated time: 2 ended, 2 pending;")
    # a waits 0 s, b 30 s; c and d came at 40 and 41, and wait until the end, at 120.
    assert "all pods 4 2 47.25s 30s 1m 20s 1m 20s 1m 20s" in lines
    assert "2 pods still wait at the end, and count with the time so far." in lines
    assert any(line.startswith("default/Job/j 2 0 15s ") for line in lines)
    assert any(line.startswith("priority -1 1 0 30s ") for line in lines)
    assert "AT NODES PODS PENDING CPU STRANDED CPU HIGHEST" in lines
    assert "41s 1 1 3 100% 0% pending" in lines
    text = " ".join(lines)
    assert "2 pods: default/c, default/d kube-scheduler says: 0/1 nodes are available: 1" in text


HOUR, DAY = 3_600, 86_400


def test_rows_are_of_extremes_and_of_the_calendar_between(tmp_path: Path) -> None:
    """A pod of an hour every hour for two days. On Tuesday at 08:20:30 a hundred pods come that fit
    nowhere, and at 10:05 forty nodes join for five minutes."""
    noon = 12 * HOUR
    events = [
        {"at": hour * HOUR, "pod": pod(f"p{hour}", "500m"), "runsFor": HOUR / 2}
        for hour in range(48)
    ]
    peak, join = DAY + 8 * HOUR + 1230 - noon, DAY + 10 * HOUR + 300 - noon
    for number in range(100):
        events.append({"at": peak, "pod": pod(f"big{number}", "9")})
        target = {"kind": "Pod", "name": f"big{number}"}
        events.append({"at": peak + 60, "delete": target})
    for number in range(40):
        events.append({"at": join, "put": node(f"new{number}", "1")})
        target = {"kind": "Node", "name": f"new{number}"}
        events.append({"at": join + 300, "delete": target})
    run = replay(tmp_path, [node("n")], events, start="2026-11-23T12:00:00Z")
    text = render(replay_result(run, "t"), Form.TABLE, Limit(width=100, rows=40))
    lines = squeezed(text[text.index("AT (UTC)") :])
    assert lines[0] == "AT (UTC) NODES PODS PENDING CPU STRANDED CPU HIGHEST"
    assert "Tue 08:20 1 1 100 50% 0% pending" in lines
    assert "Tue 10:05 41 1 0 1% 0% nodes" in lines
    clocks = [line.partition(" ")[2][:5] for line in lines[1:] if "Tue" in line or "Wed" in line]
    assert [clock for clock in clocks if clock not in ("08:20", "10:05")] == [
        *("00:00", "03:00", "06:00", "09:00", "12:00", "15:00", "18:00", "21:00"),
        *("00:00", "03:00", "06:00", "09:00", "11:30"),
    ]
    assert all(len(line) <= 100 for line in text.splitlines())


def test_usage_is_a_line_per_moment_at_which_something_happened(tmp_path: Path) -> None:
    events = [{"at": at / 100, "pod": pod(f"p{at}", "1m"), "runsFor": 1} for at in range(1100)]
    run = replay(tmp_path, [node("n", "8")], events, until=60)
    answer = replay_result(run, "t", all_moments=True)
    rows = list(csv.DictReader(io.StringIO(render(answer, Form.CSV))))
    # Pods come at 0.00, 0.01, … 10.99 and end until 11.99; and the end of the replay has a line.
    assert len(rows) == 1200 + 1  # more than a curve has points
    assert max(int(row["pods"]) for row in rows) == 100
    assert (rows[-1]["at"], rows[-1]["pods"]) == ("60", "0")


def test_a_pod_that_ran_from_the_beginning_was_never_queued(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("n"), pod("x", nodeName="n")],
        [{"at": 1, "put": pod("x", nodeName="n")}, {"at": 2, "pod": pod("y", nodeName="n")}],
    )
    answer = replay_result(run, "t", traces=True)
    document = conforms(answer, "replay_result")
    assert [each["pod"] for each in document["pods"]] == ["default/y"]
    assert document["pods"][0]["queued"] is None
    assert document["pods"][0]["outcome"] == "running"


def test_rows_are_csv(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [{"at": 1, "pod": pod("a")}])
    header, row = render(replay_result(run, "t"), Form.CSV).splitlines()
    assert header.split(",") == list(CSV_COLUMNS)
    assert row == "default/a,default,default/a,default/a,0,1,1,1,n,0,,,1,running,"


def test_samples_over_time_are_csv_with_a_column_per_node_group(tmp_path: Path) -> None:
    events = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 200} for at in range(2)]
    group = {"name": "g", "like": "n", "maxSize": 2}
    run = replay(tmp_path, [node("n")], events, autoscaler={"nodeGroups": [group]})
    answer = replay_result(run, "t", all_moments=True)
    rows = list(csv.DictReader(io.StringIO(render(answer, Form.CSV))))
    assert [(row["at"], row["nodes"], row["nodes:g"]) for row in (rows[0], rows[-1])] == [
        ("0", "1", "0"),
        ("940", "1", "0"),
    ]
    full = next(row for row in rows if row["at"] == "130")
    assert (full["nodes:g"], full["pods"], full["utilization:cpu"]) == ("1", "2", "1.0")


def test_csv_has_pods_in_the_order_in_which_they_left(tmp_path: Path) -> None:
    """Which is that of a stream, as of pods that are gone and of those that stay; a wait is exact
    to the microsecond."""
    events = [
        {"at": 0.1, "pod": pod("long"), "runsFor": 60},
        {"at": 0.3, "pod": pod("never", "7")},
        {"at": 0.7, "pod": pod("short"), "runsFor": 1},
        {"at": 70, "put": pod("there", "1m", nodeName="n")},
    ]
    run = replay(tmp_path, [node("n"), node("m")], events)
    rows = list(csv.DictReader(io.StringIO(render(replay_result(run, "t"), Form.CSV))))
    assert [row["pod"].removeprefix("default/") for row in rows] == [
        *("short", "long", "never", "there")
    ]
    assert [row["waited"] for row in rows] == ["0", "0", "", ""]


def test_names_are_those_of_pending_pods(tmp_path: Path) -> None:
    events = [
        {"at": 0, "pod": pod(name, size)} for name, size in (("z", "7"), ("a", "8"), ("b", "1"))
    ]
    gated = pod("gated", schedulingGates=[{"name": "g"}])
    run = replay(tmp_path, [node("n")], [*events, {"at": 1, "pod": gated}])
    answer = replay_result(run, "t")
    assert render(answer, Form.NAME) == "default/a\ndefault/z"
    assert answer.exit_code == 1


def test_markdown_has_the_tables_of_the_terminal_and_no_charts(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [{"at": 0, "pod": pod("a"), "runsFor": 60}])
    lines = shown(replay_result(run, "t"), form=Form.MARKDOWN)
    assert "#### Waiting times" in lines
    assert any(line.startswith("| all pods | 1 | ") for line in lines)
    assert not any("Over time" in line for line in lines)


def test_a_narrow_terminal_leaves_out_what_says_least(tmp_path: Path) -> None:
    events = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 100} for at in range(3)]
    answer = replay_result(replay(tmp_path, [node("n")], events), "t")
    lines = shown(answer, Limit(width=56, rows=40))
    assert "AT NODES PODS PENDING CPU HIGHEST" in lines
    assert "not shown in 56 columns: Stranded cpu" in lines


@pytest.fixture
def jobs_of_two_users(tmp_path: Path) -> ReplayResult:
    """Two pods are a job of one user, and a third is the job of another one."""
    events: list[Plain] = [
        {"at": 1, "pod": pod("gone", "7")},
        {"at": 2, "delete": {"kind": "Pod", "name": "gone"}},
    ]
    for name, namespace, run_time in (("a", "red", 60), ("b", "red", 30), ("c", "blue", 60)):
        arriving = owned(name)
        arriving["metadata"]["namespace"] = namespace
        events.append({"at": 0, "pod": arriving, "runsFor": run_time})
    return replay_result(replay(tmp_path, [node("n")], events), "t")


def test_jobs_and_their_users_are_shown_where_a_job_has_several_pods(
    jobs_of_two_users: ReplayResult,
) -> None:
    answer = jobs_of_two_users
    lines = shown(answer)
    assert lines[0].endswith(": 3 ended, 1 deleted, 0 pending; 0 running at the end")
    assert "bounded slowdown 2.00 1.50 2.50 2.50 2.50 2.50" in lines
    assert "blue 1 2m 30s 1m 30s 2.50 40% cpu" in lines
    assert "Means of completed jobs. Jain's index of the slowdowns is 0.94." in lines
    rows = csv.DictReader(io.StringIO(render(answer, Form.CSV)))
    assert {row["pod"]: row["waited"] for row in rows}["blue/c"] == "90"
    alone = structs.replace(answer, summary=structs.replace(answer.summary, ended=2))
    assert not {"Jobs", "Users"} & {*shown(alone)}


@pytest.mark.parametrize(
    ("width", "left_out"), [(56, ["P90", "P95"]), (40, ["P99, P90", "P99, P90, P95"])]
)
def test_a_narrow_terminal_leaves_out_the_same_figures_of_waiting_and_of_jobs(
    width: int, left_out: list[str], jobs_of_two_users: ReplayResult
) -> None:
    lines = shown(jobs_of_two_users, Limit(width=width, rows=40))
    notes = [line for line in lines if line.startswith("not shown in") and "P9" in line]
    assert notes == [f"not shown in {width} columns: {names}" for names in left_out]
    assert any(line.startswith("AT NODES PODS PENDING CPU") for line in lines)


def test_a_page_shows_the_first_decisions_of_the_autoscaler_and_counts_the_others(
    tmp_path: Path,
) -> None:
    group = {"name": "g", "like": "n", "maxSize": 2}
    events = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 200} for at in range(2)]
    run = replay(tmp_path, [node("n")], events, autoscaler={"nodeGroups": [group]})
    answer = replay_result(run, "t")
    assert answer.autoscaler
    (first, *_) = decisions = answer.autoscaler.events
    for more, note in ((0, ""), (5_000 - len(decisions), "4,800 more")):
        everything = structs.replace(answer.autoscaler, events=(*decisions, *[first] * more))
        view = view_of(structs.replace(answer, autoscaler=everything), Medium.PAGE)
        (scaling,) = (each for each in view.sections if each.heading == "Scaling")
        assert isinstance(scaling, Table)
        assert (scaling.note, len(scaling.rows)) == (note, min(len(decisions) + more, 200))


def test_what_a_forecast_assumes_has_a_line_for_each_owner_with_a_history() -> None:
    assumptions = (
        Assumption("default/Job/j", 2, True, "history", 3),
        Assumption("", 1, False, "deadline", 0),
        Assumption("default/Job/k", 1, True, "none", 0),
        Assumption("default/Job/l", 3, False, "none", 0),
    )
    starts = PodForecast("default/a", "", 0, 1.0, None, 0.5, False, "")
    answer = ForwardLook(now="", draws=10, pods=(starts,), assumptions=assumptions)
    lines = shown(answer)
    assert lines[0] == "0 of 1 pending pod starts in nine of ten draws (10 draws)"
    assert lines[lines.index("Assumed") + 1 :][:4] == [
        "2 running pods of default/Job/j end as its 3 finished pods did",
        "1 pending pod ends at activeDeadlineSeconds",
        "1 running pod without a known run time stays",
        "3 pending pods without a known run time stay once placed",
    ]
