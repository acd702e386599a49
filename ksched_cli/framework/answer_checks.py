"""Checks the type and shape of what a plugin returned. All raise MalformedError."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any, TypeVar

import numpy as np

from ksched_cli.framework.nodes import Nodes
from ksched_cli.framework.results import Scores, Verdicts
from ksched_cli.framework.status import MalformedError, Status

T = TypeVar("T")


def expect(answer: object, kind: type, source: str) -> None:
    """Raises MalformedError where an answer is not of the type. source: the method, for the text"""
    if not isinstance(answer, kind):
        raise MalformedError(f"{source} returned {type(answer).__name__}, expected {kind.__name__}")


def checked_result(answer: Any, kind: type[T], method: str) -> tuple[T | None, Status]:
    """A result with its status. Raises MalformedError."""
    expect(answer, tuple, method)
    result, status = answer
    if result is not None:
        expect(result, kind, f"{method}'s result")
    expect(status, Status, f"{method}'s status")
    return result, status


def check_verdicts(verdicts: Verdicts, count: int) -> None:
    """Raises MalformedError."""
    expect(verdicts, Verdicts, "filter_nodes")
    expect(verdicts.ids, np.ndarray, "filter_nodes' ids")
    if verdicts.ids.shape != (count,):
        raise MalformedError(
            f"filter_nodes returned {verdicts.ids.size} verdicts for {count} nodes"
        )


def check_scores(scores: Scores, count: int, method: str) -> None:
    """Raises MalformedError."""
    expect(scores, np.ndarray, method)
    if scores.dtype.kind not in "iu":
        raise MalformedError(f"{method} returned an array of {scores.dtype}, expected integers")
    if scores.shape != (count,):
        raise MalformedError(f"{method} returned {scores.size} scores for {count} nodes")


def named_rejection(status: Status, plugin: str) -> Status:
    """A Filter status with its plugin; what is neither success nor a rejection is an error."""
    if status.is_rejected:
        return status.by(plugin)
    return Status.error(f'running "{plugin}" filter plugin: {status.message}').by(plugin)


def check_integers(scores: Sequence[Any], nodes: Nodes) -> None:
    """Raises MalformedError for a score that is no integer: NumPy would truncate a float."""
    for score, node in zip(scores, nodes, strict=True):
        try:
            index(score)
        except TypeError:
            message = f"score returned {type(score).__name__} for node {node.name}, expected int"
            raise MalformedError(message) from None
