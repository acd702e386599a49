"""Names that are Kubernetes's own."""

import pytest

from ksched_cli.cluster.redaction.redact import is_kubernetes_domain, public_names
from ksched_cli.cluster.trimming import READ_ANNOTATIONS
from ksched_cli.plugins.volumes import IN_TREE, REGION, ZONE


@pytest.mark.parametrize(
    ("domain", "is_own"),
    [
        ("kubernetes.io", True),
        ("node.kubernetes.io", True),
        ("k8s.io", True),
        ("mykubernetes.io", False),
        ("x-k8s.io", False),
        ("example.com", False),
    ],
)
def test_domains_of_kubernetes_end_in_its_own(domain: str, is_own: bool) -> None:
    assert is_kubernetes_domain(domain) is is_own


def test_keys_that_plugins_read_by_name_are_public() -> None:
    topology = {plugin.topology_key for plugin in IN_TREE if plugin.topology_key}
    assert {ZONE, REGION, *topology, *READ_ANNOTATIONS} <= public_names().keys
    assert public_names().keys_of_public_values <= public_names().keys
