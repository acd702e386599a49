"""The configuration that --config (or $KSCHED_CONFIG, or nothing) names."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ksched_cli.commands.session_plugins import asked_for
from ksched_cli.config.effective import Configuration
from ksched_cli.config.joining import profile_with_plugins
from ksched_cli.config.load import load_configuration
from ksched_cli.config.types import API_VERSION, KIND
from ksched_cli.framework.registry import Registry
from ksched_cli.kube.documents import decode_text, read_file


def read_configuration(
    path: str | None, known: Registry, asked: Sequence[str] | None = None
) -> Configuration:
    """asked: what --plugin names; without a file it joins the default profile.

    Raises InputError where the file is missing, unreadable or not valid.
    """
    if path:
        raw, name = read_file(path)
        return load_configuration(decode_text(raw, name), name, known)
    if asked:
        data = {
            "apiVersion": API_VERSION,
            "kind": KIND,
            **profile_with_plugins(asked_for(known, asked)),
        }
        return load_configuration(
            json.dumps(data), "the default configuration with --plugin", known
        )
    return load_configuration(None, "", known)
