"""What the tests of the configuration share."""

from ksched_cli.framework.registry import PluginEntry, Registry
from ksched_cli.plugins import IN_TREE

REGISTRY = Registry(IN_TREE)
FOREIGN = Registry(
    (*IN_TREE, PluginEntry("Packing", frozenset({"filter", "score"}), "packing 1.0", dict))
)
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def configured(body: str) -> str:
    """A whole configuration from what comes after its first two lines."""
    return HEAD + body
