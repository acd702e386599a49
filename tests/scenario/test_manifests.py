"""Pods as the controllers of workloads write them."""

from __future__ import annotations

import copy
from itertools import islice
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.objects import ObjectMeta, Workload
from ksched_cli.kube.generated_names import generated_names
from ksched_cli.scenario.workloads import (
    daemon_template,
    job_labels,
    on_node,
    pod_manifest,
    stateful_manifest,
    template_hash,
)

OWNER = Workload(ObjectMeta("web", "prod"))
TEMPLATE: dict[str, Any] = {
    "metadata": {"labels": {"app": "web"}, "annotations": {"a": "b"}},
    "spec": {"containers": [{"name": "c"}]},
}


@given(st.text("ab-", max_size=70), st.integers(1, 900))
def test_generated_names_are_in_order_and_fit_into_a_label(base: str, count: int) -> None:
    alphabet = "bcdfghjklmnpqrstvwxz2456789"
    taken: set[str] = set()
    names = list(islice(generated_names(base, taken), count))
    assert taken == set(names)
    assert all(len(name) <= 63 and name[:-5] == base[:58] for name in names)
    places = [[alphabet.index(char) for char in name[-5:]] for name in names]
    assert places == sorted(places)


def test_the_hash_of_a_template_is_a_label_value_and_depends_on_its_content_alone() -> None:
    turned = dict(reversed(TEMPLATE.items()))
    assert template_hash(TEMPLATE) == template_hash(turned)
    assert template_hash(TEMPLATE) != template_hash({**TEMPLATE, "spec": {}})
    assert set(template_hash(TEMPLATE)) <= set("bcdfghjklmnpqrstvwxz2456789")


def test_a_pod_has_its_templates_labels_and_the_controllers_and_an_owner() -> None:
    manifest = pod_manifest(TEMPLATE, OWNER, "ReplicaSet", "web-x", {"pod-template-hash": "h"})
    metadata = manifest["metadata"]
    assert metadata["labels"] == {"app": "web", "pod-template-hash": "h"}
    assert (metadata["name"], metadata["namespace"]) == ("web-x", "prod")
    assert metadata["annotations"] == {"a": "b"}
    (owner,) = metadata["ownerReferences"]
    assert (owner["apiVersion"], owner["kind"], owner["name"]) == ("apps/v1", "ReplicaSet", "web")
    assert owner["controller"] is True
    assert manifest["spec"] == TEMPLATE["spec"]


@pytest.mark.parametrize(
    ("kind", "version"), [("Job", "batch/v1"), ("ReplicationController", "v1")]
)
def test_an_owner_has_the_version_of_its_kind(kind: str, version: str) -> None:
    (owner,) = pod_manifest({}, OWNER, kind, "p")["metadata"]["ownerReferences"]
    assert owner["apiVersion"] == version


def test_a_daemon_pod_tolerates_what_its_controller_adds() -> None:
    keys = [t["key"].partition("/")[2] for t in daemon_template(TEMPLATE)["spec"]["tolerations"]]
    assert keys == [
        "not-ready",
        "unreachable",
        "disk-pressure",
        "memory-pressure",
        "pid-pressure",
        "unschedulable",
    ]
    on_host = daemon_template({"spec": {"hostNetwork": True}})["spec"]["tolerations"]
    assert on_host[-1]["key"] == "node.kubernetes.io/network-unavailable"


def test_a_toleration_that_is_there_is_not_added_twice() -> None:
    own = {
        "key": "node.kubernetes.io/not-ready",
        "operator": "Exists",
        "effect": "NoExecute",
        "tolerationSeconds": 3,
    }
    other = {"key": "mine", "operator": "Exists"}
    template = {"spec": {"tolerations": [own, other]}}
    tolerations = daemon_template(template)["spec"]["tolerations"]
    assert len(tolerations) == 7
    assert "tolerationSeconds" not in tolerations[0]
    assert tolerations[1] == other
    assert template["spec"]["tolerations"] == [own, other]


def test_the_node_of_a_daemon_pod_takes_the_place_of_required_terms_alone() -> None:
    affinity = {
        "podAffinity": {},
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{}]},
            "preferredDuringSchedulingIgnoredDuringExecution": [],
        },
    }
    manifest = {"spec": {"affinity": affinity}}
    before = copy.deepcopy(manifest)
    changed = on_node(manifest, "n1")["spec"]["affinity"]
    (term,) = changed["nodeAffinity"]["requiredDuringSchedulingIgnoredDuringExecution"][
        "nodeSelectorTerms"
    ]
    assert term == {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["n1"]}]}
    assert "preferredDuringSchedulingIgnoredDuringExecution" in changed["nodeAffinity"]
    assert "podAffinity" in changed
    assert manifest == before


def test_a_stateful_pod_has_a_claim_per_template_in_place_of_a_volume_of_that_name() -> None:
    volumes = [{"name": "data", "emptyDir": {}}, {"name": "tmp", "emptyDir": {}}]
    plain = {
        "spec": {
            "template": {"spec": {"containers": [], "volumes": volumes}},
            "volumeClaimTemplates": [
                {"metadata": {"name": "data", "labels": {"x": "y"}}, "spec": {"accessModes": []}}
            ],
        }
    }
    pod, claims = stateful_manifest(plain, OWNER, 3)
    assert pod["metadata"]["name"] == pod["spec"]["hostname"] == "web-3"
    assert pod["spec"]["volumes"] == [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-web-3"}},
        volumes[1],
    ]
    (claim,) = claims
    assert claim["metadata"] == {"name": "data-web-3", "labels": {"x": "y"}, "namespace": "prod"}
    assert claim["spec"] == {"accessModes": []}


def test_a_job_labels_its_pods_with_its_name_and_uid() -> None:
    labels = job_labels(Workload(ObjectMeta("web", "prod", "uid-1")))
    assert labels["batch.kubernetes.io/job-name"] == labels["job-name"] == "web"
    assert labels["batch.kubernetes.io/controller-uid"] == labels["controller-uid"] == "uid-1"
    assert job_labels(OWNER)["controller-uid"] == "prod-web"
