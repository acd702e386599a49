"""Selectors of classes and requests, over kinds of devices."""

from typing import Any

import pytest

from ksched_cli.cel.interpreter import DeviceInput, Program
from ksched_cli.cel.values import CelAbortError, CelError, Semver
from ksched_cli.cluster.objects import DeviceAttribute
from ksched_cli.plugins.dynamic_resources.pools import DeviceKind
from ksched_cli.plugins.dynamic_resources.requests import EXACT_COUNT, RequestAlternative
from ksched_cli.plugins.dynamic_resources.selectors import (
    DeviceSelectors,
    SelectorFailure,
    SelectorRejection,
    attribute_value,
    compile_selector,
)
from tests.narrowing import present

DRIVER = "d.io"


def kind(**attributes: Any) -> DeviceKind:
    given = tuple((name, DeviceAttribute(string_value=text)) for name, text in attributes.items())
    return DeviceKind(DRIVER, given, (), False, False)


def request(*selectors: str) -> RequestAlternative:
    return RequestAlternative("r", "", "gpu", selectors, EXACT_COUNT, 1, False)


def compiled(expression: str) -> Program:
    program = compile_selector(expression)
    assert isinstance(program, Program)
    return program


def test_an_expression_may_not_cost_too_much() -> None:
    expensive = "lists.range(1000).all(x, lists.range(1000).all(y, true)) || true"
    with pytest.raises(CelAbortError, match="cost limit exceeded"):
        compiled(expensive).evaluate(DeviceInput())


def test_an_expression_that_does_not_compile_is_a_failure_with_the_reason() -> None:
    failure = compile_selector("device.driver")
    message = "must evaluate to bool or the unknown type, not string"
    assert failure == SelectorFailure("compile", message)


def test_an_expression_is_compiled_once() -> None:
    expression = "device.driver == 'once'"
    assert compile_selector(expression) is compile_selector(expression)


def test_the_first_selector_that_does_not_match_is_the_rejection() -> None:
    big, any_device = f"device.attributes['{DRIVER}'].model == 'big'", "true"
    selectors = DeviceSelectors([kind(model="big"), kind(model="small")], {})
    assert selectors.rejection(request(any_device, big), 0) is None
    assert selectors.rejection(request(any_device, big), 1) == SelectorRejection(False, 1, big)


def test_a_selector_that_fails_says_so_as_upstream_does() -> None:
    expression = f"device.attributes['{DRIVER}'].model == 'big'"
    rejection = DeviceSelectors([kind()], {}).rejection(request(expression), 0)
    assert present(rejection).failure == SelectorFailure("runtime", "no such key: model")
    assert present(rejection).error("c", "gpu") == (
        "claim c: selector #0: CEL runtime error: no such key: model"
    )


def test_attributes_have_values() -> None:
    assert attribute_value(DeviceAttribute(int_value=0)) == 0
    assert attribute_value(DeviceAttribute(version_value="1.2.3")) == Semver(1, 2, 3)
    with pytest.raises(CelError, match="parse semantic version"):
        attribute_value(DeviceAttribute(version_value="1"))
    with pytest.raises(CelError, match="unsupported attribute value"):
        attribute_value(DeviceAttribute())
