"""Nothing that is planted in any text of any type of the API comes out of a redaction, but for what
docs/get-the-data.md says: selectors of devices, and what they mention."""

import json
import re
from itertools import count
from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.cluster.objects import CELDeviceSelector
from ksched_cli.cluster.objects.workloads import PodGroupObject
from ksched_cli.cluster.redaction.codebook import Codes
from ksched_cli.cluster.redaction.redact import redacted
from ksched_cli.cluster.trimming import READ_ANNOTATIONS
from ksched_cli.kube.quantity import Quantity

pytestmark = pytest.mark.slow

SECRET = "hunter"
NUMBERS = count(100)
# In how many disguises a secret may come: as a name, as what lists let pass, and beside it.
FORMS = (
    "{}",
    "{}-0",
    "_{}_",
    "{}/{}",
    "{}.k8s.io/{}",
    "kubernetes.io/{}",
    "attachable-volumes-{}",
    "attachable-volumes-csi-{}",
    "deviceclass.resource.kubernetes.io/{}",
    "hugepages-{}",
    "v1.36.0-{}",
    "1.0.0-{}",
    "2026-01-01T00:00:00Z{}",
    "kubernetes.io/aws-ebs,{}",
    "aws://{}/vol-{}",
    "{}:latest",
    "10.{}.0.1",
    "yes{}",
    "50%{}",
    "NoSchedule{}",
    "apps/{}",
    "{}/v1",
    "default{}",
    "Mit Leerzeichen und Umläuten: {}, ÄÖ{}",
)
KINDS_OF_TYPES: tuple[tuple[str, str, Any], ...] = (
    *(
        (name, f"{kind.group}/v1" if kind.group else "v1", kind.type)
        for name, kind in KINDS.items()
    ),
    ("PodGroup", "scheduling.k8s.io/v1beta1", PodGroupObject),
    ("CompositePodGroup", "scheduling.k8s.io/v1alpha3", PodGroupObject),
)
ANNOTATIONS = sorted(READ_ANNOTATIONS)


def text(form: str) -> str:
    """A secret in a form, each time another."""
    return form.format(*[f"{SECRET}{next(NUMBERS)}"] * form.count("{}"))


def planted(kind: Any, form: str, deep: int = 0) -> Any:
    """A value of a type with a secret in each of its texts."""
    origin, args = get_origin(kind), get_args(kind)
    if origin in (Union, UnionType):
        kinds = [arg for arg in args if arg is not NoneType]
        return planted(kinds[-1], form, deep)
    if origin is Annotated:
        return planted(args[0], form, deep)
    if origin in (tuple, list):
        return [planted(args[0], form, deep) for _ in range(2)]
    if origin is dict:
        return {text(form): planted(args[1], form, deep) for _ in range(2)}
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct):
        return planted_struct(kind, form, deep)
    if isinstance(kind, type) and issubclass(kind, Quantity):
        return text(form)
    return {int: 1, bool: True, float: 1.0}.get(kind, text(form))


def planted_struct(struct: type[msgspec.Struct], form: str, deep: int) -> Any:
    if struct is CELDeviceSelector:
        return {"expression": "true"}
    fields = {
        field.encode_name: planted(field.type, form, deep + 1)
        for field in msgspec.structs.fields(struct)
        if field.name != "raw"
    }
    if "annotations" in fields:
        fields["annotations"] = {key: text(form) for key in ANNOTATIONS}
    if "labels" in fields:
        labels = ("kubernetes.io/hostname", "kubernetes.io/arch", "topology.kubernetes.io/zone")
        fields["labels"] |= {key: text(form) for key in labels}
    # What no type has, and what is read from the JSON.
    more = ("nodeName", "lastTransitionTime", "emptyDir", text(form))
    return {**fields, **{key: text(form) for key in more}}


@pytest.mark.parametrize("form", FORMS)
def test_nothing_that_is_planted_comes_out(form: str) -> None:
    objects = [
        {**planted(struct, form), "kind": kind, "apiVersion": version}
        for kind, version, struct in KINDS_OF_TYPES
    ]
    secrets = re.findall(f"{SECRET}[0-9]+", json.dumps(objects))
    assert len(set(secrets)) > 1000
    changed, _ = redacted([json.dumps(obj).encode() for obj in objects], Codes.empty())
    assert len(changed) == len(objects)
    left = {
        (json.loads(obj)["kind"], match[0])
        for obj in changed
        for match in re.finditer(rf'[^",]*{SECRET}[^",]*', obj.decode())
    }
    assert left == set()


@pytest.mark.parametrize("version", [f"{SECRET}", f"apps/{SECRET}"])
def test_a_version_that_is_none_goes(version: str) -> None:
    kind = "Deployment" if "/" in version else "Pod"
    obj = {"apiVersion": version, "kind": kind, "metadata": {"name": "a"}}
    changed, _ = redacted([json.dumps(obj).encode()], Codes.empty())
    assert SECRET not in changed[0].decode()


def test_what_a_selector_of_devices_mentions_stays() -> None:
    """An expression cannot be renamed without reading it as its author did."""
    expression = 'device.driver == "gpu.acme.com" && device.attributes["gpu.acme.com"].model == "x"'
    device_class = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "DeviceClass",
        "metadata": {"name": "c"},
        "spec": {"selectors": [{"cel": {"expression": expression}}]},
    }
    attributes = {"model": {"string": "x"}, "serial": {"version": "1.2.3"}}
    resource_slice = {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": "s"},
        "spec": {"driver": "gpu.acme.com", "devices": [{"name": "d", "attributes": attributes}]},
    }
    other = {**resource_slice, "metadata": {"name": "t"}, "spec": {"driver": "nic.acme.com"}}
    objects = [json.dumps(obj).encode() for obj in (device_class, resource_slice, other)]
    changed = [json.loads(obj) for obj in redacted(objects, Codes.empty())[0]]
    assert changed[0]["spec"]["selectors"][0]["cel"]["expression"] == expression
    spec = changed[1]["spec"]
    assert spec["driver"] == "gpu.acme.com"
    (_, serial), (name, model) = sorted(
        spec["devices"][0]["attributes"].items(), key=lambda item: "string" in item[1]
    )
    assert (name, model) == ("model", {"string": "x"})
    assert re.fullmatch("0.0.0-[a-z-]+", serial["version"])
    assert "acme" not in changed[2]["spec"]["driver"]
