"""`ksched sweep` from the command line."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.report.schemas import conforms
from tests.run.runs import AUTOSCALER, TIMELINE
from tests.sweep.sweeps import STRATEGY, write_state, write_sweep

PATCHES = [{"path": STRATEGY, "values": ["LeastAllocated", "MostAllocated"]}]


@pytest.fixture(autouse=True)
def here(runs_here: None) -> None:
    """tests/sweep has tests with other processes."""


def result(ksched: Ksched, *arguments: object, code: int = 0) -> dict[str, Any]:
    status, out, err = ksched("sweep", *arguments, "-o", "json")
    assert status == code, err
    return conforms(json.loads(out), "sweep_result")


def rows_of(ksched: Ksched, folder: Path, **fields: Any) -> list[dict[str, Any]]:
    rows = folder / "rows.jsonl"
    result(ksched, write_sweep(folder, **fields), "--rows", rows)
    return [conforms(json.loads(line), "sweep_row") for line in rows.read_text().splitlines()]


def digest(*lines: str) -> str:
    return sha256("".join(sorted(lines)).encode()).hexdigest()[:20]


def test_a_sweep_of_one_combination_decides_as_schedule(ksched: Ksched, tmp_path: Path) -> None:
    patch = {"path": STRATEGY, "values": ["MostAllocated"]}
    (row,) = rows_of(ksched, tmp_path, changes=["cordon c"], patches=[patch], seeds=[3])
    command = ("schedule", "--state", tmp_path / "cluster.json", "--change", "cordon c", "--patch",
               f"{STRATEGY}=MostAllocated", "--kubernetes-version", "1.34", "--tie-break", "random",
               "--seed", 3, "-o", "json")  # fmt: skip
    result = json.loads(ksched(*command)[1])
    placements = (f"{pod} {node}\n" for pod, node in result["placements"].items())
    assert row["placements"] == digest(*placements)
    assert (row["placed"], row["pending"]) == (3, 0)
    assert row["nodesUsed"] == sum(each["pods"] > 0 for each in result["nodes"])


def test_timelines_autoscalers_and_seeds_are_as_replay_says(ksched: Ksched, tmp_path: Path) -> None:
    write_state(tmp_path / "nodes.json", node("a", cpu=4), node("b", cpu=4))
    rush = [{**event, "at": 0} for event in TIMELINE["events"]]
    timelines = {
        "week.json": TIMELINE,
        "rush.json": {**TIMELINE, "events": [*rush, {"at": 1, "pod": pod("huge", cpu=99)}]},
    }
    for name, content in {**timelines, "groups.json": AUTOSCALER}.items():
        (tmp_path / name).write_text(json.dumps(content))
    rows = rows_of(
        ksched,
        tmp_path,
        states=["nodes.json"],
        timelines=list(timelines),
        autoscalers=["none", "groups.json"],
        until="3m",
        seeds=[1, 2],
    )
    assert len(rows) == 8
    for row in rows:
        name = row["autoscaler"]
        autoscaler = ("--autoscaler", tmp_path / name) if name else ()
        command = ("replay", tmp_path / row["timeline"], "--state", tmp_path / row["state"],
                   *autoscaler, "--until", "3m", "--tie-break", "random", "--seed", row["seed"],
                   "-o", "json")  # fmt: skip
        assert_same(row, json.loads(ksched(*command)[1]))
    assert len({row["placements"] for row in rows}) > 2


def assert_same(row: dict[str, Any], result: dict[str, Any]) -> None:
    """result: of `replay -o json`"""
    pods, summary, end = result["pods"], result["summary"], result["end"]
    waits = sorted(
        (end if each["placed"] is None else each["placed"]) - each["queued"] for each in pods
    )
    done = [each["ended"] - each["queued"] for each in pods if each["outcome"] == "ended"]
    assert row["wait"]["mean"] == pytest.approx(sum(waits) / len(waits))
    assert (row["wait"]["max"], row["wait"]["p99"]) == (waits[-1], waits[-1])
    assert row["wait"]["p50"] == waits[(len(waits) + 1) // 2 - 1]
    assert row["pendingHours"] == pytest.approx(sum(waits) / 3600, abs=1e-6)
    assert row["nodeHours"] == result["nodes"]["hours"]
    assert row["ended"] == len(done) > 0
    assert row["jobCompletionTime"]["mean"] == pytest.approx(sum(done) / len(done))
    assert {key: row[key] for key in ("placed", "pending", "gated", "evicted", "ended")} == {
        key: summary[key] for key in ("placed", "pending", "gated", "evicted", "ended")
    }
    lines = (
        f"{each['pod']} {each['node']} {round(each['placed'] * 1e6)}\n"
        for each in pods
        if each["node"]
    )
    assert row["placements"] == digest(*lines)


def test_variants_are_compared_with_the_first(ksched: Ksched, tmp_path: Path) -> None:
    answer = result(ksched, write_sweep(tmp_path, patches=PATCHES, seeds=3))
    runs = {"planned": 6, "ok": 6, "error": 0, "timeout": 0, "lost": 0, "resumed": 0}
    assert answer["runs"] == runs
    assert answer["baseline"] == "NodeResourcesFit.type=LeastAllocated"
    base, packed = answer["variants"]
    assert base["metrics"]["nodesUsed"]["difference"] is None
    nodes = packed["metrics"]["nodesUsed"]
    assert nodes["difference"]["median"] < 0
    assert (nodes["pairs"], nodes["winRate"]) == (3, 1.0)


def test_rows_are_written_and_gone_on_with(ksched: Ksched, tmp_path: Path) -> None:
    file, rows = write_sweep(tmp_path, seeds=3), tmp_path / "rows.jsonl"
    first = result(ksched, file, "--rows", rows)
    for line in rows.read_text().splitlines():
        conforms(json.loads(line), "sweep_row")
    again = result(ksched, write_sweep(tmp_path, seeds=4), "--rows", rows)
    assert (first["runs"]["resumed"], again["runs"]["resumed"]) == (0, 3)
    assert len(rows.read_text().splitlines()) == 4


def test_a_sweep_of_replays_resumes_by_its_rows(ksched: Ksched, tmp_path: Path) -> None:
    """It was interrupted in the middle of the second row."""
    (tmp_path / "week.json").write_text(json.dumps(TIMELINE))
    file = write_sweep(tmp_path, timelines=["week.json"], seeds=3)
    folder = tmp_path / "rows"
    folder.mkdir()
    rows = folder / "rows.jsonl"
    assert result(ksched, file, "--rows", rows)["runs"]["resumed"] == 0
    whole = [json.loads(line) for line in rows.read_text().splitlines()]
    first, second, _ = rows.read_bytes().splitlines(keepends=True)
    rows.write_bytes(first + second[:90])
    assert result(ksched, file, "--rows", rows)["runs"]["resumed"] == 1
    assert rows.read_bytes().startswith(first)
    again = [json.loads(line) for line in rows.read_text().splitlines()]
    own = ("seconds", "worker")  # of each time that a run is made
    assert [{k: v for k, v in each.items() if k not in own} for each in again] == [
        {k: v for k, v in each.items() if k not in own} for each in whole
    ]
    assert [*folder.iterdir()] == [rows]


def test_csv_has_a_line_per_run(ksched: Ksched, tmp_path: Path) -> None:
    _, out, _ = ksched("sweep", write_sweep(tmp_path, patches=PATCHES, seeds=2), "-o", "csv")
    lines = list(csv.DictReader(io.StringIO(out)))
    assert [(line[f"patches.{STRATEGY}"], line["seed"]) for line in lines] == [
        (value, seed) for value in ("LeastAllocated", "MostAllocated") for seed in ("0", "1")
    ]
    assert [line["nodesUsed"] for line in lines] == ["3", "3", "2", "2"]


def test_the_table_has_a_part_for_each_metric_that_differs(ksched: Ksched, tmp_path: Path) -> None:
    code, out, err = ksched("sweep", write_sweep(tmp_path, patches=PATCHES, seeds=3))
    assert code == 0, err
    assert out.startswith(
        "nodesUsed is least with NodeResourcesFit.type=MostAllocated: 2, against 3"
    )
    assert "\n6 runs: 6 ok; " in out
    assert "nodesUsed, less is better" in out
    assert "the same in every run: pending 0, evicted 0" in out


def test_a_dry_run_says_how_many_runs_there_are(ksched: Ksched, tmp_path: Path) -> None:
    file, rows = write_sweep(tmp_path, patches=PATCHES, seeds=3), tmp_path / "rows.jsonl"
    code, out, _ = ksched("sweep", file, "--dry-run", "--rows", rows, "-o", "json")
    answer = conforms(json.loads(out), "sweep_plan")
    assert (code, answer["runs"], answer["resumed"]) == (0, 6, 0)
    assert answer["axes"][STRATEGY] == ["LeastAllocated", "MostAllocated"]
    assert answer["estimatedSeconds"] > 0
    assert not rows.exists()
    _, out, _ = ksched("sweep", file, "--dry-run")
    assert out.startswith("6 runs; a run takes ")


@pytest.mark.parametrize("options", [(), ("--dry-run",)])
@pytest.mark.parametrize(
    "text", ["precious", "[1, 2]", '{"id": "x", "precious": 1}', '{"id": 1', "a: 1\nb: 2"]
)
def test_a_file_of_other_things_stays_as_it_is(
    text: str, options: tuple[str, ...], ksched: Ksched, tmp_path: Path
) -> None:
    file, rows = write_sweep(tmp_path), tmp_path / "precious"
    rows.write_text(text)
    code, out, err = ksched("sweep", file, "--rows", rows, *options)
    assert (code, out, rows.read_text()) == (2, "", text)
    assert "is not a row of a sweep" in err


def test_a_dry_run_leaves_a_row_that_was_not_finished(ksched: Ksched, tmp_path: Path) -> None:
    file, rows = write_sweep(tmp_path, seeds=2), tmp_path / "rows.jsonl"
    ksched("sweep", file, "--rows", rows)
    torn = rows.read_text()[:-9]
    rows.write_text(torn)
    code, out, _ = ksched("sweep", file, "--rows", rows, "--dry-run", "-o", "json")
    assert (code, json.loads(out)["resumed"], rows.read_text()) == (0, 1, torn)


IMPORTED = """
from pathlib import Path
from ksched_cli.api import FilterPlugin, SUCCESS
Path(__file__).with_suffix(".imported").touch()

class Marked(FilterPlugin):
    name = "Marked"
    def filter(self, state, pod, node):
        return SUCCESS
"""


@pytest.mark.parametrize("source", ["marked.py", "marked.py:Marked", "package.marked:Marked"])
@pytest.mark.parametrize("options", [[], ["--dry-run"]])
def test_no_plugins_refuses_those_that_the_file_names(
    source: str,
    options: list[str],
    ksched: Ksched,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    for name in ("package", "package.marked"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    (tmp_path / "package").mkdir()
    for path in ("marked.py", "package/__init__.py", "package/marked.py"):
        (tmp_path / path).write_text(IMPORTED)
    file = write_sweep(tmp_path, plugins=[[], source]).name
    code, out, err = ksched("sweep", file, "--no-plugins", *options)
    assert (code, out) == (2, "")
    assert err == (
        f"error: {file} names the plugin {source}, but --no-plugins (noPlugins of "
        ".ksched.yaml) allows only plugins that --plugin names\n"
    )
    assert not [*tmp_path.rglob("*.imported")]
    code, _, err = ksched("sweep", file, "--no-plugins", "--plugin", source, *options)
    assert code == 0, err
    assert [*tmp_path.rglob("*.imported")]


def test_a_dry_run_imports_no_plugin_that_the_file_names(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(IMPORTED)
    mark = tmp_path / "marked.imported"
    file = write_sweep(tmp_path, plugins=["marked.py"], seeds=2)
    code, out, _ = ksched("sweep", file, "--dry-run", "-o", "json")
    plan = conforms(json.loads(out), "sweep_plan")
    assert (code, plan["runs"], plan["estimatedSeconds"]) == (0, 2, None)
    assert not mark.exists()
    file = write_sweep(tmp_path, plugins=["marked.py", []], seeds=2)
    code, out, _ = ksched("sweep", file, "--dry-run", "-o", "json")
    plan = conforms(json.loads(out), "sweep_plan")
    assert (code, plan["runs"], plan["estimatedSeconds"] > 0) == (0, 4, True)
    assert not mark.exists()
    file = write_sweep(tmp_path, plugins=["marked.py"], seeds=2)
    plugin = ("--plugin", tmp_path / "marked.py")
    code, out, _ = ksched("sweep", file, "--dry-run", *plugin, "-o", "json")
    assert (code, json.loads(out)["estimatedSeconds"] > 0) == (0, True)
    assert mark.exists()


def test_a_dry_run_still_checks_what_needs_no_plugin(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "marked.py").write_text(IMPORTED)
    file = write_sweep(tmp_path, plugins=["marked.py"], changes=["drain nobody"])
    code, _, err = ksched("sweep", file, "--dry-run")
    assert code == 2
    assert 'no node "nobody"' in err
    file = write_sweep(tmp_path, plugins=["marked.py", []], patches=[{"path": "x", "values": [1]}])
    code, _, err = ksched("sweep", file, "--dry-run")
    assert code == 2
    assert 'unknown key "x"' in err


def test_a_plugin_that_fails_is_exit_code_3(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "broken.py").write_text(
        "from ksched_cli.api import FilterPlugin\n"
        "class Broken(FilterPlugin):\n"
        "    name = 'Broken'\n"
        "    def filter(self, state, pod, node):\n"
        "        raise ValueError('broken')\n"
    )
    file = write_sweep(tmp_path, plugins=[[], "broken.py"])
    answer = result(ksched, file, code=3)
    assert answer["runs"]["error"] == 1
    (failure,) = answer["failures"]
    assert failure["error"] == "plugin Broken failed in filter: ValueError: broken"
    _, out, _ = ksched("sweep", file)
    assert "2 runs: 1 ok, 1 error" in out
    assert "plugin Broken failed in filter" in out


def test_a_combination_that_is_not_valid_is_exit_code_1(ksched: Ksched, tmp_path: Path) -> None:
    """Each of the values is valid by itself."""
    patches = [
        {"path": "podInitialBackoffSeconds", "values": [1, 8]},
        {"path": "podMaxBackoffSeconds", "values": [5, 10]},
    ]
    answer = result(ksched, write_sweep(tmp_path, patches=patches), code=1)
    assert (answer["runs"]["ok"], answer["runs"]["error"]) == (3, 1)
    (failure,) = answer["failures"]
    assert failure["example"]["patches"] == {
        "podInitialBackoffSeconds": 8,
        "podMaxBackoffSeconds": 5,
    }
    assert "default configuration with podInitialBackoffSeconds=8, " in failure["error"]


def test_a_metric_of_ones_own_is_compared(ksched: Ksched, tmp_path: Path) -> None:
    (tmp_path / "m.py").write_text("def on_a(snapshot, run):\n    return 2.5\n")
    metrics = {"on_a": "maximize", "missing": "minimize", "nodeUsed": "minimize"}
    file = write_sweep(tmp_path, metrics=metrics)
    answer = result(ksched, file, "--metric", f"{tmp_path}/m.py:on_a")
    assert answer["metrics"] == [{"name": "on_a", "better": "more"}]
    assert answer["variants"][0]["metrics"]["on_a"]["median"] == 2.5
    assert [line for line in answer["warnings"] if "no run has" in line] == [
        'no run has the metric "missing"; -o csv lists the metrics',
        'no run has the metric "nodeUsed"; did you mean nodesUsed?',
    ]


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (["--workers", "2", "--scheduler", "tcp://x:1"], "cannot be combined"),
        (["--workers", "0"], "--workers takes a whole number of at least 1"),
        (["--run-timeout", "soon"], "--run-timeout takes a number of seconds above 0"),
        (["--dry-run", "-o", "csv"], "--dry-run cannot be combined with"),
    ],
)
def test_bad_options_are_refused(
    arguments: list[str], problem: str, ksched: Ksched, tmp_path: Path
) -> None:
    code, out, err = ksched("sweep", write_sweep(tmp_path), *arguments)
    assert (code, out) == (2, "")
    assert problem in err


def test_a_full_disk_is_an_error_about_the_rows(tmp_path: Path) -> None:
    """No file may grow, as where none fits any more."""
    sweep = {"apiVersion": "ksched/v1", "kind": "Sweep", "states": str(tmp_path / "state.json")}
    (tmp_path / "sweep.yaml").write_text(json.dumps(sweep))
    (tmp_path / "state.json").write_text(json.dumps([node("a"), pod("p")]))
    line = [sys.executable, "-m", "ksched_cli", "sweep", "sweep.yaml", "--rows", "rows.jsonl"]
    done = subprocess.run(
        ["bash", "-c", 'ulimit -f 0; exec "$@"', "bash", *line],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert "error: --rows rows.jsonl: File too large\n" in done.stderr
