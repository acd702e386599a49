"""What is shown of a replay."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import pytest

from ksched_cli.report import replay as renderer
from ksched_cli.report.table import Limit
from tests.replays import Plain, node, pod, replay
from tests.report.schemas import conforms, squeezed


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
    assert renderer.duration(microseconds) == text


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
    lines = squeezed(renderer.table(run, Limit(width=100, rows=40)))
    assert lines[0].startswith("2 pods placed in 2m of simulated time: 2 ended, 2 pending;")
    assert "all pods 2 15s 0s 30s 30s 30s" in lines
    assert any(line.startswith("default/Job/j 2 ") for line in lines)
    assert any(line.startswith("priority -1 1 30s ") for line in lines)
    assert "AT NODES PODS PENDING CPU STRANDED CPU" in lines
    assert "2 default/c, … 0/1 nodes are available: 1 Insufficient cpu." in " ".join(lines)


def test_a_pod_that_ran_from_the_beginning_was_never_queued(tmp_path: Path) -> None:
    run = replay(
        tmp_path,
        [node("n"), pod("x", nodeName="n")],
        [{"at": 1, "put": pod("x", nodeName="n")}, {"at": 2, "pod": pod("y", nodeName="n")}],
    )
    document = conforms(
        renderer.document(run, "t", run.log.live.values(), traces=True), "replay_result"
    )
    assert [each["pod"] for each in document["pods"]] == ["default/y"]
    assert document["pods"][0]["queued"] is None
    assert document["pods"][0]["outcome"] == "running"


def test_rows_are_csv(tmp_path: Path) -> None:
    run = replay(tmp_path, [node("n")], [{"at": 1, "pod": pod("a")}])
    header, row = renderer.csv_text(run.log.live.values()).splitlines()
    assert header.split(",") == list(renderer.CSV_COLUMNS)
    assert row == "default/a,default,default/a,0,1,1,1,n,0,,,1,running,"


def test_samples_over_time_are_csv_with_a_column_per_node_group(tmp_path: Path) -> None:
    events = [{"at": at, "pod": pod(f"p{at}"), "runsFor": 200} for at in range(2)]
    group = {"name": "g", "like": "n", "maxSize": 2}
    run = replay(tmp_path, [node("n")], events, autoscaler={"nodeGroups": [group]})
    rows = list(csv.DictReader(io.StringIO(renderer.usage_csv(run))))
    assert [(row["at"], row["nodes"], row["nodes:g"]) for row in (rows[0], rows[-1])] == [
        ("0", "1", "0"),
        ("940", "1", "0"),
    ]
    full = next(row for row in rows if row["at"] == "130")
    assert (full["nodes:g"], full["pods"], full["utilization:cpu"]) == ("1", "2", "1.0")
