"""A process that performs runs, so that a plugin that hangs or crashes ends that process alone."""

from __future__ import annotations

import faulthandler
import os
import pickle
import select
import signal
import subprocess
import sys
from contextlib import suppress
from typing import Any, BinaryIO

from ksched_cli.sweep.environment import RunEnvironment
from ksched_cli.sweep.materials import Materials, Run
from ksched_cli.sweep.outcome import TIMEOUT, Outcome, failure, perform

# A process that ends by itself may have been ended by somebody else: the run is tried once more.
ATTEMPTS = 2
# The process ends itself so many seconds after its time, in case nobody is there to do it.
GRACE = 10.0
_PROGRAM = "from ksched_cli.sweep.run_process import serve; serve()"


class RunProcess:
    """Performs runs in a process of its own, which is started when it is needed, and again after
    it was ended.

    timeout: seconds that a run may take
    """

    def __init__(self, materials: Materials, timeout: float) -> None:
        self._materials = pickle.dumps((materials, timeout))
        self._timeout = timeout
        self._process: subprocess.Popen[bytes] | None = None
        self._decoded: set[int] = set()
        self._is_closed = False

    def perform(self, run: Run) -> Outcome:
        """Raises nothing: what goes wrong is in the outcome."""
        ending = "it was closed"
        for _ in range(ATTEMPTS):
            if self._is_closed:
                break
            try:
                return self._attempt(run)
            except TimeoutError:
                self._end()
                message = f"took longer than {self._timeout:g} s, and was ended"
                return {**failure(message, status=TIMEOUT), "seconds": self._timeout}
            except (EOFError, OSError, ValueError, pickle.UnpicklingError):
                ending = self._ending()
                self._end()
        return {**failure(f"its process ended: {ending}", True), "seconds": 0.0}

    def _attempt(self, run: Run) -> Outcome:
        """Raises EOFError, OSError, ValueError or UnpicklingError where the process ends or is
        closed, TimeoutError."""
        process = self._process or self._start()
        if run.state not in self._decoded:
            self._ask(process, run.state, None)
            self._decoded.add(run.state)
        outcome: Outcome = self._ask(process, run, self._timeout)
        return outcome

    def _start(self) -> subprocess.Popen[bytes]:
        environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
        process = subprocess.Popen(
            [sys.executable, "-P", "-c", _PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment,
        )
        self._process = process
        stdin = _pipe(process.stdin)
        stdin.write(self._materials)
        stdin.flush()
        return process

    def _ask(self, process: subprocess.Popen[bytes], request: Any, timeout: float | None) -> Any:
        stdin, stdout = _pipe(process.stdin), _pipe(process.stdout)
        pickle.dump(request, stdin)
        stdin.flush()
        readable, _, _ = select.select([stdout], [], [], timeout)
        if not readable:
            raise TimeoutError
        return pickle.load(stdout)

    def _ending(self) -> str:
        """How the process ended, in words."""
        if self._process is None:
            return "it could not be started"
        try:
            code = self._process.wait(timeout=1)
        except subprocess.TimeoutExpired:
            return "it answers no more"
        if code >= 0:
            return f"exit code {code}"
        try:
            return f"killed by {signal.Signals(-code).name}"
        except ValueError:
            return f"killed by signal {-code}"

    def close(self) -> None:
        """Ends the process for good; whoever waits for it gets an outcome that says so."""
        self._is_closed = True
        self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        self._decoded.clear()
        if process is None:
            return
        process.kill()
        process.wait()
        for stream in (process.stdin, process.stdout):
            if stream is not None:
                with suppress(OSError):  # of what was still to be written to it
                    stream.close()


def _pipe(stream: Any) -> BinaryIO:
    pipe: BinaryIO = stream
    return pipe


def serve() -> None:
    """What the process does: reads the materials from standard input, then states to decode and
    runs to perform, until there are no more."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # of a terminal, for the sweep
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever plugins print
    requests = sys.stdin.buffer
    try:
        materials, timeout = pickle.load(requests)
    except (EOFError, pickle.UnpicklingError):
        return  # it was closed before it began
    environment = RunEnvironment(materials)
    nowhere = open(os.devnull, "w")  # noqa: SIM115  # until the end
    while True:
        try:
            request = pickle.load(requests)
        except (EOFError, pickle.UnpicklingError):
            return
        if isinstance(request, Run):
            faulthandler.dump_traceback_later(timeout + GRACE, exit=True, file=nowhere)
            answer: Any = perform(environment, request)
            faulthandler.cancel_dump_traceback_later()
        else:
            environment.base_state(request)
            answer = None
        try:
            pickle.dump(answer, answers)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)
