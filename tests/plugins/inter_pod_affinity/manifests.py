"""Nodes, terms and pods that the tests of InterPodAffinity share."""

from typing import Any

from hypothesis import strategies as st

from ksched_cli.testing import node

NODES = [
    node("n0", labels={"zone": "a", "rack": "r1"}),
    node("n1", labels={"zone": "a", "rack": "r2"}),
    node("n2", labels={"zone": "b", "rack": "r1"}),
    node("n3"),
]
NAMES = [manifest["metadata"]["name"] for manifest in NODES]
TERM = st.builds(
    lambda key, app: {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}},
    st.sampled_from(("zone", "rack")),
    st.sampled_from("xy"),
)
TERMS = st.lists(TERM, max_size=2)
REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def affinity(
    affine: list[dict[str, Any]] | tuple[Any, ...] = (),
    anti_affine: list[dict[str, Any]] | tuple[Any, ...] = (),
) -> dict[str, Any]:
    return {
        "podAffinity": {REQUIRED: list(affine)},
        "podAntiAffinity": {REQUIRED: list(anti_affine)},
    }


LOOK = st.builds(
    lambda app, affine, anti_affine: {
        "labels": {"app": app},
        "affinity": affinity(affine, anti_affine),
    },
    st.sampled_from("xyz"),
    TERMS,
    TERMS,
)
FAR_FROM_WEB = affinity(
    anti_affine=[{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}]
)
NEAR_WEB = affinity([{"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}])
