"""Real control planes: what their schedulers decide is what ksched would have decided.

They take minutes and a Go toolchain, or the binaries cached: with KSCHED_LIVE=1 they run, with the
minor of $KSCHED_KUBERNETES_VERSION. `.ci/live` runs them too, and says how many decisions agree.
"""

import os
from pathlib import Path

import pytest

from tests.live.control_plane.build import MINORS, NoGoError, binaries
from tests.live.control_plane.run import play
from tests.live.control_plane.scenarios import SCENARIOS

is_live = pytest.mark.skipif(
    not os.environ.get("KSCHED_LIVE"), reason="real control planes run with KSCHED_LIVE=1"
)


@is_live
@pytest.mark.parametrize("name", SCENARIOS)
def test_the_real_scheduler_decides_as_ksched_does(name: str, tmp_path: Path) -> None:
    minor = os.environ["KSCHED_KUBERNETES_VERSION"]
    try:
        binaries(minor, kwok=SCENARIOS[name].kwok)
    except NoGoError as error:
        pytest.skip(str(error))
    outcome = play(SCENARIOS[name], minor, tmp_path)
    assert outcome.audit["decisions"]
    assert outcome.audit["differ"] == []
    assert outcome.audit["unexplained"] == []


@pytest.mark.parametrize("minor", MINORS)
def test_every_minor_has_its_pins(minor: str) -> None:
    folder = Path(__file__).parent / "modules" / f"kubernetes-{minor}"
    assert f"k8s.io/kubernetes {MINORS[minor]}" in (folder / "go.mod").read_text()
    assert f"k8s.io/kubernetes {MINORS[minor]} h1:" in (folder / "go.sum").read_text()


@pytest.mark.parametrize("name", SCENARIOS)
def test_scenarios_are_the_same_every_time(name: str) -> None:
    objects = SCENARIOS[name].objects()
    assert objects == SCENARIOS[name].objects()
    keys = [(manifest["kind"], manifest["metadata"]["name"]) for manifest in objects]
    assert len(set(keys)) == len(keys)
