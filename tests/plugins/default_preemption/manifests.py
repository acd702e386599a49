"""Pods, budgets and random crowded clusters that the tests of DefaultPreemption share."""

from typing import Any

from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.testing import cluster, node, pod


def start_time(second: int) -> str:
    return f"2026-01-01T00:00:{second:02d}Z"


def preemption_pod(
    name: str = "p",
    prio: int = 10,
    start: int | None = None,
    leaving: str = "",
    nominated: str = "",
    **given: Any,
) -> dict[str, Any]:
    status: dict[str, Any] = {}
    if start is not None:
        status["startTime"] = start_time(start)
    if nominated:
        status["nominatedNodeName"] = nominated
    metadata: dict[str, Any] = {}
    if leaving:
        metadata["deletionTimestamp"] = start_time(0)
        condition = {"type": "DisruptionTarget", "status": "True", "reason": leaving}
        status["conditions"] = [condition]
    return pod(name, priority=prio, status=status, metadata=metadata, **given)


def budget(
    number: int,
    allowed: int,
    labels: dict[str, str] | None = None,
    selector: dict[str, Any] | None = None,
    namespace: str = "default",
    disrupted: list[str] | tuple[Any, ...] = (),
) -> dict[str, Any]:
    if labels is not None:
        selector = {"matchLabels": labels}
    return {
        "kind": "PodDisruptionBudget",
        "metadata": {"name": f"budget-{number}", "namespace": namespace},
        "spec": {"selector": selector} if selector is not None else {},
        "status": {
            "disruptionsAllowed": allowed,
            "disruptedPods": {name: start_time(0) for name in disrupted},
        },
    }


CPU = st.sampled_from(["100m", "500m", "1", "1500m", "2"])
PRIORITY = st.sampled_from([-5, 0, 1, 5, 10])
APP = st.sampled_from(["a", "b", None])


ANTI_AFFINITY = st.fixed_dictionaries(
    {
        "podAntiAffinity": st.fixed_dictionaries(
            {
                "requiredDuringSchedulingIgnoredDuringExecution": st.fixed_dictionaries(
                    {
                        "topologyKey": st.just("zone"),
                        "labelSelector": st.fixed_dictionaries(
                            {"matchLabels": st.fixed_dictionaries({"app": st.sampled_from("ab")})}
                        ),
                    }
                ).map(lambda term: [term])
            }
        )
    }
)
SPREAD = {
    "topologySpreadConstraints": [
        {
            "maxSkew": 1,
            "topologyKey": "zone",
            "whenUnsatisfiable": "DoNotSchedule",
            "labelSelector": {"matchLabels": {"app": "a"}},
        }
    ]
}


@st.composite
def pods(
    draw: st.DrawFn, name: str, on: list[str] | None = None, choosy: bool = False
) -> dict[str, Any]:
    app = draw(APP)
    return preemption_pod(
        name,
        prio=draw(PRIORITY),
        start=draw(st.one_of(st.none(), st.integers(0, 3))) if on else None,
        cpu=draw(CPU),
        labels={"app": app} if app else None,
        node=draw(st.sampled_from(on)) if on else "",
        affinity=draw(st.one_of(st.none(), ANTI_AFFINITY)) if choosy else None,
        spec=SPREAD if choosy and not on and draw(st.booleans()) else None,
    )


@st.composite
def crowded(draw: st.DrawFn, choosy: bool = False) -> ClusterState:
    """A few small nodes with many pods on them, budgets, and pods that wait, some of them alike.
    choosy: pods keep away from each other, or spread."""
    on = [f"n{i}" for i in range(draw(st.integers(1, 4)))]
    count = draw(st.integers(0, 12))
    running = [draw(pods(f"r{i}", on, choosy=choosy)) for i in range(count)]
    waiting = [draw(pods(f"p{i}", choosy=choosy)) for i in range(draw(st.integers(1, 4)))]
    twins = [
        manifest | {"metadata": manifest["metadata"] | {"name": f"p{i}-twin"}}
        for i, manifest in enumerate(waiting)
        if draw(st.booleans())
    ]
    budgets = [
        budget(i, draw(st.integers(0, 2)), {"app": draw(st.sampled_from("ab"))})
        for i in range(draw(st.integers(0, 2)))
    ]
    nodes = [
        node(name, cpu=draw(st.sampled_from("123")), labels={"zone": draw(st.sampled_from("xy"))})
        for name in on
    ]
    return cluster(*nodes, *running, *waiting, *twins, *budgets)
