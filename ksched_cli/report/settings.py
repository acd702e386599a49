"""The settings of a file, as a project file that says all of them."""

from __future__ import annotations

import textwrap
from collections.abc import Iterable

import yaml

from ksched_cli.config.checks.rules import REFUSALS, rules
from ksched_cli.config.reviewer import FileSettings
from ksched_cli.report.table import printable


def settings_text(path: str, settings: FileSettings) -> str:
    """YAML: comments say where the settings come from, and which rules are off or are ignored in
    the file."""
    stated = settings.project.settings
    selectable = [rule for rule in rules().values() if rule.family != REFUSALS]
    document = {
        "kubernetesVersion": settings.release.number,
        "featureGates": settings.feature_gates,
        "minCompatibilityVersion": settings.min_compatibility_version,
        "allowPlugins": [
            "=".join(filter(None, (plugin.name, "+".join(sorted(plugin.points or ())))))
            for plugin in settings.allowed
        ],
        "noPlugins": stated.no_plugins,
        "select": [rule.id for rule in selectable if rule.id in settings.chosen],
        "failOn": str(settings.fail_on),
    }
    off = [rule.id for rule in selectable if rule.id not in settings.chosen]
    ignored = ["@".join(filter(None, (item.selector, item.path))) for item in settings.ignores]
    text: str = yaml.safe_dump(document, sort_keys=False, default_flow_style=None, width=96)
    head = f"# {path}: settings of {settings.project.path or 'no project file'} and the options"
    comments = [*_comment("off", off), *_comment("ignored in this file", ignored)]
    return printable("\n".join([head, text.rstrip(), *comments]))


def _comment(title: str, names: Iterable[str]) -> list[str]:
    listed = ", ".join(names) or "none"
    return textwrap.wrap(f"# {title}: {listed}", 96, subsequent_indent="#   ")
