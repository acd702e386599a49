"""Attempts in the conformance format."""

from ksched_cli.analysis.attempts import PluginStatus, trace_of
from ksched_cli.answers import plain
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, node, pod, run_cycle


def test_a_single_feasible_node_has_no_scores() -> None:
    attempt = trace_of(run_cycle(cluster(node("a"), pod("p"))))
    assert attempt.feasible == ("a",)
    assert not {"scores", "totals", "ties"} & set(plain(attempt))


def test_rejections_name_plugin_code_and_reasons() -> None:
    attempt = trace_of(
        run_cycle(
            cluster(node("a", taints=["k:NoSchedule"]), node("b"), pod("p")),
            kubernetes_version="1.34",
        )
    )
    assert plain(attempt.filter["a"]) == {
        "plugin": "TaintToleration",
        "code": "UnschedulableAndUnresolvable",
        "reasons": ("node(s) had untolerated taint {k: }",),
    }


def test_scores_and_totals_are_by_node() -> None:
    attempt = trace_of(run_cycle(cluster(node("a"), node("b"), pod("p"))))
    assert attempt.totals.keys() == attempt.scores.keys() == {"a", "b"}
    for name, total in attempt.totals.items():
        assert sum(attempt.scores[name].values()) == total


def test_a_status_of_no_plugin_names_none() -> None:
    assert plain(PluginStatus.of(Status.unschedulable("full"))) == {
        "code": "Unschedulable",
        "reasons": ("full",),
    }
