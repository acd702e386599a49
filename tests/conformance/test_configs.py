"""The configurations that the real kube-scheduler v1.34.1 judged, all of them in this process."""

import json
from pathlib import Path
from typing import Any

import pytest

from ksched_cli.config.review import judge, review_bytes
from ksched_cli.framework.registry import Registry
from ksched_cli.plugins import IN_TREE
from ksched_cli.report import configuration as shown

REGISTRY = Registry(IN_TREE)
CASES = sorted(Path(__file__).with_name("configs").iterdir())


def plain(data: Any) -> Any:
    """Drops what is empty, as check.py does, so that only meaning is compared."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items() if value not in (None, "", [], {})}
    return [plain(value) for value in data] if isinstance(data, list) else data


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_a_configuration_is_judged_as_kube_scheduler_judged_it(case: Path) -> None:
    expected = json.loads((case / "expected.json").read_text())
    raw = (case / "config.yaml").read_bytes()
    reviewed = review_bytes(raw, "config.yaml", REGISTRY)
    judgement = judge(raw.decode(), REGISTRY)
    verdict = judgement.verdict
    assert verdict == reviewed.verdict
    assert reviewed.valid is verdict.accepts
    if "stage" in expected:
        assert (verdict.stage, verdict.error) == (expected["stage"], expected["error"])
        return
    configuration = judgement.startup.configuration
    assert configuration is not None
    document = shown.document(configuration)
    for key in ("profiles", "weights", "args"):
        assert plain(document[key]) == plain(expected.get(key) or {})
