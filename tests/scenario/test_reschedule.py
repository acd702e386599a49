"""reschedule: bound pods placed afresh."""

import pytest
from hypothesis import given

from ksched_cli.cluster.state import ClusterState
from ksched_cli.scenario.change import ChangeError
from ksched_cli.testing import Manifest, cluster, node, pod, simulate
from tests.clusters import states
from tests.scenario.build import changed, nodes_of, owned


@pytest.mark.parametrize(
    ("line", "pending"),
    [
        ("reschedule --all", ["default/a", "default/b"]),
        ("reschedule -l app=a", ["default/a"]),
        ("reschedule b", ["default/b"]),
        ("reschedule --all -n other", []),
    ],
)
def test_the_chosen_running_pods_are_pending_again(line: str, pending: list[str]) -> None:
    state = cluster(
        node("n1"),
        pod("a", node="n1", labels={"app": "a"}),
        pod("b", node="n1"),
        owned("ds-1", "DaemonSet", "ds", node="n1"),
        owned("done", "Job", "j", node="n1", status={"phase": "Failed"}),
    )
    after, did = changed(state, line)
    assert [key for key, where in nodes_of(after).items() if not where] == pending
    assert did == [f"{key}: pending again (was on n1)" for key in pending]


def test_it_takes_pods_or_all() -> None:
    with pytest.raises(ChangeError, match="reschedule --all"):
        changed(cluster(node("n1")), "reschedule")


@given(states())
def test_everything_rescheduled_is_as_if_nothing_had_ever_run(state: ClusterState) -> None:
    after, _ = changed(state, "reschedule --all")
    unplaced = [pod for pod in state.pods if pod.node_name]
    assert all(not pod.node_name for pod in after.pods)
    assert [pod.key for pod in after.pods] == [pod.key for pod in state.pods]
    assert len(simulate(after).last) == len(simulate(state).last) + len(unplaced)


def test_claims_that_nobody_reserves_any_more_are_deallocated() -> None:
    def claim(name: str, *uids: str) -> Manifest:
        users = [{"resource": "pods", "name": uid, "uid": uid} for uid in uids]
        return {
            "kind": "ResourceClaim",
            "apiVersion": "resource.k8s.io/v1",
            "metadata": {"name": name},
            "status": {"allocation": {}, "reservedFor": users},
        }

    state = cluster(
        node("n1"),
        pod("a", node="n1"),
        claim("alone", "default/a"),
        claim("shared", "default/a", "default/b"),
    )
    after, _ = changed(state, "reschedule a")
    alone, shared = (after.resource_claims["default", name].status for name in ("alone", "shared"))
    assert (alone.allocation, alone.reserved_for) == (None, ())
    assert shared.allocation is not None
    assert [user.uid for user in shared.reserved_for] == ["default/b"]
