"""A workload is drawn as the paper's simulator draws it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from ksched_fgd.command_line import app, main
from ksched_fgd.gpu_requests import GpuRequest
from ksched_fgd.traces import TraceError, TraceNode, TracePod, read_nodes, read_pods
from ksched_fgd.workload import draw_workload
from typer.testing import CliRunner

from ksched_cli.testing import cluster

PODS = """\
name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos
b,4000,1024,1,220,,BE
a,88000,2048,8,1000,,LS
c,2000,512,0,0,,LS
d,6000,512,1,1000,V100M16|V100M32,LS
"""
NODES = """\
sn,cpu_milli,memory_mib,gpu,model
n2,64000,262144,2,P100
n1,96000,786432,8,V100M32
"""


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    pods, nodes = tmp_path / "pods.csv", tmp_path / "nodes.csv"
    pods.write_text(PODS)
    nodes.write_text(NODES)
    return pods, nodes


def shared(name: str) -> TracePod:
    return TracePod(name, 1000, 1024, GpuRequest(1, 400))


def whole_node() -> TraceNode:
    return TraceNode("n", 96000, 262144, 10, "G2")


def test_what_the_columns_say_is_read_in_order_of_name(files: tuple[Path, Path]) -> None:
    pods, nodes = read_pods(files[0]), read_nodes(files[1])
    assert pods == [
        TracePod("a", 88000, 2048, GpuRequest(8, 1000)),
        TracePod("b", 4000, 1024, GpuRequest(1, 220)),
        TracePod("c", 2000, 512, GpuRequest()),
        TracePod("d", 6000, 512, GpuRequest(1, 1000, "V100M16|V100M32")),
    ]
    assert [node.name for node in nodes] == ["n1", "n2"]


def test_pods_are_added_until_they_ask_for_the_ratio() -> None:
    workload = draw_workload([shared("a"), shared("b")], [whole_node()], 0.5, 1)
    assert len(workload.pods) == 12  # 4,800 thousandths; the next would be above 5,000
    assert [pod.name for pod in workload.pods][2:4] == ["b-tuned-0", "b-tuned-1"]


def test_pods_are_left_out_where_they_ask_for_more() -> None:
    pods = [shared(f"p{i}") for i in range(20)]
    assert len(draw_workload(pods, [whole_node()], 0.5, 1).pods) == 12


def test_the_trace_stays_as_it_is_without_a_ratio() -> None:
    pods = [shared(f"p{i}") for i in range(20)]
    workload = draw_workload(pods, [whole_node()], 0, 1)
    assert {pod.name for pod in workload.pods} == {pod.name for pod in pods}


def test_the_same_seed_draws_the_same_workload() -> None:
    pods = [shared(f"p{i}") for i in range(20)]
    nodes = [TraceNode(f"n{i}", 1000, 1024, 1, "T4") for i in range(9)]
    first, again, other = (draw_workload(pods, nodes, 0.9, seed) for seed in (7, 7, 8))
    assert first == again
    assert [node.name for node in first.nodes] != [node.name for node in other.nodes]


def test_trace_prints_a_state_with_typical_pods(files: tuple[Path, Path]) -> None:
    result = CliRunner().invoke(app, ["trace", *map(str, files), "--tune", "0"])
    assert result.exit_code == 0
    plain = json.loads(result.stdout)
    state = cluster(*plain["items"])
    assert len(state.pods) == 4
    assert sorted(node.name.split("-", 1)[1] for node in state.nodes) == ["n1", "n2"]
    (typical,) = state.others["TypicalPods.fgd.ksched"]
    assert [pod["frequency"] for pod in typical["pods"]] == [0.25] * 4
    assert typical["pods"][0]["cpuMilli"] == 88000


def test_a_line_that_is_wrong_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text(PODS.replace("2000", "two"))
    with pytest.raises(TraceError, match=r"pods\.csv, line 4: .*'two'"):
        read_pods(path)


def test_a_column_that_is_missing_is_named(tmp_path: Path) -> None:
    path = tmp_path / "pods.csv"
    path.write_text(PODS.replace("cpu_milli", "cpu"))
    with pytest.raises(TraceError, match=r"there is no column 'cpu_milli'"):
        read_pods(path)


def test_a_file_that_is_not_there_ends_with_code_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["ksched-fgd", "trace", "pods.csv", "nodes.csv"])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 2
    assert "pods.csv cannot be read" in capsys.readouterr().err
