"""Nodes, terms and pods that the tests of PodTopologySpread share."""

from typing import Any

from hypothesis import strategies as st

from ksched_cli.testing import node

NODES = [
    node("n0", labels={"zone": "a", "rack": "r1"}),
    node("n1", labels={"zone": "a", "rack": "r2", "disk": "ssd"}),
    node("n2", labels={"zone": "b", "rack": "r1", "disk": "ssd"}),
    node("n3", labels={"zone": "c"}),
]
NAMES = [manifest["metadata"]["name"] for manifest in NODES]
WEB = {"matchLabels": {"app": "web"}}


def constraint(
    key: str = "zone",
    skew: int = 1,
    when: str = "DoNotSchedule",
    selector: dict[str, Any] = WEB,
    **more: Any,
) -> dict[str, Any]:
    fields = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": when}
    return fields | {"labelSelector": selector} | more


def spread(*constraints: dict[str, Any]) -> dict[str, Any]:
    return {"topologySpreadConstraints": list(constraints)}


CONSTRAINTS = st.builds(
    lambda key, skew, app, domains, policy: constraint(
        key,
        skew,
        selector={"matchLabels": {"app": app}},
        minDomains=domains,
        nodeAffinityPolicy=policy,
    ),
    st.sampled_from(("zone", "rack", "disk")),
    st.integers(1, 2),
    st.sampled_from("xy"),
    st.sampled_from((None, 1, 2, 4)),
    st.sampled_from(("Honor", "Ignore")),
)
