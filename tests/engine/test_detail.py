"""Detail changes what is recorded of a run, and nothing of what happens in it."""

from hypothesis import given
from msgspec import structs

from ksched_cli.cluster.state import ClusterState
from ksched_cli.engine.records import NO_DETAIL, Attempt, RunRecord
from ksched_cli.testing import simulation
from tests.clusters import states
from tests.plugins.default_preemption.manifests import crowded


def run_of(state: ClusterState, detailed: bool) -> RunRecord:
    """A run, with all that only a detailed one records left out."""
    run = simulation(state)
    run.pipeline.detailed = detailed
    record = run.run()
    return structs.replace(
        record,
        attempts=tuple(plain(attempt) for attempt in record.attempts),
        last={pod: plain(attempt) for pod, attempt in record.last.items()},
    )


def plain(attempt: Attempt) -> Attempt:
    post_filter = attempt.post_filter
    if post_filter is not None:
        post_filter = structs.replace(post_filter, candidates={})
    return structs.replace(attempt, detail=NO_DETAIL, ties=(), post_filter=post_filter)


@given(states())
def test_a_run_is_the_same_with_and_without_detail(state: ClusterState) -> None:
    assert run_of(state, detailed=True) == run_of(state, detailed=False)


@given(crowded())
def test_preemption_is_the_same_with_and_without_detail(state: ClusterState) -> None:
    assert run_of(state, detailed=True) == run_of(state, detailed=False)
