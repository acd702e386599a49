"""CEL functions that Kubernetes adds for IP addresses and networks.

Upstream: apiserver/pkg/cel (ip.go, cidr.go), apiserver/pkg/cel/library (ip.go, cidr.go),
net/netip.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address, ip_address
from typing import Any, TypeAlias

from ksched_cli.cel.values import CelError, no_overload, text

Function: TypeAlias = Callable[..., Any]

_BITS = re.compile(r"0|[1-9][0-9]{0,2}")


@dataclass(frozen=True, slots=True)
class IP:
    """An IP address. bits: the length of the address, 32 or 128."""

    address: IPv4Address | IPv6Address

    @property
    def bits(self) -> int:
        return self.address.max_prefixlen


@dataclass(frozen=True, slots=True)
class CIDR:
    """A network. ip: any address in it, not only the first; bits: the prefix length."""

    ip: IP
    bits: int

    def masked(self) -> CIDR:
        prefix = int(self.ip.address) >> self._host_bits << self._host_bits
        return CIDR(IP(type(self.ip.address)(prefix)), self.bits)

    def contains(self, ip: IP) -> bool:
        if ip.bits != self.ip.bits:
            return False
        return int(ip.address) >> self._host_bits == int(self.ip.address) >> self._host_bits

    @property
    def _host_bits(self) -> int:
        return self.ip.bits - self.bits


def _parse_ip(literal: str) -> IP:
    try:
        address = ip_address(literal)
    except ValueError as error:
        raise CelError(f'IP Address "{literal}" parse error: {error}') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelError(f'IP address "{literal}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelError(f'IPv4-mapped IPv6 address "{literal}" is not allowed')
    return IP(address)


def _parse_cidr(literal: str) -> CIDR:
    address, slash, bits = literal.rpartition("/")
    if not slash or not _BITS.fullmatch(bits):
        raise CelError(f'network address parse error: "{literal}"')
    ip = _parse_ip(address)
    if int(bits) > ip.bits:
        raise CelError(f'network address parse error: "{literal}": prefix length out of range')
    return CIDR(ip, int(bits))


def _ip(value: Any) -> IP:
    return value.ip if isinstance(value, CIDR) else _parse_ip(text("ip", value))


def _cidr(literal: Any) -> CIDR:
    return _parse_cidr(text("cidr", literal))


def _is_ip(literal: Any) -> bool:
    return _parses(_parse_ip, text("isIP", literal))


def _is_cidr(literal: Any) -> bool:
    return _parses(_parse_cidr, text("isCIDR", literal))


def _parses(parse: Callable[[str], object], literal: str) -> bool:
    try:
        parse(literal)
    except CelError:
        return False
    return True


def _is_canonical(literal: Any) -> bool:
    return str(_parse_ip(text("ip.isCanonical", literal)).address) == literal


def _ip_property(name: str, property_of: Callable[[IPv4Address | IPv6Address], object]) -> Function:
    def function(value: Any) -> object:
        if not isinstance(value, IP):
            raise no_overload(name, value)
        return property_of(value.address)

    return function


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    first = address.packed
    if address.version == 4:
        return first[:3] == b"\xe0\x00\x00"
    return first[0] == 0xFF and first[1] & 0x0F == 0x02


def _is_global_unicast(address: IPv4Address | IPv6Address) -> bool:
    """As in upstream's net.IP.IsGlobalUnicast, private addresses count as global."""
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )


def _network(function: str, value: Any) -> CIDR:
    if not isinstance(value, CIDR):
        raise no_overload(function, value)
    return value


def _contains_ip(network: Any, other: Any) -> bool:
    ip = _parse_ip(other) if isinstance(other, str) else other
    if not isinstance(ip, IP):
        raise no_overload("containsIP", network, other)
    return _network("containsIP", network).contains(ip)


def _contains_cidr(network: Any, other: Any) -> bool:
    inner = _parse_cidr(other) if isinstance(other, str) else other
    outer = _network("containsCIDR", network)
    if not isinstance(inner, CIDR):
        raise no_overload("containsCIDR", network, other)
    return outer.bits <= inner.bits and outer.contains(inner.ip)


def _prefix_length(network: Any) -> int:
    return _network("prefixLength", network).bits


def _masked(network: Any) -> CIDR:
    return _network("masked", network).masked()


NETWORK: dict[str, Function] = {
    "ip": _ip,
    "isIP": _is_ip,
    "ip.isCanonical": _is_canonical,
    "family": _ip_property("family", lambda address: address.version),
    "isUnspecified": _ip_property("isUnspecified", lambda address: address.is_unspecified),
    "isLoopback": _ip_property("isLoopback", lambda address: address.is_loopback),
    "isLinkLocalMulticast": _ip_property("isLinkLocalMulticast", _is_link_local_multicast),
    "isLinkLocalUnicast": _ip_property("isLinkLocalUnicast", lambda address: address.is_link_local),
    "isGlobalUnicast": _ip_property("isGlobalUnicast", _is_global_unicast),
    "cidr": _cidr,
    "isCIDR": _is_cidr,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": _prefix_length,
    "masked": _masked,
}
