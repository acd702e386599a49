"""Which nodes are looked at: against a plain loop over them."""

from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ksched_cli.engine.node_search import feasible_nodes_to_find
from ksched_cli.framework.status import Status
from ksched_cli.testing import cluster, find, node, pod, simulation
from tests.framework.toys import filtering, profile, scoring

NO = Status.unschedulable("no")
BROKEN = Status.error("broken")
ZONE = "topology.kubernetes.io/zone"


@pytest.mark.parametrize(
    ("percentage", "count", "limit"),
    [
        (0, 99, 99),
        (5, 99, 99),
        (0, 100, 100),
        (100, 5000, 5000),
        (0, 1000, 420),
        (0, 5000, 500),
        (0, 6000, 300),
        (0, 20_000, 1000),
        (1, 5000, 100),
        (30, 101, 100),
        (40, 1000, 400),
        (99, 101, 100),
        (50, 401, 200),
    ],
)
def test_how_many_fitting_nodes_are_enough(percentage: int, count: int, limit: int) -> None:
    assert feasible_nodes_to_find(percentage, count) == limit


@dataclass
class Plain:
    """The search as a loop: visits nodes one after another, from where the last one ended."""

    order: list[str]
    limit: int
    start: int = 0

    def search(self, answers: dict[str, Status]) -> tuple[list[str], list[str], bool]:
        """Fitting nodes, rejected nodes, and whether a node's error ended it."""
        count = len(self.order)
        feasible: list[str] = []
        rejected: list[str] = []
        failed = False
        for i in range(count):
            if len(feasible) == self.limit or failed:
                break
            name = self.order[(self.start + i) % count]
            answer = answers.get(name)
            if answer is None:
                feasible.append(name)
            else:
                failed = answer is BROKEN
                rejected += [] if failed else [name]
        self.start = (self.start + len(feasible) + len(rejected)) % count
        return sorted(feasible), sorted(rejected), failed


def zones() -> st.SearchStrategy[list[str]]:
    return st.lists(st.sampled_from(["", "a", "b", "c"]), min_size=3, max_size=130)


@given(zones(), st.sampled_from([1, 40, 100]), st.data())
def test_the_search_looks_at_the_nodes_a_plain_loop_looks_at(
    zones: list[str], percentage: int, data: st.DataObject
) -> None:
    names = [f"n{i:03}" for i in range(len(zones))]
    tables = data.draw(
        st.lists(
            st.dictionaries(st.sampled_from(names), st.sampled_from([NO, NO, NO, BROKEN])),
            min_size=1,
            max_size=4,
        )
    )
    check_searches(zones, percentage, tables)


def test_a_search_asks_about_chunk_after_chunk_until_enough_nodes_fit() -> None:
    """From starts at the beginning, in the middle and near the end."""
    zones, names = [""] * 450, [f"n{i:03}" for i in range(450)]
    fit_rarely = {name: NO for i, name in enumerate(names) if i % 4}
    fits_at_the_end = dict.fromkeys(names[:-1], NO)
    check_searches(zones, 1, [fit_rarely, {}, {}, fits_at_the_end, fit_rarely, {}])


def check_searches(zones: list[str], percentage: int, tables: list[dict[str, Status]]) -> None:
    """The searches find what the plain loop finds. zones: of the nodes; tables: what the plugin
    says of nodes, per search"""
    names = [f"n{i:03}" for i in range(len(zones))]
    nodes = [
        node(name, labels={ZONE: zone} if zone else {})
        for name, zone in zip(names, zones, strict=True)
    ]
    answers: dict[Any, Any] = {}
    plugins = [filtering("F", answers), scoring("S", {})]
    config = profile(*plugins) | {"percentageOfNodesToScore": percentage}
    run = simulation(cluster(*nodes, pod("p")), config, plugins)
    plain = Plain(visits(names, zones), feasible_nodes_to_find(percentage, len(names)))
    for table in tables:
        answers.clear()
        answers.update(table)
        outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run))
        feasible, rejected, failed = plain.search(table)
        assert bool(outcome.attempt.error) == failed
        assert run.pipeline.search.next_start == plain.start
        if not failed:
            assert list(outcome.attempt.detail.feasible) == feasible
            assert sorted(outcome.attempt.detail.filter) == rejected
            assert outcome.attempt.evaluated == len(feasible) + len(rejected)
        if outcome.row is not None:
            run.snapshot.remove(find(run), outcome.row)


def visits(names: list[str], zones: list[str]) -> list[str]:
    """Round robin over zones, zones in order of first appearance."""
    rows: dict[Any, Any] = {}
    for name, zone in zip(names, zones, strict=True):
        rows.setdefault(zone, []).append(name)
    order: list[Any] = []
    while len(order) < len(names):
        order += [queue.pop(0) for queue in rows.values() if queue]
    return order


def test_without_score_plugins_the_first_fitting_node_is_taken() -> None:
    plugin = filtering("F", {"a": NO})
    state = cluster(node("a"), node("b"), node("c"), pod("p"))
    run = simulation(state, profile(plugin), [plugin])
    attempt = run.cycle.attempt(run.frameworks["default-scheduler"], find(run)).attempt
    assert (attempt.node, attempt.evaluated, attempt.detail.feasible) == ("b", 2, ("b",))


def test_without_filter_plugins_the_start_moves_on_all_the_same() -> None:
    plugin, names = scoring("S", {}), [f"n{i:03}" for i in range(130)]
    state = cluster(*(node(name) for name in names), pod("p"))
    config = profile(plugin) | {"percentageOfNodesToScore": 1}
    run = simulation(state, config, [plugin])
    for start in (0, 100, 70, 40):
        assert run.pipeline.search.next_start == start
        outcome = run.cycle.attempt(run.frameworks["default-scheduler"], find(run))
        visited = {names[(start + i) % 130] for i in range(100)}
        assert set(outcome.attempt.detail.feasible) == visited
        assert outcome.row is not None
        run.snapshot.remove(find(run), outcome.row)


def test_the_profiles_own_percentage_goes_before_the_one_for_all() -> None:
    names = [f"n{i:03}" for i in range(300)]
    state = cluster(*(node(name) for name in names), pod("p"))
    config = {"percentageOfNodesToScore": 90, "profiles": [{"percentageOfNodesToScore": 50}]}
    run = simulation(state, config)
    attempt = run.cycle.attempt(run.frameworks["default-scheduler"], find(run)).attempt
    assert attempt.evaluated == 150
