"""Every answer in a terminal of 40 to 200 columns: no line is wider, and no name is lost or cut."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import cache, partial
from importlib import import_module
from pkgutil import walk_packages
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ksched_cli
from ksched_cli.analysis.capacity import Capacity
from ksched_cli.analysis.compare import Compare
from ksched_cli.analysis.diagnosis import ExplainPending
from ksched_cli.analysis.drain import DrainNodes
from ksched_cli.analysis.drain_each import DrainEach
from ksched_cli.analysis.drift import Drift
from ksched_cli.analysis.explain import Explain, ExplainGroup
from ksched_cli.analysis.fits import Fits
from ksched_cli.analysis.fix import Fix
from ksched_cli.analysis.more_nodes import MoreNodes
from ksched_cli.analysis.preempt import Preempt
from ksched_cli.analysis.question import Question, ask
from ksched_cli.analysis.readings import Read
from ksched_cli.analysis.replay_result import ReplayTimeline
from ksched_cli.analysis.schedule import Schedule
from ksched_cli.analysis.shrink import Shrink, Upgrade
from ksched_cli.analysis.status import ShowFullness, ShowStatus
from ksched_cli.analysis.troubleshooting import Diagnose
from ksched_cli.answers import Answer
from ksched_cli.library.run import Run, inputs_of
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import MIN_WIDTH, Limit
from ksched_cli.sweep.draws import CompareDraws, DrawReplay
from ksched_cli.testing import Manifest, node, pod
from tests.thorough import every

# Commands and files are shown as they are.
AS_THEY_ARE = ("  kubectl ", "  --change ", "  ksched ", "  # ")
ENDS = {"short": "", "cloud": ".eu-west-1.compute.internal", "long": "-of-a-pool-with-a-long-name"}
MARK = "qx"  # in all names of nodes and pods


def names_of(style: str) -> dict[str, str]:
    """By what the names are called here: of two full nodes, a free one, a small one."""
    keys = ("full", "other", "free", "small")
    return {key: f"ip-{MARK}{at}{ENDS[style]}" for at, key in enumerate(keys)}


def state(style: str) -> list[Manifest]:
    names = names_of(style)
    zones = {"full": "a", "other": "b", "free": "a", "small": "b"}
    nodes = [
        node(names[key], cpu=2 if key == "small" else 8, memory="16Gi", labels={
            "topology.kubernetes.io/zone": zone, "kubernetes.io/hostname": names[key],
        }) for key, zone in zones.items()
    ]  # fmt: skip
    owner = {
        "kind": "ReplicaSet",
        "name": f"web-{MARK}",
        "apiVersion": "apps/v1",
        "controller": True,
    }
    running = [
        pod(f"{MARK}-web-{at}-{'x' * (at * 7 % 30)}", f"team-{at % 2}", node=names[key], cpu=3,
            labels={"app": "web"}, metadata={"ownerReferences": [{**owner, "controller": True}]})
        for at, key in enumerate(("full", "full", "other", "other", "free"))
    ]  # fmt: skip
    budget = {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"{MARK}-budget", "namespace": "team-0"},
        "spec": {"minAvailable": 3, "selector": {"matchLabels": {"app": "web"}}},
    }
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": f"{MARK}-gang", "namespace": "team-0"},
        "spec": {"schedulingPolicy": {"gang": {"minCount": 2}}},
    }
    member = {"schedulingGroup": {"podGroupName": f"{MARK}-gang"}}
    waiting = [
        pod(f"{MARK}-fits", "team-0", cpu=1),
        pod(f"{MARK}-urgent-and-large", "team-0", cpu=7, priority=10),
        pod(f"{MARK}-pinned", "team-1", cpu=1, spec={"nodeSelector": {"disk": "ssd"}}),
        *(pod(f"{MARK}-gang-{at}", "team-0", cpu=6, spec=member) for at in range(2)),
    ]
    return [*nodes, *running, *waiting, budget, group]


TIMELINE: dict[str, Any] = {
    "apiVersion": "ksched/v1",
    "kind": "Timeline",
    "events": [
        {"at": at * 60, "pod": pod(f"{MARK}-job-{at}", "jobs", cpu=5), "runsFor": 600}
        for at in range(4)
    ],
}
URGENT = f"team-0/{MARK}-urgent-and-large"

# The question by name, given the names of the nodes.
QuestionOf = Callable[[Mapping[str, str]], Question[Any]]
QUESTIONS: dict[str, QuestionOf] = {
    "schedule": lambda names: Schedule(is_shown=True, lists_nodes=True),
    "explain": lambda names: Explain(pod=URGENT),
    "explain a pod that is placed": lambda names: Explain(pod=f"team-0/{MARK}-fits"),
    "explain a group": lambda names: ExplainGroup(group=f"team-0/{MARK}-gang"),
    "explain --pending": lambda names: ExplainPending(),
    "preempt": lambda names: Preempt(pod=URGENT),
    "fix": lambda names: Fix(pod=f"team-1/{MARK}-pinned"),
    "capacity": lambda names: Capacity(pod=f"team-0/{MARK}-fits"),
    "capacity -f": lambda names: Fits(manifests=[pod(f"{MARK}-new", cpu=2)]),
    "capacity --pending": lambda names: MoreNodes(like=(names["free"],)),
    "capacity alone": lambda names: ShowFullness(),
    "status": lambda names: ShowStatus(),
    "drain": lambda names: DrainNodes(nodes=(names["full"], names["other"])),
    "drain --each": lambda names: DrainEach(each="node", failed=True),
    "drift": lambda names: Drift(),
    "shrink": lambda names: Shrink(is_mapped=False),
    "shrink --upgrade": lambda names: Upgrade(selector="topology.kubernetes.io/zone=a"),
    "read a node": lambda names: Read(node=names["full"]),
    "read a pod": lambda names: Read(pod=URGENT),
    "troubleshoot": lambda names: Diagnose(),
    "replay": lambda names: ReplayTimeline(),
    "replay --seeds": lambda names: DrawReplay(seeds=2),
    "compare": lambda names: Compare(),
    "compare replays": lambda names: Compare(),
    "compare --seeds": lambda names: CompareDraws(seeds=2),
}
OVER_TIME = ("replay", "replay --seeds", "compare replays")


@cache
def answer(name: str, style: str) -> Answer:
    names = names_of(style)
    run = Run(state=state(style), kubernetes_version="1.37", feature_gates="GenericWorkload=true")
    if name in OVER_TIME:
        run = run.with_(timeline=TIMELINE, until="30m")
    if "--seeds" in name:
        run = run.with_(tie_break="random", seed=0)
    runs = [run]
    if name.startswith("compare"):
        runs.append(run.with_(changes=[f"cordon {names['free']}"]))
    inputs, described = inputs_of(runs)
    result: Answer = ask(QUESTIONS[name](names), *described, inputs=inputs)
    return result


def named(text: str) -> set[str]:
    """The names of nodes and pods in a text."""
    return set(re.findall(rf"[\w./-]*{MARK}[\w/-]*(?:\.[\w-]+)*", text))


@cache
def state_names(style: str) -> frozenset[str]:
    """The names of all that has one, of nodes with and without the end that they share."""
    objects = [*state(style), *(event["pod"] for event in TIMELINE["events"])]
    names = {each["metadata"]["name"] for each in objects} | {f"web-{MARK}", f"{MARK}-new"}
    return frozenset(names | {each.removesuffix(ENDS[style]) for each in names})


# What these answers say has no names: counts, and figures of draws.
NAMELESS = ("drift", "replay --seeds")


@pytest.mark.parametrize(("name", "style"), every(len(ENDS), [*QUESTIONS], [*ENDS]))
@given(width=st.integers(MIN_WIDTH, 200))
def test_no_line_is_wider_and_no_name_is_lost_or_cut(name: str, width: int, style: str) -> None:
    text_at = partial(render, answer(name, style), Form.TABLE)
    text, names = text_at(Limit(width)), named(text_at(Limit()))
    prose = [line for line in text.split("\n") if not line.startswith(AS_THEY_ARE)]
    assert max(map(len, prose)) <= width
    assert names or name in NAMELESS
    unknown = {each for each in names if each.rpartition("/")[2] not in state_names(style)}
    assert not unknown
    short = {each for each in names if len(each) <= width // 2}
    # Names of columns that are left out, which the text says, are in the JSON.
    if "not shown in" not in text:
        assert short <= named(text), text
        lost = {each for each in names if each not in re.sub(r"\s", "", text)}
        assert not lost, text
    broken = {each for each in names if len(each) > width // 2}
    parts = {each for each in named(text) - names if not any(each in whole for whole in broken)}
    assert not parts, text


def test_every_answer_about_a_cluster_is_among_these() -> None:
    for module in walk_packages(ksched_cli.__path__, "ksched_cli."):
        if module.name.split(".")[1] in ("analysis", "sweep"):
            import_module(module.name)
    styles = [*ENDS]  # as above, so that each question is asked once
    covered = {
        type(answer(name, styles[-at % len(styles)])).__name__ for at, name in enumerate(QUESTIONS)
    }
    others = _subclasses(Answer) - covered
    assert {each for each in others if each not in ELSEWHERE} == set()


# Answers about files, whose texts tests/report has by example, and that of a server's log.
ELSEWHERE = {
    "AuditResult", "ConfigurationDiff", "ConfigurationMigration", "EffectiveConfiguration",
    "ExpectationsResult", "ForwardLook", "PluginList", "RecordResult", "SnapshotResult",
    "SweepPlan", "SweepResult", "TuneResult", "ValidationResult", "ValidationResults",
}  # fmt: skip


def _subclasses(kind: type[Answer]) -> set[str]:
    """The names of the answers of ksched that have a view."""
    own = {kind.__name__} if getattr(kind, "VIEW", "") else set()
    own = own if kind.__module__.startswith("ksched_cli.") else set()
    return own.union(*map(_subclasses, kind.__subclasses__()))
