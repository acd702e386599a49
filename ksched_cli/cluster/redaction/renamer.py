"""Texts renamed by their sort, so that what referred to something still does.

A text stays only where a list names it: Kubernetes's own names and the constants that plugins
compare with. Everything else gets a code, or goes.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

import msgspec

from ksched_cli.cluster.loading.kinds import NAMESPACE_NAME_LABEL
from ksched_cli.cluster.node_affinity import NODE_NAME_FIELD
from ksched_cli.cluster.objects import HOSTNAME_LABEL
from ksched_cli.cluster.pod_info import ANY_HOST
from ksched_cli.cluster.redaction.codebook import Codebook, Codes
from ksched_cli.cluster.trimming import READ_ANNOTATIONS


class PublicNames(msgspec.Struct, frozen=True):
    """public_names.json.

    namespaces:  that every cluster has
    objects:     classes that every cluster has, the default scheduler, and storage drivers that the
                 migration of in-tree volumes names
    keys:        of labels and annotations, as far as schedulers see them. Upstream: "Well-Known
                 Labels, Annotations and Taints"
    domains:     of keys and resources, and groups of APIs, that are Kubernetes's own
    values:      keys whose values tell nothing → the pattern of these values
    resources:   that every cluster may have
    owner_kinds: of owners, whose names are not those of somebody's own resources
    condition_types, reasons: of conditions
    features:    that nodes declare and a plugin knows, in order
    """

    namespaces: frozenset[str]
    objects: frozenset[str]
    keys: frozenset[str]
    domains: frozenset[str]
    values: Mapping[str, str]
    resources: frozenset[str]
    owner_kinds: frozenset[str]
    condition_types: frozenset[str]
    reasons: frozenset[str]
    features: tuple[str, ...]


@cache
def public_names() -> PublicNames:
    data = Path(__file__).with_name("public_names.json").read_bytes()
    names = msgspec.json.decode(data, type=PublicNames)
    return msgspec.structs.replace(names, keys=names.keys | READ_ANNOTATIONS)


# A domain below these stays so: what is not an extended resource is told by it.
_SUFFIX = re.compile(r"(.+)(\.(?:kubernetes|k8s)\.io)")
_INTEGER = re.compile(r"[+-]?\d+")
_ORDINAL = re.compile(r"(.+)-(0|[1-9]\d{0,4})")
_VERSION = re.compile(r"v?\d{1,3}\.\d{1,3}(\.\d{1,3})?(?![\d.])")
_API_VERSION = re.compile(r"v\d{1,2}((alpha|beta)\d{1,2})?")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?(Z|[+-]\d\d:\d\d)")
_QUANTITY = re.compile(r"[+-]?[\d.]+([numkKMGTPE]i?|[eE][+-]?\d+)?")
_PERCENTAGE = re.compile(r"\d{1,10}%?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_STRING = re.compile(r"\"([^\"]*)\"|'([^']*)'")
_ANY_ADDRESS = ("", ANY_HOST, "::", "127.0.0.1", "::1")
_IMAGE_PARTS = frozenset(("latest",))  # a tag that is added where there is none
_VOLUME_PARTS = frozenset(("aws", "vol"))  # aws://ZONE/vol-ID
_DEFAULT_POOL = "rbd"
# Resources whose names end in that of a storage driver or of a device class, or in a size.
_VOLUMES, _CLASS = "attachable-volumes-csi-", "deviceclass.resource.kubernetes.io/"
_HUGE_PAGES = "hugepages-"
_MIGRATED = "storage.alpha.kubernetes.io/migrated-plugins"
# Keys whose values are names of nodes.
_NODE_KEYS = (HOSTNAME_LABEL, NODE_NAME_FIELD, "volume.kubernetes.io/selected-node")
# Versions have no other separators than these, in which codes may not differ.
_VERSION_SEPARATORS = str.maketrans({".": "-", "-": "--", "+": "---"})


class Renamer:
    """Renames texts by their sort.

    In a first pass over all objects it only learns: texts come back as they are until
    `learned` is called.
    """

    def __init__(self, codes: Codes) -> None:
        self._codes, self._public = codes, public_names()
        self._is_learning = True
        self._numeric_keys: set[str] = set()
        self._sorted_keys: set[str] = set()
        self._stateful_sets: set[str] = set()
        self._selected_names: set[str] = set()
        self._selected_texts: set[str] = set()
        self._cache: dict[str, str] = {}

    # -- the first pass ----------------------------------------------------------------------------

    def learn_stateful_set(self, name: str) -> None:
        """Learn a StatefulSet's name: names of its pods, and of their claims, end in an ordinal,
        which is read."""
        self._stateful_sets.add(name)

    def learn_numeric_key(self, key: str) -> None:
        """Learn a key whose values are compared as numbers, with Gt or Lt."""
        self._numeric_keys.add(key)

    def learn_sorted_key(self, key: str) -> None:
        """Learn a key whose values are domains that pod groups try in order."""
        self._sorted_keys.add(key)

    def learn_expression(self, expression: str) -> None:
        """Learn from a selector of devices in CEL the attributes, capacities and drivers that it
        may mention."""
        self._selected_names.update(_IDENTIFIER.findall(expression))
        for groups in _STRING.findall(expression):
            self._selected_texts.update(groups)

    def learn_more(self) -> None:
        """Begin a first pass over further objects."""
        self._is_learning = True

    def learned(self) -> None:
        """End the first pass: codes for all that was there."""
        for codebook in self._codes:
            codebook.assign()
        self._is_learning = False

    # -- names -------------------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """Rename any text that is of no other sort."""
        if self._is_learning:
            return self._learn(text, self._codes.drawn)
        renamed = self._cache.get(text)
        if renamed is not None:
            return renamed
        match = _ORDINAL.fullmatch(text)
        # Pods of a StatefulSet are SET-0; their claims are TEMPLATE-SET-0.
        owner = match[1] if match is not None else ""
        while owner and owner not in self._stateful_sets:
            owner = owner.partition("-")[2]
        if text in self._public.objects:
            renamed = text
        elif match is not None and owner:
            renamed = f"{self._codes.drawn.renamed(match[1])}-{match[2]}"
        else:
            renamed = self._codes.drawn.renamed(text)
        self._cache[text] = renamed
        return renamed

    def sorted_name(self, text: str) -> str:
        """Return a name that plugins sort by: of a node, a volume, a slice of devices."""
        if self._is_learning:
            return self._learn(text, self._codes.in_order)
        return text if text in self._public.objects else self._codes.in_order.renamed(text)

    def _learn(self, text: str, codebook: Codebook) -> str:
        codebook.collect(text)
        return text

    def namespace(self, text: str) -> str:
        return text if text in self._public.namespaces else self.name(text)

    # -- labels, resources -------------------------------------------------------------------------

    def key(self, text: str) -> str:
        """Rename a key of labels, annotations, taints, topology or gates."""
        if text in self._public.keys or text == NODE_NAME_FIELD:
            return text
        domain, slash, rest = text.partition("/")
        return f"{self._domain(domain, self.name)}/{self.name(rest)}" if slash else self.name(text)

    def _domain(self, text: str, name: Callable[[str], str]) -> str:
        """Rename a domain. Kubernetes's own stay; one below them keeps their end."""
        if text in self._public.domains:
            return text
        match = _SUFFIX.fullmatch(text)
        return name(text) if match is None else f"{name(match[1])}{match[2]}"

    def value(self, key: str, text: str) -> str:
        """Rename the value of a label, an annotation or a taint with this key."""
        if key == NAMESPACE_NAME_LABEL:
            return self.namespace(text)
        if key in _NODE_KEYS:
            return self.sorted_name(text)
        if key == _MIGRATED:
            return ",".join(map(self.name, text.split(",")))
        pattern = self._public.values.get(key)
        if pattern is not None and re.fullmatch(pattern, text):
            return text
        if self._is_learning:
            self._learn(text, self._codes.in_order)  # its key may turn out to be a sorted one
            return self.name(text)
        if key in self._numeric_keys and _INTEGER.fullmatch(text):
            return text
        return self.sorted_name(text) if key in self._sorted_keys else self.name(text)

    def resource(self, text: str) -> str:
        """Return a resource's name: Kubernetes's own stay."""
        if text in self._public.resources:
            return text
        for prefix, rename in (
            (_VOLUMES, self.name),
            (_CLASS, self.sorted_name),
            (_HUGE_PAGES, self._size),
        ):
            if text.startswith(prefix):
                return f"{prefix}{rename(text.removeprefix(prefix))}"
        domain, slash, rest = text.partition("/")
        if not slash:
            return self.sorted_name(text)
        return f"{self._domain(domain, self.sorted_name)}/{self.sorted_name(rest)}"

    def _size(self, text: str) -> str:
        return text if _QUANTITY.fullmatch(text) else self.sorted_name(text)

    # -- images, volumes, hosts --------------------------------------------------------------------

    def image(self, text: str) -> str:
        return self._with_public_parts(text, _IMAGE_PARTS)

    def ebs_volume(self, text: str) -> str:
        return self._with_public_parts(text, _VOLUME_PARTS)

    def _with_public_parts(self, text: str, public: frozenset[str]) -> str:
        codebook = self._codes.drawn
        return self._learn(text, codebook) if self._is_learning else codebook.renamed(text, public)

    def pool(self, text: str) -> str:
        return text if text == _DEFAULT_POOL else self.name(text)

    def address(self, text: str) -> str:
        return text if text in _ANY_ADDRESS else self.name(text)

    # -- kinds, versions, conditions ---------------------------------------------------------------

    def condition(self, text: str) -> str:
        """Return the type of a condition."""
        return text if text in self._public.condition_types else self.key(text)

    def reason(self, text: str) -> str:
        """Return the reason of a condition."""
        return text if text in self._public.reasons else ""

    def owner_kind(self, text: str) -> str:
        return text if text in self._public.owner_kinds else self.name(text)

    def group(self, text: str) -> str:
        return self._domain(text, self.name) if text else ""

    def owner_version(self, text: str) -> str:
        """Return an apiVersion."""
        group, slash, version = text.rpartition("/")
        version = version if _API_VERSION.fullmatch(version) else self.name(version)
        return f"{self.group(group)}{slash}{version}"

    def kubelet_version(self, text: str) -> str:
        """Return the version without a vendor's suffix."""
        match = _VERSION.match(text)
        return match[0] if match is not None else ""

    def feature(self, text: str) -> str:
        """Return a feature that a node declares: one that no plugin knows gets a name at the same
        place among those, because one out of order hides others."""
        features = self._public.features
        if text in features:
            return text
        place = bisect_right(features, text)
        return f"{features[place - 1]}0" if place else "0"

    # -- devices -----------------------------------------------------------------------------------

    def driver(self, text: str) -> str:
        """Return a driver of devices: one that a selector may mention stays, as the selector."""
        if text in self._public.domains or (not self._is_learning and text in self._selected_texts):
            return text
        return self.sorted_name(text)

    def attribute(self, text: str) -> str:
        """Return an attribute's or a capacity's name, with its domain or without: the same."""
        domain, slash, name = text.rpartition("/")
        stays = not self._is_learning and name in self._selected_names
        return f"{self.driver(domain) if slash else ''}{slash}{name if stays else self.name(name)}"

    def attribute_value(self, key: str, text: str) -> str:
        """Return the string of an attribute: the same."""
        stays = not self._is_learning and self._is_selected(key)
        return text if stays else self.name(text)

    def attribute_version(self, key: str, text: str) -> str:
        """Return the version of an attribute, which stays one: the same."""
        if not self._is_learning and self._is_selected(key):
            return text
        return f"0.0.0-{self.name(text).translate(_VERSION_SEPARATORS)}"

    def _is_selected(self, attribute: str) -> bool:
        return attribute.rpartition("/")[2] in self._selected_names

    # -- texts with a form, or none ----------------------------------------------------------------

    def expression(self, text: str) -> str:
        """Keep a selector of devices in CEL as it is."""
        return text

    def time(self, text: str) -> str:
        return text if _TIME.fullmatch(text) else ""

    def quantity(self, text: str) -> str:
        return text if _QUANTITY.fullmatch(text.strip()) else "0"

    def number(self, text: str) -> str:
        return text if _INTEGER.fullmatch(text) else ""

    def percentage(self, text: str) -> str:
        return text if _PERCENTAGE.fullmatch(text) else "0"

    def nothing(self, text: str) -> str:
        """Return no text: prose may name anything."""
        return ""


Rename = Callable[[Renamer, str], str]


def constant(*constants: str) -> Rename:
    """Return a function that keeps constants that plugins or the API compare with; what is none of
    them gets a code."""
    return lambda renamer, text: text if text in constants else renamer.name(text)
