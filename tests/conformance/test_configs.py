"""The configurations that the real kube-scheduler of each minor judged, all in this process."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
from cases import expected_file

from ksched_cli.analysis.configuration import EffectiveConfiguration
from ksched_cli.answers import document_of
from ksched_cli.config.parsing import SCHEME
from ksched_cli.config.review import judge, review_bytes
from ksched_cli.kube.versions import MINORS, release_of
from ksched_cli.plugins import registry_of

REGISTRIES = {minor: registry_of(release_of(minor)) for minor in MINORS}
FOLDERS = sorted(Path(__file__).with_name("configs").iterdir())
CASES = [
    pytest.param(
        case,
        minor,
        id=f"{case.name}-{minor}",
        marks=[pytest.mark.slow] * (minor != MINORS[number % len(MINORS)]),
    )
    for number, case in enumerate(FOLDERS)
    for minor in MINORS
    if expected_file(case, minor).exists()
]


def plain(data: Any) -> Any:
    """Drops what is empty, as check.py does, so that only meaning is compared."""
    if isinstance(data, dict):
        return {key: plain(value) for key, value in data.items() if value not in (None, "", [], {})}
    return [plain(value) for value in data] if isinstance(data, list) else data


@pytest.mark.parametrize(("case", "minor"), CASES)
def test_a_configuration_is_judged_as_kube_scheduler_judged_it(case: Path, minor: str) -> None:
    registry = REGISTRIES[minor]
    expected = json.loads(expected_file(case, minor).read_text())
    raw = (case / "config.yaml").read_bytes()
    reviewed = review_bytes(raw, "config.yaml", registry)
    judgement = judge(raw.decode(), registry)
    verdict = judgement.verdict
    assert verdict == reviewed.verdict
    assert verdict.accepts is not any(finding.refused for finding in reviewed.findings)
    if "stage" in expected:
        # The oracle links the scheduler as a module, which names another file than releases do.
        error = re.sub(r"pkg/runtime/scheme\.go:\d+", SCHEME, expected["error"])
        assert (verdict.stage, verdict.error) == (expected["stage"], error)
        return
    configuration = judgement.startup.configuration
    assert configuration is not None
    document = json.loads(json.dumps(document_of(EffectiveConfiguration.of(configuration))))
    for key in ("profiles", "weights", "args"):
        assert plain(document[key]) == plain(expected.get(key) or {})
