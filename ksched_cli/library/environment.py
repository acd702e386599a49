"""A Run as an environment of Gymnasium: an agent chooses nodes, the engine does everything else.

The engine runs in a greenlet, a stack of its own in the same thread. Where several nodes are
feasible, `SchedulingCycle.choose` leaves that stack with the decision, and `step` goes back to it
with the answer. So the engine is the one that every command runs: it has no other loop for agents,
and nothing runs at the same time.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
from msgspec import Struct, structs
from numpy.typing import NDArray

from ksched_cli.analysis.question import Observer, Opened
from ksched_cli.analysis.replay_result import ReplayResult, replay_result, replay_warnings
from ksched_cli.analysis.run_figures import Failed
from ksched_cli.analysis.schedule import ScheduleResult, result_of
from ksched_cli.cluster.pod_info import PodInfo
from ksched_cli.cluster.resources import CPU, MEMORY, PODS
from ksched_cli.cluster.snapshot import NodeColumns, Snapshot
from ksched_cli.engine.engine import Engine
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.engine.simulation import Simulation
from ksched_cli.errors import KschedError, MissingExtraError, UsageError
from ksched_cli.kube.quantity import is_of_bytes
from ksched_cli.kube.time import SECOND
from ksched_cli.library.run import Run, inputs_of
from ksched_cli.run.open import Opener, Watch, name_of
from ksched_cli.run.remarks import engine_of
from ksched_cli.sweep.outcome import Performer
from ksched_cli.sweep.preparation import Shared

try:
    import gymnasium
    from greenlet import getcurrent, greenlet
except ImportError:
    raise MissingExtraError("Environment", "learn") from None

if TYPE_CHECKING:
    from ksched_cli.engine.replay.replay import Replay
    from ksched_cli.run import run as described

Observation: TypeAlias = dict[str, NDArray[Any]]
# "placed"; a figure of the episode's end; what a function says after each step.
Reward: TypeAlias = "str | Callable[[Environment], float]"

PLACED = "placed"
_MILLI, _GIB = 1000, 1 << 30


class Decision(Struct, frozen=True, eq=False):
    """A pod, and the nodes that it may take. default: the row that the configuration's scores
    choose"""

    evaluation: Evaluation
    default: int

    @property
    def pod(self) -> PodInfo:
        return self.evaluation.pod

    @property
    def rows(self) -> NDArray[np.intp]:
        """The rows of the feasible nodes."""
        return self.evaluation.feasible.indices()


class Environment(gymnasium.Env):  # type: ignore[misc]  # of an extra
    """Places the pods of a Run, one decision of the agent after the other.

    An episode is a Run from its beginning to its end, at one instant or over its timeline. The
    agent is asked wherever a Score plugin would decide: for a pod with two feasible nodes or more.
    Queue order, PreFilter, Filter, preemption and everything else are kube-scheduler's, as the Run
    configures them. Nodes are rows, in the order of their names (`info["nodes"]`).

    Actions are rows. One that `info["action_mask"]` forbids does not reach the engine: the pod goes
    where the configuration's scores put it, and the reward is lower by `invalid`.

    Observations have these arrays, of N rows and R resources; cpu is in cores, memory,
    ephemeral-storage and huge pages are in GiB, everything else is counted:

        allocatable  (N, R) float32   zeros in rows without a node
        requested    (N, R) float32   the requests of the pods on the node
        request      (R,)   float32   the requests of the pod at hand; zeros after the episode
        mask         (N,)   int8      1 where the node is feasible

    The same seed and actions lead to the same episode. An environment belongs to the thread that
    resets it.

    resources:     R names
    units:         per resource, how much of the snapshot's integers is 1 in observations
    pod, snapshot: the pod at hand, or None, and the cluster, for wrappers that observe more; do not
                   change them
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(
        self,
        *runs: Run,
        reward: Reward = PLACED,
        invalid: float = 1.0,
        max_nodes: int = 0,
        resources: Sequence[str] = (),
    ) -> None:
        """Open the Runs; each reset draws one of them.

        reward:    "placed": the pods placed since the last decision less those evicted; the name of
                   a figure of a sweep's rows, at the end of the episode, with a minus to minimize
                   it, such as "-wait.mean"; or a function, called with this environment after each
                   step
        invalid:   how much a forbidden action costs
        max_nodes: N; by default the most nodes that a Run begins with, which a timeline or an
                   autoscaler may exceed
        resources: R names; by default those of the nodes that the Runs begin with
        Raises KschedError
        """
        if not runs:
            raise UsageError("Environment takes one Run or more")
        inputs, self._runs = inputs_of(runs)
        self._opener = Opener(self._runs, inputs, choose=_ask_agent)
        self._performer = Performer(Shared(inputs), self._opener)
        self._reward, self._invalid = reward, invalid
        columns = [self._columns(run) for run in self._runs]
        self.nodes = max_nodes or max(len(each.names) for each in columns)
        self.resources = tuple(resources) or _resources(columns)
        if not self.nodes:
            raise UsageError("the Runs begin without nodes: max_nodes says how many there may be")
        shape = (self.nodes, len(self.resources))
        amounts = gymnasium.spaces.Box(0, np.inf, shape, np.float32)
        self.observation_space = gymnasium.spaces.Dict(
            allocatable=amounts,
            requested=amounts,
            request=gymnasium.spaces.Box(0, np.inf, shape[1:], np.float32),
            mask=gymnasium.spaces.MultiBinary(self.nodes),
        )
        self.action_space = gymnasium.spaces.Discrete(self.nodes)
        self.units = np.array([_unit(name) for name in self.resources])
        self._allocatable: tuple[NodeColumns, NDArray[np.float32]] | None = None
        self._opened: Simulation | Replay | None = None
        self._loop: _EngineStack | None = None
        self._decision: Decision | None = None
        self._is_done = True  # until the next reset

    def _columns(self, run: described.Run) -> NodeColumns:
        return NodeColumns(self._opener.state(run).nodes)

    # -- Gymnasium's interface --------------------------------------------------------------------

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Observation, dict[str, Any]]:
        """Begin an episode, and run it to its first decision.

        seed:    draws the Run, where there are several; a Run with tie_break="random" draws by it
        options: {"run": INDEX} chooses the Run
        Where no pod has two feasible nodes, the mask allows nothing, and any action ends it.
        Raises KschedError
        """
        super().reset(seed=seed)
        self._end()
        count = len(self._runs)
        index = (options or {}).get("run")
        if index is None:
            index = int(self.np_random.integers(count)) if count > 1 else 0
        if index not in range(count):
            raise UsageError(f"there is no Run {index!r}: expected 0 to {count - 1}")
        run = self._run = self._runs[index]
        if seed is not None and run.tie_break == "random":
            run = structs.replace(run, seed=seed)
        if run.timeline:
            self._opened = self._opener.replay(run, Watch(keeps_records=True))
        else:
            self._opened = self._opener.simulation(run)
        self._loop = _EngineStack()
        self._go_on(self._opened)
        self._placed, self._is_done = self.placed, False
        return self._shown(is_valid=True)

    def step(self, action: Any) -> tuple[Observation, float, bool, bool, dict[str, Any]]:
        """Put the pod at hand on a node, and run to the next decision or to the end.

        action: the node's row
        Raises KschedError
        """
        if self._is_done:
            raise UsageError("there is no pod to place: call reset first")
        if not self.action_space.contains(action):
            raise UsageError(f"an action is a row from 0 to {self.nodes - 1}; not {action!r}")
        row, decision, is_valid = int(action), self._decision, True
        if decision is not None:
            is_valid = row in decision.rows
            self._go_on(row if is_valid else decision.default)
        self._is_done = self.is_over
        reward = self._rewarded() - (0.0 if is_valid else self._invalid)
        observation, info = self._shown(is_valid=is_valid)
        return observation, reward, self.is_over, False, info

    def close(self) -> None:
        """End the episode, and close connections to extenders."""
        self._end()
        super().close()

    # -- the episode ------------------------------------------------------------------------------

    @property
    def is_over(self) -> bool:
        """Whether the episode has ended, or none has begun."""
        return self._decision is None

    @property
    def pod(self) -> PodInfo | None:
        """The pod at hand, or None."""
        return None if self._decision is None else self._decision.pod

    @property
    def snapshot(self) -> Snapshot:
        """The cluster as it is now. Raises UsageError before the first reset."""
        return self._engine.snapshot

    @property
    def placed(self) -> int:
        """How many pods were placed so far, without those that were evicted since."""
        opened = self._episode
        if isinstance(opened, Simulation):
            record = opened.scheduler
            ran_before = sum(each.pod not in record.placements for each in record.evicted)
            return len(record.placements) - ran_before
        return opened.log.counts.placed - opened.log.counts.evicted

    @property
    def figures(self) -> Mapping[str, float]:
        """The figures of the ended episode, as a row of a sweep has them. Raises KschedError."""
        opened = self._ended()
        if isinstance(opened, Simulation):
            outcome = self._performer.after_simulation(self._run, opened, opened.record())
        else:
            outcome = self._performer.after_replay(self._run, opened)
        if isinstance(outcome, Failed):
            raise KschedError(outcome.error)
        return outcome.figures()

    def result(self) -> ScheduleResult | ReplayResult:
        """Return the ended episode as `ksched schedule` or `ksched replay` shows it. Raises
        KschedError."""
        opened = self._ended()
        shown = Opened(self._opener, [self._run], Observer())
        shown.introduce(opened)
        answer: ScheduleResult | ReplayResult
        if isinstance(opened, Simulation):
            answer = result_of(opened, opened.record(), before=())
        else:
            answer = replay_result(opened, name_of(self._run.timeline))
            shown.warn(*replay_warnings(opened))
        shown.conclude()
        return shown.complete(answer)

    @property
    def _episode(self) -> Simulation | Replay:
        if self._opened is None:
            raise UsageError("no episode has begun: call reset first")
        return self._opened

    @property
    def _engine(self) -> Engine:
        return engine_of(self._episode)

    def _ended(self) -> Simulation | Replay:
        if not self.is_over:
            raise UsageError("the episode has not ended")
        return self._episode

    # -- the engine's stack -----------------------------------------------------------------------

    def _go_on(self, answer: Simulation | Replay | int) -> None:
        """Run the engine to its next decision, or to the end. answer: what it runs, or the row that
        the last decision chose"""
        assert self._loop is not None
        self._loop.parent = getcurrent()
        self._decision, self._is_done = None, True  # so it stays where the engine fails
        self._decision = self._loop.switch(answer)
        if self._decision is None:
            self._engine.close()

    def _end(self) -> None:
        """Unwind the engine's stack, wherever it is."""
        if self._loop is not None and not self._loop.dead:
            self._loop.parent = getcurrent()
            self._loop.throw()
            self._engine.close()
        self._loop = self._decision = self._opened = None
        self._is_done = True

    # -- what the agent gets ----------------------------------------------------------------------

    def _rewarded(self) -> float:
        reward = self._reward
        if callable(reward):
            return float(reward(self))
        if reward == PLACED:
            before, self._placed = self._placed, self.placed
            return float(self._placed - before)
        if not self.is_over:
            return 0.0
        name, figures = reward.removeprefix("-"), self.figures
        if name not in figures:
            raise UsageError(f"there is no figure {name}; there are: {', '.join(sorted(figures))}")
        return -figures[name] if reward.startswith("-") else figures[name]

    def _shown(self, *, is_valid: bool) -> tuple[Observation, dict[str, Any]]:
        """Return the observation, and what is none.

        action_mask: the mask of the observation, as `action_space.sample` takes it
        default:     the row that the configuration's scores choose; -1 after the episode
        pod:         NAMESPACE/NAME, or ""
        nodes:       names, by row
        placed:      pods so far
        time:        seconds since the start of a replay; at one instant 0
        is_valid:    whether the mask allowed the last action
        """
        decision, opened, observation = self._decision, self._episode, self._observation()
        return observation, {
            "action_mask": observation["mask"].copy(),
            "default": -1 if decision is None else decision.default,
            "pod": "" if decision is None else decision.pod.key,
            "nodes": self.snapshot.names,
            "placed": self.placed,
            "time": 0.0 if isinstance(opened, Simulation) else opened.clock.now / SECOND,
            "is_valid": is_valid,
        }

    def _observation(self) -> Observation:
        snapshot, decision = self.snapshot, self._decision
        count = len(snapshot)
        if count > self.nodes:
            raise UsageError(
                f"the cluster has {count} nodes now, and observations have {self.nodes} rows: "
                f"Environment(…, max_nodes={count}) makes room"
            )
        if self._allocatable is None or self._allocatable[0] is not snapshot.node_columns:
            self._allocatable = snapshot.node_columns, self._amounts(snapshot.allocatable, count)
        requested = {PODS: snapshot.pod_count}
        request = np.zeros(len(self.resources), dtype=np.float32)
        mask = np.zeros(self.nodes, dtype=np.int8)
        if decision is not None:
            amounts = {**decision.pod.resources.requests, PODS: 1}
            request[:] = [amounts.get(name, 0) for name in self.resources] / self.units
            mask[decision.rows] = 1
        return {
            "allocatable": self._allocatable[1].copy(),
            "requested": self._amounts(
                lambda name: requested.get(name, snapshot.requested(name)), count
            ),
            "request": request,
            "mask": mask,
        }

    def _amounts(
        self, column: Callable[[str], NDArray[np.int64]], count: int
    ) -> NDArray[np.float32]:
        amounts = np.zeros((self.nodes, len(self.resources)), dtype=np.float32)
        for index, name in enumerate(self.resources):
            amounts[:count, index] = column(name) / self.units[index]
        return amounts


class _EngineStack(greenlet):  # type: ignore[misc]  # of an extra
    """The stack of an episode: a Run from its beginning to its end."""

    def run(self, opened: Simulation | Replay) -> None:
        if isinstance(opened, Simulation):
            for _ in opened.steps():
                pass
        else:
            opened.run_instants()


def _ask_agent(evaluation: Evaluation, default: int) -> int:
    """Leave the engine's stack with a decision, and return the agent's. Where no episode runs, as
    when regret is computed, the configuration decides. The stack does not refer to the environment,
    so that one which nobody uses any more is freed, and unwinds it."""
    stack = getcurrent()
    if not isinstance(stack, _EngineStack):
        return default
    row: int = stack.parent.switch(Decision(evaluation, default))
    return row


def _resources(columns: Sequence[NodeColumns]) -> tuple[str, ...]:
    """Return the resources of nodes: cpu, memory and pods first, the others by name."""
    names = {name for each in columns for name in each.allocatable}
    first = (CPU, MEMORY, PODS)
    return (*first, *sorted(names.difference(first)))


def _unit(resource: str) -> int:
    """Return how much of the scheduler's amounts is 1 in observations."""
    if resource == CPU:
        return _MILLI
    return _GIB if is_of_bytes(resource) else 1
