"""Which devices the selectors of classes and requests take: each expression is compiled once, and
asked once about each kind of device.

Upstream: dynamic-resource-allocation/cel/compile.go (DeviceMatches), cache.go;
structured/internal/experimental/allocator_experimental.go (isSelectable, selectorsMatch).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from ksched_cli.cel.checks import check_literals
from ksched_cli.cel.environment import CelCompileError, CelUnavailableError, check
from ksched_cli.cel.interpretable import DeviceInput
from ksched_cli.cel.interpreter import Program
from ksched_cli.cel.values import CelAbortError, CelError, DomainMap, Semver
from ksched_cli.cluster.objects import DeviceAttribute, DeviceClass
from ksched_cli.plugins.dynamic_resources.pools import DeviceKind
from ksched_cli.plugins.dynamic_resources.requests import RequestAlternative, expressions


@dataclass(frozen=True, slots=True)
class Failure:
    """A selector that gave no answer. phase: "compile" or "runtime"."""

    phase: str
    text: str


@dataclass(frozen=True, slots=True)
class SelectorRejection:
    """The selector that does not take a device, or fails on it.

    of_class: a selector of the class, else of the request; failure: None where it said no
    """

    of_class: bool
    place: int
    expression: str
    failure: Failure | None = None

    def error(self, claim: str, class_name: str) -> str:
        """Upstream's text for the failure."""
        of = f"class {class_name}" if self.of_class else f"claim {claim}"
        failure = self.failure
        assert failure is not None
        return f"{of}: selector #{self.place}: CEL {failure.phase} error: {failure.text}"


Answer: TypeAlias = bool | Failure


class DeviceSelectors:
    """What is known about expressions and kinds of devices, for a whole run."""

    def __init__(self, kinds: Sequence[DeviceKind], classes: Mapping[str, DeviceClass]) -> None:
        self._kinds = kinds
        self._classes = classes
        self._inputs: dict[int, DeviceInput | Failure] = {}
        self._answers: dict[tuple[str, int], Answer] = {}

    def turned_away(self, request: RequestAlternative, kind: int) -> SelectorRejection | None:
        """The first selector that does not take devices of a kind; None: they may be taken."""
        device_class = self._classes.get(request.class_name)
        of_class = expressions(device_class.spec.selectors) if device_class else ()
        return self._first(of_class, kind, True) or self._first(request.selectors, kind, False)

    def _first(
        self, selectors: Iterable[str | None], kind: int, of_class: bool
    ) -> SelectorRejection | None:
        for place, expression in enumerate(selectors):
            answer = self.answer(expression or "", kind)
            if answer is not True:
                failure = answer if isinstance(answer, Failure) else None
                return SelectorRejection(of_class, place, expression or "", failure)
        return None

    def answer(self, expression: str, kind: int) -> Answer:
        """Whether an expression takes a kind of device."""
        key = expression, kind
        found = self._answers.get(key)
        if found is None:
            found = self._answers[key] = self._ask(expression, kind)
        return found

    def _ask(self, expression: str, kind: int) -> Answer:
        program = compiled(expression)
        if isinstance(program, Failure):
            return program
        device = self._inputs.get(kind)
        if device is None:
            device = self._inputs[kind] = _input(self._kinds[kind])
        if isinstance(device, Failure):
            return device
        try:
            return program.evaluate(device)[0]
        except (CelError, CelAbortError) as error:
            return Failure("runtime", str(error))


@lru_cache(maxsize=4096)
def compiled(expression: str) -> Program | Failure:
    try:
        checked = check(expression)
        check_literals(checked)
        return Program(checked)
    except (CelCompileError, CelUnavailableError) as error:
        return Failure("compile", str(error))


def _input(kind: DeviceKind) -> DeviceInput | Failure:
    attributes, capacity = DomainMap(), DomainMap()
    for name, attribute in kind.attributes:
        try:
            value = attribute_value(attribute)
        except CelError as error:
            return Failure("runtime", f"attribute {name}: {error}")
        domain, own = _qualified(name, kind.driver)
        attributes.setdefault(domain, {})[own] = value
    for name, amount in kind.capacity:
        domain, own = _qualified(name, kind.driver)
        capacity.setdefault(domain, {})[own] = amount
    return DeviceInput(kind.driver, attributes, capacity)


def _qualified(name: str, driver: str) -> tuple[str, str]:
    """Domain and name; the driver's own names have no domain."""
    domain, slash, own = name.partition("/")
    return (domain, own) if slash else (driver, name)


def attribute_value(attribute: DeviceAttribute) -> bool | int | str | Semver:
    """Raises CelError. Upstream: getAttributeValue."""
    if attribute.int_value is not None:
        return attribute.int_value
    if attribute.bool_value is not None:
        return attribute.bool_value
    if attribute.string_value is not None:
        return attribute.string_value
    if attribute.version_value is not None:
        try:
            return Semver.parse(attribute.version_value)
        except CelError as error:
            raise CelError(f"parse semantic version: {error}") from None
    raise CelError("unsupported attribute value")
