"""Pods that leave because their node changed; cases/taint.yaml and label.yaml have more."""

from __future__ import annotations

import pytest

from ksched_cli.scenario.nodes import evict_untolerating, remove_stray_daemons
from ksched_cli.testing import Manifest, cluster, node
from tests.scenario.build import nodes_of, owned, workload

TAINTS = ["a=b:NoExecute", "c:NoExecute", "d:NoSchedule"]


@pytest.mark.parametrize(
    ("tolerations", "did"),
    [
        ([], ["default/p: pending again (was on n1)"]),
        ([{"operator": "Exists"}], []),
        ([{"key": "a", "operator": "Exists"}], ["default/p: pending again (was on n1)"]),
        (
            [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 60}],
            ["default/p: pending again (was on n1, tolerated for 60 s)"],
        ),
        (
            [{"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 0}],
            ["default/p: pending again (was on n1)"],
        ),
        (
            [
                {"key": "a", "value": "b", "effect": "NoExecute", "tolerationSeconds": 60},
                {"operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 30},
            ],
            ["default/p: pending again (was on n1, tolerated for 30 s)"],
        ),
    ],
)
def test_a_pod_stays_while_it_tolerates_all(tolerations: list[Manifest], did: list[str]) -> None:
    tolerant = owned("p", node="n1", spec={"tolerations": tolerations})
    state = cluster(node("n1", taints=TAINTS), node("n2", taints=TAINTS), tolerant)
    after, effects = evict_untolerating(state, {"n1"})
    assert [effect.text for effect in effects] == did
    assert nodes_of(after) == {"default/p": "" if did else "n1"}
    assert evict_untolerating(state, {"n2"}) == (state, [])


def test_a_daemon_pod_goes_where_its_daemon_set_does_not_want_it() -> None:
    selective = workload("DaemonSet", "picky")
    selective["spec"]["template"]["spec"]["nodeSelector"] = {"disk": "ssd"}
    state = cluster(
        node("n1"),
        node("n2", labels={"disk": "ssd"}),
        selective,
        owned("gone", "DaemonSet", "picky", node="n1"),
        owned("stays", "DaemonSet", "picky", node="n2"),
        owned("unknown", "DaemonSet", "other", node="n1"),
        owned("web", node="n1"),
    )
    after, effects = remove_stray_daemons(state, {"n1", "n2"})
    assert [effect.text for effect in effects] == [
        "default/gone: deleted (was on n1; may not run there)"
    ]
    assert list(nodes_of(after)) == ["default/stays", "default/unknown", "default/web"]
    assert remove_stray_daemons(state, {"n2"})[1] == []
