"""What a plugin is given is the same after a call, or the call fails."""

import numpy as np
import pytest

from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.cluster.snapshot import SealedError, Snapshot
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.read_only import MutationError, ReadOnlyCalls
from ksched_cli.testing import cluster, node, pod


@pytest.fixture
def snapshot():
    return Snapshot(cluster(node("a"), node("b")).nodes)


@pytest.fixture
def info():
    (info,) = map(PodCatalog().info, cluster(pod("p", labels={"app": "a"})).pods)
    return info


def test_the_answer_is_given_on(snapshot, info):
    assert ReadOnlyCalls().call("P", snapshot, lambda pod: pod.name, info) == "p"


def test_what_the_method_raises_is_raised_and_the_snapshot_opened_again(snapshot):
    with pytest.raises(KeyError):
        ReadOnlyCalls().call("P", snapshot, lambda: {}["missing"])
    assert not snapshot.sealed


def test_no_pod_can_be_put_on_a_node_meanwhile(snapshot, info):
    with pytest.raises(SealedError):
        ReadOnlyCalls().call("P", snapshot, snapshot.add, info, 0)
    snapshot.add(info, 0)
    assert snapshot.pod_count.tolist() == [1, 0]


def test_a_call_within_a_call_does_not_open_the_snapshot(snapshot, info):
    calls = ReadOnlyCalls()

    def outer(pod):
        calls.call("P", snapshot, lambda: None)
        snapshot.add(pod, 0)

    with pytest.raises(SealedError):
        calls.call("P", snapshot, outer, info)


def test_arrays_and_rows_cannot_be_written_to_by_the_plugin_alone(snapshot):
    scores, nodes = np.array([1, 2]), Nodes(snapshot, np.array([1, 0]))

    def write(scores, nodes):
        assert not nodes.rows.flags.writeable
        scores[0] = 9

    with pytest.raises(ValueError, match="read-only"):
        ReadOnlyCalls().call("P", snapshot, write, scores, nodes)
    scores[0] = nodes.rows[0] = 0
    assert (scores.tolist(), nodes.rows.tolist()) == ([0, 2], [0, 0])


def test_a_pod_that_was_changed_is_refused_also_the_next_time(snapshot, info):
    calls, called = ReadOnlyCalls(), []

    def label(pod):
        called.append(pod.key)
        pod.labels["app"] = "b"

    for _ in range(2):
        with pytest.raises(MutationError, match="it changed the pod default/p"):
            calls.call("P", snapshot, label, info)
    assert called == ["default/p"]
    calls.call("Q", snapshot, lambda pod: None, info)
