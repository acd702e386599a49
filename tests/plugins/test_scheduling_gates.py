"""SchedulingGates: pods with gates stay out of the queue."""

from ksched_cli.framework.cluster_events import Action
from ksched_cli.framework.status import Code
from ksched_cli.plugins.scheduling_gates import SchedulingGates
from ksched_cli.testing import cluster, node, pod, simulate, simulation
from tests.narrowing import plugin_of
from tests.plugins.event_objects import pod_info


def test_gates_hold_a_pod_back_and_all_of_them_are_the_reason() -> None:
    run = simulate(cluster(node("a"), pod("held", gates=["example.com/b", "example.com/a"])))
    status = run.gated["default/held"]
    assert status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE
    assert status.plugin == "SchedulingGates"
    assert status.message == "waiting for scheduling gates: [example.com/b example.com/a]"
    assert run.attempts == ()
    assert run.pending == ()


def test_an_empty_list_of_gates_holds_nothing_back() -> None:
    run = simulate(cluster(node("a"), pod("free", spec={"schedulingGates": []})))
    assert run.placements == {"default/free": "a"}


def test_a_profile_may_do_without() -> None:
    config = {
        "profiles": [{"plugins": {"preEnqueue": {"disabled": [{"name": "SchedulingGates"}]}}}]
    }
    run = simulate(cluster(node("a"), pod("held", gates=["example.com/a"])), config)
    assert run.placements == {"default/held": "a"}


def test_a_pod_is_tried_when_its_own_last_gate_is_gone() -> None:
    plugin = plugin_of(simulation(cluster(node("n"))), SchedulingGates)
    ((event, hint),) = plugin.events_to_register()
    assert event.action is Action.UPDATE_POD_SCHEDULING_GATES_ELIMINATED
    assert hint is not None
    assert hint(pod_info(), pod_info(), pod_info())
    assert not hint(pod_info(), pod_info("other"), pod_info("other"))
