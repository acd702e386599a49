"""A policy in a process of its own, which is asked under limits, and ended where it breaks them."""

from __future__ import annotations

import os
import signal
import socket
import subprocess  # nosec B404  # policies run in processes of their own
import sys
from contextlib import suppress
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np
from msgspec import Struct
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
    receive_answer,
    send,
)

# What the policy's process sees of the environment: no secrets, and the same order of sets.
_ENVIRONMENT = {"PYTHONHASHSEED": "0", "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
# Python and NumPy are loaded before the policy's own time begins.
_START_SECONDS = 60.0


class PolicyError(Exception):
    """The policy broke a limit, or failed. The text says how."""


class PolicyLimits(Struct, frozen=True):
    """call:   seconds that one call may take, and loading the file ten times as many
    total:  seconds that all calls may take together
    memory: bytes
    """

    call: float = 1.0
    total: float = 300.0
    memory: int = 2 << 30


class PolicyProcess:
    """Loads a policy, and asks it for scores.

    seconds: that the policy has taken
    calls:   how often it was asked
    """

    def __init__(self, path: Path, limits: PolicyLimits) -> None:
        """Start the process, and load the policy there. Raises PolicyError where the file cannot be
        loaded within the limits."""
        self.limits, self.seconds, self.calls = limits, 0.0, 0
        own, others = socket.socketpair()
        self._connection = own
        with others:
            # -I: neither the current folder nor the user's packages are imported from.
            self._process = subprocess.Popen(  # nosec B603  # limited, without a shell
                [sys.executable, "-I", "-m", "ksched_referee.child", str(others.fileno())],
                pass_fds=[others.fileno()],
                env=_ENVIRONMENT,
                cwd="/",
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        cpu = int(limits.total + _START_SECONDS) + 1
        try:
            self._tell(Start(str(path.resolve()), Limits(limits.memory, cpu)), _START_SECONDS)
            self._answer(_START_SECONDS + 10 * limits.call, f"loading {path.name}")
        except BaseException:
            self.close()
            raise

    def show(self, table: NodeTable) -> None:
        """Tell the policy about the nodes."""
        self._tell(table, self.limits.call)

    def score(self, ask: Ask, count: int) -> NDArray[np.float64]:
        """Return the scores of so many nodes. Raises PolicyError."""
        began = monotonic()
        self._tell(ask, self.limits.call)
        answer = self._answer(self.limits.call, "a call")
        self.seconds += monotonic() - began
        self.calls += 1
        if self.seconds > self.limits.total:
            raise PolicyError(f"all calls together took longer than {self.limits.total:g} s")
        scores = np.frombuffer(answer.scores, np.float64)
        if len(scores) != count or not np.isfinite(scores).all():
            raise PolicyError("its process sent no scores")
        return scores

    def _tell(self, message: Any, seconds: float) -> None:
        self._connection.settimeout(seconds)
        try:
            send(self._connection, message)
        except TimeoutError:
            raise PolicyError(f"a call took longer than {seconds:g} s") from None
        except OSError:
            raise PolicyError(self._how_it_ended()) from None

    def _answer(self, seconds: float, what: str) -> Scores:
        try:
            answer: Answer = receive_answer(self._connection, monotonic() + seconds)
        except TimeoutError:
            raise PolicyError(f"{what} took longer than {seconds:g} s") from None
        except (EndedError, OSError):
            raise PolicyError(self._how_it_ended()) from None
        except ValueError:
            raise PolicyError("its process sent no scores") from None
        if isinstance(answer, Failure):
            raise PolicyError(answer.problem)
        return answer

    def _how_it_ended(self) -> str:
        try:
            code = self._process.wait(1)
        except subprocess.TimeoutExpired:
            return "its process closed the connection"
        if code < 0:
            return f"its process ended with {signal.Signals(-code).name}"
        return f"its process ended with exit code {code}"

    def close(self) -> None:
        """End the process, and what it has started."""
        self._connection.close()
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
