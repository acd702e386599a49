"""A file's text to a ParsedText: YAML or JSON, apiVersion and kind, strictness, plugin args.

Decoder decodes one object; the rest is what comes before, between and after.

Upstream: apimachinery runtime/serializer (recognizer, json.Serializer.Decode, strict mode,
SimpleMetaFactory.Interpret), versioning.codec.Decode, and DecodeNestedObjects of
k8s.io/kube-scheduler/config/v1/types.go for plugin args.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from msgspec.structs import replace

from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.go_types import (
    STRING,
    GoKind,
    GoStruct,
    ListOf,
    Scalar,
    StringMap,
    StructOf,
    Wire,
    WireField,
    go_name,
    go_type,
)
from ksched_cli.config.types import (
    API_VERSION,
    GROUP,
    KIND,
    PluginConfig,
    SchedulerConfiguration,
    SchedulerProfile,
    TypeMeta,
)
from ksched_cli.errors import InputError
from ksched_cli.kube import json_tree
from ksched_cli.kube.documents import (
    Path,
    PlainDocument,
    json_failure,
    path_text,
    read_documents,
    yaml_failure,
)
from ksched_cli.kube.formatting import DurationError, float_text, json_text, parse_duration, quote
from ksched_cli.kube.json_tree import JsonFloat, JsonObject
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

# -- one object -----------------------------------------------------------------------------------
# Decodes one object: plain data to a type with Go fields, with Go's message for what does not fit.
#
# Upstream: sigs.k8s.io/json (decode.go: UnmarshalTypeError, strict errors, null) over the struct
# tags of k8s.io/kube-scheduler/config/v1. Decoding continues after an error, so later checks still
# see the rest; what does not fit is left at its zero value.


T = TypeVar("T", bound=GoStruct)
_MISSING = object()
_NOT_BASE64 = re.compile(r"[^A-Za-z0-9+/]")
_OCTET = Scalar(GoKind.INTEGER, "uint8", 0)

_MAX_DIGITS = len(str(-(2**63)))  # of an integer of 64 bits, with its sign


@dataclass(frozen=True, slots=True)
class Misfit:
    """A value of another type than its field; without a wire, a key that its type does not have.

    keys: that the type has, where one is unknown
    """

    path: Path
    data: Any = None
    wire: Wire | None = None
    keys: tuple[str, ...] = ()


class Decoder:
    """One object's decoding. `fatal` is the error that ends it, `strict` what strictness adds,
    `misfits` everything that does not fit."""

    def __init__(self, absent_fields: Container[str] = ()) -> None:
        """absent_fields: "GO TYPE.KEY" of fields that the types lack."""
        self._absent_fields = absent_fields
        self.strict: list[str] = []
        self.misfits: list[Misfit] = []
        self._saved: str | None = None
        self._immediate: str | None = None
        self._struct = ""
        self._keys: list[str] = []

    @property
    def fatal(self) -> str | None:
        """An Unmarshaler's error ends the decoding at once; any other only after the last byte."""
        return self._immediate or self._saved

    def decode(self, data: Any, cls: type[T], path: Path = ()) -> T:
        """Return an object of `cls`. data: plain data of kube.documents or kube.json_tree; path: of
        it"""
        value = self._value(StructOf(cls), False, data, path)
        return cls() if value is _MISSING else value

    def _value(self, wire: Wire, pointer: bool, data: Any, path: Path) -> Any:
        if data is None:
            if pointer or isinstance(wire, ListOf | StringMap):
                return None
            if isinstance(wire, Scalar) and wire.kind is GoKind.DURATION:
                self.misfits.append(Misfit(path, None, wire))
                # null reaches UnmarshalJSON as an empty text
                return self._stop('time: invalid duration ""')
            return _MISSING
        value = self._present(wire, data, path)
        if value is _MISSING:
            self.misfits.append(Misfit(path, data, wire))
        return value

    def _present(self, wire: Wire, data: Any, path: Path) -> Any:
        match wire:
            case Scalar():
                return self._scalar(wire, data, path)
            case ListOf(element):
                if not isinstance(data, list):
                    return self._mismatch(data, wire)
                items = (self._value(element, False, x, (*path, i)) for i, x in enumerate(data))
                return tuple(_zero(element) if item is _MISSING else item for item in items)
            case StringMap():
                if not isinstance(data, dict):
                    return self._mismatch(data, wire)
                pairs = self._pairs(data, path)
                values = {key: self._value(STRING, True, item, (*path, key)) for key, item in pairs}
                return {key: value or "" for key, value in values.items() if value is not _MISSING}
            case StructOf(cls):
                return self._struct_value(cls, data, path)

    def _struct_value(self, cls: type[GoStruct], data: Any, path: Path) -> Any:
        if not isinstance(data, dict):
            return self._mismatch(data, StructOf(cls))
        fields = cls.FIELDS
        values: dict[str, Any] = {}
        for key, item in self._pairs(data, path, fields):
            spec = fields.get(key)
            if spec is None or f"{go_type(cls)}.{key}" in self._absent_fields:
                self._add_strict("unknown field", (*path, key))
                keys = (own for own in fields if f"{go_type(cls)}.{own}" not in self._absent_fields)
                self.misfits.append(Misfit((*path, key), keys=tuple(keys)))
                continue
            outer, self._struct = self._struct, go_type(cls).rpartition(".")[2]
            self._keys.append(key)
            value = self._value(spec.wire, spec.pointer, item, (*path, key))
            self._keys.pop()
            self._struct = outer
            if value is not _MISSING:
                values[spec.attribute] = value
        return cls(**values)

    def _pairs(
        self, data: dict[str, Any], path: Path, fields: Mapping[str, WireField] | None = None
    ) -> Iterator[tuple[str, Any]]:
        """Return the members in the order Go meets them: JSON's own; sorted where YAML became
        JSON."""
        if not isinstance(data, JsonObject):
            yield from sorted(data.items(), key=lambda pair: pair[0].encode())
            return
        seen = set()
        for key, item in data.pairs:
            if key in seen and (fields is None or key in fields):
                self._add_strict("duplicate field", (*path, key))
            seen.add(key)
            yield key, item

    def _add_strict(self, what: str, path: Path) -> None:
        text = f"{what} {quote(path_text(path))}"
        if text not in self.strict and len(self.strict) < 100:
            self.strict.append(text)

    def _scalar(self, wire: Scalar, data: Any, path: Path) -> Any:
        match wire.kind:
            case GoKind.RAW:
                return data
            case GoKind.STRING if isinstance(data, str):
                return data
            case GoKind.BOOL if isinstance(data, bool):
                return data
            case GoKind.INTEGER if is_number(data):
                literal = _literal(data)
                limit = 2 ** (wire.bits - 1)
                is_integer = literal.lstrip("-").isdigit() and len(literal) <= _MAX_DIGITS
                if is_integer and -limit <= int(literal) < limit:
                    return int(literal)
                return self._mismatch(data, wire, f"number {literal}")
            case GoKind.FLOAT if is_number(data):
                return self._float(wire, data)
            case GoKind.DURATION:
                return self._duration(data)
            case GoKind.BYTES if isinstance(data, str | list):
                return self._bytes(data, path)
        return self._mismatch(data, wire)

    def _float(self, wire: Scalar, data: Any) -> Any:
        if abs(data) > 3.4028235677973366e38:
            self._mismatch(data, wire, f"number {_literal(data)}")
            return wire.zero
        return float(data)

    def _duration(self, data: Any) -> Any:
        if not isinstance(data, str):
            return self._stop(self._cannot(_json_kind(data), "string"))
        try:
            return parse_duration(data)
        except DurationError as error:
            return self._stop(str(error))

    def _bytes(self, data: str | list[Any], path: Path) -> Any:
        """Go takes a list of numbers for []byte too."""
        if isinstance(data, str):
            decoded = decode_base64(data)
            if decoded is None:
                wrong = _NOT_BASE64.search(data.rstrip("="))
                at = wrong.start() if wrong else len(data) // 4 * 4
                self._saved = self._saved or f"illegal base64 data at input byte {at}"
            return _MISSING if decoded is None else decoded
        misfits = [i for i, x in enumerate(data) if type(x) is not int or not 0 <= x <= 255]
        for index in misfits:
            item = data[index]
            shown = f"number {_literal(item)}" if is_number(item) else ""
            self._mismatch(item, _OCTET, shown)
            if not is_whole(item):
                self.misfits.append(Misfit((*path, index), item, _OCTET))
        return b"" if misfits else bytes(data)

    def _mismatch(self, data: Any, wire: Wire, value: str = "") -> Any:
        self._saved = self._saved or self._cannot(value or _json_kind(data), go_name(wire))
        return _MISSING

    def _cannot(self, value: str, go_type: str) -> str:
        if not self._keys:
            return f"json: cannot unmarshal {value} into Go value of type {go_type}"
        field = f"{self._struct}.{'.'.join(self._keys)}"
        return f"json: cannot unmarshal {value} into Go struct field {field} of type {go_type}"

    def _stop(self, text: str) -> Any:
        self._immediate = self._immediate or text
        return _MISSING


def decode_base64(text: str) -> bytes | None:
    """Return the bytes of a base64 text; None if it is not base64. Go skips line ends."""
    try:
        return base64.b64decode(text.replace("\n", "").replace("\r", ""), validate=True)
    except (binascii.Error, ValueError):
        return None


def _zero(wire: Wire) -> Any:
    if isinstance(wire, Scalar):
        return wire.zero
    return wire.cls() if isinstance(wire, StructOf) else None


def is_number(data: Any) -> bool:
    return isinstance(data, int | float) and not isinstance(data, bool)


def is_whole(data: Any) -> bool:
    """Return whether it is a number without a fraction, however it is written."""
    return is_number(data) and (isinstance(data, int) or data.is_integer())


def _literal(data: int | float) -> str:
    if isinstance(data, JsonFloat):
        return data.literal
    return float_text(data) if isinstance(data, float) else str(data)


def _json_kind(data: Any) -> str:
    """Return the JSON type, as Go's messages name it."""
    kinds = {bool: "bool", str: "string", list: "array", dict: "object"}
    return next((name for kind, name in kinds.items() if isinstance(data, kind)), "number")


_META_TYPE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\"";'
    r' Kind string "json:\"kind,omitempty\"" }'
)


# -- a text ---------------------------------------------------------------------------------------


# The name of the configuration's scheme in release binaries, which GetNameFromCallsite makes of a
# path; a program that links the scheduler as a module names apimachinery's own file from 1.35 on.
SCHEME = "k8s.io/kubernetes/pkg/scheduler/apis/config/scheme/scheme.go:29"


@dataclass(frozen=True, slots=True)
class Scheme:
    """The types that a release decodes.

    args: by plugin name; absent_fields: "GO TYPE.KEY" of fields that the types lack in this release
    """

    args: Mapping[str, type[TypeMeta]]
    absent_fields: frozenset[str]

    @classmethod
    def of(cls, registry: KnownPlugins) -> Scheme:
        rules = registry.release.rules
        args = {name: args.type for name, args in in_tree_args(registry).items()}
        return cls(args, rules.absent_fields)

    def decoder(self) -> Decoder:
        return Decoder(self.absent_fields)


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a text contains.

    error:         kube-scheduler's, None where it decodes
    data:          the first document, plain (None where the text is unreadable)
    configuration: what could be decoded of it, errors or not
    syntax_error:  where the text is neither YAML nor JSON; without a source
    documents:     how many the text has; kube-scheduler reads the first
    """

    error: str | None
    data: Any
    configuration: SchedulerConfiguration
    syntax_error: InputError | None = None
    duplicates: tuple[Duplicate, ...] = ()
    documents: int = 1


@dataclass(frozen=True, slots=True)
class _Kind:
    group: str
    version: str
    kind: str

    @property
    def group_version(self) -> str:
        return f"{self.group}/{self.version}" if self.group else self.version


def is_json_buffer(text: str) -> bool:
    """Return whether kube-scheduler reads the text as JSON: its first character is a brace."""
    return text.lstrip(" \t\r\n\v\f\x85\xa0").startswith("{")


def parse(text: str, registry: KnownPlugins) -> ParsedText:
    """Return every step of upstream's decoding, going on after an error for the sake of later
    checks."""
    scheme = Scheme.of(registry)
    if is_json_buffer(text):
        try:
            return _decode_document(text, PlainDocument(json_tree.parse(text), ()), 1, scheme)
        except json_tree.JsonError as error:
            message = f"couldn't get version/kind; json parse error: {error.message}"
            failure = json_failure(text, error, "")
            return ParsedText(message, None, SchedulerConfiguration(), failure)
    try:
        first = next(iter(read_documents(text)), PlainDocument(None, ()))
    except YamlError as error:
        failure = yaml_failure(error, "")
        return ParsedText(error.message, None, SchedulerConfiguration(), failure)
    try:
        count = sum(1 for _ in read_documents(text))
    except YamlError:  # past the first, which is all that kube-scheduler reads
        count = 2
    return _decode_document(text, first, count, scheme)


def _decode_document(
    text: str, document: PlainDocument, documents: int, scheme: Scheme
) -> ParsedText:
    data = document.data
    error, kind = _interpret(data)
    if error is None and kind is not None:
        error = _registered(kind, text, scheme)
    decoder = scheme.decoder()
    configuration = decoder.decode(data if isinstance(data, dict) else {}, SchedulerConfiguration)
    strict = [*_duplicate_text(document.duplicates), *decoder.strict]
    configuration, nested_fatal, nested_strict = _decode_args(configuration, scheme)
    if error is None and kind is not None and kind.kind != KIND:
        error = _other_kind(kind, document, scheme)
    if error is None:
        error = decoder.fatal or nested_fatal
    if error is None and (strict or nested_strict):
        error = _strict_error([*strict, *nested_strict])
    return ParsedText(error, data, configuration, None, document.duplicates, documents)


def _other_kind(kind: _Kind, document: PlainDocument, scheme: Scheme) -> str:
    """Plugin args at the top: they decode, but are no configuration."""
    decoder = scheme.decoder()
    decoder.decode(document.data, scheme.args[kind.kind.removesuffix("Args")])
    strict = [*_duplicate_text(document.duplicates), *decoder.strict]
    if decoder.fatal is not None or strict:
        return decoder.fatal or _strict_error(strict)
    shown = f"{kind.group_version}, Kind={kind.kind}"
    return f"couldn't decode as KubeSchedulerConfiguration, got {shown}: "


def _duplicate_text(duplicates: tuple[Duplicate, ...]) -> list[str]:
    if not duplicates:
        return []
    return ["\n".join(["yaml: unmarshal errors:", *(f"  {item.text()}" for item in duplicates)])]


def _strict_error(errors: list[str]) -> str:
    return "strict decoding error: " + ", ".join(errors)


def _interpret(data: Any) -> tuple[str | None, _Kind | None]:
    """apiVersion and kind of an object; encoding/json finds them in any case of letters."""
    prefix = "couldn't get version/kind; json parse error: json: cannot unmarshal"
    if data is None:
        return None, _Kind("", "", "")
    if not isinstance(data, dict):
        return f"{prefix} {_json_kind(data)} into Go value of type {_META_TYPE}", None
    keys = {"apiversion": "apiVersion", "kind": "kind"}
    meta = {"apiVersion": "", "kind": ""}
    error = None
    for key, value in getattr(data, "pairs", sorted(data.items())):
        field = keys.get(key.casefold())
        if field is None or value is None:
            continue
        if isinstance(value, str):
            meta[field] = value
        elif error is None:
            error = f"{prefix} {_json_kind(value)} into Go struct field .{field} of type string"
    if error is not None:
        return error, None
    version = meta["apiVersion"]
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}", None
    group, slash, name = version.rpartition("/")
    return None, _Kind(group, name if slash or version else "", meta["kind"])


def _registered(kind: _Kind, text: str, scheme: Scheme) -> str | None:
    if not kind.kind:
        return f"Object 'Kind' is missing in '{text}'"
    if not kind.version:
        return f"Object 'apiVersion' is missing in '{text}'"
    kinds = {KIND, *(f"{name}Args" for name in scheme.args)}
    if kind.group_version == API_VERSION and kind.kind in kinds:
        return None
    return (
        f"no kind {quote(kind.kind)} is registered for version"
        f" {quote(kind.group_version)} in scheme {quote(SCHEME)}"
    )


def _decode_args(
    configuration: SchedulerConfiguration, scheme: Scheme
) -> tuple[SchedulerConfiguration, str | None, list[str]]:
    """Typed args for in-tree plugins; the first fatal error; the strict ones."""
    fatal: str | None = None
    strict: list[str] = []
    profiles: list[SchedulerProfile] = []
    for profile_index, profile in enumerate(configuration.profiles or ()):
        configs: list[PluginConfig] = []
        for index, config in enumerate(profile.plugin_config or ()):
            args, error, unstrict = _plugin_args(config, scheme)
            configs.append(replace(config, args=args))
            where = f"decoding .profiles[{profile_index}].pluginConfig[{index}]: "
            if error is not None and fatal is None:
                fatal = where + error
            if unstrict:
                message = f"decoding args for plugin {config.name}: {_strict_error(unstrict)}"
                strict.append(where + _strict_error([message]))
        decoded = None if profile.plugin_config is None else tuple(configs)
        profiles.append(replace(profile, plugin_config=decoded))
    if configuration.profiles is None:
        return configuration, fatal, strict
    return replace(configuration, profiles=tuple(profiles)), fatal, strict


def _plugin_args(config: PluginConfig, scheme: Scheme) -> tuple[Any, str | None, list[str]]:
    """Return the args of one pluginConfig entry, a fatal error, strict errors."""
    cls = scheme.args.get(config.name)
    if cls is None:
        return _plain(config.args), None, []
    prefix = f"decoding args for plugin {config.name}: "
    error, kind = _interpret(config.args)
    if error is not None or kind is None:
        return cls(), prefix + (error or ""), []
    group, version = kind.group, kind.version
    if not version and group in ("", GROUP):  # json.Serializer's gvkWithDefaults
        group, version = GROUP, API_VERSION.rpartition("/")[2]
    kind = _Kind(group, version, kind.kind or f"{config.name}Args")
    raw = "" if config.args is None else json_text(ordered(config.args))
    error = _registered(kind, raw, scheme)
    if error is not None:
        return cls(), prefix + error, []
    decoder = scheme.decoder()
    if kind.kind != f"{config.name}Args":
        expected, got = f"{config.name}Args.{GROUP}", f"{kind.kind}.{kind.group}"
        return cls(), f"args for plugin {config.name} were not of type {expected}, got {got}", []
    args = decoder.decode(config.args or {}, cls)
    if decoder.fatal is not None:
        return args, prefix + decoder.fatal, []
    return args, None, decoder.strict


def ordered(data: Any) -> Any:
    """Members as raw JSON has them: its own order, or sorted where YAML was turned into JSON."""
    if isinstance(data, list):
        return [ordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    pairs = data.items() if isinstance(data, json_tree.JsonObject) else sorted(data.items())
    return {key: ordered(item) for key, item in pairs}


def _plain(data: Any) -> Any:
    """Return a foreign plugin's args, alike for YAML and JSON: keys sorted, and a whole number an
    integer, as kube-scheduler makes 2 of YAML's 2.0."""
    if isinstance(data, list):
        return [_plain(item) for item in data]
    if isinstance(data, dict):
        return {key: _plain(data[key]) for key in sorted(data)}
    if isinstance(data, bool) or not isinstance(data, int | float):
        return data
    number = json_tree.number_as_in_yaml(getattr(data, "literal", str(data)))
    if isinstance(number, float):
        return json_tree.number_as_in_yaml(float_text(number))
    return number
