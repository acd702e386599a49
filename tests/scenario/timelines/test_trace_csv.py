"""Traces in CSV as timelines."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.timelines import trace_csv
from ksched_cli.scenario.timelines.trace_csv import TraceColumns, TraceReader

Plain = dict[str, Any]

OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_spec,creation_time,deletion_time,scheduled_time
waited,8000,1024,0,,110,120.0,
ran,6000,12288,1,V100M16|V100M32,100,190.5,130.0
stayed,6000,12288,1,V100M16|V100M32,130,,131.0
"""
COLUMNS = TraceColumns(
    "creation_time",
    {"cpu": ("cpu_milli", "m"), "memory": ("memory_mib", "Mi"), "nvidia.com/gpu": ("num_gpu", "")},
    name="name",
    scheduled="scheduled_time",
    ended="deletion_time",
    selectors={"gpu-model": "gpu_spec"},
)


def read(
    folder: Path, text: str, columns: TraceColumns = COLUMNS, **options: Any
) -> tuple[Plain, list[Plain]]:
    path = folder / "trace.csv"
    path.write_text(text)
    header, events = TraceReader(columns, **options).read(str(path))
    return header, sorted(events, key=lambda event: float(event["at"]))


def test_pods_come_and_run_as_the_trace_says(tmp_path: Path) -> None:
    header, (ran, waited, deletion, stayed) = read(
        tmp_path, OPENB, start=datetime(2023, 1, 1, tzinfo=UTC)
    )
    assert header["start"] == "2023-01-01T00:01:40Z"
    assert (ran["at"], ran["pod"], ran["runsFor"]) == (0, "default/ran", 60.5)
    assert (waited["at"], "runsFor" in waited) == (10, False)
    assert deletion == {
        "at": 20,
        "delete": {"kind": "Pod", "namespace": "default", "name": "waited"},
    }
    assert (stayed["at"], stayed["template"], "runsFor" in stayed) == (30, ran["template"], False)


def test_pods_request_what_the_trace_says(tmp_path: Path) -> None:
    header, events = read(tmp_path, OPENB)
    waited = header["templates"][events[1]["template"]]["spec"]
    assert waited["containers"][0]["resources"] == {
        "requests": {"cpu": "8000m", "memory": "1024Mi"}
    }
    ran = header["templates"][events[0]["template"]]["spec"]
    assert ran["containers"][0]["resources"]["limits"] == {"nvidia.com/gpu": "1"}
    affinity = ran["affinity"]["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"]
    assert affinity["nodeSelectorTerms"][0]["matchExpressions"] == [
        {"key": "gpu-model", "operator": "In", "values": ["V100M16", "V100M32"]}
    ]
    assert "affinity" not in waited


def test_times_are_in_their_unit_or_written_out(tmp_path: Path) -> None:
    columns = TraceColumns("t", {"cpu": ("c", "")}, duration="d", priority="p", labels={"app": "a"})
    text = "t,d,c,p,a\n1500,250,1,5,x\n1970-01-01T00:00:02Z,,1,,y\n"
    header, (first, second) = read(tmp_path, text, columns, unit="ms")
    assert (header["start"], first["at"], second["at"]) == ("1970-01-01T00:00:01Z", 0.5, 1)
    assert (first["runsFor"], "runsFor" in second) == (0.25, False)
    own = header["templates"][first["template"]]
    assert (own["spec"]["priority"], own["metadata"]["labels"]) == (5, {"app": "x"})
    assert first["pod"] == "default/pod-0"


def test_names_are_made_to_differ(tmp_path: Path) -> None:
    columns = TraceColumns("t", name="n", namespace="ns", ended="e")
    text = "t,n,ns,e\n0,a,x,5\n1,a,x,3\n2,a,,3\n"
    _, events = read(tmp_path, text, columns)
    assert [event["pod"] for event in events] == ["x/a", "x/a-2", "default/a"]
    assert [event["runsFor"] for event in events] == [5, 2, 1]


def test_pods_that_all_differ_have_manifests_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trace_csv, "_MAX_TEMPLATES", 1)
    header, events = read(tmp_path, OPENB)
    assert len(header["templates"]) == 1
    assert events[0]["pod"]["metadata"] == {"name": "ran", "namespace": "default"}


def test_a_packed_trace_is_read(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(OPENB.encode()))
    _, events = TraceReader(COLUMNS).read(str(path))
    assert len(events) == 4


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("gpu_spec", "spec", r'there is no column "gpu_spec"; there are: name, cpu_milli'),
        ("110", "", r'trace.csv:2:1: column "creation_time": a time is expected'),
        ("110", "soon", r'trace.csv:2:1: column "creation_time": a number, or a time'),
        ("6000", "six", r'trace.csv:3:1: column "cpu_milli": "sixm" is no amount'),
        ("6000", "-6", r'trace.csv:3:1: column "cpu_milli": "-6" is negative'),
        (",110", "", r"trace.csv:2:1: expected 8 values"),
        ("waited", " ", r'trace.csv:2:1: column "name": a name is expected'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, OPENB.replace(before, after, 1))


@pytest.mark.parametrize("rows", ["0,1\n1e12,1", "0,1e12"])
def test_a_trace_of_more_years_than_a_timeline_is_refused(tmp_path: Path, rows: str) -> None:
    path = tmp_path / "trace.csv"
    path.write_text(f"t,d\n{rows}\n")
    columns = TraceColumns("t", duration="d")
    with pytest.raises(InputError, match=r"it takes more than 3,000 years; is --time-unit right?"):
        TraceReader(columns).read(str(path))


def test_a_trace_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="there are no rows"):
        read(tmp_path, OPENB.splitlines()[0])
