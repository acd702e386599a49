"""The shape of a configuration: every unknown key and every value of another type.

The decoder finds them, and words them as kube-scheduler does; here each has its path and what was
likely meant. Values out of range are upstream's to word (validation.py).
"""

from __future__ import annotations

from typing import Any

from ksched_cli.config.checks.findings import Edit, Findings
from ksched_cli.config.checks.known_names import name_tables
from ksched_cli.config.effective import KnownPlugins
from ksched_cli.config.go_types import GoKind, ListOf, Scalar, Wire
from ksched_cli.config.parsing import Scheme, is_whole, ordered
from ksched_cli.config.types import SchedulerConfiguration
from ksched_cli.kube.document_schemas import duration_hint, shown, wrong_type
from ksched_cli.kube.extension_points import POINT_KEYS
from ksched_cli.kube.int64 import parse_int64
from ksched_cli.kube.json_tree import repeated_keys, value_at
from ksched_cli.kube.near_names import did_you_mean, nearest


def check_structure(data: Any, registry: KnownPlugins, findings: Findings) -> None:
    """Add an error for every key that v1 does not have, and every value of the wrong type."""
    scheme = Scheme.of(registry)
    decoder = scheme.decoder()
    # The args of in-tree plugins are decoded whatever kind they say they are.
    configuration = decoder.decode(ordered(data), SchedulerConfiguration)
    for profile_index, profile in enumerate(configuration.profiles or ()):
        for index, config in enumerate(profile.plugin_config or ()):
            if config.name in scheme.args:
                args_path = ("profiles", profile_index, "pluginConfig", index, "args")
                decoder.decode(config.args, scheme.args[config.name], args_path)
    for misfit in decoder.misfits:
        if misfit.wire is None:
            siblings = value_at(data, misfit.path[:-1])
            # A key that nothing reads: of a former version, at a wrong place, or misspelt.
            tables, (*above, key) = name_tables(), misfit.path
            key = str(key)
            advice, fix = tables.legacy_keys.get(key) or tables.misplaced_keys.get(key), None
            if not advice and (near := nearest(key, misfit.keys)):
                advice = did_you_mean(key, misfit.keys)
                fix = None if near in siblings else Edit(misfit.path, near, is_key=True)
            if above and above[-1] == "plugins":
                points = ", ".join(key for key in (*POINT_KEYS, "multiPoint") if key in misfit.keys)
                rule, problem = "unknown-point", f'"{key}" is not an extension point'
                advice = advice or f"the points are {points}"
            else:
                rule, problem = "unknown-key", f'unknown key "{key}"'
                advice = advice or f"expected one of {', '.join(misfit.keys)}"
            findings.error(rule, misfit.path, problem, advice, fix)
        else:
            message, hint = _wrong_value(misfit.wire, misfit.data)
            value = _unquoted(misfit.wire, misfit.data)
            edit = None if value is None else Edit(misfit.path, value)
            findings.error("wrong-type", misfit.path, message, hint, edit)
    for path in repeated_keys(data):
        findings.error(
            "duplicate-key", path, f'the key "{path[-1]}" appears twice', "keep one of them"
        )


def _unquoted(wire: Wire, data: Any) -> int | bool | None:
    """Return the number or the truth value that a text in quotes is, where that is expected."""
    if isinstance(wire, Scalar) and isinstance(data, str):
        if wire.kind is GoKind.INTEGER:
            return parse_int64(data)
        if wire.kind is GoKind.BOOL and data in ("true", "false"):
            return data == "true"
    return None


def _wrong_value(wire: Wire, data: Any) -> tuple[str, str]:
    """Return the message and the hint for a value of another type."""
    kinds = ["array" if isinstance(wire, ListOf) else "object"]
    if isinstance(wire, Scalar):
        kinds = [wire.kind.value]
        match wire.kind:
            case GoKind.INTEGER if is_whole(data):
                return f"{shown(data)} is not a whole number that fits {wire.bits} bits", ""
            case GoKind.BYTES if isinstance(data, str):
                return f"{shown(data)} is not base64 text", ""
            case GoKind.BYTES:
                kinds = ["string", "array"]
            case GoKind.DURATION if isinstance(data, str):
                expected = 'a duration such as "10s" or "1m30s"'
                return f"{shown(data)} is not {expected}", duration_hint(data)
            case GoKind.DURATION:
                message, hint = wrong_type(data, ["string"])
                return message, duration_hint(data) or hint
    return wrong_type(data, kinds)
