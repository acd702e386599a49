"""The common part of all objects.

Upstream: k8s.io/apimachinery/pkg/apis/meta/v1/types.go.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Annotated, Any

import msgspec

from ksched_cli.kube.quantity import MILLI, Quantity, QuantityError

Int32 = Annotated[int, msgspec.Meta(ge=-(2**31), le=2**31 - 1)]
Int64 = Annotated[int, msgspec.Meta(ge=-(2**63), le=2**63 - 1)]
Time = Annotated[str, msgspec.Meta(min_length=1)]  # "" where the field is absent

# Go trims all white space, but what JSON writes as an escape, a tab for one, is none in its eyes.
_SPACES = " \x85\xa0\u1680\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))


class Record(msgspec.Struct, frozen=True, rename="camel", gc=False):
    """Part of an object. Unknown fields are ignored; absent ones have their zero value."""


class ResourceAmount(Quantity):
    """An amount in a resource list: never negative, rounded up to thousandths.

    Upstream: pkg/apis/core/v1/defaults.go (SetDefaults_ResourceList).
    """

    __slots__ = ()

    @classmethod
    def parse(cls, text: str) -> ResourceAmount:
        """Parse an amount. Raises QuantityError, also for a negative one."""
        return _parse_resource_amount(text)

    @classmethod
    def of(cls, amount: Quantity) -> ResourceAmount:
        """Round a quantity up to thousandths."""
        up = amount.round_up(MILLI)
        return cls(up.unscaled, up.scale, up.form, up.wide)


@lru_cache(maxsize=65536)
def _parse_resource_amount(text: str) -> ResourceAmount:
    amount = Quantity.parse(text)
    if amount.unscaled < 0:
        raise QuantityError("must be greater than or equal to 0")
    return ResourceAmount.of(amount)


ResourceList = dict[str, ResourceAmount]


def decode_hook(kind: type, value: object) -> object:
    """Create the quantities, the one type that msgspec does not know. Raises QuantityError."""
    if kind is ResourceAmount and type(value) is str:  # most of them, and many
        try:
            return _parse_resource_amount(value)
        except QuantityError:
            return _parse_leniently(kind, value)
    if not issubclass(kind, Quantity):
        raise NotImplementedError(kind)
    if type(value) is str:
        try:
            return kind.parse(value)
        except QuantityError:
            pass  # worded below
    return _parse_leniently(kind, value)


def _parse_leniently(kind: type[Quantity], value: object) -> Quantity:
    """Parse a quantity: numbers and spaces around are accepted, null is zero. Raises
    QuantityError."""
    if value is None:
        return kind.parse("0")
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        got = {dict: "object", list: "array", bool: "bool"}.get(type(value), "value")
        raise QuantityError(f"Expected `quantity`, got `{got}`")
    text = value if isinstance(value, str) else repr(value)
    try:
        return kind.parse(text.strip(_SPACES))
    except QuantityError as error:
        raise QuantityError(f'quantity "{text}": {error}') from None


def plain_fields(value: object) -> Any:
    """Return the value as in a manifest: plain data, without empty texts and lists, and nulls."""
    return _without_empty(msgspec.to_builtins(value, enc_hook=encode_hook))


def _without_empty(data: Any) -> Any:
    if isinstance(data, dict):
        return {k: _without_empty(v) for k, v in data.items() if v not in (None, "", [], ())}
    if isinstance(data, list | tuple):
        return [_without_empty(item) for item in data]
    return data


def encode_hook(value: object) -> str:
    """Write quantities in their canonical form."""
    if not isinstance(value, Quantity):
        raise NotImplementedError(type(value))
    return str(value)


class OwnerReference(Record, frozen=True):
    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool = False


class ObjectMeta(Record, frozen=True):
    """Maps must not be changed: objects with equal labels may share them.

    namespace:   "" for objects that have none
    timestamps:  RFC 3339, in UTC, to the second, so that they sort as text; "" when absent
    """

    name: str = ""
    namespace: str = ""
    uid: str = ""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()
    creation_timestamp: str = ""
    deletion_timestamp: str = ""
    resource_version: str = ""
    generation: Int64 = 0

    @property
    def controller(self) -> OwnerReference | None:
        """Return the owner that manages the object. Upstream: metav1.GetControllerOf."""
        for owner in self.owner_references:
            if owner.controller:
                return owner
        return None


class KubeObject(Record, frozen=True):
    """A whole object; metadata is all that is common."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        return self.metadata.name

    @property
    def namespace(self) -> str:
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        return self.metadata.uid

    @property
    def owner(self) -> tuple[str, str]:
        """Kind and name of its controller; both are empty if it has none."""
        controller = self.metadata.controller
        return ("", "") if controller is None else (controller.kind, controller.name)

    @property
    def key(self) -> str:
        """namespace/name, or the name alone if there is no namespace."""
        meta = self.metadata
        return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name


class LabelSelectorRequirement(Record, frozen=True):
    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Record, frozen=True):
    """Upstream tells an absent selector (matches nothing) from an empty one (matches all)."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class NodeSelectorRequirement(LabelSelectorRequirement, frozen=True):
    """A requirement of a node selector, with more operators than a LabelSelector's."""


class NodeSelectorTerm(Record, frozen=True):
    match_expressions: tuple[NodeSelectorRequirement, ...] = ()
    match_fields: tuple[NodeSelectorRequirement, ...] = ()


class NodeSelector(Record, frozen=True):
    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()


class ObjectReference(Record, frozen=True):
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
