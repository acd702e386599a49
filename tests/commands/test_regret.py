"""--regret: how far a run is from the best placement of the same pods."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState

pytest.importorskip("ortools", reason="the extra optimum is not installed")

FRAGMENTED = [
    node("a", cpu=4),
    node("b", cpu=4),
    *(
        pod(name, cpu=cpu, metadata={"creationTimestamp": f"2026-01-01T00:00:0{at}Z"})
        for at, (name, cpu) in enumerate((("p1", 2), ("p2", 2), ("p3", 4)))
    ),
]


@pytest.fixture
def state(write_state: WriteState) -> Path:
    return write_state(*FRAGMENTED)


def test_schedule_and_compare_show_the_regret(state: Path, ksched: Ksched) -> None:
    _, out, _ = ksched("schedule", "--state", state, "--regret", "pods")
    assert "Best placement\nPRIORITY  ALL  REACHED  BEST  AT MOST\n" in out
    answer = json.loads(ksched("schedule", "--state", state, "--regret", "cpu", "-o", "json")[1])
    assert answer["regret"]["regret"] == answer["regret"]["atMost"] == 4000
    _, out, _ = ksched(
        "compare", "--state", state, "--regret", "pods", "--vs", "--change", "cordon a"
    )
    assert "regret in pods" in out


@pytest.mark.usefixtures("runs_here")
def test_a_sweep_is_sorted_by_regret(state: Path, tmp_path: Path, ksched: Ksched) -> None:
    packing = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
    }
    args = {
        "scoringStrategy": {"type": "MostAllocated", "resources": [{"name": "cpu", "weight": 1}]}
    }
    fit = {"name": "NodeResourcesFit", "args": args}
    (tmp_path / "spread.yaml").write_text(yaml.safe_dump(packing))
    packing["profiles"] = [{"pluginConfig": [fit]}]  # type: ignore[assignment]
    (tmp_path / "pack.yaml").write_text(yaml.safe_dump(packing))
    document = {
        "apiVersion": "ksched/v1",
        "kind": "Sweep",
        "states": [str(state)],
        "configurations": ["spread.yaml", "pack.yaml"],
        "regret": "pods",
        "metrics": {"best.regret": "minimize"},
    }
    (tmp_path / "sweep.yaml").write_text(yaml.safe_dump(document))
    answer = json.loads(ksched("sweep", tmp_path / "sweep.yaml", "-o", "json")[1])
    medians = {
        each["name"]: each["metrics"]["best.regret"]["median"] for each in answer["variants"]
    }
    assert medians == {"spread.yaml": 1, "pack.yaml": 0}


def test_bad_input_gets_one_line(
    state: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, _, err = ksched("schedule", "--state", state, "--regret", "example.com/none")
    assert code == 2
    assert "--regret takes pods, a resource that waiting pods request, or a --metric" in err
    assert (
        "--time-limit requires --regret"
        in ksched("schedule", "--state", state, "--time-limit", "5s")[2]
    )
    monkeypatch.setitem(sys.modules, "ortools", None)
    code, _, err = ksched("schedule", "--state", state, "--regret", "pods")
    assert code == 2
    assert "--regret needs the extra optimum" in err
    assert "pip install '.[optimum]'" in err


TIMELINE = {
    "apiVersion": "ksched/v1",
    "kind": "Timeline",
    "events": [
        {"at": 0, "pod": pod("p1", cpu=2), "runsFor": 5000},
        {"at": 1, "pod": pod("p2", cpu=2), "runsFor": 5000},
        {"at": 60, "pod": pod("p3", cpu=4), "runsFor": 100},
    ],
}


@pytest.fixture
def replay(write_state: WriteState, tmp_path: Path) -> list[object]:
    (tmp_path / "day.yaml").write_text(yaml.safe_dump(TIMELINE))
    return [tmp_path / "day.yaml", "--state", write_state(node("a", cpu=4), node("b", cpu=4))]


def test_a_replay_is_compared_at_instants(replay: list[object], ksched: Ksched) -> None:
    regret = ("--regret", "pods", "--regret-at", "30s,1h,99h")
    _, out, _ = ksched("replay", *replay, *regret)
    assert "Best placement over time\nAT   ALL  REACHED  BEST  AT MOST\n" in out
    plain = json.loads(ksched("replay", *replay, "-o", "json")[1])
    answer = json.loads(ksched("replay", *replay, *regret, "-o", "json")[1])
    rows = answer.pop("regretOverTime")
    # Two pods on two nodes leave no room for the third, which one node with both would.
    assert [(row["at"], row["reached"], row["best"], row["atMost"]) for row in rows] == [
        (30, 2, 2, 2),
        (3600, 2, 3, 3),
    ]
    assert answer.pop("regret")["regret"] == 0
    # To look at a replay changes nothing of it.
    assert answer == plain
    every = json.loads(ksched("replay", *replay, *regret[:3], "every 30m", "-o", "json")[1])[
        "regretOverTime"
    ]
    assert [row["at"] for row in every] == [1800, 3600]
    page = ksched("replay", *replay, *regret, "-o", "html")[1]
    assert "Best placement, pods" in page
    _, out, _ = ksched("compare", "--timeline", *replay, *regret, "--vs", "--change", "cordon b")
    assert "regret in pods at 1h" in out


def test_at_some_instants_no_pod_requests_the_resource(
    replay: list[object], ksched: Ksched
) -> None:
    Path(str(replay[0])).write_text(
        yaml.safe_dump(
            {
                **TIMELINE,
                "events": [{"at": 0, "pod": pod("p1", memory="1Gi"), "runsFor": 50}],
            }
        )
    )
    code, out, _ = ksched("replay", *replay, "--regret", "cpu", "--regret-at", "10", "-o", "json")
    assert (code, json.loads(out)["regret"]["regret"]) == (0, 0)
    err = ksched("replay", *replay, "--regret", "gpu", "--regret-at", "10")[2]
    assert "--regret takes pods, a resource that waiting pods request, or a --metric" in err


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--regret-at", "1h"), "--regret-at requires --regret"),
        (("--regret", "pods", "--regret-at", "soon"), "--regret-at soon: "),
        (("--regret", "pods", "--regret-at", "every 0s"), "expected a duration of more than 0"),
        (("--regret", "pods", "--regret-at", "1h", "--seeds", "2"), "cannot be combined with"),
    ],
)
def test_wrong_instants_get_one_line(
    replay: list[object], options: tuple[str, ...], message: str, ksched: Ksched
) -> None:
    code, _, err = ksched("replay", *replay, *options)
    assert code == 2
    assert message in err


WORTH = """
from ksched_cli.api import per_placement

@per_placement
def worth(pod, node):
    return 2.5 if (pod.name, node.name) == ("p1", "b") else 1

@per_placement
def negative(pod, node):
    return -1

def whole(snapshot, run):
    return 1
"""


def test_regret_of_a_metric(state: Path, tmp_path: Path, ksched: Ksched) -> None:
    (tmp_path / "m.py").write_text(WORTH)
    metric = tmp_path / "m.py"
    schedule = ("schedule", "--state", state, "--metric", f"{metric}:worth", "--regret", "worth")
    answer = json.loads(ksched(*schedule, "-o", "json")[1])["regret"]
    (level,) = answer["levels"]
    # p1 and p2 on b, and p3 on a; kube-scheduler spreads the first two.
    assert (level["reached"], level["best"], level["atMost"]) == (2, 4.5, 4.5)
    assert "4.5" in ksched(*schedule)[1]
    for name, message in (
        ("negative", "--regret negative: values are 0 to 1,000,000, and more is better; not -1"),
        ("whole", "--regret whole: no solver can bound a figure of the whole run"),
    ):
        options = ("--metric", f"{metric}:{name}", "--regret", name)
        code, _, err = ksched("schedule", "--state", state, *options)
        assert code == 2
        assert message in err
