"""Real control planes: what their schedulers decide is what ksched would have decided.

They take minutes and a Go toolchain, or the binaries cached: with KSCHED_LIVE=1 they run, with the
minor of $KSCHED_KUBERNETES_VERSION. `.ci/live` runs them too, and says how many decisions agree.
"""

import os
from pathlib import Path
from typing import Any, cast

import pytest

from tests.live.control_plane import run
from tests.live.control_plane.api import Manifest
from tests.live.control_plane.build import MINORS, NoGoError, binaries
from tests.live.control_plane.cluster import ControlPlane
from tests.live.control_plane.run import Outcome, play, settle
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
    assert outcome.agrees, outcome.audit["differ"] or outcome.audit["unexplained"]


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


def preemptor(name: str, **status: Any) -> Manifest:
    refused = [{"type": "PodScheduled", "status": "False"}]
    return {
        "metadata": {"name": name, "uid": name},
        "spec": {},
        "status": {"conditions": refused, **status},
    }


class QuietPlane:
    """Nothing happens any more. pods: as the API server has them"""

    def __init__(self, *pods: Manifest) -> None:
        self.pods, self.api = lambda: list(pods), self

    def check(self) -> None:
        pass

    def events(self) -> list[Manifest]:
        return []


def test_a_preemptor_that_stays_gated_ends_a_scenario_and_is_counted(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(run, "STALLED_SECONDS", 0.0)
    monkeypatch.setattr(run, "SETTLED_SECONDS", 0.0)
    gated, refused = preemptor("p", nominatedNodeName="n"), preemptor("q")
    assert settle(cast(ControlPlane, QuietPlane(gated, refused))) == {"default/p"}
    assert settle(cast(ControlPlane, QuietPlane(refused))) == frozenset()
    monkeypatch.setattr(run, "SETTLED_WITHIN", 0.01)
    new = {**preemptor("r"), "status": {}}
    with pytest.raises(TimeoutError):
        settle(cast(ControlPlane, QuietPlane(gated, new)))


def test_what_a_stalled_preemptor_lacks_is_no_failure_of_the_audit() -> None:
    unexplained = [{"pod": "default/p", "reason": "its next attempt may not have come yet"}]
    audit = {"differ": [], "unexplained": unexplained}
    assert Outcome(audit, audit, audit, 1.0, frozenset({"default/p"})).agrees
    assert not Outcome(audit, audit, audit, 1.0).agrees


def test_a_difference_in_any_of_the_audits_fails() -> None:
    agreeing: dict[str, Any] = {"differ": [], "unexplained": []}
    differing: dict[str, Any] = {"differ": [{}], "unexplained": []}
    assert Outcome(agreeing, agreeing, agreeing, 1.0).agrees
    assert not Outcome(agreeing, differing, agreeing, 1.0).agrees
    assert not Outcome(agreeing, agreeing, differing, 1.0).agrees
