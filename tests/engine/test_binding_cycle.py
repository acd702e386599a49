"""From the node chosen to the pod bound, and back where somebody objects."""

from typing import Any

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.engine.records import Attempt, RunRecord
from ksched_cli.engine.simulation import Simulation
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import (
    BindPlugin,
    PermitPlugin,
    PostBindPlugin,
    PreBindPlugin,
    ReservePlugin,
)
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.status import SKIP, SUCCESS, PluginError, Status
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.framework.toys import Toy
from tests.narrowing import present


def plugin(name: str, events: list[Any], **answers: Any) -> type[Toy]:
    """answers: method → what it answers, success otherwise."""

    def answer(method: str, default: Any = SUCCESS) -> Any:
        events.append(f"{name}.{method}")
        result = answers.get(method, default)
        if isinstance(result, Exception):
            raise result
        return result

    class Life(Toy, ReservePlugin, PermitPlugin, PreBindPlugin, BindPlugin, PostBindPlugin):
        def reserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return answer("reserve")

        def unreserve(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            answer("unreserve", None)

        def permit(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> tuple[Status, float]:
            return answer("permit", (SUCCESS, 0))

        def pre_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return answer("pre_bind")

        def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
            return answer("bind", SKIP)

        def post_bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> None:
            answer("post_bind", None)

    Life.name = name
    return Life


def once(*plugins: type[Toy]) -> tuple[Simulation, RunRecord, Attempt]:
    run = simulation(cluster(node("n"), pod("p")), plugins=plugins)
    record = run.run()
    return run, record, record.last["default/p"]


def test_a_pod_goes_through_all_points_in_order() -> None:
    events: list[Any] = []
    _, record, _ = once(plugin("A", events), plugin("B", events))
    assert record.placements == {"default/p": "n"}
    points = ("reserve", "permit", "pre_bind", "bind", "post_bind")
    # DefaultBinder stands before them and binds.
    assert events == [f"{name}.{point}" for point in points if point != "bind" for name in "AB"]


@pytest.mark.parametrize(
    ("point", "answer", "field"),
    [
        ("reserve", Status.unschedulable("no"), "reserve"),
        ("permit", (Status.unschedulable("no"), 0), "permit"),
        ("pre_bind", Status.unschedulable("no"), "bind"),
    ],
)
def test_a_refusal_takes_the_pod_off_its_node_in_reverse_order(
    point: str, answer: Status | tuple[Status, int], field: str
) -> None:
    events: list[Any] = []
    run, record, last = once(plugin("A", events), plugin("B", events, **{point: answer}))
    assert getattr(last, field) == Status.unschedulable("no").by("B")
    assert last.node == ""
    assert record.pending == ("default/p",)
    assert run.snapshot.pod_count.tolist() == [0]
    assert events[-2:] == ["B.unreserve", "A.unreserve"]


@pytest.mark.parametrize(
    ("point", "message"),
    [
        ("reserve", 'running Reserve plugin "A": broken'),
        ("permit", 'running Permit plugin "A": broken'),
        ("pre_bind", 'running PreBind plugin "A": broken'),
    ],
)
def test_a_failure_says_at_which_point(point: str, message: str) -> None:
    run, _, last = once(plugin("A", [], **{point: PluginError("broken")}))
    assert message in (
        last.error,
        *(s.message for s in (last.reserve, last.permit, last.bind) if s),
    )
    assert run.snapshot.pod_count.tolist() == [0]


def binders(*answers: Status) -> tuple[RunRecord, list[str]]:
    """A configuration in which these bind, one after the other, and no others."""
    calls = []
    plugins = []
    for i, answer in enumerate(answers):

        class Binder(Toy, BindPlugin):
            name = f"Binder{i}"
            status = answer

            def bind(self, state: CycleState, pod: PodInfo, node: NodeInfo) -> Status:
                calls.append(self.name)
                return self.status

        plugins.append(Binder)
    enabled = [{"name": plugin_class.name} for plugin_class in plugins]
    bind = {"enabled": enabled, "disabled": [{"name": "*"}]}
    record = simulate(
        cluster(node("n"), pod("p")), {"profiles": [{"plugins": {"bind": bind}}]}, plugins
    )
    return record, calls


def test_a_bind_plugin_that_skips_leaves_it_to_the_next() -> None:
    record, calls = binders(SKIP, SUCCESS, SUCCESS)
    assert record.placements == {"default/p": "n"}
    assert calls == ["Binder0", "Binder1"]


def test_a_pod_that_nobody_binds_is_not_placed() -> None:
    record, _ = binders(SKIP, SKIP)
    assert record.placements == {}
    assert present(record.last["default/p"].bind).message == "no Bind plugin binds the pod"


def test_a_bind_plugin_may_refuse() -> None:
    record, calls = binders(Status.unschedulable("no"), SUCCESS)
    assert record.last["default/p"].bind == Status.unschedulable("no").by("Binder0")
    assert calls == ["Binder0"]


def test_what_unreserve_and_postbind_do_wrong_changes_nothing() -> None:
    run, record, _ = once(plugin("A", [], post_bind=ValueError("odd")))
    assert record.placements == {"default/p": "n"}
    assert [defect.point for defect in run.caller.defects.values()] == ["postBind"]
    refused = Status.unschedulable("no")
    run, record, _ = once(plugin("A", [], unreserve=ValueError("odd"), pre_bind=refused))
    assert record.placements == {}
    assert run.snapshot.pod_count.tolist() == [0]
    assert [defect.point for defect in run.caller.defects.values()] == ["unreserve"]
