"""IP addresses and networks."""

import pytest

from ksched_cli.cel.functions import NETWORK
from ksched_cli.cel.values import CelError


@pytest.mark.parametrize("text", ["10.0.0", "fe80::1%eth0", "::ffff:10.0.0.1", "10.0.0.01", "here"])
def test_what_is_no_address_is_an_error(text: str) -> None:
    assert not NETWORK["isIP"](text)
    with pytest.raises(CelError):
        NETWORK["ip"](text)


@pytest.mark.parametrize("text", ["10.0.0.0", "10.0.0.0/33", "10.0.0.0/08", "x/8"])
def test_what_is_no_network_is_an_error(text: str) -> None:
    assert not NETWORK["isCIDR"](text)
    with pytest.raises(CelError):
        NETWORK["cidr"](text)


def test_a_network_contains_addresses_and_networks_of_its_family() -> None:
    network = NETWORK["cidr"]("10.1.2.3/8")
    assert NETWORK["containsIP"](network, "10.200.0.1")
    assert not NETWORK["containsIP"](network, NETWORK["ip"]("11.0.0.1"))
    assert not NETWORK["containsIP"](network, "::1")
    assert NETWORK["containsCIDR"](network, "10.0.0.0/16")
    assert not NETWORK["containsCIDR"](network, "10.0.0.0/7")


def test_a_network_has_a_prefix_an_address_and_a_mask() -> None:
    network = NETWORK["cidr"]("10.1.2.3/8")
    assert NETWORK["prefixLength"](network) == 8
    assert NETWORK["ip"](network) == NETWORK["ip"]("10.1.2.3")
    assert NETWORK["masked"](network) == NETWORK["cidr"]("10.0.0.0/8")


@pytest.mark.parametrize(
    ("function", "address", "result"),
    [
        ("family", "::1", 6),
        ("isLoopback", "127.0.0.1", True),
        ("isUnspecified", "0.0.0.0", True),
        ("isLinkLocalMulticast", "224.0.0.5", True),
        ("isLinkLocalMulticast", "ff02::1", True),
        ("isLinkLocalMulticast", "224.0.1.5", False),
        ("isLinkLocalUnicast", "169.254.0.1", True),
        ("isGlobalUnicast", "10.0.0.1", True),
        ("isGlobalUnicast", "255.255.255.255", False),
    ],
)
def test_an_address_has_properties(function: str, address: str, result: int) -> None:
    assert NETWORK[function](NETWORK["ip"](address)) == result


def test_only_the_canonical_form_is_canonical() -> None:
    assert NETWORK["ip.isCanonical"]("2001:db8::1")
    assert not NETWORK["ip.isCanonical"]("2001:DB8::1")
