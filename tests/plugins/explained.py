"""What a plugin explains about nodes."""

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import explanation


def rejection_details(state: ClusterState) -> dict[str, list[str]]:
    """Node → the lines beside its rejections of the pod p."""
    return {
        explained.node: [line for rejection in explained.rejections for line in rejection.details]
        for explained in explanation(state, pod="p").nodes
    }


def score_details(plugin: str, state: ClusterState) -> dict[str, list[str]]:
    """Node → the lines beside the plugin's score for the pod p; without nodes that it does not
    score."""
    return {
        explained.node: list(explained.scores[plugin].details)
        for explained in explanation(state, pod="p").nodes
        if plugin in explained.scores
    }
