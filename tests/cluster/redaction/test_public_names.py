"""Names that are Kubernetes's own."""

import re

from ksched_cli.cluster.redaction.renamer import public_names
from ksched_cli.cluster.trimming import READ_ANNOTATIONS
from ksched_cli.plugins.node_declared_features import REGISTERED
from ksched_cli.plugins.volumes import IN_TREE, REGION, ZONE


def test_keys_that_plugins_read_by_name_are_public() -> None:
    topology = {plugin.topology_key for plugin in IN_TREE if plugin.topology_key}
    assert {ZONE, REGION, *topology, *READ_ANNOTATIONS} <= public_names().keys
    assert public_names().values.keys() <= public_names().keys


def test_features_are_those_that_the_plugin_knows() -> None:
    assert public_names().features == REGISTERED


def test_public_values_are_of_a_known_form() -> None:
    for key, pattern in public_names().values.items():
        assert not re.fullmatch(pattern, "secret"), key
        assert not re.fullmatch(pattern, "secret.1"), key
