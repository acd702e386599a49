"""What a trial assumes is taken back: pods, reservations, and nominations."""

from typing import Any

import pytest

from ksched_cli.engine.pod_group_cycle import PodTrial, TrialBinding, blank_attempt, refused
from ksched_cli.engine.scheduling_cycle import NO_NODES
from ksched_cli.framework.cycle_state import CycleState
from ksched_cli.framework.interface import PermitPlugin, ReservePlugin
from ksched_cli.framework.status import SUCCESS, Code, Status
from ksched_cli.testing import cluster, node, pod, simulation


class Gate(ReservePlugin, PermitPlugin):
    """Reserves, and permits as a pod's name says."""

    name = "Gate"

    def __init__(self, args: Any, handle: Any) -> None:
        self.calls: list[str] = []

    def reserve(self, state: Any, pod: Any, node: Any) -> Status:
        self.calls.append(f"reserve {pod.name}")
        return SUCCESS

    def unreserve(self, state: Any, pod: Any, node: Any) -> None:
        self.calls.append(f"unreserve {pod.name}")

    def permit(self, state: Any, pod: Any, node: Any) -> tuple[Status, float]:
        if pod.name == "refused":
            return Status.unschedulable("closed"), 0.0
        return (Status(Code.WAIT), 9.0) if pod.name == "waits" else (SUCCESS, 0.0)


# The others want to have been asked before.
OTHERS = [{"name": "VolumeBinding"}, {"name": "DynamicResources"}]
PLUGINS = {"multiPoint": {"enabled": [{"name": "Gate"}]}, "reserve": {"disabled": OTHERS}}
ONLY_GATE = {"profiles": [{"plugins": PLUGINS}]}


def test_pods_are_taken_back_the_last_one_first() -> None:
    names = ("p", "waits", "refused")
    run = simulation(cluster(node("a"), *map(pod, names)), ONLY_GATE, [Gate])
    framework = run.frameworks["default-scheduler"]
    gate = framework.plugin("Gate")
    assert isinstance(gate, Gate)
    binding = TrialBinding(run.snapshot, run.nominator, run.waiting)
    pods = run.pending()
    run.nominator.nominate(pods[0], "a")
    outcomes = [
        binding.assume(framework, CycleState(), info, 0, blank_attempt(info)) for info in pods
    ]
    assert [outcome.row for outcome in outcomes] == [0, 0, None]
    assert outcomes[2].attempt.message == "0/1 nodes are available: 1 closed."
    assert [info.name for info in run.snapshot.pods[0]] == ["p", "waits"]
    assert not run.nominator
    binding.take_back()
    assert gate.calls[-3:] == ["unreserve refused", "unreserve waits", "unreserve p"]
    assert run.snapshot.pods[0] == []
    assert run.nominator.node_of(pods[0]) == "a"
    assert not run.waiting, "a trial holds nobody up"


@pytest.mark.parametrize(
    ("error", "row", "expected"),
    [("broken", None, "broken"), ("broken", 0, ""), (NO_NODES, None, ""), ("", None, "")],
)
def test_an_error_ends_the_trial_of_all_unless_there_are_no_nodes(
    error: str, row: int | None, expected: str
) -> None:
    run = simulation(cluster(pod("p")))
    (info,) = run.pending()
    outcome = refused(blank_attempt(info), Status.error(error))
    assert PodTrial(outcome, CycleState(), row).error == expected
