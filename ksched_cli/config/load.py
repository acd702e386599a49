"""The effective configuration of a source, or an InputError with what is wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ksched_cli import program_name
from ksched_cli.config.allowed_plugins import AllowedPlugin
from ksched_cli.config.defaults import with_defaults
from ksched_cli.config.effective import Configuration, KnownPlugins
from ksched_cli.config.startup import start
from ksched_cli.config.types import SchedulerConfiguration
from ksched_cli.errors import InputError, Position

if TYPE_CHECKING:
    from ksched_cli.config.sources import ConfigurationText


def load_configuration_source(
    source: str | ConfigurationText,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] | None = None,
    *,
    calls_extenders: bool = True,
) -> Configuration:
    """Return the effective configuration of what `--config` takes (FILE, `-` or FILE#NAME), or of a
    text that has been read from there.

    allowed, calls_extenders: see load_configuration
    Raises InputError where it cannot be read, or kube-scheduler refuses it; with the position in
    the file, and with the object that holds the configuration there.
    """
    # Brings all checks of files along.
    from ksched_cli.config.sources import read_configuration_text

    text = read_configuration_text(source) if isinstance(source, str) else source
    try:
        return load_configuration(
            text.text, text.path, registry, allowed, calls_extenders=calls_extenders
        )
    except InputError as error:
        raise text.located(error) from None


def load_configuration(
    text: str | None,
    source_name: str,
    registry: KnownPlugins,
    allowed: Sequence[AllowedPlugin] | None = None,
    *,
    calls_extenders: bool = True,
) -> Configuration:
    """Return the effective configuration of a file's text; of None, the default one.

    allowed: plugins of other builds that are taken as there; None if their code is needed
    calls_extenders: whether the files of their TLS are needed
    Raises InputError, with the first problem and its position, where kube-scheduler refuses it.
    """
    if text is None:
        return default_configuration(registry)
    from ksched_cli.config.review import findings_of, judge

    reads_files = allowed is None and calls_extenders
    judgement = judge(text, registry, allowed, reads_files=reads_files)
    configuration = judgement.startup.configuration
    if judgement.verdict.accepts and configuration is not None:
        return configuration
    findings = findings_of(text, judgement)
    errors = [finding for finding in findings if finding.refused]
    first = errors[0]
    rest = f" (and {len(errors) - 1} more; `{program_name()} validate` lists them)"
    more = rest if len(errors) > 1 else ""
    raise InputError(
        source_name,
        first.message + more,
        subject=first.path,
        position=Position(first.line, first.column or 1) if first.line else None,
        hint=first.hint,
    )


def default_configuration(registry: KnownPlugins) -> Configuration:
    """Return the configuration that kube-scheduler runs with when it is given no file."""
    empty = SchedulerConfiguration()
    configuration = start(empty, with_defaults(empty, registry), registry).configuration
    assert configuration is not None  # the default profile's plugins can always be placed
    return configuration
