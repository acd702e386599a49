"""What the JSON of every command has."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.testing import node, pod
from tests.report.schemas import conforms

SCHEMAS = {
    ("schedule",): "schedule_result",
    ("explain", "p"): "explanation",
    ("explain", "--pending"): "pending_report",
    ("preempt", "p"): "preemption_result",
    ("fix", "p"): "remedies",
    ("fix", "--pending"): "remedies",
    ("capacity", "p"): "capacity_result",
    ("capacity", "--pending", "--like", "a"): "capacity_result",
    ("shrink",): "shrink_result",
    ("drift",): "drift_result",
    ("plugins",): "plugin_list",
    ("config", "show"): "effective_configuration",
    ("validate",): "validation_result",
}
Run = Callable[..., tuple[int, str, str]]
Write = Callable[..., Path]


@pytest.mark.parametrize("command", SCHEMAS)
def test_every_document_names_the_release_and_its_warnings(
    command: tuple[str, ...], ksched: Run, write_state: Write, write_config: Write
) -> None:
    state = write_state(node("a"), pod("p"), pod("q", node="a"))
    options: list[Any] = ["--state", state]
    if command == ("validate",):
        options = [
            write_config(
                "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
            )
        ]
    elif command[0] in ("plugins", "config"):
        options = []
    _, out, err = ksched(*command, *options, "-o", "json")
    document = conforms(json.loads(out), SCHEMAS[command])
    assert list(document)[:3] == ["apiVersion", "kind", "kubernetesVersion"]
    assert document["kubernetesVersion"].startswith("v1.")
    assert [f"warning: {line}" for line in document["warnings"]] == err.splitlines()
