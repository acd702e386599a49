"""A fork that is moved from row to row is, on each, what a fork made for that row would be."""

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.snapshot import RowFork, Snapshot
from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.cluster.test_snapshot import can_go, look
from tests.clusters import states


@given(states(), st.data())
def test_on_every_row_it_is_as_a_fork_for_that_row(
    state: ClusterState, data: st.DataObject
) -> None:
    run = simulation(state)
    snapshot = run.snapshot
    rows = st.integers(0, len(snapshot) - 1)
    fork = RowFork(snapshot)
    for info in run.pending():
        row = data.draw(rows)
        fork.move_to(row)
        expected = snapshot.fork([row])
        assert look(fork) == look(expected)
        before = look(snapshot)
        for changed in (fork, expected):
            if can_go(snapshot, info, row):
                changed.add(info, row)
            for there in list(snapshot.pods[row])[:1]:
                changed.remove(there, row)
        assert look(fork) == look(expected)
        assert look(snapshot) == before
        place = data.draw(rows)
        if can_go(snapshot, info, place):
            snapshot.add(info, place)


def test_what_was_made_of_a_row_is_not_seen_of_the_next() -> None:
    def count(snapshot: Snapshot) -> int:
        return sum(map(len, snapshot.pods))

    run = simulation(cluster(node("a"), node("b"), pod("p")))
    fork = RowFork(run.snapshot)
    fork.move_to(0)
    fork.add(find(run, "p"), 0)
    assert fork.index(count) == 1
    fork.move_to(1)
    assert fork.index(count) == 0
    assert len(fork.pods[0]) == 0
