"""DefaultBinder: a placed pod stays where it is assumed."""

from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.plugins.default_binder import DefaultBinder
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.narrowing import plugin_of


def test_binding_succeeds_and_changes_nothing() -> None:
    run = simulation(cluster(node("a"), pod("p")))
    binder = plugin_of(run, DefaultBinder)
    assert binder.bind(CycleState(), find(run), NodeInfo(run.snapshot, 0)).is_success
    assert run.snapshot.pods == [[]]
