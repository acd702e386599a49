"""Failures are kept once each, with the pods that they touched."""

from ksched_cli.cluster.pod_info import PodCatalog
from ksched_cli.framework.caller import DefectLog
from ksched_cli.framework.status import MalformedError, PluginError
from ksched_cli.testing import cluster, pod

P, Q = map(PodCatalog().info, cluster(pod("p"), pod("q")).pods)


def test_the_same_failure_is_one_defect_of_all_its_pods() -> None:
    log = DefectLog()
    for info in (P, Q, P):
        assert log.note("X", "filter", ValueError("odd"), info) == (
            "plugin X failed in filter: ValueError: odd"
        )
    log.note("X", "score", ValueError("odd"), P)
    assert [list(defect.pods) for defect in log.defects.values()] == [
        ["default/p", "default/q"],
        ["default/p"],
    ]
    assert log.noted == 4


def test_what_a_plugin_says_itself_is_no_defect() -> None:
    log = DefectLog()
    assert log.message("X", "filter", PluginError("cannot say"), P) == "cannot say"
    assert (log.defects, log.noted) == ({}, 0)


def test_an_answer_that_is_none_has_no_traceback() -> None:
    log = DefectLog()
    log.note("X", "filter", MalformedError("filter returned int, expected Status"), P)
    (defect,) = log.defects.values()
    assert defect.detail == "plugin X failed in filter: filter returned int, expected Status\n"
