"""Which devices match the selectors of classes and requests. Each expression is compiled once, and
evaluated once per kind of device.

Upstream: dynamic-resource-allocation/cel/compile.go (DeviceMatches), cache.go;
structured/internal/experimental/allocator_experimental.go (isSelectable, selectorsMatch).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, TypeAlias

from ksched_cli.cel.checks import check_literals
from ksched_cli.cel.environment import CelCompileError, CelUnavailableError, check
from ksched_cli.cel.interpretable import DeviceInput
from ksched_cli.cel.interpreter import Program
from ksched_cli.cel.values import CelAbortError, CelError, DomainMap, Semver
from ksched_cli.cluster.objects import DeviceAttribute, DeviceClass
from ksched_cli.plugins.dynamic_resources.pool_devices import DeviceKind
from ksched_cli.plugins.dynamic_resources.requests import RequestAlternative, expressions

# Upstream: EnhanceRuntimeError.
MISSING_KEY_HINT = (
    ". consider using CEL optional chaining (.? followed by orValue()) or guarding the check with"
    " has() for optional fields"
)


@dataclass(frozen=True, slots=True)
class SelectorFailure:
    """A selector that does not compile or fails at run time. phase: "compile" or "runtime"."""

    phase: str
    text: str


@dataclass(frozen=True, slots=True)
class SelectorRejection:
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
        """Upstream's message for the failure. device: where later minors name it, else ''"""
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
    ) -> None:
        """reads_lists: of attributes, see Rules"""
        self._reads_lists = reads_lists
        self._classes = classes
        self._device_input: Callable[[int], DeviceInput | SelectorFailure] = cache(
            lambda kind: _device_input(kinds[kind], reads_lists)
        )
        # Whether an expression matches a kind of device.
        self.matches: Callable[[str, int], MatchResult] = cache(self._evaluate)

    def rejection(self, request: RequestAlternative, kind: int) -> SelectorRejection | None:
        """The first selector that does not match devices of a kind; None: all match."""
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


@lru_cache(maxsize=4096)
def compile_selector(expression: str, reads_lists: bool = True) -> Program | SelectorFailure:
    try:
        checked = check(expression, reads_lists)
        check_literals(checked, "dyn" if reads_lists else "any")
        return Program(checked)
    except (CelCompileError, CelUnavailableError) as error:
        return SelectorFailure("compile", str(error))


def _device_input(kind: DeviceKind, reads_lists: bool) -> DeviceInput | SelectorFailure:
    attributes, capacity = DomainMap(), DomainMap()
    for name, attribute in kind.attributes:
        try:
            value = attribute_value(attribute, reads_lists)
        except CelError as error:
            return SelectorFailure("runtime", f"attribute {name}: {error}")
        domain, identifier = _domain_and_identifier(name, kind.driver)
        attributes.setdefault(domain, {})[identifier] = value
    for name, amount in kind.capacity:
        domain, identifier = _domain_and_identifier(name, kind.driver)
        capacity.setdefault(domain, {})[identifier] = amount
    return DeviceInput(kind.driver, attributes, capacity, kind.is_shareable)


def _domain_and_identifier(name: str, driver: str) -> tuple[str, str]:
    """The domain defaults to the driver's name."""
    domain, slash, identifier = name.partition("/")
    return (domain, identifier) if slash else (driver, name)


def attribute_value(
    attribute: DeviceAttribute, reads_lists: bool = True
) -> bool | int | str | Semver | list[Any]:
    """Raises CelError. Upstream: getAttributeValue."""
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
