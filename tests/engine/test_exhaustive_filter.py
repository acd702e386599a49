"""Every rejection of every node: by PreFilter, by plugins, for nominated pods, by extenders."""

from typing import Any

from ksched_cli.engine.evaluation import Mode
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.extenders.fixtures import Extended, Serve
from tests.extenders.servers import everything
from tests.framework.toys import filtering, narrowing, profile

NO = Status.unschedulable("no")


def rejections(run: Simulation) -> dict[str, Any]:
    """Node name → who rejects it."""
    framework = run.frameworks["default-scheduler"]
    evaluation = run.pipeline.evaluate(framework, find(run, "p"), Mode.EXHAUSTIVE)
    return {
        name: [rejection.status.plugin for rejection in evaluation.rejections[row]]
        for name, row in run.snapshot.row.items()
    }


def test_plugins_are_asked_about_nodes_that_prefilter_left_out() -> None:
    plugins = [narrowing("N", ["b"]), filtering("F", {"a": NO, "b": NO})]
    state = cluster(node("a"), node("b"), node("c"), pod("p"))
    run = simulation(state, profile(*plugins), plugins)
    assert rejections(run) == {"a": ["N", "F"], "b": ["F"], "c": ["N"]}


def test_a_plugin_that_prefilter_skips_is_not_asked() -> None:
    state = cluster(node("a", taints=["k=v:NoSchedule"]), pod("p"))
    assert rejections(simulation(state)) == {"a": ["TaintToleration"]}


def test_nominated_pods_of_higher_priority_take_room_and_are_named() -> None:
    nominated = pod("rival", cpu="1", priority=9, status={"nominatedNodeName": "a"})
    state = cluster(node("a", cpu="1"), node("b", cpu="1"), nominated, pod("p", cpu="1"))
    run = simulation(state)
    run.queue()
    framework = run.frameworks["default-scheduler"]
    evaluation = run.pipeline.evaluate(framework, find(run, "p"), Mode.EXHAUSTIVE)
    (rejection,) = evaluation.rejections[0]
    assert rejection.status.plugin == "NodeResourcesFit"
    assert rejection.details == ("with the nominated pods counted: default/rival",)
    assert evaluation.feasible.names() == ["b"]


def test_extenders_are_asked_about_the_nodes_that_every_plugin_lets_pass(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": everything})
    config = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
    state = cluster(node("a", cpu="0"), node("b"), node("c"), pod("p", cpu="1"))
    run, _ = extended(state, config)
    assert rejections(run) == {"a": ["NodeResourcesFit"], "b": [], "c": []}
    assert [request.data["NodeNames"] for request in server.calls] == [["b", "c"]]


def test_a_node_that_an_extender_leaves_out_without_a_word_has_no_status(
    serve: Serve, extended: Extended
) -> None:
    server = serve({"/filter": {"NodeNames": ["b"], "FailedNodes": {"c": "full"}}})
    config = {"urlPrefix": server.url, "filterVerb": "filter", "nodeCacheCapable": True}
    run, _ = extended(cluster(node("a"), node("b"), node("c"), pod("p")), config)
    framework = run.frameworks["default-scheduler"]
    evaluation = run.pipeline.evaluate(framework, find(run, "p"), Mode.EXHAUSTIVE)
    assert [rejection.details for rejection in evaluation.rejections[0]] == [
        ("left out without a reason",)
    ]
    assert list(evaluation.statuses.own()) == ["c"]
    assert evaluation.statuses["c"] == Status.unschedulable("full").by(server.url)
