"""What a plugin is given is the same after a call, or the call fails."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from ksched_cli.cluster.pod_info import PodCatalog, PodInfo
from ksched_cli.cluster.snapshot import SealedError, Snapshot
from ksched_cli.framework.answer_checks import ReadOnlyCalls
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.status import MutationError
from ksched_cli.testing import cluster, node, pod
from tests.narrowing import present


@pytest.fixture
def snapshot() -> Snapshot:
    return Snapshot(cluster(node("a"), node("b")).nodes)


@pytest.fixture
def info() -> PodInfo:
    (info,) = map(PodCatalog().info, cluster(pod("p", labels={"app": "a"})).pods)
    return info


def test_the_answer_is_given_on(snapshot: Snapshot, info: PodInfo) -> None:
    assert ReadOnlyCalls().call("P", snapshot, lambda pod: pod.name, info) == "p"


def test_what_the_method_raises_is_raised_and_the_snapshot_opened_again(snapshot: Snapshot) -> None:
    with pytest.raises(KeyError):
        ReadOnlyCalls().call("P", snapshot, {}.__getitem__, "missing")
    assert not snapshot.sealed


def test_no_pod_can_be_put_on_a_node_meanwhile(snapshot: Snapshot, info: PodInfo) -> None:
    with pytest.raises(SealedError):
        ReadOnlyCalls().call("P", snapshot, snapshot.add, info, 0)
    snapshot.add(info, 0)
    assert snapshot.pod_count.tolist() == [1, 0]


def test_a_call_within_a_call_does_not_open_the_snapshot(snapshot: Snapshot, info: PodInfo) -> None:
    calls = ReadOnlyCalls()

    def outer(pod: PodInfo) -> None:
        calls.call("P", snapshot, lambda: None)
        snapshot.add(pod, 0)

    with pytest.raises(SealedError):
        calls.call("P", snapshot, outer, info)


def test_arrays_and_rows_cannot_be_written_to_by_the_plugin_alone(snapshot: Snapshot) -> None:
    scores, nodes = np.array([1, 2]), Nodes(snapshot, np.array([1, 0]))

    def write(scores: NDArray[np.int64], nodes: Nodes) -> None:
        assert not present(nodes.rows).flags.writeable
        scores[0] = 9

    with pytest.raises(ValueError, match="read-only"):
        ReadOnlyCalls().call("P", snapshot, write, scores, nodes)
    scores[0] = present(nodes.rows)[0] = 0
    assert (scores.tolist(), present(nodes.rows).tolist()) == ([0, 2], [0, 0])


def test_a_pod_that_was_changed_is_refused_also_the_next_time(
    snapshot: Snapshot, info: PodInfo
) -> None:
    calls, called = ReadOnlyCalls(), []

    def label(pod: Any) -> None:
        called.append(pod.key)
        pod.pod.metadata.labels["app"] = "b"

    for _ in range(2):
        with pytest.raises(MutationError, match="it changed the pod default/p"):
            calls.call("P", snapshot, label, info)
    assert called == ["default/p"]
    # Pods that look alike may share their labels: they are as before.
    assert info.labels == {"app": "a"}
    calls.call("Q", snapshot, lambda pod: None, info)


def test_labels_and_annotations_are_read_only(info: PodInfo) -> None:
    for content in (info.labels, info.annotations):
        with pytest.raises(TypeError, match="does not support item assignment"):
            content["app"] = "b"  # type: ignore[index]


def test_all_pods_that_a_call_changed_are_as_they_were_and_refused_the_next_time(
    snapshot: Snapshot,
) -> None:
    pods = [pod("p", labels={"app": "a"}), pod("q", node_selector={"disk": "ssd"})]
    p, q = map(PodCatalog().info, cluster(*pods).pods)

    def change(first: PodInfo, second: PodInfo) -> None:
        first.pod.metadata.labels["app"] = "b"
        second.pod.spec.node_selector.clear()

    calls = ReadOnlyCalls()
    with pytest.raises(MutationError, match="default/p"):
        calls.call("P", snapshot, change, p, q)
    assert p.pod.metadata.labels == {"app": "a"}
    assert q.pod.spec.node_selector == {"disk": "ssd"}
    with pytest.raises(MutationError, match="default/q"):
        calls.call("P", snapshot, lambda pod: None, q)
