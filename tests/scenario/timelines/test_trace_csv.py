"""Traces in CSV as timelines."""

from __future__ import annotations

import gzip
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.errors import InputError
from ksched_cli.scenario.timelines import trace_csv
from ksched_cli.scenario.timelines.csv_file import CsvFile
from ksched_cli.scenario.timelines.trace_csv import (
    NodeFileColumns,
    Trace,
    TraceColumns,
    TraceReader,
    TraceRules,
    read_nodes,
)

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


def trace_of(
    folder: Path,
    text: str,
    columns: TraceColumns = COLUMNS,
    *,
    has_header: bool = True,
    skips_bad: bool = False,
    **rules: Any,
) -> Trace:
    """rules: see TraceRules"""
    path = folder / "trace.csv"
    path.write_text(text)
    file = CsvFile(str(path), has_header, skips_bad)
    trace = TraceReader(columns, TraceRules(**rules)).read(file)
    trace.events.sort(key=lambda event: float(event["at"]))
    return trace


def read(
    folder: Path, text: str, columns: TraceColumns = COLUMNS, **rules: Any
) -> tuple[Plain, list[Plain]]:
    """The pod that stays has no end: it runs for ever."""
    trace = trace_of(folder, text, columns, duration_default="forever", **rules)
    return trace.header, trace.events


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


@pytest.mark.parametrize(
    ("unit", "seconds"), [("d", 129_600), ("h", 5_400), ("m", 90), ("s", 1.5), ("ms", 0.0015)]
)
def test_a_number_is_of_the_unit(unit: str, seconds: float, tmp_path: Path) -> None:
    columns = TraceColumns("t", {"cpu": ("c", "")}, duration="d")
    (event,) = read(tmp_path, "t,d,c\n0,1.5,1\n", columns, unit=unit)[1]
    assert event["runsFor"] == seconds


@pytest.mark.parametrize(
    ("text", "delimiter", "comment"),
    [
        ("t;c\n0;1\n5;2\n", ";", ""),
        ("t\tc\n0\t1\n\n5\t2\n", "\t", ""),
        ("  t   c\n 0   1\n\t5\t2 \n", "whitespace", ""),
        ("# made\n# by hand\nt,c\n0,1\n# the last\n5,2\n", ",", "#"),
        ("; SWF\n\nt c\n0  1\n; the last\n5  2\n", "whitespace", ";"),
    ],
)
def test_cells_are_apart_and_lines_left_out_as_the_options_say(
    text: str, delimiter: str, comment: str, tmp_path: Path
) -> None:
    path = tmp_path / "trace.txt"
    path.write_text(text)
    file = CsvFile(str(path), delimiter=delimiter, comment=comment)
    trace = TraceReader(TraceColumns("t", {"cpu": ("c", "")})).read(file)
    cpu = [
        trace.header["templates"][event["template"]]["spec"]["containers"][0]["resources"]
        for event in trace.events
    ]
    assert [event["at"] for event in trace.events] == [0, 5]
    assert [each["requests"] for each in cpu] == [{"cpu": "1"}, {"cpu": "2"}]


def test_a_wrong_row_after_comments_has_the_line_of_the_file(tmp_path: Path) -> None:
    path = tmp_path / "trace.txt"
    path.write_text("; a\n; b\nt c\n0 1\n; c\n5 2 3\n")
    file = CsvFile(str(path), delimiter="whitespace", comment=";")
    with pytest.raises(InputError, match=r"trace\.txt:6:1: expected 2 values, got 3"):
        TraceReader(TraceColumns("t", {"cpu": ("c", "")})).read(file)


def test_a_share_is_of_a_quantity_and_rounded_up(tmp_path: Path) -> None:
    requests = {"cpu": ("c", "x64"), "memory": ("m", "x256Gi"), "nvidia.com/gpu": ("g", "x8")}
    columns = TraceColumns("t", requests)
    header, (first, _) = read(tmp_path, "t,c,m,g\n0,0.10001,0.5,0.25\n1,0,0,0\n", columns)
    resources = [
        each["spec"]["containers"][0]["resources"] for each in header["templates"].values()
    ]
    assert resources[int(first["template"][1:])]["requests"] == {
        "cpu": "6401m",
        "memory": str(128 * 2**30),
        "nvidia.com/gpu": "2",
    }
    assert resources[1]["requests"] == {}
    with pytest.raises(InputError, match='column "c": "-1" is negative'):
        read(tmp_path, "t,c,m,g\n0,-1,0,0\n", columns)


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
    reader = TraceReader(COLUMNS, TraceRules(duration_default="forever"))
    assert len(reader.read(CsvFile(str(path))).events) == 4


@pytest.mark.parametrize(
    ("before", "after", "problem"),
    [
        ("gpu_spec", "spec", r'unknown column "gpu_spec"; expected one of name, cpu_milli'),
        ("110", "", r'trace.csv:2:1: column "creation_time": a time is expected'),
        ("110", "soon", r'trace.csv:2:1: column "creation_time": expected a number, or a time'),
        ("6000", "six", r'trace.csv:3:1: column "cpu_milli": "sixm" is not a Kubernetes quantity'),
        ("6000", "-6", r'trace.csv:3:1: column "cpu_milli": "-6" is negative'),
        (",110", "", r"trace.csv:2:1: expected 8 values, got 7"),
        ("190.5", "129", r'"deletion_time": "129" is before "130.0" of column "scheduled_time"'),
        ("120.0", "109", r'"deletion_time": "109" is before "110" of column "creation_time"'),
        ("waited", " ", r'trace.csv:2:1: column "name": expected a name'),
    ],
)
def test_what_is_wrong_is_named_with_its_line(
    tmp_path: Path, before: str, after: str, problem: str
) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, OPENB.replace(before, after, 1))


@pytest.mark.parametrize("rows", ["0,1\n1e12,1", "0,1e12"])
def test_a_trace_of_more_years_than_a_timeline_is_refused(tmp_path: Path, rows: str) -> None:
    columns = TraceColumns("t", duration="d")
    with pytest.raises(InputError, match=r"it takes more than 3,000 years; is --time-unit right?"):
        trace_of(tmp_path, f"t,d\n{rows}\n", columns)


def test_a_trace_without_rows_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="the file has no rows"):
        read(tmp_path, OPENB.splitlines()[0])


# -- rules, each with a trace of a few rows -------------------------------------------------------

JOBS = TraceColumns("t", {"cpu": ("c", ""), "example.com/gpu": ("g", "")}, name="n", duration="d")


def test_an_empty_duration_is_an_error_unless_an_option_says_what_it_is(tmp_path: Path) -> None:
    text = "n,t,d,c,g\na,0,5,1,\nb,1,,1,\n"
    problem = r'trace.csv:3:1: column "d": the cell is empty \(--duration-default forever, or'
    with pytest.raises(InputError, match=problem):
        trace_of(tmp_path, text, JOBS)
    lengths = {}
    for default in ("forever", "7.5"):
        events = trace_of(tmp_path, text, JOBS, duration_default=default).events
        lengths[default] = [event.get("runsFor") for event in events]
    assert lengths == {"forever": [5, None], "7.5": [5, 7.5]}


def test_an_empty_end_is_an_error_unless_an_option_says_what_it_is(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r'trace.csv:4:1: column "deletion_time": the cell is empty'
    ):
        trace_of(tmp_path, OPENB)


def test_an_empty_time_of_arrival_is_what_the_option_says(tmp_path: Path) -> None:
    text = "n,t,d,c,g\na,20,5,1,\nb,,5,1,\n"
    with pytest.raises(InputError, match=r"trace.csv:3:1: .* \(--created-default TIME"):
        trace_of(tmp_path, text, JOBS)
    trace = trace_of(tmp_path, text, JOBS, created_default="8")
    assert [(event["pod"], event["at"]) for event in trace.events] == [
        ("default/b", 0),
        ("default/a", 12),
    ]


BAD = "n,t,d,c,g\na,0,5,1,\nb,1,-10,1,\nc,soon,5,1,\nd,4,5,1\ne,10,5,2,\n"


def test_every_row_that_is_wrong_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        trace_of(tmp_path, BAD, JOBS)
    lines = str(caught.value).splitlines()
    assert [line.partition("trace.csv:")[2].partition(":")[0] for line in lines] == ["3", "4", "5"]
    assert 'column "d": "-10" is negative' in lines[0]


def test_rows_that_are_wrong_can_be_left_out_and_are_counted(tmp_path: Path) -> None:
    trace = trace_of(tmp_path, BAD, JOBS, skips_bad=True)
    assert (trace.rows, trace.left_out, trace.pods) == (5, {"by --skip-bad": 3}, 2)
    assert '"-10" is negative' in trace.first_bad
    # a comes at 0 with one core, e at 10 with two.
    assert (trace.span, str(trace.requests["cpu"])) == (10, "3")


def test_a_trace_whose_rows_are_all_left_out_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="all 5 rows are left out"):
        trace_of(tmp_path, BAD, JOBS, skips_bad=True, where={"n": ["z"]})


def test_rows_are_chosen_by_what_is_in_their_columns(tmp_path: Path) -> None:
    text = "n,t,d,c,g\na,0,5,1,\nb,1,5,1,1\nc,2,5,2,1\nd,3,5,1,1\n"
    trace = trace_of(tmp_path, text, JOBS, where={"n": ["a", "b", "c"], "c": ["1"], "g": ["1"]})
    assert [event["pod"] for event in trace.events] == ["default/b"]
    assert (trace.rows, trace.left_out) == (4, {"by --where": 3})


def test_a_sample_is_the_same_for_the_same_seed(tmp_path: Path) -> None:
    text = "n,t,d,c,g\n" + "".join(f"p{n},{n},5,1,\n" for n in range(100))
    names = []
    for seed in (1, 1, 2):
        trace = trace_of(tmp_path, text, JOBS, sample=10, seed=seed)
        assert (trace.pods, trace.left_out) == (10, {"by --sample": 90})
        names.append([event["pod"] for event in trace.events])
    assert names[0] == names[1] != names[2]


def test_times_and_durations_are_scaled(tmp_path: Path) -> None:
    text = "n,t,d,c,g\na,100,50,1,\nb,160,30,1,\n"
    trace = trace_of(tmp_path, text, JOBS, scale=0.1)
    assert [(event["at"], event["runsFor"]) for event in trace.events] == [(0, 5), (6, 3)]
    assert trace.header["start"] == "1970-01-01T00:01:40Z"


def test_columns_without_names_are_numbers(tmp_path: Path) -> None:
    columns = TraceColumns("2", {"cpu": ("3", "")}, name="1")
    trace = trace_of(tmp_path, "a,5,1\nb,6,2\n", columns, has_header=False)
    assert [(event["pod"], event["at"]) for event in trace.events] == [
        ("default/a", 0),
        ("default/b", 1),
    ]


REPLICAS = TraceColumns(
    "t",
    {"cpu": ("c", ""), "memory": ("m", "Gi"), "example.com/gpu": ("g", "")},
    name="n",
    duration="d",
    replicas="r",
)


def test_a_row_of_several_pods_is_divided_over_them(tmp_path: Path) -> None:
    """A job of three pods with 4 cores, 3 Gi and 6 GPUs in all: 1,334 thousandths, 1 Gi and 2 GPUs
    each. The GPUs of each of two pods alike are a half of 8, and the cores are not divided."""
    text = "n,t,d,c,m,g,r\njob,0,5,4,3,6,3\n"
    everything = frozenset(("cpu", "memory", "example.com/gpu"))
    trace = trace_of(tmp_path, text, REPLICAS, divided=everything)
    assert [event["pod"] for event in trace.events] == [f"default/job-{n}" for n in range(3)]
    (template,) = trace.header["templates"].values()
    assert template["spec"]["containers"][0]["resources"]["requests"] == {
        "cpu": "1334m",
        "memory": str(2**30),
        "example.com/gpu": "2",
    }
    assert (trace.pods, trace.requests["example.com/gpu"].value()) == (3, 6)
    text = "n,t,d,c,m,g,r\njob,0,5,4,3,8,2\n"
    trace = trace_of(tmp_path, text, REPLICAS, divided=frozenset(("example.com/gpu",)))
    (template,) = trace.header["templates"].values()
    amounts = template["spec"]["containers"][0]["resources"]["requests"]
    assert (amounts["cpu"], amounts["example.com/gpu"]) == ("4", "4")
    assert str(trace.requests["cpu"]) == "8"


@pytest.mark.parametrize(
    ("row", "problem"),
    [
        ("job,0,5,4,3,5,2", r'column "g": 5 of example.com/gpu cannot be divided by 2'),
        ("job,0,5,4,3,5,0", r'column "r": expected a whole number from 1 to 100,000; not "0"'),
        ("job,0,5,4,3,5,1.5", r'column "r": expected a whole number from 1'),
        ("job,0,5,4,3,5,", r'column "r": expected a number'),
    ],
)
def test_a_row_that_cannot_be_so_many_pods_is_wrong(row: str, problem: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=problem):
        trace_of(
            tmp_path, f"n,t,d,c,m,g,r\n{row}\n", REPLICAS, divided=frozenset(("example.com/gpu",))
        )


def test_a_gang_is_a_group_of_its_own(tmp_path: Path) -> None:
    text = "n,t,d,c,m,g,r\nred,0,5,1,1,1,2\nblue,1,5,1,1,1,3\n"
    trace = trace_of(tmp_path, text, REPLICAS, gang=True)
    assert [
        (group["metadata"]["name"], group["spec"]["schedulingPolicy"]["gang"]["minCount"])
        for group in trace.groups
    ] == [("red", 2), ("blue", 3)]
    groups = [
        trace.header["templates"][event["template"]]["spec"]["schedulingGroup"]["podGroupName"]
        for event in trace.events
    ]
    assert groups == ["red", "red", "blue", "blue", "blue"]


def test_a_name_that_was_made_is_not_made_again(tmp_path: Path) -> None:
    text = "n,t,d,c,g\na,0,5,1,\na,1,5,1,\na-2,2,5,1,\na,3,5,1,\n"
    events = trace_of(tmp_path, text, JOBS).events
    assert [event["pod"].partition("/")[2] for event in events] == ["a", "a-2", "a-2-2", "a-3"]


def test_nodes_are_what_their_columns_say(tmp_path: Path) -> None:
    path = tmp_path / "nodes.csv"
    path.write_text("sn,cpu,model\nn1,8000,V100\nn2,4000,\n")
    columns = NodeFileColumns({"cpu": ("cpu", "m")}, "sn", {"gpu-model": "model"})
    first, second = read_nodes(CsvFile(str(path)), columns)
    assert first["metadata"]["labels"] == {"kubernetes.io/hostname": "n1", "gpu-model": "V100"}
    assert first["status"]["allocatable"] == {"pods": "110", "cpu": "8000m"}
    assert second["metadata"]["labels"] == {"kubernetes.io/hostname": "n2"}
    path.write_text("sn,cpu,model\nn1,8000,\nn1,x,\nn1,4000,\n")
    with pytest.raises(InputError) as caught:
        read_nodes(CsvFile(str(path)), columns)
    assert 'column "cpu": "xm" is not a Kubernetes quantity' in str(caught.value)
    assert 'nodes.csv:4:1: another row has the node "n1"' in str(caught.value)
