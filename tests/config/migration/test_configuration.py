"""The edits of old documents; whole files are in cases.yaml."""

from ksched_cli.config.migration.configuration import (
    edit_top,
    label_requirements,
    strategy_args,
)
from ksched_cli.config.migration.old_versions import OLD_VERSIONS
from ksched_cli.config.migration.settle import Remarks
from ksched_cli.kube.document_edits import EditableDocument

V1BETA2 = OLD_VERSIONS["v1beta2"]


def test_fields_of_old_versions_are_left_out() -> None:
    text = "apiVersion: old\nmetricsBindAddress: ''\nleaderElection: {resourceLock: leases}\n"
    document, remarks = EditableDocument(text), Remarks(text)
    edit_top(document, V1BETA2, remarks)
    assert document.text == (
        "apiVersion: kubescheduler.config.k8s.io/v1\nleaderElection: {resourceLock: leases}\n"
    )
    assert [remark.path for remark in remarks.in_order()] == ["metricsBindAddress"]


def test_the_args_of_a_strategy() -> None:
    shape = [{"utilization": 0, "score": 0}]
    assert strategy_args("MostAllocated", {"resources": []}) == {"type": "MostAllocated"}
    assert strategy_args("RequestedToCapacityRatio", {"shape": shape, "resources": [1]}) == {
        "type": "RequestedToCapacityRatio",
        "resources": [1],
        "requestedToCapacityRatio": {"shape": shape},
    }


def test_labels_as_expressions() -> None:
    assert label_requirements(["a"], None) == [{"key": "a", "operator": "Exists"}]
    assert label_requirements(None, ["b"]) == [{"key": "b", "operator": "DoesNotExist"}]
