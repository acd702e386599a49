"""Fields, operators that do not evaluate all arguments, and the cost limit."""

import pytest

from ksched_cli.cel.cost import LIMIT
from ksched_cli.cel.interpreter import (
    OPERATORS,
    DeviceInput,
    EvalState,
    Interpretable,
    constant,
    has_field,
    membership,
    qualify,
)
from ksched_cli.cel.values import NONE, CelAbortError, CelError, DomainMap, Optional


def run() -> EvalState:
    return EvalState(DeviceInput())


def failing(message: str = "failed") -> Interpretable:
    def fail(_: EvalState) -> None:
        raise CelError(message)

    return Interpretable(fail)


def test_the_cost_limit_aborts_the_evaluation() -> None:
    evaluation = run()
    evaluation.spend(LIMIT)
    with pytest.raises(CelAbortError, match="actual cost limit exceeded"):
        evaluation.spend(1)


def test_a_field_costs_one_and_an_absent_one_is_an_error() -> None:
    evaluation = run()
    assert qualify(evaluation, {"a": 1}, "a") == 1
    assert evaluation.cost == 1
    with pytest.raises(CelError, match="no such key: b"):
        qualify(evaluation, {"a": 1}, "b")
    with pytest.raises(CelError, match="index out of bounds: 3"):
        qualify(evaluation, [1], 3)


def test_an_absent_domain_is_an_empty_map_and_present() -> None:
    domains = DomainMap()
    assert qualify(run(), domains, "d.io") == {}
    assert has_field(run(), domains, "d.io")
    assert not has_field(run(), {}, "d.io")


def test_a_field_of_an_optional_is_an_optional() -> None:
    assert qualify(run(), Optional(True, {"a": 1}), "a") == Optional(True, 1)
    assert qualify(run(), Optional(True, {}), "a") == NONE
    assert qualify(run(), NONE, "a") == NONE


@pytest.mark.parametrize(("operator", "decisive"), [("_&&_", False), ("_||_", True)])
def test_the_decisive_value_absorbs_an_error_on_either_side(operator: str, decisive: bool) -> None:
    for arguments in ([failing(), constant(decisive)], [constant(decisive), failing()]):
        assert OPERATORS[operator](arguments).value(run()) is decisive
    with pytest.raises(CelError, match="failed"):
        OPERATORS[operator]([failing(), constant(not decisive)]).value(run())


def test_a_conditional_evaluates_one_branch() -> None:
    conditional = OPERATORS["_?_:_"]
    assert conditional([constant(True), constant(1), failing()]).value(run()) == 1
    assert conditional([constant(False), failing(), constant(2)]).value(run()) == 2


def test_or_value_evaluates_its_argument_only_for_an_empty_optional() -> None:
    or_value = OPERATORS["orValue"]
    assert or_value([constant(Optional(True, 1)), failing()]).value(run()) == 1
    assert or_value([constant(NONE), constant(2)]).value(run()) == 2


def test_membership_in_a_constant_list_costs_nothing() -> None:
    constant_list, other_list = constant([1, 2]), Interpretable(lambda _: [1, 2])
    for container, cost in ((constant_list, 0), (other_list, 2)):
        evaluation = run()
        assert membership([constant(2), container], ("in_list",)).value(evaluation) is True
        assert evaluation.cost == cost
