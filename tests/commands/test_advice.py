"""What is said around decisions: what is in the way, what helps, and whom."""

import json
import shlex
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.commands.runners import Ksched

FOLDER = Path(__file__).parent
STATES = json.loads((FOLDER / "advice_states.json").read_text())
CASES = yaml.safe_load((FOLDER / "advice.yaml").read_text())


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['state']}: {case['typed']}")
def test_advice_names_the_cause_and_what_helps(
    case: Any, ksched: Ksched, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name, objects in STATES.items():
        if name == case["state"] or name in case["typed"]:
            file = "cluster" if name == case["state"] else name
            Path(f"{file}.json").write_text(json.dumps(objects))
    code, out, err = ksched(*shlex.split(case["typed"]))
    text = " ".join(f"{out} {err}".split())
    assert [part for part in case["says"] if part not in text] == [], out or err
    assert [part for part in case.get("never", ()) if part in text] == [], out
    assert code == case["code"]


def test_every_state_has_a_case() -> None:
    named = {name for each in CASES for name in STATES if name in (each["state"], each["typed"])}
    manifests = {name for name in STATES if any(f"{name}.json" in each["typed"] for each in CASES)}
    assert named | manifests == STATES.keys()
