"""Which rules of another Kubernetes release make pods end up elsewhere."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from msgspec import UNSET

from ksched_cli.analysis.compare import Compare, Comparison, RuleEffect
from ksched_cli.analysis.question import ask
from ksched_cli.kube.versions import MINORS, release_of, rule_differences, with_rules
from ksched_cli.report.compare import view
from ksched_cli.run.open import Opener
from ksched_cli.run.run import Run
from tests import messy

STATE = str(Path(__file__).parents[2] / "examples" / "upgrade" / "cluster.yaml")


def compared(first: str, second: str, **more: Any) -> Comparison:
    runs = [Run(states=(STATE,), kubernetes_version=minor) for minor in (first, second)]
    runs[1] = Run(states=(STATE,), kubernetes_version=second, **more)
    answer = ask(Compare(), *runs)
    assert isinstance(answer, Comparison)
    return answer


def texts(answer: Comparison) -> list[str]:
    return [line if isinstance(line, str) else line.text for line in view(answer).lines]


def effects(answer: Comparison) -> tuple[RuleEffect, ...]:
    rules = answer.sides[1].rules
    assert isinstance(rules, tuple)
    return rules


def test_each_pod_is_named_with_the_rule_that_moves_it_alone() -> None:
    answer = compared("1.37", "1.38")
    assert {effect.rule: effect.pods for effect in effects(answer)} == {
        "scores_pod_requests": ("batch/report",),
        "empty_selector_spreads": ("web/portal-3",),
        "empty_selector_protects": ("batch/etl-1", "data/store-0", "shop/invoice"),
    }
    lines = texts(answer)
    assert lines == [
        "NodeResourcesFit scores what a pod requests as a whole: batch/report moves",
        "A spread constraint with an empty selector counts all pods of the namespace:"
        " web/portal-3 becomes pending",
        "A disruption budget with an empty selector covers all pods of its namespace, and budgets"
        " cover pods without labels: batch/etl-1 is evicted, data/store-0 is no longer evicted and"
        " shop/invoice moves",
    ]


def test_a_pod_that_no_rule_moves_alone_is_moved_by_several() -> None:
    lines = texts(compared("1.38", "1.37"))
    assert lines[0].startswith("No longer: a spread constraint with an empty selector counts all")
    assert lines[-1] == "Several rules together: batch/report differs"


def test_no_rules_are_looked_for_where_something_else_differs_too() -> None:
    assert compared("1.37", "1.38", preemption=False).sides[1].rules is UNSET
    assert compared("1.37", "1.37").sides[1].rules is UNSET


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("1.38", "1.34"),
        *(pytest.param(*pair, marks=[pytest.mark.slow]) for pair in pairwise(MINORS[:-1])),
        (MINORS[-2], MINORS[-1]),
    ],
)
def test_a_release_with_a_single_rule_of_another_one_decides(
    tmp_path: Path, old: str, new: str
) -> None:
    state = tmp_path / "state.json"
    state.write_text(json.dumps({"apiVersion": "v1", "kind": "List", "items": messy.objects()}))
    run = Run(states=(str(state),), kubernetes_version=old)
    opener, before, after = Opener((run,)), release_of(old), release_of(new)
    names = [*rule_differences(before, after)]
    assert names
    for name in names[:: 1 if old == "1.37" else 9]:
        simulation = opener.by(with_rules(before, after, [name])).simulation(run)
        assert simulation.run().attempts
        simulation.close()
