"""The configuration's knowledge of an in-tree plugin's args: type, defaults, checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

from ksched_cli.config.types import API_VERSION, TypeMeta
from ksched_cli.kube.field_errors import FieldError

A = TypeVar("A", bound=TypeMeta)


@dataclass(frozen=True, slots=True)
class StartupCrash:
    """Args that validation passes and that crash the plugin's New function.

    rule, path (inside the args), message and hint: of the finding that says so
    """

    rule: str
    path: str
    message: str
    hint: str


@dataclass(frozen=True, slots=True)
class InTreeArgs(Generic[A]):
    """The args of one in-tree plugin. plugins/args.py makes one, and the plugin's entry carries it.

    type:          the dataclass; its fields are decoded, and become its JSON Schema
    set_defaults:  fills in what is not given (upstream: apis/config/v1/defaults.go)
    validate:      every error, in upstream's order; the second argument is the path of the args
    startup_crash: what is wrong with args that upstream crashes with, after validation
    """

    type: type[A]
    set_defaults: Callable[[A], A] = lambda args: args
    validate: Callable[[A, str], Sequence[FieldError]] = lambda args, path: ()
    startup_crash: Callable[[A], StartupCrash | None] = lambda args: None

    @property
    def kind(self) -> str:
        """As the args themselves may name it, such as NodeResourcesFitArgs."""
        return self.type.GO.rpartition(".")[2]

    def with_defaults(self, args: Any) -> A:
        """args: of `type`, as decoded."""
        named = replace(args, kind=self.kind, api_version=API_VERSION)
        return self.set_defaults(named)
