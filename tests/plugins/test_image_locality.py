"""ImageLocality against a plain loop."""

from typing import Any

import pytest
from hypothesis import given

from ksched_cli.cluster.state import ClusterState
from ksched_cli.plugins.image_locality import normalized_image_name
from ksched_cli.testing import scores, simulation
from tests.clusters import states
from tests.plugin_cases import cases, check

MIB = 1024 * 1024


@given(states(max_pending=2))
def test_scores_are_those_of_a_plain_loop(state: ClusterState) -> None:
    nodes = sorted(state.nodes, key=lambda node: node.name)
    sizes: dict[Any, Any] = {}
    having: dict[Any, Any] = {}
    for node in nodes:
        for image in node.status.images:
            for name in image.names:
                sizes.setdefault(name, image.size_bytes)
                having.setdefault(name, set()).add(node.name)
    for info in simulation(state).pending():
        points = scores("ImageLocality", state, pod=info.key)
        for node in nodes:
            total = sum(
                int(sizes[name] * (len(having[name]) / len(nodes)))
                for name in (container.image for container in info.spec.containers)
                if node.name in having.get(name, ())
            )
            top = 1000 * MIB * len(info.spec.containers)
            clipped = min(max(total, 23 * MIB), top)
            assert points[node.name] == 100 * (clipped - 23 * MIB) // (top - 23 * MIB)


@pytest.mark.parametrize(
    ("image", "name"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.2", "nginx:1.2"),
        ("localhost:5000/app", "localhost:5000/app:latest"),
        ("localhost:5000/app:v1", "localhost:5000/app:v1"),
        ("app@sha256:abc", "app@sha256:abc"),
        ("a/b:c/d", "a/b:c/d:latest"),
        ("", ":latest"),
    ],
)
def test_a_name_without_a_tag_gets_one(image: str, name: str) -> None:
    assert normalized_image_name(image) == name


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)
