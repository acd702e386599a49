"""How far nodes are from having room."""

from ksched_cli.analysis.reasons import shortfalls
from ksched_cli.testing import cluster, find, node, pod, simulation


def test_what_lacks_most_counts_as_a_share_of_the_request() -> None:
    state = cluster(
        node("enough", cpu="4", memory="8Gi"),
        node("full", cpu="4", memory="8Gi", pods=1),
        node("half", cpu="1", memory="8Gi"),
        node("quarter", cpu="2", memory="1Gi"),
        pod("there", cpu="1", node="full"),
        pod("p", cpu="2", memory="4Gi"),
    )
    run = simulation(state)
    assert shortfalls(run.snapshot, find(run, "default/p")).tolist() == [0, 1, 0.5, 0.75]
