"""Runs as environments of Gymnasium: the agent chooses nodes, the engine decides the rest."""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

from ksched_cli import api
from ksched_cli.api import (
    Environment,
    KschedError,
    MissingExtraError,
    ReplayResult,
    Run,
    ScheduleResult,
    UsageError,
)
from ksched_cli.testing import node, pod
from tests.scenario.build import workload

EXAMPLES = Path(__file__).parent.parent.parent / "examples"
NODES = [node("a", cpu=4), node("b", cpu=8), node("c", cpu=4)]
STATE = [*NODES, *(pod(f"p{number}", cpu=2) for number in range(6))]
Policy = Callable[[Mapping[str, Any], Mapping[str, Any]], int]


def default(observation: Mapping[str, Any], info: Mapping[str, Any]) -> int:
    return int(info["default"])


def last(observation: Mapping[str, Any], info: Mapping[str, Any]) -> int:
    return int(np.flatnonzero(observation["mask"])[-1])


def play(
    environment: Environment, policy: Policy, **reset: Any
) -> tuple[float, list[str], dict[str, Any]]:
    """Play an episode. Return the sum of rewards, the pods that were decided, and the last info."""
    observation, info = environment.reset(**reset)
    total, pods, is_over = 0.0, [], False
    while not is_over:
        pods.append(info["pod"])
        observation, reward, is_over, truncated, info = environment.step(policy(observation, info))
        assert not truncated
        total += reward
    return total, pods, info


def placements(environment: Environment) -> dict[str, str]:
    result = environment.result()
    assert isinstance(result, ScheduleResult)
    return dict(result.placements)


def replayed() -> Run:
    """A Run over time with nodes that a pod may choose from."""
    folder = EXAMPLES / "replay"
    return Run(state=folder / "cluster.yaml", timeline=folder / "day.yaml")


@pytest.mark.filterwarnings("ignore:.*maximum value is infinity", "ignore:.*render modes")
def test_gymnasium_finds_nothing_wrong() -> None:
    check_env(Environment(Run(state=STATE)))


def test_the_configurations_own_choices_lead_to_the_commands_result() -> None:
    environment = Environment(Run(state=STATE))
    total, pods, info = play(environment, default)
    assert environment.result().to_json() == Run(state=STATE).schedule().to_json()
    assert pods == [f"default/p{number}" for number in range(6)]
    assert (total, info["placed"], info["default"], info["pod"]) == (6.0, 6, -1, "")


def test_the_same_over_time() -> None:
    run = replayed()
    environment = Environment(run, max_nodes=9)
    play(environment, default)
    result, whole = environment.result(), run.replay()
    assert isinstance(result, ReplayResult)
    assert (result.pods, result.waiting) == (whole.pods, whole.waiting)
    assert environment.figures["placed"] == whole.summary.placed


def test_the_agents_node_is_taken() -> None:
    environment = Environment(Run(state=STATE))
    play(environment, last)
    nodes = placements(environment)
    assert [nodes[f"default/p{number}"] for number in range(6)] == [*"ccbbbb"]


def test_an_observation_has_the_columns_of_the_snapshot() -> None:
    nodes = [node("a", cpu=4, memory="8Gi", pods=20), node("b", cpu="500m"), node("c", cpu=2)]
    running = pod("runs", cpu="250m", memory="512Mi", node="a")
    environment = Environment(Run(state=[*nodes, running, pod("p", cpu=1, memory="1Gi")]))
    observation, info = environment.reset()
    assert environment.resources == ("cpu", "memory", "pods")
    assert observation["allocatable"][0].tolist() == [4, 8, 20]
    assert observation["allocatable"][:, 0].tolist() == [4, 0.5, 2]
    assert observation["requested"].tolist() == [[0.25, 0.5, 1], [0, 0, 0], [0, 0, 0]]
    assert observation["request"].tolist() == [1, 1, 1]
    assert observation["mask"].tolist() == info["action_mask"].tolist() == [1, 0, 1]
    assert info["nodes"] == ("a", "b", "c")
    assert observation in environment.observation_space


def test_a_pod_with_one_feasible_node_is_no_decision() -> None:
    state = [*NODES, pod("big", cpu=8), pod("small", cpu=1)]
    environment = Environment(Run(state=state))
    assert environment.reset()[1]["pod"] == "default/small"
    assert environment.pod is not None


def test_an_episode_without_a_decision_ends_with_any_action() -> None:
    environment = Environment(Run(state=[node("a", cpu=4), pod("p", cpu=1)]))
    _, info = environment.reset()
    assert (info["pod"], info["action_mask"].tolist(), info["placed"]) == ("", [0], 1)
    _, reward, is_over, _, _ = environment.step(
        environment.action_space.sample(info["action_mask"])
    )
    assert (reward, is_over, environment.figures["placed"]) == (0.0, True, 1)
    with pytest.raises(UsageError, match="call reset first"):
        environment.step(0)


def test_a_forbidden_action_costs_and_changes_nothing() -> None:
    state = [*NODES, node("tiny", cpu=1), pod("p", cpu=2)]
    environment = Environment(Run(state=state), invalid=5)
    environment.reset()
    _, reward, is_over, _, info = environment.step(3)
    assert (reward, is_over, info["is_valid"]) == (1 - 5, True, False)
    assert placements(environment) == Run(state=state).schedule().placements


def test_the_mask_samples_feasible_actions() -> None:
    environment = Environment(Run(state=[*NODES, node("tiny", cpu=1), pod("p", cpu=2)]))
    _, info = environment.reset(seed=0)
    environment.action_space.seed(0)
    samples = {int(environment.action_space.sample(info["action_mask"])) for _ in range(50)}
    assert samples == {0, 1, 2}


def test_preemption_is_the_engines_and_evictions_count() -> None:
    state = [
        *(node(name, cpu=4) for name in "ab"),
        *(node(name, cpu=1) for name in "cd"),
        *(pod(f"low-{name}", cpu=4, priority=0, node=name) for name in "ab"),
        pod("small", cpu=1, priority=5),
        pod("vip", cpu=4, priority=4),
    ]
    environment = Environment(Run(state=state))
    total, pods, info = play(environment, last)
    # The first pod is the only decision; then the second is placed, and one is evicted for it.
    assert (pods, total, info["placed"]) == (["default/small"], 1.0, 1)
    assert placements(environment) == {"default/small": "d", "default/vip": "a"}


def test_pods_of_a_gang_are_decided_too() -> None:
    leader = {"name": "leader", "image": "trainer", "resources": {"requests": {"cpu": "2"}}}
    group = {"schedulingGroup": {"podGroupName": "train"}}
    smaller = pod("train-3", "ml", spec={**group, "containers": [leader]})
    gates = "GenericWorkload=true,TopologyAwareWorkloadScheduling=true"
    run = Run(
        state=EXAMPLES / "pod-groups" / "cluster.yaml",
        changes=[{"apply": smaller}],
        feature_gates=gates,
    )
    environment = Environment(run)
    _, pods, _ = play(environment, default)
    assert placements(environment) == run.schedule().placements != {}
    # In a trial of zone a first, which is taken back.
    assert pods[:2] == ["ml/train-0", "ml/train-0"]
    play(environment, last)
    assert placements(environment)["ml/train-0"] == "b2"


def test_equal_seeds_and_actions_lead_to_equal_episodes() -> None:
    run = Run(state=STATE, tie_break="random")
    environment = Environment(run)

    def episode(seed: int) -> list[tuple[str, int, list[float]]]:
        observation, info = environment.reset(seed=seed)
        steps, is_over = [], False
        while not is_over:
            steps.append((info["pod"], info["default"], observation["requested"].ravel().tolist()))
            observation, _, is_over, _, info = environment.step(info["default"])
        return steps

    assert episode(3) == episode(3)
    assert len({str(episode(seed)) for seed in range(8)}) > 1


def test_an_episode_that_is_left_takes_nothing_along() -> None:
    environment = Environment(Run(state=STATE))
    first = environment.reset(seed=1)
    environment.step(0)
    again = environment.reset(seed=1)
    assert all(np.array_equal(first[0][name], again[0][name]) for name in first[0])
    play(environment, default)
    assert placements(environment) == Run(state=STATE).schedule().placements


def test_an_environment_that_nobody_uses_is_freed() -> None:
    environment = Environment(Run(state=STATE))
    environment.reset()
    reference = weakref.ref(environment)
    del environment
    assert reference() is None


def test_two_environments_do_not_disturb_each_other() -> None:
    make = lambda: Environment(Run(state=STATE))  # noqa: E731  # what vectors of them take
    vector = gymnasium.vector.SyncVectorEnv([make, make])
    _, info = vector.reset(seed=1)
    for _ in range(6):
        _, _, is_over, _, info = vector.step(info["default"])
    assert is_over.tolist() == [True, True]
    vector.close()


def test_a_reset_draws_among_the_runs() -> None:
    small = [*NODES[:2], pod("q", cpu=1)]
    environment = Environment(Run(state=STATE), Run(state=small))
    drawn = {environment.reset(seed=seed)[1]["pod"] for seed in range(10)}
    assert drawn == {"default/p0", "default/q"}
    observation, info = environment.reset(options={"run": 1})
    assert (info["nodes"], observation["mask"].tolist()) == (("a", "b"), [1, 1, 0])
    with pytest.raises(UsageError, match="no Run 2: expected 0 to 1"):
        environment.reset(options={"run": 2})


def test_a_reward_is_a_figure_of_the_end_or_a_function() -> None:
    run = replayed()
    environment = Environment(run, reward="-wait.mean", max_nodes=9)
    total, _, _ = play(environment, default)
    assert total == -environment.figures["wait.mean"] < 0
    used = lambda environment: float((environment.snapshot.pod_count > 0).sum())  # noqa: E731
    assert play(Environment(Run(state=STATE), reward=used), last)[0] == 1 + 1 + 2 + 2 + 2 + 2
    with pytest.raises(UsageError, match=r"there is no figure speed; there are: .*placed"):
        play(Environment(run, reward="speed", max_nodes=9), default)


@pytest.mark.parametrize("timeline", [None, [{"at": 1, "pod": pod("q", cpu=8)}]])
def test_regret_is_computed_without_the_agent(timeline: list[dict[str, Any]] | None) -> None:
    pytest.importorskip("ortools", reason="the extra optimum is not installed")
    state = [node("a", cpu=8), node("b", cpu=8), pod("x", cpu=4), pod("y", cpu=4), pod("z", cpu=8)]
    run = Run(state=state, timeline=timeline, regret="cpu", plugins=[], preemption=False)
    environment = Environment(run, reward="-best.regret")
    spread = {"default/x": 0, "default/y": 1}
    total, _, _ = play(environment, lambda _, info: spread[info["pod"]])
    assert total == -environment.figures["best.regret"] == -8000
    packed, _, _ = play(environment, lambda _, info: 0)
    assert packed == 0


def test_a_rollout_before_the_episode_is_the_schedulers() -> None:
    old = pod("web-abc-1", cpu=2, node="a", labels={"app": "web", "pod-template-hash": "abc"})
    owner = {"kind": "ReplicaSet", "name": "web-abc", "controller": True}
    old["metadata"]["ownerReferences"] = [owner]
    state = [*STATE, workload("Deployment", replicas=1), old]
    run = Run(state=state, changes=["rollout restart deployment/web"])
    environment = Environment(run)
    play(environment, default)
    assert placements(environment) == run.schedule().placements


def test_an_episode_whose_engine_fails_is_over() -> None:
    late = {"at": 5, "change": "drain nowhere"}
    environment = Environment(Run(state=STATE, timeline=[late]))
    with pytest.raises(KschedError, match="nowhere"):
        play(environment, default)
    with pytest.raises(UsageError, match="call reset first"):
        environment.step(1)


def test_more_nodes_than_rows_are_refused() -> None:
    joins = {"at": 5, "change": "add-nodes d --like a --count 2"}
    late = {"at": 9, "pod": pod("late", cpu=1)}
    run = Run(state=STATE, timeline=[joins, late])
    with pytest.raises(UsageError, match=r"5 nodes now.*3 rows.*max_nodes=5"):
        play(Environment(run), default)
    observation, _ = Environment(run, max_nodes=6).reset()
    assert observation["allocatable"][3:].max() == 0
    _, pods, info = play(Environment(run, max_nodes=6), default)
    assert (pods[-1], info["nodes"]) == ("default/late", ("a", "b", "c", "d-1", "d-2"))


def test_what_cannot_be_asked_is_refused() -> None:
    environment = Environment(Run(state=STATE))
    with pytest.raises(UsageError, match="call reset first"):
        environment.step(0)
    with pytest.raises(UsageError, match="call reset first"):
        _ = environment.snapshot
    environment.reset()
    with pytest.raises(UsageError, match="a row from 0 to 2; not -1"):
        environment.step(-1)
    with pytest.raises(UsageError, match="has not ended"):
        environment.result()
    with pytest.raises(UsageError, match="one Run or more"):
        Environment()
    with pytest.raises(KschedError, match="nowhere"):
        Environment(Run(state="nowhere.yaml"))


def test_without_the_extra_the_error_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gymnasium", None)
    monkeypatch.delitem(sys.modules, "ksched_cli.library.environment")
    with pytest.raises(MissingExtraError, match=r"Environment needs the extra learn"):
        _ = api.Environment
