"""`--live`: the state of the cluster that the kubeconfig names, as it is now."""

from __future__ import annotations

from ksched_cli.cluster.state import ClusterState
from ksched_cli.commands import progress
from ksched_cli.commands.options import StateOptions
from ksched_cli.framework.registry import Registry
from ksched_cli.live.kubeconfig import ClusterOptions, connect
from ksched_cli.live.snapshot import ClusterReader
from ksched_cli.live.state import live_state
from ksched_cli.plugins import kinds_read


def read_live_state(options: StateOptions, registry: Registry) -> ClusterState:
    """Raises KschedError."""
    kinds = kinds_read(registry, options.feature_gates)
    server = connect(ClusterOptions(options.kubeconfig, options.context))
    with progress.of_objects() as on_progress:
        reader = ClusterReader(
            server,
            reads=kinds,
            namespace=options.namespace,
            whole=True,
            on_progress=on_progress,
        )
        return live_state(reader, kinds, server.url)
