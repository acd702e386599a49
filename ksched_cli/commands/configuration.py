"""The configuration that --config (or $KSCHED_CONFIG, or nothing) names."""

from __future__ import annotations

from ksched_cli.config.effective import Configuration
from ksched_cli.config.effective import Plugins as Known
from ksched_cli.config.load import load_configuration
from ksched_cli.config.source import decode_text, read_file


def read_configuration(path: str | None, known: Known) -> Configuration:
    """Raises InputError where the file is missing, unreadable or not valid."""
    if not path:
        return load_configuration(None, "", known)
    raw, name = read_file(path)
    return load_configuration(decode_text(raw, name), name, known)
