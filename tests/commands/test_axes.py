"""Any axis of one command is an axis of all: each axis of a Run by each command that opens one."""

from __future__ import annotations

import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.commands.runners import Ksched
from tests.run.runs import AUTOSCALER, OBJECTS, PACKING, PLUGIN, TIMELINE
from tests.thorough import each_second, every

OVER_TIME = ("--timeline", "week.json")
STRATEGY = '{"type":"MostAllocated","resources":[{"name":"cpu","weight":1}]}'
DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "metadata": {"name": "web", "namespace": "default"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "c", "resources": {"requests": {"cpu": "500m"}}}]},
        },
    },
}
GATED = pod(
    "bent",
    cpu="100m",
    node_selector={"group": "odd"},
    tolerations=[{"key": "n", "operator": "Gt", "value": "5"}],
)
# By axis: the options that all sides share, those that differ, and the same in a file of
# expectations or of a sweep.
AXES: dict[str, tuple[tuple[str, ...], tuple[str, ...], dict[str, Any]]] = {
    "state": ((), ("--state", "other.json"), {"state": "other.json"}),
    "workloads": ((), ("--no-workloads",), {"noWorkloads": True}),
    "change": ((), ("--change", "cordon c"), {"changes": ["cordon c"]}),
    "scenario": ((), ("--scenario", "scenario.yaml"), {"changes": ["cordon c"]}),
    "configuration": ((), ("--config", "packing.yaml"), {"config": "packing.yaml"}),
    "patch": (
        (),
        ("--patch", f"profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy={STRATEGY}"),
        {
            "patches": [
                {
                    "path": "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy",
                    "value": json.loads(STRATEGY),
                }
            ]
        },
    ),
    "plugin": ((), ("--plugin", "last.py"), {"plugins": ["last.py"]}),
    "version": ((), ("--kubernetes-version", "1.36"), {"kubernetesVersion": "1.36"}),
    "gates": (
        ("--kubernetes-version", "1.36"),
        ("--feature-gates", "TaintTolerationComparisonOperators=true"),
        {"featureGates": "TaintTolerationComparisonOperators=true"},
    ),
    "compatibility": (
        ("--kubernetes-version", "1.37"),
        ("--min-compatibility-version", "1.37"),
        {"minCompatibilityVersion": "1.37"},
    ),
    "draws": (
        ("--tie-break", "random", "--seed", "1"),
        ("--seed", "2"),
        {"seeds": [2]},
    ),
    "preemption": ((), ("--no-preemption",), {"noPreemption": True}),
    "retries": ((), ("--no-retries",), {"noRetries": True}),
    "cache": ((), ("--no-cache",), {}),
    "timeout": ((), ("--plugin-timeout", "9"), {}),
    "extenders": ((), ("--no-extenders",), {"noExtenders": True}),
    "timeline": ((), OVER_TIME, {"timeline": "week.json"}),
    "until": (OVER_TIME, ("--until", "3s"), {"timeline": "week.json", "until": "3s"}),
    "autoscaler": (
        OVER_TIME,
        ("--autoscaler", "groups.json"),
        {"timeline": "week.json", "autoscaler": "groups.json"},
    ),
    "prices": (OVER_TIME, ("--price", "*=2"), {}),
    "eviction": (OVER_TIME, ("--evict-at-once",), {"timeline": "week.json", "evictAtOnce": True}),
}
# Axes that decide nothing here: they are taken, and the answer stays but where it says more.
IDLE = ("cache", "timeout", "extenders", "compatibility", "prices")
# By question, the axes that change its answer here; the others are taken, too. One pod's answer
# does not depend on all that happens to others.
TOUCHED: dict[str, tuple[str, ...]] = {
    "fix": (
        *("state", "change", "scenario", "configuration", "patch", "plugin", "version", "gates"),
        *("preemption", "retries", "timeline", "until"),
    ),
    "schedule": (
        *(axis for axis in AXES if axis not in (*IDLE, "eviction", "autoscaler")),
        "prices",
    ),
    "explain": ("state", "change", "scenario", "configuration", "patch", "plugin", "timeline"),
    "preempt": ("state", "version", "preemption"),
    "capacity": ("state", "change", "scenario", "timeline", "until"),
    "shrink": ("state", "change", "scenario", "configuration", "until", "prices"),
    "drift": ("state", "change", "scenario", "configuration", "patch", "plugin", "timeline"),
    "status": ("state", "workloads", "change", "scenario", "preemption", "timeline", "prices"),
    "drain": ("change", "scenario"),
    "fits": ("change", "scenario", "configuration"),
}


@pytest.fixture
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("KSCHED_KUBERNETES_VERSION")
    listed = {"kind": "List", "apiVersion": "v1"}
    status = {"nodeInfo": {"kubeletVersion": "v1.34.1"}}
    odd = node(
        "odd",
        cpu=1,
        labels={"group": "odd"},
        taints=[{"key": "n", "value": "9", "effect": "NoSchedule"}],
    )
    odd["status"] |= status
    objects = (*OBJECTS, odd, GATED, DEPLOYMENT, *special())
    for name, items in (("cluster.json", objects), ("other.json", objects[2:])):
        (tmp_path / name).write_text(json.dumps({**listed, "items": items}))
    for name, text in (
        ("packing.yaml", PACKING),
        ("last.py", PLUGIN),
        ("week.json", json.dumps(TIMELINE)),
        ("new.json", json.dumps(pod("new", cpu="100m"))),
        ("groups.json", json.dumps(AUTOSCALER)),
        ("scenario.yaml", "apiVersion: ksched/v1\nkind: Scenario\nchanges: [cordon c]\n"),
    ):
        (tmp_path / name).write_text(text)
    return tmp_path


def special() -> list[dict[str, Any]]:
    """Nodes that take only some pods, in groups that make an axis matter each."""

    def only(group: str) -> dict[str, Any]:
        return {"node_selector": {"group": group}, "tolerations": ["special"]}

    def of(group: str) -> dict[str, Any]:
        return {"labels": {"group": group}, "taints": ["special=yes:NoSchedule"]}

    near = {"labelSelector": {"matchLabels": {"app": "leader"}}, "topologyKey": "group"}
    affinity = {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [near]}}
    return [
        # Equally good: ties are drawn.
        *(node(f"t{i}", cpu=1, **of("twin")) for i in range(6)),
        *(pod(f"s{i}", cpu="100m", **only("twin")) for i in range(4)),
        # Full: one pod is evicted for another.
        node("full", cpu=4, **of("full")),
        pod("victim", node="full", cpu=4, priority=-5),
        pod("bully", cpu=4, priority=1000, **only("full")),
        # The follower is tried before its leader, and again after it.
        node("pair", cpu=4, **of("pair")),
        pod("follower", cpu=1, priority=900, affinity=affinity, **only("pair")),
        pod("leader", cpu=1, labels={"app": "leader"}, **only("pair")),
        # Balanced allocation is another from 1.36 on.
        node("even", cpu="10", memory="10Gi", **of("even")),
        node("odds", cpu="10", memory="10Gi", **of("even")),
        pod("half", node="even", memory="5Gi"),
        pod("bit", node="odds", cpu="2500m", memory="2560Mi"),
        pod("mover", cpu="3", memory="1Gi", **only("even")),
    ]


def stripped(text: str) -> Any:
    """A document without what tells Runs apart that decide alike."""
    document = json.loads(text)
    for key in ("kubernetesVersion", "kubernetesVersionFrom", "warnings", "changes"):
        document.pop(key, None)
    return document


QUESTIONS: dict[str, tuple[str, ...]] = {
    "schedule": ("schedule",),
    "explain": ("explain", "q"),
    "preempt": ("preempt", "bully"),
    "capacity": ("capacity", "p"),
    "shrink": ("shrink", "--force", "--max", "1"),
    "status": ("status",),
    "drain": ("drain", "t1", "--force"),
    "fits": ("capacity", "-f", "new.json", "--max", "99"),
    "drift": ("drift",),
    "fix": ("fix", "bent", "--max-runs", "9"),
}


Ask = Callable[..., dict[str, Any]]


@pytest.fixture(scope="module")
def answers() -> dict[tuple[str, ...], dict[str, Any]]:
    """By command line: the answer. Most axes are compared with the same one."""
    return {}


@pytest.fixture
def ask(ksched: Ksched, files: Path, answers: dict[tuple[str, ...], dict[str, Any]]) -> Ask:
    def ask(*line: str) -> dict[str, Any]:
        if line not in answers:
            code, out, err = ksched(*line)
            assert code in (0, 1), err
            answers[line] = stripped(out)
        return answers[line]

    return ask


@pytest.mark.parametrize(("command", "axis"), every(10, [*QUESTIONS], [*AXES]))
def test_a_question_takes_every_axis(ask: Ask, command: str, axis: str) -> None:
    shared, own, _ = AXES[axis]
    answers = []
    for options in ((), own):
        state = () if "--state" in options else ("--state", "cluster.json")
        answers.append(ask(*QUESTIONS[command], *state, *shared, *options, "-o", "json"))
    if axis in TOUCHED[command]:
        assert answers[0] != answers[1]
    elif axis in IDLE:
        assert answers[0] == answers[1]


@pytest.mark.parametrize("axis", each_second([axis for axis in AXES if axis != "timeline"]))
def test_replay_takes_every_axis(ask: Ask, axis: str) -> None:
    shared, own, _ = AXES[axis]
    shared = shared if shared != OVER_TIME else ()
    answers = []
    for options in ((), own):
        state = () if "--state" in options else ("--state", "cluster.json")
        answers.append(
            ask("replay", "week.json", *state, *shared, *options, "--trace", "-o", "json")
        )
    assert (answers[0] != answers[1]) == (axis not in IDLE or axis == "prices")


@pytest.mark.parametrize("axis", each_second([*AXES], 1))
def test_compare_takes_every_axis_as_a_side(ksched: Ksched, files: Path, axis: str) -> None:
    shared, own, _ = AXES[axis]
    if axis == "timeline":
        shared, own = (*OVER_TIME,), ("--timeline", "shorter.json")
        events = {"events": TIMELINE["events"][:1]}
        (files / "shorter.json").write_text(json.dumps({**TIMELINE, **events}))
    command = ("compare", "--state", "cluster.json", *shared, "--vs", *own, "-o", "json")
    code, out, err = ksched(*command)
    assert code in (0, 1), err
    first, second = json.loads(out)["sides"]
    assert first["name"] != second["name"]
    assert second["differsIn"]
    assert first["run"] != second["run"]
    assert bool(second["differing"]) == (axis not in IDLE), second


@pytest.mark.parametrize("axis", each_second([axis for axis in AXES if AXES[axis][2]], 1))
def test_expectations_take_every_axis(ksched: Ksched, files: Path, axis: str) -> None:
    _, own, fields = AXES[axis]
    document: dict[str, Any] = {"apiVersion": "ksched/v1", "kind": "Expectations"}
    document["state"] = "cluster.json"
    if axis in ("gates", "compatibility"):
        fields = {**fields, "kubernetesVersion": AXES[axis][0][1]}
    where = outcome_of(ksched, axis, own)
    document |= {**fields, "expect": [{"pod": name, "on": on} for name, on in where.items()]}
    (files / "expect.json").write_text(json.dumps(document))
    code, out, err = ksched("test", "expect.json", "-o", "json")
    assert code == 0, out or err


def outcome_of(ksched: Callable[..., tuple[int, str, str]], axis: str, own: Any) -> dict[str, str]:
    """Where the options put the pods."""
    shared, *_ = AXES[axis]
    state = () if "--state" in own else ("--state", "cluster.json")
    if "--timeline" in (*shared, *own):
        rest = own if "--timeline" in shared else ()
        _, out, _ = ksched("replay", "week.json", *state, *rest, "-o", "json")
        return {
            each["pod"]: each["node"]
            for each in json.loads(out)["pods"]
            if each["node"] and each["outcome"] in ("running", "ended")
        }
    _, out, _ = ksched("schedule", *state, *shared, *own, "-o", "json")
    placements: dict[str, str] = json.loads(out)["placements"]
    return placements


# By axis: the fields of a file of kind Sweep, in which the second value is that of AXES.
SWEPT: dict[str, dict[str, Any]] = {
    "state": {"states": ["cluster.json", "other.json"]},
    "workloads": {"noWorkloads": [False, True]},
    "change": {"changes": ["none", "cordon c"]},
    "scenario": {"changes": [{"name": "none"}, {"name": "c", "scenario": "scenario.yaml"}]},
    "configuration": {"configurations": [{"name": "none"}, "packing.yaml"]},
    "patch": {
        "patches": [
            {
                "path": "profiles[0].pluginConfig[NodeResourcesFit].args.scoringStrategy",
                "values": [{"type": "LeastAllocated"}, json.loads(STRATEGY)],
            },
        ]
    },
    "plugin": {"plugins": [[], "last.py"]},
    "version": {"kubernetesVersions": ["1.34", "1.36"]},
    "gates": {
        "kubernetesVersions": ["1.36"],
        "featureGates": ["", "TaintTolerationComparisonOperators=true"],
    },
    "compatibility": {
        "kubernetesVersions": ["1.37"],
        "minCompatibilityVersion": ["", "1.37"],
    },
    "draws": {"seeds": [1, 2]},
    "preemption": {"noPreemption": [False, True]},
    "retries": {"noRetries": [False, True]},
    "cache": {"noCache": [False, True]},
    "timeout": {"pluginTimeout": [0, 9]},
    "extenders": {"noExtenders": [False, True]},
    "timeline": {"timelines": ["shorter.json", "week.json"]},
    "until": {"timelines": ["week.json"], "until": ["1h", "3s"]},
    "autoscaler": {"timelines": ["week.json"], "autoscalers": ["none", "groups.json"]},
    "prices": {"timelines": ["week.json"], "prices": ["*=1", "*=2"]},
    "eviction": {"timelines": ["week.json"], "evictAtOnce": [False, True]},
}


@pytest.mark.parametrize("axis", each_second([*AXES]))
def test_a_sweep_takes_every_axis(ksched: Ksched, files: Path, runs_here: None, axis: str) -> None:
    shorter = {"events": TIMELINE["events"][:1]}
    (files / "shorter.json").write_text(json.dumps({**TIMELINE, **shorter}))
    document = {"apiVersion": "ksched/v1", "kind": "Sweep", "states": "cluster.json"}
    (files / "sweep.json").write_text(json.dumps(document | SWEPT[axis]))
    code, _, err = ksched("sweep", "sweep.json", "--rows", "rows.jsonl", "-o", "json")
    assert code == 0, err
    first, second = map(json.loads, (files / "rows.jsonl").read_text().splitlines())
    assert first["id"] != second["id"]
    assert (first["placements"] != second["placements"]) == (axis not in IDLE)
    if not second["timeline"]:
        shared, own, _ = AXES[axis]
        state = () if "--state" in own else ("--state", "cluster.json")
        result = json.loads(ksched("schedule", *state, *shared, *own, "-o", "json")[1])
        lines = sorted(f"{pod} {node}\n" for pod, node in result["placements"].items())
        lines += sorted(f"evicted {pod}\n" for pod in result["evicted"])
        assert second["placements"] == sha256("".join(lines).encode()).hexdigest()[:20]
