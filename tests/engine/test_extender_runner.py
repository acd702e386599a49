"""The extenders' part in a run: who is asked, and what becomes of the answers."""

from typing import Any

import pytest

from ksched_cli.analysis.explain import explain
from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Mode
from ksched_cli.framework.status import Code as StatusCode
from ksched_cli.testing import cluster, find, node, pod
from tests.extenders.entries import filtering, keeping, ranking, scoring
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import Code, Server, everything
from tests.narrowing import present

NODES = (node("a"), node("b"), node("c"))

# -- filter ---------------------------------------------------------------------------------------


def test_each_filter_is_asked_about_what_the_one_before_left(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/1/filter": keeping("a", "b"), "/2/filter": keeping("b", "c")})
    state = cluster(*NODES, pod("p"))
    run, _ = extended(state, filtering(server, "/1"), filtering(server, "/2"))
    assert run.run().placements == {"default/p": "b"}
    assert [request.data["NodeNames"] for request in server.calls] == [["a", "b", "c"], ["a", "b"]]


def test_the_ignorable_ones_are_asked_last(serve: Serve, extended: Extended) -> None:
    server = serve({"/1/filter": everything, "/2/filter": everything, "/3/filter": everything})
    run, _ = extended(
        cluster(*NODES, pod("p")),
        filtering(server, "/1", ignorable=True),
        filtering(server, "/2"),
        filtering(server, "/3", ignorable=True),
    )
    run.run()
    assert [request.path[:2] for request in server.calls] == ["/2", "/1", "/3"]


def test_nobody_is_asked_once_no_node_is_left(serve: Serve, extended: Extended) -> None:
    server = serve({"/1/filter": keeping(), "/2/filter": everything})
    state = cluster(*NODES, pod("p"))
    run, _ = extended(state, filtering(server, "/1"), filtering(server, "/2"))
    run.run()
    assert [request.path for request in server.calls] == ["/1/filter"]


def test_reasons_are_counted_and_what_is_final_goes_before_what_is_not(
    serve: Serve, extended: Extended
) -> None:
    failed, final = {"a": "no licence", "b": "no licence"}, {"b": "never", "x": "never"}
    server = serve({"/filter": keeping(failed=failed, final=final)})
    run, _ = extended(cluster(*NODES, pod("p")), filtering(server))
    attempt = run.run().last["default/p"]
    assert attempt.message.startswith("0/3 nodes are available: 1 no licence, 2 never.")
    codes = {name: status.code for name, status in attempt.detail.filter.items()}
    assert codes == {
        "a": StatusCode.UNSCHEDULABLE,
        "b": StatusCode.UNSCHEDULABLE_AND_UNRESOLVABLE,
        "x": StatusCode.UNSCHEDULABLE_AND_UNRESOLVABLE,
    }
    assert attempt.evaluated == 3
    assert all(status.plugin == "" for status in attempt.detail.filter.values())


def test_an_answer_without_nodes_leaves_none(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": {}})
    run, _ = extended(cluster(*NODES, pod("p")), filtering(server))
    assert run.run().last["default/p"].message.startswith("0/3 nodes are available:")


def test_only_pods_that_ask_for_a_managed_resource_are_told_of(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": keeping("b")})
    plain, asking = pod("plain"), pod("asking", requests={"example.com/foo": 1})
    managed = [{"name": "example.com/foo", "ignoredByScheduler": True}]
    run, _ = extended(cluster(*NODES, plain, asking), filtering(server, managedResources=managed))
    assert run.run().placements == {"default/plain": "a", "default/asking": "b"}
    assert [request.data["Pod"]["metadata"]["name"] for request in server.calls] == ["asking"]


def test_a_resource_that_the_scheduler_does_not_ignore_must_be_on_the_node(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    managed = [{"name": "example.com/foo"}]
    asking = pod("p", requests={"example.com/foo": 1})
    run, _ = extended(cluster(*NODES, asking), filtering(server, managedResources=managed))
    assert "Insufficient example.com/foo" in run.run().last["default/p"].message


def test_the_nominated_node_is_asked_about_first_and_alone(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": keeping("a", "c")})
    nominated = pod("p", status={"nominatedNodeName": "b"})
    run, _ = extended(cluster(*NODES, nominated), filtering(server))
    assert run.run().placements == {"default/p": "a"}
    assert [request.data["NodeNames"] for request in server.calls] == [["b"], ["a", "b", "c"]]


def test_all_fitting_nodes_are_looked_at_for_a_filter_even_where_nobody_scores(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    fields = {
        "profiles": [
            {
                "plugins": {
                    "multiPoint": {
                        "disabled": [{"name": "*"}],
                        "enabled": [
                            {"name": "PrioritySort"},
                            {"name": "DefaultBinder"},
                            {"name": "NodeName"},
                        ],
                    }
                }
            }
        ]
    }
    state = cluster(*NODES, pod("p"))
    run, _ = extended(state, filtering(server), fields=fields)
    attempt = run.run().last["default/p"]
    assert server.calls[0].data["NodeNames"] == ["a", "b", "c"]
    assert (attempt.detail.totals, attempt.ties) == ({"a": 0, "b": 0, "c": 0}, ("a", "b", "c"))
    run, _ = extended(state, fields=fields)
    assert run.run().last["default/p"].detail.feasible == ("a",)


def test_nodes_that_were_sent_back_are_scored_as_if_they_were_empty(
    serve: Serve, extended: Extended
) -> None:
    """Upstream makes new nodes of the answer, and knows of no pods on those."""
    server = serve({"/filter": everything})
    state = cluster(node("a"), node("b"), pod("there", cpu="3", node="a"), pod("p", cpu="1"))

    def fit(cached: bool) -> dict[str, int]:
        run, _ = extended(state, filtering(server, nodeCacheCapable=cached))
        scores = run.run().last["default/p"].detail.scores
        return {name: by_source["NodeResourcesFit"].raw for name, by_source in scores.items()}

    assert fit(cached=True)["a"] < fit(cached=True)["b"]
    assert fit(cached=False)["a"] == fit(cached=False)["b"] == fit(cached=True)["b"]


def test_scores_are_explained_by_the_nodes_that_were_sent_back(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    state = cluster(node("a"), node("b"), pod("there", cpu="3", node="a"), pod("p", cpu="2"))
    run, _ = extended(state, filtering(server, nodeCacheCapable=False))
    framework = run.frameworks["default-scheduler"]
    evaluation = run.pipeline.evaluate(framework, find(run, "p"), Mode.SAMPLED)
    # The first node of the state is a, the first that was sent back is b.
    (line,) = evaluation.details("NodeResourcesFit", "filter", 0)
    assert line == "cpu: wants 2, 1 free of 4"
    assert "cpu 50% used" in evaluation.details("NodeResourcesFit", "score", 0)


# -- prioritize -----------------------------------------------------------------------------------


def test_scores_count_ten_times_their_weight(serve: Serve, extended: Extended) -> None:
    server = serve({"/prioritize": scoring(b=3, nowhere=10)})
    run, _ = extended(cluster(*NODES, pod("p")), ranking(server, weight=2))
    attempt = run.run().last["default/p"]
    scores = attempt.detail.scores
    assert [name for name in scores if server.url in scores[name]] == ["b"]
    score = scores["b"][server.url]
    assert (score.raw, score.weight, score.weighted) == (3, 2, 60)
    totals = attempt.detail.totals
    assert attempt.node == "b"
    assert totals["b"] == totals["a"] + 60


def test_a_node_that_is_named_twice_counts_twice(serve: Serve, extended: Extended) -> None:
    twice = [{"Host": "c", "Score": 1}, {"Host": "c", "Score": 2}]
    server = serve({"/prioritize": twice})
    run, _ = extended(cluster(*NODES, pod("p")), ranking(server))
    detail = run.run().last["default/p"].detail
    assert detail.totals["c"] == detail.totals["a"] + 30
    score = detail.scores["c"][server.url]
    assert (score.raw, score.normalized, score.weight, score.weighted) == (3, 30, 1, 30)


def test_a_binder_with_the_url_of_a_prioritizer_hides_no_score(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/prioritize": scoring(a=2)})
    run, _ = extended(cluster(*NODES, pod("p")), ranking(server, weight=3), binding(server))
    detail = run.run().last["default/p"].detail
    shown = {name: by_source[server.url] for name, by_source in detail.scores.items()}
    assert {name: score.weighted for name, score in shown.items()} == {"a": 60, "b": 0, "c": 0}
    assert shown["a"].weight == 3


def test_what_is_too_large_starts_anew_at_the_other_end(serve: Serve, extended: Extended) -> None:
    server = serve({"/prioritize": scoring(a=2**63 - 1, b=1)})
    run, _ = extended(cluster(*NODES, pod("p")), ranking(server, weight=1))
    totals = run.run().last["default/p"].detail.totals
    assert totals["a"] == totals["c"] - 10


def test_who_does_not_prioritize_gives_every_node_nothing(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": everything})
    run, _ = extended(cluster(*NODES, pod("p")), filtering(server))
    scores = run.run().last["default/p"].detail.scores
    weighted = {name: by_source[server.url].weighted for name, by_source in scores.items()}
    assert weighted == dict.fromkeys("abc", 0)


def test_nobody_ranks_a_single_node(serve: Serve, extended: Extended) -> None:
    server = serve({"/prioritize": scoring(a=1)})
    run, _ = extended(cluster(node("a"), pod("p")), ranking(server))
    assert run.run().placements == {"default/p": "a"}
    assert server.calls == []


# -- preempt --------------------------------------------------------------------------------------


def crowded(*names: str) -> ClusterState:
    low = [pod(f"{name}{i}", cpu="1", node=name, priority=i) for name in names for i in range(2)]
    nodes = [node(name, cpu="2") for name in names]
    return cluster(*nodes, *low, pod("p", cpu="2", priority=9))


def preempting(server: Server, **fields: Any) -> dict[str, Any]:
    return {
        "urlPrefix": server.url,
        "preemptVerb": "preempt",
        "nodeCacheCapable": True,
        **fields,
    }


def evicting(**victims: Any) -> dict[str, Any]:
    """node → UIDs"""
    victims_by_node = {
        name: {"Pods": [{"UID": uid} for uid in uids]} for name, uids in victims.items()
    }
    return {"NodeNameToMetaVictims": victims_by_node}


def test_candidates_can_be_dropped(serve: Serve, extended: Extended) -> None:
    server = serve({"/preempt": evicting(b=["default/b1", "default/b0"])})
    run, _ = extended(crowded("a", "b"), preempting(server))
    record = run.run()
    assert record.placements == {"default/p": "b"}
    assert [eviction.pod for eviction in record.evicted] == ["default/b1", "default/b0"]
    assert set(present(record.attempts[0].post_filter).candidates) == {"a", "b"}


def test_victims_can_be_changed(serve: Serve, extended: Extended) -> None:
    server = serve({"/preempt": evicting(a=["default/a0"])})
    run, _ = extended(crowded("a"), preempting(server))
    record = run.run()
    assert [eviction.pod for eviction in record.evicted] == ["default/a0"]
    assert present(record.attempts[0].post_filter).victims == ("default/a0",)
    assert record.pending == ("default/p",)


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        (evicting(), "preemption: no candidate node for preemption"),
        (evicting(a=[]), 'preemption: expected at least one victim pod on node "a"'),
        (evicting(x=["default/a0"]), 'preemption: nodeinfo not found for node name "x"'),
        (
            evicting(a=["who"]),
            "claims to preempt pod (UID: &{who}) on node: a, but the pod is not found on that node",
        ),
        (Code(500), "code 500"),
    ],
)
def test_answers_are_checked(
    answer: Code | dict[str, Any],
    message: str,
    serve: Serve,
    extended: Extended,
) -> None:
    server = serve({"/preempt": answer})
    run, _ = extended(crowded("a"), preempting(server))
    record = run.run()
    assert message in present(record.attempts[0].post_filter).status.message
    assert record.evicted == ()


def test_of_an_ignorable_one_a_node_without_victims_is_dropped_and_a_failure_forgotten(
    serve: Serve,
    extended: Extended,
) -> None:
    server = serve({"/preempt": evicting(a=[], b=["default/b0", "default/b1"])})
    run, _ = extended(crowded("a", "b"), preempting(server, ignorable=True))
    assert run.run().placements == {"default/p": "b"}
    server.answers["/preempt"] = evicting(a=["who"])
    run, _ = extended(crowded("a", "b"), preempting(server, ignorable=True))
    assert run.run().placements == {"default/p": "a"}


# -- bind -----------------------------------------------------------------------------------------


def binding(server: Server, **fields: Any) -> dict[str, Any]:
    return {"urlPrefix": server.url, "bindVerb": "bind", **fields}


def test_a_binding_is_shown_and_not_sent(serve: Serve, extended: Extended) -> None:
    server = serve({"/bind": {}})
    run, _ = extended(cluster(*NODES, pod("p")), binding(server))
    record = run.run()
    assert record.placements == {"default/p": "a"}
    assert server.calls == []
    (call,) = record.extender_bindings
    assert (call.url, call.sent) == (f"{server.url}/bind", False)
    assert call.request == {
        "PodName": "p",
        "PodNamespace": "default",
        "PodUID": "default/p",
        "Node": "a",
    }


def test_a_binding_is_sent_where_that_is_asked_for(serve: Serve, extended: Extended) -> None:
    server = serve({"/bind": {"Error": ""}})
    run, _ = extended(cluster(*NODES, pod("p")), binding(server), bind=True)
    (call,) = run.run().extender_bindings
    assert call.sent
    assert [request.data for request in server.calls] == [dict(call.request)]


def test_a_binding_that_fails_leaves_the_pod_pending_or_to_the_plugins(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/bind": {"Error": "not mine"}})
    run, _ = extended(cluster(*NODES, pod("p")), binding(server), bind=True)
    record = run.run()
    assert record.last["default/p"].error == "not mine"
    assert record.pending == ("default/p",)
    run, _ = extended(cluster(*NODES, pod("p")), binding(server, ignorable=True), bind=True)
    assert run.run().placements == {"default/p": "a"}


def test_only_pods_that_the_binder_manages_are_bound_by_it(
    serve: Serve, extended: Extended
) -> None:
    managed = [{"name": "example.com/foo", "ignoredByScheduler": True}]
    asking = pod("asking", requests={"example.com/foo": 1})
    server = serve({})
    state = cluster(*NODES, pod("plain"), asking)
    run, _ = extended(state, binding(server, managedResources=managed))
    assert [call.request["PodName"] for call in run.run().extender_bindings] == ["asking"]


# -- none, and explain ----------------------------------------------------------------------------


def test_extenders_can_be_left_out(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": keeping()})
    run, _ = extended(cluster(*NODES, pod("p")), filtering(server), used=False)
    assert run.run().placements == {"default/p": "a"}
    assert server.calls == []


def test_explain_shows_what_each_said_per_node(serve: Serve, extended: Extended) -> None:
    server = serve(
        {
            "/1/filter": keeping("b", "c", "d", failed={"a": "no licence"}),
            "/2/filter": keeping("c", "d"),
            "/3/prioritize": scoring(d=4),
        }
    )
    state = cluster(*NODES, node("d"), pod("p"))
    run, _ = extended(
        state, filtering(server, "/1"), filtering(server, "/2"), ranking(server, "/3", weight=5)
    )
    answer = explain(run, find(run))
    a, b, c, d = answer.nodes
    assert [(rejection.plugin, rejection.reasons) for rejection in a.rejections] == [
        (f"{server.url}/1", ("no licence",))
    ]
    assert b.rejections[0].plugin == f"{server.url}/2"
    assert b.rejections[0].details == ("left out without a reason",)
    mine = d.scores[f"{server.url}/3"]
    assert (mine.raw, mine.normalized, mine.weight, mine.weighted) == (4, 40, 5, 200)
    assert f"{server.url}/3" not in c.scores
    assert (answer.node, answer.margin) == ("d", 200)


def test_explain_shows_a_failure(serve: Serve, extended: Extended) -> None:
    server = serve({"/filter": {"Error": "no more licences"}})
    run, _ = extended(cluster(*NODES, pod("p")), filtering(server))
    assert explain(run, find(run)).error == "no more licences"
