"""A renamed state tells nothing, and is decided as the one it was made of."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.cluster.loading.load import load_state, plain_objects
from ksched_cli.cluster.redaction.codebook import Codes
from ksched_cli.cluster.redaction.redact import object_names, redacted
from ksched_cli.cluster.redaction.renamer import Renamer
from ksched_cli.commands.snapshot_files import redaction_differences
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.gates import POD_GROUP_KINDS
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.testing import node, pod

CASES = Path(__file__).parents[2] / "conformance/cases"
# The last case of each family.
STATES = [
    max(family.rglob("state.*"))
    for family in sorted(CASES.iterdir())
    if any(family.rglob("state.*"))
]


def redact(*objects: dict[str, Any]) -> tuple[list[dict[str, Any]], Renamer]:
    changed, renamer = redacted([json.dumps(obj).encode() for obj in objects], Codes.empty())
    return [json.loads(obj) for obj in changed], renamer


def decided(path: Path, case: Path) -> Any:
    has_groups = case.parent.name in ("workloads", "composites")
    gates = (case / "feature-gates").read_text() if has_groups else ""
    registry = registry_of(release_of(feature_gates=gates))
    state = load_state([str(path)], reads=POD_GROUP_KINDS)
    return Simulation(state, load_configuration(None, "", registry), registry).run()


@pytest.mark.slow
@pytest.mark.parametrize("path", STATES, ids=lambda path: str(path.relative_to(CASES)))
def test_every_decision_is_the_same(path: Path, tmp_path: Path) -> None:
    objects = [json.dumps(obj, default=str).encode() for obj in plain_objects([str(path)])]
    changed, renamer = redacted(objects, Codes.empty())
    copy = tmp_path / "redacted.json"
    copy.write_bytes(b"[" + b",".join(changed) + b"]")

    def pod_key(key: str) -> str:
        namespace, _, name = key.partition("/")
        return f"{renamer.namespace(namespace)}/{renamer.name(name)}"

    runs = decided(path, path.parent), decided(copy, path.parent)
    assert redaction_differences(*runs, pod_key, renamer.sorted_name) == []


def test_names_labels_images_and_hosts_are_gone() -> None:
    secret = pod(
        "acme-web-7",
        namespace="acme-prod",
        node="host-acme-1",
        labels={"acme.example/team": "acme-red"},
        node_selector={"acme.example/pool": "acme-blue"},
    )
    secret["metadata"]["uid"] = "acme-uid"
    secret["spec"] |= {"schedulerName": "acme-scheduler", "priorityClassName": "acme-high"}
    secret["spec"]["containers"][0] |= {
        "name": "acme",
        "image": "registry.acme.example/web:1",
        "env": [{"name": "A", "value": "acme"}],
    }
    secret["status"]["conditions"] = [{"type": "PodScheduled", "message": "not on host-acme-1"}]
    host = node("host-acme-1", labels={"acme.example/pool": "acme-blue"})
    host["spec"]["providerID"] = "acme:///acme-1"
    changed, _ = redact(host, secret, {"kind": "Acme", "apiVersion": "acme.example/v1"})
    assert len(changed) == 2
    assert not re.search("acme|host|example|registry|red|blue", json.dumps(changed))
    assert changed[1]["spec"]["nodeName"] == changed[0]["metadata"]["name"]
    (selector,) = changed[1]["spec"]["nodeSelector"].items()
    assert selector in changed[0]["metadata"]["labels"].items()


@pytest.mark.parametrize("name", ["default", "kube-system", "kube-public", "acme"])
def test_a_namespace_is_called_alike_wherever_it_is_named(name: str) -> None:
    labels = {"kubernetes.io/metadata.name": name}
    namespace = {
        "apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name, "labels": labels}
    }  # fmt: skip
    selecting = pod("p", namespace=name)
    term = {"topologyKey": "zone", "namespaces": [name], "labelSelector": {}}
    selecting["spec"]["affinity"] = {
        "podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    }
    (changed, inside), renamer = redact(namespace, selecting)
    code = changed["metadata"]["name"]
    assert (code == name) is (name != "acme")
    assert changed["metadata"]["labels"] == {"kubernetes.io/metadata.name": code}
    assert inside["metadata"]["namespace"] == code
    (term,) = inside["spec"]["affinity"]["podAffinity"][
        "requiredDuringSchedulingIgnoredDuringExecution"
    ]
    assert term["namespaces"] == [code]
    names = object_names([json.dumps(namespace).encode()], renamer)
    assert list(names) == [("Namespace", code, name)]


def test_a_group_keeps_what_it_is_in_and_says_no_name() -> None:
    names = {"name": "acme-red", "namespace": "acme"}
    part = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": names,
        "spec": {
            "parentCompositePodGroupName": "acme-job",
            "schedulingPolicy": {"gang": {"minCount": 2}},
            "schedulingConstraints": {"topology": [{"key": "acme.com/rack"}]},
            "disruptionMode": {"all": {}},
            "preemptionPolicy": "Never",
        },
        "status": {"conditions": [{"message": "acme is full"}]},
    }
    whole = {**part, "apiVersion": "scheduling.k8s.io/v1alpha3", "kind": "CompositePodGroup"}
    whole |= {"metadata": {**names, "name": "acme-job"}}
    member = pod("acme-0", namespace="acme", spec={"schedulingGroup": {"podGroupName": "acme-red"}})
    (group, tree, renamed), _ = redact(part, whole, member)
    assert "acme" not in json.dumps([group, tree, renamed])
    spec = group["spec"]
    assert spec["parentCompositePodGroupName"] == tree["metadata"]["name"]
    assert renamed["spec"]["schedulingGroup"]["podGroupName"] == group["metadata"]["name"]
    assert spec["schedulingPolicy"] == {"gang": {"minCount": 2}}
    assert (spec["disruptionMode"], spec["preemptionPolicy"]) == ({"all": {}}, "Never")
    assert spec["schedulingConstraints"]["topology"][0]["key"]


def test_what_is_compared_as_a_number_stays_one() -> None:
    requirement = {"key": "acme/cores", "operator": "Gt", "values": ["8"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [requirement]}]}
    wants = pod("p")
    wants["spec"]["affinity"] = {
        "nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    }
    (host, changed), _ = redact(node("n", labels={"acme/cores": "16", "acme/rack": "16"}), wants)
    assert "8" in json.dumps(changed)
    assert sorted(host["metadata"]["labels"].values())[0] == "16"
    assert len(set(host["metadata"]["labels"].values())) == 2


def test_pods_of_stateful_sets_keep_their_ordinals() -> None:
    stateful_set = {
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": {"name": "web", "namespace": "a"},
        "spec": {"replicas": 1, "selector": {"matchLabels": {"app": "web"}}},
    }
    (owner, changed), _ = redact(stateful_set, pod("web-3", namespace="a"))
    assert changed["metadata"]["name"] == f"{owner['metadata']['name']}-3"


def test_the_names_of_objects_are_told_for_the_key() -> None:
    obj = json.dumps(pod("p", namespace="a")).encode()
    changed, renamer = redacted([obj], Codes.empty())
    ((kind, after, before),) = object_names([obj], renamer)
    metadata = json.loads(changed[0])["metadata"]
    assert (kind, after, before) == ("Pod", f"{metadata['namespace']}/{metadata['name']}", "a/p")


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_of_another_shape_goes(value: object) -> None:
    (changed,), _ = redact(node("n") | {"status": value})
    assert changed["status"] is None


def test_the_order_of_objects_and_of_keys_is_that_of_their_new_names() -> None:
    """An API server writes both in the order of the former names."""
    services = [
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": {"name": f"s{number:03}", "labels": {f"k{i:03}": "" for i in range(99)}},
        }
        for number in range(99)
    ]
    changed, _ = redact(*services)
    names = [each["metadata"]["name"] for each in changed]
    assert names == sorted(names)
    for each in changed:
        assert [*each["metadata"]["labels"]] == sorted(each["metadata"]["labels"])


def test_pods_stay_in_their_order_which_decides_where_all_else_is_equal() -> None:
    changed, _ = redact(*(pod(f"p{number}", priority=number) for number in range(60)))
    assert [each["spec"]["priority"] for each in changed] == [*range(60)]


def test_names_that_plugins_sort_by_keep_their_order() -> None:
    names = [f"n{number:03}" for number in range(99)]
    changed, renamer = redact(*map(node, names))
    codes = [each["metadata"]["name"] for each in changed]
    assert codes == [*map(renamer.sorted_name, names)] == sorted(codes)


def test_values_of_a_pod_group_s_topology_keep_their_order() -> None:
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "namespace": "a"},
        "spec": {"schedulingConstraints": {"topology": [{"key": "acme/rack"}]}},
    }
    racks = [f"r{number:03}" for number in range(99)]
    nodes = [node(rack, labels={"acme/rack": rack, "other": rack}) for rack in racks]
    (_, *changed), _ = redact(group, *nodes)
    labels = [each["metadata"]["labels"] for each in changed]
    values = {key: [each[key] for each in labels] for key in labels[0]}
    (rack,) = (key for key in values if values[key] == sorted(values[key]))
    assert values[rack] == [each["metadata"]["name"] for each in changed]
