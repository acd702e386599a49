"""Policies that decide, and policies that fail, each in one small cluster."""

from __future__ import annotations

import ast
import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from ksched_referee.command_line import app, is_best
from ksched_referee.contest import Case, Contestant, Limits, Result, judge
from ksched_referee.policy_process import PolicyLimits
from typer.testing import CliRunner

from ksched_cli.api import UsageError
from ksched_cli.testing import node, pod

# Spread as the default configuration does it, no node has room for the last pod.
TIGHT = [node("a", cpu=4), node("b", cpu=4), pod("x", cpu=2), pod("y", cpu=2), pod("z", cpu=4)]
FULLEST = "def score(pod, nodes):\n    return -nodes.free['cpu']\n"
Write = Callable[[str, str], Path]


@pytest.fixture
def case(tmp_path: Path) -> Case:
    path = tmp_path / "tight.json"
    path.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": TIGHT}))
    return Case("tight", path)


@pytest.fixture
def write(tmp_path: Path) -> Write:
    def written(name: str, text: str) -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return written


def test_a_policy_is_better_than_the_default(case: Case, write: Write) -> None:
    policy = judge(Contestant.of(str(write("p.py", FULLEST))), case, Limits(), regret="pods")
    default = judge(Contestant.of("default"), case, Limits(), regret="pods")
    assert (policy.placed, policy.unplaced, policy.regret, policy.decisions) == (3, 0, 0, 2)
    assert (default.placed, default.unplaced, default.regret, default.decisions) == (2, 1, 1, None)


def test_a_policy_sees_what_fits_in_units_of_people(case: Case, write: Write) -> None:
    checks = """
def score(pod, nodes):
    assert (pod.name, pod.namespace, pod.priority) in (("x", "default", 0), ("y", "default", 0))
    assert pod.requests["cpu"] == 2 and pod.requests["pods"] == 1
    assert nodes.names == ["a", "b"] and len(nodes) == 2 and nodes.labels == [{}, {}]
    assert nodes.allocatable["memory"].tolist() == [16, 16]
    assert (nodes.free["cpu"] == nodes.allocatable["cpu"] - nodes.requested["cpu"]).all()
    assert nodes.requested["pods"].sum() == (pod.name == "y")
    return [0, 0]
"""
    result = judge(Contestant.of(str(write("p.py", checks))), case, Limits())
    # The first by name among equal nodes.
    assert (result.status, result.reason, result.placed) == ("judged", "", 3)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("def score(pod, nodes):\n    while True: pass", "a call took longer than 0.5 s"),
        ("def score(pod, nodes):\n    return bytearray(8 << 30)", "the memory that a policy may"),
        ("import os\ndef score(pod, nodes):\n    os._exit(7)", "ended with exit code 7"),
        ("import os\ndef score(pod, nodes):\n    os.kill(os.getpid(), 9)", "ended with SIGKILL"),
        ("def score(pod, nodes):\n    return 1 / 0", "line 2: ZeroDivisionError: division by"),
        ("def score(pod, nodes):\n    return [1]", r"shape \(1,\), expected \(2,\)"),
        ("def score(pod, nodes):\n    return [1, float('nan')]", "not finite"),
        ("def score(pod, nodes):\n    return ['a', 'b']", "ValueError: could not convert"),
        ("import nowhere\ndef score(pod, nodes): ...", "line 1: ModuleNotFoundError"),
        ("score = 3", r"no function score\(pod, nodes\)"),
        ("def score(pod, nodes):\n    open(FILE, 'w').write('x' * 9999999)", "File too large"),
        ("import time\ndef score(pod, nodes):\n    time.sleep(.3); return [1, 2]", "together took"),
    ],
)
def test_a_policy_that_fails_is_ended_and_named(
    case: Case, write: Write, tmp_path: Path, text: str, reason: str
) -> None:
    limits = Limits(PolicyLimits(call=0.5, total=0.5, memory=1 << 30))
    policy = text.replace("FILE", repr(str(tmp_path / "large.txt")))
    result = judge(Contestant.of(str(write("p.py", policy))), case, limits)
    assert result.status == "failed"
    assert (result.placed, result.decisions) == (None, None)
    assert re.search(reason, result.reason)


def test_a_policy_has_no_secrets_and_prints_nowhere(
    case: Case, write: Write, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("SECRET", "s3cret")
    text = """
import os, sys
assert "SECRET" not in os.environ and sys.stdin.read() == ""
def score(pod, nodes):
    print("hello")
    os.write(1, b"there")
    return -nodes.free["cpu"]
"""
    assert judge(Contestant.of(str(write("p.py", text))), case, Limits()).placed == 3
    assert capfd.readouterr() == ("", "")


def test_a_policy_cannot_answer_with_anything_but_scores(case: Case, write: Write) -> None:
    text = """
import gc, socket
def score(pod, nodes):
    own = next(each for each in gc.get_objects() if isinstance(each, socket.socket))
    own.sendall((5).to_bytes(4, "big") + b"\\x85pick")
    return [1, 2]
"""
    result = judge(Contestant.of(str(write("p.py", text))), case, Limits())
    assert (result.status, result.reason) == ("failed", "its process sent no scores")


def test_a_plugin_and_a_configuration_are_judged(case: Case, write: Write) -> None:
    plugin = """
from ksched_cli.api import ScorePlugin
class Fullest(ScorePlugin):
    name = "Fullest"
    def score(self, state, pod, node):
        return 100 if node.requested("cpu") else 0
"""
    hangs = plugin.replace("return 100", "while True: pass\n        return 100")
    limits = Limits(PolicyLimits(call=0.5))
    packing = Contestant.of("most-allocated")
    named = Contestant.of(f"mine={packing.path}")
    results = [
        judge(each, case, limits)
        for each in (
            packing,
            named,
            Contestant.of(str(write("plugin.py", plugin))),
            Contestant.of(str(write("hangs.py", hangs))),
        )
    ]
    assert [each.contestant for each in results] == [
        "most-allocated", "mine", "plugin.py", "hangs.py",
    ]  # fmt: skip
    assert [each.placed for each in results[:2]] == [3, 3]
    assert results[2].status == "judged"
    assert "Fullest" in results[3].reason


def test_the_tuned_policy_of_the_examples_is_the_template_with_other_weights(case: Case) -> None:
    examples = Path(__file__).parents[1] / "examples"
    trees = [ast.parse((examples / name).read_text()) for name in ("linear.py", "tuned.py")]
    pairs = list(zip(*(map(ast.unparse, tree.body) for tree in trees), strict=True))
    differing = [pair for pair in pairs if pair[0] != pair[1]]
    assert [text[:7] for pair in differing for text in pair] == ["WEIGHTS", "WEIGHTS"]
    results = [
        judge(Contestant.of(str(examples / f"{n}.py")), case, Limits()) for n in ("linear", "tuned")
    ]
    assert [each.status for each in results] == ["judged", "judged"]


def test_tuning_writes_a_policy_that_can_be_judged(case: Case, tmp_path: Path) -> None:
    script = Path(__file__).parents[1] / "examples" / "tune.py"
    policy = tmp_path / "tuned.py"
    command = [
        sys.executable,
        str(script),
        str(case.state),
        "--resource",
        "cpu",
        "--trials",
        "12",
        "--to",
        str(policy),
    ]
    subprocess.run(command, check=True, capture_output=True)
    assert judge(Contestant.of(str(policy)), case, Limits()).placed == 3


def test_a_timeline_has_waiting_times(case: Case, write: Write) -> None:
    timeline = """
apiVersion: ksched/v1
kind: Timeline
events:
- {at: 10, delete: {kind: Pod, namespace: default, name: x}}
"""
    path = write("day.yaml", timeline)
    during = Case.of(f"{case.state},{path}")
    results = [
        judge(Contestant.of(text), during, Limits())
        for text in ("default", str(write("p.py", FULLEST)))
    ]
    assert during.name == "tight+day"
    assert [(each.placed, each.wait) for each in results] == [(3, pytest.approx(10 / 3)), (3, 0)]


def test_the_command_shows_a_table_and_ends_with_its_verdict(case: Case, write: Write) -> None:
    run = CliRunner().invoke
    good, bad = write("good.py", FULLEST), write("bad.py", "def score(pod, nodes): 1 / 0")
    options = ["--case", str(case.state), "--vs", "default", "--regret", "pods", "--beat"]
    won = run(app, ["judge", str(good), *options])
    assert won.exit_code == 0
    head, _, columns, *rows = won.output.splitlines()
    assert head.startswith("good.py: 3 pods placed, 0 not; the best placements have 0 pods more;")
    assert head.endswith("best of all")
    assert columns.split() == [
        "CASE", "POLICY", "PLACED", "UNPLACED", "REGRET", "SECONDS", "IN", "POLICY",
    ]  # fmt: skip
    assert [row.split()[:5] for row in rows] == [
        ["tight", "good.py", "3", "0", "0"],
        ["tight", "default", "2", "1", "1"],
    ]
    lost = run(app, ["judge", "most-allocated", *options[:2], "--vs", str(good), *options[4:]])
    assert (lost.exit_code, "not the best" in lost.output) == (1, True)
    broken = run(app, ["judge", str(bad), *options, "-o", "json"])
    assert broken.exit_code == 3
    results = json.loads(broken.output)["results"]
    assert [each["status"] for each in results] == ["failed", "judged"]
    assert results[0]["reason"] == "line 1: ZeroDivisionError: division by zero"


def test_what_is_no_policy_or_case_is_refused(tmp_path: Path, write: Write) -> None:
    with pytest.raises(UsageError, match=r"nowhere: expected a file, NAME=FILE, or one of default"):
        Contestant.of("nowhere")
    with pytest.raises(UsageError, match=r"never closed"):
        Contestant.of(str(write("bad.py", "def score(")))
    with pytest.raises(UsageError, match=r"there is no file .*day.yaml"):
        Case.of(f"{write('s.json', '{}')},{tmp_path / 'day.yaml'}")


def test_only_less_is_better() -> None:
    def result(name: str, regret: float | None, unplaced: int = 0) -> Result:
        return Result("c", name, "judged", regret=regret, unplaced=unplaced)

    assert is_best("a", [result("a", 1), result("b", 2)])
    assert not is_best("a", [result("a", 2), result("b", 2)])
    assert not is_best("a", [result("a", None, 3), result("b", None, 2)])
    waits = [
        msgspec.structs.replace(result(name, 1), wait=wait) for name, wait in (("a", 4), ("b", 5))
    ]
    assert is_best("a", waits)
    assert not is_best("b", waits)
    assert is_best("a", [result("a", 5), Result("c", "b", "failed")])
    assert not is_best("a", [Result("c", "a", "failed"), result("b", 2)])
