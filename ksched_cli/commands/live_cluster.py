"""`--live`: the state of the cluster that the kubeconfig names, as it is now."""

from __future__ import annotations

from ksched_cli.cluster.state import ClusterState
from ksched_cli.commands import progress
from ksched_cli.live.client import ClusterOptions, connect
from ksched_cli.live.snapshot import ClusterReader, live_state, whole_object
from ksched_cli.run.run import LiveCluster


def read_live_state(cluster: LiveCluster, kinds: frozenset[str]) -> ClusterState:
    """kinds: of custom objects that plugins read. Raises KschedError."""
    server = connect(ClusterOptions(cluster.kubeconfig, cluster.context))
    with progress.of_objects() as on_progress:
        reader = ClusterReader(
            server,
            reads=kinds,
            namespace=cluster.namespace,
            convert=whole_object,
            on_progress=on_progress,
        )
        return live_state(reader, kinds, server.url)
