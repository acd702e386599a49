"""NodePorts against a plain loop, and its explanations."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.plugins.node_ports import after_pod_deletion
from ksched_cli.testing import cluster, explanation, node, pod, verdicts
from tests.plugin_cases import cases, check
from tests.plugins.event_objects import pod_info

PORTS = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.just(1), "hostPort": st.sampled_from([80, 81])},
        optional={
            "protocol": st.sampled_from(["TCP", "UDP"]),
            "hostIP": st.sampled_from(["0.0.0.0", "10.0.0.1", "10.0.0.2"]),
        },
    ),
    max_size=3,
)


def address(port: dict[str, Any]) -> tuple[int, str, str]:
    return port["hostPort"], port.get("protocol", "TCP"), port.get("hostIP", "0.0.0.0")


def clash(first: dict[str, Any], other: dict[str, Any]) -> bool:
    (port, protocol, ip), (its_port, its_protocol, its_ip) = address(first), address(other)
    if (port, protocol) != (its_port, its_protocol):
        return False
    return ip == its_ip or "0.0.0.0" in (ip, its_ip)


@given(st.lists(PORTS, min_size=1, max_size=3), PORTS)
def test_verdicts_are_those_of_a_plain_loop(
    taken: list[list[dict[str, Any]]], requested: list[dict[str, Any]]
) -> None:
    state = cluster(
        *(node(f"n{i}") for i in range(len(taken))),
        *(pod(f"b{i}", node=f"n{i}", ports=ports) for i, ports in enumerate(taken)),
        pod("p", ports=requested),
    )
    statuses = verdicts("NodePorts", state)
    for i, ports in enumerate(taken):
        rejected = any(clash(port, other) for port in requested for other in ports)
        assert statuses[f"n{i}"].is_rejected == rejected


def test_an_explanation_names_the_pod_that_has_the_port() -> None:
    state = cluster(node("a"), pod("web", "blue", node="a", ports=[80]), pod("p", ports=[80, 443]))
    (rejection,) = explanation(state, pod="p").nodes[0].rejections
    assert rejection.details == ("port 80/TCP is taken by blue/web",)


@pytest.mark.parametrize(("plugin", "case"), cases(__file__))
def test_case(plugin: str, case: dict[str, Any]) -> None:
    check(plugin, case)


def test_a_pod_is_tried_when_one_that_used_its_port_is_deleted() -> None:
    incoming = pod_info(ports=[80])
    assert after_pod_deletion(incoming, pod_info("o", node="n", ports=[80]), None)
    assert not after_pod_deletion(incoming, pod_info("o", node="n", ports=[81]), None)
    assert not after_pod_deletion(incoming, pod_info("o", ports=[80]), None)
