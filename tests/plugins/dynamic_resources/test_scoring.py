"""DynamicResources' place among the score plugins, by minor."""

import pytest

from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import cluster, node, pod, run_cycle


@pytest.mark.parametrize(("minor", "weight"), [("1.34", None), ("1.35", 2), ("1.36", 2)])
def test_it_scores_from_1_35_on(minor: str, weight: int | None) -> None:
    entry = registry_of(release_of(minor))["DynamicResources"]
    assert entry.default_weight == weight
    assert ("score" in entry.points) is (weight is not None)
    assert hasattr(entry.load(), "score_nodes") is (weight is not None)


def test_it_fails_where_its_pre_filter_is_switched_off() -> None:
    off = {"disabled": [{"name": "DynamicResources"}]}
    disabled = {"preFilter": off, "filter": off}
    state = cluster(node("a"), node("b"), pod())
    config = {"profiles": [{"plugins": disabled}]}
    attempt = run_cycle(state, config, kubernetes_version="1.36")
    message = 'running Score plugins: plugin "DynamicResources" failed with: not found'
    assert attempt.error == message
