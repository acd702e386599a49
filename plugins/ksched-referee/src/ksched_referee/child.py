"""The process of a policy: loads its file, and scores nodes until the referee hangs up.

    python -m ksched_referee.child DESCRIPTOR

DESCRIPTOR is that of the connection. Whatever the policy prints goes to standard error.
"""

from __future__ import annotations

import os
import resource
import socket
import sys
import traceback
from collections.abc import Callable, Mapping, Sequence
from importlib.util import module_from_spec, spec_from_file_location
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ksched_referee.wire import (
    Answer,
    Ask,
    EndedError,
    Failure,
    Limits,
    NodeTable,
    Scores,
    Start,
    receive_question,
    send,
)

Floats = NDArray[np.float64]
Amounts = NDArray[np.int64]


class Pod:
    """The pod to place.

    name, namespace, labels, priority
    requests: resource → amount; cpu in cores, memory, ephemeral-storage and huge pages in GiB,
              everything else counted
    """

    def __init__(self, ask: Ask, table: NodeTable) -> None:
        self.name, self.namespace = ask.name, ask.namespace
        self.labels, self.priority = ask.labels, ask.priority
        self.requests = {
            name: amount / unit
            for name, unit, amount in zip(table.resources, table.units, ask.requests, strict=True)
        }


class Nodes:
    """The nodes that the pod fits on, in the order of their names.

    names, labels: a sequence, one per node
    allocatable, requested, free: resource → array, one number per node, in the units of the pod's
                                  requests
    """

    def __init__(self, table: NodeTable, rows: NDArray[np.int32], requested: Amounts) -> None:
        self._table, self._rows = table, rows
        count = len(table.resources)
        allocatable = np.frombuffer(table.allocatable, np.int64).reshape(-1, count)[rows]
        self.allocatable = self._columns(allocatable)
        self.requested = self._columns(requested)
        self.free = self._columns(allocatable - requested)

    def _columns(self, amounts: Amounts) -> Mapping[str, Floats]:
        return dict(zip(self._table.resources, (amounts / self._table.units).T, strict=True))

    @property
    def names(self) -> Sequence[str]:
        return [self._table.names[row] for row in self._rows.tolist()]

    @property
    def labels(self) -> Sequence[Mapping[str, str]]:
        return [self._table.labels[row] for row in self._rows.tolist()]

    def __len__(self) -> int:
        return len(self._rows)


Score = Callable[[Pod, Nodes], Any]


def load(path: str) -> Score:
    """Return the function `score` of a policy's file. Raises whatever the file raises."""
    spec = spec_from_file_location("policy", path)
    if spec is None or spec.loader is None:
        raise TypeError("the policy is no Python file")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    score = getattr(module, "score", None)
    if not callable(score):
        raise TypeError("the policy has no function score(pod, nodes)")
    return score


def answer_to(score: Score, ask: Ask, table: NodeTable) -> Scores:
    """Ask the policy for the scores of nodes. Raises whatever the policy raises, and ValueError
    where its answer is not a finite number for each node."""
    rows = np.frombuffer(ask.rows, np.int32)
    requested = np.frombuffer(ask.requested, np.int64).reshape(len(rows), -1)
    scores = np.asarray(score(Pod(ask, table), Nodes(table, rows, requested)), dtype=np.float64)
    if scores.shape != (len(rows),):
        raise ValueError(f"score returned shape {scores.shape}, expected ({len(rows)},)")
    if not np.isfinite(scores).all():
        raise ValueError("score returned a number that is not finite")
    return Scores(scores.tobytes())


def limit(limits: Limits) -> None:
    """Limits hold for what the policy starts, too, and it cannot raise them."""
    resource.setrlimit(resource.RLIMIT_AS, (limits.memory, limits.memory))
    resource.setrlimit(resource.RLIMIT_CPU, (limits.cpu_seconds, limits.cpu_seconds))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def describe(error: BaseException, path: str) -> str:
    """Return what failed, and the line of the policy where it did."""
    if isinstance(error, MemoryError):
        return "the memory that a policy may use is not enough"
    lines = [frame.lineno for frame in traceback.extract_tb(error.__traceback__)
             if frame.filename == path]  # fmt: skip
    place = f"line {lines[-1]}: " if lines else ""
    return f"{place}{type(error).__name__}: {error}"


def serve(connection: socket.socket) -> None:
    """Answer one question after the other."""
    score: Score | None = None
    table: NodeTable | None = None
    path = ""
    while True:
        try:
            question = receive_question(connection)
        except (EndedError, OSError):
            return
        answer: Answer | None = None
        try:
            if isinstance(question, Start):
                path = question.path
                limit(question.limits)
                score = load(path)
                answer = Scores(b"")
            elif isinstance(question, NodeTable):
                table = question
            else:
                assert score is not None
                assert table is not None
                answer = answer_to(score, question, table)
        except BaseException as error:
            answer = Failure(describe(error, path))
        if answer is not None:
            send(connection, answer)


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    # Nothing that a policy prints is an answer.
    os.dup2(2, 1)
    serve(connection)


if __name__ == "__main__":
    main()
