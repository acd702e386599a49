"""What the tests of the configuration share."""

from ksched_cli.framework.registry import PluginEntry
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of

# kube-scheduler's words in these tests are those of 1.34.
RELEASE = release_of("1.34")
REGISTRY = registry_of(RELEASE)
FOREIGN = registry_of(
    RELEASE, [PluginEntry("Packing", frozenset({"filter", "score"}), "packing 1.0", dict)]
)
HEAD = "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"


def configured(body: str) -> str:
    """A whole configuration from what comes after its first two lines."""
    return HEAD + body
