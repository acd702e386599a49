"""What a drain says is what happens."""

from __future__ import annotations

from typing import Any

from hypothesis import assume, given
from hypothesis import strategies as st

from ksched_cli.api import Run
from ksched_cli.testing import node, pod
from tests.clusters import COMPANY, ZONE

Manifest = dict[str, Any]
HEADER = {"apiVersion": "ksched/v1", "kind": "Timeline"}


@st.composite
def workloads(draw: st.DrawFn) -> list[Manifest]:
    """Nodes of a few sizes, and pods of ReplicaSets and without a controller on them, some of them
    with a budget, next to each other or apart."""
    names = [f"n{index}" for index in range(draw(st.integers(2, 5)))]
    objects: list[Manifest] = [
        node(name, cpu=draw(st.sampled_from([2, 4])), labels={ZONE: draw(st.sampled_from("ab"))})
        for name in names
    ]
    for app in range(draw(st.integers(1, 4))):
        labels, company = {"app": "a" if app % 2 else f"x{app}"}, draw(COMPANY)
        cpu, priority = draw(st.sampled_from(["250m", "500m", "1"])), draw(st.sampled_from([0, 5]))
        replicas = draw(st.integers(1, 3))
        owner = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": f"w{app}", "uid": f"w{app}"}
        template = pod("t", cpu=cpu, labels=labels, priority=priority, spec=company)
        objects.append(
            {
                "apiVersion": "apps/v1",
                "kind": "ReplicaSet",
                "metadata": {"name": f"w{app}", "namespace": "default", "uid": f"w{app}"},
                "spec": {
                    "replicas": replicas,
                    "selector": {"matchLabels": labels},
                    "template": {"metadata": {"labels": labels}, "spec": template["spec"]},
                },
            }
        )
        for replica in range(replicas):
            manifest = pod(
                f"w{app}-{replica}", cpu=cpu, labels=labels, priority=priority, spec=company,
                node=draw(st.sampled_from(names)),
            )  # fmt: skip
            manifest["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
            objects.append(manifest)
        if draw(st.booleans()):
            objects.append(
                {
                    "apiVersion": "policy/v1",
                    "kind": "PodDisruptionBudget",
                    "metadata": {"name": f"b{app}", "namespace": "default"},
                    "spec": {
                        "selector": {"matchLabels": labels},
                        "maxUnavailable": draw(st.integers(0, 2)),
                    },
                }
            )
    if draw(st.booleans()):
        objects.append(pod("alone", cpu="250m", node=draw(st.sampled_from(names))))
    return objects


def at_the_end(run: Run, *changes: str) -> tuple[int, list[str]]:
    """How many pods wait, and which are on n0, after changes that are repeated until pods that left
    run elsewhere."""
    events = [{"at": 600 * step, "change": line} for step in range(12) for line in changes]
    timeline = {**HEADER, "evicted": "restarts", "until": 9000, "events": events}
    result = run.replay(timeline)
    there = [each.pod for each in result.pods or () if each.node == "n0" and each.ended is None]
    return result.summary.pending, there


@given(workloads())
def test_a_yes_is_a_drain_that_finishes_and_leaves_no_more_pods_without_a_node(
    objects: list[Manifest],
) -> None:
    run = Run(state=objects)
    answer = run.drain("n0", force=True)
    assume(answer.possible)
    before, _ = at_the_end(run)
    after, there = at_the_end(run, answer.command.removeprefix("kubectl "))
    assert (after <= before, there) == (True, [])
