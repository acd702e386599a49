"""Every unknown key and every wrong type, with what is likely meant."""

from typing import Any

import pytest

from ksched_cli.config.checks.findings import Findings
from ksched_cli.config.checks.structure import check_structure
from tests.config.registries import REGISTRY

HEAD = {"apiVersion": "kubescheduler.config.k8s.io/v1", "kind": "KubeSchedulerConfiguration"}


def findings(data: dict[str, Any]) -> list[tuple[str, ...]]:
    collected = Findings("")
    check_structure(HEAD | data, REGISTRY, collected)
    return [(item.rule, item.path, item.hint) for item in collected.sorted()]


@pytest.mark.parametrize(
    ("data", "finding"),
    [
        ({"paralelism": 1}, ("unknown-key", "paralelism", 'did you mean "parallelism"?')),
        ({"parallelism": "3"}, ("wrong-type", "parallelism", "remove the quotes")),
        ({"parallelism": "9" * 5000}, ("wrong-type", "parallelism", "")),
        ({"parallelism": 2**31}, ("wrong-type", "parallelism", "")),
        ({"profiles": {}}, ("wrong-type", "profiles", 'begin each item with "- "')),
        (
            {"profiles": [{"schedulerName": 3}]},
            ("wrong-type", "profiles[0].schedulerName", 'put it in quotes: "3"'),
        ),
        (
            {"leaderElection": {"leaseDuration": "1 day"}},
            ("wrong-type", "leaderElection.leaseDuration", ""),
        ),
    ],
)
def test_what_does_not_fit_is_found_with_a_hint(
    data: dict[str, Any], finding: tuple[str, ...]
) -> None:
    assert findings(data) == [finding]


def test_a_value_out_of_range_is_left_to_validation() -> None:
    assert findings({"parallelism": 0}) == []
