"""Whoever chooses among the feasible nodes decides nothing else."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.engine.scheduling_cycle import Choose
from ksched_cli.engine.simulation import Simulation
from ksched_cli.testing import simulation
from tests.clusters import states
from tests.plugins.default_preemption.manifests import crowded


def chosen_by(state: ClusterState, choose: Choose | None) -> Simulation:
    plain = simulation(state)
    options = replace(plain.options, choose=choose)
    run = Simulation(plain.state, plain.configuration, plain.registry, options)
    run.run()
    return run


@given(st.one_of(states(), crowded()))
def test_the_choice_of_the_scores_leads_to_the_run_without_one(state: ClusterState) -> None:
    own, plain = chosen_by(state, lambda evaluation, row: row), chosen_by(state, None)
    assert own.record().placements == plain.record().placements
    assert own.record().evicted == plain.record().evicted
    assert [each.score for each in own.record().attempts] == [
        each.score for each in plain.record().attempts
    ]


@given(st.data(), st.one_of(states(), crowded()))
def test_a_pod_is_where_it_was_put_and_its_score_is_that_of_the_node(
    data: st.DataObject, state: ClusterState
) -> None:
    choices: list[tuple[str, str, int | None]] = []

    def choose(evaluation: Evaluation, row: int) -> int:
        rows = evaluation.feasible.indices().tolist()
        assert row in rows
        assert len(rows) > 1
        row = data.draw(st.sampled_from(rows))
        name = evaluation.feasible.snapshot.names[row]
        totals = dict(zip(rows, evaluation.totals.tolist(), strict=True))  # type: ignore[union-attr]
        choices.append((evaluation.pod.key, name, totals[row]))
        return row

    attempts = chosen_by(state, choose).record().attempts
    results = [(each.pod, each.node, each.score) for each in attempts]
    assert [choice for choice in choices if choice in results] == choices
