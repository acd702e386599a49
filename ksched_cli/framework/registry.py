"""The plugins by name: where each comes from, which points it extends, how to load it, and how its
args are checked against the spec that it declares, and converted to it.

An in-tree plugin's module is imported by `load` only, so that `validate` and `plugins` do not load
NumPy. A JSON Schema checks plain data. A msgspec.Struct or a dataclass checks types and fills in
defaults; its `__post_init__` may raise ValueError for values that it refuses. A dataclass's field
`max_pods` is written maxPods in a configuration.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, TypeAlias, get_type_hints

import msgspec

from ksched_cli.config.effective import InTreeArgs, PluginTable
from ksched_cli.errors import UsageError
from ksched_cli.framework.interface import Plugin, points_of
from ksched_cli.kube.documents import parse_path, path_text
from ksched_cli.kube.field_errors import ErrorType, FieldError, bad_value_text
from ksched_cli.kube.json_tree import value_at
from ksched_cli.kube.versions import Release, release_of

if TYPE_CHECKING:
    from ksched_cli.cluster.custom_objects import PodMaker


# The `args` of a plugin class.
ArgsSpec: TypeAlias = Mapping[str, Any] | type[Any] | None

_META = ("apiVersion", "kind")
_AT = re.compile(r" - at `\$\.?(?P<path>[^`]*)`$")
_MISSING = re.compile(r"Object missing required field `(?P<field>[^`]+)`")
_UNKNOWN = re.compile(r"Object contains unknown field `(?P<field>[^`]+)`")


def check(spec: ArgsSpec, given: Any) -> tuple[FieldError, ...]:
    """Return the errors of args as a configuration has them. given: None where it has none"""
    if spec is None:
        return ()
    if given is not None and not isinstance(given, Mapping):
        return (FieldError("", ErrorType.INVALID, bad_value_text(given), "must be an object"),)
    data = _without_meta(given)
    if isinstance(spec, Mapping):
        return _check_schema(spec, data)
    try:
        make(spec, given)
    except msgspec.ValidationError as error:
        return (_field_error(str(error), data),)
    except ValueError as error:
        return (FieldError("", ErrorType.INVALID, bad_value_text(data), str(error)),)
    return ()


def make(spec: ArgsSpec, given: Any) -> Any:
    """Return the args to pass to the plugin. Raises ValueError where `check` returns errors."""
    if spec is None:
        return given
    data = _without_meta(given)
    if isinstance(spec, Mapping):
        return data
    if issubclass(spec, msgspec.Struct):
        # A struct may allow unknown fields; args may not have any.
        for key in data:
            if key not in spec.__struct_encode_fields__:
                raise msgspec.ValidationError(f"Object contains unknown field `{key}`")
        return msgspec.convert(data, spec)
    if not dataclasses.is_dataclass(spec):
        raise TypeError(f"args is {spec.__name__}, expected a msgspec.Struct or a dataclass")
    read = msgspec.convert(data, _struct_of(spec))
    return spec(**{name: getattr(read, name) for name in type(read).__struct_fields__})


def _without_meta(given: Any) -> dict[str, Any]:
    """Return args without apiVersion and kind, which a configuration may give and no plugin
    declares."""
    return {key: value for key, value in (given or {}).items() if key not in _META}


def _check_schema(schema: Mapping[str, Any], data: Any) -> tuple[FieldError, ...]:
    from jsonschema import Draft202012Validator

    from ksched_cli.kube.document_schemas import schema_problems

    errors = sorted(
        Draft202012Validator(schema).iter_errors(data), key=lambda error: error.json_path
    )
    return tuple(
        FieldError(
            path_text(problem.path),
            ErrorType.INVALID,
            bad_value_text(value_at(data, problem.path)),
            "; ".join(filter(None, (problem.message, problem.hint))),
        )
        for problem in schema_problems(errors)
    )


@lru_cache(maxsize=64)
def _struct_of(cls: type[Any]) -> type[msgspec.Struct]:
    """Return a Struct with the fields of a dataclass."""
    hints = get_type_hints(cls)
    fields: list[tuple[str, Any] | tuple[str, Any, Any]] = []
    for member in dataclasses.fields(cls):
        if member.default is not dataclasses.MISSING:
            fields.append((member.name, hints[member.name], member.default))
        elif member.default_factory is not dataclasses.MISSING:
            default = msgspec.field(default_factory=member.default_factory)
            fields.append((member.name, hints[member.name], default))
        else:
            fields.append((member.name, hints[member.name]))
    return msgspec.defstruct(
        cls.__name__, fields, rename="camel", forbid_unknown_fields=True, kw_only=True
    )


def _field_error(text: str, data: Mapping[str, Any]) -> FieldError:
    """Return the error from the text of a msgspec.ValidationError, which ends in the path."""
    at = _AT.search(text)
    path = at["path"] if at else ""
    message = _AT.sub("", text)
    for pattern, error_type, detail in (
        (_MISSING, ErrorType.REQUIRED, ""),
        (_UNKNOWN, ErrorType.FORBIDDEN, "the plugin has no such field"),
    ):
        match = pattern.match(message)
        if match:
            inner = f"{path}.{match['field']}" if path else match["field"]
            return FieldError(inner, error_type, "", detail)
    plain, value = message.replace("`", ""), value_at(data, parse_path(path))
    return FieldError(path, ErrorType.INVALID, bad_value_text(value), plain)


IN_TREE_ORIGIN = "in-tree"


@dataclass(frozen=True, slots=True)
class PluginEntry:
    """One plugin that a configuration may name.

    name:    as in a configuration
    points:  of kube.extension_points.POINT_KEYS that it extends
    origin:  "in-tree", the distribution and version, or the argument of --plugin
    target:  "module:Class" of an in-tree plugin, or the class itself
    enabled_by_default: it is in the default multiPoint list, which has the registry's order
    default_weight:     its weight in that list
    short_name:         heading of its column in a table; "": the name itself
    in_tree_args:       type, defaults and checks of an in-tree plugin's args
    is_off_at_reserve:  the default list of the point reserve disables it
    variant:            makes the entry of another release of one that differs between releases
    rival:              another installed distribution that has a plugin of this name
    """

    name: str
    points: frozenset[str]
    origin: str
    target: str | Callable[..., Any]
    enabled_by_default: bool = False
    default_weight: int | None = None
    short_name: str = ""
    in_tree_args: InTreeArgs[Any] | None = None
    variant: Callable[[PluginEntry, Release], PluginEntry] | None = None
    is_off_at_reserve: bool = False
    rival: str = ""

    def in_release(self, release: Release) -> PluginEntry:
        """Return the entry as a release has it."""
        return self if self.variant is None else self.variant(self, release)

    @classmethod
    def in_tree(
        cls,
        name: str,
        module: str,
        points: str,
        *,
        weight: int | None = None,
        short_name: str = "",
        args: InTreeArgs[Any] | None = None,
        variant: Callable[[PluginEntry, Release], PluginEntry] | None = None,
    ) -> PluginEntry:
        """Return the descriptor of an in-tree plugin, enabled by default.

        module: has the class of this name
        points: keys separated by spaces
        weight: None where the default list has no weight for it
        """
        target, keys = f"{module}:{name}", frozenset(points.split())
        return cls(name, keys, IN_TREE_ORIGIN, target, True, weight, short_name, args, variant)

    @classmethod
    def of(cls, plugin: type[Plugin], origin: str) -> PluginEntry:
        """Return the entry of an out-of-tree plugin."""
        return cls(plugin.name, points_of(plugin), origin, plugin)

    @property
    def problem(self) -> str:
        """Return why a configuration may not name it, or ""."""
        if not self.rival:
            return ""
        return (
            f'two plugins are named "{self.name}": one from {self.origin}, one from {self.rival}; '
            "uninstall one of them, or choose with --plugin"
        )

    @property
    def is_foreign(self) -> bool:
        return self.origin != IN_TREE_ORIGIN

    @property
    def reads(self) -> tuple[str, ...]:
        """Return the kinds of custom objects that the plugin reads, see Plugin.reads."""
        return getattr(self.target, "reads", ())

    def load(self) -> Callable[..., Any]:
        """Return the plugin's class, to be called with (args, handle)."""
        if not isinstance(self.target, str):
            return self.target
        module, _, attribute = self.target.partition(":")
        factory: Callable[..., Any] = getattr(import_module(module), attribute)
        return factory

    def check_args(self, given: Any) -> tuple[FieldError, ...]:
        """Return the errors of args, which are checked wherever a configuration names the plugin.
        given: typed for an in-tree plugin, else plain data. Raises UsageError, see `problem`."""
        if self.problem:
            raise UsageError(self.problem)
        if self.in_tree_args is not None:
            return tuple(self.in_tree_args.errors(given, ""))
        spec = getattr(self.target, "args", None)
        if spec is None:
            return ()
        return check(spec, given)

    def make(self, given: Any, handle: Any) -> Any:
        """Create the plugin, with args as a configuration has them. Raises what its `__init__`
        raises."""
        spec = getattr(self.target, "args", None)
        if spec is not None:
            given = make(spec, given)
        return self.load()(given, handle)


class Registry(PluginTable[PluginEntry]):
    """Plugin name → entry, in the order they were registered."""

    def __init__(
        self,
        entries: Iterable[PluginEntry],
        release: Release | None = None,
        pod_makers: Mapping[str, PodMaker] | None = None,
    ) -> None:
        """Register the entries.

        release: whose plugins these are; by default the newest that ksched supports
        pod_makers: by kind, of workloads that ksched does not know
        """
        super().__init__(release or release_of(), {entry.name: entry for entry in entries})
        self.pod_makers = pod_makers or {}

    @property
    def reads(self) -> frozenset[str]:
        """Return the kinds of custom objects that any of the plugins reads, or makes pods of."""
        read = (kind for entry in self.values() for kind in entry.reads)
        return frozenset(read) | frozenset(self.pod_makers)
