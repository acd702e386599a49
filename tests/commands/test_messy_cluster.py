"""What commands say about a messy cluster of 40 nodes, as somebody reads it in a hurry."""

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.commands.main import main
from tests import messy
from tests.commands.runners import Ksched

GOLDEN = Path(__file__).parent / "golden"
# By the name of the file that has the output.
COMMANDS = {
    "taint": "explain ml/notebook",
    "cordon": "explain pinned",
    "label": "explain deployment/indexer",
    "claim": "explain data/exporter",
    "no-class": "explain data/archiver",
    "too-big": "explain huge",
    "short-of-cpu": "explain backup",
    "pending": "explain --pending",
    "schedule": "schedule",
    "pools": "schedule --by pool -n kube-system",
    "owner": "schedule --owner deployment/checkout",
    "drain": "schedule -n data --change 'drain memory-3 general-01 general-02 general-05 spot-0'",
    "fix-taint": "fix ml/notebook",
    "fix-cordon": "fix pinned",
    "fix-label": "fix deployment/indexer",
    "fix-claim": "fix data/exporter",
    "fix-no-class": "fix data/archiver",
    "fix-no-claim": "fix data/restore",
    "fix-volume-zone": "fix data/postgres-repair",
    "fix-too-big": "fix huge",
    "fix-short-of-cpu": "fix backup --never move",
    "fix-devices": "fix ml/finetune",
    "fix-spread": "fix deployment/checkout --max-runs 12",
    "fix-gate": "fix shop/gated",
    "fix-pending": "fix --pending --max-runs 12",
    "fix-markdown": "fix -o markdown pinned",
    "more-nodes": "capacity --pending --like general-00",
    "preemption": "capacity surge",
    "shrink": "shrink",
    "shrink-prices": "shrink --repack --price pool=memory=3 --price pool=gpu=10 --price '*=1'",
    "shrink-flags": "shrink --force --delete-emptydir-data --keep pool=spot --max 5",
    "shrink-wide": "shrink -l pool=memory -o wide",
    "upgrade": "shrink --upgrade -l pool=general --surge 3",
    "shrink-markdown": "shrink -l pool=memory -o markdown",
    "compare": "compare --vs --change 'uncordon general-07'",
    "compare-markdown": "compare -o markdown --vs --change 'uncordon general-07'",
    "explain-markdown": "explain -o markdown backup",
    "pending-markdown": "explain -o markdown --pending -n ml",
    "schedule-markdown": "schedule -o markdown -n shop --by pool",
}
# Each takes half a second or more; of `shrink`, `fix` and `capacity` others are tried always.
SLOW = {"fix-cordon", "fix-devices", "fix-label", "fix-markdown", "fix-pending",
        "fix-short-of-cpu", "fix-spread", "fix-too-big", "fix-volume-zone", "more-nodes",
        "shrink-flags", "shrink-markdown", "shrink-prices", "shrink-wide", "upgrade"}  # fmt: skip


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return messy.write(tmp_path_factory.mktemp("messy") / "cluster.json")


@pytest.fixture(scope="module")
def nodes_and_pods(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """As `kubectl get nodes,pods -A -o json` writes them."""
    path = tmp_path_factory.mktemp("messy") / "cluster.json"
    return messy.write(path, messy.of_kinds("Node", "Pod"))


def warnings_of(out: str) -> list[str]:
    document: dict[str, Any] = json.loads(out)
    return [line for line in document["warnings"] if "PodDisruptionBudgets" in line]


@pytest.mark.parametrize(
    "arguments",
    [
        ("preempt", "shop/surge"),
        ("schedule",),
        ("explain", "shop/surge"),
        ("compare", "--vs", "--change", "cordon spot-0"),
        ("schedule", "--no-preemption", "--change", "drain memory-3"),
        ("shrink", "--max", "1", "-l", "pool=memory"),
    ],
    ids=" ".join,
)
def test_evictions_without_budgets_are_warned_of_once(
    arguments: tuple[str, ...], nodes_and_pods: Path, whole: Path, ksched: Ksched
) -> None:
    command, *options = arguments
    _, out, err = ksched(command, "--state", nodes_and_pods, "-o", "json", *options)
    (line,) = warnings_of(out)
    assert err.count(line) == 1
    _, out, err = ksched(command, "--state", whole, "-o", "json", *options)
    assert warnings_of(out) == []


TIMELINE = """
apiVersion: ksched/v1
kind: Timeline
until: 20
events:
- at: 10
  pod:
    metadata: {name: model, namespace: ml}
    spec: {containers: [{name: c, image: i, resources: {requests: {example.com/fpga: 1}}}]}
"""
FILES = {
    "test": """
apiVersion: ksched/v1
kind: Expectations
state: cluster.json
timeline: timeline.yaml
expect: [{pending: 15}]
""",
    "sweep": """
apiVersion: ksched/v1
kind: Sweep
states: [cluster.json]
timelines: [timeline.yaml]
""",
    "tune": """
apiVersion: ksched/v1
kind: Tune
states: [cluster.json]
timelines: [timeline.yaml]
trials: 1
seeds: 1
heldOut: {seeds: 1}
objectives: [{metric: wait.mean, goal: minimize}]
space:
- {path: percentageOfNodesToScore, between: [90, 100]}
""",
}


@pytest.mark.usefixtures("runs_here")
@pytest.mark.parametrize(
    "command",
    [
        "replay timeline.yaml --state cluster.json",
        "compare --timeline timeline.yaml --state cluster.json --vs --change 'cordon spot-0'",
        "compare --seeds 2 --timeline timeline.yaml --state cluster.json --vs --no-cache",
        *(f"{name} {name}.yaml" for name in FILES),
    ],
)
def test_what_the_input_lacks_is_said_of_many_runs_and_of_runs_over_time(
    command: str, nodes_and_pods: Path, ksched: Ksched, monkeypatch: pytest.MonkeyPatch
) -> None:
    if command.startswith("tune"):
        pytest.importorskip("optuna", reason="the extra tune is not installed")
    folder = nodes_and_pods.parent
    (folder / "timeline.yaml").write_text(TIMELINE)
    for name, text in FILES.items():
        (folder / f"{name}.yaml").write_text(text)
    monkeypatch.chdir(folder)
    code, out, err = ksched(*shlex.split(command), "-o", "json")
    assert code in (0, 1), err
    assert len(warnings_of(out)) == 1
    lines = [line for line in json.loads(out)["warnings"] if line.startswith("no node")]
    assert lines == [
        "no node has the label disktype, and 4 pending pods require it",
        "no node of the state has the resource example.com/fpga, and 1 template of the timeline"
        " requests it",
    ]
    assert all(err.count(line) == 1 for line in lines)


def test_where_nobody_is_evicted_budgets_are_not_missed(
    nodes_and_pods: Path, ksched: Ksched
) -> None:
    _, out, _ = ksched("schedule", "--no-preemption", "--state", nodes_and_pods, "-o", "json")
    assert warnings_of(out) == []


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.slow] * (name in SLOW)) for name in COMMANDS]
)
def test_a_messy_cluster_is_read_in_a_minute(
    name: str, whole: Path, ksched: Ksched, request: pytest.FixtureRequest
) -> None:
    """`python -m pytest tests/commands/test_messy_cluster.py --golden` writes the files anew."""
    command, *options = shlex.split(COMMANDS[name])
    code, out, err = ksched(command, "--state", whole, *options)
    assert code in (0, 1), err
    # Lines to paste are not broken.
    pasted = ("  --change ", "  echo ", "  kubectl ")
    lines = [line for line in out.splitlines() if not line.startswith(pasted)]
    assert "markdown" in name or max(map(len, lines)) <= 100
    path = GOLDEN / f"{name}.txt"
    if request.config.getoption("golden"):
        path.write_text(out, encoding="utf-8")
    assert out == path.read_text(encoding="utf-8")


def pods_of(out: str) -> set[str]:
    document: dict[str, Any] = json.loads(out)
    return {*document["placements"], *document["pending"], *document["gated"]}


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        (("-n", "ml"), "ml/"),
        (("-l", "app.kubernetes.io/name=indexer"), "shop/indexer-"),
        (("--owner", "deployment/checkout"), "shop/checkout-"),
        (("--owner", "checkout", "-n", "shop"), "shop/checkout-"),
    ],
    ids=" ".join,
)
def test_pods_are_chosen_for_what_is_shown_not_for_what_is_decided(
    options: tuple[str, ...], begins: str, whole: Path, ksched: Ksched
) -> None:
    _, everything, _ = ksched("schedule", "--state", whole, "-o", "json")
    code, out, err = ksched("schedule", "--state", whole, "-o", "json", *options)
    assert pods_of(out) == {pod for pod in pods_of(everything) if pod.startswith(begins)} != set()
    assert "of 237 pods; ksched schedules all of them" in err
    assert code == 1
    document, rest = json.loads(everything), json.loads(out)
    assert all(document["placements"][pod] == node for pod, node in rest["placements"].items())
    assert rest["nodes"] == document["nodes"]
    _, report, _ = ksched("explain", "--pending", "--state", whole, "-o", "json", *options)
    groups = json.loads(report)["groups"]
    assert {pod for group in groups for pod in group["pods"]} == set(rest["pending"])


def test_the_exit_code_is_about_the_pods_that_are_shown(whole: Path, ksched: Ksched) -> None:
    assert ksched("schedule", "--state", whole, "-n", "monitoring")[0] == 0
    assert ksched("explain", "--pending", "--state", whole, "-n", "monitoring")[0] == 0


def test_drift_asks_about_the_pods_that_are_shown(whole: Path, ksched: Ksched) -> None:
    _, out, _ = ksched("drift", "--state", whole, "-o", "json", "--owner", "sts/kafka")
    assert [pod["pod"] for pod in json.loads(out)["pods"]] == [f"data/kafka-{i}" for i in range(3)]


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (("--owner", "nope"), 'no pod "nope"'),
        (("-l", "a in"), "-l"),
    ],
)
def test_a_choice_that_cannot_be_made_is_an_error(
    options: tuple[str, ...], problem: str, whole: Path, ksched: Ksched
) -> None:
    code, _, err = ksched("schedule", "--state", whole, *options)
    assert code == 2
    assert problem in err


def test_hints_name_the_program_as_it_was_called(
    whole: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    arguments = ["explain", "backup", "--state", str(whole)]
    monkeypatch.setattr(sys, "argv", ["/usr/bin/kubectl-ksched", *arguments])
    with pytest.raises(SystemExit):
        main()
    hint = "  kubectl ksched preempt batch/backup  # shows whether evicting other pods would help"
    assert capsys.readouterr().out.endswith(f"\n{hint}\n")


def test_preempt_is_no_hint_for_a_running_pod_that_fits(whole: Path, ksched: Ksched) -> None:
    _, out, _ = ksched("explain", "web", "--state", whole)
    assert "today it would go to" in out
    assert "preempt" not in out


def test_pods_that_avoid_each_other_are_named_once(whole: Path, ksched: Ksched) -> None:
    _, out, _ = ksched("explain", "--pending", "--state", whole, "--owner", "deployment/checkout")
    assert out.count("shop/checkout-c7761e589-68093 on general-00") == 1
