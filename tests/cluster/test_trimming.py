"""What stays of an object: all that is read of it, and nothing else."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.objects import KubeObject
from ksched_cli.cluster.state import ClusterState
from ksched_cli.cluster.trimming import READ_ANNOTATIONS, UNREAD_FIELDS, is_written, trimmed
from ksched_cli.testing import node, pod

ROOT = Path(__file__).parents[2]
CASES = ROOT / "tests/conformance/cases"
# The first case of each family.
STATES = [
    next(path for path in sorted(family.rglob("state.*")))
    for family in sorted(CASES.iterdir())
    if any(family.rglob("state.*"))
]
SECRET = "hunter2"
EMPTY = msgspec.Raw()


def objects_of(state: ClusterState) -> Iterator[tuple[str, Any]]:
    """Without the JSON that objects keep, and annotations and other texts that nobody reads."""
    for kind in KINDS.values():
        objects = getattr(state, kind.attribute)
        for obj in objects.values() if isinstance(objects, dict) else objects:
            annotations = {
                key: text
                for key, text in obj.metadata.annotations.items()
                if key in READ_ANNOTATIONS
            }
            obj = replace(obj, metadata=replace(obj.metadata, annotations=annotations))
            yield (
                kind.name,
                without_unread(
                    msgspec.to_builtins(
                        without_raw(obj),
                        enc_hook=lambda value: "" if value is EMPTY else str(value),
                    )
                ),
            )


UNREAD = {field for fields in UNREAD_FIELDS.values() for field in fields}


def without_unread(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: without_unread(v) for k, v in data.items() if k not in UNREAD}
    return [without_unread(item) for item in data] if isinstance(data, list | tuple) else data


def without_raw(obj: KubeObject) -> KubeObject:
    return replace(obj, raw=EMPTY) if hasattr(obj, "raw") else obj


@pytest.mark.parametrize("path", STATES, ids=lambda path: str(path.relative_to(ROOT)))
def test_a_trimmed_state_is_decoded_as_the_whole_one(path: Path, tmp_path: Path) -> None:
    import yaml

    documents = [
        trimmed(item)
        for document in yaml.load_all(path.read_bytes(), yaml.CSafeLoader)
        if document
        for item in document.get("items", [document])
    ]
    copy = tmp_path / "cluster.json"
    copy.write_text(json.dumps({"kind": "List", "items": documents}, default=str))
    whole, rest = load_state([str(path)]), load_state([str(copy)])
    assert list(objects_of(rest)) == list(objects_of(whole))


def test_there_are_states_to_compare() -> None:
    assert len(STATES) >= 10


def test_nobodys_secrets_stay() -> None:
    obj = pod("p", labels={"app": "a"})
    obj["metadata"] |= {
        "annotations": {
            "kubectl.kubernetes.io/last-applied-configuration": SECRET,
            "controller.kubernetes.io/pod-deletion-cost": "3",
        },
        "managedFields": [{"manager": SECRET}],
    }
    container = obj["spec"]["containers"][0]
    container |= {
        "env": [{"name": "PASSWORD", "value": SECRET}],
        "command": ["sh", "-c", SECRET],
        "args": [SECRET],
        "livenessProbe": {"exec": {"command": [SECRET]}},
    }
    obj["spec"] |= {
        "imagePullSecrets": [{"name": SECRET}],
        "hostAliases": [{"hostnames": [SECRET]}],
        "volumes": [{"name": "v", "secret": {"secretName": SECRET}}, {"name": "e", "emptyDir": {}}],
    }
    obj["status"]["message"] = SECRET
    rest = trimmed(obj)
    assert SECRET not in json.dumps(rest)
    assert rest["metadata"]["annotations"] == {"controller.kubernetes.io/pod-deletion-cost": "3"}
    assert rest["spec"]["volumes"] == [{"name": "v"}, {"name": "e", "emptyDir": {}}]


def test_nobodys_secrets_stay_in_templates() -> None:
    template = pod("p")
    template["spec"]["containers"][0]["env"] = [{"name": "PASSWORD", "value": SECRET}]
    job = {"template": {"metadata": {}, "spec": template["spec"]}}
    for kind, version, spec in (
        ("Deployment", "apps/v1", job),
        ("CronJob", "batch/v1", {"jobTemplate": {"spec": job}}),
    ):
        rest = trimmed({"kind": kind, "apiVersion": version, "metadata": {}, "spec": spec})
        assert SECRET not in json.dumps(rest)
        assert '"containers"' in json.dumps(rest)


def test_what_is_read_from_the_json_stays() -> None:
    obj = pod("p", node="n")
    obj["status"] = {
        "conditions": [{"type": "Ready", "lastTransitionTime": "2026-01-01T00:00:00Z"}],
        "containerStatuses": [{"name": "c", "restartCount": 2, "imageID": "x"}],
    }
    rest = trimmed(obj)
    assert rest["spec"]["nodeName"] == "n"
    assert rest["status"]["conditions"][0]["lastTransitionTime"]
    assert rest["status"]["containerStatuses"] == [{"name": "c", "restartCount": 2}]


def test_an_object_of_v1beta1_becomes_one_of_v1_before_its_fields_are_chosen() -> None:
    rest = trimmed(
        {
            "apiVersion": "resource.k8s.io/v1beta1",
            "kind": "ResourceSlice",
            "metadata": {"name": "s"},
            "spec": {"devices": [{"name": "d", "basic": {"attributes": {"a": {"int": 1}}}}]},
        }
    )
    assert rest["apiVersion"] == "resource.k8s.io/v1"
    assert rest["spec"]["devices"] == [{"name": "d", "attributes": {"a": {"int": 1}}}]


def test_an_object_of_a_plugin_keeps_all_but_managed_fields_and_annotations() -> None:
    group = {
        "apiVersion": "scheduling.x-k8s.io/v1alpha1",
        "kind": "PodGroup",
        "metadata": {"name": "g", "annotations": {"a": SECRET}, "managedFields": []},
        "spec": {"minMember": 3},
    }
    assert trimmed(group) == {**group, "metadata": {"name": "g"}}


@pytest.mark.parametrize("value", [None, [], "text", 3])
def test_what_is_of_another_shape_stays_for_the_loader_to_refuse(value: object) -> None:
    assert trimmed({"kind": "Pod", "apiVersion": "v1", "spec": value})["spec"] == value
    assert trimmed(node("n") | {"status": value})["status"] == value


@pytest.mark.parametrize("struct", UNREAD_FIELDS, ids=lambda struct: struct.__name__)
def test_every_unread_field_is_one_of_its_type(struct: type[msgspec.Struct]) -> None:
    fields = {field.encode_name for field in msgspec.structs.fields(struct)}
    assert fields >= {*UNREAD_FIELDS[struct]}


def test_parameters_attributes_and_addresses_of_volumes_are_gone() -> None:
    secrets = {"password": SECRET}
    sources = {
        "csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": secrets, "fsType": SECRET},
        "nfs": {"server": SECRET, "path": SECRET},
        "hostPath": {"path": SECRET},
        "azureFile": {"secretName": SECRET, "secretNamespace": SECRET, "shareName": SECRET},
        "iscsi": {"targetPortal": SECRET, "iqn": "q", "lun": 1, "chapAuthSession": SECRET},
    }
    volume = {"apiVersion": "v1", "kind": "PersistentVolume", "metadata": {}, "spec": sources}
    storage = {"apiVersion": "storage.k8s.io/v1", "metadata": {"name": "s"}}
    storage_class = {**storage, "kind": "StorageClass", "parameters": secrets, "provisioner": "d"}
    attachment = {**storage, "kind": "VolumeAttachment"}
    attachment["spec"] = {"source": {"inlineVolumeSpec": sources}}
    user = pod("p", spec={"volumes": [{"name": "v", "csi": sources["csi"]}]})
    rest = [trimmed(each) for each in (volume, storage_class, attachment, user)]
    assert SECRET not in json.dumps(rest)
    assert rest[0]["spec"]["csi"] == {"driver": "d", "volumeHandle": "h"}
    assert rest[0]["spec"]["hostPath"] == {}


@pytest.mark.parametrize(
    ("version", "kind", "is_read"),
    [
        ("v1", "Pod", True),
        ("v1", "Secret", False),
        ("v1", "ConfigMap", False),
        ("", "Secret", False),
        ("events.k8s.io/v1", "Event", False),
        ("a.example/v1", "Widget", True),
        ("b.example/v1", "Widget", False),
        ("b.example/v1", "Pod", False),
    ],
)
def test_kinds_that_nothing_reads_are_not_written_and_secrets_never(
    version: str, kind: str, is_read: bool
) -> None:
    assert is_written(version, kind, {"Widget.a.example", "Secret"}) is is_read


@pytest.mark.parametrize(
    ("kind", "spec"),
    [
        ("Deployment", {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 0}}}),
        ("Deployment", {"strategy": {"type": "Recreate"}}),
        ("StatefulSet", {"podManagementPolicy": "Parallel", "minReadySeconds": 5}),
        ("StatefulSet", {"updateStrategy": {"rollingUpdate": {"partition": 2}}}),
        ("DaemonSet", {"updateStrategy": {"rollingUpdate": {"maxUnavailable": "10%"}}}),
        ("DaemonSet", {"minReadySeconds": 5}),
    ],
)
def test_what_a_rollout_depends_on_stays(kind: str, spec: dict[str, Any]) -> None:
    manifest = {"apiVersion": "apps/v1", "kind": kind, "metadata": {"name": "w"}, "spec": spec}
    assert trimmed(manifest)["spec"] == spec
