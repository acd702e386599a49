"""The renaming of each sort of text in a state: names, namespaces, keys, values, images, addresses.

The same text of one sort is always renamed alike, so that what referred to something still does.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from ksched_cli.cluster.pod_info import ANY_HOST
from ksched_cli.cluster.redaction.codebook import Codebook
from ksched_cli.cluster.redaction.public_names import is_kubernetes_domain, public_names

NAMESPACE_NAME_KEY = "kubernetes.io/metadata.name"
NAME_FIELD = "metadata.name"  # what matchFields select by

_INTEGER = re.compile(r"[+-]?\d+")
_ORDINAL = re.compile(r"(.+)-(0|[1-9]\d{0,4})")
_VERSION = re.compile(r"v?\d+\.\d+(\.\d+)?")
_IDENTIFIER = re.compile(r"[A-Za-z_]\w*")
_ANY_ADDRESS = ("", ANY_HOST, "::", "127.0.0.1", "::1")
_IMAGE_PARTS = frozenset(("latest",))  # a tag that is added where there is none
_VOLUME_PARTS = frozenset(("aws", "vol"))  # aws://ZONE/vol-ID
_DEFAULT_POOL = "rbd"
# Resources whose names end in that of a storage driver or of a device class.
_RESOURCE_PREFIX = re.compile(r"attachable-volumes-csi-|deviceclass\.resource\.kubernetes\.io/")


class Renamer:
    """Renames texts by their sort.

    In a first pass over all objects it only learns: texts come back as they are until
    `learned` is called.
    """

    def __init__(self, codebook: Codebook) -> None:
        self._codebook, self._public = codebook, public_names()
        self._is_learning = True
        self._numeric_keys: set[str] = set()
        self._stateful_sets: set[str] = set()
        self._selected_attributes: set[str] = set()
        self._cache: dict[str, str] = {}

    # -- the first pass ----------------------------------------------------------------------------

    def learn_stateful_set(self, name: str) -> None:
        """Names of its pods, and of their claims, end in an ordinal, which is read."""
        self._stateful_sets.add(name)

    def learn_numeric_key(self, key: str) -> None:
        """Its values are compared as numbers, with Gt or Lt."""
        self._numeric_keys.add(key)

    def learn_expression(self, expression: str) -> None:
        """A selector of devices in CEL: the attributes that it may mention."""
        self._selected_attributes.update(_IDENTIFIER.findall(expression))

    def learn_more(self) -> None:
        """Begins a first pass over further objects."""
        self._is_learning = True

    def learned(self) -> None:
        """Ends the first pass: codes for all that was there."""
        self._codebook.assign()
        self._is_learning = False

    # -- sorts of text -----------------------------------------------------------------------------

    def name(self, text: str) -> str:
        """Any text that is of no other sort."""
        if self._is_learning:
            return self._learn(text)
        renamed = self._cache.get(text)
        if renamed is None:
            renamed = self._cache[text] = self._renamed_name(text)
        return renamed

    def _learn(self, text: str) -> str:
        self._codebook.collect(text)
        return text

    def _renamed_name(self, text: str) -> str:
        if text in self._public.objects:
            return text
        match = _ORDINAL.fullmatch(text)
        if match is not None and self._ends_in_stateful_set(match[1]):
            return f"{self._codebook.renamed(match[1])}-{match[2]}"
        return self._codebook.renamed(text)

    def _ends_in_stateful_set(self, text: str) -> bool:
        """Pods are SET-0; their claims are TEMPLATE-SET-0."""
        while text and text not in self._stateful_sets:
            text = text.partition("-")[2]
        return bool(text)

    def namespace(self, text: str) -> str:
        return text if text in self._public.namespaces else self.name(text)

    def key(self, text: str) -> str:
        """Renames a key of labels, annotations, taints, topology or gates. Kubernetes's own
        domains stay."""
        if text in self._public.keys or text == NAME_FIELD:
            return text
        domain, slash, rest = text.partition("/")
        if slash and is_kubernetes_domain(domain):
            return f"{domain}/{self.name(rest)}"
        return self.name(text)

    def value(self, key: str, text: str) -> str:
        """Renames the value of a label, an annotation or a taint with this key."""
        if key == NAMESPACE_NAME_KEY:
            return self.namespace(text)
        if key in self._public.keys_of_public_values:
            return text
        if not self._is_learning and key in self._numeric_keys and _INTEGER.fullmatch(text):
            return text
        return self.name(text)

    def resource(self, text: str) -> str:
        """A resource's name: Kubernetes's own stay."""
        match = _RESOURCE_PREFIX.match(text)
        if match is not None:
            return match[0] + self.name(text[match.end() :])
        domain, slash, _ = text.partition("/")
        return text if not slash or is_kubernetes_domain(domain) else self.name(text)

    def image(self, text: str) -> str:
        return self._with_public_parts(text, _IMAGE_PARTS)

    def ebs_volume(self, text: str) -> str:
        return self._with_public_parts(text, _VOLUME_PARTS)

    def _with_public_parts(self, text: str, public: frozenset[str]) -> str:
        return self._learn(text) if self._is_learning else self._codebook.renamed(text, public)

    def pool(self, text: str) -> str:
        return text if text == _DEFAULT_POOL else self.name(text)

    def address(self, text: str) -> str:
        return text if text in _ANY_ADDRESS else self.name(text)

    def condition(self, text: str) -> str:
        """The type of a condition: somebody's own have a domain."""
        return self.key(text) if "/" in text else text

    def owner_kind(self, text: str) -> str:
        return text if text in self._public.owner_kinds else self.name(text)

    def owner_version(self, text: str) -> str:
        """An apiVersion: groups of Kubernetes have no domain, or one of its own."""
        group, slash, version = text.rpartition("/")
        if not slash or "." not in group or is_kubernetes_domain(group):
            return text
        return f"{self.name(group)}/{version}"

    def kubelet_version(self, text: str) -> str:
        """Return the version without a vendor's suffix."""
        match = _VERSION.match(text)
        return match[0] if match is not None else ""

    def device_attribute(self, key: str, text: str) -> str:
        """The string of an attribute: one that a selector may mention stays, as the selector."""
        if key.rpartition("/")[2] in self._selected_attributes:
            return text
        return self.name(text)

    def unchanged(self, text: str) -> str:
        return text

    def nothing(self, text: str) -> str:
        """Return no text: prose may name anything."""
        return ""


Rename = Callable[[Renamer, str], str]
