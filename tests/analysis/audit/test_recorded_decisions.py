"""Whether decisions that were recorded are ksched's."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec
import pytest

from ksched_cli.analysis.audit.audit import (
    EQUAL_VICTIMS,
    IMAGE_COUNTS,
    IMAGE_SIZES,
    JUST_STARTED,
    STARTS,
    AuditResult,
    audit,
)
from ksched_cli.analysis.audit.decisions import LogEvent, LogLine, OrderSource
from ksched_cli.analysis.audit.recorded_decisions import RELISTED, read_recording
from ksched_cli.scenario.timeline import read_timeline
from ksched_cli.testing import cluster, node, pod, simulation
from tests.analysis.audit.test_audit import agreeing

Event = dict[str, Any]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path


def recorded(
    folder: Path,
    objects: list[Any],
    *events: Event,
    log: Sequence[LogLine] = (),
    minor: str = "",
) -> AuditResult:
    """The audit of a recording of these events, one a minute but for those that have their time."""
    state = cluster(*objects)
    header = {"apiVersion": "ksched/v1", "kind": "Timeline", "start": "2026-01-01T00:00:00Z"}
    times = [{"at": 60 * number, **event} for number, event in enumerate(events, 1)]
    path = folder / "day.jsonl"
    path.write_bytes(b"\n".join(map(msgspec.json.encode, [header, *times])))
    timeline = read_timeline(str(path), state)
    assert timeline.start is not None
    names = simulation(state).frameworks
    decision_log = read_recording(state, timeline.events(), timeline.start, names, log)
    answer = audit(lambda state: simulation(state, kubernetes_version=minor), decision_log)
    assert answer.order is OrderSource.RECORDING
    return answer


def bind(name: str, on: str) -> Event:
    return {"decision": {"namespace": "default", "name": name, "node": on}}


def leaves(name: str, **about: Any) -> Event:
    return {"delete": {"kind": "Pod", "namespace": "default", "name": name}, **about}


def test_pods_that_came_and_went_are_followed(folder: Path) -> None:
    """`q` goes to a, which is free again; `r` to b, while `q` is there."""
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=2)],
        {"pod": pod("p", cpu=4)},
        bind("p", "a"),
        {"end": "default/p"},
        {"pod": pod("q", cpu=4)},
        bind("q", "a"),
        {"pod": pod("r", cpu=1)},
        bind("r", "b"),
        leaves("r"),
    )
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 3})


def test_nodes_are_those_of_the_moment(folder: Path) -> None:
    cordoned = node("a", cpu=8, unschedulable=True)
    answer = recorded(
        folder,
        [node("a", cpu=8)],
        {"put": node("b", cpu=4)},
        {"pod": pod("p")},
        bind("p", "a"),
        {"put": cordoned},
        {"pod": pod("q")},
        bind("q", "b"),
        {"delete": {"kind": "Node", "name": "b"}},
        {"put": node("a", cpu=8)},
        {"pod": pod("r")},
        bind("r", "a"),
    )
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 3})


def test_a_decision_that_is_not_kscheds_differs(folder: Path) -> None:
    nodes = [node("a", cpu=8), node("b", cpu=2)]
    answer = recorded(folder, nodes, {"pod": pod("p", cpu=1)}, bind("p", "b"))
    assert [(each.pod, each.node, each.expected) for each in answer.differ] == [
        ("default/p", "b", ("a",))
    ]


@pytest.mark.parametrize("seconds", [1, 6])
def test_a_node_that_came_just_before_may_not_have_been_noticed(seconds: int, folder: Path) -> None:
    answer = recorded(
        folder,
        [node("b", cpu=2)],
        {"pod": pod("p", cpu=1)},
        {"at": 100, "put": node("a", cpu=8)},
        {"at": 100 + seconds, **bind("p", "b")},
    )
    is_late = seconds > 5
    assert answer.unexplained == ()
    assert (len(answer.differ), agreeing(answer)) == (is_late, {} if is_late else {"reordered": 1})


def test_nodes_that_came_one_after_the_other_may_all_not_have_been_noticed(folder: Path) -> None:
    """`q`, which is bound in between, may use neither."""
    q = pod("q", cpu=1, node_selector={"small": ""})
    answer = recorded(
        folder,
        [node("b", cpu=2), node("s", cpu=1, labels={"small": ""})],
        {"at": 90, "pod": pod("p", cpu=1)},
        {"at": 91, "pod": q},
        {"at": 100, "put": node("a", cpu=8)},
        {"at": 100.5, **bind("q", "s")},
        {"at": 101, "put": node("c", cpu=8)},
        {"at": 102, **bind("p", "b")},
    )
    assert (answer.differ, agreeing(answer)) == ((), {"best": 1, "reordered": 1})


def test_a_node_that_came_just_before_excuses_no_other_node(folder: Path) -> None:
    """Without a, `p` would have gone to b."""
    answer = recorded(
        folder,
        [node("b", cpu=4), node("c", cpu=2)],
        {"at": 99, "pod": pod("p", cpu=1)},
        {"at": 100, "put": node("a", cpu=8)},
        {"at": 101, **bind("p", "c")},
    )
    assert [(each.pod, each.expected) for each in answer.differ] == [("default/p", ("a",))]


@pytest.mark.parametrize("fails_late", [False, True])
def test_a_pod_is_not_decided_on_before_its_last_attempt_without_a_node(
    fails_late: bool, folder: Path
) -> None:
    """`q` would have gone to b before `r` was there; but it had not failed yet."""
    failure = {"decision": {"namespace": "default", "name": "q", "message": "none"}}
    events = [
        {"at": 91, "pod": pod("r", cpu=3)},
        {"at": 100, **bind("r", "b")},
        {"at": 101 if fails_late else 90, **failure},
        {"at": 102, **bind("q", "b")},
    ]
    answer = recorded(
        folder,
        [node("a", cpu=2), node("b", cpu=4)],
        {"at": 89, "pod": pod("q", cpu=1)},
        *sorted(events, key=lambda event: event["at"]),
    )
    assert len(answer.differ) == fails_late


def test_a_pod_that_left_just_before_may_still_have_been_there(folder: Path) -> None:
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=2), pod("big", cpu=8, node="a")],
        {"pod": pod("p", cpu=1)},
        {"at": 100, **leaves("big")},
        {"at": 101, **bind("p", "b")},
    )
    assert (answer.differ, agreeing(answer)) == ((), {"reordered": 1})


@pytest.mark.parametrize("names_preemptor", [True, False])
def test_room_is_made_by_the_recorded_evictions(names_preemptor: bool, folder: Path) -> None:
    about = {"namespace": "default", "name": "high", "nominatedNode": "a", "message": "none fits"}
    eviction = {
        "namespace": "default", "name": "low", "uid": "default/low", "node": "a",
        "evictedFor": "default/high",
    }  # fmt: skip
    answer = recorded(
        folder,
        [node("a", cpu=2), pod("low", cpu=2, node="a"), pod("high", cpu=2, priority=9)],
        leaves("low", gracePeriod=30, preempted=True),
        *([{"decision": eviction}] if names_preemptor else []),
        {"decision": about},
        leaves("low", preempted=True),
        bind("high", "a"),
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 1, "nominated": 1}


def for_high(victim: str = "low", on: str = "a") -> Event:
    """That a pod was evicted for `high`."""
    about = {"namespace": "default", "name": victim, "uid": f"default/{victim}", "node": on}
    return {"decision": {**about, "evictedFor": "default/high"}}


HIGH_TO_A = {"namespace": "default", "name": "high", "nominatedNode": "a", "message": "none fits"}


@pytest.mark.parametrize("is_named_first", [True, False])
def test_a_victim_that_leaves_late_nominates_no_pod_that_is_bound(
    is_named_first: bool, folder: Path
) -> None:
    """`high` is bound to b, where room was made first; a, which `low` leaves then, is for `q`."""
    named = [for_high()]
    answer = recorded(
        folder,
        [
            node("a", cpu=2), node("b", cpu=2),
            pod("low", cpu=2, node="a"), pod("other", cpu=2, node="b", priority=5),
            pod("high", cpu=2, priority=9),
        ],
        leaves("low", gracePeriod=30, preempted=True),
        *(named if is_named_first else []),
        {"decision": HIGH_TO_A},
        leaves("other"),
        bind("high", "b"),
        *([] if is_named_first else named),
        leaves("low", preempted=True),
        {"pod": pod("q", cpu=2)},
        bind("q", "a"),
    )  # fmt: skip
    assert (answer.differ, answer.unexplained) == ((), ())


def makes_room(name: str, *, nominated: str = "a", victims: int = 1) -> Event:
    """The status of a pod that room is made for, or whose nomination is taken back again."""
    message = f"none fits. preemption: preempting {victims} victims"
    about = {"namespace": "default", "name": name, "nominatedNode": nominated, "message": message}
    return {"decision": about}


def two_on_a() -> list[Any]:
    """a is full, and `low-2` the least important pod there; `mid` needs half of it, `high` all."""
    return [
        node("a", cpu=2),
        pod("low-1", cpu=1, node="a", priority=2),
        pod("low-2", cpu=1, node="a", priority=1),
        pod("mid", cpu=1, priority=5),
        pod("high", cpu=2, priority=9),
    ]


def for_mid(victim: str) -> Event:
    """That a pod was evicted for `mid`."""
    about = {"namespace": "default", "name": victim, "uid": f"default/{victim}", "node": "a"}
    return {"decision": {**about, "evictedFor": "default/mid"}}


@pytest.mark.parametrize("is_taken_back", [True, False])
def test_a_nomination_lasts_until_its_end_is_recorded(is_taken_back: bool, folder: Path) -> None:
    """`high` takes the place that `mid` was nominated to, and is deleted; `q` needs all of it."""
    answer = recorded(
        folder,
        two_on_a(),
        leaves("low-2", gracePeriod=30, preempted=True),
        for_mid("low-2"),
        makes_room("mid"),
        makes_room("high", victims=2),
        *([makes_room("mid", nominated="")] if is_taken_back else []),
        leaves("low-1", gracePeriod=30, preempted=True),
        for_high("low-1"),
        leaves("low-1", preempted=True),
        leaves("low-2", preempted=True),
        leaves("high"),
        {"pod": pod("q", cpu=2, priority=3)},
        bind("q", "a"),
    )
    assert [each.pod for each in answer.differ] == ([] if is_taken_back else ["default/q"])
    assert answer.unexplained == ()


@pytest.mark.parametrize(("victims", "leaves_late"), [(2, False), (1, False), (2, True)])
def test_a_victim_of_two_pods_is_recorded_as_one_of_them(
    victims: int, leaves_late: bool, folder: Path
) -> None:
    """Only `mid` is named as the cause of `low-2`'s eviction, which comes after the nomination of
    `high`. When `high` has been bound, it is too late."""
    leaving = [leaves("low-2", gracePeriod=30, preempted=True), for_mid("low-2")]
    answer = recorded(
        folder,
        [*two_on_a(), node("b", cpu=2), pod("other", cpu=2, node="b", priority=10)],
        makes_room("mid"),
        leaves("low-1", gracePeriod=30, preempted=True),
        for_high("low-1"),
        makes_room("high", victims=victims),
        *([] if leaves_late else leaving),
        leaves("low-1", preempted=True),
        leaves("other"),
        bind("high", "b"),
        *(leaving if leaves_late else []),
    )
    differs = victims == 1 or leaves_late
    assert [each.pod for each in answer.differ] == (["default/high"] if differs else [])


@pytest.mark.parametrize("is_in_state", [True, False])
def test_a_nominated_pod_that_is_deleted_is_nominated_no_more(
    is_in_state: bool, folder: Path
) -> None:
    """Once it is gone, a is for `q`. Either the state has the nomination, or it is recorded."""
    high = pod("high", cpu=2, priority=9)
    high["status"]["nominatedNodeName"] = "a" if is_in_state else ""
    events = [leaves("low", gracePeriod=30, preempted=True), for_high(), {"decision": HIGH_TO_A}]
    answer = recorded(
        folder,
        [node("a", cpu=2), pod("low", cpu=2, node="a"), high],
        *([] if is_in_state else events),
        leaves("high"),
        leaves("low", preempted=not is_in_state),
        {"pod": pod("q", cpu=2)},
        bind("q", "a"),
    )
    assert (answer.differ, answer.unexplained) == ((), ())


@pytest.mark.parametrize(
    ("minor", "reason"),
    [
        ("1.37", EQUAL_VICTIMS.format("a")),
        ("1.38", STARTS.format("a", "default/low-1, default/low-2")),
    ],
)
def test_which_of_equally_important_pods_goes_is_not_judged_without_their_order(
    minor: str, reason: str, folder: Path
) -> None:
    """ksched evicts that of the two which it has last, or from 1.38 on the one with the greater
    UID; of the other nothing can be said."""
    reasons = []
    for victim in ("low-1", "low-2"):
        eviction = {
            "namespace": "default", "name": victim, "uid": f"default/{victim}", "node": "a",
            "evictedFor": "default/high",
        }  # fmt: skip
        answer = recorded(
            folder,
            [
                node("a", cpu=2),
                *(pod(name, cpu=1, node="a") for name in ("low-1", "low-2")),
                pod("high", cpu=1, priority=9),
            ],
            leaves(victim, gracePeriod=30, preempted=True),
            {"decision": eviction},
            leaves(victim, preempted=True),
            bind("high", "a"),
            minor=minor,
        )
        assert answer.differ == ()
        reasons += [each.reason for each in answer.unexplained]
    assert reasons == [reason]


@pytest.mark.parametrize("has_just_started", [True, False])
def test_whether_a_start_was_noticed_is_unknown_where_a_victim_had_just_started(
    has_just_started: bool, folder: Path
) -> None:
    """By what is recorded, low-2 started last; low-1 leaves. Without a start, it is the younger."""
    starts = {"low-1": "2026-01-01T00:00:58Z", "low-2": "2026-01-01T00:00:59Z"}
    answer = recorded(
        folder,
        [
            node("a", cpu=2),
            *(pod(name, cpu=1, node="a", status={"startTime": at}) for name, at in starts.items()),
            pod("high", cpu=1, priority=9),
        ],
        {"at": 59.5 if has_just_started else 62, **leaves("low-1", gracePeriod=30, preempted=True)},
        for_high("low-1"),
        leaves("low-1", preempted=True),
        bind("high", "a"),
        minor="1.37",
    )
    assert len(answer.differ) == (not has_just_started)
    assert [each.reason for each in answer.unexplained] == (
        [JUST_STARTED.format("a", "default/low-1")] if has_just_started else []
    )


def test_a_pod_may_evict_others_on_its_node_once_more(folder: Path) -> None:
    """What it evicted first, its message counts."""
    message = "preemption: found a potential placement for pod on node a, preempting 1 victims"
    about = {"namespace": "default", "name": "high", "nominatedNode": "a", "message": message}
    answer = recorded(
        folder,
        [
            node("a", cpu=2),
            *(pod(name, cpu=1, node="a") for name in ("low-1", "low-2")),
            pod("high", cpu=1, priority=9),
        ],
        {"decision": about},
        leaves("low-2", preempted=True),
        for_high("low-2"),
        leaves("low-1", preempted=True),
        for_high("low-1"),
        bind("high", "a"),
        minor="1.37",
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 1, "nominated": 1}


def test_room_that_is_made_for_two_pods_at_once_is_in_no_certain_order(folder: Path) -> None:
    """`b` takes the node that ksched would clear for it later, once `a` has had another."""
    nodes = [node(name, cpu=cpu) for name, cpu in (("m", 2), ("n", 2))]
    low = [
        pod("on-m", cpu=2, node="m", priority=1),
        pod("on-n", cpu=2, node="n", priority=2),
    ]
    high = [pod(name, cpu=2, priority=9) for name in "ab"]
    events = []
    for name, victim, on in (("b", "on-n", "n"), ("a", "on-m", "m")):
        uid = f"default/{victim}"
        about = {"namespace": "default", "name": victim, "uid": uid, "node": on}
        events.append({"at": 10, **leaves(victim, gracePeriod=30, preempted=True)})
        events.append({"at": 10, "decision": {**about, "evictedFor": f"default/{name}"}})
    gone = {"at": 11, **leaves("on-n", preempted=True)}
    answer = recorded(folder, [*nodes, *low, *high], *events, gone)
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 1, "reordered": 1}


def test_pods_of_a_node_that_is_gone_count_once_it_is_back(folder: Path) -> None:
    """`big` fills a until it leaves."""
    gone = {"delete": {"kind": "Node", "name": "a"}}
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=2), pod("big", cpu=8, node="a")],
        gone,
        {"put": node("a", cpu=8)},
        {"pod": pod("p", cpu=1)},
        bind("p", "b"),
        gone,
        leaves("big"),
        {"put": node("a", cpu=8)},
        {"pod": pod("q", cpu=1)},
        bind("q", "a"),
    )
    assert (answer.differ, answer.unexplained, agreeing(answer)) == ((), (), {"best": 2})


def test_a_victim_that_was_never_bound_was_decided_on_before(folder: Path) -> None:
    """`low` is deleted while its binding is under way; a is full with it, and with `high`."""
    high = pod("high", cpu=2, priority=9)
    answer = recorded(
        folder,
        [node("a", cpu=2)],
        {"at": 1, "pod": pod("low", cpu=2)},
        {"at": 2, "pod": high},
        {"at": 2.1, **makes_room("high")},
        {"at": 2.2, **leaves("low", gracePeriod=30, preempted=True)},
        {"at": 2.3, **leaves("low", preempted=True)},
        {"at": 2.3, **for_high("low")},
        {"at": 2.4, **bind("high", "a")},
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"best": 1, "preempts": 1, "nominated": 1}


@pytest.mark.parametrize("knows", [True, False])
def test_a_change_that_pods_before_had_noticed_excuses_nothing(knows: bool, folder: Path) -> None:
    """Until it is cordoned, a is best. `q`, which came before `p`, goes to b for that reason."""
    q = pod("q", cpu=1)
    if not knows:
        q["spec"]["nodeSelector"] = {"small": ""}
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=4, labels={"small": ""})],
        {"at": 100, "put": node("a", cpu=8, unschedulable=True)},
        {"at": 101, "pod": q},
        {"at": 101.1, **bind("q", "b")},
        {"at": 102, "pod": pod("p", cpu=1)},
        {"at": 102.1, **bind("p", "a")},
    )
    assert [each.pod for each in answer.differ] == (["default/p"] if knows else [])


@pytest.mark.parametrize("comes", [False, True])
@pytest.mark.parametrize("seconds", [0, 0.5])
def test_what_left_before_a_pod_came_was_noticed(seconds: float, comes: bool, folder: Path) -> None:
    """A node that came before may not have been: nodes are noticed apart from pods."""
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=2), pod("big", cpu=8, node="a")],
        *([{"at": 99, "put": node("c", cpu=16)}] if comes else []),
        {"at": 100, **leaves("big")},
        {"at": 100 + seconds, "pod": pod("p", cpu=1)},
        {"at": 101, **bind("p", "b")},
    )
    assert [each.pod for each in answer.differ] == ["default/p"] * (seconds > 0)


def test_an_order_has_to_explain_the_other_pods_too(folder: Path) -> None:
    """`high` may have been first. With it on b, `low` would not have gone there, but to a."""
    answer = recorded(
        folder,
        [
            node("a", cpu=8),
            node("b", cpu=8),
            pod("x", cpu="500m", node="a"),
            pod("z", cpu="100m", node="b"),
        ],
        {"at": 100, "pod": pod("low", cpu=2)},
        {"at": 100.1, "pod": pod("high", cpu=1, priority=9)},
        {"at": 100.2, **bind("low", "b")},
        {"at": 100.3, **bind("high", "b")},
    )
    assert [each.pod for each in answer.differ] == ["default/high"]


def test_pods_that_were_refused_are_judged_in_the_end(folder: Path) -> None:
    message = "0/1 nodes are available: 1 Insufficient cpu. no new claims to deallocate, "
    decision = {"namespace": "default", "name": "p", "message": message}
    answer = recorded(folder, [node("a", cpu=1)], {"pod": pod("p", cpu=2)}, {"decision": decision})
    assert len(answer.differ) == 1
    assert answer.differ[0].because.startswith(f'the message is "{message}", not "0/1 nodes')


def test_a_changed_pod_counts_as_it_is(folder: Path) -> None:
    """`q` avoids pods of app x: `p` becomes one."""
    term = {"labelSelector": {"matchLabels": {"app": "x"}}, "topologyKey": "kubernetes.io/hostname"}
    affinity = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
    host = {name: {"kubernetes.io/hostname": name} for name in "ab"}
    answer = recorded(
        folder,
        [
            node("a", cpu=8, labels=host["a"]),
            node("b", cpu=2, labels=host["b"]),
            pod("p", cpu=1, node="a"),
        ],
        {"put": pod("p", cpu=1, labels={"app": "x"})},
        {"pod": pod("q", cpu=1, affinity=affinity)},
        bind("q", "b"),
    )
    assert (answer.differ, agreeing(answer)) == ((), {"best": 1})


def logged(name: str, on: str) -> list[LogLine]:
    """An attempt that ends with a binding."""
    key = f"default/{name}"
    return [LogLine(LogEvent.ATTEMPT, key), LogLine(LogEvent.BINDING, key, on)]


@pytest.mark.parametrize("has_log", [False, True])
def test_the_log_has_the_order_of_bindings_that_follow_each_other(
    has_log: bool, folder: Path
) -> None:
    """`p` was decided on first, and bound after `q`."""
    log = [*logged("p", "a"), *logged("q", "b")]
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=2)],
        {"at": 1, "pod": pod("p", cpu=2)},
        {"at": 1, "pod": pod("q", cpu=1)},
        {"at": 2, **bind("q", "b")},
        {"at": 2, **bind("p", "a")},
        log=log if has_log else (),
    )
    how = {"best": 2} if has_log else {"best": 1, "reordered": 1}
    assert (answer.differ, agreeing(answer)) == ((), how)


@pytest.mark.parametrize("has_log", [False, True])
def test_the_log_has_the_order_of_bindings_with_something_in_between(
    has_log: bool, folder: Path
) -> None:
    """`p` was decided on first, and so before the namespace came, after which it was bound."""
    log = [*logged("p", "a"), *logged("q", "b")]
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=2)],
        {"at": 1, "pod": pod("p", cpu=2)},
        {"at": 1, "pod": pod("q", cpu=1)},
        {"at": 2, **bind("q", "b")},
        {"at": 2, "put": namespace},
        {"at": 2, **bind("p", "a")},
        log=log if has_log else (),
    )
    how = "best" if has_log else "reordered"
    assert (answer.differ, agreeing(answer).get(how)) == ((), 2 if has_log else 1)


def test_a_log_with_other_attempts_does_not_tell_the_order(folder: Path) -> None:
    """It is of another day: `p` is bound twice in it."""
    log = [*logged("p", "a"), *logged("q", "b"), *logged("p", "a")]
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=2)],
        {"pod": pod("p", cpu=2)},
        bind("p", "a"),
        {"pod": pod("q", cpu=1)},
        bind("q", "b"),
        log=log,
    )
    assert (answer.differ, agreeing(answer)) == ((), {"best": 2})


def test_a_refusal_with_a_nomination_is_no_sign_of_the_binding(folder: Path) -> None:
    """Nothing else tells that `low` is evicted for `high`, which is bound once `low` has left."""
    message = "0/1 nodes are available: 1 Insufficient cpu."
    about = {"namespace": "default", "name": "high", "nominatedNode": "a", "message": message}
    answer = recorded(
        folder,
        [node("a", cpu=2), pod("low", cpu=2, node="a"), pod("high", cpu=2, priority=9)],
        {"at": 10, "decision": about},
        {"at": 20, **leaves("low")},
        {"at": 30, **bind("high", "a")},
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 1, "nominated": 1}


def test_a_pod_that_came_after_a_binding_does_not_explain_it(folder: Path) -> None:
    """Had `q` been on a, `p` would have gone to b."""
    answer = recorded(
        folder,
        [node("a", cpu=8), node("b", cpu=7)],
        {"at": 1, "pod": pod("p", cpu=2)},
        {"at": 2, **bind("p", "b")},
        {"at": 3, "pod": pod("q", cpu=2)},
        {"at": 4, **bind("q", "a")},
    )
    assert [each.pod for each in answer.differ] == ["default/p"]


@pytest.mark.parametrize("failed", ["", "in the state", "in the recording"])
@pytest.mark.parametrize("is_nominated", [False, True])
def test_a_nomination_without_evictions_tells_when_a_binding_was_decided_on(
    is_nominated: bool, failed: str, folder: Path
) -> None:
    """`p` is bound long after `q`, which goes to the room that `p` leaves. The message of an
    attempt before stays in its status meanwhile."""
    message = "none fits" if failed else ""
    p = pod("p", cpu=3)
    p["status"]["conditions"] = [
        {"type": "PodScheduled", "status": "False", "message": message},
        {"type": "Ready", "status": "False", "message": "it waits"},
    ]
    failure = {"namespace": "default", "name": "p", "message": message}
    is_there = failed == "in the state"
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=3), *[p][:is_there]],
        *([] if is_there else [{"pod": pod("p", cpu=3)}]),
        *([{"decision": failure}] if failed == "in the recording" else []),
        *([{"decision": {**failure, "nominatedNode": "a"}}] if is_nominated else []),
        {"pod": pod("q", cpu=2)},
        bind("q", "b"),
        bind("p", "a"),
    )
    assert (len(answer.differ), agreeing(answer)["best"]) == ((0, 2) if is_nominated else (1, 1))


def test_a_binding_that_fails_is_no_eviction(folder: Path) -> None:
    """`p` is nominated to a while it is bound there, which is tried in vain: a is cordoned."""
    nominated = {"namespace": "default", "name": "p", "nominatedNode": "a", "message": ""}
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=3)],
        {"pod": pod("p", cpu=3)},
        {"decision": nominated},
        {"put": node("a", cpu=4, unschedulable=True)},
        bind("p", "b"),
    )
    assert (answer.differ, agreeing(answer)) == ((), {"best": 1})


def test_pods_that_come_with_their_node_and_evictions_for_pods_that_are_gone_are_no_decisions(
    folder: Path,
) -> None:
    answer = recorded(
        folder,
        [node("a", cpu=4), node("b", cpu=8), pod("low", cpu=1, node="a")],
        {"pod": pod("static", cpu=3, node="a")},
        {"decision": {**for_high()["decision"], "evictedFor": "default/gone"}},
        leaves("low", preempted=True),
    )
    assert (answer.decisions, answer.unexplained) == (0, ())


def test_a_pod_may_evict_others_on_its_node_again_once_its_nomination_was_taken_back(
    folder: Path,
) -> None:
    """`high` takes the room of `low-1`, which leaves for `mid`; `mid` evicts `low-2`, too, then."""
    answer = recorded(
        folder,
        [
            node("a", cpu=2),
            *(pod(f"low-{priority}", cpu=1, node="a", priority=priority) for priority in (1, 2)),
            pod("mid", cpu=1, priority=5),
            pod("high", cpu=1, priority=9),
        ],
        makes_room("mid"),
        leaves("low-1", gracePeriod=30, preempted=True),
        for_mid("low-1"),
        makes_room("high"),
        makes_room("mid", nominated=""),
        makes_room("mid", victims=2),
        leaves("low-2", gracePeriod=30, preempted=True),
        for_mid("low-2"),
        leaves("low-1", preempted=True),
        leaves("low-2", preempted=True),
        bind("high", "a"),
        bind("mid", "a"),
        minor="1.37",
    )
    assert (answer.differ, answer.unexplained) == ((), ())
    assert agreeing(answer) == {"preempts": 3, "nominated": 2}


def images(*sizes: int) -> list[Any]:
    nodes = [node(name, cpu=cpu) for name, cpu in zip("ab", (8, 6), strict=True)]
    for manifest, size in zip(nodes, sizes, strict=True):
        image = {"names": ["web:1"], "sizeBytes": size * 2**20}
        manifest["status"]["images"] = [image] if size else []
    return nodes


@pytest.mark.parametrize("churns", [False, True])
def test_images_counted_before_nodes_came_may_decide(churns: bool, folder: Path) -> None:
    """The image is on b. One of two nodes has it; kube-scheduler may still count one of one."""
    nodes = images(0, 100)
    joins = [{"put": nodes[0]}] if churns else []
    answer = recorded(
        folder, nodes[1:] if churns else nodes, *joins, {"pod": of_web("p")}, bind("p", "b")
    )
    reasons = [IMAGE_COUNTS.format("web:1")] if churns else []
    assert [each.reason for each in answer.unexplained] == reasons
    assert len(answer.differ) == (not churns)


def of_web(name: str) -> Any:
    manifest = pod(name, cpu=1)
    manifest["spec"]["containers"][0]["image"] = "web:1"
    return manifest


def of_size(size: int) -> list[Any]:
    """Nodes of which b and c have the image, c with this size in MiB."""
    third = node("c", cpu=1)
    third["status"]["images"] = [{"names": ["web:1"], "sizeBytes": size * 2**20}]
    return [*images(0, 30), third]


@pytest.mark.parametrize("size", [30, 900])
def test_a_size_that_a_node_reports_of_an_image_may_decide(size: int, folder: Path) -> None:
    """`o` has another image, and agrees with each size."""
    events = [{"pod": pod("o", cpu="10m")}, bind("o", "a"), {"pod": of_web("p")}, bind("p", "b")]
    answer = recorded(folder, of_size(size), *events)
    assert (len(answer.differ), answer.unexplained) == ((size == 30), ())


def test_one_size_of_an_image_decides_all(folder: Path) -> None:
    """p is on b because the image is large, q on a because it is small."""
    bindings = bind("p", "b"), bind("q", "a")
    pods = {"pod": of_web("p")}, {"pod": of_web("q")}
    answer = recorded(folder, of_size(900), *pods, *bindings)
    assert [each.reason for each in answer.unexplained] == [IMAGE_SIZES.format("web:1")]
    assert (answer.decisions, answer.agree) == (1, 1)


def spread(name: str) -> Any:
    """A pod of app x, of which there may be one more in a zone than in another."""
    manifest = pod(name, cpu=1, labels={"app": "x"})
    manifest["spec"]["topologySpreadConstraints"] = [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "x"}},
        }
    ]
    return manifest


ZONES = [
    node("a1", cpu=16, labels={"zone": "a"}),
    node("a2", cpu=4, labels={"zone": "a", "small": "a"}),
    node("b1", cpu=8, labels={"zone": "b"}),
    node("b2", cpu=4, labels={"zone": "b", "small": "b"}),
]


def small(name: str, zone: str, app: str = "x") -> Any:
    """A pod that fits on one of the small nodes alone."""
    return pod(name, cpu=1, labels={"app": app}, node_selector={"small": zone})


@pytest.mark.parametrize(
    ("app", "came", "overtakes"),
    [("x", "rpq", True), ("other", "rpq", False), ("x", "rqp", False)],
)
def test_a_binding_may_have_overtaken_one_that_is_counted_elsewhere(
    app: str, came: str, overtakes: bool, folder: Path
) -> None:
    """q may not go to a1, which is better, once p of its app is in that zone, on another node. It
    is not before p in the queue if it came later. r makes no difference."""
    manifests = {"p": small("p", "a", app), "q": spread("q"), "r": small("r", "a", "other")}
    places = {"q": "b1", "r": "a2", "p": "a2"}
    bindings = [
        {**bind(name, on), "at": 400 + number / 100}
        for number, (name, on) in enumerate(places.items())
    ]
    answer = recorded(folder, ZONES, *({"pod": manifests[name]} for name in came), *bindings)
    assert [each.pod for each in answer.differ] == ([] if overtakes else ["default/q"])
    assert answer.summary.reordered == overtakes


@pytest.mark.parametrize("came", ["qef", "efq"])
def test_a_binding_may_have_been_decided_on_before_the_last_but_one(
    came: str, folder: Path
) -> None:
    """q may not go to a1 once f is in that zone, unless e is in the other one, which is not ahead
    of q where q came first."""
    manifests = {"q": spread("q"), "e": small("e", "b"), "f": small("f", "a")}
    early = [each for name in "st" for each in ({"pod": small(name, "a", "s")}, bind(name, "a2"))]
    places = {"e": "b2", "f": "a2", "q": "b1"}
    bindings = [
        {**bind(name, on), "at": 900 + number / 100}
        for number, (name, on) in enumerate(places.items())
    ]
    pods = [{"pod": manifests[name]} for name in came]
    answer = recorded(folder, ZONES, *early, *pods, *bindings)
    is_reordered = came == "qef"
    assert [each.pod for each in answer.differ] == ([] if is_reordered else ["default/q"])
    assert answer.summary.reordered == is_reordered


def test_what_a_recorder_has_missed_is_not_judged(folder: Path) -> None:
    gap = {"seconds": 9, "kind": "Pod", "relisted": True}
    answer = recorded(folder, [node("a")], {"gap": gap})
    assert [(each.pod, each.reason) for each in answer.unexplained] == [("Pod", RELISTED)]
