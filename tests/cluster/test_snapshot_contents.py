"""What a copy of a snapshot is made of."""

from ksched_cli.testing import cluster, node, pod, simulation


def test_the_contents_have_no_columns_that_are_views_of_usage() -> None:
    state = cluster(node("n1"), pod("r", cpu=1, node="n1", requests={"example.com/gpu": "1"}))
    snapshot = simulation(state).snapshot
    contents = snapshot.__getstate__()
    assert list(contents.requested) == ["example.com/gpu"]
    assert contents.usage is snapshot.usage
