"""Whether real decisions are ksched's."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from msgspec import structs
from msgspec.structs import asdict

from ksched_cli.analysis.audit.audit import (
    BUDGETS_CHANGED,
    HELD_ROOM,
    LACKS_NOTICES,
    NOT_TAKEN,
    AuditResult,
    audit,
)
from ksched_cli.analysis.audit.decision_log import read_decision_log
from ksched_cli.analysis.audit.decisions import LogEvent, LogLine, OrderSource
from ksched_cli.cluster.objects import Pod
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod, simulation
from tests.analysis.audit.aftermath import (
    aftermath,
    bound,
    event,
    log_of,
    preempted,
    scheduled,
)
from tests.clusters import crowded_states, crowds, states
from tests.devices import thing
from tests.plugins.dynamic_resources.test_extended import requesting
from tests.plugins.dynamic_resources.test_shared_and_tainted_devices import claim, resource_slice

Config = dict[str, Any] | None


def agreeing(answer: AuditResult) -> dict[str, int]:
    """How many decisions agree, by how."""
    return {how: count for how, count in asdict(answer.summary).items() if count}


def audited(
    before: ClusterState,
    after: ClusterState,
    config: Config = None,
    log: Sequence[LogLine] | None = None,
) -> AuditResult:
    """log: the scheduler's; by default that of the second state's events"""
    log = log_of(after) if log is None else log
    decision_log = read_decision_log(before, after, simulation(before, config).frameworks, log)
    return audit(partial(simulation, config=config), decision_log)


def test_victims_stay_until_the_log_says_that_they_left() -> None:
    """`q` is placed while the victim is still there: b, though a has more room afterwards."""
    before = cluster(
        node("a", cpu=4),
        node("b", cpu=2),
        pod("v", cpu=4, node="a"),
        pod("w", cpu=1, node="b", priority=20),
        pod("p", cpu=2, priority=9),
        pod("q", cpu=1),
    )
    victim, w, p, q = before.pods
    events = (preempted(victim, p, "a", 1), scheduled(q, "b", 2), scheduled(p, "a", 3))
    after = replace(before, pods=(w, bound(p, "a", 9), bound(q, "b", 8)), others={"Event": events})
    log = [
        LogLine(LogEvent.ATTEMPT, "default/p"),
        LogLine(LogEvent.PREEMPTION, "default/p", "a"),
        LogLine(LogEvent.ATTEMPT, "default/q"),
        LogLine(LogEvent.DEPARTURE, "default/v"),
        LogLine(LogEvent.ATTEMPT, "default/p"),
    ]
    decision_log = read_decision_log(before, after, simulation(before).frameworks, log)
    answer = audit(simulation, decision_log)
    assert (answer.differ, answer.order) == ((), OrderSource.LOG)
    assert agreeing(answer) == {"preempts": 1, "best": 1, "nominated": 1}


def preempting(pod: str, node: str, victim: str) -> list[LogLine]:
    return [
        LogLine(LogEvent.ATTEMPT, pod),
        LogLine(LogEvent.PREEMPTION, pod, node),
        LogLine(LogEvent.REFUSAL, pod, message="0/2 nodes are available: 2 Insufficient cpu."),
        LogLine(LogEvent.VICTIM, victim, node, pod),
    ]


def test_of_equally_important_pods_the_one_that_changed_last_is_evicted() -> None:
    started = {"status": {"startTime": "2026-01-01T00:00:00Z"}}
    first, second = (pod(name, cpu=1, node="a") | started for name in "vw")
    before = cluster(node("a", cpu=2), first, second, pod("p", cpu=1, priority=9))
    p = before.pods[2]
    after = replace(before, pods=(before.pods[1], bound(p, "a", 9)))
    log = [
        LogLine(LogEvent.UPDATE, "default/v"),
        *preempting("default/p", "a", "default/v"),
        LogLine(LogEvent.DEPARTURE, "default/v"),
        LogLine(LogEvent.ATTEMPT, "default/p"),
    ]
    for lines, differences in ((log, 0), (log[1:], 1)):
        decision_log = read_decision_log(before, after, simulation(before).frameworks, lines)
        answer = audit(simulation, decision_log)
        assert len(answer.differ) == differences


@pytest.mark.parametrize("are_noticed", [True, False])
def test_of_equally_important_pods_the_one_that_was_noticed_last_is_evicted(
    are_noticed: bool,
) -> None:
    """`w` was placed last; that `v` is on the node is noticed after that `w` is."""
    pods = [pod("v", cpu=1), pod("w", cpu=1), pod("p", cpu=1, priority=9)]
    before = cluster(node("a", cpu=2), *pods)
    v, w, p = before.pods
    events = scheduled(v, "a", 1), scheduled(w, "a", 2), preempted(v, p, "a", 3)
    after = replace(before, pods=(bound(w, "a", 8), bound(p, "a", 9)), others={"Event": events})
    log = [
        LogLine(LogEvent.ATTEMPT, v.key),
        LogLine(LogEvent.ATTEMPT, w.key),
        *[LogLine(LogEvent.ADDITION, each.key) for each in (w, v) if are_noticed],
        *preempting(p.key, "a", v.key),
        LogLine(LogEvent.DEPARTURE, v.key),
        LogLine(LogEvent.ATTEMPT, p.key),
    ]
    answer = audited(before, after, log=log)
    assert [each.pod for each in answer.differ] == [p.key] * (not are_noticed)


def test_a_less_important_pod_takes_back_no_nomination() -> None:
    """`q` has to go to b: the room on a is for both that made it."""
    before = cluster(
        node("a", cpu=2, labels={"on": "a"}),
        node("b", cpu=1),
        *(pod(name, cpu=1, node="a", priority=n) for n, name in enumerate("vw")),
        pod("high", cpu=1, priority=9, node_selector={"on": "a"}),
        pod("mid", cpu=1, priority=5, node_selector={"on": "a"}),
        pod("q", cpu=1),
    )
    v, w, high, mid, q = before.pods
    pods = bound(high, "a", 8), bound(mid, "a", 9), bound(q, "b", 7)
    log = [
        *preempting(high.key, "a", v.key),
        LogLine(LogEvent.DEPARTURE, v.key),
        *preempting(mid.key, "a", w.key),
        LogLine(LogEvent.DEPARTURE, w.key),
        *(LogLine(LogEvent.ATTEMPT, each.key) for each in (q, high, mid)),
    ]
    answer = audited(before, replace(before, pods=pods), log=log)
    assert answer.differ == ()
    assert agreeing(answer) == {"preempts": 2, "nominated": 2, "best": 1}


@pytest.mark.parametrize("is_removed", [True, False])
def test_a_pod_that_leaves_the_queue_is_nominated_no_more(is_removed: bool) -> None:
    """`p` is nominated to a at first, and is deleted; then `q` goes there."""
    nominated = pod("p", cpu=2, priority=5) | {"status": {"nominatedNodeName": "a"}}
    before = cluster(node("a", cpu=2), nominated, pod("q", cpu=2))
    after = moved(replace(before, pods=(before.pods[1],)), "q", "a")
    log = [
        *([LogLine(LogEvent.REMOVAL, "default/p")] if is_removed else []),
        LogLine(LogEvent.ATTEMPT, "default/q"),
    ]
    decision_log = read_decision_log(before, after, simulation(before).frameworks, log)
    answer = audit(simulation, decision_log)
    assert [item.pod for item in answer.differ] == ([] if is_removed else ["default/q"])


@pytest.mark.parametrize("has_notices", [True, False])
def test_without_notices_nothing_is_judged_once_nominations_have_changed(has_notices: bool) -> None:
    """`p` is nominated to a, then b, though a is still better; then `q` goes to c, not d."""
    before = cluster(
        node("a", cpu=2), node("b", cpu=2), node("c", cpu=3), node("d", cpu=4),
        pod("v", cpu=2, node="a"), pod("w", cpu=2, node="b", priority=3),
        pod("x", cpu=2, node="c", priority=9), pod("y", cpu="2500m", node="d", priority=9),
        pod("p", cpu=2, priority=5), pod("q", cpu=1),
    )  # fmt: skip
    after = moved(replace(before), "q", "c")
    log = [
        *preempting("default/p", "a", "default/v"),
        *preempting("default/p", "b", "default/w"),
        *([LogLine(LogEvent.NOTICE, "default/p")] if has_notices else []),
        LogLine(LogEvent.ATTEMPT, "default/q"),
    ]
    decision_log = read_decision_log(before, after, simulation(before).frameworks, log)
    answer = audit(simulation, decision_log)
    differ = [item.pod for item in answer.differ]
    assert differ == ["default/p", "default/q"][: 1 + has_notices]
    assert [item.reason for item in answer.unexplained] == [LACKS_NOTICES][has_notices:]


def moved(after: ClusterState, name: str, on: str) -> ClusterState:
    """The same with one pod on another node."""
    pods = [structs.replace(p, node_name=on) if p.name == name else p for p in after.pods]
    return replace(after, pods=tuple(pods))


SERIAL = {
    "apiVersion": "kubescheduler.config.k8s.io/v1",
    "kind": "KubeSchedulerConfiguration",
    "parallelism": 1,
}


def agrees_with_itself(before: ClusterState, *, config: Config = None) -> None:
    answer = audited(before, aftermath(before, config), config)
    assert (answer.differ, answer.unexplained) == ((), ())


@given(states())
def test_what_schedule_decides_agrees(before: ClusterState) -> None:
    agrees_with_itself(before)


@given(crowded_states())
def test_what_schedule_evicts_agrees(before: ClusterState) -> None:
    agrees_with_itself(before)


@settings(max_examples=2)
@given(crowds(pods_each=6))
def test_what_schedule_decides_on_some_of_many_nodes_agrees(before: ClusterState) -> None:
    agrees_with_itself(before, config=SERIAL)


def test_every_decision_is_counted_once() -> None:
    before = cluster(
        node("a", cpu=2),
        node("b", cpu=4),
        pod("v", cpu=2, node="a"),
        pod("p", cpu=3, priority=5),
        pod("q", cpu=2, priority=4),
        pod("r", cpu=9),
    )
    after = aftermath(before)
    decision_log = read_decision_log(before, after, simulation(before).frameworks, log_of(after))
    progress: list[tuple[int, int]] = []
    answer = audit(simulation, decision_log, lambda *counts: progress.append(counts))
    assert agreeing(answer) == {"best": 1, "preempts": 1, "nominated": 1, "refused": 1}
    assert (answer.decisions, answer.agree, answer.order) == (4, 4, OrderSource.LOG)
    total = len(decision_log.decisions) + len(decision_log.refused)
    assert progress == [(place, total) for place in range(1, total + 1)]


def test_a_worse_node_differs_score_by_score() -> None:
    before = cluster(node("a", cpu=4), node("b", cpu=8), pod("p", cpu=2))
    (difference,) = audited(before, moved(aftermath(before), "p", "a")).differ
    assert (difference.pod, difference.node, difference.expected) == ("default/p", "a", ("b",))
    # The largest difference is the first.
    assert re.fullmatch(r"b has .*: NodeResourcesFit .*, .*", difference.because)
    fit = {name: scores["NodeResourcesFit"] for name, scores in difference.scores.items()}
    assert fit["b"] > fit["a"]


def test_a_node_that_does_not_fit_differs_with_its_reason() -> None:
    before = cluster(node("a", taints=["x:NoSchedule"]), node("b"), pod("p"))
    (difference,) = audited(before, moved(aftermath(before), "p", "a")).differ
    assert difference.because == "a does not fit: TaintToleration: node(s) had untolerated taint(s)"


def test_the_wrong_victim_differs() -> None:
    before = cluster(
        node("a", cpu=2),
        node("b", cpu=2),
        pod("v", cpu=2, node="a"),
        pod("w", cpu=2, node="b", priority=3),
        pod("p", cpu=2, priority=5),
    )
    victim, other, p = before.pods
    events = (preempted(other, p, "b", 1), scheduled(p, "b", 2))
    after = replace(before, pods=(victim, bound(p, "b", 9)), others={"Event": events})
    answer = audited(before, after)
    assert [(d.expected, d.because) for d in answer.differ] == [
        (("a",), "evictions on other nodes are preferred")
    ]
    assert agreeing(answer) == {"nominated": 1}


def pending(p: Pod, message: str, number: int) -> tuple[Pod, dict[str, Any]]:
    """The pod after a refusal, and its event."""
    conditions = cluster(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": "x"},
            "status": {
                "conditions": [{"type": "PodScheduled", "status": "False", "message": message}]
            },
        }
    ).pods[0]
    return structs.replace(p, status=conditions.status), event(
        "FailedScheduling", p, message, number
    )


RIGHT = (
    "0/1 nodes are available: 1 Insufficient cpu. preemption: "
    "0/1 nodes are available: 1 Preemption is not helpful for scheduling."
)


@pytest.mark.parametrize("message", [RIGHT, "0/1 nodes are available: 1 Insufficient memory."])
def test_the_message_of_a_refusal_after_all_decisions_is_compared(message: str) -> None:
    before = cluster(node("a", cpu=1), pod("p", cpu=2))
    left, refusal = pending(before.pods[0], message, 3)
    answer = audited(before, replace(before, pods=(left,), others={"Event": (refusal,)}))
    assert answer.agree == (message == RIGHT)
    assert [message in difference.because for difference in answer.differ] == (
        [] if message == RIGHT else [True]
    )


def test_a_pod_left_pending_though_a_node_fits_differs_where_nothing_came_after() -> None:
    before = cluster(node("a"), pod("p"))
    left, refusal = pending(before.pods[0], "0/1 nodes are available.", 3)
    after = replace(before, pods=(left,), others={"Event": (refusal,)})
    (difference,) = audited(before, after).differ
    assert (difference.node, difference.expected) == (None, ("a",))
    (unexplained,) = audited(before, replace(before, pods=(left,))).unexplained
    assert "it fits on a by now" in unexplained.reason


@pytest.mark.parametrize("priority", [0, 9])
def test_a_pod_that_fits_since_another_one_left_may_not_have_been_tried_again(
    priority: int,
) -> None:
    """The second state has it before that, be it that the other one was evicted for it or not."""
    before = cluster(
        node("a", cpu=2), pod("v", cpu=2, node="a"), pod("p", cpu=2, priority=priority)
    )
    v, p = before.pods
    left, refusal = pending(p, "0/1 nodes are available: 1 Insufficient cpu.", 3)
    events = (preempted(v, p, "a", 3), refusal)[priority == 0 :]
    after = replace(before, pods=(left,), others={"Event": events})
    tried = [
        LogLine(LogEvent.ATTEMPT, p.key),
        LogLine(LogEvent.REFUSAL, p.key, message="0/1 nodes are available: 1 Insufficient cpu."),
    ]
    log = [*(preempting(p.key, "a", v.key) if priority else tried)]
    answer = audited(before, after, log=[*log, LogLine(LogEvent.DEPARTURE, v.key)])
    assert answer.differ == ()
    assert ["it fits on a by now" in each.reason for each in answer.unexplained] == [True]


def test_a_node_that_changed_in_between_leaves_a_decision_unexplained() -> None:
    before = cluster(node("a", cpu=4), node("b", cpu=8), pod("p", cpu=2))
    tainted = cluster(node("a", cpu=4), node("b", cpu=8, taints=["x:NoSchedule"]))
    after = replace(moved(aftermath(before), "p", "a"), nodes=tainted.nodes)
    (unexplained,) = audited(before, after).unexplained
    assert unexplained.reason == "the node b changed in between: its taints"


def test_a_node_that_came_in_between_leaves_a_decision_unexplained() -> None:
    before = cluster(node("a", cpu=4), node("b", cpu=8), pod("p", cpu=2))
    more = cluster(node("a", cpu=4), node("b", cpu=8), node("c"))
    after = replace(moved(aftermath(before), "p", "a"), nodes=more.nodes)
    assert audited(before, after).unexplained[0].reason == "nodes joined in between: c"


def test_a_pod_that_left_in_between_may_explain_a_decision() -> None:
    before = cluster(node("a", cpu=2), node("b", cpu=1), pod("v", cpu=2, node="a"), pod("p", cpu=1))
    p = before.pods[1]
    after = replace(before, pods=(bound(p, "a", 9),))
    (unexplained,) = audited(before, after).unexplained
    assert unexplained.reason == "ksched decides the same once these pods have left: default/v"


def gone(name: str, uid: str = "") -> Pod:
    """A pod that is in neither state."""
    return cluster(pod(name, metadata={"uid": uid or name})).pods[0]


def test_what_a_pod_held_that_came_and_went_is_not_known() -> None:
    """`p` went to b, because `u` was on a; before `u` came, it would have had to go to a."""
    before = cluster(node("a", cpu=4), node("b", cpu=2), pod("p", cpu=1))
    p = before.pods[0]
    at_first = scheduled(p, "b", 1), scheduled(gone("u"), "a", 30_000)
    later = scheduled(gone("u"), "a", 1), scheduled(p, "b", 30_000)
    elsewhere = scheduled(gone("u"), "c", 1), scheduled(p, "b", 30_000)
    for events, differences in ((at_first, 1), (later, 0), (elsewhere, 1)):
        after = replace(before, pods=(bound(p, "b", 9),), others={"Event": events})
        answer = audited(before, after)
        assert len(answer.differ) == differences
        if not differences:
            (u, unknown) = answer.unexplained
            assert u.pod == "default/u"
            assert unknown.reason == (
                "the requests of default/u are unknown: created, placed and gone between "
                "the two states, on a"
            )


@pytest.mark.parametrize("has_binding", [False, True])
@pytest.mark.parametrize("has_left", [False, True])
def test_the_log_tells_how_long_a_pod_was_there_that_came_and_went(
    has_left: bool, has_binding: bool
) -> None:
    """A log that begins later tells when it left."""
    before = cluster(node("a", cpu=4), node("b", cpu=2), pod("p", cpu=1))
    events = (scheduled(gone("u"), "a", 1),)
    after = replace(before, pods=(bound(before.pods[0], "b", 9),), others={"Event": events})
    departure = LogLine(LogEvent.DEPARTURE, "default/u")
    log = [
        LogLine(LogEvent.ATTEMPT, "default/u"),
        LogLine(LogEvent.BINDING, "default/u", "a"),
        *([departure] if has_left else []),
        LogLine(LogEvent.ATTEMPT, "default/p"),
        departure,
    ]
    answer = audited(before, after, log=log if has_binding else log[2:])
    assert [item.pod for item in answer.differ] == ["default/p"] * has_left
    assert [item.pod for item in answer.unexplained] == ["default/u", "default/p"][: 2 - has_left]


def test_evictions_on_a_node_whose_pods_came_and_went_are_not_judged() -> None:
    before = cluster(node("a", cpu=2), node("b", cpu=2), pod("p", cpu=2, priority=9))
    p = before.pods[0]
    events = (
        scheduled(gone("u"), "a", 1),
        scheduled(gone("v"), "b", 2),
        preempted(gone("v"), p, "b", 3),
        scheduled(p, "b", 4),
    )
    after = replace(before, pods=(bound(p, "b", 9),), others={"Event": events})
    log = [
        LogLine(LogEvent.ATTEMPT, "default/u"),
        LogLine(LogEvent.BINDING, "default/u", "a"),
        LogLine(LogEvent.ATTEMPT, "default/v"),
        LogLine(LogEvent.BINDING, "default/v", "b"),
        *preempting("default/p", "b", "default/v"),
        LogLine(LogEvent.DEPARTURE, "default/v"),
        LogLine(LogEvent.ATTEMPT, "default/p"),
    ]
    answer = audited(before, after, log=log)
    assert answer.differ == ()
    assert {item.pod for item in answer.unexplained} >= {"default/u", "default/v"}


def test_a_refusal_is_not_compared_where_pods_came_and_went() -> None:
    before = cluster(node("a", cpu=2), pod("p", cpu=2))
    left, refusal = pending(before.pods[0], "0/1 nodes are available: 1 Insufficient cpu.", 9)
    events = (scheduled(gone("u"), "a", 1), refusal)
    answer = audited(before, replace(before, pods=(left,), others={"Event": events}))
    assert answer.differ == ()
    assert "it fits on a by now" in answer.unexplained[-1].reason


@pytest.mark.parametrize("static", [False, True])
def test_pods_that_were_created_with_their_node_are_no_decisions(static: bool) -> None:
    """They need no attempt in the log either, and take their room when they are noticed."""
    before = cluster(node("a", cpu=4), node("b", cpu=4), pod("p", cpu=1))
    mirror = pod("m", cpu=3, node="a")
    conditions = [{"type": name, "status": "True"} for name in ("Initialized", "Ready")]
    mirror["status"] = {"conditions": conditions}
    if static:
        owner = {"apiVersion": "v1", "kind": "Node", "name": "a", "uid": "a", "controller": True}
        mirror["metadata"]["ownerReferences"] = [owner]
        mirror["status"] = {"conditions": [{"type": "PodScheduled", "status": "True"}]}
    came = cluster(mirror).pods[0]
    p = bound(before.pods[0], "b", 9)
    log = [LogLine(LogEvent.ADDITION, "default/m"), LogLine(LogEvent.ATTEMPT, "default/p")]
    answer = audited(before, replace(before, pods=(came, p)), log=log)
    assert (answer.decisions, answer.differ) == (1, ())


def test_a_claim_that_the_scheduler_made_is_its_decision() -> None:
    before = cluster(
        node("a"),
        node("b"),
        thing("DeviceClass", "any", {"extendedResourceName": "example.com/gpu"}),
        resource_slice(0, {"nodeName": "b", "devices": [{"name": "x"}]}),
        requesting("p", {"example.com/gpu": "1"}),
    )
    extended = claim("p-extended-resources-x", {"requests": {"r": {}}})
    extended["metadata"] |= {
        "namespace": "default",
        "annotations": {"resource.kubernetes.io/extended-resource-claim": "true"},
        "ownerReferences": [
            {"apiVersion": "v1", "kind": "Pod", "name": "p", "uid": "p", "controller": True}
        ],
    }
    claims = cluster(extended).resource_claims
    after = replace(before, pods=(bound(before.pods[0], "b", 9),), resource_claims=claims)
    answer = audited(before, after)
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 1})


@pytest.mark.parametrize("allowed", [0, 1, 2])
def test_evictions_are_not_judged_where_budgets_allowed_others_meanwhile(allowed: int) -> None:
    """ksched would evict `low`, which is less important."""
    before = cluster(
        budget(1),
        node("a", cpu=2),
        node("b", cpu=2),
        pod("low", cpu=2, node="a", priority=1, labels={"app": "guarded"}),
        pod("lower", cpu=2, node="b", priority=2),
        pod("p", cpu=2, priority=9),
    )
    low, lower, p = before.pods
    events = (preempted(lower, p, "b", 1), scheduled(p, "b", 2))
    budgets = cluster(budget(allowed)).pod_disruption_budgets
    pods = (low, bound(p, "b", 9))
    after = replace(before, pods=pods, others={"Event": events}, pod_disruption_budgets=budgets)
    answer = audited(before, after)
    reason = BUDGETS_CHANGED.format("default/guarded")
    assert [each.reason for each in answer.unexplained] == [reason] * (allowed != 1)
    assert [each.pod for each in answer.differ] == ["default/p"] * (allowed == 1)


def budget(allowed: int) -> dict[str, Any]:
    return {
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "guarded", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "guarded"}}},
        "status": {"disruptionsAllowed": allowed},
    }


BATCHING = {
    "profiles": [
        {
            "pluginConfig": [
                {
                    "name": "PodTopologySpread",
                    "args": {"defaultingType": "List", "defaultConstraints": []},
                }
            ]
        }
    ]
}


def preferring(name: str) -> dict[str, Any]:
    """n1 most, then n2; fills either, but not the larger n3."""
    preferred = [
        {
            "weight": weight,
            "preference": {
                "matchExpressions": [
                    {"key": "kubernetes.io/hostname", "operator": "In", "values": [host]}
                ]
            },
        }
        for host, weight in (("n1", 100), ("n2", 10))
    ]
    manifest = pod(name, cpu=4)
    manifest["spec"]["affinity"] = {
        "nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}
    }
    return manifest


@pytest.mark.parametrize(("minor", "agrees"), [("1.34", False), ("1.35", True), ("1.37", True)])
def test_the_next_node_of_the_ranking_for_the_pod_before_is_no_difference(
    minor: str, agrees: bool
) -> None:
    """Ranked anew, n2 is the best for `q`: n1 is full and no longer the measure."""
    sizes = {"n1": 4, "n2": 4, "n3": 32}
    before = cluster(
        *(
            node(name, cpu=cpu, labels={"kubernetes.io/hostname": name})
            for name, cpu in sizes.items()
        ),
        preferring("p"),
        preferring("q"),
    )
    p, q = before.pods
    after = replace(before, pods=(bound(p, "n1", 1), bound(q, "n3", 2)))
    opened = partial(simulation, config=BATCHING, kubernetes_version=minor)
    decision_log = read_decision_log(before, after, opened(before).frameworks, log_of(after))
    answer = audit(opened, decision_log)
    assert bool(answer.differ) is not agrees
    assert agreeing(answer).get("batched", 0) == agrees


def test_pods_of_other_schedulers_take_their_room_unjudged() -> None:
    before = cluster(
        node("a", cpu=2), node("b", cpu=1), pod("o", cpu=2, profile="other"), pod("p", cpu=1)
    )
    other, p = before.pods
    after = replace(before, pods=(bound(other, "a", 3), bound(p, "b", 9)))
    answer = audited(before, after)
    assert (answer.decisions, answer.differ) == (1, ())


@pytest.mark.parametrize(("used", "cause"), [(False, NOT_TAKEN), (True, HELD_ROOM)])
def test_differences_that_all_expect_one_node_are_a_group(used: bool, cause: str) -> None:
    pods = [pod(name, cpu=1) for name in "pqrs"]
    before = cluster(node("a", cpu=8), node("b", cpu=64), *pods)
    on = ["b" if used else "a", "a", "a", "a"]
    after = replace(before, pods=tuple(bound(p, on[n], n + 1) for n, p in enumerate(before.pods)))
    answer = audited(before, after)
    (group,) = answer.groups
    keys = tuple(f"default/{name}" for name in "pqrs"[used:])
    assert (group.node, group.pods, group.because) == ("b", keys, cause.format("b"))


def test_the_largest_group_of_differences_is_the_first() -> None:
    """Pods of a zone are on its smaller node."""
    nodes = [
        node(f"{zone}{cpu}", cpu=cpu, labels={"zone": zone}) for zone in "xy" for cpu in (8, 64)
    ]
    zones = {"p": "x", "q": "x", "r": "x", "s": "y", "t": "y", "u": "y", "v": "y"}
    pods = [pod(name, cpu=1, node_selector={"zone": zone}) for name, zone in zones.items()]
    before = cluster(*nodes, *pods)
    placed = [bound(p, f"{zones[p.name]}8", n) for n, p in enumerate(before.pods)]
    groups = audited(before, replace(before, pods=tuple(placed))).groups
    assert [(group.node, len(group.pods)) for group in groups] == [("y64", 4), ("x64", 3)]


def test_nothing_decided_is_no_decision() -> None:
    before = cluster(node("a"), pod("p", node="a"))
    assert audited(before, before).decisions == 0
