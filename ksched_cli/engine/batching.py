"""Opportunistic batching: while each pod fills its node, pods like it take the next best nodes of
one ranking, without Filter and Score on all nodes.

A batch is used for the pod of the very next attempt, of equal signature, where the ranking is not
older than 500 ms of simulated time. Where the node taken last still has room, the batch ends; or,
with Rules.rescores_last_node, that node is scored again and ranked among those that are left.

Upstream: pkg/scheduler/framework/runtime/batch.go (GetNodeHint, StoreScheduleResults).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from copy import copy

import numpy as np
from msgspec import Struct, field

from ksched_cli.cluster.snapshot import Rows
from ksched_cli.engine.evaluation import Evaluation
from ksched_cli.framework.handle import Clock
from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores
from ksched_cli.framework.runtime import Framework, PodSigner
from ksched_cli.framework.score_runner import total
from ksched_cli.framework.status import PluginError

_MAX_AGE = 500_000  # microseconds
_TAKEN = np.iinfo(np.int64).min


class Batch(Struct, eq=False):
    """One profile's ranking for pods of one signature: the nodes that are still free in it.

    signature:    None if there is no ranking to use
    rows, totals: the ranked nodes, `left` of which are not taken
    raw:          by plugin, the raw scores that the totals are made of, where they were asked for
    ranked:       the evaluation that they can be asked of
    ranked_at:    seconds since 1970
    last_row:     the node taken last, in attempt number `last_attempt`
    """

    signer: PodSigner
    signature: int | None = None
    rows: Rows = field(default_factory=lambda: np.empty(0, dtype=np.intp))
    totals: Scores = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    left: int = 0
    raw: dict[str, Scores] | None = None
    ranked: Evaluation | None = None
    ranked_at: float = 0.0
    last_row: int = 0
    last_attempt: int = 0

    def is_too_old(self, now: float) -> bool:
        return round((now - self.ranked_at) * 1e6) > _MAX_AGE

    def rank(self, evaluation: Evaluation, row: int, now: float) -> None:
        """Replace the ranking by that of an evaluation whose pod took `row`."""
        self.signature, totals = None, evaluation.totals
        self.ranked_at = now
        if totals is not None and len(totals) > 1:
            self.signature = self.signer.sign(evaluation.pod)
        if self.signature is not None and totals is not None:
            self.rows, self.totals = evaluation.feasible.indices(), totals.copy()
            self.left = len(totals)
            self.raw, self.ranked = None, evaluation
            self._take(row)

    def rank_again(self, evaluation: Evaluation) -> bool:
        """Score the last node for this pod, add it to those that are left, and rank them all again.
        Return whether no plugin failed. Upstream: rescoreHintedNode."""
        scoring, snapshot = evaluation.framework.scoring, evaluation.statuses.snapshot
        is_left = self.totals != _TAKEN
        try:
            raw = self._raw_scores()
            rows = np.append(self.rows[is_left], self.last_row)
            nodes = Nodes(snapshot, rows)
            raw = {name: scores[is_left] for name, scores in raw.items()}
            state = evaluation.state.clone()
            scores = scoring.run_with_last_new(state, evaluation.pod, nodes, raw)
        except PluginError:
            return False
        self.rows, self.totals = rows, total(scores, len(rows))
        self.raw = {plugin.plugin: plugin.raw for plugin in scores}
        self.left += 1
        return True

    def _raw_scores(self) -> dict[str, Scores]:
        """Return the ranking's raw scores. The pods placed since have not changed them: they took
        other nodes than those that are left. Raises PluginError."""
        if self.raw is not None:
            return self.raw
        ranked = self.ranked
        assert ranked is not None, "there is a ranking"
        scores = ranked.scores or ranked.framework.scoring.run(
            ranked.state.clone(), ranked.pod, Nodes(ranked.feasible.snapshot, self.rows)
        )
        return {plugin.plugin: plugin.raw for plugin in scores}

    def best(self) -> Rows:
        """Return the best nodes that are left."""
        return self.rows[(self.totals == self.totals.max()).nonzero()[0]]

    def take_best(self, tie_break: Callable[[Rows], int]) -> tuple[int, bool]:
        """Take the best node that is left. Return it, and whether others were as good."""
        ties = self.best()
        is_tied = len(ties) > 1
        row = tie_break(ties) if is_tied else int(ties[0])
        self._take(row)
        return row, is_tied

    def _take(self, row: int) -> None:
        self.totals[self.rows == row] = _TAKEN
        self.left -= 1


class Batching(Struct, eq=False):
    """The batches of all profiles that sign pods, by scheduler name.

    attempts: how many there have been, of all profiles
    hint:     the row that the attempt under way was given, or None
    hint_is_tied: others were as good
    """

    _batches: dict[str, Batch]
    _tie_break: Callable[[Rows], int]
    _clock: Clock
    attempts: int = 0
    shares_attempts: bool = False
    hint: int | None = None
    hint_is_tied: bool = False

    @classmethod
    def of(
        cls, frameworks: Iterable[Framework], tie_break: Callable[[Rows], int], clock: Clock
    ) -> Batching | None:
        """Return the batches of the profiles, or None where no profile signs pods."""
        batches = {
            framework.profile.scheduler_name: Batch(framework.signer)
            for framework in frameworks
            if framework.signer is not None
        }
        return cls(batches, tie_break, clock) if batches else None

    def begin(self, attempts: int = 1) -> None:
        """Begin an attempt, or the last of several. There is no node for the others."""
        self.attempts += attempts
        self.hint = None

    @property
    def is_over(self) -> bool:
        """Return whether no batch can continue with the next attempt, whatever pod that tries."""
        return not any(
            batch.signature is not None and batch.left and batch.last_attempt >= self.attempts
            for batch in self._batches.values()
        )

    def forget(self, framework: Framework) -> None:
        """Stop using the profile's ranking."""
        batch = self._batches.get(framework.profile.scheduler_name)
        if batch is not None:
            batch.signature = None

    def find_hint(self, evaluation: Evaluation, is_nominated: bool) -> int | None:
        """Return the node to try first for a pod that passed PreFilter, or None."""
        framework = evaluation.framework
        batch = self._batches.get(framework.profile.scheduler_name)
        if batch is None or (is_nominated and framework.handle.release.rules.rescores_last_node):
            return self.hint
        if self._continues(batch, evaluation, self.attempts):
            self.hint, self.hint_is_tied = batch.take_best(self._tie_break)
        return self.hint

    def next_candidates(self, evaluation: Evaluation) -> Rows:
        """Return the rows that `find_hint` would choose from in the next attempt, if it were this
        one; empty where it would give none. Changes nothing."""
        batch = copy(self._batches.get(evaluation.framework.profile.scheduler_name))
        if batch is None or not self._continues(batch, evaluation, self.attempts + 1):
            return np.empty(0, dtype=np.intp)
        return batch.best()

    def follow(self, evaluation: Evaluation, row: int) -> None:
        """Record an attempt in which the pod took `row`, which is the hint where it may be."""
        is_hint = row in self.next_candidates(evaluation)
        self.begin()
        if is_hint:
            batch = self._batches[evaluation.framework.profile.scheduler_name]
            self._continues(batch, evaluation, self.attempts)
            self.hint, self.hint_is_tied = batch.take_best(lambda _: row)
        self.store(evaluation, row)

    def _continues(self, batch: Batch, evaluation: Evaluation, attempt: int) -> bool:
        """Return whether the pod may use the batch's ranking. Upstream: batchStateCompatible,
        refreshHintCandidates."""
        pod = evaluation.pod
        # The batch's last pod came right before. The pods of a group are one attempt.
        since = attempt - batch.last_attempt
        follows = since == 1 or (since == 0 and self.shares_attempts)
        if batch.signature is None or not batch.left or not follows:
            return False
        if batch.signer.sign(pod) != batch.signature or batch.is_too_old(self._clock.now):
            return False
        # Where the pod fits on the node taken last, that node's place in the ranking is unknown.
        last_node = Nodes(evaluation.statuses.snapshot, np.array([batch.last_row], dtype=np.intp))
        verdicts = evaluation.framework.filtering.run_filters(evaluation.state, pod, last_node)
        status = verdicts.statuses[verdicts.ids[0]]
        if status.is_success and evaluation.framework.handle.release.rules.rescores_last_node:
            return batch.rank_again(evaluation)
        return status.is_rejected

    def store(self, evaluation: Evaluation, row: int) -> None:
        """Store that the pod took `row`; without or against the hint, its evaluation is the new
        ranking."""
        batch = self._batches.get(evaluation.framework.profile.scheduler_name)
        if batch is None:
            return
        batch.last_row, batch.last_attempt = row, self.attempts
        if row != self.hint:
            batch.rank(evaluation, row, self._clock.now)
