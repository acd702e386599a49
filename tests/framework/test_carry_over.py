"""Plugins that take over what their predecessors assumed."""

from __future__ import annotations

from pathlib import Path

import pytest

from ksched_cli.plugins.volume_binding.plugin import VolumeBinding
from tests.replays import cluster_of, node, state_of


def test_a_framework_gives_each_plugin_its_predecessor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = state_of(tmp_path, node("a"))
    before, after = (cluster_of(state).engine.frameworks["default-scheduler"] for _ in "ab")
    given: list[object] = []
    monkeypatch.setattr(VolumeBinding, "carry_over", lambda self, previous: given.append(previous))
    after.carry_over(before)
    assert given == [before.plugin("VolumeBinding")]
