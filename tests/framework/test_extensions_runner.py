"""AddPod and RemovePod of the plugins whose Filter runs."""

import pytest

from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.framework.caller import PluginCaller
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PreFilterExtensions
from ksched_cli.framework.nodes import NodeInfo
from ksched_cli.framework.runners import ExtensionsRunner
from ksched_cli.framework.status import SUCCESS, Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import NO_HANDLE, Toy

RUN = simulation(cluster(node("n"), pod("p"), pod("other")))
POD, OTHER = find(RUN, "p"), find(RUN, "other")
NODE = NodeInfo(RUN.snapshot, 0)


def extension(
    name: str, log: list[str], status: Status = SUCCESS, *, is_concerned: bool = True
) -> PreFilterExtensions:
    class Extension(Toy, PreFilterExtensions):
        def add_pod(
            self, state: CycleState, pod: PodInfo, added: PodInfo, node: NodeInfo
        ) -> Status:
            log.append(f"{name} +{added.name}")
            return status

        def remove_pod(
            self, state: CycleState, pod: PodInfo, removed: PodInfo, node: NodeInfo
        ) -> Status:
            log.append(f"{name} -{removed.name}")
            return status

        def concerns(self, state: CycleState, pod: PodInfo, other: PodInfo) -> bool:
            return is_concerned

    Extension.name = name
    return Extension(None, NO_HANDLE)


def runner(*extensions: PreFilterExtensions) -> ExtensionsRunner:
    return ExtensionsRunner(extensions, PluginCaller())


def skipping(*names: str) -> CycleState:
    state = CycleState()
    state.skip_filter = set(names)
    return state


def test_all_are_called_in_order_but_those_whose_filter_is_skipped() -> None:
    log: list[str] = []
    extensions = runner(*(extension(name, log) for name in "ABC"))
    state = skipping("B")
    assert extensions.run_add_pod(state, POD, OTHER, NODE).is_success
    assert extensions.run_remove_pod(state, POD, OTHER, NODE).is_success
    assert log == ["A +other", "C +other", "A -other", "C -other"]


def test_the_first_that_fails_ends_it_with_upstreams_message() -> None:
    log: list[str] = []
    failing = extension("B", log, Status.unschedulable("no"))
    extensions = runner(extension("A", log), failing, extension("C", log))
    added = extensions.run_add_pod(CycleState(), POD, OTHER, NODE)
    assert added == Status.error('running AddPod on PreFilter plugin "B": no')
    removed = extensions.run_remove_pod(CycleState(), POD, OTHER, NODE)
    assert removed == Status.error('running RemovePod on PreFilter plugin "B": no')
    assert log == ["A +other", "B +other", "A -other", "B -other"]


@pytest.mark.parametrize(
    ("skipped", "has_any", "is_concerned"),
    [((), True, True), (("Concerned",), True, False), (("Concerned", "Calm"), False, False)],
)
def test_pods_concern_it_where_they_concern_a_plugin_that_takes_part(
    skipped: tuple[str, ...], has_any: bool, is_concerned: bool
) -> None:
    extensions = runner(extension("Concerned", []), extension("Calm", [], is_concerned=False))
    state = skipping(*skipped)
    assert extensions.has_extensions(state) == has_any
    assert extensions.concerns(state, POD, OTHER) == is_concerned
