"""The node selectors of allocations."""

from typing import Any

import pytest

from ksched_cli.plugins.dynamic_resources.search import node_selector
from tests.narrowing import present
from tests.plugins.dynamic_resources.test_pools import pools_of


@pytest.mark.parametrize(
    ("given", "selector"),
    [
        ({"reach": "all", "pool": "p"}, None),
        ({"node": "a"}, ("match_fields", "metadata.name", ("a",))),
        ({"reach": {"zone": "z"}, "pool": "p"}, ("match_expressions", "zone", ("z",))),
    ],
)
def test_an_allocation_can_be_used_where_its_devices_are(
    given: dict[str, Any], selector: tuple[str, str, tuple[str]] | None
) -> None:
    nodes = [{"name": "a", "labels": {"zone": "z"}}]
    (pool,) = pools_of({**given, "devices": {"g0": {}}}, nodes=nodes).pools
    result = node_selector(pool.devices, "a")
    if selector is None:
        assert result is None
    else:
        field, key, values = selector
        (requirement,) = getattr(present(result).node_selector_terms[0], field)
        assert (requirement.key, requirement.values) == (key, values)
