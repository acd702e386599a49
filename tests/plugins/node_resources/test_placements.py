"""The score of a placement: how much of its nodes is requested, with the pods that go there."""

from typing import Any

import pytest

from ksched_cli.plugins.args import ResourceSpec
from ksched_cli.plugins.node_resources.fit import placement_score
from ksched_cli.testing import cluster, node, pod, simulation

CPU, MEMORY, GPU = (ResourceSpec(name, 1) for name in ("cpu", "memory", "x.com/gpu"))


@pytest.mark.parametrize(
    ("resources", "rows", "expected"),
    [
        ([CPU], [0], (1000 + 1000) * 100 // 4000),
        ([CPU], [0, 1], (1000 + 1000) * 100 // 8000),
        ([CPU, MEMORY], [0], (50 + 6) // 2),
        ([ResourceSpec("cpu", 3), MEMORY], [0], (3 * 50 + 6) // 4),
        ([CPU, GPU], [0], 50),
        ([GPU], [1], 100),
        ([], [0], 0),
    ],
    ids=["a node", "two nodes", "two resources", "weights", "not there", "too little", "nothing"],
)
def test_what_is_requested_of_what_there_is(
    resources: list[Any], rows: list[int], expected: int
) -> None:
    nodes = [node("a"), node("b", resources={"x.com/gpu": "1"})]
    gpu = {"x.com/gpu": 2} if rows == [1] else {}
    running = pod("b", cpu="1", memory="512Mi", node="a")
    state = cluster(*nodes, running, pod("p", cpu="1", memory="512Mi", requests=gpu))
    run = simulation(state)
    score = placement_score(
        resources,
        run.snapshot,
        run.snapshot.order[rows],
        [pod.resources.scoring for pod in run.pending()],
    )
    assert score == expected
