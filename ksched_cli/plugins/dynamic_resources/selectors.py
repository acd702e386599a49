"""Which devices match the selectors of classes and requests. Each expression is compiled once, and
evaluated once per kind of device.

Upstream: dynamic-resource-allocation/cel/compile.go (DeviceMatches), cache.go;
structured/internal/experimental/allocator_experimental.go (isSelectable, selectorsMatch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, cached_property, lru_cache
from typing import Any, TypeAlias

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from ksched_cli.cel.environment import CelCompileError, check, check_result
from ksched_cli.cel.interpreter import DeviceInput, Program
from ksched_cli.cel.values import (
    UNREADABLE,
    AttributeMap,
    CelAbortError,
    CelError,
    CelUnavailableError,
    DomainMap,
    Semver,
    Uint,
)
from ksched_cli.cluster.node_affinity import node_terms
from ksched_cli.cluster.objects import (
    DeviceAttribute,
    DeviceClass,
    ResourceSliceSpec,
)
from ksched_cli.cluster.snapshot import Column, Mask
from ksched_cli.cluster.topology.node_selection import matches_any
from ksched_cli.framework.handle import Handle
from ksched_cli.framework.resource_claims import ClaimStore, DeviceID
from ksched_cli.kube.versions import Rules
from ksched_cli.plugins.dynamic_resources.features import allocator_rules, features_of
from ksched_cli.plugins.dynamic_resources.pools import (
    PLAIN,
    Consumption,
    DeviceKind,
    DevicePools,
    Groups,
    interned,
    kind_of,
)
from ksched_cli.plugins.dynamic_resources.requests import (
    ALL,
    Capacities,
    Demand,
    RequestAlternative,
    expressions,
    fits,
    untolerated_taint,
)

# Upstream: EnhanceRuntimeError.
MISSING_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with"
    " has() for optional fields"
)


class SelectorFailure(Struct, frozen=True):
    """A selector that does not compile or fails at run time. phase: "compile" or "runtime"."""

    phase: str
    text: str


class SelectorRejection(Struct, frozen=True):
    """The selector that does not match a device, or fails on it.

    from_class: it is the device class's, else the request's
    index:      its index among them
    failure:    None if it evaluated to false
    """

    from_class: bool
    index: int
    expression: str
    failure: SelectorFailure | None = None

    def error(self, claim: str, class_name: str, device: str = "") -> str:
        """Return upstream's message for the failure. device: where later minors name it, else ''"""
        owner = f"class {class_name}" if self.from_class else f"claim {claim}"
        failure = self.failure
        assert failure is not None
        text, where = failure.text, ""
        if device and failure.phase == "runtime":
            where = f" on device {device}"
            text += MISSING_KEY_HINT if "no such key:" in text else ""
        return f"{owner}: selector #{self.index}{where}: CEL {failure.phase} error: {text}"


MatchResult: TypeAlias = bool | SelectorFailure


class DeviceSelectors:
    """Caches, for a whole run, which kinds of devices each expression matches."""

    def __init__(
        self,
        kinds: Sequence[DeviceKind],
        classes: Mapping[str, DeviceClass],
        reads_lists: bool = True,
        reads_lazily: bool = False,
    ) -> None:
        """Prepare the evaluation of selectors, whose results are cached.

        reads_lists, reads_lazily: attributes, see Rules
        """
        self._reads_lists = reads_lists
        self._classes = classes
        self._device_input: Callable[[int], DeviceInput | SelectorFailure] = cache(
            lambda kind: _device_input(kinds[kind], reads_lists, reads_lazily)
        )
        # Whether an expression matches a kind of device.
        self.matches: Callable[[str, int], MatchResult] = cache(self._evaluate)

    def rejection(self, request: RequestAlternative, kind: int) -> SelectorRejection | None:
        """Return the first selector that does not match devices of a kind, or None if all match."""
        device_class = self._classes.get(request.class_name)
        class_selectors = expressions(device_class.spec.selectors) if device_class else ()
        return self._first_rejection(class_selectors, kind, True) or self._first_rejection(
            request.selectors, kind, False
        )

    def _first_rejection(
        self, selectors: Iterable[str | None], kind: int, from_class: bool
    ) -> SelectorRejection | None:
        for index, expression in enumerate(selectors):
            result = self.matches(expression or "", kind)
            if result is not True:
                failure = result if isinstance(result, SelectorFailure) else None
                return SelectorRejection(from_class, index, expression or "", failure)
        return None

    def derived(
        self, expression: str, kind: int, rules: Rules, as_sets: bool = False
    ) -> AttributeValue | str:
        """Return the value that an expression gives for a kind of device, or why it has none.
        Upstream: EvaluateDerivedAttribute.

        as_sets: values are compared as sets, see `lookup_attribute`
        """
        program, device = compile_derived(expression), self._device_input(kind)
        if isinstance(program, SelectorFailure):
            return program.text
        if isinstance(device, SelectorFailure):
            return device.text
        try:
            value = program.value(device)
        except (CelError, CelAbortError, CelUnavailableError) as error:
            return str(error)
        if isinstance(value, list):
            return _list_problem(value) or (_as_set(value, rules) if as_sets else ("", None))
        if not isinstance(value, bool | int | str | Semver):
            return f"unsupported CEL return type: {type(value).__name__}"
        if as_sets:
            return _as_set([value], rules)
        if rules.qualifies_names:
            return type(value).__name__, value
        names = {bool: "bool", int: "int", str: "string"}
        return names.get(type(value), "version"), value if type(value) in names else str(value)

    def _evaluate(self, expression: str, kind: int) -> MatchResult:
        program = compile_selector(expression, self._reads_lists)
        if isinstance(program, SelectorFailure):
            return program
        device = self._device_input(kind)
        if isinstance(device, SelectorFailure):
            return device
        try:
            return program.evaluate(device)[0]
        except (CelError, CelAbortError, CelUnavailableError) as error:
            return SelectorFailure("runtime", str(error))


_ELEMENTS = {bool: "bool", int: "int", str: "string", Semver: "semver"}
_GO_TYPES = {
    int: "int64",
    str: "string",
    Semver: "semver.Version",
    Uint: "uint64",
    float: "float64",
}


def _list_problem(values: list[Any]) -> str:
    """Return why a list is no value of a derived attribute, or ""."""
    if not values:
        return ""
    first = type(values[0])
    if first not in _ELEMENTS:
        return f"unsupported list element type: {_GO_TYPES.get(first, first.__name__)}"
    for index, each in enumerate(values):
        if type(each) is not first:
            other = _GO_TYPES.get(type(each), type(each).__name__)
            return f"expected list element at index {index} to be {_ELEMENTS[first]}, got {other}"
    return ""


def _as_set(values: Sequence[Any], rules: Rules) -> AttributeValue:
    """Return values of one type as a set. Up to 1.37 versions are compared as text, and an empty
    list is no value."""
    if not values:
        return ("str", frozenset()) if rules.qualifies_names else ("", None)
    kind = type(values[0])
    is_text = kind is Semver and not rules.qualifies_names
    return kind.__name__, frozenset(map(str, values) if is_text else values)


# What an expression of a derived attribute may give, alone or in a list.
_DERIVED_TYPES = frozenset({"bool", "int", "string", "any", "dyn", "kubernetes.Semver"})


@lru_cache(maxsize=4096)
def compile_derived(expression: str) -> Program | SelectorFailure:
    """Compile the expression of a derived attribute. A failure is returned. Upstream:
    GetOrCompileDerivedAttribute, validateOutputType."""
    try:
        checked = check(expression, True)
        result = checked.result_type
        if result.removeprefix("list(").removesuffix(")") not in _DERIVED_TYPES:
            raise CelCompileError(f"must evaluate to a primitive scalar or a list, not {result}")
        return Program(checked)
    except (CelCompileError, CelUnavailableError) as error:
        return SelectorFailure("compile", str(error))


@lru_cache(maxsize=4096)
def compile_selector(expression: str, reads_lists: bool = True) -> Program | SelectorFailure:
    try:
        checked = check(expression, reads_lists)
        check_result(checked, "dyn" if reads_lists else "any")
        return Program(checked)
    except (CelCompileError, CelUnavailableError) as error:
        return SelectorFailure("compile", str(error))


def _device_input(
    kind: DeviceKind, reads_lists: bool, reads_lazily: bool
) -> DeviceInput | SelectorFailure:
    attributes, capacity = DomainMap(), DomainMap()
    for name, attribute in kind.attributes:
        value: object
        try:
            value = attribute_value(attribute, reads_lists, singles_first=reads_lazily)
        except CelError as error:
            if not reads_lazily:
                return SelectorFailure("runtime", f"attribute {name}: {error}")
            value = UNREADABLE
        domain, identifier = _domain_and_identifier(name, kind.driver)
        attributes.setdefault(domain, AttributeMap())[identifier] = value
    for name, amount in kind.capacity:
        domain, identifier = _domain_and_identifier(name, kind.driver)
        capacity.setdefault(domain, {})[identifier] = amount
    return DeviceInput(kind.driver, attributes, capacity, kind.is_shareable)


def _domain_and_identifier(name: str, driver: str) -> tuple[str, str]:
    """Split a name into domain and identifier. The domain defaults to the driver's name."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def attribute_value(
    attribute: DeviceAttribute, reads_lists: bool = True, *, singles_first: bool = False
) -> bool | int | str | Semver | list[Any]:
    """Return the value of an attribute. Raises CelError. Upstream: getAttributeValue, attrValue.

    singles_first: of an attribute with several values, a list counts last
    """
    if singles_first and _value(attribute)[0]:
        attribute = replace(
            attribute, int_values=(), bool_values=(), string_values=(), version_values=()
        )
    if reads_lists:
        for values in (attribute.int_values, attribute.bool_values, attribute.string_values):
            if values:
                return list(values)
        if attribute.version_values:
            return [_version(text) for text in attribute.version_values]
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        return _version(attribute.version_value)
    raise CelError("unsupported attribute value")


def _version(text: str) -> Semver:
    try:
        return Semver.parse(text)
    except CelError as error:
        raise CelError(f"parse semantic version: {error}") from None


# -- views -----------------------------------------------------------------------------------------
#
# Devices, pools and nodes as one demand sees them: which of its requests accept a device, and the
# attribute values that its constraints compare.
#
# Devices with equal signatures are interchangeable for a demand, and so are nodes: the allocator
# runs once for all nodes with equal signatures.
#
# Upstream: structured/internal/experimental/allocator_experimental.go (isSelectable,
# lookupAttribute).


NOT_COMPUTED = -1
# Devices with binding conditions, where the gate DRADeviceBindingConditions is off.
BINDING_CONDITIONS = SelectorRejection(False, -1, "")
# Devices of a slice with perDeviceNodeSelection that the node does not reach.
OUT_OF_REACH = SelectorRejection(False, -2, "")

AttributeValue: TypeAlias = tuple[str, object]
"""The type and the value; the type is "" where the attribute has none."""


class DerivedAttributes(dict[str, AttributeValue | str]):
    """By name, a value, or as a text why there is none."""

    def __hash__(self) -> int:  # type: ignore[override]  # it does not change
        return hash(tuple(self.items()))


class DeviceSignature(Struct, frozen=True):
    """A device as a demand sees it.

    rejections: per request of the demand, the selector that rejects the device; None: none does
    attributes: per claim and constraint, the value compared; None where the device has none
    tainted:    per request, whether it does not tolerate a taint of the device
    too_small:  per request, whether the device could not give it the capacity that it asks for if
                nobody used any of it
    sharing:    the capacities of a device that claims may share
    capacity_errors: per request, why it cannot be said what the device would give it, or ""
    groups, skips: see DeviceTraits
    derived:    per request, the attributes that it computes, or why one cannot be
    """

    rejections: tuple[SelectorRejection | None, ...]
    attributes: tuple[tuple[AttributeValue | None, ...], ...]
    consumes_counters: bool
    tainted: tuple[bool, ...] = ()
    too_small: tuple[bool, ...] = ()
    consumption: Consumption = ()
    sharing: Capacities | None = None
    capacity_errors: tuple[str, ...] = ()
    groups: Groups = ()
    skips: bool = False
    derived: tuple[DerivedAttributes, ...] = ()

    @property
    def is_plain(self) -> bool:
        """Return whether a claim has all of it or nothing, and takes nothing from others by it."""
        return not self.consumption and not self.groups and self.sharing is None


class PoolSignature(Struct, frozen=True):
    """A pool as a demand sees it.

    signatures:   per device, an index into DemandView.signatures
    unusable_key: of a pool that is incomplete or invalid, where texts about nodes name it; else ""
    is_plain:     all of its devices are
    counter_name: the pool's, where its counters may be taken for another driver's; else ""
    """

    signatures: tuple[int, ...]
    incomplete: bool
    invalid: bool
    counter_name: str = ""
    is_plain: bool = True
    unusable_key: str = ""


class DemandView:
    """All pools as one demand sees them; signatures are computed on first use.

    signatures:      the distinct device signatures
    pool_signatures: the distinct pool signatures
    capacity_policy: how requests for capacity are rounded
    interchangeable: which of several devices with one signature is allocated makes no difference to
                     the rest of the search
    """

    def __init__(self, demand: Demand, pools: DevicePools, selectors: DeviceSelectors) -> None:
        self.demand = demand
        self.interchangeable = _interchangeable(demand)
        self.capacity_policy = pools.capacity_policy
        self.features = pools.features
        self.signatures: list[DeviceSignature] = []
        self.pool_signatures: list[PoolSignature] = []
        self._pools = pools
        self._selectors = selectors
        # The index in `signatures` of the signature of a device kind; in `pool_signatures`, of that
        # of a pool, by its number.
        self.device_signature_id: Callable[[int], int] = cache(
            lambda kind: interned(self._signature(kind), self.signatures, self._device_ids)
        )
        self.pool_signature_id: Callable[[int], int] = cache(self._pool_signature_id)
        self._device_ids: dict[DeviceSignature, int] = {}
        self._pool_ids: dict[PoolSignature, int] = {}
        self._node_ids: dict[tuple[int, ...], int] = {}
        self._id_of_row: NDArray[np.int64] = np.full(
            len(pools.of_row), NOT_COMPUTED, dtype=np.int64
        )

    def node_signatures(self, rows: NDArray[np.intp]) -> NDArray[np.int64]:
        """Return per row an id, equal for nodes whose pools have equal signatures in the same
        order."""
        for row in rows[self._id_of_row[rows] == NOT_COMPUTED].tolist():
            pool_ids = tuple(self.pool_signature_id(node_id) for node_id in self._pools.of_row[row])
            node_id = self._node_ids.setdefault(pool_ids, len(self._node_ids))
            self._id_of_row[row] = node_id
        return self._id_of_row[rows]

    def _pool_signature_id(self, number: int) -> int:
        pool = self._pools.pools[number]
        device_ids = tuple(self.device_signature_id(device.kind) for device in pool.devices)
        signature = PoolSignature(
            device_ids,
            pool.incomplete,
            bool(pool.invalid),
            pool.name if pool.name in self._pools.ambiguous_names else "",
            all(self.signatures[device_id].is_plain for device_id in device_ids),
            pool.key if self._pools.rules.rejects_unusable_pools and not pool.is_usable else "",
        )
        return interned(signature, self.pool_signatures, self._pool_ids)

    def _signature(self, kind: int) -> DeviceSignature:
        device_kind = self._pools.kinds[kind]
        requests, traits = self.demand.requests, device_kind.traits
        as_sets = self.features.list_attributes
        attributes = tuple(
            tuple(
                lookup_attribute(device_kind, each.attribute, self._pools.rules, as_sets)
                for each in claim.constraints
            )
            for claim in self.demand.claims
        )
        if device_kind.has_binding_conditions:
            rejections: tuple[SelectorRejection | None, ...] = (BINDING_CONDITIONS,) * len(requests)
        else:
            reach = None if traits.is_reachable else OUT_OF_REACH
            rejections = tuple(self._selectors.rejection(r, kind) or reach for r in requests)
        if traits is PLAIN:
            return DeviceSignature(rejections, attributes, device_kind.consumes_counters)
        policy = self.capacity_policy
        capacities, has_capacity = traits.capacities, traits.has_capacity
        driver = device_kind.driver
        errors = [
            policy.error(capacities, r.capacity, driver) if has_capacity else "" for r in requests
        ]
        derived: tuple[DerivedAttributes, ...] = ()
        if any(request.derived for request in requests):
            derived = tuple(
                DerivedAttributes(
                    (name, self._selectors.derived(expression, kind, self._pools.rules, as_sets))
                    for name, expression in request.derived
                )
                for request in requests
            )
        return DeviceSignature(
            rejections,
            attributes,
            device_kind.consumes_counters,
            tuple(bool(untolerated_taint(traits.taints, r.tolerations)) for r in requests),
            tuple(
                has_capacity and not fits(capacities, r.capacity, driver, policy) for r in requests
            ),
            traits.consumption,
            traits.capacities if traits.is_shared else None,
            tuple(errors) if any(errors) else (),
            traits.groups,
            traits.skips,
            derived,
        )


def _interchangeable(demand: Demand) -> bool:
    """Return whether it does not matter which of several devices with one signature is allocated.
    It does with admin access, which may use devices in use, and with mode All where upstream fails
    at the first free device that a constraint excludes, or tries another alternative."""
    if any(request.admin_access for request in demand.requests):
        return False
    return not any(
        request.mode == ALL and (index or claim.constraints)
        for claim in demand.claims
        for alternatives in claim.alternatives
        for index, request in enumerate(alternatives.requests)
    )


def lookup_attribute(
    kind: DeviceKind, name: str, rules: Rules, as_sets: bool = False
) -> AttributeValue | None:
    """Return what constraints compare. Upstream: lookupAttribute; DeviceAttributes.Lookup.

    as_sets: values are compared as sets of values; else lists are not compared. See
        AllocatorFeatures.list_attributes
    """
    attributes = dict(kind.attributes)
    attribute = attributes.get(name)
    if attribute is None and not rules.qualifies_names:
        domain, slash, identifier = name.partition("/")
        attribute = attributes.get(identifier) if slash and domain == kind.driver else None
    if attribute is None:
        return None
    if rules.qualifies_names:
        # These releases compare a version as such. Upstream: attrValue.
        try:
            value = attribute_value(attribute, reads_lists=as_sets, singles_first=True)
        except CelError:
            return "", None
        if as_sets:
            return _as_set(value if isinstance(value, list) else [value], rules)
        return type(value).__name__, value
    if not as_sets:
        return _value(attribute)
    # The fields have upstream's order. Upstream: attributeAsSet.
    for kind_of_value, values in (
        (int, attribute.int_values),
        (bool, attribute.bool_values),
        (str, attribute.string_values),
        (Semver, attribute.version_values),
        (int, attribute.int_value),
        (bool, attribute.bool_value),
        (str, attribute.string_value),
        (Semver, attribute.version_value),
    ):
        if values is not None and values != ():
            all_values = values if isinstance(values, tuple) else (values,)
            return kind_of_value.__name__, frozenset(all_values)
    return "", None


def _value(attribute: DeviceAttribute) -> AttributeValue:
    # In upstream's order, which matters where an attribute has several values.
    for kind, value in (
        ("string", attribute.string_value),
        ("int", attribute.int_value),
        ("bool", attribute.bool_value),
        ("version", attribute.version_value),
    ):
        if value is not None:
            return kind, value
    return "", None


# -- counts of devices -----------------------------------------------------------------------------
#
# How many devices of a class each node reaches, and how many of them are allocated: what the
# resource plugins score by.
#
# Upstream: plugins/noderesources/resource_allocation.go (calculateDRAResourceTotals), which takes
# every slice as it is, of whichever generation.


class _Reach(Struct, frozen=True):
    """A device, and the rows that reach it."""

    id: DeviceID
    kind: int
    mask: Mask


class DeviceCounts:
    """A service."""

    def __init__(self, handle: Handle) -> None:
        self._snapshot = handle.snapshot
        self._slices = list(handle.cluster.resource_slices.values())
        self._classes = handle.cluster.device_classes
        self._features = features_of(handle.release)
        self._rules = allocator_rules(handle.release)
        self._store = handle.service(ClaimStore)
        self._kinds: list[DeviceKind] = []
        self._cache: dict[str, tuple[int, Column, Column]] = {}

    @cached_property
    def _devices(self) -> list[_Reach]:
        devices = []
        for spec, device in ((each.spec, d) for each in self._slices for d in each.spec.devices):
            kind = kind_of(spec, device, self._features, True)
            # The selectors of classes do not see here whether a device may be shared.
            self._kinds.append(DeviceKind(kind.driver, kind.attributes, kind.capacity))
            # The rows that the device reaches.
            place = device if spec.per_device_node_selection else spec
            mask = np.zeros(len(self._snapshot), dtype=np.bool_)
            if place.all_nodes:
                mask[:] = True
            elif place.node_name:
                row = self._snapshot.row.get(place.node_name)
                if row is not None:
                    mask[row] = True
            elif place.node_selector is not None:
                mask = matches_any(self._snapshot, node_terms(place.node_selector))
            elif isinstance(place, ResourceSliceSpec):
                mask[:] = True
            device_id = spec.driver, spec.pool.name, device.name
            devices.append(_Reach(device_id, len(self._kinds) - 1, mask))
        return devices

    def totals(self, class_name: str) -> tuple[Column, Column]:
        """Return per row the devices of a class, and those of them that claims have."""
        position = len(self._store.log)
        cached = self._cache.get(class_name)
        if cached is None or cached[0] != position:
            total = np.zeros(len(self._snapshot), dtype=np.int64)
            taken = np.zeros(len(self._snapshot), dtype=np.int64)
            failed = np.zeros(len(self._snapshot), dtype=np.bool_)
            for device in self._devices:
                results = (
                    self._selectors.matches(selector.cel.expression, device.kind)
                    for selector in self._classes[class_name].spec.selectors
                    if selector.cel is not None
                )
                result = next((each for each in results if each is not True), True)
                if isinstance(result, SelectorFailure):
                    failed |= device.mask
                elif result:
                    total += device.mask
                    if self._store.is_allocated(device.id):
                        taken += device.mask
            # Where a selector fails for one device, upstream counts none.
            total[failed] = taken[failed] = 0
            cached = self._cache[class_name] = (position, total, taken)
        return cached[1], cached[2]

    @cached_property
    def _selectors(self) -> DeviceSelectors:
        rules = self._rules
        return DeviceSelectors(
            self._kinds, self._classes, rules.reads_lists, rules.reads_attributes_lazily
        )
