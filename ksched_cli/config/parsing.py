"""A file's text to a ParsedText: YAML or JSON, apiVersion and kind, strictness, plugin args.

decoder.py decodes the objects inside; this module has what comes before, between and after.

Upstream: apimachinery runtime/serializer (recognizer, json.Serializer.Decode, strict mode,
SimpleMetaFactory.Interpret), versioning.codec.Decode, and DecodeNestedObjects of
k8s.io/kube-scheduler/config/v1/types.go for plugin args.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from ksched_cli.config.decoder import Decoder
from ksched_cli.config.effective import KnownPlugins, in_tree_args
from ksched_cli.config.types import (
    API_VERSION,
    GROUP,
    KIND,
    PluginConfig,
    SchedulerConfiguration,
    SchedulerProfile,
    TypeMeta,
)
from ksched_cli.errors import Position
from ksched_cli.kube import json_tree
from ksched_cli.kube.documents import Document, position_at, read_documents
from ksched_cli.kube.formatting import float_text, json_text, quote
from ksched_cli.kube.yaml_errors import Duplicate, YamlError

_META_TYPE = (
    r'struct { APIVersion string "json:\"apiVersion,omitempty\"";'
    r' Kind string "json:\"kind,omitempty\"" }'
)


@dataclass(frozen=True, slots=True)
class Scheme:
    """The types that a release decodes.

    args: by plugin name; name: of the scheme in messages; absent_fields: "GO TYPE.KEY" of fields
    that the types lack in this release
    """

    args: Mapping[str, type[TypeMeta]]
    name: str
    absent_fields: frozenset[str]

    @classmethod
    def of(cls, registry: KnownPlugins) -> Scheme:
        rules = registry.release.rules
        args = {name: args.type for name, args in in_tree_args(registry).items()}
        return cls(args, rules.scheme, rules.absent_fields)

    def decoder(self) -> Decoder:
        return Decoder(self.absent_fields)


@dataclass(frozen=True, slots=True)
class TextSyntaxError:
    """The text cannot be read at all."""

    problem: str
    position: Position | None


@dataclass(frozen=True, slots=True)
class ParsedText:
    """What a text contains.

    error:         kube-scheduler's, None where it decodes
    data:          the first document, plain (None where the text is unreadable)
    configuration: what could be decoded of it, errors or not
    syntax_error:  set where the text is neither YAML nor JSON
    documents:     how many the text has; kube-scheduler reads the first
    """

    error: str | None
    data: Any
    configuration: SchedulerConfiguration
    syntax_error: TextSyntaxError | None = None
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
    """Whether kube-scheduler reads the text as JSON: its first character is a brace."""
    return text.lstrip(" \t\r\n\v\f\x85\xa0").startswith("{")


def parse(text: str, registry: KnownPlugins) -> ParsedText:
    """Every step of upstream's decoding, going on after an error for the sake of later checks."""
    scheme = Scheme.of(registry)
    if is_json_buffer(text):
        try:
            return _decode_document(text, Document(json_tree.parse(text), ()), 1, scheme)
        except json_tree.JsonError as error:
            return _broken_json(text, error)
    documents: list[Document] = []
    try:
        documents = list(islice(read_documents(text), 1))
        first = documents[0] if documents else Document(None, ())
    except YamlError as error:
        position = Position(error.line, error.column or 1) if error.line else None
        syntax_error = TextSyntaxError(error.message.removeprefix("yaml: "), position)
        return ParsedText(error.message, None, SchedulerConfiguration(), syntax_error)
    return _decode_document(text, first, _count_documents(text), scheme)


def _count_documents(text: str) -> int:
    """kube-scheduler never reads past the first, so what is wrong further down is no error."""
    try:
        return sum(1 for _ in read_documents(text))
    except YamlError:
        return 2


def _broken_json(text: str, error: json_tree.JsonError) -> ParsedText:
    message = f"couldn't get version/kind; json parse error: {error.message}"
    syntax_error = TextSyntaxError(error.message, position_at(text, error.offset))
    return ParsedText(message, None, SchedulerConfiguration(), syntax_error)


def _decode_document(text: str, document: Document, documents: int, scheme: Scheme) -> ParsedText:
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


def _other_kind(kind: _Kind, document: Document, scheme: Scheme) -> str:
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
        kind = {str: "string", bool: "bool", list: "array"}.get(type(data), "number")
        return f"{prefix} {kind} into Go value of type {_META_TYPE}", None
    meta = {"apiversion": "", "kind": ""}
    error = None
    for key, value in getattr(data, "pairs", sorted(data.items())):
        name = key.casefold()
        if name not in meta or value is None:
            continue
        if isinstance(value, str):
            meta[name] = value
        elif error is None:
            shown = {dict: "object", bool: "bool", list: "array"}.get(type(value), "number")
            field = {"apiversion": "apiVersion"}.get(name, name)
            shown = "object" if isinstance(value, dict) else shown
            error = f"{prefix} {shown} into Go struct field .{field} of type string"
    if error is not None:
        return error, None
    version = meta["apiversion"]
    if version.count("/") > 1:
        return f"unexpected GroupVersion string: {version}", None
    group, slash, name = version.rpartition("/")
    return None, _Kind(group, name if slash or version else "", meta["kind"])


def _registered(kind: _Kind, text: str, scheme: Scheme) -> str | None:
    if not kind.kind:
        return f"Object 'Kind' is missing in '{text}'"
    if not kind.version:
        return f"Object 'apiVersion' is missing in '{text}'"
    return _unregistered(kind, scheme)


def _unregistered(kind: _Kind, scheme: Scheme) -> str | None:
    kinds = {KIND, *(f"{name}Args" for name in scheme.args)}
    if kind.group_version == API_VERSION and kind.kind in kinds:
        return None
    return (
        f"no kind {quote(kind.kind)} is registered for version"
        f" {quote(kind.group_version)} in scheme {quote(scheme.name)}"
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
    """The args of one pluginConfig entry, a fatal error, strict errors."""
    cls = scheme.args.get(config.name)
    if cls is None:
        return _plain(config.args), None, []
    prefix = f"decoding args for plugin {config.name}: "
    error, kind = _interpret(config.args)
    if error is not None or kind is None:
        return cls(), prefix + (error or ""), []
    kind = _defaulted(kind, f"{config.name}Args")
    raw = "" if config.args is None else json_text(_ordered(config.args))
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


def _ordered(data: Any) -> Any:
    """Members as raw JSON has them: its own order, or sorted where YAML was turned into JSON."""
    if isinstance(data, list):
        return [_ordered(item) for item in data]
    if not isinstance(data, dict):
        return data
    pairs = data.items() if isinstance(data, json_tree.JsonObject) else sorted(data.items())
    return {key: _ordered(item) for key, item in pairs}


def _plain(data: Any) -> Any:
    """A foreign plugin's args, alike for YAML and JSON: keys sorted, and a whole number an integer,
    as kube-scheduler makes 2 of YAML's 2.0."""
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


def _defaulted(kind: _Kind, expected: str) -> _Kind:
    """json.Serializer's gvkWithDefaults."""
    group, version = kind.group, kind.version
    if not version and (not group or group == GROUP):
        group, version = GROUP, API_VERSION.rpartition("/")[2]
    return _Kind(group, version, kind.kind or expected)
