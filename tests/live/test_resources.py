"""Which resources a server has, in which version."""

import pytest

from ksched_cli.cluster.loading.kinds import KINDS
from ksched_cli.live.client import ClusterError
from ksched_cli.live.lists import discover, kinds_to_read
from tests.live.fake_api_server import CLOSED, CUT, HALF, SERVED, Outage
from tests.live.fixtures import Connect, Serve


def test_every_kind_that_ksched_reads_is_looked_for(serve: Serve, connected: Connect) -> None:
    resources = discover(connected(serve()), kinds_to_read())
    assert list(resources) == list(KINDS)
    assert None not in resources.values()


def test_kinds_of_plugins_are_looked_for_too(serve: Serve, connected: Connect) -> None:
    group = "scheduling.x-k8s.io"
    served = {**SERVED, f"{group}/v1alpha1": {"PodGroup": ("podgroups", True)}}
    server = connected(serve(served=served))
    resource = discover(server, kinds_to_read([f"PodGroup.{group}"]))["PodGroup"]
    assert resource is not None
    assert resource.path("web") == f"/apis/{group}/v1alpha1/namespaces/web/podgroups"


def test_a_kind_of_a_plugin_that_has_the_name_of_another_kind_keeps_its_group() -> None:
    kinds = kinds_to_read(["Pod.example.com", "DeviceClass.resource.k8s.io"])
    assert (kinds["Pod"], kinds["Pod.example.com"]) == ("", "example.com")
    assert len(kinds) == len(KINDS) + 1


def test_the_version_is_the_preferred_of_those_that_can_be_read(
    serve: Serve, connected: Connect
) -> None:
    kinds = SERVED["resource.k8s.io/v1"]
    rest = {version: kinds for version, kinds in SERVED.items() if "resource" not in version}
    alpha, beta = {"resource.k8s.io/v1alpha3": kinds}, {"resource.k8s.io/v1beta1": kinds}
    resources = discover(connected(serve(served={**rest, **alpha, **beta})), kinds_to_read())
    assert resources["DeviceClass"] is not None
    assert resources["DeviceClass"].api_version == "resource.k8s.io/v1beta1"
    resources = discover(connected(serve(served={**rest, **alpha})), kinds_to_read())
    assert resources["DeviceClass"] is None


@pytest.mark.parametrize("path", ["/apis", "/api/v1", "/apis/resource.k8s.io/v1"])
@pytest.mark.parametrize("outage", [429, 500, 503, CLOSED, CUT, HALF])
def test_a_server_that_cannot_tell_what_it_has_is_an_error(
    path: str, outage: Outage, serve: Serve, connected: Connect
) -> None:
    server = serve()
    server.faults.refused = {path: outage}
    with pytest.raises(ClusterError):
        discover(connected(server), kinds_to_read())


def test_a_version_that_is_gone_has_nothing(serve: Serve, connected: Connect) -> None:
    server = serve()
    server.faults.refused = {"/apis/resource.k8s.io/v1": 404}
    kinds = {"ResourceClaim": "resource.k8s.io"}
    assert discover(connected(server), kinds) == {"ResourceClaim": None}
