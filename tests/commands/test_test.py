"""`ksched test` from the command line."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.engine.simulation import Simulation
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched, WriteState
from tests.report.schemas import conforms

HEAD = "apiVersion: ksched/v1\nkind: Expectations\nstate: cluster.json\n"
HOLDS = HEAD + "expect:\n- {pod: web, on: a}\n- {pending: 0}\n"
FAILS = HEAD + "changes: [cordon a]\nexpect: [{name: web on a, pod: web, on: a}]\n"


@pytest.fixture
def folder(write_state: WriteState, tmp_path: Path) -> Path:
    write_state(node("a"), node("b"), pod("web"))
    (tmp_path / "holds.yaml").write_text(HOLDS)
    (tmp_path / "fails.yaml").write_text(FAILS)
    (tmp_path / "other.yaml").write_text("a: b\n")
    return tmp_path


def test_the_exit_code_says_whether_all_hold(ksched: Ksched, folder: Path) -> None:
    assert ksched("test", folder / "holds.yaml")[0] == 0
    assert ksched("test", folder / "fails.yaml")[0] == 1
    assert ksched("test", folder / "other.yaml")[0] == 2


def test_constraints_that_do_nothing_are_warned_of(
    ksched: Ksched, folder: Path, write_state: WriteState
) -> None:
    """Once for the pods of a workload."""
    constraint = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    write_state(node("a"), pod("web", spec={"topologySpreadConstraints": [constraint]}))
    _, _, err = ksched("test", folder / "holds.yaml")
    assert (
        "warning: default/web: topologySpreadConstraints[0] over zone spreads nothing: it has no "
        "labelSelector" in " ".join(err.split())
    )


def test_a_folder_is_looked_through(ksched: Ksched, folder: Path) -> None:
    code, out, _ = ksched("test", folder, "-o", "json")
    result = conforms(json.loads(out), "test_result")
    passed = [(Path(case["file"]).stem, case["passed"]) for case in result["cases"]]
    assert code == 1
    assert passed == [("fails", False), ("holds", True), ("holds", True)]


def test_the_command_of_a_failed_case_explains_it(ksched: Ksched, folder: Path) -> None:
    _, out, _ = ksched("test", folder / "fails.yaml", "-o", "json")
    (case,) = json.loads(out)["cases"]
    assert case["message"] == "expected web on a; default/web is on b"
    command = shlex.split(case["command"])
    assert command[:3] == ["ksched", "explain", "default/web"]
    code, out, err = ksched(*command[1:])
    assert (code, err) == (0, "")
    assert "unschedulable" in out


def test_a_pod_whose_name_begins_as_an_option_is_none_in_that_command(
    ksched: Ksched, folder: Path, write_state: WriteState
) -> None:
    write_state(node("a"), pod("web", namespace="--plugin=evil.py"))
    (folder / "fails.yaml").write_text(HEAD + "expect: [{pod: '*', on: b}]\n")
    _, out, _ = ksched("test", folder / "fails.yaml", "-o", "json")
    command = shlex.split(json.loads(out)["cases"][0]["command"])
    assert command[-2:] == ["--", "--plugin=evil.py/web"]
    code, out, err = ksched(*command[1:])
    assert (code, err) == (0, "")
    assert out.startswith("--plugin=evil.py/web")


def test_cases_of_the_same_run_share_it(
    ksched: Ksched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = []
    opened = Opener.simulation

    def counting(self: Opener, run: Run, *args: Any, **kwargs: Any) -> Simulation:
        runs.append(run)
        return opened(self, run, *args, **kwargs)

    monkeypatch.setattr(Opener, "simulation", counting)
    (folder / "more.yaml").write_text(HOLDS)
    assert ksched("test", folder / "holds.yaml", folder / "more.yaml")[0] == 0
    assert len(runs) == 1


TIMELINE = """\
apiVersion: ksched/v1
kind: Timeline
templates:
  job: {spec: {containers: [{name: c, resources: {requests: {cpu: 3}}}]}}
events:
- {at: 0, pod: first, template: job, runsFor: 600}
- {at: 60, pod: second, template: job, runsFor: 600}
"""


WRONG = "- {waited: {pods: '[fs]*', p99: {atMost: 5m}}}\n- {capacity: base, atLeast: 4}\n"


def test_expectations_about_a_timeline(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    write_state(node("a", cpu=4), pod("base", node="a", cpu=1))
    (tmp_path / "day.yaml").write_text(TIMELINE)
    path = tmp_path / "day-holds.yaml"
    head = HEAD + "timeline: day.yaml\nexpect:\n"
    # The second pod comes after a minute, and gets the node when the first ends after ten.
    path.write_text(
        head
        + """\
- {waited: {pods: second, max: {atMost: 9m, atLeast: 540}}}
- {waited: {pods: '[fs]*', p50: {atMost: 0s}, mean: {atLeast: 270, atMost: 4m30s}}}
- {pendingAtEnd: 0}
- {nodeHours: {atLeast: 0.324, atMost: 0.334}}
- {pod: second, on: a}
- {capacity: base, atLeast: 3, atMost: 3}
- {utilization: {resource: cpu, total: {atMost: 0.25, atLeast: 0.25}}}
"""
    )
    code, out, err = ksched("test", path)
    assert (code, err) == (0, ""), out
    path.write_text(head + WRONG)
    code, out, _ = ksched("test", path, "-o", "json")
    first, second = json.loads(out)["cases"]
    assert code == 1
    assert first["message"] == (
        "expected [fs]* (2 pods, default/second the longest) to wait p99 at most 5m0s, got 9m0s"
    )
    assert shlex.split(first["command"])[:3] == ["ksched", "replay", str(tmp_path / "day.yaml")]
    assert "expected at least 4 more copies of base to fit, and 3 do" in second["message"]
    command = shlex.split(first["command"])
    assert ksched(*command[1:])[0] == 0


LENGTHS = """\
from ksched_cli.api import SUCCESS, FilterPlugin, Measures

class Lengths(FilterPlugin, Measures):
    name = "Lengths"
    instants = 0
    def filter(self, state, pod, node):
        return SUCCESS
    def measure(self, now):
        self.instants += 1
    def metrics(self):
        return {"instants": self.instants, "loss": -2.5}
"""


@pytest.mark.usefixtures("runs_here")
def test_figures_of_jobs_users_and_plugins_have_the_names_of_a_sweeps_rows(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    write_state(node("a", cpu=2))
    (tmp_path / "lengths.py").write_text(LENGTHS)
    events = [
        {"at": at, "pod": pod(name, cpu=2, labels={"user": user}), "runsFor": 100}
        for name, user, at in (("p", "x", 0), ("q", "y", 0), ("r", "y", 50))
    ]
    timeline = {"apiVersion": "ksched/v1", "kind": "Timeline", "events": events}
    (tmp_path / "t.json").write_text(json.dumps(timeline))
    study = {"states": ["cluster.json"], "timelines": ["t.json"], "userLabel": "user"}
    study |= {"plugins": ["lengths.py"]}
    sweep = {"apiVersion": "ksched/v1", "kind": "Sweep", **study}
    (tmp_path / "sweep.json").write_text(json.dumps(sweep))
    rows = tmp_path / "rows.jsonl"
    assert ksched("sweep", tmp_path / "sweep.json", "--rows", rows)[0] == 0
    row = json.loads(rows.read_text())
    assert row["jobs"]["completionTime"]["p99"] == 250
    users = row["users"]
    assert (users["x"]["dominantShare"], users["y"]["dominantShare"]) == (0.333333, 0.666667)
    expectations = {
        "jobs.completionTime.p99": {"atMost": "4m10s", "atLeast": 250},
        "jobs.fairness": {"atLeast": row["jobs"]["fairness"], "atMost": row["jobs"]["fairness"]},
        "jobs.restarts": {"atMost": 0},
        "users.?.dominantShare": {"atMost": 0.67},
        "users.y.waiting": {"atLeast": 125, "atMost": 125},
        "Lengths.instants": {"atLeast": 4},
        "Lengths.loss": {"atMost": -2.5},
        "nodeHours": {"atLeast": row["nodeHours"], "atMost": row["nodeHours"]},
    }
    entries = [{"metric": {"name": name, **limits}} for name, limits in expectations.items()]
    file = {"apiVersion": "ksched/v1", "kind": "Expectations", "state": "cluster.json"}
    file |= {"timeline": "t.json", "userLabel": "user", "plugins": "lengths.py"}
    path = tmp_path / "e.json"
    path.write_text(json.dumps({**file, "expect": entries}))
    code, out, err = ksched("test", path)
    assert (code, err.count("error")) == (0, 0), out + err
    wrong = [{"metric": {"name": "jobs.makespan", "atMost": "1m"}}]
    path.write_text(json.dumps({**file, "expect": wrong}))
    code, out, _ = ksched("test", path, "-o", "json")
    assert code == 1
    assert json.loads(out)["cases"][0]["message"] == (
        "expected jobs.makespan at most 60; jobs.makespan is 300"
    )


def test_expectations_must_hold_for_every_seed(
    ksched: Ksched, write_state: WriteState, tmp_path: Path
) -> None:
    write_state(node("a"), node("b"), pod("web"))
    path = tmp_path / "seeds.yaml"
    path.write_text(HEAD + "seeds: 20\nexpect: [{pod: web, on: a}, {pending: 0}]\n")
    code, out, _ = ksched("test", path, "-o", "json")
    cases = json.loads(out)["cases"]
    assert (code, [case["passed"] for case in cases]) == (1, [False, True])
    assert cases[0]["message"].startswith("with seed ")
    command = shlex.split(cases[0]["command"])
    _, explained, _ = ksched(*command[1:], "-o", "json")
    assert json.loads(explained)["node"] == "b"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("autoscaler: a.yaml\nexpect: [{pending: 0}]\n", "--autoscaler requires a timeline"),
        ("expect: [{waited: {pods: x, p99: {atMost: 5x}}}]\n", "e.yaml:4:35: expect[0].waited.p99"),
        ("expect: [{waited: {pods: x}}]\n", "expect[0]"),
        ("expect: [{capacity: x}]\n", "expect[0]"),
        ("timeline: gone.yaml\nexpect: [{pending: 0}]\n", "gone.yaml: there is no such file"),
    ],
)
def test_what_no_run_can_be_asked_is_said(
    ksched: Ksched, write_state: WriteState, tmp_path: Path, text: str, problem: str
) -> None:
    write_state(node("a"))
    (tmp_path / "e.yaml").write_text(HEAD + text)
    code, out, err = ksched("test", tmp_path / "e.yaml")
    assert (code, out, problem in err) == (2, "", True), err


def test_junit(ksched: Ksched, folder: Path) -> None:
    code, out, _ = ksched("test", folder / "fails.yaml", "-o", "junit")
    assert code == 1
    assert '<testcase name="web on a"' in out
    assert "ksched explain default/web" in out


def test_a_file_names_the_release_unless_the_command_line_does(
    ksched: Ksched, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    path = folder / "v.yaml"
    path.write_text(HOLDS + "kubernetesVersion: '1.35'\n")
    for options, minor in (((), "v1.35"), (("--kubernetes-version", "1.36"), "v1.36")):
        _, out, _ = ksched("test", path, "-o", "json", *options)
        assert json.loads(out)["cases"][0]["kubernetesVersion"].startswith(minor)


def test_no_file_of_the_kind_is_an_error(ksched: Ksched, tmp_path: Path) -> None:
    code, _, err = ksched("test", tmp_path)
    assert (code, err) == (2, f"error: no file of kind Expectations in {tmp_path}\n")


def test_the_forms_of_pipelines_name_what_failed(ksched: Ksched, folder: Path) -> None:
    code, out, _ = ksched("test", folder, "-o", "github")
    assert (code, len(out.splitlines())) == (1, 1)
    assert out.startswith(f"::error file={folder}/fails.yaml,line=5,col=10,title=ksched test%3A ")
    assert ksched("test", folder / "holds.yaml", "-o", "github")[:2] == (0, "")
    _, out, _ = ksched("test", folder, "-o", "markdown")
    assert out.startswith("**`1 of 3 expectations fails`**\n\n#### Expectations that fail")
