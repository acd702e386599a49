"""What explain, explain of a group, explain --pending, preempt, schedule, capacity, drift, compare
and audit show of 5,000 nodes, at three widths.

Where a table changes on purpose, `python -m pytest tests/report/test_golden.py --golden` writes
the files anew: look at each before it is committed.
"""

import dataclasses
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from msgspec.structs import replace

from ksched_cli.analysis.audit.audit import audit
from ksched_cli.analysis.audit.decision_log import read_decision_log
from ksched_cli.analysis.capacity import capacity
from ksched_cli.analysis.compare import Side, compare
from ksched_cli.analysis.diagnosis import pending_report
from ksched_cli.analysis.drift import drift
from ksched_cli.analysis.explain import explain, explain_group
from ksched_cli.analysis.hints import Hints
from ksched_cli.analysis.named_objects import find_group
from ksched_cli.analysis.preempt import preempt
from ksched_cli.analysis.schedule import result_of
from ksched_cli.analysis.search import MAX_COPIES
from ksched_cli.cluster.loading.load import load_state
from ksched_cli.cluster.state import ClusterState
from ksched_cli.config.load import load_configuration
from ksched_cli.engine.simulation import Simulation
from ksched_cli.kube.versions import release_of
from ksched_cli.plugins import registry_of
from ksched_cli.report.forms import Form, render
from ksched_cli.report.limit import Limit
from ksched_cli.run.differences import NamedRun
from ksched_cli.scenario.change import apply_changes
from ksched_cli.scenario.file import parse_change
from ksched_cli.testing import cluster, find, pod
from ksched_cli.testing import simulation as detailed_simulation
from tests.analysis.audit.aftermath import after_run, log_of
from tests.report.uneven import write

GOLDEN = Path(__file__).parent / "golden"
WIDTHS = (60, 100, 200)
MAX_LINES = {60: 80, 100: 60, 200: 60}

TextAt = Callable[[Limit], str]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> ClusterState:
    return load_state([str(write(tmp_path_factory.mktemp("uneven") / "cluster.json"))])


REGISTRY = registry_of(release_of("1.34"))


def simulation(state: ClusterState) -> Simulation:
    """As commands make it: without the details of every attempt."""
    return Simulation(state, load_configuration(None, "", REGISTRY), REGISTRY)


def explained(state: ClusterState, pod: str) -> TextAt:
    run = simulation(state)
    answer = explain(run, find(run, f"shop/{pod}"))
    return partial(render, answer, Form.TABLE)


def explained_group(state: ClusterState) -> TextAt:
    """A gang that goes to one zone, in none of which all of its pods fit."""
    group = {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": "training", "namespace": "shop"},
        "spec": {
            "schedulingPolicy": {"gang": {"minCount": 48}},
            "schedulingConstraints": {"topology": [{"key": "topology.kubernetes.io/zone"}]},
        },
    }
    member = {"schedulingGroup": {"podGroupName": "training"}}
    pods = [pod(f"training-{i:02}", "shop", cpu="15500m", spec=member) for i in range(48)]
    gang = cluster(group, *pods)
    with_gang = dataclasses.replace(state, pods=(*state.pods, *gang.pods), others=gang.others)
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    run = detailed_simulation(with_gang, kubernetes_version="1.37", feature_gates=gates)
    name = find_group(run, "podgroup/training")
    assert name is not None
    answer = explain_group(run, name)
    return partial(render, answer, Form.TABLE)


def explained_pending(state: ClusterState) -> TextAt:
    return partial(render, pending_report(simulation(state)), Form.TABLE)


def preempted(state: ClusterState) -> TextAt:
    run = simulation(state)
    answer = preempt(run, find(run, "shop/urgent-5d4f8c7b9d-new-000"))
    return partial(render, answer, Form.TABLE)


def scheduled(state: ClusterState) -> TextAt:
    simulated = simulation(state)
    answer = result_of(simulated, simulated.run(), hints=Hints(simulated, simulated.record()))
    return partial(render, answer, Form.TABLE)


def counted_copies(state: ClusterState) -> TextAt:
    run = simulation(state)
    answer = capacity(run, find(run, "shop/checkout-5d4f8c7b9d-new-000").pod, maximum=MAX_COPIES)
    return partial(render, answer, Form.TABLE)


def drifted(state: ClusterState) -> TextAt:
    answer = drift(simulation(state))
    return partial(render, answer, Form.TABLE)


def compared(state: ClusterState) -> TextAt:
    """A zone that is drained: most of its pods find a node elsewhere, some pending ones no more."""
    zone = [node.name for node in state.nodes if "eu-west-1c" in node.metadata.labels.values()]
    changed, _ = apply_changes(state, [parse_change(f"drain {' '.join(zone)}", "")])
    states = {"without changes": state, "with changes": changed}
    sides = [
        Side(NamedRun(name), simulation(variant), partial(simulation, variant))
        for name, variant in states.items()
    ]
    answer = compare(sides)
    return partial(render, answer, Form.TABLE)


def audited(state: ClusterState) -> TextAt:
    """A run in which every seventh pod went to a node where it does not belong."""
    run = simulation(state)
    after = after_run(state, run.run())
    bound = [pod for pod in after.pods if pod.metadata.resource_version]
    wrong = {pod.key: state.nodes[i].name for i, pod in enumerate(bound) if i % 7 == 0}
    pods = [replace(pod, node_name=wrong.get(pod.key, pod.node_name)) for pod in after.pods]
    after = dataclasses.replace(after, pods=tuple(pods))
    decision_log = read_decision_log(state, after, run.frameworks, log_of(after))
    answer = audit(simulation, decision_log)
    return partial(render, answer, Form.TABLE)


ANSWERS: dict[str, Callable[[ClusterState], TextAt]] = {
    "explain": lambda state: explained(state, "checkout-5d4f8c7b9d-new-000"),
    "explain-nowhere": lambda state: explained(state, "reports-5d4f8c7b9d-new-000"),
    "explain-running": lambda state: explained(state, "web-5d4f8c7b9d-00000"),
    "explain-group": explained_group,
    "explain-pending": explained_pending,
    "preempt": preempted,
    "schedule": scheduled,
    "capacity": counted_copies,
    "drift": drifted,
    "compare": compared,
    "audit": audited,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", ANSWERS)
def test_answers_about_5000_nodes_are_readable_at_every_width(
    name: str, state: ClusterState, request: pytest.FixtureRequest
) -> None:
    text_at = ANSWERS[name](state)
    for width in WIDTHS:
        text = text_at(Limit(width, 40))
        assert max(map(len, text.splitlines())) <= width
        assert len(text.splitlines()) < MAX_LINES[width]
        path = GOLDEN / f"{name}-{width}.txt"
        if request.config.getoption("golden"):
            path.write_text(text + "\n", encoding="utf-8")
        assert text + "\n" == path.read_text(encoding="utf-8")
