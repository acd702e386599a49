"""What Kubernetes adds to CEL for addresses and networks, as network devices hold them.

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
    address: IPv4Address | IPv6Address

    @property
    def bits(self) -> int:
        return self.address.max_prefixlen


@dataclass(frozen=True, slots=True)
class CIDR:
    """A network, with an address in it that need not be its first."""

    ip: IP
    bits: int

    def masked(self) -> CIDR:
        kept = int(self.ip.address) >> self._rest << self._rest
        return CIDR(IP(type(self.ip.address)(kept)), self.bits)

    def contains(self, ip: IP) -> bool:
        if ip.bits != self.ip.bits:
            return False
        return int(ip.address) >> self._rest == int(self.ip.address) >> self._rest

    @property
    def _rest(self) -> int:
        return self.ip.bits - self.bits


def _parse_ip(written: str) -> IP:
    try:
        address = ip_address(written)
    except ValueError as error:
        raise CelError(f'IP Address "{written}" parse error: {error}') from None
    if isinstance(address, IPv6Address):
        if address.scope_id is not None:
            raise CelError(f'IP address "{written}" with zone value is not allowed')
        if address.ipv4_mapped is not None:
            raise CelError(f'IPv4-mapped IPv6 address "{written}" is not allowed')
    return IP(address)


def _parse_cidr(written: str) -> CIDR:
    address, slash, bits = written.rpartition("/")
    if not slash or not _BITS.fullmatch(bits):
        raise CelError(f'network address parse error: "{written}"')
    ip = _parse_ip(address)
    if int(bits) > ip.bits:
        raise CelError(f'network address parse error: "{written}": prefix length out of range')
    return CIDR(ip, int(bits))


def _ip(given: Any) -> IP:
    return given.ip if isinstance(given, CIDR) else _parse_ip(text("ip", given))


def _cidr(written: Any) -> CIDR:
    return _parse_cidr(text("cidr", written))


def _is_ip(written: Any) -> bool:
    return _succeeds(_parse_ip, text("isIP", written))


def _is_cidr(written: Any) -> bool:
    return _succeeds(_parse_cidr, text("isCIDR", written))


def _succeeds(parse: Callable[[str], object], written: str) -> bool:
    try:
        parse(written)
    except CelError:
        return False
    return True


def _is_canonical(written: Any) -> bool:
    return str(_parse_ip(text("ip.isCanonical", written)).address) == written


def _about_ip(name: str, holds: Callable[[IPv4Address | IPv6Address], object]) -> Function:
    def function(given: Any) -> object:
        if not isinstance(given, IP):
            raise no_overload(name, given)
        return holds(given.address)

    return function


def _is_link_local_multicast(address: IPv4Address | IPv6Address) -> bool:
    first = address.packed
    if address.version == 4:
        return first[:3] == b"\xe0\x00\x00"
    return first[0] == 0xFF and first[1] & 0x0F == 0x02


def _is_global_unicast(address: IPv4Address | IPv6Address) -> bool:
    """Upstream takes private addresses for global."""
    return not (
        address.is_unspecified
        or address.is_loopback
        or address.is_multicast
        or address.is_link_local
        or address == IPv4Address("255.255.255.255")
    )


def _network(function: str, given: Any) -> CIDR:
    if not isinstance(given, CIDR):
        raise no_overload(function, given)
    return given


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
    "family": _about_ip("family", lambda address: address.version),
    "isUnspecified": _about_ip("isUnspecified", lambda address: address.is_unspecified),
    "isLoopback": _about_ip("isLoopback", lambda address: address.is_loopback),
    "isLinkLocalMulticast": _about_ip("isLinkLocalMulticast", _is_link_local_multicast),
    "isLinkLocalUnicast": _about_ip("isLinkLocalUnicast", lambda address: address.is_link_local),
    "isGlobalUnicast": _about_ip("isGlobalUnicast", _is_global_unicast),
    "cidr": _cidr,
    "isCIDR": _is_cidr,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "prefixLength": _prefix_length,
    "masked": _masked,
}
