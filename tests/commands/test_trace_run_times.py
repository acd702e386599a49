"""Traces whose run times depend on the node."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.scenario.timelines.trace_csv import RUN_TIMES
from tests.commands.runners import Ksched

COMMAND = ("timeline", "from-csv", "{folder}/t.csv", "--created", "t", "--request", "cpu=c")
BY_COLUMN = ("--duration-on", "gpu=v100=v", "--duration-on", "gpu=k80=k")
BY_TABLE = ("--throughputs", "gpu={folder}/t.json", "--throughput-key", "{m}/{c}", "--work", "v")


def converted(
    ksched: Ksched, folder: Path, rows: str, *options: str, table: object = None
) -> tuple[int, list[dict[str, Any]], str]:
    (folder / "t.csv").write_text(f"t,c,m,v,k\n{rows}")
    (folder / "t.json").write_text(json.dumps(table))
    arguments = [each.replace("{folder}", str(folder)) for each in (*COMMAND, *options)]
    code, out, err = ksched(*arguments)
    return code, [json.loads(line) for line in out.splitlines()], err


def test_columns_say_how_long_pods_run_on_which_nodes(ksched: Ksched, tmp_path: Path) -> None:
    _, (header, both, slow), _ = converted(
        ksched, tmp_path, "0,1,a,60,240\n1,1,a,,90\n", *BY_COLUMN, "--scale-time", "0.5"
    )
    assert both["runsFor"] == {"label": "gpu", "seconds": {"v100": 30, "k80": 120}}
    assert slow["runsFor"] == {"label": "gpu", "seconds": {"k80": 45}}
    # It would not end on other nodes.
    affinity = header["templates"][slow["template"]]["spec"]["affinity"]["nodeAffinity"]
    (term,) = affinity["requiredDuringSchedulingIgnoredDuringExecution"]["nodeSelectorTerms"]
    assert term["matchExpressions"] == [{"key": "gpu", "operator": "In", "values": ["k80"]}]


def test_a_duration_is_for_all_other_nodes(ksched: Ksched, tmp_path: Path) -> None:
    options = ("--duration-on", "gpu=v100=v", "--duration", "k", "--restart-overhead", "15")
    _, (header, event), _ = converted(ksched, tmp_path, "0,1,a,60,240\n", *options)
    by_node = {"label": "gpu", "seconds": {"v100": 60}, "otherwise": 240}
    assert (event["runsFor"], event["restartOverhead"]) == (by_node, 15)
    assert "affinity" not in header["templates"][event["template"]]["spec"]


def test_a_table_of_throughputs_turns_work_into_times(ksched: Ksched, tmp_path: Path) -> None:
    table = {"v100": {"a/1": 4, "a/2": 8}, "k80": {"a/1": {"null": 0.5, "x": [1, 2]}, "a/2": 0}}
    _, (header, alone, pair), _ = converted(
        ksched,
        tmp_path,
        "0,1,a,60,\n1,2,a,60,\n",
        *BY_TABLE,
        "--annotate-run-times",
        table=table,
    )
    assert alone["runsFor"]["seconds"] == {"v100": 15, "k80": 120}
    assert pair["runsFor"]["seconds"] == {"v100": 7.5}
    annotations = header["templates"][pair["template"]]["metadata"]["annotations"]
    assert json.loads(annotations[RUN_TIMES]) == {"v100": 7.5}


@pytest.mark.parametrize(
    ("rows", "options", "table", "error"),
    [
        ("0,1,a,-5,1\n", BY_COLUMN, None, 't.csv:2:1: column "v": "-5" is negative'),
        ("0,1,a,,\n", BY_COLUMN, None, "t.csv:2:1: expected a duration in one of the columns v, k"),
        (
            "0,1,b,5,\n",
            BY_TABLE,
            {"v100": {"a/1": 4}},
            't.csv:2:1: there is no throughput for "b/1"',
        ),
        ("0,1,a,-5,\n", BY_TABLE, {"v100": {"a/1": 4}}, 't.csv:2:1: column "v": "-5" is negative'),
        ("0,1,,5,\n", BY_TABLE, {"v100": {"a/1": 4}}, 't.csv:2:1: column "m": expected a name'),
        ("0,1,a,5,\n", BY_TABLE, {"v100": {"a/1": "x"}}, "t.json: v100: a/1: expected {VALUE-OF-"),
        ("0,1,a,5,\n", BY_TABLE, [], "t.json: expected {VALUE-OF-THE-LABEL: {KEY: "),
        ("", (*BY_COLUMN, "--duration-on", "x=y=v"), None, "one label of nodes; not on gpu, x"),
        ("", ("--duration-on", "v100=v"), None, '--duration-on takes LABEL=VALUE=COLUMN; not "v10'),
        (
            "",
            ("--throughputs", "t.json", *BY_TABLE[2:]),
            None,
            '--throughputs takes LABEL=FILE.json; not "t.json"',
        ),
        ("", BY_TABLE[:4], None, "--throughputs, --throughput-key and --work require each other"),
        ("", ("--annotate-run-times",), None, "requires --throughputs or --duration-on"),
        ("", ("--event", "m"), None, "--event COLUMN and --event-type ROLE=VALUE require each"),
        ("", ("--event", "m", "--event-type", "start=s"), None, "--event requires --name"),
        (
            "",
            ("--event", "m", "--name", "c", "--event-type", "begin=s"),
            None,
            '--event-type takes ROLE=VALUE, with submit, start, evict, end; not "begin=s"',
        ),
        (
            "",
            ("--event", "m", "--name", "c", "--event-type", "end=s", "--duration", "v"),
            None,
            "--event cannot be combined with --scheduled, --ended or --duration",
        ),
        ("", ("--duration-on", "gpu=v100=x"), None, 'unknown column "x"; expected one of t, c, m'),
        ("", ("--name", "{m}-{x}"), None, 'unknown column "x"; expected one of t, c, m'),
    ],
)
def test_what_is_wrong_is_named(
    ksched: Ksched,
    tmp_path: Path,
    rows: str,
    options: tuple[str, ...],
    table: object,
    error: str,
) -> None:
    code, _, err = converted(ksched, tmp_path, rows, *options, table=table)
    assert (code, error in err) == (2, True), err


def test_cells_that_stand_for_nothing_are_empty(ksched: Ksched, tmp_path: Path) -> None:
    options = ("--duration", "v", "--duration-default", "7", "--empty", "-1", "--empty", "NaN")
    _, (_, *events), _ = converted(ksched, tmp_path, "0,1,a,-1,\n1,1,a,NaN,\n2,1,a,5,\n", *options)
    assert [event["runsFor"] for event in events] == [7, 7, 5]
