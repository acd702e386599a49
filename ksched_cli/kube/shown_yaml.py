"""Plain data as YAML that PyYAML and go-yaml read as the same data."""

from __future__ import annotations

import re
from typing import Any

import yaml
from yaml.nodes import ScalarNode

from ksched_cli.kube import job_commands

_UNFOLDED = 2**30  # libyaml folds longer lines, and takes no infinity
# Texts that go-yaml reads as booleans and numbers, and PyYAML does not.
_MISREAD = re.compile(r"[yYnN]|[-+.]?[0-9][0-9a-fA-FoOxX_.+-]*")


class _Dumper(yaml.CSafeDumper):
    """Quotes texts that are misread. In a job, a text with a command is quoted as well, so that it
    is on one line and may have escapes."""


def _string(dumper: yaml.CSafeDumper, text: str) -> ScalarNode:
    style = "'" if _MISREAD.fullmatch(text) else None
    if job_commands.disarmed(text) != text and job_commands.is_job():
        style = '"'
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_Dumper.add_representer(str, _string)


def block_yaml(value: Any) -> str:
    """Return the value as YAML in block style."""
    return _dumped(value, is_flow=False)


def flow_yaml(value: Any) -> str:
    """Return the value as YAML on one line."""
    return _dumped(value, is_flow=True).removesuffix("\n").removesuffix("\n...")


def _dumped(value: Any, *, is_flow: bool) -> str:
    text: str = yaml.dump(
        value,
        Dumper=_Dumper,
        sort_keys=False,
        allow_unicode=True,
        width=_UNFOLDED,
        default_flow_style=is_flow,
    )
    return text
