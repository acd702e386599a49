"""The args of in-tree plugins: each has defaults that its own validation passes."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from ksched_cli.config.effective import InTreeArgs, in_tree_args
from ksched_cli.config.go_types import INT32, field
from ksched_cli.config.types import API_VERSION, TypeMeta
from ksched_cli.kube.field_errors import required
from tests.config.registries import REGISTRY


class ToyArgs(TypeMeta):
    size: int = field(INT32)


def test_args_without_rules_are_valid_and_keep_what_is_given() -> None:
    args = InTreeArgs(ToyArgs)
    assert args.kind == "ToyArgs"
    assert args.with_defaults(ToyArgs(size=7)) == ToyArgs("ToyArgs", API_VERSION, 7)
    assert (args.errors(ToyArgs(), "p"), args.startup_crash(ToyArgs())) == ([], None)


def test_defaults_are_set_after_kind_and_version() -> None:
    args = InTreeArgs(ToyArgs, set_defaults=lambda given: replace(given, size=given.size or 3))
    assert args.with_defaults(ToyArgs()) == ToyArgs("ToyArgs", API_VERSION, 3)
    assert args.with_defaults(ToyArgs(size=1)).size == 1


def test_an_error_counts_once() -> None:
    first, second = required("a"), required("b")
    args = InTreeArgs(ToyArgs, validate=lambda given, path: (first, second, first))
    assert args.errors(ToyArgs(), "") == [first, second]


@pytest.mark.parametrize("name", in_tree_args(REGISTRY))
def test_the_defaults_of_a_plugin_pass_its_own_validation(name: str) -> None:
    args = in_tree_args(REGISTRY)[name]
    defaults = args.with_defaults(args.type())
    assert args.errors(defaults, "args") == []
    assert args.startup_crash(defaults) is None
    assert args.with_defaults(defaults) == defaults
