"""Lists in pages."""

from typing import Any

import msgspec
import pytest

from ksched_cli.live.client import ClusterError, StatusError
from ksched_cli.live.lists import ObjectList, Resource, read_list
from ksched_cli.testing import pod
from tests.live.fake_api_server import CLOSED, CUT, ApiServer, Outage
from tests.live.fixtures import Connect, Serve

PODS = Resource("Pod", "v1", "pods", True)
PATH = "/api/v1/pods?limit=500"


@pytest.fixture
def server(serve: Serve) -> ApiServer:
    """Five pods, two on a page."""
    return serve(*(pod(f"p{number}", namespace="web") for number in range(5)), page=2)


def names(objects: ObjectList) -> list[str]:
    return [msgspec.json.decode(item)["metadata"]["name"] for item in objects.items]


def read(client: Any, **options: Any) -> ObjectList:
    return read_list(client, PODS, "", bytes, **options)


def test_all_pages_are_one_list(server: ApiServer, connected: Connect) -> None:
    counts: list[int] = []
    objects = read(connected(server), on_items=counts.append)
    assert names(objects) == ["p0", "p1", "p2", "p3", "p4"]
    assert counts == [2, 4, 5]
    assert objects.resource_version == "1001"
    assert server.requests == [PATH, f"{PATH}&continue=2", f"{PATH}&continue=4"]


def test_a_continue_token_that_has_expired_begins_the_list_again(
    server: ApiServer, connected: Connect
) -> None:
    server.faults.expired = 1
    assert names(read(connected(server))) == ["p0", "p1", "p2", "p3", "p4"]
    assert server.requests[:3] == [PATH, f"{PATH}&continue=2", PATH]


def test_tokens_that_always_expire_end_in_one_list_without_pages(
    server: ApiServer, connected: Connect
) -> None:
    server.faults.expired = 99
    assert len(read(connected(server)).items) == 5
    assert server.requests.count(PATH) == 2
    assert server.requests[-1] == "/api/v1/pods"


@pytest.mark.parametrize("count", [1, 2])
def test_tokens_that_repeat_for_ever_end_in_an_error(
    count: int, server: ApiServer, connected: Connect
) -> None:
    """count: how many different ones there are"""
    page = {"metadata": {"resourceVersion": "1"}, "items": None}

    def answer(target: str, token: str) -> tuple[int, dict[str, Any]]:
        server.requests.append(target)
        metadata = {"continue": str(len(server.requests) % count)}
        return 200, {**page, "metadata": metadata}

    server.answer = answer  # type: ignore[method-assign]
    with pytest.raises(ClusterError, match=r"the list of pods has no end: .* repeats"):
        read(connected(server))
    assert len(server.requests) == count + 1


def test_a_refusal_is_left_to_the_caller(server: ApiServer, connected: Connect) -> None:
    server.faults.refused = {"/api/v1/pods": 403}
    with pytest.raises(StatusError) as error:
        read(connected(server))
    assert error.value.status == 403
    assert server.requests == [PATH]


def test_a_server_that_dies_between_pages_is_an_error(
    server: ApiServer, connected: Connect
) -> None:
    server.faults.dies_after = 2
    with pytest.raises(ClusterError, match="while objects of kind Pod were read"):
        read(connected(server))


@pytest.mark.parametrize("outage", [429, 500, CLOSED, CUT])
def test_a_page_that_breaks_once_is_read_again(
    outage: Outage, server: ApiServer, connected: Connect
) -> None:
    server.faults.passing = {"/api/v1/pods": [None, outage]}
    assert names(read(connected(server))) == ["p0", "p1", "p2", "p3", "p4"]


@pytest.mark.parametrize("body", [b"{}", b'{"kind":"Status"}', b"[]", b'{"metadata":{}}'])
def test_what_is_no_list_is_no_empty_list(body: bytes) -> None:
    class Server:
        def get(self, *_: object) -> bytes:
            return body

    with pytest.raises(ClusterError, match="the answer to a list of pods is not a list"):
        read(Server())


def test_no_objects_are_an_empty_list(serve: Serve, connected: Connect) -> None:
    assert read(connected(serve())).items == []
