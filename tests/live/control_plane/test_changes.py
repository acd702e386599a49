"""What kubectl, the controllers and the scheduler make of a change is what `--change` says.

With KSCHED_LIVE=1, as test_scenarios.py; `python -m tests.live.control_plane.changes` shows a line
per change.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ksched_cli.scenario.file import parse_change
from tests.live.control_plane.build import NoGoError, binaries
from tests.live.control_plane.changes import CHANGES, compare_all, objects
from tests.live.control_plane.test_scenarios import is_live


@is_live
def test_every_change_leaves_what_the_real_cluster_is_left_with(tmp_path: Path) -> None:
    minor = os.environ["KSCHED_KUBERNETES_VERSION"]
    try:
        binaries(minor)
    except NoGoError as error:
        pytest.skip(str(error))
    differences = compare_all(minor, tmp_path)
    assert {line: difference for line, difference in differences.items() if difference} == {}


@pytest.mark.parametrize("line", CHANGES)
def test_every_change_can_be_read(line: str) -> None:
    assert parse_change(line).text == line


def test_the_cluster_is_the_same_every_time() -> None:
    assert objects() == objects()
