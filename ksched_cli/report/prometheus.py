"""Answers as metrics in Prometheus's text format, for the textfile collector of node_exporter, or a
push gateway."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from ksched_cli.analysis.drain import DrainResult
from ksched_cli.analysis.drain_each import EACH_NODE, DrainResults
from ksched_cli.analysis.status import ClusterStatus
from ksched_cli.errors import MissingExtraError

# Sets one sample of a metric: its value, and the values of its labels.
Sample = Callable[..., None]


class _Metrics:
    """Metrics of one answer. Raises MissingExtraError without prometheus_client."""

    def __init__(self) -> None:
        try:
            from prometheus_client import CollectorRegistry
        except ImportError:
            raise MissingExtraError("-o prometheus", "metrics") from None
        self.registry = CollectorRegistry()

    def gauge(self, name: str, about: str, *labels: str) -> Sample:
        from prometheus_client import Gauge

        gauge = Gauge(f"ksched_{name}", about, labels, registry=self.registry)

        def put(value: float, *values: str) -> None:
            (gauge.labels(*values) if labels else gauge).set(value)

        return put

    @property
    def text(self) -> str:
        from prometheus_client import generate_latest

        return generate_latest(self.registry).decode().rstrip("\n")


def of_status(answer: ClusterStatus) -> str:  # noqa: C901  # one metric after the other
    """Return nodes and pods by state, pending pods by owner and plugin, how full pools are, blocked
    drains, and what it costs."""
    metrics = _Metrics()
    nodes = metrics.gauge("nodes", "Nodes, by why they take no pods.", "state")
    nodes(answer.nodes.taking_pods, "taking pods")
    for why, names in answer.nodes.apart.items():
        nodes(len(names), why)
    pods = metrics.gauge("pods", "Pods, by what a run of the scheduler does with them.", "state")
    for state in ("running", "placeable", "pending", "gated"):
        pods(getattr(answer.pods, state), state)
    labels = ("namespace", "owner", "plugin")
    pending = metrics.gauge(
        "pending_pods", "Pods that stay pending, by the plugin nearest to accepting them.", *labels
    )
    counts = Counter[tuple[str, ...]]()
    for group in answer.pending:
        plugin = group.reasons[0].plugin if group.reasons else ""
        counts[group.namespace, group.owner, plugin] += len(group.pods)
    for key, count in counts.items():
        pending(count, *key)
    gated = metrics.gauge("gated_pods", "Gated pods.", "namespace", "owner")
    for each in answer.gated:
        namespace, _, owner = each.owner.partition("/")
        gated(len(each.pods), namespace, owner)
    requested = metrics.gauge(
        "requested_ratio", "Requests as a share of allocatable.", "pool", "resource"
    )
    for resource, share in answer.total.used.items():
        requested(share, "", resource)
    for pool in answer.pools.pools:
        if not pool.apart:
            for resource, share in pool.used.items():
                requested(share, pool.value or "none", resource)
    blocking = metrics.gauge("budgets_blocking_drains", "Budgets that block every drain.")
    blocking(len(answer.blocking_budgets))
    if answer.cost:
        cost = metrics.gauge("cost_per_hour", "Cost of the nodes an hour.", "part")
        cost(answer.cost.per_hour, "total")
        cost(answer.cost.idle, "idle")
    return metrics.text


def of_drain(answer: DrainResult | DrainResults) -> str:
    """Return whether each node or domain can be drained, or lost, and how many pods would wait."""
    metrics = _Metrics()
    # A text may have both, as where a job sends them together.
    what, event = ("survivable", "loss") if answer.failed else ("drainable", "drain")
    labels = ("label", "value")
    can_go = metrics.gauge(what, f"Whether it is {what}: 1 or 0.", *labels)
    if isinstance(answer, DrainResult):
        for node in answer.nodes:
            can_go(node in answer.order, EACH_NODE, node)
        return metrics.text
    about = f"Pods that would find no node at its {event}."
    waiting = metrics.gauge(f"{event}_pods_without_node", about, *labels)
    for domain in answer.domains:
        can_go(domain.possible, answer.label, domain.value)
        waiting(len(domain.waiting), answer.label, domain.value)
    return metrics.text
